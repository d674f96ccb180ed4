//! What happens between the hosts of flows: packets along the path, acknowledgements back.
//!
//! A host, a line or a link has at most one event in the queue, however many packets are under way.

#![expect(
    clippy::inline_always,
    reason = "a segment passes through all of it; calls would cost a third of the time"
)]

use crate::capture::Capture;
use crate::flow::{Flow, Hosts, Lines};
use crate::layout::Layout;
use crate::network::{Carriage, SenderGate, StopRule};
use crate::path::{Path, Ticket};
use crate::statistics::FlowStatistics;
use crossfade_core::{EventKind, EventQueue, EventRecord, Observer, SimTime};
use crossfade_link::{Departure, Push};
use crossfade_transport::{Ack, AckOutcome, Expired, Received, Segment};

/// Events of equal time happen in this order: what arrives is seen before a timer expires, and both before
/// anything new is sent. What is measured begins and ends in between.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u8)]
pub(crate) enum Kind {
    /// Packets reach the first link: of a line.
    ForwardEntry,
    /// Something happens on a link.
    ForwardLink,
    /// Packets reach the receivers: of a line.
    ForwardExit,
    ReverseEntry,
    ReverseLink,
    ReverseExit,
    /// Of a flow.
    Timer,
    /// An acknowledgement held back is due: of a flow.
    DelayedAck,
    Warm,
    Stop,
    /// A flow begins.
    Start,
    /// A flow sends a datagram.
    Datagram,
    /// A flow comes.
    Arrival,
    SlotStart,
}

/// What happens, and to which flow, line or link.
#[derive(Clone, Copy)]
pub(crate) struct Event {
    pub(crate) kind: Kind,
    pub(crate) index: u32,
}

/// The two ways through the network, told apart by what travels: segments forward, acknowledgements back.
pub(crate) trait Way: Sized {
    const ENTRY: Kind;
    const LINK: Kind;
    const EXIT: Kind;

    fn path<O, C, L: Layout>(net: &mut Net<O, C, L>) -> &mut Path<Self, L>;

    /// The lines from the host that sends to the first link, and from the last link to the host that
    /// receives.
    fn lines(lines: Lines) -> (u32, u32);

    /// A packet reached its host.
    fn arrive<O: Observer, C: Capture, L: Layout>(net: &mut Net<O, C, L>, flow: &mut Flow, ticket: Ticket);

    /// Where a loss or a drop is counted, and what observers call it.
    fn missing(counts: &mut FlowStatistics, fate: Fate) -> (&mut u64, EventKind);

    /// Which segment it is, or which is expected next.
    fn seq(&self) -> u64;
}

/// Why a packet goes missing.
#[derive(Clone, Copy)]
pub(crate) enum Fate {
    Lost,
    QueueDrop,
}

/// A segment without gaps between its fields: a copy of the gaps would read what was just written in other
/// pieces, and wait for it.
#[derive(Clone, Copy)]
pub(crate) struct Data {
    seq: u64,
    timestamp: SimTime,
    flags: u64,
}

impl From<Segment> for Data {
    #[inline]
    fn from(segment: Segment) -> Self {
        let Segment { seq, retransmission, timestamp, ecn_capable, cwr } = segment;
        let flags = u64::from(retransmission) | u64::from(ecn_capable) << 1 | u64::from(cwr) << 2;
        Self { seq, timestamp, flags }
    }
}

impl From<Data> for Segment {
    #[inline]
    fn from(data: Data) -> Self {
        let Data { seq, timestamp, flags } = data;
        let [retransmission, ecn_capable, cwr] = [1, 2, 4].map(|flag| flags & flag != 0);
        Self { seq, retransmission, timestamp, ecn_capable, cwr }
    }
}

impl Way for Data {
    const ENTRY: Kind = Kind::ForwardEntry;
    const LINK: Kind = Kind::ForwardLink;
    const EXIT: Kind = Kind::ForwardExit;

    fn path<O, C, L: Layout>(net: &mut Net<O, C, L>) -> &mut Path<Self, L> {
        &mut net.forward
    }

    fn lines(lines: Lines) -> (u32, u32) {
        (lines.sender, lines.receiver)
    }

    fn arrive<O: Observer, C: Capture, L: Layout>(net: &mut Net<O, C, L>, flow: &mut Flow, ticket: Ticket) {
        net.on_segment(flow, ticket);
    }

