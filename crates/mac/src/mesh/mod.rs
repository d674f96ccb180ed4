//! The fabric: stations that share the air.
//!
//! The mesh passes on what happens: frames that begin and end to the radios they reach, what radios hear to their
//! stations, packets from node to node. At one instant first frames end, then stations act on what they know, and
//! only then begin the frames that they decided to send: two counters that end in the same slot collide.

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

/// Channel coefficients of all pairs together that a mesh may hold.
const MOST_COEFFICIENTS: usize = 1 << 22;

/// One node.
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

/// A multihop network of 802.11 stations as a fabric: a port a node, packets between any two of them, both ways.
///
/// Equal configuration, seed and pushes give equal departures, bit for bit.
pub struct Mesh {
    config: MeshConfig,
    timing: Timing,
    routes: Routes,
    threshold: f64,
    air: Air,
    arrays: Option<Arrays>,
    nodes: Vec<Node>,
    timers: Timers,
    /// Frames that begin now, once all have decided.
    beginning: Vec<(Frame, SimTime)>,
    departures: VecDeque<(Port, Departure)>,
    /// Packets that have entered and not left, by name.
    inside: BTreeMap<u32, Parcel>,
    /// Statistics of all nodes: a transmission is a packet's on one hop, whatever retransmissions it takes.
    statistics: LinkStatistics,
    log: EventLog,
    /// Empty between uses; kept for its memory.
    constraints: Vec<Vector>,
    now: SimTime,
}

impl Mesh {
    /// A mesh in which nothing has been sent.
    ///
    /// Its streams are called `mac.backoff.N`, `mac.shadowing.N`, `mac.estimation.N` and `mac.channel.A.B.K`.
    ///
    /// # Errors
    /// A configuration that cannot be ([`MeshConfig::check`]), static routes that cannot be, or arrays too large for
    /// so many nodes.
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

    /// The routes.
    pub fn routes(&self) -> &Routes {
        &self.routes
    }

    /// The spans of the exchanges.
    pub fn timing(&self) -> &Timing {
        &self.timing
    }

    fn node(&mut self, node: u32) -> &mut Node {
        &mut self.nodes[node as usize]
    }

    /// The station's time may have changed, and the radio's activity.
    fn settle(&mut self, node: u32) {
        let now = self.now;
        let Node { station, radio, statistics, .. } = &mut self.nodes[node as usize];
        radio.account(now, statistics);
        let begins = !matches!(station.phase(), Phase::Sending(_));
        self.timers.set(node, station.next_event().unwrap_or(SimTime::MAX), begins);
    }

    /// A packet joins the queue of `node`, which has a route for it; false if it is full.
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

    /// The station of `node` gets the next packet, if there is one.
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

    /// DATA of `from` has come to `node`.
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

    /// `node` is done with its packet; whether the next node has it.
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
        // What is still to happen bounds what can be told.
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
        // Until it is there or lost a queue may drop it.
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
