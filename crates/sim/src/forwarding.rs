//! Forwarding of packets over access lines and links, until they arrive or are lost.
//!
//! A line, a link or a fabric has at most one event in the queue, however many packets it carries.

#![expect(
    clippy::inline_always,
    reason = "a segment passes through all of it; calls would cost a third of the time"
)]

use crate::direction::{Direction, Loss};
use crate::flow::Flow;
use crate::layout::Layout;
use crate::packets::{Content, Data};
use crate::routing::{FabricLeg, Next, Step};
use crate::state::{Kind, NetworkState};
use crate::watch::Watch;
use crossfade_core::{EventKind, SimTime};
use crossfade_link::{Departure, Parcel, Port, Push};
use crossfade_transport::Ack;

impl<W: Watch, L: Layout> NetworkState<W, L> {
    /// Handles the event of an access line: its packets reach the first link.
    pub(crate) fn on_entry<D: Direction>(&mut self, flows: &mut [Flow], line: u32) {
        let now = self.now;
        while let Some(parcel) = D::path(self).entries[line as usize].advance(now) {
            self.begin::<D>(&mut flows[parcel.flow() as usize], parcel);
        }
        if let Some(at) = D::path(self).entries[line as usize].next_event() {
            self.schedule(at, D::ENTRY, line);
        }
    }

    /// Handles the event of a link, from which packets leave.
    #[inline(always)]
    pub(crate) fn on_link<D: Direction>(&mut self, flows: &mut [Flow], link: u32) {
        let now = self.now;
        if !D::path(self).links[link as usize].wakeup.take(now) {
            return;
        }
        while let Some(departure) = D::path(self).links[link as usize].advance(now) {
            match departure {
                Departure::Arrived(parcel) => {
                    self.leave::<D>(&mut flows[parcel.flow() as usize], link, parcel);
                }
                Departure::Lost(parcel) => {
                    self.miss::<D>(&mut flows[parcel.flow() as usize], parcel, Loss::Lost);
                }
                Departure::QueueDrop(parcel) => {
                    self.miss::<D>(&mut flows[parcel.flow() as usize], parcel, Loss::QueueDrop);
                }
            }
        }
        self.schedule_link::<D>(link);
    }

    /// Forwards a packet that has come over a link.
    #[inline(always)]
    fn leave<D: Direction>(&mut self, flow: &mut Flow, link: u32, parcel: Parcel) {
        let next = D::path(self).links[link as usize].next;
        // A hop never marks packets.
        if !L::IS_SINGLE && parcel.is_ce() {
            self.count_mark::<D>(flow, parcel);
        }
        match if L::IS_SINGLE { Next::Exit } else { next } {
            Next::Exit => self.exit::<D>(flow, parcel),
            Next::Link(next) => self.push_on::<D>(flow, next, parcel),
            Next::ByRoute => {
                let step = self.routing.after_link(D::route(flow).route, link);
                self.follow::<D>(flow, step, parcel);
            }
        }
    }

    /// Forwards a packet to its next medium, or at the end of its route to its host.
    #[inline(never)]
    fn follow<D: Direction>(&mut self, flow: &mut Flow, step: Option<Step>, parcel: Parcel) {
        match step {
            None => self.exit::<D>(flow, parcel),
            Some(Step::Link(link)) => self.push::<D>(flow, link, parcel),
            Some(Step::Fabric(leg)) => self.push_into::<D>(flow, leg, parcel),
        }
    }

    /// Sends a packet from the end of its route to its host.
    #[inline(always)]
    fn exit<D: Direction>(&mut self, flow: &mut Flow, parcel: Parcel) {
        let now = self.now;
        let (_, line) = D::lines(flow.lines);
        match D::path(self).exits.get_mut(line as usize) {
            None => D::arrive(self, flow, parcel),
            Some(exit) => {
                if let Some(at) = exit.push(now, parcel) {
                    self.schedule(at, D::EXIT, line);
                }
            }
        }
    }