    fn missing(counts: &mut FlowStatistics, fate: Fate) -> (&mut u64, EventKind) {
        match fate {
            Fate::Lost => (&mut counts.segments_lost, EventKind::Lost),
            Fate::QueueDrop => (&mut counts.queue_drops, EventKind::QueueDrop),
        }
    }

    fn seq(&self) -> u64 {
        self.seq
    }
}

impl Way for Ack {
    const ENTRY: Kind = Kind::ReverseEntry;
    const LINK: Kind = Kind::ReverseLink;
    const EXIT: Kind = Kind::ReverseExit;

    fn path<O, C, L: Layout>(net: &mut Net<O, C, L>) -> &mut Path<Self, L> {
        &mut net.reverse
    }

    fn lines(lines: Lines) -> (u32, u32) {
        (lines.receiver, lines.sender)
    }

    fn arrive<O: Observer, C: Capture, L: Layout>(net: &mut Net<O, C, L>, flow: &mut Flow, ticket: Ticket) {
        net.on_ack(flow, ticket);
    }

    fn missing(counts: &mut FlowStatistics, fate: Fate) -> (&mut u64, EventKind) {
        match fate {
            Fate::Lost => (&mut counts.acks_lost, EventKind::AckLost),
            Fate::QueueDrop => (&mut counts.ack_queue_drops, EventKind::AckQueueDrop),
        }
    }

    fn seq(&self) -> u64 {
        self.next_expected
    }
}

/// Everything but the flows.
pub(crate) struct Net<O, C, L: Layout> {
    pub(crate) forward: Path<Data, L>,
    pub(crate) reverse: Path<Ack, L>,
    pub(crate) gate: SenderGate,
    pub(crate) stop: StopRule,
    pub(crate) now: SimTime,
    pub(crate) queue: EventQueue<Event>,
    /// When the next slot of a gated sender starts, if it is scheduled.
    pub(crate) slot_at: Option<SimTime>,
    /// Segments of TCP delivered in order so far.
    pub(crate) segments_in_order: u64,
    /// As many of them as the run waits for; known once the warm-up has ended.
    pub(crate) enough_segments: u64,
    pub(crate) sent_since_delivery: u64,
    /// Flows that came and may go: nothing of them is left in the network. (One whose last packet is lost
    /// stays until the end of the run.)
    pub(crate) ended: Vec<u32>,
    /// Enough was delivered, or nothing will be any more.
    pub(crate) is_over: bool,
    pub(crate) observer: O,
    pub(crate) capture: C,
}

impl<O: Observer, C: Capture, L: Layout> Net<O, C, L> {
    pub(crate) fn schedule(&mut self, at: SimTime, kind: Kind, index: u32) {
        self.queue.schedule(at, kind as u8, Event { kind, index });
    }

    /// Packets have come over a line to the first link.
    pub(crate) fn on_entry<W: Way>(&mut self, flows: &mut [Flow], line: u32) {
        let now = self.now;
        while let Some(ticket) = W::path(self).entries[line as usize].advance(now) {
            self.push_on::<W>(&mut flows[ticket.flow()], 0, ticket);
        }
        if let Some(at) = W::path(self).entries[line as usize].next_event() {
            self.schedule(at, W::ENTRY, line);
        }
    }

    /// Something happens on a link: packets leave it.
    pub(crate) fn on_link<W: Way>(&mut self, flows: &mut [Flow], link: u32) {
        let now = self.now;
        if !W::path(self).links[link as usize].take_event(now) {
            return;
        }
        while let Some(departure) = W::path(self).links[link as usize].advance(now) {
            match departure {
                Departure::Arrived(ticket) => self.leave::<W>(&mut flows[ticket.flow()], link, ticket),
                Departure::Lost(ticket) => {
                    self.miss::<W>(&mut flows[ticket.flow()], link, ticket, Fate::Lost);
                }
                Departure::QueueDrop(ticket) => {
                    self.miss::<W>(&mut flows[ticket.flow()], link, ticket, Fate::QueueDrop);
                }
            }
        }
        self.schedule_link::<W>(link);
    }

    /// A packet has come over a link.
    #[inline(always)]
    fn leave<W: Way>(&mut self, flow: &mut Flow, link: u32, ticket: Ticket) {
        let (now, mut ticket) = (self.now, ticket);
        if ticket.take_mark() {
            self.count_mark::<W>(flow, link, ticket);
        }
        if link as usize + 1 < W::path(self).links.len() {
            return self.push_on::<W>(flow, link + 1, ticket);
        }
        let (_, line) = W::lines(flow.lines);
        match W::path(self).exits.get_mut(line as usize) {
            None => W::arrive(self, flow, ticket),
            Some(exit) => {
                if let Some(at) = exit.push(now, ticket) {
                    self.schedule(at, W::EXIT, line);
                }
            }
        }
    }

