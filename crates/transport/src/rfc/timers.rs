//! The sender's timers: retransmission (RFC 6298), reordering and tail loss probe (RFC 8985).

use super::eifel::Cause;
use super::flight::Fate;
use super::frto::Frto;
use super::news::News;
use super::pacer::Pacer;
use super::rack::Surroundings;
use super::sack_recovery::SackRecovery;
use super::tlp::{Answer, Original};
use super::{Phase, RfcSender};
use crate::outcome::Expired;
use crate::segment::Ack;
use crossfade_core::SimTime;

impl RfcSender {
    /// Time of the sender's next timeout; `None` if no timer runs. Tail loss probes need RACK, so without RACK and
    /// pacer only the retransmission timer counts.
    #[inline]
    pub(crate) fn next_timeout(&self) -> Option<SimTime> {
        if self.rack.is_none() && self.pacer.is_none() { self.rto.deadline } else { self.first_timeout() }
    }

    // Not inlined: inlined at three places it made up two thirds of the code of the simulation's loop.
    #[inline(never)]
    fn first_timeout(&self) -> Option<SimTime> {
        let reordering = self.rack.as_ref().and_then(|rack| rack.deadline);
        let pacing = self.pacer.as_ref().and_then(Pacer::deadline);
        [self.rto.deadline, reordering, self.tlp.deadline, pacing].into_iter().flatten().min()
    }

    pub(crate) fn on_timeout(&mut self, now: SimTime) -> Option<Expired> {
        let expired = self.expire(now);
        self.tell_phase(now, expired == Some(Expired::Retransmission));
        expired
    }

    fn expire(&mut self, now: SimTime) -> Option<Expired> {
        let is_due = |deadline: Option<SimTime>| deadline.is_some_and(|deadline| deadline <= now);
        if is_due(self.rack.as_ref().and_then(|rack| rack.deadline)) {
            self.on_reordering_timeout(now);
            Some(Expired::Reordering)
        } else if is_due(self.tlp.deadline) {
            self.on_probe_timeout(now);
            Some(Expired::TailLossProbe)
        } else if is_due(self.rto.deadline) {
            self.on_retransmission_timeout(now);
            Some(Expired::Retransmission)
        } else if is_due(self.pacer.as_ref().and_then(Pacer::deadline)) {
            self.pacer = self.pacer.map(|pacer| pacer.waiting(false));
            Some(Expired::Pacing)
        } else {
            None
        }
    }

    fn on_retransmission_timeout(&mut self, now: SimTime) {
        self.statistics.timeouts += 1;
        let snd_una = self.flight.snd_una();
        let is_again = self.timed_out_at == Some(snd_una);
        let tells_spurious = if self.policy.undo.f_rto_in_recovery {
            // RFC 5682 section 2.1 step 1: not for a timeout during the recovery from another one.
            self.phase != Phase::Loss
        } else {
            self.phase == Phase::Open || is_again
        };
        if is_again {
            // RFC 5681 section 3.1: ssthresh stays constant when a retransmission times out.
            self.set_cwnd(1.0);
        } else if !self.policy.window.timeout_in_recovery_reduces && self.phase == Phase::Recovery {
            // Reduce once per window of data, however losses are found.
            self.set_cwnd(1.0);
        } else {
            self.begin_episode(Cause::Timeout);
            // RFC 5681 (4), "no more than" half of the FlightSize, and the loss window of one segment. In a long
            // recovery the FlightSize includes everything that SACK reported, up to many times the window.
            let under_way = (self.flight.size() as f64).min(self.congestion.cwnd());
            if self.phase == Phase::Recovery {
                // An undo restores the window that recovery led to, without inflation.
                self.set_cwnd(self.congestion.ssthresh());
            }
            self.congestion.on_timeout(now, under_way);
        }
        self.timed_out_at = Some(snd_una);
        self.recover = Some(self.flight.snd_max());
        // RFC 6298 (5.5), (5.6).
        self.rto.back_off();
        self.start_over(now);
        if self.config.rfc.f_rto && tells_spurious {
            self.frto = Frto::WaitNew;
        }
    }

