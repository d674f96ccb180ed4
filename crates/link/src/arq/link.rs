//! Link that sends packets as frames and retransmits lost frames.

use super::choice::with_protocol;
use super::reassembly::Reassembly;
use super::reverse::ReverseChannel;
use super::segmentation::Segmenter;
use super::soft_buffer::SoftBuffer;
use super::watch::Watch;
use super::{
    ArqError, ArqLinkConfig, ArqReceiver, ArqSender, ArqStatistics, Content, Delivery, FrameChannel,
    FrameClock, FrameHeader, LossyFrames, Outcome, Pdu, Protocol, Reception, SoftValue, Transmission,
};
use crate::event::{EventLog, LinkEvent};
use crate::link::{Departure, Link, Push};
use crate::occupancy::Occupancy;
use crate::parcel::Parcel;
use crate::queue::{QueueConfig, Waiting};
use crate::report::LinkReport;
use crate::statistics::LinkStatistics;
use crossfade_core::{SimTime, Stream};
use std::collections::VecDeque;

/// Timing of the frames of an ARQ link.
#[derive(Clone, Copy)]
struct FrameTiming {
    /// Duration of a frame, full or not; the shortest one if durations vary.
    frame_time: SimTime,
    clock: FrameClock,
    delay: SimTime,
}

impl FrameTiming {
    /// Start time of a frame that is ready at `at`.
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

/// A frame with a payload in transmission, which is not counted yet; it ends at `free_at` of the link.
#[derive(Clone, Copy)]
struct Sending {
    start: SimTime,
    is_first: bool,
    is_error: bool,
}

/// ARQ link: a queue, segmentation, an ARQ protocol over a frame channel, and reassembly.
///
/// A packet arrives when its last frame is passed up. It is lost if one of its frames is lost; the loss is reported
/// when the fate of its last frame is known.
///
/// Frames are not events: [`next_event`](Link::next_event) is the earliest time at which a packet can leave, and
/// [`advance`](Link::advance) and [`push`](Link::push) process all frames up to their time. Statistics count only
/// processed frames.
///
/// While no frame is in transit and no packet waits, the link sends no idle frames, since they would carry no new
/// information.
pub struct ArqLink<S, R, C: FrameChannel = LossyFrames> {
    timing: FrameTiming,
    segmenter: Segmenter,
    reassembly: Reassembly,
    sender: S,
    receiver: R,
    channel: C,
    header: FrameHeader,
    soft_buffer: SoftBuffer<C::Soft>,
    reverse: ReverseChannel,
    /// Frames on the air, each with the time at which it is received.
    on_the_air: VecDeque<(SimTime, Pdu, Reception<C::Soft>)>,
    /// Time at which the last transmission ends.
    free_at: SimTime,
    /// Time at which the sender is next polled for a frame; [`SimTime::MAX`] until a packet or feedback comes.
    asks_at: SimTime,
    transmissions: u64,
    /// Frame with a payload in transmission, which is counted at its end.
    sending: Option<Sending>,
    /// Total duration of the counted frames with a payload; `None` if all frames are equally long.
    busy: Option<SimTime>,
    /// Packets that have left the link and were not taken out yet, with their times.
    departures: VecDeque<(SimTime, Departure)>,
    statistics: LinkStatistics,
    arq_statistics: ArqStatistics,
    /// Events of frames on the air; `None` if the link is not observed.
    watch: Option<Box<Watch>>,
    log: EventLog,
}

impl ArqLinkConfig {
    /// Builds the link over `channel`, with `queue` before it; `draws` is the random stream of the queue, `feedback`
    /// that of losses on the reverse path.
    ///
    /// # Errors
    /// If a parameter is outside its range, or the channel combines copies and the link cannot.
    pub fn build<C>(
        self,
        queue: QueueConfig,
        draws: Stream,
        channel: C,
        feedback: Stream,
    ) -> Result<Box<dyn Link + Send>, ArqError>
    where
        C: FrameChannel + 'static,
        C::Soft: 'static,
    {
        self.check()?;
        if channel.combines() {
            self.check_combining()?;
        }
        Ok(with_protocol!(self.protocol, |protocol| {
            let (sender, receiver) = protocol.build();
            Box::new(ArqLink::new(&self, queue, draws, (sender, receiver), channel, feedback)?)
        }))
    }
}

/// Kinds of steps in the order in which they are taken at equal times: receptions before transmissions.
#[derive(Clone, Copy)]
enum Step {
    Frame,
    Feedback,
    ReceiverTimer,
    Transmission,
}

impl<S: ArqSender, R: ArqReceiver, C: FrameChannel> ArqLink<S, R, C> {
    /// Creates an idle link between a sender and a receiver, of the protocol of `config` or another.
    ///
    /// # Errors
    /// If a parameter of the queue is outside its range.
    pub fn new(
        config: &ArqLinkConfig,
        queue: QueueConfig,
        draws: Stream,
        (sender, receiver): (S, R),
        channel: C,
        feedback: Stream,
    ) -> Result<Self, ArqError> {
        let ArqLinkConfig { clock, delay, segmentation, header, soft_buffer, reverse, .. } = *config;
        let busy = channel.frame_time().map(|_| SimTime::ZERO);
        Ok(Self {
            timing: FrameTiming { frame_time: config.frame_time(), clock, delay },
            segmenter: Segmenter::new(segmentation, queue, draws)?,
            reassembly: Reassembly::new(receiver.releases_in_order()),
            sender,
            receiver,
            channel,
            header,
            soft_buffer: SoftBuffer::new(soft_buffer),
            reverse: ReverseChannel::new(&reverse, feedback),
            on_the_air: VecDeque::new(),
            free_at: SimTime::ZERO,
            asks_at: SimTime::MAX,
            transmissions: 0,
            sending: None,
            busy,
            departures: VecDeque::new(),
            statistics: LinkStatistics::default(),
            arq_statistics: ArqStatistics::default(),
            watch: None,
            log: EventLog::default(),
        })
    }