    /// A packet leaves the link that has marked it.
    #[cold]
    fn count_mark<W: Way>(&mut self, flow: &mut Flow, link: u32, ticket: Ticket) {
        flow.counts.ecn_marks += 1;
        let seq = W::path(self).packets[ticket].seq();
        self.observe(flow, EventKind::Mark, seq, link);
    }

    /// Packets have come over a line to their hosts.
    pub(crate) fn on_exit<W: Way>(&mut self, flows: &mut [Flow], line: u32) {
        let now = self.now;
        while let Some(ticket) = W::path(self).exits[line as usize].advance(now) {
            W::arrive(self, &mut flows[ticket.flow()], ticket);
        }
        if let Some(at) = W::path(self).exits[line as usize].next_event() {
            self.schedule(at, W::EXIT, line);
        }
    }

    /// A host sends a packet.
    #[inline(always)]
    fn enter<W: Way>(&mut self, flow: &mut Flow, ticket: Ticket) {
        let now = self.now;
        let (line, _) = W::lines(flow.lines);
        match W::path(self).entries.get_mut(line as usize) {
            None => self.push::<W>(flow, 0, ticket),
            Some(entry) => {
                if let Some(at) = entry.push(now, ticket) {
                    self.schedule(at, W::ENTRY, line);
                }
            }
        }
    }

    #[inline(always)]
    fn push<W: Way>(&mut self, flow: &mut Flow, link: u32, ticket: Ticket) {
        let now = self.now;
        let fate = W::path(self).links[link as usize].push(now, ticket);
        self.schedule_link::<W>(link);
        match fate {
            Push::Accepted => {}
            Push::Lost => self.miss::<W>(flow, link, ticket, Fate::Lost),
            Push::QueueDrop => self.miss::<W>(flow, link, ticket, Fate::QueueDrop),
        }
    }

    #[inline(never)]
    fn push_on<W: Way>(&mut self, flow: &mut Flow, link: u32, ticket: Ticket) {
        self.push::<W>(flow, link, ticket);
    }

    #[inline(always)]
    fn schedule_link<W: Way>(&mut self, link: u32) {
        if let Some(at) = W::path(self).links[link as usize].missing_event() {
            self.schedule(at, W::LINK, link);
        }
    }

    /// A link lost or dropped a packet.
    #[cold]
    fn miss<W: Way>(&mut self, flow: &mut Flow, link: u32, ticket: Ticket, fate: Fate) {
        let packets = &mut W::path(self).packets;
        let seq = packets[ticket].seq();
        packets.forget(ticket);
        let (count, kind) = W::missing(&mut flow.counts, fate);
        *count += 1;
        self.observe(flow, kind, seq, link);
    }

    /// A segment or a datagram reached its receiver.
    #[inline(always)]
    fn on_segment(&mut self, flow: &mut Flow, ticket: Ticket) {
        let segment = Segment::from(self.forward.packets[ticket]);
        let (seq, one_way_delay) = (segment.seq, self.now - segment.timestamp);
        flow.counts.segments_received += 1;
        flow.one_way_delay_sum += one_way_delay;
        if let Some(histogram) = &mut flow.counts.one_way_delay {
            histogram.record(one_way_delay);
        }
        let received = match &mut flow.hosts {
            Hosts::Tcp(tcp) => {
                if tcp.doubts.concern(seq) {
                    flow.counts.spurious_timeouts += tcp.doubts.on_arrival(segment.timestamp);
                }
                tcp.receiver.on_segment(self.now, &segment, ticket.is_marked())
            }
            Hosts::Udp(_) => Received { ack: None, is_new: true, delivered: 1 },
        };
        self.forward.packets.forget(ticket);
        self.observe(flow, EventKind::Receive, seq, 0);
        if received.is_new {
            flow.counts.segments_delivered += 1;
            flow.counts.segments_in_order += received.delivered;
            flow.counts.last_delivery = self.now;
            self.sent_since_delivery = 0;
        }
        let Hosts::Tcp(tcp) = &flow.hosts else { return };
        if received.delivered > 0 {
            self.segments_in_order += received.delivered;
            if flow.counts.segments_in_order == tcp.segments {
                flow.counts.completion_time = Some(self.now - flow.counts.start);
                self.observe(flow, EventKind::FlowEnd, seq, 0);
            }
        }
        self.is_over |= received.is_new && self.segments_in_order >= self.enough_segments;
        match received.ack {
            Some(ack) => self.send_ack(flow, ack),
            None => self.schedule_ack_timer(flow),
        }
    }

