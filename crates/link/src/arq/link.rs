//! A link that sends packets as frames and repeats lost ones.

use super::reassembly::Reassembly;
use super::reverse::{ReverseChannel, ReverseConfig};
use super::segmentation::{SegmentationConfig, Segmenter};
use super::{
    ArqReceiver, ArqSender, ArqStatistics, Content, Delivery, FrameChannel, LossyFrames, Outcome, Payload,
};
use crate::limit::QueueLimit;
use crate::link::{Departure, Link, Packet, Push};
use crate::statistics::LinkStatistics;
use crossfade_core::SimTime;
use std::collections::VecDeque;

/// When frames start.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum FrameClock {
    /// At multiples of the frame time, counted from zero.
    Slotted,
    /// When there is something to send and the frame before has ended.
    OnDemand,
}

/// The times of the frames of a link.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct FrameTiming {
    /// How long a frame takes, full or not.
    pub frame_time: SimTime,
    /// When frames start.
    pub clock: FrameClock,
    /// Propagation delay.
    pub delay: SimTime,
}

impl FrameTiming {
    /// When a frame starts that is ready at `at`.
    #[inline]
    fn start(self, at: SimTime) -> SimTime {
        match self.clock {
            FrameClock::OnDemand => at,
            FrameClock::Slotted => match at % self.frame_time {
                SimTime::ZERO => at,
                into_slot => at.saturating_add(self.frame_time - into_slot),
            },
        }
    }
}

/// What an [`ArqLink`] is made of.
pub struct ArqParts<S, R, C> {
    /// When frames start, and how long they take.
    pub timing: FrameTiming,
    /// How packets become frames.
    pub segmentation: SegmentationConfig,
    /// What the drop-tail queue holds beside the packet that is being sent; `None` is without limit.
    pub queue_limit: Option<QueueLimit>,
    /// The sending end of the protocol.
    pub sender: S,
    /// The receiving end of it.
    pub receiver: R,
    /// What becomes of frames.
    pub channel: C,
    /// The way back.
    pub reverse: ReverseConfig,
}

/// Drop-tail queue, segmentation, an ARQ protocol over a frame channel, reassembly.
///
/// A packet arrives when its last frame is passed up; it is lost when one of its frames is, which is told
/// when the last is accounted for.
///
/// Frames are not events: [`next_event`](Link::next_event) is the earliest time at which a packet can leave,
/// and what happened in between is caught up with in [`advance`](Link::advance) and [`push`](Link::push). The
/// statistics count what has been caught up with.
///
/// While nothing is on the way and nothing waits, idle frames are not sent: they would tell nothing new.
pub struct ArqLink<P, S, R, C: FrameChannel = LossyFrames> {
    timing: FrameTiming,
    segmenter: Segmenter<P>,
    reassembly: Reassembly<P>,
    sender: S,
    receiver: R,
    channel: C,
    reverse: ReverseChannel,
    /// Frames on the air, and when they have been received.
    on_the_air: VecDeque<(SimTime, Outcome<C::Soft>)>,
    /// When the last transmission ends.
    free_at: SimTime,
    /// When the sender is next asked for a frame; [`SimTime::MAX`] until something happens.
    asks_at: SimTime,
    transmissions: u64,
    /// What has left, and when.
    departures: VecDeque<(SimTime, Departure<P>)>,
    statistics: LinkStatistics,
    arq_statistics: ArqStatistics,
}

/// What happens next. At equal times the order is this: what is received is seen before anything is sent.
#[derive(Clone, Copy)]
enum Step {
    Frame,
    Feedback,
    ReceiverTimer,
    Transmission,
}

impl<P: Packet, S: ArqSender, R: ArqReceiver<C::Soft>, C: FrameChannel> ArqLink<P, S, R, C> {
    /// An idle link.
    pub fn new(parts: ArqParts<S, R, C>) -> Self {
        let ArqParts { timing, segmentation, queue_limit, sender, receiver, channel, reverse } = parts;
        Self {
            timing,
            segmenter: Segmenter::new(segmentation, queue_limit),
            reassembly: Reassembly::new(receiver.releases_in_order()),
            sender,
            receiver,
            channel,
            reverse: ReverseChannel::new(reverse),
            on_the_air: VecDeque::new(),
            free_at: SimTime::ZERO,
            asks_at: SimTime::MAX,
            transmissions: 0,
            departures: VecDeque::new(),
            statistics: LinkStatistics::default(),
            arq_statistics: ArqStatistics::default(),
        }
    }

    #[inline]
    fn next_step(&self) -> (SimTime, Step) {
        let frame = self.on_the_air.front().map_or(SimTime::MAX, |(at, _)| *at);
        let mut next = (frame, Step::Frame);
        let mut consider = |at: SimTime, step| {
            if at < next.0 {
                next = (at, step);
            }
        };
        consider(self.reverse.next_arrival(), Step::Feedback);
        consider(self.receiver.next_timeout().unwrap_or(SimTime::MAX), Step::ReceiverTimer);
        consider(self.asks_at, Step::Transmission);
        next
    }

    #[inline]
    fn take(&mut self, now: SimTime, step: Step) {
        match step {
            Step::Frame => {
                if let Some((_, outcome)) = self.on_the_air.pop_front() {
                    self.receiver.on_pdu(now, outcome);
                    self.attend_receiver(now);
                }
            }
            Step::Feedback => {
                if let Some(feedback) = self.reverse.receive() {
                    self.sender.on_feedback(now, feedback);
                    self.wake_sender(now);
                }
            }
            Step::ReceiverTimer => self.attend_receiver(now),
            Step::Transmission => self.transmit(now),
        }
    }

