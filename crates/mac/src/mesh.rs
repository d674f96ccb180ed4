//! The fabric: stations that share the air.
//!
//! The mesh passes on what happens: frames that begin and end to the radios they reach, what radios hear to their
//! stations, packets from node to node. At one instant first frames end, then stations act on what they know, and
//! only then begin the frames that they decided to send: two counters that end in the same slot collide.

use crate::air::{Air, Neighbour, db};
use crate::arrays::Arrays;
use crate::config::{Knowledge, Mac, MeshConfig, Overload};
use crate::error::{MeshError, out_of_range};
use crate::event::LinkEvent;
use crate::fabric::{Departure, Fabric, Parcel, Port, Push};
use crate::interface::{Interface, Packet};
use crate::null_table::{NullTable, Role};
use crate::radio::{Arriving, Lock, Radio};
use crate::routes::Routes;
use crate::station::{Action, Frame, FrameKind, Heard, Job, Phase, Rules, Station};
use crate::statistics::{MeshReport, NodeStatistics};
use crate::svd::Svd;
use crate::timers::Timers;
use crate::timing::Timing;
use crate::vector::Vector;
use crossfade_core::{RunSeed, SimTime};
use std::collections::VecDeque;
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
    statistics: NodeStatistics,
}

/// A multihop network of 802.11 stations as a fabric: a port a node, packets between any two of them, both ways.
///
/// The same configuration, seed and pushes give the same departures, bit for bit.
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
    events: Option<VecDeque<LinkEvent>>,
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
            statistics: NodeStatistics::default(),
        };
        Ok(Self {
            timing,
            routes,
            threshold: db(config.sinr_threshold_db),
            air,
            arrays,
            nodes: (0..count).map(node).collect(),
            timers: Timers::new(count),
            beginning: Vec::new(),
            departures: VecDeque::new(),
            events: None,
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

    fn note(&mut self, event: impl FnOnce() -> LinkEvent) {
        if let Some(events) = &mut self.events {
            events.push_back(event());
        }
    }

    // Packets.

    /// A packet joins the queue of `node`, which has a route for it; false if it is full.
    fn enqueue(&mut self, node: u32, packet: Packet) -> bool {
        let limit = self.config.queue;
        let Node { interface, statistics, .. } = self.node(node);
        if interface.current.is_some() && interface.queue.len() >= limit {
            statistics.queue_drops += 1;
            return false;
        }
        interface.queue.push_back(packet);
        if interface.current.is_none() {
            self.begin_next(node);
        }
        self.note_queue(node);
        true
    }

    fn note_queue(&mut self, node: u32) {
        let (at, length) = (self.now, self.nodes[node as usize].interface.queue.len() as u32);
        self.note(|| LinkEvent::Queue { at, node, length });
    }

    /// The station of `node` gets the next packet, if there is one.
    fn begin_next(&mut self, node: u32) {
        let (now, timing) = (self.now, self.timing);
        let Some(current) = self.node(node).interface.take_next() else { return };
        let Some(next) = self.routes.next(node as usize, current.packet.to) else { return };
        let data = timing.data(current.packet.parcel.bytes);
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
        let Packet { parcel, to } = current.packet;
        if to == node as usize {
            let statistics = &mut self.node(node).statistics;
            statistics.packets_delivered += 1;
            statistics.delivered_bytes += u64::from(parcel.bytes);
            self.departures.push_back((to, Departure::Arrived(parcel)));
        } else if !self.enqueue(node, Packet { parcel, to }) {
            self.departures.push_back((to, Departure::QueueDrop(parcel)));
        }
    }

    /// `node` is done with its packet; whether the next node has it.
    fn finish_packet(&mut self, node: u32) -> bool {
        let Some(current) = self.node(node).interface.current.take() else { return false };
        if !current.forwarded {
            self.departures.push_back((current.packet.to, Departure::Lost(current.packet.parcel)));
        }
        self.begin_next(node);
        self.note_queue(node);
        current.forwarded
    }

    // Frames.

    /// The time of `node` has come.
    fn on_time(&mut self, node: u32) {
        let now = self.now;
        if self.nodes[node as usize].on_air.is_some() {
            self.end_frame(node);
        } else if !(self.nodes[node as usize].station.calls_next() && self.puts_off_call(node)) {
            match self.node(node).station.on_time(now) {
                Action::Nothing => {}
                Action::Send(frame, airtime) => self.beginning.push((frame, now + airtime)),
                Action::Failed(kind) => self.on_failure(node, kind),
                Action::GaveUp(kind) => {
                    self.on_failure(node, kind);
                    let has_it = self.finish_packet(node);
                    let statistics = &mut self.node(node).statistics;
                    statistics.rts_drops += u64::from(kind == FrameKind::Rts);
                    statistics.data_drops += u64::from(kind == FrameKind::Data);
                    statistics.forwarded_after_all += u64::from(has_it);
                }
            }
        }
        self.settle(node);
    }

    fn on_failure(&mut self, node: u32, kind: FrameKind) {
        let statistics = &mut self.node(node).statistics;
        statistics.rts_losses += u64::from(kind == FrameKind::Rts);
        statistics.data_losses += u64::from(kind == FrameKind::Data);
    }

    /// All have decided: their frames go on the air.
    fn begin_frames(&mut self) {
        let beginning = std::mem::take(&mut self.beginning);
        for (frame, _) in &beginning {
            let node = self.node(frame.from);
            node.on_air = Some(*frame);
            node.radio.transmit(true);
            let statistics = &mut node.statistics;
            *match frame.kind {
                FrameKind::Rts => &mut statistics.rts_sent,
                FrameKind::Cts => &mut statistics.cts_sent,
                FrameKind::Data => &mut statistics.data_sent,
                FrameKind::Ack => &mut statistics.acks_sent,
            } += 1;
        }
        for (frame, end) in &beginning {
            self.begin_frame(frame, *end);
        }
        self.beginning = beginning;
        self.beginning.clear();
    }

    fn begin_frame(&mut self, frame: &Frame, end: SimTime) {
        let (now, from) = (self.now, frame.from);
        if self.events.is_some() {
            let nulls =
                self.arrays.as_ref().map_or_else(Vec::new, |arrays| arrays.nulled[from as usize].clone());
            self.note(|| LinkEvent::Air {
                node: from,
                frame: frame.kind,
                to: frame.to,
                start: now,
                end,
                nulls,
            });
        }
        if frame.kind == FrameKind::Rts {
            let Timing { sifs, cts, slot, .. } = self.timing;
            self.announce(from, frame.to, Role::Sender, frame.until, end + sifs + cts + sifs + slot);
        }
        for i in 0..self.air.neighbours(from).len() {
            let neighbour = self.air.neighbours(from)[i];
            self.reach(frame, &neighbour);
        }
        self.settle(from);
    }

    /// A frame begins at one of those whom it reaches.
    fn reach(&mut self, frame: &Frame, neighbour: &Neighbour) {
        let (now, from, node) = (self.now, frame.from, neighbour.node);
        let arrival = self.air.arrival(from, neighbour);
        let mut known = false;
        let mut seen = Vector::zeros(1);
        if let Some(arrays) = &mut self.arrays {
            seen = arrays.seen(now, from, neighbour);
            let Node { table, radio, .. } = &mut self.nodes[node as usize];
            table.forget(now);
            known = table.engaged(from).is_some();
            let notices = arrays.config.knowledge == Knowledge::Perfect || !radio.is_transmitting();
            if known && notices && frame.kind == FrameKind::Data && table.confirm(from) {
                self.hold_if_engaged(node);
            }
        }
        let arriving = Arriving { from, power: arrival.power, sensed: arrival.sensed && !known, seen };
        let Node { radio, station, .. } = &mut self.nodes[node as usize];
        let was_busy = radio.is_busy();
        radio.on_begin(arriving);
        if !was_busy && radio.is_busy() {
            station.on_busy(now);
        }
        if arrival.decodable && !known && !radio.is_transmitting() && !radio.is_locked() {
            self.lock_on(node, &arriving);
        }
        self.settle(node);
    }

    /// An idle radio locks on a frame: with the weights of its exchange if that is with the sender, else with what the
    /// nulls leave of those best for it.
    fn lock_on(&mut self, node: u32, arriving: &Arriving) {
        let least = self.air.least_signal();
        let mut weights = None;
        if let Some(arrays) = &mut self.arrays {
            let Node { station, table, .. } = &mut self.nodes[node as usize];
            if station.peer() == Some(arriving.from) {
                weights = Some(*arrays.weights(node));
            } else {
                table.constraints(arrays.config.rule, false, &mut self.constraints);
                let wish = arrays.estimate(node, &arriving.seen).conj();
                weights = arrays.nulling(&wish, &self.constraints);
                if weights.is_none() {
                    return;
                }
            }
        }
        self.node(node).radio.lock_on(arriving, weights, least);
    }

    fn end_frame(&mut self, from: u32) {
        let Some(frame) = self.node(from).on_air.take() else { return };
        let now = self.now;
        // All understand it before anybody finds the medium idle.
        for i in 0..self.air.neighbours(from).len() {
            let neighbour = self.air.neighbours(from)[i];
            let (threshold, noise) = (self.threshold, self.air.noise);
            let Node { radio, station, .. } = &mut self.nodes[neighbour.node as usize];
            let Some(ended) = radio.on_end(from, threshold, noise) else { continue };
            let (idle, transmitting) = (!radio.is_busy(), radio.is_transmitting());
            if !transmitting && (ended.sensed || ended.understood.is_some()) {
                station.on_frame_end(ended.understood.is_some());
            }
            if let Some(lock) = &ended.understood {
                if frame.to == neighbour.node {
                    self.on_frame(&frame, lock);
                } else {
                    self.overhear(&frame, neighbour.node, &ended.frame.seen);
                }
            }
            if ended.sensed && idle {
                self.node(neighbour.node).station.on_idle(now);
            }
            self.settle(neighbour.node);
        }
        let node = self.node(from);
        node.radio.transmit(false);
        // What comes after a frame of one's own is a wait, or nothing.
        let _nothing = node.station.on_time(now);
        self.settle(from);
    }

    /// A frame was understood by the one it is for.
    fn on_frame(&mut self, frame: &Frame, lock: &Lock) {
        let (now, node) = (self.now, frame.to);
        match self.node(node).station.on_frame(now, frame) {
            Heard::Nothing => {}
            Heard::Called => {
                self.engage(node, lock);
                self.announce(node, frame.from, Role::Receiver, frame.until, SimTime::MAX);
            }
            Heard::Packet => self.on_packet(node, frame.from, frame.sequence),
            Heard::Acknowledged => {
                let bytes =
                    self.node(node).interface.current.map_or(0, |current| current.packet.parcel.bytes);
                let span = self.timing.exchange(bytes);
                let statistics = &mut self.node(node).statistics;
                statistics.packets_forwarded += 1;
                statistics.exchange_time += span;
                self.finish_packet(node);
            }
        }
    }

    /// `node` is in an exchange, with the weights with which it heard the call.
    fn engage(&mut self, node: u32, lock: &Lock) {
        if let (Some(arrays), Some(weights)) = (&mut self.arrays, lock.weights) {
            arrays.set_weights(node, weights);
            let Node { table, statistics, .. } = &mut self.nodes[node as usize];
            table.nulled_nodes(arrays.config.rule, false, &mut arrays.nulled[node as usize]);
            statistics.nulls_spent += arrays.nulled[node as usize].len() as u64;
        }
    }

    /// A frame was understood by one whom it is not for.
    fn overhear(&mut self, frame: &Frame, node: u32, seen: &Vector) {
        let now = self.now;
        let Timing { sifs, cts, .. } = self.timing;
        let until = match (&self.arrays, frame.kind) {
            (None, _) | (_, FrameKind::Data) => frame.until,
            // Whoever can null the others need not wait for them, only let them begin.
            (_, FrameKind::Rts) => now + sifs + cts,
            (_, FrameKind::Cts | FrameKind::Ack) => now,
        };
        self.node(node).station.reserve(now, until);
        if self.arrays.as_ref().is_some_and(|arrays| arrays.config.knowledge == Knowledge::Overheard) {
            self.learn(frame, node, seen);
        }
    }

    /// An overheard RTS or CTS tells that its sender is engaged.
    fn learn(&mut self, frame: &Frame, node: u32, seen: &Vector) {
        let now = self.now;
        let Timing { sifs, cts, slot, .. } = self.timing;
        let (role, data_by) = match frame.kind {
            FrameKind::Rts => (Role::Sender, now + sifs + cts + sifs + slot),
            FrameKind::Cts => (Role::Receiver, SimTime::MAX),
            FrameKind::Data | FrameKind::Ack => return,
        };
        let Some(arrays) = &mut self.arrays else { return };
        let seen = arrays.estimate(node, seen);
        self.node(node).table.learn(frame.from, role, frame.until, data_by, seen);
        self.hold_if_engaged(node);
    }

    /// With perfect knowledge all others in the interference range know at once that `node` is engaged with `peer`.
    fn announce(&mut self, node: u32, peer: u32, role: Role, until: SimTime, data_by: SimTime) {
        for i in 0..self.air.neighbours(node).len() {
            let neighbour = self.air.neighbours(node)[i];
            let Some(arrays) = &mut self.arrays else { return };
            if arrays.config.knowledge != Knowledge::Perfect {
                return;
            }
            if neighbour.interferes && neighbour.node != peer {
                let seen = arrays.seen(self.now, node, &neighbour);
                let seen = arrays.estimate(neighbour.node, &seen);
                self.node(neighbour.node).table.learn(node, role, until, data_by, seen);
                self.hold_if_engaged(neighbour.node);
                self.settle(neighbour.node);
            }
        }
    }

    // Nulling.

    /// Until when `node` must not call `to`: while that is engaged, or while there are too many nulls to make.
    fn engaged_until(&mut self, node: u32, to: u32) -> Option<SimTime> {
        let arrays = self.arrays.as_ref()?;
        let table = &mut self.nodes[node as usize].table;
        table.forget(self.now);
        if let Some(until) = table.engaged(to) {
            return Some(until);
        }
        if arrays.config.overload == Overload::LeastSquares || table.len() < arrays.config.antennas {
            return None;
        }
        table.constraints(arrays.config.rule, true, &mut self.constraints);
        let rank = Svd::new(arrays.config.antennas, &self.constraints).rank();
        if rank < arrays.config.antennas { None } else { table.first_end() }
    }

    /// Puts off the call of `node`, if it has one to make and must not; whether it must not.
    fn hold_if_engaged(&mut self, node: u32) -> bool {
        let Some(job) = self.nodes[node as usize].station.job() else { return false };
        let Some(until) = self.engaged_until(node, job.to) else { return false };
        let now = self.now;
        let Node { station, statistics, .. } = self.node(node);
        if station.hold(now, until) {
            statistics.deferrals += 1;
            self.note(|| LinkEvent::Defer { at: now, node, to: job.to, until });
        }
        true
    }

    /// The backoff of a call is over: puts it off, or finds the weights for it.
    fn puts_off_call(&mut self, node: u32) -> bool {
        if self.arrays.is_none() {
            return false;
        }
        if self.hold_if_engaged(node) {
            return true;
        }
        let Some(arrays) = &mut self.arrays else { return false };
        let Node { table, statistics, .. } = &mut self.nodes[node as usize];
        table.constraints(arrays.config.rule, true, &mut self.constraints);
        if let Some(weights) = arrays.nulling(&arrays.wish(node), &self.constraints) {
            arrays.set_weights(node, weights);
            table.nulled_nodes(arrays.config.rule, true, &mut arrays.nulled[node as usize]);
            statistics.nulls_spent += arrays.nulled[node as usize].len() as u64;
        }
        false
    }
}

impl Fabric for Mesh {
    fn ports(&self) -> usize {
        self.nodes.len()
    }

    fn push(&mut self, now: SimTime, from: Port, to: Port, parcel: Parcel) -> Push {
        self.now = self.now.max(now);
        if from == to || self.routes.next(from, to).is_none() {
            return Push::Lost;
        }
        if self.enqueue(from as u32, Packet { parcel, to }) { Push::Accepted } else { Push::QueueDrop }
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
            if let Some(departure) = self.departures.pop_front() {
                return Some(departure);
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

    fn report(&mut self, now: SimTime) -> MeshReport {
        // What is still to happen bounds what can be told.
        self.now = self.next_event().map_or(now, |next| now.min(next)).max(self.now);
        let now = self.now;
        let settled = |Node { radio, statistics, .. }: &mut Node| {
            radio.settle(now, statistics);
            *statistics
        };
        MeshReport { elapsed: now, nodes: self.nodes.iter_mut().map(settled).collect() }
    }

    fn trace(&mut self, keep: bool) {
        if keep {
            self.events.get_or_insert_default();
        } else {
            self.events = None;
        }
    }

    fn next_trace(&mut self) -> Option<LinkEvent> {
        self.events.as_mut()?.pop_front()
    }
}