    #[inline]
    fn next_step(&self) -> (SimTime, Step) {
        let frame = self.on_the_air.front().map_or(SimTime::MAX, |(at, ..)| *at);
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
                if let Some((_, pdu, reception)) = self.on_the_air.pop_front() {
                    let outcome = self.outcome(pdu, reception);
                    if let Some(event) = self.watch.as_mut().and_then(|watch| watch.on_reception(&outcome)) {
                        self.log.push(|| event);
                    }
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

    /// Polls the sender at the next possible time, since it may have a frame to send.
    #[inline]
    fn wake_sender(&mut self, now: SimTime) {
        let ready = now.max(self.free_at);
        if self.asks_at > ready {
            self.asks_at = self.asks_at.min(self.timing.start(ready));
        }
    }

    /// Counts the frame in transmission, which has ended.
    #[inline]
    fn count_sent(&mut self) {
        let Some(Sending { start, is_first, is_error }) = self.sending.take() else { return };
        let statistics = &mut self.arq_statistics;
        statistics.frames += u64::from(is_first);
        statistics.retransmissions += u64::from(!is_first);
        statistics.frame_errors += u64::from(is_error);
        if let Some(busy) = &mut self.busy {
            *busy += self.free_at - start;
        }
    }

    /// Polls the sender for a frame and transmits it.
    #[inline]
    fn transmit(&mut self, now: SimTime) {
        debug_assert!(
            now >= self.free_at,
            "{now} is within the last transmission, which ends at {}",
            self.free_at
        );
        self.count_sent();
        if self.segmenter.is_empty() {
            self.segmenter.rest(now);
        } else if self.sender.wants_sdu(now) {
            let sdu = self.reassembly.next_sdu();
            let asks_queue = self.segmenter.asks_queue();
            let is_made = self.segmenter.fill(now, &mut self.reassembly, &mut self.statistics);
            if asks_queue {
                self.note_drops(now);
            }
            if is_made {
                self.sender.on_sdu(now, sdu);
            }
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
            Content::Data(_) => {}
        }
        let sdu = match pdu.content {
            Content::Data(sdu) => Some(sdu),
            Content::Idle | Content::Skip => None,
        };
        let number = self.transmissions;
        self.transmissions += 1;
        let transmission = Transmission { number, at: now, sdu, attempt: pdu.attempt };
        let reception = self.channel.transmit(transmission);
        let frame_time = self.channel.frame_time().unwrap_or(self.timing.frame_time);
        self.free_at = now + frame_time;
        self.asks_at = self.free_at;
        let is_error = match &reception {
            Reception::Good => false,
            Reception::Corrupt => true,
            Reception::Soft(copy) => !copy.passes_alone(),
        };
        if sdu.is_some() {
            let is_first = pdu.attempt == 0;
            self.sending = Some(Sending { start: now, is_first, is_error });
        }
        let received_at = self.free_at + self.timing.delay;
        if let Some(watch) = &mut self.watch {
            watch.on_transmission(transmission, pdu.seq, self.channel.conditions(), !is_error);
        }
        self.on_the_air.push_back((received_at, pdu, reception));
    }

    /// Records the marks and drops of the queue at time `now`.
    fn note_drops(&mut self, now: SimTime) {
        let Self { segmenter, statistics, departures, .. } = self;
        statistics.ecn_marks = segmenter.ecn_marks();
        for Waiting { since, packet } in segmenter.dropped() {
            statistics.queue_drops += 1;
            statistics.waiting_s += (now - since).as_secs_f64();
            departures.push_back((now, Departure::QueueDrop(packet)));
        }
    }

    /// Outcome of a reception for the receiver: the frame passes its check by itself or combined with earlier copies,
    /// or not.
    #[inline]
    fn outcome(&mut self, pdu: Pdu, reception: Reception<C::Soft>) -> Outcome {
        let is_good = match (reception, pdu.content) {
            (Reception::Good, Content::Data(sdu)) => {
                self.soft_buffer.forget(sdu..sdu + 1);
                true
            }
            (Reception::Good, _) => true,
            (Reception::Corrupt, _) => false,
            (Reception::Soft(copy), Content::Data(sdu)) if self.receiver.awaits(&pdu) => {
                self.soft_buffer.receive(sdu, copy)
            }
            (Reception::Soft(copy), _) => copy.passes_alone(),
        };
        match (is_good, self.header) {
            (true, _) => Outcome::Good(pdu),
            (false, FrameHeader::Readable) => Outcome::Corrupt(pdu),
            (false, FrameHeader::Lost) => Outcome::Erased,
        }
    }

    /// Takes feedback and deliveries from the receiver after a reception or a timeout.
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
        let Self { departures, statistics, arq_statistics, reassembly, soft_buffer, .. } = self;
        let accounted = reassembly.on_delivery(delivery, |packet, is_lost| {
            statistics.losses += u64::from(is_lost);
            let departure = if is_lost { Departure::Lost(packet) } else { Departure::Arrived(packet) };
            departures.push_back((now, departure));
        });
        arq_statistics.frames_lost += accounted.frames_lost;
        soft_buffer.forget(accounted.settled);
        if let Delivery::Frame { received_at, .. } = delivery {
            if accounted.is_stray {
                arq_statistics.stray_frames += 1;
                return;
            }
            arq_statistics.on_delivery(now - received_at);
        }
    }

    /// Earliest time at which a packet can arrive if no frame is missing: the last frame of the oldest packet must have
    /// been sent.
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

    /// Earliest time at which the queue can drop a packet that it has accepted.
    fn earliest_drop(&self, next: SimTime) -> SimTime {
        let Some(frames) = self.segmenter.frames_before_drops() else { return SimTime::MAX };
        next.max(self.free_at).saturating_add(self.timing.frame_time.saturating_mul(frames.into()))
    }
}

impl<S: ArqSender, R: ArqReceiver, C: FrameChannel> Link for ArqLink<S, R, C> {
    fn push(&mut self, now: SimTime, packet: Parcel) -> Push {
        self.run_until(now);
        let is_taken = self.segmenter.push(now, packet);
        self.note_drops(now);
        if !is_taken {
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
            next = next.max(self.earliest_departure(next).min(self.earliest_drop(next)));
        }
        Some(next)
    }

