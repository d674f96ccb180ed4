//! Mesh as a fabric: stations of 802.11 that share a medium.
//!
//! The mesh delivers the beginnings and ends of frames to the radios that they reach, what radios decode to their
//! stations, and packets from node to node. At one instant frames end first, then stations act on what they know, and
//! only then begin the frames that they decided to send: stations whose backoff ends in the same slot collide.

mod frames;
mod nulling;

use crate::air::Air;
use crate::arrays::Arrays;
use crate::config::{Mac, MeshConfig};
use crate::error::{MeshError, out_of_range};
use crate::interface::{Interface, Packet};
use crate::null_table::NullTable;
use crate::radio::Radio;
use crate::routes::Routes;
use crate::station::{Frame, Job, Phase, Station};
use crate::timers::Timers;
use crate::timing::{Rules, Timing};
use crate::vector::Vector;
use crossfade_core::{RunSeed, SimTime, from_db};
use crossfade_link::{
    Departure, EventLog, Fabric, LinkEvent, LinkReport, LinkStatistics, NodeStatistics, Occupancy, Parcel,
    Port, Push, QueueChange,
};
use std::collections::{BTreeMap, VecDeque};
use std::sync::Arc;

/// Maximum number of complex channel coefficients of all pairs together, which bounds memory.
const MOST_COEFFICIENTS: usize = 1 << 22;

/// Node of a mesh: station, radio, queue and counters.
struct Node {
    station: Station,
    radio: Radio,
    table: NullTable,
    interface: Interface,
    on_air: Option<Frame>,
    /// Number of frames sent.
    frames: u64,
    statistics: NodeStatistics,
}

/// A multihop network of 802.11 stations as a fabric: each node is a port, and packets go between any two.
///
/// Departures are a function of configuration, seed and pushes, bit for bit.
pub struct Mesh {
    config: MeshConfig,
    timing: Timing,
    routes: Routes,
    threshold: f64,
    air: Air,
    arrays: Option<Arrays>,
    nodes: Vec<Node>,
    timers: Timers,
    /// Frames that begin at this time, with their ends, once all stations have decided.
    beginning: Vec<(Frame, SimTime)>,
    departures: VecDeque<(Port, Departure)>,
    /// Packets that have entered and not left, by parcel identifier.
    inside: BTreeMap<u32, Parcel>,
    /// Statistics of all nodes together; a transmission is one packet over one hop, retransmissions included.
    statistics: LinkStatistics,
    log: EventLog,
    /// Scratch space for constraints, empty between uses.
    constraints: Vec<Vector>,
    now: SimTime,
}

impl Mesh {
    /// Builds a mesh at time zero.
    ///
    /// Its random streams are named `mac.backoff.N`, `mac.shadowing.N`, `mac.estimation.N` and `mac.channel.A.B.K`.
    ///
    /// # Errors
    /// If the configuration ([`MeshConfig::check`]) or a static route is invalid, or if channels of so many antennas
    /// and nodes would exceed the memory limit.
    pub fn new(config: MeshConfig, seed: RunSeed) -> Result<Self, MeshError> {
        config.check()?;
        let timing = config.dcf.timing()?;
        let routes = Routes::new(&config.routing, &config.positions, config.range_m)?;
        let air = Air::new(&config, seed);
        let count = config.positions.len();
        let arrays = match config.mac {
            Mac::Plain => None,
            Mac::Nulling(nulling) => {
                if air.pairs * nulling.antennas.pow(2) > MOST_COEFFICIENTS {
                    let allowed = format!("fewer where {} pairs of nodes hear each other", air.pairs);
                    return out_of_range("antennas", nulling.antennas, allowed);
                }
                Some(Arrays::new(nulling, count, air.pairs, seed))
            }
        };
        let rules = Arc::new(Rules { config: config.dcf, timing });
        let node = |node: usize| Node {
            station: Station::new(
                node as u32,
                Arc::clone(&rules),
                seed.stream(&format!("mac.backoff.{node}")),
            ),
            radio: Radio::default(),
            table: NullTable::default(),
            interface: Interface::default(),
            on_air: None,
            frames: 0,
            statistics: NodeStatistics::default(),
        };
        Ok(Self {
            timing,
            routes,
            threshold: from_db(config.sinr_threshold_db),
            air,
            arrays,
            nodes: (0..count).map(node).collect(),
            timers: Timers::new(count),
            beginning: Vec::new(),
            departures: VecDeque::new(),
            inside: BTreeMap::new(),
            statistics: LinkStatistics::default(),
            log: EventLog::default(),
            constraints: Vec::new(),
            now: SimTime::ZERO,
            config,
        })
    }

    /// Routes between all nodes.
    pub fn routes(&self) -> &Routes {
        &self.routes
    }

    /// Durations of frames and interframe spaces.
    pub fn timing(&self) -> &Timing {
        &self.timing
    }

    fn node(&mut self, node: u32) -> &mut Node {
        &mut self.nodes[node as usize]
    }

    /// Updates the timer and the activity counters of `node` after its station or radio may have changed.
    fn settle(&mut self, node: u32) {
        let now = self.now;
        let Node { station, radio, statistics, .. } = &mut self.nodes[node as usize];
        radio.account(now, statistics);
        let begins = !matches!(station.phase(), Phase::Sending(_));
        self.timers.set(node, station.next_event().unwrap_or(SimTime::MAX), begins);
    }

