//! Fast recovery without SACK: Reno's (RFC 5681 section 3.2) and `NewReno`'s (RFC 6582 section 3.2).

use super::RfcSender;
use crate::config::Variant;
use crate::recovery::AckOutcome;
use crossfade_core::SimTime;

impl RfcSender {
    /// Whether `dupthresh` duplicates show a new loss.
    pub(super) fn duplicates_show_loss(&self) -> bool {
        // RFC 6582 section 3.2 step 2: only if more was acknowledged than was under way at the last loss; otherwise
        // the duplicates answer repetitions of what had arrived.
        self.dupacks == self.config.dupthresh
            && self.recover.is_none_or(|recover| self.flight.snd_una() > recover)
    }

    /// RFC 5681 section 3.2 step 3: each duplicate beyond the window stands for a segment that has left.
    pub(super) fn inflate(&mut self, segments: u32) {
        let cwnd = self.congestion.cwnd() + f64::from(segments);
        self.congestion.set_cwnd(cwnd);
    }

    /// An acknowledgement of `acked` new segments in fast recovery, or a duplicate.
    pub(super) fn on_ack_without_sack(&mut self, now: SimTime, acked: u64) -> AckOutcome {
        if acked == 0 {
            self.inflate(1);
            return AckOutcome::New;
        }
        let is_full = self.recover.is_none_or(|recover| self.flight.snd_una() >= recover);
        if self.config.variant == Variant::Reno {
            // RFC 5681 section 3.2 step 6: the first new acknowledgement ends it, full or not.
            self.end_recovery(self.congestion.ssthresh());
            return AckOutcome::RecoveryEnd;
        }
        if is_full {
            // RFC 6582 section 3.2 step 3, full acknowledgement, option 1: no burst.
            let flight_size = self.flight.size().max(1) as f64;
            self.end_recovery(self.congestion.ssthresh().min(flight_size + 1.0));
            return AckOutcome::RecoveryEnd;
        }
        // Partial acknowledgement: repeat the next segment, deflate by what was acknowledged, add one back.
        self.repeat_oldest();
        let deflated = self.congestion.cwnd() - acked as f64 + 1.0;
        self.congestion.set_cwnd(deflated.max(1.0));
        // RFC 6582 section 4: the impatient variant restarts the timer on the first partial acknowledgement only.
        if !self.config.rfc.impatient || !self.seen_partial {
            self.rto.restart(now, true);
        }
        self.seen_partial = true;
        AckOutcome::New
    }
}
