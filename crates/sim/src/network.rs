//! What an experiment is made of: a path of links that flows share, and what the flows send.

use crate::error::NetworkError;
use crate::medium::{Medium, NamedMedium};
use crate::shortcuts::Shortcuts;
use crate::topology::{Passage, Topology};
use crate::workload::{Distribution, OnOff};
use crossfade_core::{RunSeed, SimTime};
use crossfade_link::trace::SendRecord;
use crossfade_transport::congestion::{CongestionControl, ControlInfo};
use crossfade_transport::{Opening, Sender, SenderConfig};
use std::fmt;
use std::sync::Arc;

/// So many transmissions in a row without a delivery end a run that would wait for a number of segments.
pub const STALL: u64 = 1_000_000;

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

/// Makes the congestion control of a connection.
pub type CongestionFactory = Arc<dyn Fn() -> Box<dyn CongestionControl> + Send + Sync>;

/// A connection of TCP, or of QUIC.
#[derive(Clone)]
pub struct Tcp {
    /// Both ends; it sends [`SenderConfig::segments`] segments, or without end.
    pub config: SenderConfig,
    /// Its congestion control; `None` is the one that `config` names.
    pub congestion: Option<CongestionFactory>,
}

impl Tcp {
    /// A sender that has sent nothing.
    pub(crate) fn sender(&self) -> Sender {
        match &self.congestion {
            Some(congestion) => Sender::with_congestion_control(self.config, congestion()),
            None => Sender::new(self.config),
        }
    }

    /// The settings of a connection whose handshake begins at `start`, or seems to have: what that measures counts its
    /// wait.
    pub(crate) fn opened(&self, opening: &Opening, start: SimTime) -> Self {
        let mut tcp = self.clone();
        let handshake_rtt = tcp.config.handshake_rtt();
        *handshake_rtt = handshake_rtt.map(|rtt| rtt.saturating_add(opening.wait_of_syn_ack(start)));
        tcp
    }
}

impl fmt::Debug for Tcp {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Tcp").field("config", &self.config).finish_non_exhaustive()
    }
}

/// Who sends, and how much.
#[derive(Clone, Debug)]
pub enum Source {
    /// A TCP connection whose application has everything ready.
    Tcp(Tcp),
    /// A TCP connection without end whose application writes a segment at a time, at a constant rate.
    PacedTcp {
        /// The connection; its [`SenderConfig::segments`] do not count.
        tcp: Tcp,
        /// What the application offers, in bit/s of whole packets.
        rate_bps: f64,
    },
    /// Datagrams without feedback.
    Udp(OnOff),
    /// Datagrams without feedback at recorded times after the start, of recorded sizes.
    Recorded(SendRecord),
}

/// What the packets of a flow are like, and which way they go.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct FlowPath {
    /// Bytes of a data packet on the wire.
    pub packet_size: u32,
    /// By how many of these the last packet of a flow that has an end is shorter than the others
    /// ([`crate::whole_segments`]).
    pub last_short_by: u32,
    /// Bytes of an acknowledgement on the wire, without SACK blocks.
    pub ack_size: u32,
    /// Bytes that each SACK block adds to an acknowledgement.
    pub sack_block_size: u32,
    /// One-way delay between the sender and the first link, the same both ways. No rate, no loss.
    pub sender_access: SimTime,
    /// One-way delay between the last link and the receiver, the same both ways. No rate, no loss.
    pub receiver_access: SimTime,
    /// What comes between the start of a flow and its first packet.
    pub opening: Opening,
    /// Which user it is of, where links serve several.
    pub user: u16,
    /// The way of its data: a place among [`Topology::routes`].
    pub data: usize,
    /// The way of its acknowledgements.
    pub acks: usize,
}

impl Default for FlowPath {
    /// The path of user 0, with segments of 1000 bytes and ACKs of 40 with 8 a SACK block, over the two routes of a
    /// [`Topology::path`] at whose ends the hosts stand.
    fn default() -> Self {
        Self {
            packet_size: 1000,
            last_short_by: 0,
            ack_size: 40,
            sack_block_size: 8,
            sender_access: SimTime::ZERO,
            receiver_access: SimTime::ZERO,
            opening: Opening::default(),
            user: 0,
            data: Topology::DATA,
            acks: Topology::ACKS,
        }
    }
}