    #[inline(always)]
    fn send_ack(&mut self, flow: &mut Flow, ack: Ack) {
        let Carriage { ack_size, sack_block_size, .. } = flow.carriage;
        let bytes = ack_size + ack.sack.as_slice().len() as u32 * sack_block_size;
        flow.counts.acks_sent += 1;
        let Ack { next_expected, sack, timestamp_echo, ece } = ack;
        let place = self.reverse.packets.keep(Ack { next_expected, sack, timestamp_echo, ece });
        self.enter::<Ack>(flow, Ticket::new(place, flow.place, bytes, false));
    }

    pub(crate) fn on_ack_timer(&mut self, flow: &mut Flow) {
        let Hosts::Tcp(tcp) = &mut flow.hosts else { unreachable!("nobody acknowledges datagrams") };
        if tcp.ack_timer_at != Some(self.now) {
            return;
        }
        tcp.ack_timer_at = None;
        match tcp.receiver.on_timeout(self.now) {
            Some(ack) => self.send_ack_late(flow, ack),
            None => self.schedule_ack_timer(flow),
        }
    }

    #[inline(never)]
    fn send_ack_late(&mut self, flow: &mut Flow, ack: Ack) {
        self.send_ack(flow, ack);
    }

    fn schedule_ack_timer(&mut self, flow: &mut Flow) {
        let Hosts::Tcp(tcp) = &mut flow.hosts else { return };
        if let Some(deadline) = tcp.receiver.next_timeout()
            && tcp.ack_timer_at.is_none_or(|at| deadline < at)
        {
            tcp.ack_timer_at = Some(deadline);
            self.schedule(deadline, Kind::DelayedAck, flow.place);
        }
    }

    #[inline(always)]
    fn on_ack(&mut self, flow: &mut Flow, ticket: Ticket) {
        let ack = &self.reverse.packets[ticket];
        flow.counts.acks_received += 1;
        let Hosts::Tcp(tcp) = &mut flow.hosts else { unreachable!("nobody acknowledges datagrams") };
        if C::ENABLED {
            self.capture.ack(self.now, flow.id, ticket.bytes(), ack);
        }
        let outcome = tcp.sender.on_ack(self.now, ack);
        self.reverse.packets.forget(ticket);
        flow.counts.fast_retransmits += u64::from(outcome == AckOutcome::FastRetransmit);
        if let Some(histogram) = &mut flow.counts.rtt {
            let (sum_s, samples) = tcp.sender.rtt_samples();
            let (seen_s, seen) = tcp.rtt_samples;
            if samples > seen {
                histogram.record(SimTime::from_secs_f64((sum_s - seen_s) / (samples - seen) as f64));
                tcp.rtt_samples = (sum_s, samples);
            }
        }
        if O::ENABLED {
            self.observe_ack(flow, outcome);
        }
        self.transmit(flow);
        if flow.arrivals.is_some() && flow.has_ended() {
            self.ended.push(flow.place);
        }
    }

    pub(crate) fn on_timer(&mut self, flow: &mut Flow) {
        let Hosts::Tcp(tcp) = &mut flow.hosts else { unreachable!("datagrams have no timer") };
        if tcp.timer_at != Some(self.now) {
            return;
        }
        tcp.timer_at = None;
        match tcp.sender.next_timeout() {
            Some(deadline) if deadline <= self.now => {
                if tcp.sender.on_timeout(self.now) == Some(Expired::Retransmission) {
                    flow.counts.timeouts += 1;
                    let snd_una = tcp.sender.snd_una();
                    if tcp.receiver.rcv_nxt() > snd_una {
                        // It is there, only its acknowledgement is not.
                        flow.counts.spurious_timeouts += 1;
                    } else {
                        tcp.doubts.on_timeout(self.now, snd_una);
                    }
                    self.observe(flow, EventKind::Timeout, snd_una, 0);
                }
                self.resume(flow);
            }
            // Acknowledgements have moved the deadline since this event was scheduled.
            Some(_) => self.schedule_timer(flow),
            None => {}
        }
    }