    /// Handles simultaneous events of several fabrics in the order of the fabrics, whichever event was scheduled first:
    /// how often a queue asks for events must not change results.
    pub(crate) fn on_fabrics(&mut self, flows: &mut [Flow], fabric: u32) {
        if !self.queue.has_another(self.now, Kind::Fabric as u8) {
            return self.on_fabric(flows, fabric);
        }
        let mut fabrics = vec![fabric];
        while self.queue.has_another(self.now, Kind::Fabric as u8) {
            fabrics.extend(self.queue.pop().map(|(_, event)| event.index));
        }
        fabrics.sort_unstable();
        for fabric in fabrics {
            // No event happens after the one that ends the run.
            if !self.is_over {
                self.on_fabric(flows, fabric);
            }
        }
    }

    /// Handles the event of a fabric, from which packets leave.
    #[inline(never)]
    fn on_fabric(&mut self, flows: &mut [Flow], fabric: u32) {
        let now = self.now;
        if L::IS_SINGLE || !self.fabrics[fabric as usize].wakeup.take(now) {
            return;
        }
        while let Some((port, departure)) = self.advance_fabric(fabric, now) {
            let parcel = departure.parcel();
            match Content::of(parcel) {
                Content::Data => {
                    self.leave_fabric::<Data>(&mut flows[parcel.flow() as usize], fabric, port, departure);
                }
                Content::Ack => {
                    self.leave_fabric::<Ack>(&mut flows[parcel.flow() as usize], fabric, port, departure);
                }
                Content::Outside => self.outside_leaves(fabric, port, departure),
            }
        }
        self.schedule_fabric(fabric);
    }

    /// Takes the next packet that leaves a fabric by `now`; the capture first gets the PPDUs of a wireless fabric.
    fn advance_fabric(&mut self, fabric: u32, now: SimTime) -> Option<(Port, Departure)> {
        let fabric = &mut self.fabrics[fabric as usize];
        let departure = fabric.advance(now);
        if self.watch.hears()
            && let Some(capture) = self.watch.capture()
        {
            while let Some(ppdu) = fabric.next_ppdu() {
                capture.ppdu(&ppdu);
            }
        }
        departure
    }

    fn leave_fabric<D: Direction>(&mut self, flow: &mut Flow, fabric: u32, port: Port, departure: Departure) {
        match departure {
            Departure::Arrived(parcel) => {
                if parcel.is_ce() {
                    self.count_mark::<D>(flow, parcel);
                }
                let step = self.routing.after_fabric(D::route(flow).route, fabric, port);
                self.follow::<D>(flow, step, parcel);
            }
            Departure::Lost(parcel) => self.miss::<D>(flow, parcel, Loss::Lost),
            Departure::QueueDrop(parcel) => self.miss::<D>(flow, parcel, Loss::QueueDrop),
        }
    }

    /// Counts the ECN mark of a packet when it is first seen behind a link.
    #[cold]
    fn count_mark<D: Direction>(&mut self, flow: &mut Flow, parcel: Parcel) {
        let packet = &mut D::path(self).packets[parcel];
        if !packet.count_mark() {
            return;
        }
        let seq = packet.seq();
        flow.counts.ecn_marks += 1;
        self.observe(flow, EventKind::Mark, seq);
    }

    /// Handles the event of an access line to hosts, which the line's packets reach.
    pub(crate) fn on_exit<D: Direction>(&mut self, flows: &mut [Flow], line: u32) {
        let now = self.now;
        while let Some(parcel) = D::path(self).exits[line as usize].advance(now) {
            D::arrive(self, &mut flows[parcel.flow() as usize], parcel);
        }
        let path = D::path(self);
        path.exited += 1;
        if let Some(at) = path.exits[line as usize].go_on(now, path.exited) {
            self.schedule(at, D::EXIT, line);
        }
    }

    /// Sends a packet of a host over its access line, or to the first medium if there is no line.
    #[inline(always)]
    pub(crate) fn enter<D: Direction>(&mut self, flow: &mut Flow, parcel: Parcel) {
        let now = self.now;
        let (line, _) = D::lines(flow.lines);
        let path = D::path(self);
        let Some(entry) = path.entries.get_mut(line as usize) else {
            return self.push_first::<D>(flow, parcel);
        };
        if path.is_foreseen {
            let at = path.foresee(line, now, parcel);
            self.leave_later::<D>(flow, at, parcel);
        } else if let Some(at) = entry.push(now, parcel) {
            self.schedule(at, D::ENTRY, line);
        }
    }

