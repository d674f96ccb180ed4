//! Processing of an acknowledgement at the sender of flavour `rfc`.

use super::eifel::Cause;
use super::frto::{Sent, Verdict};
use super::news::{Evidence, News};
use super::{Phase, RfcSender};
use crate::config::Variant;
use crate::congestion::AckSample;
use crate::outcome::AckOutcome;
use crate::segment::{Ack, SackBlocks};
use crossfade_core::SimTime;

impl RfcSender {
    pub(crate) fn on_ack(&mut self, now: SimTime, ack: &Ack) -> AckOutcome {
        if let Some(window) = ack.window {
            self.echo = if self.config.rfc.timestamps { ack.timestamp } else { SimTime::ZERO };
            self.widen(ack.next_expected.saturating_add(u64::from(window)));
        }
        let is_old = ack.next_expected < self.flight.snd_una();
        if is_old && !self.uses_sack() {
            return AckOutcome::Stale;
        }
        let flight_size = self.flight.size();
        let prior = self.fixed.needs.samples.then(|| (self.pipe(), self.lost_so_far()));
        let mut news = self.read(now, ack);
        if self.counts_duplicates() && flight_size > 0 {
            self.count_arrivals(&mut news);
        }
        let rtt = self.measure(now, ack, &news);
        if self.policy.window.duplicates_credit || news.acked > 0 {
            self.uncredited += news.delivered;
        }
        if news.acked > 0 {
            self.dupacks = 0;
            self.limited_sent = 0;
            if self.phase != Phase::Recovery {
                // RFC 6298 (5.2), (5.3).
                self.rto.restart(now, self.flight.size() > 0);
            }
        }
        if self.policy.timers.report_restarts
            && let Some(((reported, _), oldest)) = news.sacked_sent.zip(self.flight.oldest_sent_at())
            && news.acked == 0
            && reported < oldest
        {
            // The path works: the reported segment left before the oldest one did.
            self.rto.restart(now, true);
        }
        // RFC 6675 section 2 counts ACKs with a new report as duplicates, RFC 5681 section 2 those that repeat the last
        // ACK.
        let is_new_report = if self.uses_sack() { news.sacked > 0 } else { flight_size > 0 };
        let is_duplicate = news.acked == 0 && is_new_report;
        self.dupacks += u32::from(is_duplicate);
        let ce = self.count_marks(ack, is_old, news.delivered);
        let marked = ce > 0 && !self.fixed.needs.ect_1 && self.on_mark(now, flight_size);
        let (was_lost, were_repeated) = (self.flight.lost(), self.flight.lost_repetitions());
        let taken_back = self.find_spurious(now, ack, &news, rtt, marked);
        self.find_losses(now, &news);
        if prior.is_some() {
            self.tell_losses(now);
        }
        let before = self.phase;
        let safe = news.acked > 0 && self.flight.lost() <= was_lost;
        let outcome = match before {
            Phase::Open => self.on_ack_when_open(now, &news),
            Phase::Recovery => self.on_ack_in_recovery(now, &news, safe),
            Phase::Loss => self.on_ack_in_loss(),
        };
        if self.phase == Phase::Loss
            && self.policy.rack.recovers_after_timeout
            && self.flight.lost_repetitions() > were_repeated
        {
            // A segment retransmitted in slow start is lost too: start a recovery and reduce the window.
            self.start_recovery(now, &news, false);
        }
        let outcome = match outcome {
            AckOutcome::New if is_duplicate => AckOutcome::Duplicate,
            AckOutcome::New if news.acked == 0 => AckOutcome::Stale,
            outcome => outcome,
        };
        if before != Phase::Open && self.phase == Phase::Open {
            self.rack.iter_mut().for_each(super::rack::Rack::on_recovery_end);
            if self.uses_sack() && (self.flight.next_lost().is_some() || self.is_repairing()) {
                // A segment sent in the recovery that has ended was lost too.
                self.start_recovery(now, &news, safe);
            }
        }
        let answers_probe = self.probe_after_ack(now, ack, &news);
        if let Some((prior_in_flight, prior_lost)) = prior {
            self.tell_phase(now, false);
            self.tell_delivery(now, ack, prior_in_flight, prior_lost, ce, answers_probe);
        }
        let ends = (before == Phase::Recovery || taken_back) && !self.policy.window.recovery_end_credits;
        if self.phase == Phase::Recovery || ends {
            self.uncredited = 0;
        } else if news.acked > 0 && !marked {
            self.grow(now, rtt);
        }
        outcome
    }

