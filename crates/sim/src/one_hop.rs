//! One TCP connection over one hop, each way with its own rate, delay, queue and channel.

use crossfade_core::{EventKind, EventQueue, EventRecord, Observer, SimTime};
use crossfade_link::{Hop, HopConfig, Link, Push};
use crossfade_transport::{Ack, AckOutcome, Expired, Receiver, Segment, Sender, TcpConfig};
use std::sync::atomic::{AtomicBool, Ordering};
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
    /// When this many segments were delivered in order after the warm-up.
    Delivered(u64),
}

/// The whole experiment.
pub struct OneHop {
    /// Both ends of the connection.
    pub tcp: TcpConfig,
    /// Bytes of a data packet on the wire.
    pub packet_size: u32,
    /// Bytes of an acknowledgement on the wire, without SACK blocks.
    pub ack_size: u32,
    /// Bytes that each SACK block adds to an acknowledgement.
    pub sack_block_size: u32,
    /// How the sender meets the forward link.
    pub gate: SenderGate,
    /// The way of the data.
    pub forward: HopConfig,
    /// The way of the acknowledgements.
    pub reverse: HopConfig,
    /// What happens before is simulated and not counted.
    pub warmup: SimTime,
    /// When to stop.
    pub stop: StopRule,
}

/// What was counted after the warm-up.
#[derive(Clone, Copy, Debug, PartialEq, Default)]
pub struct RunStatistics {
    /// The time that was measured.
    pub duration: SimTime,
    /// First arrivals at the receiver, in or out of order.
    pub segments_delivered: u64,
    /// Segments given to the application, in order.
    pub segments_in_order: u64,
    /// Transmissions, retransmissions included.
    pub segments_sent: u64,
    /// Transmissions of segments sent before.
    pub retransmissions: u64,
    /// Transmissions lost by the forward channel.
    pub segments_lost: u64,
    /// Transmissions dropped by the full forward queue.
    pub queue_drops: u64,
    /// Expiries of the retransmission timer.
    pub timeouts: u64,
    /// Fast retransmits, one for each recovery.
    pub fast_retransmits: u64,
    /// The sum of the round trips that the sender measured, in seconds.
    pub rtt_sum_s: f64,
    /// The number of round trips that the sender measured.
    pub rtt_samples: u64,
    /// The sum of the times, in seconds, that packets waited in the forward queue.
    pub waiting_s: f64,
    /// Acknowledgements sent.
    pub acks_sent: u64,
    /// Acknowledgements lost by the reverse channel.
    pub acks_lost: u64,
    /// Acknowledgements dropped by the full reverse queue.
    pub ack_queue_drops: u64,
    /// The sum of the times, in seconds, that acknowledgements waited in the reverse queue.
    pub ack_waiting_s: f64,
    /// When a segment last reached the receiver for the first time, counted from the start of the run.
    pub last_delivery: SimTime,
    /// Nothing was delivered any more in a run of [`STALL`] transmissions, and the run was given up.
    pub stalled: bool,
}

/// So many transmissions in a row without a delivery end a run that would wait for a number of segments.
pub const STALL: u64 = 1_000_000;

/// The run was cancelled before its end.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Error)]
#[error("interrupted")]
pub struct Interrupted;

/// Events of equal time happen in this order: what arrives is seen before a timer expires, and both before
/// the sender fills the slot that begins now. What is measured begins and ends between the slots.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u8)]
enum Event {
    ForwardArrival,
    ReverseArrival,
    Timer,
    DelayedAck,
    Warm,
    Stop,
    SlotStart,
}

const EVENTS_BETWEEN_CANCEL_CHECKS: u32 = 4096;

/// Runs `config` to its end.
///
/// # Errors
/// [`Interrupted`] once `cancel` is true.
pub fn run<O: Observer>(
    config: OneHop,
    observer: O,
    cancel: &AtomicBool,
) -> Result<RunStatistics, Interrupted> {
    Engine::new(config, observer).run(cancel)
}

struct Engine<O> {
    sender: Sender,
    receiver: Receiver,
    forward: Hop<Segment>,
    reverse: Hop<Ack>,
    packet_size: u32,
    ack_size: u32,
    sack_block_size: u32,
    gate: SenderGate,
    warmup: SimTime,
    stop: StopRule,
    now: SimTime,
    queue: EventQueue<Event>,
    /// The timer event that counts; earlier ones still in the queue are ignored.
    timer_at: Option<SimTime>,
    /// The same for an acknowledgement held back.
    ack_timer_at: Option<SimTime>,
    /// When the next slot of a gated sender starts, if it is scheduled.
    slot_at: Option<SimTime>,
    counts: RunStatistics,
    /// The counts at the end of the warm-up, once it has ended.
    warm: Option<RunStatistics>,
    sent_at_last_delivery: u64,
    /// Enough was delivered, or nothing will be any more.
    is_over: bool,
    observer: O,
}