    fn run_until(&mut self, now: SimTime) {
        loop {
            let (at, step) = self.next_step();
            if at > now || at == SimTime::MAX {
                return;
            }
            self.take(at, step);
        }
    }

    /// The sender may have something to send that it did not have before.
    #[inline]
    fn wake_sender(&mut self, now: SimTime) {
        if self.asks_at > now {
            self.asks_at = self.asks_at.min(self.timing.start(now.max(self.free_at)));
        }
    }

    /// The sender is asked for a frame.
    #[inline]
    fn transmit(&mut self, now: SimTime) {
        if !self.segmenter.is_empty() && self.sender.wants_sdu(now) {
            let sdu = self.reassembly.next_sdu();
            self.segmenter.fill(now, &mut self.reassembly, &mut self.statistics);
            self.sender.on_sdu(now, sdu);
        }
        self.asks_at = SimTime::MAX;
        let Some(pdu) = self.sender.poll_transmit(now) else {
            if let Some(at) = self.sender.next_timeout() {
                self.asks_at = self.timing.start(at.max(now + SimTime::from_nanos(1)));
            }
            return;
        };
        match pdu.content {
            Content::Idle if self.segmenter.is_empty() && self.reassembly.is_settled() => return,
            Content::Idle | Content::Skip => self.arq_statistics.idle_frames += 1,
            Content::Data(_) if pdu.attempt == 0 => self.arq_statistics.frames += 1,
            Content::Data(_) => self.arq_statistics.retransmissions += 1,
        }
        self.free_at = now + self.timing.frame_time;
        self.asks_at = self.free_at;
        let outcome = self.channel.transmit(now, self.transmissions, pdu);
        self.transmissions += 1;
        let is_error = !matches!(outcome, Outcome::Frame(_, Payload::Good));
        self.arq_statistics.frame_errors += u64::from(is_error && matches!(pdu.content, Content::Data(_)));
        self.on_the_air.push_back((self.free_at + self.timing.delay, outcome));
    }

    /// The receiver may have something to say or to pass up.
    #[inline]
    fn attend_receiver(&mut self, now: SimTime) {
        while let Some(feedback) = self.receiver.poll_feedback(now) {
            self.reverse.send(now, feedback, &mut self.arq_statistics);
        }
        while let Some(delivery) = self.receiver.poll_delivery() {
            self.pass_up(now, delivery);
        }
    }

    #[inline]
    fn pass_up(&mut self, now: SimTime, delivery: Delivery) {
        let Self { departures, statistics, arq_statistics, reassembly, .. } = self;
        let accounted = reassembly.on_delivery(delivery, |packet, is_lost| {
            statistics.losses += u64::from(is_lost);
            let departure = if is_lost { Departure::Lost(packet) } else { Departure::Arrived(packet) };
            departures.push_back((now, departure));
        });
        arq_statistics.frames_lost += accounted.frames_lost;
        if let Delivery::Frame { received_at, .. } = delivery {
            if accounted.is_stray {
                arq_statistics.stray_frames += 1;
                return;
            }
            arq_statistics.on_delivery(now - received_at);
        }
    }

    /// What was counted of the frames since the link was made, as far as it has been caught up with.
    pub fn arq_statistics(&self) -> &ArqStatistics {
        &self.arq_statistics
    }

    /// No packet can leave before, if no frame is missing: the oldest must have been sent to its end.
    fn earliest_departure(&self, next: SimTime) -> SimTime {
        let FrameTiming { frame_time, delay, .. } = self.timing;
        let last_frame = frame_time.saturating_add(delay);
        if let Some(last_sent) = self.reassembly.oldest_was_sent() {
            return last_sent.saturating_add(last_frame);
        }
        let Some(frames) = self.segmenter.frames_left() else { return next };
        let before = frame_time.saturating_mul(u64::from(frames.saturating_sub(1)));
        next.max(self.free_at).saturating_add(before).saturating_add(last_frame)
    }
}

impl<P: Packet, S: ArqSender, R: ArqReceiver<C::Soft>, C: FrameChannel> Link<P> for ArqLink<P, S, R, C> {
    fn push(&mut self, now: SimTime, packet: P) -> Push {
        self.run_until(now);
        if !self.segmenter.push(now, packet) {
            self.statistics.queue_drops += 1;
            return Push::QueueDrop;
        }
        self.wake_sender(now);
        Push::Accepted
    }

    fn next_event(&self) -> Option<SimTime> {
        if let Some(&(at, _)) = self.departures.front() {
            return Some(at);
        }
        let (mut next, _) = self.next_step();
        if next == SimTime::MAX {
            return None;
        }
        if self.receiver.is_in_sequence() {
            next = next.max(self.earliest_departure(next));
        }
        Some(next)
    }

    #[inline]
    fn advance(&mut self, now: SimTime) -> Option<Departure<P>> {
        loop {
            if let Some((_, departure)) = self.departures.pop_front() {
                if let Departure::Arrived(packet) = &departure {
                    self.statistics.on_arrival(packet.bytes());
                }
                return Some(departure);
            }
            let (at, step) = self.next_step();
            if at > now || at == SimTime::MAX {
                return None;
            }
            self.take(at, step);
        }
    }

    fn catch_up(&mut self, now: SimTime) {
        self.run_until(now);
    }

    fn statistics(&self) -> &LinkStatistics {
        &self.statistics
    }

    fn arq_statistics(&self) -> Option<&ArqStatistics> {
        Some(&self.arq_statistics)
    }
}
