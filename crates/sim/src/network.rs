//! What an experiment is made of: a path of links that flows share, and what the flows send.

use crate::workload::{Distribution, OnOff};
use crossfade_core::{RunSeed, SimTime};
use crossfade_link::HopConfig;
use crossfade_transport::TcpConfig;
use thiserror::Error;

/// How a sender meets its link.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SenderGate {
    /// The sender waits until the link is idle and then sends one segment: one packet a slot, nothing queued.
    Slot,
    /// Whatever the window allows goes into the link's queue at once.
    Queue,
}

/// When a run ends.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum StopRule {
    /// At this time.
    At(SimTime),
    /// When this many segments, of all TCP flows together, were delivered in order after the warm-up.
    Delivered(u64),
}

/// Who sends, and how much.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Source {
    /// A TCP connection; it sends [`TcpConfig::segments`] segments, or without end.
    Tcp(TcpConfig),
    /// Datagrams without feedback.
    Udp(OnOff),
}

/// One flow. Its data go along the path, its acknowledgements back.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct FlowConfig {
    /// Who sends, and how much.
    pub source: Source,
    /// Bytes of a data packet on the wire.
    pub packet_size: u32,
    /// Bytes of an acknowledgement on the wire, without SACK blocks.
    pub ack_size: u32,
    /// Bytes that each SACK block adds to an acknowledgement.
    pub sack_block_size: u32,
    /// When it begins.
    pub start: SimTime,
    /// One-way delay between the sender and the first link, the same both ways. No rate, no loss.
    pub sender_access: SimTime,
    /// One-way delay between the last link and the receiver, the same both ways. No rate, no loss.
    pub receiver_access: SimTime,
}

/// Flows that come at random times, each with something to send, and go when it is delivered.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Arrivals {
    /// What each of them is like: a TCP flow; its number of segments is drawn, and the first may come after its
    /// `start`.
    pub flow: FlowConfig,
    /// The mean number of arrivals a second, of a Poisson process.
    pub rate_per_s: f64,
    /// How many segments each has to send; rounded up.
    pub segments: Distribution,
}

/// The whole experiment: flows over a path of links in series, and back.
///
/// ```text
///  sender 0 --access--\                                                  /--access-- receiver 0
///  sender 1 --access---+== forward[0] == forward[1] == .. (the data) ==>+---access-- receiver 1
///  sender 2 --access--/ <= .. == reverse[0] (the acknowledgements) ===== \--access-- receiver 2
/// ```
pub struct Network {
    /// The flows that are there from the start, whenever they begin to send.
    pub flows: Vec<FlowConfig>,
    /// Flows that come and go.
    pub arrivals: Vec<Arrivals>,
    /// The way of the data: one link or more, one after the other.
    pub forward: Vec<HopConfig>,
    /// The way of the acknowledgements, from the receivers to the senders.
    pub reverse: Vec<HopConfig>,
    /// How senders meet the first link.
    pub gate: SenderGate,
    /// What happens before is simulated and not counted.
    pub warmup: SimTime,
    /// When to stop.
    pub stop: StopRule,
    /// Of the random streams of the workloads: `workload.on-off.I` of flow I, `workload.arrivals.I` and
    /// `workload.segments.I` of arrivals I.
    pub seed: RunSeed,
}

/// A network that cannot be. One line: what was given, its value, and what is allowed.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
#[error("{0}")]
pub struct NetworkError(pub(crate) String);

impl Network {
    /// Refuses what cannot be simulated.
    ///
    /// # Errors
    /// A path without links, nobody to send, a slot gate with other than one TCP flow without access delay, a
    /// workload that is no distribution.
    pub fn check(&self) -> Result<(), NetworkError> {
        let error = |text: &str| Err(NetworkError(text.to_owned()));
        for (key, links) in [("forward", &self.forward), ("reverse", &self.reverse)] {
            if links.is_empty() {
                return Err(NetworkError(format!("{key} is empty: a path has at least one link")));
            }
        }
        if self.flows.is_empty() && self.arrivals.is_empty() {
            return error("flows and arrivals are empty: nobody sends");
        }
        for (i, flow) in self.flows.iter().enumerate() {
            if let Source::Udp(on_off) = flow.source {
                on_off.check(&format!("flows[{i}]"))?;
            }
        }
        for (i, arrivals) in self.arrivals.iter().enumerate() {
            let rate = arrivals.rate_per_s;
            if !(rate > 0.0 && rate.is_finite()) {
                return Err(NetworkError(format!("arrivals[{i}].rate_per_s = {rate:?}: must be above 0")));
            }
            arrivals.segments.check(&format!("arrivals[{i}].segments"))?;
            if matches!(arrivals.flow.source, Source::Udp(_)) {
                return Err(NetworkError(format!("arrivals[{i}].flow.source is UDP: must be TCP")));
            }
        }
        let one_flow = self.arrivals.is_empty()
            && matches!(
                self.flows[..],
                [FlowConfig { source: Source::Tcp(_), sender_access: SimTime::ZERO, .. }]
            );
        if self.gate == SenderGate::Slot && !one_flow {
            return error("gate = slot: must be queue unless there is one TCP flow, without sender_access");
        }
        Ok(())
    }
}