    /// True if a lost segment, retransmitted or not, is outstanding and Linux's rules then start another recovery and
    /// reduction.
    fn is_repairing(&self) -> bool {
        self.policy.rack.repairs_begin_recovery && self.flight.is_repairing()
    }

    /// Applies acknowledgement `ack` to the scoreboard; returns the information that is new in it.
    fn read(&mut self, now: SimTime, ack: &Ack) -> News {
        let sack = if self.uses_sack() { &ack.sack } else { &SackBlocks::NONE };
        let timestamp_echo = ack.timestamp_echo.filter(|_| self.config.rfc.timestamps);
        let min_rtt = self.rack.as_ref().and_then(super::rack::Rack::min_rtt);
        let trusts_sack = self.policy.rack.trusts_reports;
        let evidence =
            Evidence { now, timestamp_echo, min_rtt, trusts_sack, wants_times: self.fixed.wants_times };
        self.flight.on_ack(ack.next_expected, sack, &evidence)
    }

    /// Processes an acknowledgement outside recovery: starts fast recovery if it shows a loss.
    fn on_ack_when_open(&mut self, now: SimTime, news: &News) -> AckOutcome {
        let is_loss = match self.config.variant {
            Variant::OldTahoe => false,
            Variant::Tahoe | Variant::Reno | Variant::NewReno => {
                news.acked == 0 && self.duplicates_show_loss()
            }
            // RFC 6675 section 5 (2): IsLost(HighACK + 1), applied to the lowest segment that can be lost.
            Variant::Sack => self.flight.next_lost().is_some(),
        };
        if is_loss {
            self.start_recovery(now, news, false);
            return AckOutcome::FastRetransmit;
        }
        AckOutcome::New
    }

    fn on_ack_in_loss(&mut self) -> AckOutcome {
        if self.recover.is_none_or(|recover| self.flight.snd_una() >= recover) {
            self.phase = Phase::Open;
            return AckOutcome::RecoveryEnd;
        }
        AckOutcome::New
    }

    /// Number of marks reported for the first time by an acknowledgement that shows `newly` segments to have arrived.
    #[inline]
    fn count_marks(&mut self, ack: &Ack, is_old: bool, newly: u64) -> u64 {
        let Some((marks, last_echo)) = &mut self.marks else { return u64::from(ack.ece) };
        // A reordered acknowledgement has a lower count, which three bits cannot show. Its marks are reported by the
        // next one.
        let echo = ack.timestamp_echo;
        if is_old || echo < *last_echo || (newly == 0 && echo == *last_echo) {
            return 0;
        }
        *last_echo = echo;
        marks.read(ack.accurate, newly)
    }

    /// Reacts to an echoed congestion mark (ECE). Returns true if ECN is in use: an acknowledgement with an echo does
    /// not let the window grow (RFC 3168 section 6.1.2).
    fn on_mark(&mut self, now: SimTime, flight_size: u64) -> bool {
        if self.ecn.enabled() && self.phase == Phase::Open && self.ecn.may_reduce(self.flight.snd_una()) {
            let window = (flight_size as f64).min(self.congestion.cwnd());
            self.congestion.on_ecn(now, window);
            self.ecn.on_reduction(self.flight.snd_max());
            self.statistics.ecn_reductions += 1;
        }
        self.ecn.enabled()
    }

