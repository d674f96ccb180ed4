//! TCP as the RFCs specify it: the sender of flavour `rfc`.
//!
//! The connection is established (RFC 9293 section 3.5 is not simulated), the receiver's window is constant because
//! its application reads at once, and every segment is full-sized, so that the windows of RFC 5681 count segments.
//!
//! ```text
//!               loss shown by duplicates, SACK or RACK
//!   ┌──────┐ ────────────────────────────────────────> ┌──────────────┐
//!   │ Open │ <──── everything sent until then acked ── │ FastRecovery │
//!   └──────┘                                           └──────────────┘
//!     │  ^                                                    │
//!     │  └── everything sent until then acked ── ┌──────┐ <───┤ timeout
//!     └───────────────── timeout ──────────────> │ Loss │     │
//!                                                └──────┘ <───┘
//! ```
//!
//! One mechanism is one file; which of them are at work says [`RfcConfig`].

mod config;
mod ecn;
mod flight;
mod newreno;
mod rto;
mod sack;

pub use config::{RateReduction, ReductionBound, RfcConfig};

use crate::config::{TcpConfig, Variant};
use crate::congestion::{AckSample, CongestionControl};
use crate::recovery::AckOutcome;
use crate::segment::{Ack, SackBlocks, Segment};
use crate::sender::{Expired, SenderStatistics};
use crossfade_core::{SimTime, TcpSnapshot};
use ecn::Ecn;
use flight::{Flight, News};
use rto::Rto;
use sack::SackRecovery;

/// What the sender is doing about losses.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Phase {
    /// Nothing is known to be lost.
    Open,
    /// Repairs losses that acknowledgements have shown.
    FastRecovery,
    /// Starts over after a timeout.
    Loss,
}

pub(crate) struct RfcSender {
    config: TcpConfig,
    /// How many segments the application has written.
    available: u64,
    flight: Flight,
    congestion: Box<dyn CongestionControl>,
    rto: Rto,
    phase: Phase,
    /// Duplicate acknowledgements since the last new one.
    dupacks: u32,
    /// One past the highest segment sent when the last loss was found: RFC 6582's `recover`, RFC 6675's
    /// `RecoveryPoint`.
    recover: Option<u64>,
    /// A repetition that the window can't hold back.
    force: Option<u64>,
    /// `NewReno` has seen a partial acknowledgement in this recovery.
    seen_partial: bool,
    sack: SackRecovery,
    ecn: Ecn,
    /// New segments that limited transmit has sent beyond the window since the first duplicate.
    limited_sent: u64,
    /// Segments that arrived and that the window rule was not told of.
    uncredited: u64,
    /// What was sent below this was sent while the congestion window held the sender back.
    cwnd_limited_below: u64,
    last_sent: Option<SimTime>,
    /// The oldest segment at the last timeout.
    timed_out_at: Option<u64>,
    /// Without timestamps: the segment whose round trip is being measured, and when it was sent.
    timed: Option<(u64, SimTime)>,
    rtt_sum_s: f64,
    rtt_samples: u64,
    statistics: SenderStatistics,
}

impl RfcSender {
    pub(crate) fn new(config: &TcpConfig, congestion: Box<dyn CongestionControl>) -> Self {
        Self {
            config: *config,
            available: config.segments.unwrap_or(u64::MAX),
            flight: Flight::new(false),
            congestion,
            rto: Rto::new(config.rto),
            phase: Phase::Open,
            dupacks: 0,
            recover: None,
            force: None,
            seen_partial: false,
            sack: SackRecovery::default(),
            ecn: Ecn::new(config.rfc.ecn),
            limited_sent: 0,
            uncredited: 0,
            cwnd_limited_below: 0,
            last_sent: None,
            timed_out_at: None,
            timed: None,
            rtt_sum_s: 0.0,
            rtt_samples: 0,
            statistics: SenderStatistics::default(),
        }
    }

    fn uses_sack(&self) -> bool {
        self.config.variant == Variant::Sack
    }

