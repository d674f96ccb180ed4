//! The engine: one clock, one queue of events, any number of flows over one path.
//!
//! A host, a line or a link has at most one event in the queue, however many packets are under way. One flow
//! over one hop without access delays costs two to three events a segment ([`crate::run`]).

use crate::capture::Capture;
use crate::flow::{Flow, Hosts, Lines};
use crate::network::{Arrivals, Network, NetworkError, SenderGate, Source, StopRule};
use crate::path::{LineTable, LinkTotals, Packet, Path};
use crate::statistics::{ArrivalStatistics, Completion, FlowStatistics, NetworkStatistics};
use crossfade_core::{EventKind, EventQueue, EventRecord, Observer, SimTime, Stream};
use crossfade_link::Push;
use crossfade_transport::{Ack, AckOutcome, Segment, TcpConfig};
use std::sync::atomic::{AtomicBool, Ordering};
use thiserror::Error;

/// So many transmissions in a row without a delivery end a run that would wait for a number of segments.
pub const STALL: u64 = 1_000_000;

/// The run was cancelled before its end.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Error)]
#[error("interrupted")]
pub struct Interrupted;

const EVENTS_BETWEEN_CANCEL_CHECKS: u32 = 4096;

/// Simulates `network` to its end. An observer sees what happens, a capture the packets at the senders'
/// interfaces; `()` is neither.
///
/// # Errors
/// A network that cannot be; inside, [`Interrupted`] once `cancel` is true.
pub fn simulate<O: Observer, C: Capture>(
    network: Network,
    observer: O,
    capture: C,
    cancel: &AtomicBool,
) -> Result<Result<NetworkStatistics, Interrupted>, NetworkError> {
    network.check()?;
    Ok(Engine::new(network, observer, capture).run(cancel))
}

/// Events of equal time happen in this order: what arrives is seen before a timer expires, and both before
/// anything new is sent. What is measured begins and ends in between.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u8)]
enum Kind {
    /// Packets reach the first link: of a line.
    ForwardEntry,
    /// Packets come out of a link.
    ForwardLink,
    /// Packets reach the receivers: of a line.
    ForwardExit,
    ReverseEntry,
    ReverseLink,
    ReverseExit,
    /// Of a flow.
    Timer,
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
struct Event {
    kind: Kind,
    index: u32,
}

/// The two ways through the network, told apart by what travels: segments forward, acknowledgements back.
trait Way: Copy {
    const ENTRY: Kind;
    const LINK: Kind;
    const EXIT: Kind;

    fn path<O, C>(engine: &mut Engine<O, C>) -> &mut Path<Self>;

    /// The lines from the host that sends to the first link, and from the last link to the host that receives.
    fn lines(lines: Lines) -> (Option<u32>, Option<u32>);

    /// A packet reached its host.
    fn arrive<O: Observer, C: Capture>(engine: &mut Engine<O, C>, packet: &Packet<Self>);

    /// A link lost or dropped a packet.
    fn on_fate<O: Observer, C: Capture>(
        engine: &mut Engine<O, C>,
        packet: &Packet<Self>,
        link: u32,
        fate: Push,
    );
}

impl Way for Segment {
    const ENTRY: Kind = Kind::ForwardEntry;
    const LINK: Kind = Kind::ForwardLink;
    const EXIT: Kind = Kind::ForwardExit;

    fn path<O, C>(engine: &mut Engine<O, C>) -> &mut Path<Self> {
        &mut engine.forward
    }

    fn lines(lines: Lines) -> (Option<u32>, Option<u32>) {
        (lines.sender, lines.receiver)
    }

    fn arrive<O: Observer, C: Capture>(engine: &mut Engine<O, C>, packet: &Packet<Self>) {
        engine.on_segment(packet);
    }

    fn on_fate<O: Observer, C: Capture>(
        engine: &mut Engine<O, C>,
        packet: &Packet<Self>,
        link: u32,
        fate: Push,
    ) {
        let counts = &mut engine.flows[packet.flow as usize].counts;
        let (count, kind) = match fate {
            Push::Accepted => return,
            Push::Lost => (&mut counts.segments_lost, EventKind::Lost),
            Push::QueueDrop => (&mut counts.queue_drops, EventKind::QueueDrop),
        };
        *count += 1;
        engine.observe(kind, packet.flow, packet.payload.seq, link);
    }
}

impl Way for Ack {
    const ENTRY: Kind = Kind::ReverseEntry;
    const LINK: Kind = Kind::ReverseLink;
    const EXIT: Kind = Kind::ReverseExit;