/// Configuration of a flow.
#[derive(Clone, Debug)]
pub struct FlowConfig {
    /// Names the random streams of its workload, `workload.on-off.NAME` and `workload.gaps.NAME`: flows with one name do
    /// the same.
    pub name: String,
    /// Who sends, and how much.
    pub source: Source,
    /// What its packets are like, and which way they go.
    pub path: FlowPath,
    /// When it begins.
    pub start: SimTime,
}

/// TCP flows that come at random times, each with something to send, and go when it is delivered.
#[derive(Clone, Debug)]
pub struct Arrivals {
    /// Names its random streams, `workload.arrivals.NAME` and `workload.segments.NAME`.
    pub name: String,
    /// What each of them is like; what it has to send is drawn.
    pub tcp: Tcp,
    /// What their packets are like, and which way they go.
    pub path: FlowPath,
    /// The first may come after this.
    pub start: SimTime,
    /// The mean number of arrivals a second, of a Poisson process.
    pub rate_per_s: f64,
    /// How many bytes of data each has to send; rounded up.
    pub sizes: Distribution,
    /// Bytes of data in a full segment; at least 1.
    pub mss: u32,
}

/// The whole experiment: flows over links and fabrics.
pub struct Network {
    /// The flows that are there from the start, whenever they begin to send.
    pub flows: Vec<FlowConfig>,
    /// Flows that come and go.
    pub arrivals: Vec<Arrivals>,
    /// What they go through, and which ways.
    pub topology: Topology,
    /// Ways for packets from outside ([`Fabric::push`](crossfade_link::Fabric::push) of the engine).
    pub passages: Vec<Passage>,
    /// How senders meet the first link.
    pub gate: SenderGate,
    /// Whether to measure how the round trips and one-way delays of each flow are distributed, not only
    /// their means.
    pub measures_delays: bool,
    /// What happens before is simulated and not counted.
    pub warmup: SimTime,
    /// When to stop.
    pub stop: StopRule,
    /// Seed of the random streams of the workloads, which have the names of the flows: one flow more shifts
    /// nobody's draws.
    pub seed: RunSeed,
    /// What is left out where no result depends on it: all that can be, but in tests.
    pub shortcuts: Shortcuts,
}

impl Network {
    /// Flows that last, counted from the start on, through links with queues; how delays are distributed is not
    /// measured.
    pub fn new(flows: Vec<FlowConfig>, topology: Topology, stop: StopRule, seed: RunSeed) -> Self {
        Self {
            flows,
            arrivals: Vec::new(),
            topology,
            passages: Vec::new(),
            gate: SenderGate::Queue,
            measures_delays: false,
            warmup: SimTime::ZERO,
            stop,
            seed,
            shortcuts: Shortcuts::ALL,
        }
    }

    /// Refuses what cannot be simulated.
    ///
    /// # Errors
    /// A route that leads nowhere, a flow or a passage without one, nobody to send, a slot gate with other than
    /// one TCP flow without access delay, a workload that is no distribution.
    pub fn check(&self) -> Result<(), NetworkError> {
        let error = |text: &str| Err(NetworkError(text.to_owned()));
        self.topology.check()?;
        for (key, route) in self.routes() {
            let routes = self.topology.routes.len();
            if route >= routes {
                return Err(NetworkError(format!("{key} = {route}: must be below {routes}, the routes")));
            }
        }
        if self.flows.is_empty() && self.arrivals.is_empty() && self.passages.is_empty() {
            return error("flows and arrivals are empty: nothing is sent");
        }
        for (i, flow) in self.flows.iter().enumerate() {
            match &flow.source {
                Source::Tcp(_) | Source::Recorded(_) => {}
                Source::PacedTcp { rate_bps, .. } if *rate_bps > 0.0 && rate_bps.is_finite() => {}
                Source::PacedTcp { rate_bps, .. } => {
                    return Err(NetworkError(format!("flows[{i}].rate_bps = {rate_bps:?}: must be above 0")));
                }
                Source::Udp(on_off) => on_off.check(&format!("flows[{i}]"))?,
            }
        }
        for (i, arrivals) in self.arrivals.iter().enumerate() {
            let rate = arrivals.rate_per_s;
            if !(rate > 0.0 && rate.is_finite()) {
                return Err(NetworkError(format!("arrivals[{i}].rate_per_s = {rate:?}: must be above 0")));
            }
            arrivals.sizes.check(&format!("arrivals[{i}].sizes"))?;
            if arrivals.mss == 0 || arrivals.mss > arrivals.path.packet_size {
                let (mss, packet) = (arrivals.mss, arrivals.path.packet_size);
                return Err(NetworkError(format!(
                    "arrivals[{i}].mss = {mss}: must be between 1 and packet_size, {packet}"
                )));
            }
        }
        if self.gate == SenderGate::Slot && !self.has_one_sender() {
            return error(
                "gate = slot: must be queue unless there is one TCP flow, without sender_access, and the \
                 first link is drop-tail and of constant rate",
            );
        }
        Ok(())
    }