    pub(crate) fn on_ack(&mut self, now: SimTime, ack: &Ack) -> AckOutcome {
        if ack.next_expected < self.flight.snd_una() {
            return AckOutcome::Stale;
        }
        let flight_size = self.flight.size();
        let sack = if self.uses_sack() { ack.sack } else { SackBlocks::default() };
        let news = self.flight.on_ack(ack.next_expected, &sack);
        let rtt = self.measure(now, ack, &news);
        self.uncredited += news.delivered;
        if news.acked > 0 {
            self.dupacks = 0;
            self.limited_sent = 0;
        } else if if self.uses_sack() { news.sacked > 0 } else { flight_size > 0 } {
            // RFC 6675 section 2 counts what reports something new, RFC 5681 section 2 what repeats the last one.
            self.dupacks += 1;
        } else {
            return AckOutcome::Stale;
        }
        if news.acked > 0 && self.phase != Phase::FastRecovery {
            // RFC 6298 (5.2), (5.3).
            self.rto.restart(now, self.flight.size() > 0);
        }
        let marked = ack.ece && self.on_mark(now, flight_size);
        if self.uses_sack() {
            self.detect_losses(now);
        }
        let phase = self.phase;
        let outcome = match phase {
            Phase::Open => self.on_ack_when_open(now, &news),
            Phase::FastRecovery => self.on_ack_in_recovery(now, &news),
            Phase::Loss => self.on_ack_in_loss(&news),
        };
        if self.phase == Phase::FastRecovery || phase == Phase::FastRecovery {
            self.uncredited = 0;
        } else if news.acked > 0 && !marked {
            self.grow(now, rtt);
        }
        outcome
    }

    fn on_ack_when_open(&mut self, now: SimTime, news: &News) -> AckOutcome {
        let is_loss = match self.config.variant {
            Variant::OldTahoe => false,
            Variant::Tahoe | Variant::Reno | Variant::NewReno => self.duplicates_show_loss(),
            // RFC 6675 section 5 (2): IsLost(HighACK + 1), the lowest that can be lost.
            Variant::Sack => self.flight.next_lost().is_some(),
        };
        if is_loss {
            self.start_recovery(now);
            return AckOutcome::FastRetransmit;
        }
        if news.acked > 0 { AckOutcome::New } else { AckOutcome::Duplicate }
    }

    /// Acknowledgements have shown a loss: the fast retransmit.
    fn start_recovery(&mut self, now: SimTime) {
        self.statistics.fast_retransmits += 1;
        let (snd_una, snd_max) = (self.flight.snd_una(), self.flight.snd_max());
        // RFC 5681 section 3.2 step 2: what limited transmit sent does not count.
        let window = (self.flight.size() - self.limited_sent) as f64;
        let may_reduce = self.ecn.may_reduce(snd_una);
        self.recover = Some(snd_max);
        self.timed = None;
        if self.config.variant == Variant::Tahoe {
            self.congestion.on_timeout(now, window);
            self.start_over(now);
            return;
        }
        if may_reduce {
            self.congestion.on_loss(now, window);
            self.ecn.on_reduction(snd_max);
        }
        let ssthresh = self.congestion.ssthresh();
        self.congestion.set_cwnd(ssthresh);
        self.phase = Phase::FastRecovery;
        self.seen_partial = false;
        self.sack = SackRecovery::start(snd_una);
        if !self.uses_sack() {
            self.flight.mark_lost(snd_una);
            self.inflate(self.config.dupthresh);
        }
        // RFC 6675 section 5 (4.3), RFC 5681 section 3.2 step 2: whatever the window.
        self.force = self.flight.next_lost();
        self.rto.restart(now, true);
    }

    fn on_ack_in_recovery(&mut self, now: SimTime, news: &News) -> AckOutcome {
        let outcome = if !self.uses_sack() {
            self.on_ack_without_sack(now, news.acked)
        } else if self.recover.is_none_or(|recover| self.flight.snd_una() >= recover) {
            // RFC 6675 section 5 (A).
            self.end_recovery(self.congestion.ssthresh());
            AckOutcome::RecoveryEnd
        } else {
            if news.acked > 0 {
                self.rto.restart(now, true);
            }
            if news.acked > 0 { AckOutcome::New } else { AckOutcome::Duplicate }
        };
        if self.phase == Phase::Open {
            self.rto.restart(now, self.flight.size() > 0);
        }
        outcome
    }