    fn path<O, C>(engine: &mut Engine<O, C>) -> &mut Path<Self> {
        &mut engine.reverse
    }

    fn lines(lines: Lines) -> (Option<u32>, Option<u32>) {
        (lines.receiver, lines.sender)
    }

    fn arrive<O: Observer, C: Capture>(engine: &mut Engine<O, C>, packet: &Packet<Self>) {
        engine.on_ack(packet);
    }

    fn on_fate<O: Observer, C: Capture>(
        engine: &mut Engine<O, C>,
        packet: &Packet<Self>,
        link: u32,
        fate: Push,
    ) {
        let counts = &mut engine.flows[packet.flow as usize].counts;
        let (count, kind) = match fate {
            Push::Accepted => return,
            Push::Lost => (&mut counts.acks_lost, EventKind::AckLost),
            Push::QueueDrop => (&mut counts.ack_queue_drops, EventKind::AckQueueDrop),
        };
        *count += 1;
        engine.observe(kind, packet.flow, packet.payload.next_expected, link);
    }
}

/// Arrivals at work.
struct Group {
    config: Arrivals,
    tcp: TcpConfig,
    lines: Lines,
    times: Stream,
    sizes: Stream,
    statistics: ArrivalStatistics,
}

/// The books at the end of the warm-up.
struct Warm {
    at: SimTime,
    flows: Vec<FlowStatistics>,
    forward: Vec<LinkTotals>,
    reverse: Vec<LinkTotals>,
    segments_in_order: u64,
}

struct Engine<O, C> {
    flows: Vec<Flow>,
    /// Places in the table that flows have left.
    free: Vec<u32>,
    next_id: u32,
    /// How many flows of the table are there from the start.
    permanent: usize,
    groups: Vec<Group>,
    forward: Path<Segment>,
    reverse: Path<Ack>,
    gate: SenderGate,
    warmup: SimTime,
    stop: StopRule,
    now: SimTime,
    queue: EventQueue<Event>,
    /// When the next slot of a gated sender starts, if it is scheduled.
    slot_at: Option<SimTime>,
    /// Once the warm-up has ended.
    warm: Option<Warm>,
    /// Segments of TCP delivered in order so far.
    segments_in_order: u64,
    sent_since_delivery: u64,
    /// Enough was delivered, or nothing will be any more.
    is_over: bool,
    observer: O,
    capture: C,
}

impl<O: Observer, C: Capture> Engine<O, C> {
    fn new(network: Network, observer: O, capture: C) -> Self {
        let Network { flows, arrivals, forward, reverse, gate, warmup, stop, seed } = network;
        let (mut senders, mut receivers) = (LineTable::default(), LineTable::default());
        let mut lines = |sender_access, receiver_access| Lines {
            sender: senders.line(sender_access),
            receiver: receivers.line(receiver_access),
        };
        let flows: Vec<Flow> = (0..)
            .zip(&flows)
            .map(|(id, config)| {
                let lines = lines(config.sender_access, config.receiver_access);
                Flow::new(config, id, lines, || seed.stream(&format!("workload.on-off.{id}")))
            })
            .collect();
        let groups: Vec<Group> = arrivals
            .into_iter()
            .enumerate()
            .filter_map(|(i, config)| {
                let Source::Tcp(tcp) = config.flow.source else { return None };
                Some(Group {
                    config,
                    tcp,
                    lines: lines(config.flow.sender_access, config.flow.receiver_access),
                    times: seed.stream(&format!("workload.arrivals.{i}")),
                    sizes: seed.stream(&format!("workload.segments.{i}")),
                    statistics: ArrivalStatistics::default(),
                })
            })
            .collect();
        Self {
            permanent: flows.len(),
            next_id: flows.len() as u32,
            flows,
            free: Vec::new(),
            groups,
            forward: Path::new(senders.delays(), forward, receivers.delays()),
            reverse: Path::new(receivers.delays(), reverse, senders.delays()),
            gate,
            warmup,
            stop,
            now: SimTime::ZERO,
            queue: EventQueue::default(),
            slot_at: None,
            warm: None,
            segments_in_order: 0,
            sent_since_delivery: 0,
            is_over: false,
            observer,
            capture,
        }
    }

