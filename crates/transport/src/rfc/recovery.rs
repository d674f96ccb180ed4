//! Fast recovery of the sender of flavour `rfc`: its start, its end, and the window in it.

use super::eifel::{Cause, Episode};
use super::frto::Frto;
use super::news::News;
use super::prr::{Entry, Prr};
use super::sack_recovery::SackRecovery;
use super::{Phase, RfcSender};
use crate::config::{RateReduction, Variant};
use crate::outcome::AckOutcome;
use crossfade_core::SimTime;

impl RfcSender {
    /// Starts fast recovery after acknowledgements or the reordering timer have shown a loss. `safe` is PRR's condition
    /// for one more segment: the last acknowledgement advanced `snd_una` and revealed no further loss.
    pub(super) fn start_recovery(&mut self, now: SimTime, news: &News, safe: bool) {
        self.statistics.fast_retransmits += 1;
        let (snd_una, snd_max) = (self.flight.snd_una(), self.flight.snd_max());
        let cwnd = self.congestion.cwnd();
        // RFC 5681 section 3.2 step 2: segments of limited transmit do not count. Segments beyond the window do not
        // count either: after a long recovery the FlightSize includes everything above the oldest hole, many times the
        // window, and RFC 5681 (4) ("no more than" half of the FlightSize) would *raise* the window.
        let window = (self.flight.size().saturating_sub(self.limited_sent)).max(1) as f64;
        let window = window.min(cwnd.max(1.0));
        self.recover = Some(snd_max);
        self.tlp.stop();
        if self.config.variant == Variant::Tahoe {
            self.congestion.on_timeout(now, window);
            self.start_over(now);
            return;
        }
        // RFC 3168 section 6.1.2: reduce once per window of data, whether for marks or for losses.
        if self.ecn.may_reduce(snd_una) {
            self.begin_episode(Cause::FastRetransmit);
            self.congestion.on_loss(now, window);
            self.ecn.on_reduction(snd_max);
        }
        self.phase = Phase::Recovery;
        self.seen_partial = false;
        self.sack = SackRecovery::start(snd_una);
        let ssthresh = self.congestion.ssthresh();
        self.set_cwnd(ssthresh);
        if !self.uses_sack() && !self.counts_duplicates() {
            // RFC 5681 section 3.2 step 3.
            self.inflate(self.config.dupthresh);
            self.repeat_oldest();
        } else if self.config.rfc.rate_reduction == RateReduction::Immediate {
            // RFC 6675 section 5 (4.3): retransmit whatever the window.
            self.force = self.flight.next_lost();
            self.sack.on_repeated(snd_una);
        } else {
            if !self.uses_sack() {
                self.flight.mark_lost(snd_una);
            }
            if self.fixed.needs.own_window {
                // No rate reduction: congestion control sets the window itself.
                self.rto.restart(now, true);
                return;
            }
            let entry = Entry {
                ssthresh,
                flight_size: self.flight.size(),
                sacked: self.flight.sacked() + self.counted_arrivals,
                delivered: news.delivered,
                acked: news.acked,
                window: self.policy.window.reduces_from_window.then_some(cwnd),
            };
            self.prr = Some(Prr::start(self.config.rfc.rate_reduction, &entry));
            self.reduce_rate(news.delivered, safe);
        }
        // The retransmission gets a whole timeout, as in BSD and Linux; RFC 6298 section 5 does not ask for it.
        self.rto.restart(now, true);
    }

    pub(super) fn on_ack_in_recovery(&mut self, now: SimTime, news: &News, safe: bool) -> AckOutcome {
        let outcome = if self.counts_duplicates() {
            self.on_ack_counting(now, news)
        } else if !self.uses_sack() {
            self.on_ack_without_sack(now, news.acked)
        } else if self.recover.is_none_or(|recover| self.flight.snd_una() >= recover) {
            // RFC 6675 section 5 (A); RFC 9937 section 6.4: the window becomes ssthresh, however much was sent.
            self.end_recovery(self.congestion.ssthresh());
            AckOutcome::RecoveryEnd
        } else {
            self.reduce_rate(news.delivered, safe);
            if news.acked > 0 {
                // RFC 6298 (5.3).
                self.rto.restart(now, true);
            }
            AckOutcome::New
        };
        if self.phase == Phase::Open {
            self.rto.restart(now, self.flight.size() > 0);
        }
        outcome
    }

    /// Sets the window by Proportional Rate Reduction after an acknowledgement of `delivered` newly arrived segments.
    pub(super) fn reduce_rate(&mut self, delivered: u64, safe: bool) {
        let pipe = self.pipe();
        if let Some(prr) = &mut self.prr
            && (delivered > 0 || prr.is_new())
        {
            let sndcnt = prr.on_ack(delivered, pipe, safe);
            self.set_cwnd((pipe + sndcnt).max(1) as f64);
        }
    }

    /// Marks the oldest segment as lost and retransmits it regardless of the window.
    pub(super) fn repeat_oldest(&mut self) {
        let snd_una = self.flight.snd_una();
        self.flight.mark_lost(snd_una);
        self.force = Some(snd_una);
    }

    pub(super) fn end_recovery(&mut self, cwnd: f64) {
        self.phase = Phase::Open;
        self.prr = None;
        self.set_cwnd(cwnd.max(1.0));
    }

    /// Saves the state before a window reduction; an undo restores it if `cause` proves spurious.
    pub(super) fn begin_episode(&mut self, cause: Cause) {
        let snd_una = self.flight.snd_una();
        let was_repeated = self.flight.was_repeated(snd_una);
        let (srtt, rttvar) = (self.rto.srtt(), self.rto.rttvar());
        self.episode = Some(Episode::new(cause, snd_una, was_repeated, srtt, rttvar));
    }

    /// Undoes the last window reduction, whose cause was spurious, and resumes sending where the reduction interrupted
    /// it (RFC 4015 section 3.2).
    pub(super) fn take_back(
        &mut self,
        now: SimTime,
        acked: u64,
        rtt: Option<SimTime>,
        restores_window: bool,
    ) {
        let Some(episode) = self.episode.take() else { return };
        match episode.cause {
            Cause::Timeout => self.statistics.spurious_timeouts += 1,
            Cause::FastRetransmit => self.statistics.spurious_fast_retransmits += 1,
        }
        // Step 4: resume with new data.
        self.flight.unmark_lost();
        self.counted_arrivals = 0;
        self.frto = Frto::Off;
        self.force = None;
        self.loss_free_from = 0;
        if self.phase != Phase::Open {
            self.end_recovery(self.congestion.cwnd());
            self.rack.iter_mut().for_each(super::rack::Rack::on_recovery_end);
        }
        let reduced = self.congestion.cwnd();
        if restores_window {
            self.congestion.undo();
        }
        if restores_window && self.policy.undo.bounds_burst {
            // Step 5: no burst larger than the acknowledged data or the initial window.
            let burst = (acked as f64).min(self.config.initial_window);
            let bound = (self.flight.pipe() as f64 + burst).max(reduced);
            self.set_cwnd(self.congestion.cwnd().min(bound));
        }
        if let (Cause::Timeout, Some(rtt), true) =
            (episode.cause, rtt, self.policy.rtt.spurious_timeout_lengthens)
        {
            // Step 8: the timeout was too short for this RTT.
            let srtt = episode.srtt.map_or(rtt, |srtt| srtt.max(rtt));
            let half = SimTime::from_nanos(rtt.as_nanos() / 2);
            self.rto.estimate(srtt, episode.rttvar.max(half));
        }
        self.timed_out_at = None;
        self.rto.restart(now, self.flight.size() > 0);
    }
}
