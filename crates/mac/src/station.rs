//! Station of the distributed coordination function (IEEE 802.11-1999, 9.2), without IO.
//!
//! The caller reports the state of the medium and decoded frames; the station returns the frames to send and the time
//! of its next event:
//!
//! ```text
//!             backoff over              SIFS              SIFS             SIFS
//!   caller    Idle --> send RTS --> wait CTS --> send DATA --> wait ACK --> Idle
//!   called    Idle --> (RTS heard) --> send CTS --> wait DATA --> send ACK --> Idle
//! ```
//!
//! Without RTS the exchange begins with DATA. If an answer is missing, the window doubles and the station tries again;
//! at the retry limit it drops the packet. A station always draws a backoff before it calls, even on an idle medium.

use crate::contention::Contention;
use crate::timing::{Rules, Timing};
use crossfade_core::{SimTime, Stream};
use std::sync::Arc;

/// Kind of frame in an exchange.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) enum FrameKind {
    /// Request to send.
    Rts,
    /// Clear to send.
    Cts,
    /// Data frame with the packet.
    Data,
    /// Acknowledgement.
    Ack,
}

impl FrameKind {
    /// Name of the frame in link events.
    pub(crate) fn name(self) -> &'static str {
        match self {
            Self::Rts => "rts",
            Self::Cts => "cts",
            Self::Data => "data",
            Self::Ack => "ack",
        }
    }
}

/// Frame of a mesh station.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Frame {
    pub(crate) kind: FrameKind,
    pub(crate) from: u32,
    pub(crate) to: u32,
    /// End of the exchange, as the duration field announces it.
    pub(crate) until: SimTime,
    /// Sequence number of the packet in a DATA frame, by which duplicates are detected; 0 in other frames.
    pub(crate) sequence: u64,
}

/// Packet that a station has to send.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Job {
    pub(crate) to: u32,
    /// Duration of the DATA frame.
    pub(crate) data: SimTime,
    pub(crate) sequence: u64,
}

/// Action of a station at the time of its event.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Action {
    Nothing,
    /// Send this frame, with this duration on the air.
    Send(Frame, SimTime),
    /// No answer to this RTS or DATA frame came; the station will try again.
    Failed(FrameKind),
    /// No answer to this RTS or DATA frame came, and the retry limit is reached: the packet is dropped.
    GaveUp(FrameKind),
}

/// Meaning of a decoded frame for the station to which it is addressed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Heard {
    Nothing,
    /// An RTS that the station will answer with a CTS.
    Called,
    /// A DATA frame, which the station will acknowledge.
    Packet,
    /// The ACK of the station's own packet.
    Acknowledged,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Phase {
    /// No exchange: the station counts backoff slots, or has no packet.
    Idle,
    /// SIFS before it sends this frame.
    Gap(FrameKind),
    Sending(FrameKind),
    /// Timeout for the arrival of this frame.
    Wait(FrameKind),
}

/// Station of a mesh node.
pub(crate) struct Station {
    node: u32,
    rules: Arc<Rules>,
    phase: Phase,
    /// Time at which the phase ends; without meaning while idle.
    phase_ends: SimTime,
    job: Option<Job>,
    contention: Contention,
    short_failures: u32,
    long_failures: u32,
    /// Other end of the exchange; `exchange_ends` is its announced end.
    peer: u32,
    exchange_ends: SimTime,
}

impl Station {
    pub(crate) fn new(node: u32, rules: Arc<Rules>, stream: Stream) -> Self {
        Self {
            node,
            phase: Phase::Idle,
            phase_ends: SimTime::ZERO,
            job: None,
            contention: Contention::new(Arc::clone(&rules), stream),
            short_failures: 0,
            long_failures: 0,
            peer: node,
            exchange_ends: SimTime::ZERO,
            rules,
        }
    }

    pub(crate) fn phase(&self) -> Phase {
        self.phase
    }

    /// Other end of the current exchange; `None` without one.
    pub(crate) fn peer(&self) -> Option<u32> {
        (self.phase != Phase::Idle).then_some(self.peer)
    }

    /// Packet that the station has to send; `None` without one.
    pub(crate) fn job(&self) -> Option<Job> {
        self.job
    }

    /// True if the next event is a call: the station counts the backoff of a packet.
    pub(crate) fn calls_next(&self) -> bool {
        self.phase == Phase::Idle && self.job.is_some()
    }

    /// Time at which [`Self::on_time`] must be called; `None` if the station waits for the medium or has no backoff.
    pub(crate) fn next_event(&self) -> Option<SimTime> {
        match self.phase {
            Phase::Idle => self.contention.ends(),
            _ => Some(self.phase_ends),
        }
    }