    fn run(mut self, cancel: &AtomicBool) -> Result<NetworkStatistics, Interrupted> {
        self.begin();
        let mut until_check = EVENTS_BETWEEN_CANCEL_CHECKS;
        while let Some((now, Event { kind, index })) = self.queue.pop() {
            self.now = now;
            match kind {
                Kind::ForwardEntry => self.on_entry::<Segment>(index),
                Kind::ForwardLink => self.on_link::<Segment>(index),
                Kind::ForwardExit => self.on_exit::<Segment>(index),
                Kind::ReverseEntry => self.on_entry::<Ack>(index),
                Kind::ReverseLink => self.on_link::<Ack>(index),
                Kind::ReverseExit => self.on_exit::<Ack>(index),
                Kind::Timer => self.on_timer(index),
                Kind::Warm => self.warm = Some(self.books()),
                Kind::Stop => break,
                Kind::Start => self.start(index),
                Kind::Datagram => self.send_datagram(index),
                Kind::Arrival => self.on_arrival(index),
                Kind::SlotStart => {
                    self.slot_at = None;
                    self.fill_slot(index);
                }
            }
            if self.is_over {
                break;
            }
            until_check -= 1;
            if until_check == 0 {
                until_check = EVENTS_BETWEEN_CANCEL_CHECKS;
                if cancel.load(Ordering::Relaxed) {
                    return Err(Interrupted);
                }
            }
        }
        Ok(self.measured())
    }

    fn begin(&mut self) {
        if self.warmup == SimTime::ZERO {
            self.warm = Some(self.books());
        } else {
            self.schedule(self.warmup, Kind::Warm, 0);
        }
        if let StopRule::At(end) = self.stop {
            self.schedule(end, Kind::Stop, 0);
        }
        for index in 0..self.flows.len() as u32 {
            match self.flows[index as usize].counts.start {
                SimTime::ZERO => self.start(index),
                start => self.schedule(start, Kind::Start, index),
            }
        }
        for index in 0..self.groups.len() as u32 {
            self.schedule_arrival(index, self.groups[index as usize].config.flow.start);
        }
    }

    fn schedule(&mut self, at: SimTime, kind: Kind, index: u32) {
        self.queue.schedule(at, kind as u8, Event { kind, index });
    }

    fn start(&mut self, index: u32) {
        self.observe(EventKind::FlowStart, index, 0, 0);
        match self.flows[index as usize].hosts {
            Hosts::Tcp(_) => self.transmit(index),
            Hosts::Udp(_) => self.send_datagram(index),
        }
    }

    fn schedule_arrival(&mut self, group: u32, after: SimTime) {
        let Group { config, times, .. } = &mut self.groups[group as usize];
        let gap = crate::Distribution::Exponential { mean: 1.0 / config.rate_per_s }.sample(times);
        self.schedule(after.saturating_add(SimTime::from_secs_f64(gap)), Kind::Arrival, group);
    }

    fn on_arrival(&mut self, group: u32) {
        let Group { config, tcp, lines, sizes, statistics, .. } = &mut self.groups[group as usize];
        let segments = (config.segments.sample(sizes).ceil() as u64).max(1);
        let source = Source::Tcp(TcpConfig { segments: Some(segments), ..*tcp });
        let flow_config = crate::FlowConfig { source, start: self.now, ..config.flow };
        statistics.started += u64::from(self.warm.is_some());
        let mut flow = Flow::new(&flow_config, self.next_id, *lines, || unreachable!("arrivals are TCP"));
        flow.arrivals = Some(group);
        self.next_id += 1;
        let index = self.free.pop().unwrap_or(self.flows.len() as u32);
        match self.flows.get_mut(index as usize) {
            Some(place) => *place = flow,
            None => self.flows.push(flow),
        }
        if let Some(earlier) = self.warm.as_mut().and_then(|warm| warm.flows.get_mut(index as usize)) {
            *earlier = FlowStatistics::default();
        }
        self.start(index);
        self.schedule_arrival(group, self.now);
    }

