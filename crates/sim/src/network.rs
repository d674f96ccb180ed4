//! What an experiment is made of: a path of links that flows share, and what the flows send.

use crate::workload::{Distribution, OnOff};
use crossfade_core::{RunSeed, SimTime};
use crossfade_link::{AnyLinkConfig, LinkConfig, LinkError, Queue};
use crossfade_transport::TcpConfig;
use crossfade_transport::congestion::CongestionControl;
use std::fmt;
use std::sync::Arc;
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

/// Makes the window rule of a connection.
pub type CongestionFactory = Arc<dyn Fn() -> Box<dyn CongestionControl> + Send + Sync>;

/// A TCP connection.
#[derive(Clone)]
pub struct Tcp {
    /// Both ends; it sends [`TcpConfig::segments`] segments, or without end.
    pub config: TcpConfig,
    /// Its window rule; `None` is Reno's, as the flavour has it.
    pub congestion: Option<CongestionFactory>,
}

impl fmt::Debug for Tcp {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Tcp").field("config", &self.config).finish_non_exhaustive()
    }
}

/// Who sends, and how much.
#[derive(Clone, Debug)]
pub enum Source {
    /// A TCP connection.
    Tcp(Tcp),
    /// Datagrams without feedback.
    Udp(OnOff),
}

/// How the packets of a flow travel.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Carriage {
    /// Bytes of a data packet on the wire.
    pub packet_size: u32,
    /// Bytes of an acknowledgement on the wire, without SACK blocks.
    pub ack_size: u32,
    /// Bytes that each SACK block adds to an acknowledgement.
    pub sack_block_size: u32,
    /// One-way delay between the sender and the first link, the same both ways. No rate, no loss.
    pub sender_access: SimTime,
    /// One-way delay between the last link and the receiver, the same both ways. No rate, no loss.
    pub receiver_access: SimTime,
}

/// One flow. Its data go along the path, its acknowledgements back.
#[derive(Clone, Debug)]
pub struct FlowConfig {
    /// Names the random stream of its workload, `workload.on-off.NAME`: flows with one name do the same.
    pub name: String,
    /// Who sends, and how much.
    pub source: Source,
    /// How its packets travel.
    pub carriage: Carriage,
    /// When it begins.
    pub start: SimTime,
}

/// TCP flows that come at random times, each with something to send, and go when it is delivered.
#[derive(Clone, Debug)]
pub struct Arrivals {
    /// Names its random streams, `workload.arrivals.NAME` and `workload.segments.NAME`.
    pub name: String,
    /// What each of them is like; the number of segments is drawn.
    pub tcp: Tcp,
    /// How their packets travel.
    pub carriage: Carriage,
    /// The first may come after this.
    pub start: SimTime,
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
    pub forward: Vec<AnyLinkConfig>,
    /// The way of the acknowledgements, from the receivers to the senders.
    pub reverse: Vec<AnyLinkConfig>,
    /// How senders meet the first link.
    pub gate: SenderGate,
    /// Whether to measure how the round trips and one-way delays of each flow are distributed, not only
    /// their means.
    pub measures_delays: bool,
    /// What happens before is simulated and not counted.
    pub warmup: SimTime,
    /// When to stop.
    pub stop: StopRule,
    /// Of the random streams of the workloads, which have the names of the flows: one flow more shifts
    /// nobody's draws.
    pub seed: RunSeed,
}

/// A network that cannot be. One line: what was given, its value, and what is allowed.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
#[error("{0}")]
pub struct NetworkError(pub(crate) String);

impl From<LinkError> for NetworkError {
    fn from(error: LinkError) -> Self {
        Self(error.to_string())
    }
}

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
        }
        let has_one_sender = self.arrivals.is_empty()
            && matches!(&self.flows[..], [FlowConfig { source: Source::Tcp(_), carriage, .. }]
                if carriage.sender_access == SimTime::ZERO)
            && is_hop(&self.forward[0]);
        if self.gate == SenderGate::Slot && !has_one_sender {
            return error(
                "gate = slot: must be queue unless there is one TCP flow, without sender_access, and the \
                 first link is drop-tail and of constant rate",
            );
        }
        Ok(())
    }

    /// Whether it is one flow over one drop-tail hop each way, and no more.
    pub(crate) fn is_single_hop(&self) -> bool {
        let is_near = |flow: &FlowConfig| {
            flow.carriage.sender_access == SimTime::ZERO && flow.carriage.receiver_access == SimTime::ZERO
        };
        self.arrivals.is_empty()
            && matches!(&self.flows[..], [flow] if is_near(flow))
            && matches!(&self.forward[..], [link] if is_hop(link))
            && matches!(&self.reverse[..], [link] if is_hop(link))
    }
}

/// Whether a link knows a packet's fate as it takes it.
fn is_hop(link: &AnyLinkConfig) -> bool {
    matches!(link, AnyLinkConfig::Constant(LinkConfig { queue: Queue::DropTail(_), .. }))
}