    fn on_ack_in_loss(&mut self, news: &News) -> AckOutcome {
        if self.recover.is_none_or(|recover| self.flight.snd_una() >= recover) {
            self.phase = Phase::Open;
            return AckOutcome::RecoveryEnd;
        }
        if news.acked > 0 { AckOutcome::New } else { AckOutcome::Duplicate }
    }

    /// An acknowledgement echoes a congestion mark. Returns whether ECN is in use: such an acknowledgement does
    /// not let the window grow (RFC 3168 section 6.1.2).
    fn on_mark(&mut self, now: SimTime, flight_size: u64) -> bool {
        if self.ecn.enabled() && self.phase == Phase::Open && self.ecn.may_reduce(self.flight.snd_una()) {
            self.congestion.on_ecn(now, flight_size as f64);
            self.ecn.on_reduction(self.flight.snd_max());
            self.statistics.ecn_reductions += 1;
        }
        self.ecn.enabled()
    }

    fn grow(&mut self, now: SimTime, rtt: Option<SimTime>) {
        let next_expected = self.flight.snd_una();
        let cwnd_limited = !self.config.rfc.cwnd_validation || next_expected <= self.cwnd_limited_below;
        let acked = std::mem::take(&mut self.uncredited);
        let snd_max = self.flight.snd_max();
        self.congestion.on_ack(&AckSample { now, acked, rtt, next_expected, snd_max, cwnd_limited });
    }

    /// The round trip that an acknowledgement of new data measures.
    fn measure(&mut self, now: SimTime, ack: &Ack, news: &News) -> Option<SimTime> {
        if news.acked == 0 {
            return None;
        }
        let rtt = if self.config.rfc.timestamps {
            // RFC 7323 section 4.1: the echo tells which transmission is answered.
            now.saturating_sub(ack.timestamp_echo?)
        } else {
            let (_, sent) = self.timed.take_if(|(seq, _)| *seq < ack.next_expected)?;
            now.saturating_sub(sent)
        };
        // RFC 7323 section 4.2: the number of samples expected in a window.
        let in_window = (self.flight.size() + news.acked).div_ceil(2);
        let samples = if self.config.rfc.timestamps { in_window.max(1) } else { 1 };
        self.rto.on_sample(rtt, samples);
        self.rtt_sum_s += rtt.as_secs_f64();
        self.rtt_samples += 1;
        Some(rtt)
    }

    pub(crate) fn next_timeout(&self) -> Option<SimTime> {
        self.rto.deadline
    }

    pub(crate) fn on_timeout(&mut self, now: SimTime) -> Option<Expired> {
        self.rto.deadline.filter(|deadline| *deadline <= now)?;
        self.statistics.timeouts += 1;
        let snd_una = self.flight.snd_una();
        if self.timed_out_at == Some(snd_una) {
            // RFC 5681 section 3.1: ssthresh is held constant when a repetition times out.
            self.congestion.set_cwnd(1.0);
        } else {
            // RFC 5681 (4) and the loss window of one segment.
            self.congestion.on_timeout(now, self.flight.size() as f64);
        }
        self.timed_out_at = Some(snd_una);
        self.recover = Some(self.flight.snd_max());
        // RFC 6298 (5.5), (5.6).
        self.rto.back_off();
        self.start_over(now);
        Some(Expired::Retransmission)
    }

    /// Everything under way is taken for lost.
    fn start_over(&mut self, now: SimTime) {
        // RFC 2018 section 8; a report of the oldest segment shows that the receiver has thrown it away.
        if !self.config.rfc.keep_sack_after_timeout
            || self.flight.fate(self.flight.snd_una()) == Some(flight::Fate::Sacked)
        {
            self.flight.forget_sacked();
        }
        self.ecn.on_reduction(self.flight.snd_max());
        self.flight.mark_all_lost();
        self.phase = Phase::Loss;
        self.force = None;
        self.timed = None;
        self.dupacks = 0;
        self.limited_sent = 0;
        self.uncredited = 0;
        self.sack = SackRecovery::start(self.flight.snd_una());
        self.rto.restart(now, true);
    }