    /// Appends a packet to the queue of `node`, which must have a route for it; returns false if the queue is full.
    fn enqueue(&mut self, node: u32, packet: Packet) -> bool {
        let limit = self.config.queue;
        let Node { interface, statistics, .. } = self.node(node);
        if interface.current.is_some() && interface.queue.len() >= limit {
            statistics.queue_drops += 1;
            self.statistics.queue_drops += 1;
            self.log_queue(node, QueueChange::Dropped);
            return false;
        }
        interface.queue.push_back(packet);
        let is_free = interface.current.is_none();
        self.log_queue(node, QueueChange::Enqueued);
        if is_free {
            self.begin_next(node);
        }
        true
    }

    fn log_queue(&mut self, node: u32, change: QueueChange) {
        let (at, queue) = (self.now, &self.nodes[node as usize].interface.queue);
        self.log.push(|| LinkEvent::Queue {
            at,
            node: Some(node as u16),
            change,
            packets: queue.len() as u32,
            bytes: queue.iter().map(|packet| u64::from(packet.parcel.bytes())).sum(),
        });
    }

    /// Hands the first packet of the queue to the station of `node`; does nothing if the queue is empty.
    fn begin_next(&mut self, node: u32) {
        let (now, timing) = (self.now, self.timing);
        let Some(current) = self.node(node).interface.take_next() else { return };
        let Packet { parcel, to, since } = current.packet;
        self.statistics.on_transmission(parcel.bytes(), now - since);
        self.log_queue(node, QueueChange::Dequeued);
        let Some(next) = self.routes.next(node as usize, to as usize) else { return };
        let data = timing.data(parcel.bytes());
        let job = Job { to: next as u32, data, sequence: current.sequence };
        self.node(node).station.begin(now, job);
        self.hold_if_engaged(node);
        self.settle(node);
    }

    /// Handles DATA from `from` that arrived at `node`: delivers or forwards the packet, unless it is a duplicate.
    fn on_packet(&mut self, node: u32, from: u32, sequence: u64) {
        let Node { interface, statistics, .. } = self.node(node);
        if !interface.is_new(from, sequence) {
            statistics.duplicates += 1;
            return;
        }
        let Some(current) = &mut self.node(from).interface.current else { return };
        current.forwarded = true;
        let Packet { parcel, to, .. } = current.packet;
        if to == node {
            let statistics = &mut self.node(node).statistics;
            statistics.packets_delivered += 1;
            statistics.delivered_bytes += u64::from(parcel.bytes());
            self.statistics.on_arrival(parcel.bytes());
            self.departures.push_back((to, Departure::Arrived(parcel)));
        } else if !self.enqueue(node, Packet { parcel, to, since: self.now }) {
            self.departures.push_back((to, Departure::QueueDrop(parcel)));
        }
    }

    /// Ends the current packet of `node`, delivered or dropped, and begins the next; returns true if the next hop has
    /// received it.
    fn finish_packet(&mut self, node: u32) -> bool {
        let Some(current) = self.node(node).interface.current.take() else { return false };
        if !current.forwarded {
            self.statistics.losses += 1;
            self.departures.push_back((current.packet.to, Departure::Lost(current.packet.parcel)));
        }
        self.begin_next(node);
        current.forwarded
    }
}

impl Fabric for Mesh {
    fn ports(&self) -> Port {
        self.nodes.len() as Port
    }

    fn push(&mut self, now: SimTime, from: Port, to: Port, parcel: Parcel) -> Push {
        self.now = self.now.max(now);
        if from == to || self.routes.next(from as usize, to as usize).is_none() {
            return Push::Lost;
        }
        let packet = Packet { parcel, to, since: self.now };
        if !self.enqueue(from, packet) {
            return Push::QueueDrop;
        }
        self.inside.insert(parcel.id(), parcel);
        Push::Accepted
    }

    fn next_event(&self) -> Option<SimTime> {
        if self.beginning.is_empty() && self.departures.is_empty() {
            self.timers.first().map(|(at, _)| at)
        } else {
            Some(self.now)
        }
    }

    fn advance(&mut self, now: SimTime) -> Option<(Port, Departure)> {
        loop {
            if let Some((port, departure)) = self.departures.pop_front() {
                self.inside.remove(&departure.parcel().id());
                return Some((port, departure));
            }
            let next = self.timers.first().filter(|(at, _)| *at <= now);
            if !self.beginning.is_empty() && next.is_none_or(|(at, _)| at > self.now) {
                self.begin_frames();
                continue;
            }
            let (at, node) = next?;
            self.now = at;
            self.on_time(node);
        }
    }

    fn report(&mut self, now: SimTime) -> LinkReport {
        // The report cannot be later than the next pending event.
        self.now = self.next_event().map_or(now, |next| now.min(next)).max(self.now);
        let now = self.now;
        let settled = |Node { radio, statistics, .. }: &mut Node| {
            radio.settle(now, statistics);
            *statistics
        };
        let nodes = self.nodes.iter_mut().map(settled).collect();
        let mut statistics = self.statistics.clone();
        let waiting = self.nodes.iter().flat_map(|node| &node.interface.queue);
        statistics.add_waits(waiting.map(|packet| now.saturating_sub(packet.since)));
        // A later queue may still drop any packet that has not left.
        let unsent = self.inside.values().copied().collect();
        LinkReport { nodes, unsent, ..LinkReport::new(now, statistics, Occupancy::None) }
    }

    fn trace(&mut self, keep: bool) {
        self.log.keep(keep);
    }

    fn next_trace(&mut self) -> Option<LinkEvent> {
        self.log.pop()
    }
}
