//! Network of a simulation: flows over links and fabrics.

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

/// Number of consecutive transmissions without a delivery after which a run with [`StopRule::Delivered`] is given up as
/// stalled.
pub const STALL: u64 = 1_000_000;

/// Rule by which a sender hands segments to its link.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SenderGate {
    /// The sender waits until the link is idle and then sends one segment: one packet in each packet time, and no
    /// queue.
    Slot,
    /// The sender puts all segments that the window allows into the link's queue at once.
    Queue,
}

/// Condition that ends a run.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum StopRule {
    /// Ends the run at this time.
    At(SimTime),
    /// Ends the run once this number of segments of all TCP flows was delivered in order after the warm-up.
    Delivered(u64),
}

/// Constructor of the congestion control of each connection.
pub type CongestionFactory = Arc<dyn Fn() -> Box<dyn CongestionControl> + Send + Sync>;

/// A connection of TCP or QUIC: configuration and congestion control.
#[derive(Clone)]
pub struct Tcp {
    /// Configuration of both ends; the flow sends [`SenderConfig::segments`] segments, or endlessly.
    pub config: SenderConfig,
    /// Constructor of the congestion control; `None`: the one that `config` names.
    pub congestion: Option<CongestionFactory>,
}

impl Tcp {
    /// Creates the sender of the connection, before its first packet.
    pub(crate) fn sender(&self) -> Sender {
        match &self.congestion {
            Some(congestion) => Sender::with_congestion_control(self.config, congestion()),
            None => Sender::new(self.config),
        }
    }

    /// Settings of the connection after its handshake, which begins at `start`: the RTT sample of the handshake
    /// includes the wait of the SYN-ACK.
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

/// Source of a flow's packets.
#[derive(Clone, Debug)]
pub enum Source {
    /// A TCP connection whose data are all ready at once.
    Tcp(Tcp),
    /// A TCP connection without end whose application writes one segment at a time, at a constant rate.
    PacedTcp {
        /// The connection; its [`SenderConfig::segments`] is ignored.
        tcp: Tcp,
        /// Offered rate of the application in bit/s of whole packets.
        rate_bps: f64,
    },
    /// Datagrams without feedback, from an on-off source.
    Udp(OnOff),
    /// Datagrams without feedback, at recorded times after the flow's start and of recorded sizes.
    Recorded(SendRecord),
}

/// Packet sizes and routes of a flow.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct FlowPath {
    /// Bytes of a data packet on the wire.
    pub packet_size: u32,
    /// Number of bytes by which the last packet of a flow with an end is shorter than the others
    /// ([`crate::whole_segments`]).
    pub last_short_by: u32,
    /// Bytes of an acknowledgement on the wire, without SACK blocks.
    pub ack_size: u32,
    /// Bytes that each SACK block adds to an acknowledgement.
    pub sack_block_size: u32,
    /// One-way delay between the sender and the first link in either direction, without rate or loss.
    pub sender_access: SimTime,
    /// One-way delay between the last link and the receiver in either direction, without rate or loss.
    pub receiver_access: SimTime,
    /// Handshake and request between the start of a flow and its first packet.
    pub opening: Opening,
    /// Number of the flow's user, for links that serve several users.
    pub user: u16,
    /// Route of the data: an index of [`Topology::routes`].
    pub data: usize,
    /// Route of the acknowledgements: an index of [`Topology::routes`].
    pub acks: usize,
}

impl Default for FlowPath {
    /// Path of user 0 with segments of 1000 bytes and ACKs of 40 bytes plus 8 per SACK block, over the two routes of a
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
    /// Name of the flow, which its random streams `workload.on-off.NAME` and `workload.gaps.NAME` carry: flows with
    /// equal names send at equal times.
    pub name: String,
    /// Source of the flow's packets.
    pub source: Source,
    /// Packet sizes and routes of the flow.
    pub path: FlowPath,
    /// Time at which the flow begins, from the start of the run.
    pub start: SimTime,
}

/// Random process of TCP flows that arrive, each with data to send, and leave once these data are delivered.
#[derive(Clone, Debug)]
pub struct Arrivals {
    /// Name of the process, which its random streams `workload.arrivals.NAME` and `workload.segments.NAME` carry.
    pub name: String,
    /// Settings of each connection; the amount of its data is drawn from `sizes`.
    pub tcp: Tcp,
    /// Packet sizes and routes of the flows.
    pub path: FlowPath,
    /// Start of the arrival process, from the start of the run.
    pub start: SimTime,
    /// Mean number of flows that arrive per second, by a Poisson process.
    pub rate_per_s: f64,
    /// Distribution of the amount of data of a flow, in bytes; draws are rounded up.
    pub sizes: Distribution,
    /// Bytes of data in a full segment; at least 1 and at most the packet size.
    pub mss: u32,
}

/// Complete description of a simulation: flows over links and fabrics, measured period and seed.
pub struct Network {
    /// Flows that exist for the whole run, whenever they begin to send.
    pub flows: Vec<FlowConfig>,
    /// Random processes of flows that arrive and leave.
    pub arrivals: Vec<Arrivals>,
    /// Links, fabrics, and routes over them.
    pub topology: Topology,
    /// Routes for packets from outside ([`Fabric::push`](crossfade_link::Fabric::push) of the engine).
    pub passages: Vec<Passage>,
    /// Rule by which senders hand segments to the first link.
    pub gate: SenderGate,
    /// True to keep histograms of the RTTs and one-way delays of each flow, beside their means.
    pub measures_delays: bool,
    /// Warm-up: events before this time are simulated but not counted.
    pub warmup: SimTime,
    /// Condition that ends the run.
    pub stop: StopRule,
    /// Seed of the random streams of the workloads, which are named after the flows: a further flow shifts no other
    /// draws.
    pub seed: RunSeed,
    /// Shortcuts of the engine, on which no result depends; all are on except in tests.
    pub shortcuts: Shortcuts,
}

impl Network {
    /// Creates a network of permanent flows, without warm-up and histograms of delays, whose senders hand segments to
    /// the first link at once.
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

    /// Checks the network.
    ///
    /// # Errors
    /// A route with an invalid medium or port, a flow or a passage without a route, no flows, a slot gate with anything
    /// but one TCP flow without access delay, or a workload with an invalid distribution.
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

    /// Without [`Shortcuts::fates`], turns hops into links with a queue of their own.
    ///
    /// # Errors
    /// A hop whose limit lets no packet wait.
    pub(crate) fn with_shortcuts(mut self) -> Result<Self, NetworkError> {
        // A gated sender needs a hop, which knows when it is idle.
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

    /// True if the congestion control of any flow reports its state.
    pub fn has_info(&self) -> bool {
        let lasting = self.flows.iter().filter_map(|flow| match &flow.source {
            Source::Tcp(tcp) | Source::PacedTcp { tcp, .. } => Some(tcp),
            Source::Udp(_) | Source::Recorded(_) => None,
        });
        let coming = self.arrivals.iter().map(|arrivals| &arrivals.tcp);
        lasting.chain(coming).any(|tcp| tcp.sender().info() != ControlInfo::default())
    }

    /// Routes in use, each with the key of the flow or passage that uses it.
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

    /// True if a slot gate can be used: there is one TCP flow, whose first link knows when it is idle.
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

    /// True if the network is one flow over one drop-tail hop each way and nothing else, and [`Shortcuts::single_hop`]
    /// is on.
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