    pub(crate) fn poll_transmit(&mut self, now: SimTime) -> Option<Segment> {
        self.restart_after_idle(now);
        let seq = self.force.take().filter(|seq| *seq >= self.flight.snd_una()).or_else(|| self.choose())?;
        let retransmission = seq < self.flight.snd_max();
        if retransmission {
            self.statistics.retransmissions += 1;
            // Karn's rule (RFC 6298 section 3).
            self.timed = self.timed.filter(|(timed, _)| *timed < seq);
        } else if self.timed.is_none() {
            self.timed = Some((seq, now));
        }
        self.flight.on_sent(seq, now);
        self.rto.on_sent(now);
        self.last_sent = Some(now);
        Some(Segment {
            seq,
            retransmission,
            timestamp: now,
            // RFC 3168 section 6.1.5: repetitions are not ECN-capable.
            ecn_capable: self.ecn.enabled() && !retransmission,
            cwr: !retransmission && self.ecn.take_cwr(),
        })
    }

    /// The segment that the window allows next.
    fn choose(&mut self) -> Option<u64> {
        let cwnd = self.congestion.cwnd() as u64;
        let size = self.flight.size();
        let limited_transmit = self.config.limited_transmit;
        let (under_way, window) = match self.phase {
            // RFC 3042: the pipe lacks what was reported, so that each report sends a new segment.
            Phase::Open if self.uses_sack() && limited_transmit => (self.flight.pipe(), cwnd),
            // RFC 3042: at most cwnd + 2 segments outstanding.
            Phase::Open if limited_transmit => {
                (size, cwnd + u64::from(self.dupacks.min(self.config.dupthresh - 1)))
            }
            Phase::Open => (size, cwnd),
            Phase::FastRecovery if !self.uses_sack() => (size, cwnd),
            Phase::FastRecovery | Phase::Loss => (self.flight.pipe(), cwnd),
        };
        if under_way >= window {
            // RFC 7661 section 4.3: the window is in use, and may grow.
            self.cwnd_limited_below = self.flight.snd_max();
            return None;
        }
        match self.phase {
            Phase::Open => {
                let seq = self.next_new()?;
                self.limited_sent += u64::from(size >= cwnd);
                Some(seq)
            }
            Phase::FastRecovery if !self.uses_sack() => self.next_new(),
            Phase::FastRecovery | Phase::Loss => self.next_segment_with_sack(),
        }
    }

    /// A segment not sent before, if the application and the receiver allow one.
    fn next_new(&self) -> Option<u64> {
        let seq = self.flight.snd_max();
        let in_window = self.flight.size() < u64::from(self.config.w_max);
        (in_window && seq < self.available).then_some(seq)
    }

    /// RFC 5681 section 4.1: after an idle time of a timeout the acknowledgement clock has stopped.
    fn restart_after_idle(&mut self, now: SimTime) {
        let Some(last_sent) = self.last_sent else { return };
        if self.flight.size() > 0 || self.next_new().is_none() {
            return;
        }
        let idle = now.saturating_sub(last_sent);
        if self.config.rfc.restart_after_idle && idle > self.rto.current() {
            self.congestion.on_idle_end(now, idle);
            let restart_window = self.congestion.cwnd().min(self.config.initial_window);
            self.congestion.set_cwnd(restart_window);
        }
        self.last_sent = None;
    }

    pub(crate) fn write(&mut self, segments: u64) {
        self.available = self.available.saturating_add(segments);
    }

    pub(crate) fn is_done(&self) -> bool {
        self.flight.snd_una() >= self.available
    }

    pub(crate) fn snd_una(&self) -> u64 {
        self.flight.snd_una()
    }

    pub(crate) fn snd_max(&self) -> u64 {
        self.flight.snd_max()
    }

    pub(crate) fn pipe(&self) -> u64 {
        self.flight.pipe()
    }

    pub(crate) fn rtt_samples(&self) -> (f64, u64) {
        (self.rtt_sum_s, self.rtt_samples)
    }

    pub(crate) fn statistics(&self) -> SenderStatistics {
        self.statistics
    }

    pub(crate) fn snapshot(&self) -> TcpSnapshot {
        TcpSnapshot {
            cwnd: self.congestion.cwnd(),
            ssthresh: self.congestion.ssthresh(),
            dupacks: self.dupacks,
            backoff: self.rto.backoff(),
            flight_size: self.flight.size(),
        }
    }
}