impl<O: Observer> Engine<O> {
    fn new(config: OneHop, observer: O) -> Self {
        let OneHop { tcp, packet_size, ack_size, sack_block_size, gate, forward, reverse, warmup, stop } =
            config;
        Self {
            sender: Sender::new(&tcp),
            receiver: Receiver::new(&tcp),
            forward: Hop::new(forward),
            reverse: Hop::new(reverse),
            packet_size,
            ack_size,
            sack_block_size,
            gate,
            warmup,
            stop,
            now: SimTime::ZERO,
            queue: EventQueue::default(),
            timer_at: None,
            ack_timer_at: None,
            slot_at: None,
            counts: RunStatistics::default(),
            warm: (warmup == SimTime::ZERO).then(RunStatistics::default),
            sent_at_last_delivery: 0,
            is_over: false,
            observer,
        }
    }

    fn run(mut self, cancel: &AtomicBool) -> Result<RunStatistics, Interrupted> {
        if self.warm.is_none() {
            self.schedule(self.warmup, Event::Warm);
        }
        if let StopRule::At(end) = self.stop {
            self.schedule(end, Event::Stop);
        }
        self.transmit();
        let mut until_check = EVENTS_BETWEEN_CANCEL_CHECKS;
        while let Some((now, event)) = self.queue.pop() {
            self.now = now;
            match event {
                Event::ForwardArrival => self.on_receiver_event(true),
                Event::ReverseArrival => self.on_reverse_arrival(),
                Event::Timer => self.on_timer(),
                Event::DelayedAck => {
                    self.ack_timer_at = None;
                    self.on_receiver_event(false);
                }
                Event::Warm => self.warm = Some(self.totals()),
                Event::Stop => break,
                Event::SlotStart => {
                    self.slot_at = None;
                    self.fill_slot();
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

    fn schedule(&mut self, at: SimTime, event: Event) {
        self.queue.schedule(at, event as u8, event);
    }

    /// Segments have arrived, or an acknowledgement was held back long enough.
    fn on_receiver_event(&mut self, is_arrival: bool) {
        loop {
            let ack = if let Some(segment) = self.forward.advance(self.now) {
                self.on_segment(&segment)
            } else if self.receiver.next_timeout().is_some_and(|due| due <= self.now) {
                self.receiver.on_timeout(self.now)
            } else {
                break;
            };
            let Some(ack) = ack else { continue };
            let blocks = ack.sack.as_slice().len() as u32;
            let was_empty = self.reverse.next_event().is_none();
            self.counts.acks_sent += 1;
            match self.reverse.push(self.now, self.ack_size + blocks * self.sack_block_size, ack) {
                Push::Accepted => {}
                Push::Lost => self.counts.acks_lost += 1,
                Push::QueueDrop => self.counts.ack_queue_drops += 1,
            }
            if let Some(at) = self.reverse.next_event().filter(|_| was_empty) {
                self.schedule(at, Event::ReverseArrival);
            }
        }
        if is_arrival && let Some(at) = self.forward.next_event() {
            self.schedule(at, Event::ForwardArrival);
        }
        if let Some(deadline) = self.receiver.next_timeout()
            && self.ack_timer_at.is_none_or(|at| deadline < at)
        {
            self.ack_timer_at = Some(deadline);
            self.schedule(deadline, Event::DelayedAck);
        }
    }

    fn on_segment(&mut self, segment: &Segment) -> Option<Ack> {
        self.observe(EventKind::Receive, segment.seq);
        let received = self.receiver.on_segment(self.now, segment, false);
        self.counts.segments_in_order += received.delivered;
        if received.is_new {
            self.counts.segments_delivered += 1;
            self.counts.last_delivery = self.now;
            self.sent_at_last_delivery = self.counts.segments_sent;
            self.is_over |= self.has_delivered_enough();
        }
        received.ack
    }

    fn on_reverse_arrival(&mut self) {
        while let Some(ack) = self.reverse.advance(self.now) {
            let outcome = self.sender.on_ack(self.now, &ack);
            self.counts.fast_retransmits += u64::from(outcome == AckOutcome::FastRetransmit);
            if O::ENABLED {
                self.observe_ack(outcome);
            }
            self.transmit();
        }
        if let Some(at) = self.reverse.next_event() {
            self.schedule(at, Event::ReverseArrival);
        }
    }

    fn on_timer(&mut self) {
        if self.timer_at != Some(self.now) {
            return;
        }
        self.timer_at = None;
        match self.sender.next_timeout() {
            Some(deadline) if deadline <= self.now => {
                if self.sender.on_timeout(self.now) == Some(Expired::Retransmission) {
                    self.counts.timeouts += 1;
                    self.observe(EventKind::Timeout, self.sender.snd_una());
                }
                self.transmit();
            }
            // Acknowledgements have moved the deadline since this event was scheduled.
            Some(_) => self.schedule_timer(),
            None => {}
        }
    }

    /// The sender may have something to send now.
    fn transmit(&mut self) {
        match self.gate {
            SenderGate::Queue => {
                while self.send_one() {}
                self.schedule_timer();
            }
            SenderGate::Slot => {
                if self.slot_at.is_none() {
                    let at = self.forward.idle_at().max(self.now);
                    self.slot_at = Some(at);
                    self.schedule(at, Event::SlotStart);
                }
            }
        }
    }

    fn fill_slot(&mut self) {
        if self.send_one() {
            self.transmit();
        }
        self.schedule_timer();
    }

    fn send_one(&mut self) -> bool {
        let Some(segment) = self.sender.poll_transmit(self.now) else { return false };
        self.counts.segments_sent += 1;
        self.is_over |= self.has_stalled();
        self.counts.retransmissions += u64::from(segment.retransmission);
        self.observe(EventKind::Send, segment.seq);
        let was_empty = self.forward.next_event().is_none();
        match self.forward.push(self.now, self.packet_size, segment) {
            Push::Accepted => {
                if let Some(at) = self.forward.next_event().filter(|_| was_empty) {
                    self.schedule(at, Event::ForwardArrival);
                }
            }
            Push::Lost => {
                self.counts.segments_lost += 1;
                self.observe(EventKind::Lost, segment.seq);
            }
            Push::QueueDrop => {
                self.counts.queue_drops += 1;
                self.observe(EventKind::QueueDrop, segment.seq);
            }
        }
        true
    }

    /// Makes sure that an event comes no later than the sender's deadline. A deadline that only moves away
    /// costs nothing until the old event finds it moved.
    fn schedule_timer(&mut self) {
        if let Some(deadline) = self.sender.next_timeout()
            && self.timer_at.is_none_or(|at| deadline < at)
        {
            let at = deadline.max(self.now);
            self.timer_at = Some(at);
            self.schedule(at, Event::Timer);
        }
    }

    fn has_delivered_enough(&self) -> bool {
        match (self.stop, &self.warm) {
            (StopRule::Delivered(segments), Some(warm)) => {
                self.counts.segments_in_order - warm.segments_in_order >= segments
            }
            _ => false,
        }
    }

    fn has_stalled(&self) -> bool {
        matches!(self.stop, StopRule::Delivered(_))
            && self.counts.segments_sent - self.sent_at_last_delivery >= STALL
    }

    /// The counts since the start.
    fn totals(&self) -> RunStatistics {
        let (rtt_sum_s, rtt_samples) = self.sender.rtt_samples();
        RunStatistics {
            duration: self.now,
            rtt_sum_s,
            rtt_samples,
            waiting_s: self.forward.waiting_s(),
            ack_waiting_s: self.reverse.waiting_s(),
            stalled: self.has_stalled(),
            ..self.counts
        }
    }

    /// The counts since the warm-up.
    fn measured(&self) -> RunStatistics {
        let end = self.totals();
        // A run that ended in its warm-up has nothing to count.
        let warm = self.warm.unwrap_or(end);
        let duration = match self.stop {
            // A finished transfer leaves the rest of the time idle.
            StopRule::At(end) => end.saturating_sub(self.warmup),
            StopRule::Delivered(_) => end.duration.saturating_sub(warm.duration),
        };
        RunStatistics {
            duration,
            segments_delivered: end.segments_delivered - warm.segments_delivered,
            segments_in_order: end.segments_in_order - warm.segments_in_order,
            segments_sent: end.segments_sent - warm.segments_sent,
            retransmissions: end.retransmissions - warm.retransmissions,
            segments_lost: end.segments_lost - warm.segments_lost,
            queue_drops: end.queue_drops - warm.queue_drops,
            timeouts: end.timeouts - warm.timeouts,
            fast_retransmits: end.fast_retransmits - warm.fast_retransmits,
            rtt_sum_s: end.rtt_sum_s - warm.rtt_sum_s,
            rtt_samples: end.rtt_samples - warm.rtt_samples,
            waiting_s: end.waiting_s - warm.waiting_s,
            acks_sent: end.acks_sent - warm.acks_sent,
            acks_lost: end.acks_lost - warm.acks_lost,
            ack_queue_drops: end.ack_queue_drops - warm.ack_queue_drops,
            ack_waiting_s: end.ack_waiting_s - warm.ack_waiting_s,
            last_delivery: end.last_delivery,
            stalled: end.stalled,
        }
    }

    fn observe(&mut self, kind: EventKind, seq: u64) {
        if O::ENABLED {
            let tcp = self.sender.snapshot();
            self.observer.record(&EventRecord { time: self.now, kind, flow: 0, seq, tcp });
        }
    }

    fn observe_ack(&mut self, outcome: AckOutcome) {
        let kind = match outcome {
            AckOutcome::New => EventKind::Ack,
            AckOutcome::Duplicate => EventKind::DuplicateAck,
            AckOutcome::FastRetransmit => EventKind::FastRetransmit,
            AckOutcome::RecoveryEnd => EventKind::RecoveryEnd,
            AckOutcome::Stale => return,
        };
        self.observe(kind, self.sender.snd_una());
    }
}