    /// Treats the segments in flight as lost and restarts from the oldest one (after a timeout, or in Tahoe after any
    /// loss).
    pub(super) fn start_over(&mut self, now: SimTime) {
        // RFC 2018 section 8; a SACK of the oldest segment without a cumulative acknowledgement shows that the receiver
        // has discarded it.
        if !self.config.rfc.keep_sack_after_timeout
            || self.flight.fate(self.flight.snd_una()) == Some(Fate::Sacked)
        {
            self.flight.forget_sacked();
        }
        let around = self.surroundings();
        match self.rack.as_mut() {
            Some(rack) => {
                // RFC 8985 section 6.3: only segments that have waited long enough, whatever has arrived since.
                let wait = rack.lost_on_timeout(&around, self.policy.rack);
                self.flight.mark_lost_by_age(wait, now);
                rack.deadline = None;
            }
            None => self.flight.mark_all_lost(),
        }
        self.counted_arrivals = 0;
        if self.policy.window.loss_window_beside_flight {
            self.flight.mark_lost(self.flight.snd_una());
            self.set_cwnd((self.flight.pipe() + 1) as f64);
        }
        self.tlp.stop();
        self.ecn.on_reduction(self.flight.snd_max());
        self.phase = Phase::Loss;
        self.prr = None;
        self.frto = Frto::Off;
        self.timed = None;
        self.dupacks = 0;
        self.limited_sent = 0;
        self.uncredited = 0;
        self.sack = SackRecovery::start(self.flight.snd_una());
        // RFC 6298 (5.4).
        self.repeat_oldest();
        self.rto.restart(now, true);
    }

    pub(super) fn surroundings(&self) -> Surroundings {
        let ends_first = self.policy.rack.ends_recovery_first;
        let is_over = self.recover.is_none_or(|recover| self.flight.snd_una() >= recover);
        Surroundings {
            snd_una: self.flight.snd_una(),
            snd_max: self.flight.snd_max(),
            in_recovery: self.phase != Phase::Open && !(ends_first && is_over),
            many_sacked: self.flight.sacked() >= u64::from(self.config.dupthresh),
            srtt: self.rto.srtt(),
        }
    }

    /// Processes an expiry of the reordering timer: segments overtaken for too long are lost (RFC 8985 section 6.2 step
    /// 5).
    fn on_reordering_timeout(&mut self, now: SimTime) {
        self.find_losses_by_time(now);
        let Some(_) = self.flight.next_lost() else { return };
        let arrivals = u64::from(self.policy.rack.timer_counts_arrival);
        let news = News { delivered: arrivals, ..News::default() };
        match self.phase {
            Phase::Recovery => self.reduce_rate(0, false),
            Phase::Open => self.start_recovery(now, &news, false),
            Phase::Loss if self.policy.rack.recovers_after_timeout => self.start_recovery(now, &news, false),
            Phase::Loss => {}
        }
    }

    /// Sends a tail loss probe: new data, or else the highest segment (RFC 8985 section 7.3).
    fn on_probe_timeout(&mut self, now: SimTime) {
        self.tlp.deadline = None;
        if self.flight.size() == 0 {
            return;
        }
        let snd_max = self.flight.snd_max();
        let new = self.next_new();
        let end_seq = new.map_or(snd_max, |seq| seq + 1);
        self.force = Some(new.unwrap_or(snd_max - 1));
        let app_limited = self.flight.deliveries.as_ref().is_some_and(|all| all.was_last_app_limited());
        self.tlp.on_probe(end_seq, new.is_none().then_some(Original { app_limited }));
        self.statistics.tail_loss_probes += 1;
        // Section 7.3: the probe restarts the retransmission timer.
        self.rto.restart(now, true);
    }

    /// Processes an acknowledgement, which may show the outcome of the last tail loss probe, and restarts the probe's
    /// timer. Returns true if the acknowledgement may answer the probe as well as the original.
    pub(super) fn probe_after_ack(&mut self, now: SimTime, ack: &Ack, news: &News) -> bool {
        if !self.probes {
            return false;
        }
        // RFC 8985 section 7.4.2.
        let reports_nothing = news.acked == 0 && ack.sack.as_slice().is_empty();
        let answer = self.tlp.on_ack(ack.next_expected, news.duplicate, reports_nothing);
        if let Answer::Repaired(original) = answer
            && self.phase == Phase::Open
        {
            self.congestion.on_probe_repaired(now, original.app_limited);
            if self.ecn.may_reduce(self.flight.snd_una()) {
                let window = ((self.flight.size() + news.acked) as f64).min(self.congestion.cwnd());
                self.congestion.on_loss(now, window);
                self.ecn.on_reduction(self.flight.snd_max());
                self.episode = None;
            }
        }
        self.tlp.deadline = None;
        if news.acked > 0 {
            self.schedule_probe(now);
        }
        answer == Answer::Ambiguous
    }

    /// Starts the timer of the tail loss probe, unless in recovery or with SACK reports beyond a hole (RFC 8985 section
    /// 7.2).
    pub(super) fn schedule_probe(&mut self, now: SimTime) {
        if self.probes && self.phase == Phase::Open && self.flight.sacked() == 0 && self.flight.size() > 0 {
            let timers = self.policy.timers;
            self.tlp.schedule(now, self.rto.srtt(), self.flight.size(), self.rto.deadline, timers);
        }
    }
}