    #[inline]
    fn advance(&mut self, now: SimTime) -> Option<Departure> {
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

    fn report(&mut self, now: SimTime) -> LinkReport {
        self.run_until(now);
        if now >= self.free_at {
            self.count_sent();
        }
        let under_way = self.sending.map_or(SimTime::ZERO, |frame| now.saturating_sub(frame.start));
        let frame_time = self.timing.frame_time;
        let occupancy = match self.busy {
            Some(busy) => Occupancy::Time(busy + under_way),
            None => Occupancy::Frames { frame_time, under_way },
        };
        let mut statistics = self.statistics.clone();
        let (mut waits, mut unsent) = (Vec::new(), Vec::new());
        self.segmenter.each(&mut |Waiting { since, packet }| {
            waits.push(now.saturating_sub(*since));
            unsent.push(*packet);
        });
        statistics.add_waits(waits);
        let mut sent: Vec<_> = self.departures.iter().map(|(_, departure)| departure.parcel()).collect();
        let being_sent = self.sending.map(|frame| frame.start);
        for (packet, last_frame) in self.reassembly.packets() {
            let is_unsent = last_frame.is_none() || last_frame == being_sent;
            if is_unsent { &mut unsent } else { &mut sent }.push(packet);
        }
        let (frames, waiting) = (Some(self.arq_statistics.clone()), Some(self.segmenter.packets()));
        LinkReport { frames, waiting, unsent, sent, ..LinkReport::new(now, statistics, occupancy) }
    }

    fn trace(&mut self, keep: bool) {
        self.watch = keep.then(|| Box::new(Watch::new(self.on_the_air.len())));
        self.log.keep(keep);
    }

    fn next_trace(&mut self) -> Option<LinkEvent> {
        self.log.pop()
    }
}