    /// A flow that came goes once nothing of it is left in the network.
    fn release_if_ended(&mut self, index: u32) {
        let flow = &mut self.flows[index as usize];
        let Some(group) = flow.arrivals.filter(|_| flow.has_ended()) else { return };
        flow.arrivals = None;
        if let Hosts::Tcp(tcp) = &mut flow.hosts {
            tcp.timer_at = None;
        }
        let counted = self.counted(index);
        self.groups[group as usize].statistics.total.add(&counted);
        self.free.push(index);
    }

    /// Packets have come over a line to the first link.
    fn on_entry<W: Way>(&mut self, line: u32) {
        let now = self.now;
        while let Some(packet) = W::path(self).entries[line as usize].advance(now) {
            self.push::<W>(0, packet);
        }
        if let Some(at) = W::path(self).entries[line as usize].next_event() {
            self.schedule(at, W::ENTRY, line);
        }
    }

    /// Packets come out of a link.
    fn on_link<W: Way>(&mut self, link: u32) {
        let now = self.now;
        while let Some(packet) = W::path(self).links[link as usize].advance(now) {
            if link as usize + 1 < W::path(self).links.len() {
                self.push::<W>(link + 1, packet);
                continue;
            }
            let (_, exit) = W::lines(self.flows[packet.flow as usize].lines);
            let Some(line) = exit else {
                W::arrive(self, &packet);
                continue;
            };
            if let Some(at) = W::path(self).exits[line as usize].push(now, packet) {
                self.schedule(at, W::EXIT, line);
            }
        }
        if let Some(at) = W::path(self).links[link as usize].next_event() {
            self.schedule(at, W::LINK, link);
        }
    }

    /// Packets have come over a line to their hosts.
    fn on_exit<W: Way>(&mut self, line: u32) {
        let now = self.now;
        while let Some(packet) = W::path(self).exits[line as usize].advance(now) {
            W::arrive(self, &packet);
        }
        if let Some(at) = W::path(self).exits[line as usize].next_event() {
            self.schedule(at, W::EXIT, line);
        }
    }

    /// A host sends a packet.
    #[inline(always)]
    fn enter<W: Way>(&mut self, lines: Lines, packet: Packet<W>) {
        let now = self.now;
        let (entry, _) = W::lines(lines);
        let Some(line) = entry else { return self.push::<W>(0, packet) };
        if let Some(at) = W::path(self).entries[line as usize].push(now, packet) {
            self.schedule(at, W::ENTRY, line);
        }
    }

    #[inline(always)]
    fn push<W: Way>(&mut self, link: u32, packet: Packet<W>) {
        let now = self.now;
        let (fate, at) = W::path(self).links[link as usize].push(now, packet);
        if let Some(at) = at {
            self.schedule(at, W::LINK, link);
        }
        if fate != Push::Accepted {
            self.on_fate(&packet, link, fate);
        }
    }

    #[cold]
    fn on_fate<W: Way>(&mut self, packet: &Packet<W>, link: u32, fate: Push) {
        W::on_fate(self, packet, link, fate);
        self.release_if_ended(packet.flow);
    }

    /// A segment or a datagram reached its receiver.
    fn on_segment(&mut self, packet: &Packet<Segment>) {
        let index = packet.flow;
        let Segment { seq, timestamp, .. } = packet.payload;
        self.observe(EventKind::Receive, index, seq, 0);
        let flow = &mut self.flows[index as usize];
        flow.counts.segments_received += 1;
        flow.one_way_delay_sum_ns += (self.now - timestamp).as_nanos() as f64;
        let Hosts::Tcp(tcp) = &mut flow.hosts else {
            flow.counts.segments_delivered += 1;
            flow.counts.segments_in_order += 1;
            flow.counts.last_delivery = self.now;
            self.sent_since_delivery = 0;
            return;
        };
        let received = tcp.receiver.on_segment(seq);
        flow.counts.segments_in_order += received.delivered;
        self.segments_in_order += received.delivered;
        let has_completed = received.delivered > 0 && flow.counts.segments_in_order == tcp.segments;
        if received.is_new {
            flow.counts.segments_delivered += 1;
            flow.counts.last_delivery = self.now;
            self.sent_since_delivery = 0;
        }
        let blocks = received.ack.sack.as_slice().len() as u32;
        let bytes = flow.ack_size + blocks * flow.sack_block_size;
        flow.counts.acks_sent += 1;
        let lines = flow.lines;
        if received.is_new {
            self.is_over |= self.has_delivered_enough();
            if has_completed {
                self.complete(index);
            }
        }
        self.enter(lines, Packet { flow: index, bytes, payload: received.ack });
    }