    /// Without [`Shortcuts::fates`] a hop becomes a link like any other.
    ///
    /// # Errors
    /// A hop whose limit lets no packet wait.
    pub(crate) fn with_shortcuts(mut self) -> Result<Self, NetworkError> {
        // A sender that waits for slots asks its hop when it is idle.
        if self.shortcuts.fates || self.gate == SenderGate::Slot {
            return Ok(self);
        }
        let media = self.topology.media.into_iter().map(|NamedMedium { name, medium, back }| {
            let medium = match medium {
                Medium::Link(link) => match link.without_fates() {
                    Ok(link) => Medium::Link(link),
                    Err(error) => return Err(NetworkError(format!("{name}: {error}"))),
                },
                fabric @ Medium::Fabric(_) => fabric,
            };
            Ok(NamedMedium { name, back, medium })
        });
        self.topology.media = media.collect::<Result<_, _>>()?;
        Ok(self)
    }

    /// Whether a congestion control says what it is at.
    pub fn has_info(&self) -> bool {
        let lasting = self.flows.iter().filter_map(|flow| match &flow.source {
            Source::Tcp(tcp) | Source::PacedTcp { tcp, .. } => Some(tcp),
            Source::Udp(_) | Source::Recorded(_) => None,
        });
        let coming = self.arrivals.iter().map(|arrivals| &arrivals.tcp);
        lasting.chain(coming).any(|tcp| tcp.sender().info() != ControlInfo::default())
    }

    /// The routes that are taken, and by whom.
    fn routes(&self) -> impl Iterator<Item = (String, usize)> {
        let flows = self.flows.iter().enumerate().map(|(i, flow)| (format!("flows[{i}]"), flow.path));
        let arrivals =
            self.arrivals.iter().enumerate().map(|(i, come)| (format!("arrivals[{i}]"), come.path));
        let of_flow = |(key, path): (String, FlowPath)| {
            [(format!("{key}.path.data"), path.data), (format!("{key}.path.acks"), path.acks)]
        };
        let passages = self.passages.iter().enumerate();
        let passages = passages.map(|(i, passage)| (format!("passages[{i}].route"), passage.route));
        flows.chain(arrivals).flat_map(of_flow).chain(passages)
    }

    /// Whether a slot gate can ask the first link when it is idle.
    fn has_one_sender(&self) -> bool {
        let [FlowConfig { source: Source::Tcp(_), path, .. }] = &self.flows[..] else { return false };
        let Topology { media, routes } = &self.topology;
        let first = routes[path.data][0].medium;
        let is_shared = routes[path.acks].iter().any(|leg| leg.medium == first);
        self.arrivals.is_empty()
            && self.passages.is_empty()
            && path.sender_access == SimTime::ZERO
            && media[first].medium.is_hop()
            && !is_shared
    }

    /// Whether it is one flow over one drop-tail hop each way and no more, and may be simulated as such.
    pub(crate) fn is_single_hop(&self) -> bool {
        let [FlowConfig { path, .. }] = &self.flows[..] else { return false };
        let Topology { media, routes } = &self.topology;
        let ([data], [acks]) = (&routes[path.data][..], &routes[path.acks][..]) else { return false };
        self.shortcuts.single_hop
            && self.arrivals.is_empty()
            && self.passages.is_empty()
            && path.sender_access == SimTime::ZERO
            && path.receiver_access == SimTime::ZERO
            && media.len() == 2
            && data.medium != acks.medium
            && media.iter().all(|medium| medium.medium.is_hop())
    }
}