    /// Puts a packet into the first medium of its route.
    #[inline(always)]
    fn push_first<D: Direction>(&mut self, flow: &mut Flow, parcel: Parcel) {
        match D::route(flow).first {
            _ if L::IS_SINGLE => self.push::<D>(flow, 0, parcel),
            Step::Link(link) => self.push::<D>(flow, link, parcel),
            Step::Fabric(leg) => self.push_into::<D>(flow, leg, parcel),
        }
    }

    #[inline(never)]
    fn begin<D: Direction>(&mut self, flow: &mut Flow, parcel: Parcel) {
        self.push_first::<D>(flow, parcel);
    }

    /// Schedules the arrival of a packet whose departure from the last link is already known.
    #[inline(always)]
    fn leave_later<D: Direction>(&mut self, flow: &mut Flow, at: SimTime, parcel: Parcel) {
        let (_, line) = D::lines(flow.lines);
        let out = D::path(self).exits[line as usize].push_ahead(at, parcel);
        if matches!(D::EXIT, Kind::ForwardExit) && self.late.is_on {
            return self.arrive_late(out);
        }
        if let Some(at) = out {
            self.schedule(at, D::EXIT, line);
        }
    }

    #[inline(always)]
    fn push<D: Direction>(&mut self, flow: &mut Flow, link: u32, parcel: Parcel) {
        let now = self.now;
        let path = D::path(self);
        let outcome = if !L::IS_SINGLE && path.is_direct {
            match path.links[link as usize].pass(now, parcel) {
                Ok(at) => return self.leave_later::<D>(flow, at, parcel),
                Err(gone) => gone,
            }
        } else {
            path.links[link as usize].push(now, parcel)
        };
        self.schedule_link::<D>(link);
        match outcome {
            Push::Accepted => {}
            Push::Lost => self.miss::<D>(flow, parcel, Loss::Lost),
            Push::QueueDrop => self.miss::<D>(flow, parcel, Loss::QueueDrop),
        }
    }

    #[inline(never)]
    fn push_into<D: Direction>(&mut self, flow: &mut Flow, leg: u32, parcel: Parcel) {
        let FabricLeg { fabric, from, to } = self.routing.leg(leg);
        if self.watch.hears() && self.fabrics[fabric as usize].has_air {
            D::enters(self, flow, parcel);
        }
        match self.push_fabric(fabric, from, to, parcel) {
            Push::Accepted => {}
            Push::Lost => self.miss::<D>(flow, parcel, Loss::Lost),
            Push::QueueDrop => self.miss::<D>(flow, parcel, Loss::QueueDrop),
        }
    }

    pub(crate) fn push_fabric(&mut self, fabric: u32, from: Port, to: Port, parcel: Parcel) -> Push {
        let outcome = self.fabrics[fabric as usize].push(self.now, from, to, parcel);
        self.schedule_fabric(fabric);
        outcome
    }

    fn schedule_fabric(&mut self, fabric: u32) {
        if let Some(at) = self.fabrics[fabric as usize].missing_event() {
            self.schedule(at, Kind::Fabric, fabric);
        }
    }

    #[inline(never)]
    fn push_on<D: Direction>(&mut self, flow: &mut Flow, link: u32, parcel: Parcel) {
        self.push::<D>(flow, link, parcel);
    }

    #[inline(always)]
    fn schedule_link<D: Direction>(&mut self, link: u32) {
        if let Some(at) = D::path(self).links[link as usize].missing_event() {
            self.schedule(at, D::LINK, link);
        }
    }

    /// Counts a packet that a link has lost or dropped.
    #[cold]
    fn miss<D: Direction>(&mut self, flow: &mut Flow, parcel: Parcel, loss: Loss) {
        let packets = &mut D::path(self).packets;
        let seq = packets[parcel].seq();
        packets.forget(parcel);
        let (count, kind) = D::missing(&mut flow.counts, loss);
        *count += 1;
        self.observe(flow, kind, seq);
        // This may have been the flow's last packet in the network.
        if flow.arrivals.is_some() && flow.is_done() {
            self.ended.push(flow.place);
        }
    }
}