    /// Everything that the flow has to send was delivered.
    fn complete(&mut self, index: u32) {
        let flow = &mut self.flows[index as usize];
        let completion_time = self.now - flow.counts.start;
        flow.counts.completion_time = Some(completion_time);
        let completion =
            Completion { start: flow.counts.start, segments: flow.counts.segments_in_order, completion_time };
        if let Some(group) = flow.arrivals
            && completion.start >= self.warmup
        {
            self.groups[group as usize].statistics.completions.push(completion);
        }
        self.observe(EventKind::FlowEnd, index, completion.segments, 0);
    }

    fn on_ack(&mut self, packet: &Packet<Ack>) {
        let index = packet.flow;
        let flow = &mut self.flows[index as usize];
        flow.counts.acks_received += 1;
        let Hosts::Tcp(tcp) = &mut flow.hosts else { unreachable!("nobody acknowledges datagrams") };
        if C::ENABLED {
            self.capture.ack(self.now, flow.id, packet.bytes, &packet.payload);
        }
        let outcome = tcp.sender.on_ack(self.now, &packet.payload);
        flow.counts.fast_retransmits += u64::from(outcome == AckOutcome::FastRetransmit);
        if O::ENABLED {
            self.observe_ack(index, outcome);
        }
        self.transmit(index);
        self.release_if_ended(index);
    }

    fn on_timer(&mut self, index: u32) {
        let flow = &mut self.flows[index as usize];
        let Hosts::Tcp(tcp) = &mut flow.hosts else { unreachable!("datagrams have no timer") };
        if tcp.timer_at != Some(self.now) {
            return;
        }
        tcp.timer_at = None;
        match tcp.sender.next_timeout() {
            Some(deadline) if deadline <= self.now => {
                tcp.sender.on_timeout(self.now);
                flow.counts.timeouts += 1;
                let snd_una = tcp.sender.snd_una();
                self.observe(EventKind::Timeout, index, snd_una, 0);
                self.transmit(index);
            }
            // Acknowledgements have moved the deadline since this event was scheduled.
            Some(_) => self.schedule_timer(index),
            None => {}
        }
    }

    /// The sender may have something to send now.
    fn transmit(&mut self, index: u32) {
        match self.gate {
            SenderGate::Queue => {
                while self.send_one(index) {}
                self.schedule_timer(index);
            }
            SenderGate::Slot => {
                if self.slot_at.is_none() {
                    let at = self.forward.links[0].idle_at().max(self.now);
                    self.slot_at = Some(at);
                    self.schedule(at, Kind::SlotStart, index);
                }
            }
        }
    }

    fn fill_slot(&mut self, index: u32) {
        if self.send_one(index) {
            self.transmit(index);
        }
        self.schedule_timer(index);
    }

    fn send_one(&mut self, index: u32) -> bool {
        let flow = &mut self.flows[index as usize];
        let Hosts::Tcp(tcp) = &mut flow.hosts else { return false };
        let Some(segment) = tcp.sender.poll_transmit(self.now) else { return false };
        let (bytes, lines) = (flow.packet_size, flow.lines);
        flow.counts.segments_sent += 1;
        flow.counts.retransmissions += u64::from(segment.retransmission);
        if C::ENABLED {
            self.capture.segment(self.now, flow.id, bytes, &segment);
        }
        self.sent_since_delivery += 1;
        self.is_over |= self.has_stalled();
        self.observe(EventKind::Send, index, segment.seq, 0);
        self.enter(lines, Packet { flow: index, bytes, payload: segment });
        true
    }

