//! Transmission of frames in a mesh: begin, reception at each radio, and end.

use super::{Mesh, Node};
use crate::air::Neighbour;
use crate::config::Knowledge;
use crate::null_table::Role;
use crate::radio::{Arriving, Lock};
use crate::station::{Action, Frame, FrameKind, Heard};
use crate::timing::Timing;
use crate::vector::Vector;
use crossfade_core::SimTime;
use crossfade_link::LinkEvent;

impl Mesh {
    /// Runs the due event of `node`: the end of its frame, or the next step of its station.
    pub(super) fn on_time(&mut self, node: u32) {
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

    /// Puts the frames on the air that all stations have decided to send at this time.
    pub(super) fn begin_frames(&mut self) {
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
        let Node { frames, .. } = &mut self.nodes[from as usize];
        let (number, arrays) = (*frames, &self.arrays);
        *frames += 1;
        self.log.push(|| LinkEvent::Air {
            at: now,
            end,
            node: from as u16,
            frame: number,
            kind: frame.kind.name(),
            to: frame.to as u16,
            bin: None,
            nulls: arrays.as_ref().map_or_else(Vec::new, |arrays| {
                arrays.nulled[from as usize].iter().map(|&node| node as u16).collect()
            }),
        });
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

    /// Begins the reception of a frame at one neighbour of its sender.
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

    /// Locks an idle radio on a frame: with the weights of the node's exchange if the sender is its peer, otherwise
    /// with the best weights for this frame under the nulls.
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
        // All receivers decode the frame before the medium becomes idle for any of them.
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
        // After its own frame a station waits for an answer or becomes idle; it sends nothing.
        let _nothing = node.station.on_time(now);
        self.settle(from);
    }

    /// Handles a frame that was decoded by the station to which it is addressed.
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
                    self.node(node).interface.current.map_or(0, |current| current.packet.parcel.bytes());
                let span = self.timing.exchange(bytes);
                let statistics = &mut self.node(node).statistics;
                statistics.packets_forwarded += 1;
                statistics.exchange_time += span;
                self.finish_packet(node);
            }
        }
    }

    /// Starts an exchange of a called `node`, with the weights by which it received the call.
    fn engage(&mut self, node: u32, lock: &Lock) {
        if let (Some(arrays), Some(weights)) = (&mut self.arrays, lock.weights) {
            arrays.set_weights(node, weights);
            let Node { table, statistics, .. } = &mut self.nodes[node as usize];
            table.nulled_nodes(arrays.config.rule, false, &mut arrays.nulled[node as usize]);
            statistics.nulls_spent += arrays.nulled[node as usize].len() as u64;
        }
    }

    /// Handles a frame that was decoded by a `node` to which it is not addressed: extends its NAV, and its knowledge of
    /// exchanges.
    fn overhear(&mut self, frame: &Frame, node: u32, seen: &Vector) {
        let now = self.now;
        let Timing { sifs, cts, .. } = self.timing;
        let until = match (&self.arrays, frame.kind) {
            (None, _) | (_, FrameKind::Data) => frame.until,
            // A node that can null others does not wait for the end of their exchange, only for its first two frames.
            (_, FrameKind::Rts) => now + sifs + cts,
            (_, FrameKind::Cts | FrameKind::Ack) => now,
        };
        self.node(node).station.reserve(now, until);
        if self.arrays.as_ref().is_some_and(|arrays| arrays.config.knowledge == Knowledge::Overheard) {
            self.learn(frame, node, seen);
        }
    }

    /// Records the sender of an overheard RTS or CTS as engaged.
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

    /// With perfect knowledge, tells all other nodes in the interference range that `node` is engaged with `peer`.
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
}