    /// Checks whether the last timeout or fast retransmit was spurious, and undoes it if so. Returns true if it was
    /// spurious.
    fn find_spurious(
        &mut self,
        now: SimTime,
        ack: &Ack,
        news: &News,
        rtt: Option<SimTime>,
        marked: bool,
    ) -> bool {
        let sent = Sent {
            snd_una: self.flight.snd_una(),
            snd_max: self.flight.snd_max(),
            recover: self.recover.unwrap_or(0),
            uses_sack: self.uses_sack(),
            has_new: self.next_new().is_some(),
        };
        let verdict = self.frto.on_ack(news, &sent);
        if verdict == Verdict::Lost && self.policy.undo.catches_up_slow_start {
            // RFC 5682 section 2.1 step 3a: the window that slow start would have reached; two segments are in flight.
            self.set_cwnd(3.0);
        }
        let reports_duplicate = news.duplicate.is_some();
        let saw_d_sack = self.saw_d_sack;
        self.saw_d_sack |= reports_duplicate;
        let leaves_some = self.flight.size() > 0;
        let Some(episode) = &mut self.episode else { return false };
        let by_frto = verdict == Verdict::Spurious && episode.cause == Cause::Timeout;
        let by_eifel = self.config.rfc.eifel
            && self.config.rfc.timestamps
            && news.acked > 0
            && episode.answers_original(ack.timestamp_echo)
            // RFC 3522 section 3.2 step 5: an ACK of all data may answer a retransmission whose original arrived and
            // whose ACK was lost; a receiver with D-SACK would report that.
            && (!self.policy.undo.eifel_asks_d_sack || !reports_duplicate && (saw_d_sack || leaves_some));
        let by_d_sack = self.config.rfc.d_sack
            && news.duplicate.is_some_and(|block| {
                episode.all_were_duplicates(block.start, block.end.saturating_sub(block.start))
            });
        if by_frto || by_eifel || by_d_sack {
            // RFC 4015 section 3.2 step 5: after a mark the reduction was justified, so the window stays reduced.
            self.take_back(now, news.acked, rtt, !marked);
            return true;
        }
        false
    }

    fn grow(&mut self, now: SimTime, rtt: Option<SimTime>) {
        let next_expected = self.flight.snd_una();
        let (cwnd, ssthresh) = (self.congestion.cwnd(), self.congestion.ssthresh());
        let cwnd_limited =
            !self.config.rfc.cwnd_validation || self.window_use.is_limited(next_expected, cwnd, ssthresh);
        let acked = std::mem::take(&mut self.uncredited);
        let snd_max = self.flight.snd_max();
        self.congestion.on_ack(&AckSample { now, acked, rtt, next_expected, snd_max, cwnd_limited });
    }

    /// Takes the RTT sample of an acknowledgement or SACK report, from the departure of the first original covered or,
    /// if that is ambiguous, from the timestamp. Returns the RTT of the last original, which congestion control
    /// receives.
    fn measure_by_report(&mut self, now: SimTime, ack: &Ack, news: &News) -> Option<SimTime> {
        let acked = news.acked_sent.filter(|_| !news.repetition_acked);
        let echoed = ack.timestamp_echo.filter(|_| news.acked > 0 && self.config.rfc.timestamps);
        let first = acked.or(news.sacked_sent).map(|(first, _)| first).or(echoed)?;
        let rtt = now.saturating_sub(first);
        self.rto.on_ack_sample(rtt, 1, self.flight.snd_una(), self.flight.snd_max());
        self.rtt_sum_s += rtt.as_secs_f64();
        self.rtt_samples += 1;
        news.sacked_sent.or(acked).map(|(_, last)| now.saturating_sub(last))
    }

    /// Takes and returns the RTT sample of an acknowledgement of new data; `None` if it gives none.
    fn measure(&mut self, now: SimTime, ack: &Ack, news: &News) -> Option<SimTime> {
        if self.policy.rtt.from_every_report {
            return self.measure_by_report(now, ack, news);
        }
        if news.acked == 0 {
            return None;
        }
        let rtt = if self.config.rfc.timestamps {
            // RFC 7323 section 4.1: the echoed timestamp identifies the acknowledged transmission.
            now.saturating_sub(ack.timestamp_echo?)
        } else {
            let (_, sent) = self.timed.take_if(|(seq, _)| *seq < ack.next_expected)?;
            now.saturating_sub(sent)
        };
        // RFC 7323 section 4.2: the expected number of samples per window.
        let in_window = (self.flight.size() + news.acked).div_ceil(2);
        let samples = if self.config.rfc.timestamps { in_window.max(1) } else { 1 };
        self.rto.on_ack_sample(rtt, samples, self.flight.snd_una(), self.flight.snd_max());
        self.rtt_sum_s += rtt.as_secs_f64();
        self.rtt_samples += 1;
        Some(rtt)
    }
}