    /// Hands over a packet to send; the station must have none.
    pub(crate) fn begin(&mut self, now: SimTime, job: Job) {
        self.job = Some(job);
        if self.contention.backoff.is_none() {
            self.contention.draw();
        }
        self.resume(now);
    }

    /// Forbids to call the packet's receiver before `until`; returns true if `until` is new. The station must have a
    /// packet.
    pub(crate) fn hold(&mut self, now: SimTime, until: SimTime) -> bool {
        let is_news = self.contention.hold(now, until);
        self.resume(now);
        is_news
    }

    /// Extends the NAV to `until`.
    pub(crate) fn reserve(&mut self, now: SimTime, until: SimTime) {
        if self.contention.reserve(now, until) {
            self.resume(now);
        }
    }

    /// Records that the medium has become busy.
    pub(crate) fn on_busy(&mut self, now: SimTime) {
        self.contention.on_busy(now);
    }

    /// Records the end of the last signal on the air; the backoff resumes.
    pub(crate) fn on_idle(&mut self, now: SimTime) {
        self.contention.on_idle(now);
        self.resume(now);
    }

    /// Records that a frame ended here, decoded or not; must be called before [`Self::on_idle`].
    pub(crate) fn on_frame_end(&mut self, understood: bool) {
        self.contention.on_frame_end(understood);
    }

    /// Resumes the backoff, unless the station is in an exchange.
    fn resume(&mut self, now: SimTime) {
        if self.phase == Phase::Idle {
            self.contention.resume(now);
        }
    }

    fn enter(&mut self, phase: Phase, ends: SimTime) {
        (self.phase, self.phase_ends) = (phase, ends);
    }

    /// Ends the exchange.
    fn leave(&mut self, now: SimTime) {
        self.phase = Phase::Idle;
        self.resume(now);
    }

    fn send(&mut self, now: SimTime, kind: FrameKind, airtime: SimTime) -> Action {
        self.enter(Phase::Sending(kind), now + airtime);
        let sequence = self.job.filter(|_| kind == FrameKind::Data).map_or(0, |job| job.sequence);
        let frame = Frame { kind, from: self.node, to: self.peer, until: self.exchange_ends, sequence };
        Action::Send(frame, airtime)
    }

    /// Performs the event that is due at `now` ([`Self::next_event`]).
    pub(crate) fn on_time(&mut self, now: SimTime) -> Action {
        let Timing { slot, sifs, rts, cts, ack, .. } = self.rules.timing;
        match self.phase {
            Phase::Idle => {
                self.contention.end();
                let Some(job) = self.job else { return Action::Nothing };
                self.peer = job.to;
                let answered = job.data + sifs + ack;
                if self.rules.config.rts {
                    self.exchange_ends = now + rts + sifs + cts + sifs + answered;
                    self.send(now, FrameKind::Rts, rts)
                } else {
                    self.exchange_ends = now + answered;
                    self.send(now, FrameKind::Data, job.data)
                }
            }
            Phase::Gap(FrameKind::Cts) if self.contention.is_taken(now) => {
                self.leave(now);
                Action::Nothing
            }
            Phase::Gap(kind) => {
                let airtime = match kind {
                    FrameKind::Rts => rts,
                    FrameKind::Cts => cts,
                    FrameKind::Data => self.job.map_or(SimTime::ZERO, |job| job.data),
                    FrameKind::Ack => ack,
                };
                self.send(now, kind, airtime)
            }
            Phase::Sending(kind) => {
                self.contention.on_sent(now);
                match kind {
                    FrameKind::Rts => self.enter(Phase::Wait(FrameKind::Cts), now + sifs + cts + slot),
                    // As long as the announced DATA may take, plus a slot.
                    FrameKind::Cts => {
                        self.enter(Phase::Wait(FrameKind::Data), self.exchange_ends - ack - sifs + slot);
                    }
                    FrameKind::Data => self.enter(Phase::Wait(FrameKind::Ack), now + sifs + ack + slot),
                    FrameKind::Ack => self.leave(now),
                }
                Action::Nothing
            }
            Phase::Wait(FrameKind::Cts) => self.fail(now, FrameKind::Rts),
            Phase::Wait(FrameKind::Ack) => self.fail(now, FrameKind::Data),
            Phase::Wait(_) => {
                self.leave(now);
                Action::Nothing
            }
        }
    }

    /// Counts a missing answer to a frame of `kind` (9.2.5.3); at the retry limit the packet is dropped.
    fn fail(&mut self, now: SimTime, kind: FrameKind) -> Action {
        let is_long = self.rules.config.rts && kind == FrameKind::Data;
        let (failures, limit) = if is_long {
            (&mut self.long_failures, self.rules.config.long_retries)
        } else {
            (&mut self.short_failures, self.rules.config.short_retries)
        };
        *failures += 1;
        let action = if *failures >= limit {
            self.finish();
            Action::GaveUp(kind)
        } else {
            self.contention.widen();
            Action::Failed(kind)
        };
        self.contention.draw();
        self.leave(now);
        action
    }