    /// A flow begins.
    pub(crate) fn start(&mut self, flow: &mut Flow) {
        self.observe(flow, EventKind::FlowStart, 0, 0);
        match flow.hosts {
            Hosts::Tcp(_) => self.resume(flow),
            Hosts::Udp(_) => self.send_datagram(flow),
        }
    }

    #[inline(never)]
    fn resume(&mut self, flow: &mut Flow) {
        self.transmit(flow);
    }

    /// The sender may have something to send now.
    #[inline(always)]
    fn transmit(&mut self, flow: &mut Flow) {
        match self.gate {
            SenderGate::Queue => {
                while self.send_one(flow) {}
                self.schedule_timer(flow);
            }
            SenderGate::Slot => self.schedule_slot(flow),
        }
    }

    /// The next slot begins when the link is idle.
    #[inline]
    fn schedule_slot(&mut self, flow: &Flow) {
        if self.slot_at.is_none() {
            let at = self.forward.links[0].idle_at().map_or(self.now, |at| at.max(self.now));
            self.slot_at = Some(at);
            self.schedule(at, Kind::SlotStart, flow.place);
        }
    }

    pub(crate) fn on_slot(&mut self, flow: &mut Flow) {
        self.slot_at = None;
        if self.send_one(flow) {
            self.schedule_slot(flow);
        }
        self.schedule_timer(flow);
    }

    fn send_one(&mut self, flow: &mut Flow) -> bool {
        let Hosts::Tcp(tcp) = &mut flow.hosts else { return false };
        let Some(segment) = tcp.sender.poll_transmit(self.now) else { return false };
        flow.counts.segments_sent += 1;
        flow.counts.retransmissions += u64::from(segment.retransmission);
        if C::ENABLED {
            self.capture.segment(self.now, flow.id, flow.carriage.packet_size, &segment);
        }
        self.sent_since_delivery += 1;
        self.is_over |= self.has_stalled();
        self.send(flow, segment);
        true
    }

    pub(crate) fn send_datagram(&mut self, flow: &mut Flow) {
        let Hosts::Udp(udp) = &mut flow.hosts else { unreachable!("TCP sends segments") };
        let segment = Segment { seq: udp.next_seq, timestamp: self.now, ..Segment::default() };
        udp.next_seq += 1;
        let next = udp.source.next_after(self.now);
        flow.counts.segments_sent += 1;
        if C::ENABLED {
            self.capture.datagram(self.now, flow.id, flow.carriage.packet_size, segment.seq);
        }
        self.send(flow, segment);
        self.schedule(next, Kind::Datagram, flow.place);
    }

    #[inline(always)]
    fn send(&mut self, flow: &mut Flow, segment: Segment) {
        self.observe(flow, EventKind::Send, segment.seq, 0);
        let place = self.forward.packets.keep(Data::from(segment));
        let bytes = flow.carriage.packet_size;
        self.enter::<Data>(flow, Ticket::new(place, flow.place, bytes, segment.ecn_capable));
    }

    /// Makes sure that an event comes no later than the sender's deadline. A deadline that only moves away
    /// costs nothing until the old event finds it moved.
    fn schedule_timer(&mut self, flow: &mut Flow) {
        let Hosts::Tcp(tcp) = &mut flow.hosts else { return };
        if let Some(deadline) = tcp.sender.next_timeout()
            && tcp.timer_at.is_none_or(|at| deadline < at)
        {
            let at = deadline.max(self.now);
            tcp.timer_at = Some(at);
            self.schedule(at, Kind::Timer, flow.place);
        }
    }

    pub(crate) fn has_stalled(&self) -> bool {
        matches!(self.stop, StopRule::Delivered(_)) && self.sent_since_delivery >= crate::STALL
    }

    fn observe(&mut self, flow: &Flow, kind: EventKind, seq: u64, link: u32) {
        if O::ENABLED {
            let tcp = flow.snapshot();
            self.observer.record(&EventRecord { time: self.now, kind, flow: flow.id, link, seq, tcp });
        }
    }

    fn observe_ack(&mut self, flow: &Flow, outcome: AckOutcome) {
        let kind = match outcome {
            AckOutcome::New => EventKind::Ack,
            AckOutcome::Duplicate => EventKind::DuplicateAck,
            AckOutcome::FastRetransmit => EventKind::FastRetransmit,
            AckOutcome::RecoveryEnd => EventKind::RecoveryEnd,
            AckOutcome::Stale => return,
        };
        let Hosts::Tcp(tcp) = &flow.hosts else { return };
        self.observe(flow, kind, tcp.sender.snd_una(), 0);
    }
}