    fn send_datagram(&mut self, index: u32) {
        let flow = &mut self.flows[index as usize];
        let Hosts::Udp(udp) = &mut flow.hosts else { unreachable!("TCP sends segments") };
        let segment = Segment { seq: udp.next_seq, timestamp: self.now, ..Segment::default() };
        udp.next_seq += 1;
        let next = udp.source.next_after(self.now);
        let (bytes, lines) = (flow.packet_size, flow.lines);
        flow.counts.segments_sent += 1;
        if C::ENABLED {
            self.capture.datagram(self.now, flow.id, bytes, segment.seq);
        }
        self.observe(EventKind::Send, index, segment.seq, 0);
        self.enter(lines, Packet { flow: index, bytes, payload: segment });
        self.schedule(next, Kind::Datagram, index);
    }

    /// Makes sure that an event comes no later than the sender's deadline. A deadline that only moves away
    /// costs nothing until the old event finds it moved.
    fn schedule_timer(&mut self, index: u32) {
        let Hosts::Tcp(tcp) = &mut self.flows[index as usize].hosts else { return };
        if let Some(deadline) = tcp.sender.next_timeout()
            && tcp.timer_at.is_none_or(|at| deadline < at)
        {
            let at = deadline.max(self.now);
            tcp.timer_at = Some(at);
            self.schedule(at, Kind::Timer, index);
        }
    }

    fn has_delivered_enough(&self) -> bool {
        match (self.stop, &self.warm) {
            (StopRule::Delivered(segments), Some(warm)) => {
                self.segments_in_order - warm.segments_in_order >= segments
            }
            _ => false,
        }
    }

    fn has_stalled(&self) -> bool {
        matches!(self.stop, StopRule::Delivered(_)) && self.sent_since_delivery >= STALL
    }

    /// The books since the start.
    fn books(&self) -> Warm {
        Warm {
            at: self.now,
            flows: self.flows.iter().map(Flow::totals).collect(),
            forward: self.forward.totals(),
            reverse: self.reverse.totals(),
            segments_in_order: self.segments_in_order,
        }
    }

    /// What was counted of a flow since the warm-up.
    fn counted(&self, index: u32) -> FlowStatistics {
        let end = self.flows[index as usize].totals();
        match &self.warm {
            // Who came later has no books at the end of the warm-up.
            Some(warm) => warm.flows.get(index as usize).map_or(end, |warm| end.since(warm)),
            // A run that ended in its warm-up has nothing to count.
            None => end.since(&end),
        }
    }

    /// The books since the warm-up.
    fn measured(mut self) -> NetworkStatistics {
        for index in self.permanent as u32..self.flows.len() as u32 {
            if let Some(group) = self.flows[index as usize].arrivals {
                let counted = self.counted(index);
                self.groups[group as usize].statistics.total.add(&counted);
            }
        }
        let flows = (0..self.permanent as u32).map(|index| self.counted(index)).collect();
        let stalled = self.has_stalled();
        let warm = self.warm.take().unwrap_or_else(|| self.books());
        let duration = match self.stop {
            // A finished transfer leaves the rest of the time idle.
            StopRule::At(end) => end.saturating_sub(self.warmup),
            StopRule::Delivered(_) => self.now.saturating_sub(warm.at),
        };
        NetworkStatistics {
            duration,
            flows,
            arrivals: self.groups.into_iter().map(|group| group.statistics).collect(),
            forward: self.forward.statistics(&warm.forward, duration),
            reverse: self.reverse.statistics(&warm.reverse, duration),
            stalled,
        }
    }

    fn observe(&mut self, kind: EventKind, index: u32, seq: u64, link: u32) {
        if O::ENABLED {
            let flow = &self.flows[index as usize];
            let tcp = flow.snapshot();
            self.observer.record(&EventRecord { time: self.now, kind, flow: flow.id, link, seq, tcp });
        }
    }

    fn observe_ack(&mut self, index: u32, outcome: AckOutcome) {
        let kind = match outcome {
            AckOutcome::New => EventKind::Ack,
            AckOutcome::Duplicate => EventKind::DuplicateAck,
            AckOutcome::FastRetransmit => EventKind::FastRetransmit,
            AckOutcome::RecoveryEnd => EventKind::RecoveryEnd,
            AckOutcome::Stale => return,
        };
        let Hosts::Tcp(tcp) = &self.flows[index as usize].hosts else { return };
        let snd_una = tcp.sender.snd_una();
        self.observe(kind, index, snd_una, 0);
    }
}