    /// Removes the packet, delivered or dropped, and resets the retry counters and the window.
    fn finish(&mut self) {
        self.job = None;
        (self.short_failures, self.long_failures) = (0, 0);
        self.contention.reset();
    }

    /// Handles a decoded frame that is addressed to this station.
    pub(crate) fn on_frame(&mut self, now: SimTime, frame: &Frame) -> Heard {
        let Timing { sifs, .. } = self.rules.timing;
        match (frame.kind, self.phase) {
            (FrameKind::Rts, Phase::Idle) if !self.contention.is_reserved(now) => {
                self.contention.freeze(now);
                (self.peer, self.exchange_ends) = (frame.from, frame.until);
                self.enter(Phase::Gap(FrameKind::Cts), now + sifs);
                Heard::Called
            }
            (FrameKind::Cts, Phase::Wait(FrameKind::Cts)) if frame.from == self.peer => {
                self.short_failures = 0;
                self.enter(Phase::Gap(FrameKind::Data), now + sifs);
                Heard::Nothing
            }
            (FrameKind::Data, Phase::Wait(FrameKind::Data)) if frame.from == self.peer => {
                self.enter(Phase::Gap(FrameKind::Ack), now + sifs);
                Heard::Packet
            }
            (FrameKind::Data, Phase::Idle) if !self.rules.config.rts => {
                self.contention.freeze(now);
                (self.peer, self.exchange_ends) = (frame.from, frame.until);
                self.enter(Phase::Gap(FrameKind::Ack), now + sifs);
                Heard::Packet
            }
            (FrameKind::Ack, Phase::Wait(FrameKind::Ack)) if frame.from == self.peer => {
                self.finish();
                self.contention.draw();
                self.leave(now);
                Heard::Acknowledged
            }
            _ => Heard::Nothing,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::timing::DcfConfig;
    use crossfade_core::RunSeed;

    const DATA: SimTime = SimTime::from_micros(1000);

    fn us(micros: u64) -> SimTime {
        SimTime::from_micros(micros)
    }

    fn station(rts: bool) -> Station {
        let config = DcfConfig { rts, ..DcfConfig::default() };
        let rules = Rules { config, timing: config.timing().unwrap() };
        Station::new(0, Arc::new(rules), RunSeed { seed: 1, run: 0 }.stream("mac.backoff.0"))
    }

    fn with_backoff(rts: bool, slots: u32) -> Station {
        let mut station = station(rts);
        station.contention.backoff = Some(slots);
        station.begin(us(0), Job { to: 1, data: DATA, sequence: 7 });
        station
    }

    fn frame(kind: FrameKind, from: u32, until: u64) -> Frame {
        Frame { kind, from, to: 0, until: us(until), sequence: 0 }
    }

    fn sent(action: Action) -> (FrameKind, u64) {
        let Action::Send(frame, _) = action else { panic!("sends nothing: {action:?}") };
        (frame.kind, frame.until.as_nanos() / 1000)
    }

    /// Runs the station's event, which must be due at `at` microseconds.
    fn wake(station: &mut Station, at: u64) -> Action {
        assert_eq!(station.next_event(), Some(us(at)));
        station.on_time(us(at))
    }

    #[test]
    fn the_ladder_of_a_caller() {
        let mut a = with_backoff(true, 3);
        // DIFS and three slots; then RTS, CTS, DATA and ACK with SIFS between.
        assert_eq!(sent(wake(&mut a, 110)), (FrameKind::Rts, 110 + 352 + 304 + 1000 + 304 + 30));
        assert_eq!(wake(&mut a, 462), Action::Nothing);
        assert_eq!(a.next_event(), Some(us(462 + 10 + 304 + 20)));
        assert_eq!(a.on_frame(us(776), &frame(FrameKind::Cts, 1, 2100)), Heard::Nothing);
        assert_eq!(sent(wake(&mut a, 786)), (FrameKind::Data, 2100));
        assert_eq!(wake(&mut a, 1786), Action::Nothing);
        assert_eq!(a.on_frame(us(2100), &frame(FrameKind::Ack, 1, 2100)), Heard::Acknowledged);
        // A backoff follows an exchange even if no packet waits.
        assert!(a.contention.backoff.is_some() && a.job().is_none());
    }

    #[test]
    fn the_ladder_of_the_called() {
        let mut b = station(true);
        assert_eq!(b.on_frame(us(352), &frame(FrameKind::Rts, 5, 2000)), Heard::Called);
        assert_eq!(sent(wake(&mut b, 362)), (FrameKind::Cts, 2000));
        assert_eq!(wake(&mut b, 666), Action::Nothing);
        assert_eq!(b.on_frame(us(1676), &frame(FrameKind::Data, 9, 2000)), Heard::Nothing, "not the caller");
        assert_eq!(b.on_frame(us(1676), &frame(FrameKind::Data, 5, 2000)), Heard::Packet);
        assert_eq!(sent(wake(&mut b, 1686)), (FrameKind::Ack, 2000));
        assert_eq!(wake(&mut b, 1990), Action::Nothing);
        assert_eq!(b.next_event(), None);
    }

    #[test]
    fn the_nav_holds_calls_and_answers() {
        let mut a = with_backoff(true, 1);
        a.reserve(us(0), us(3000));
        assert_eq!(a.next_event(), Some(us(3000 + 50 + 20)));
        assert_eq!(a.on_frame(us(2000), &frame(FrameKind::Rts, 1, 9000)), Heard::Nothing);
        assert_eq!(a.on_frame(us(3000), &frame(FrameKind::Rts, 1, 9000)), Heard::Called);
    }

    #[test]
    fn no_cts_into_a_busy_medium() {
        let mut b = station(true);
        assert_eq!(b.on_frame(us(352), &frame(FrameKind::Rts, 1, 2000)), Heard::Called);
        b.on_busy(us(355));
        assert_eq!(wake(&mut b, 362), Action::Nothing);
        assert_eq!(b.phase(), Phase::Idle);
    }

    #[test]
    fn windows_double_and_packets_are_given_up() {
        for (rts, kind, limit) in [(true, FrameKind::Rts, 7), (false, FrameKind::Data, 7)] {
            let mut a = with_backoff(rts, 0);
            let mut windows = Vec::new();
            loop {
                let at = a.next_event().unwrap();
                assert!(matches!(a.on_time(at), Action::Send(..)));
                let end = a.next_event().unwrap();
                assert_eq!(a.on_time(end), Action::Nothing);
                let timeout = a.next_event().unwrap();
                let action = a.on_time(timeout);
                windows.push(a.contention.window);
                assert!(a.contention.backoff.unwrap() <= a.contention.window);
                if action == Action::GaveUp(kind) {
                    break;
                }
                assert_eq!(action, Action::Failed(kind));
            }
            assert_eq!(windows, [63, 127, 255, 511, 1023, 1023, 31]);
            assert_eq!((windows.len(), a.job()), (limit, None));
        }
    }

    /// A CTS resets the short retry count of the RTS frames before it, but not the window (9.2.5.3).
    #[test]
    fn a_cts_forgives_the_calls_before_it() {
        let mut a = with_backoff(true, 0);
        // Runs the call and the end of its RTS.
        let call = |a: &mut Station| {
            let steps: [SimTime; 2] = std::array::from_fn(|_| {
                let at = a.next_event().unwrap();
                a.on_time(at);
                at
            });
            steps[1]
        };
        let miss = |a: &mut Station| {
            let timeout = a.next_event().unwrap();
            a.on_time(timeout)
        };
        for _ in 0..6 {
            call(&mut a);
            assert_eq!(miss(&mut a), Action::Failed(FrameKind::Rts));
        }
        // The seventh RTS is answered by a CTS, but its DATA by no ACK.
        let called = call(&mut a);
        a.on_frame(called + us(314), &frame(FrameKind::Cts, 1, 0));
        call(&mut a);
        assert_eq!(miss(&mut a), Action::Failed(FrameKind::Data));
        assert_eq!(a.contention.window, 1023);
        // After the CTS, seven more RTS may go unanswered.
        for _ in 0..6 {
            call(&mut a);
            assert_eq!(miss(&mut a), Action::Failed(FrameKind::Rts));
        }
        call(&mut a);
        assert_eq!(miss(&mut a), Action::GaveUp(FrameKind::Rts));
    }

    #[test]
    fn long_retries_count_apart() {
        let mut a = with_backoff(true, 0);
        let mut given_up = 0;
        for attempt in 1..=4 {
            let at = a.next_event().unwrap();
            a.on_time(at);
            let end = a.next_event().unwrap();
            a.on_time(end);
            a.on_frame(end + us(314), &frame(FrameKind::Cts, 1, 0));
            for _ in 0..2 {
                let next = a.next_event().unwrap();
                a.on_time(next);
            }
            let timeout = a.next_event().unwrap();
            if a.on_time(timeout) == Action::GaveUp(FrameKind::Data) {
                given_up = attempt;
            }
        }
        assert_eq!(given_up, 4);
    }
}
