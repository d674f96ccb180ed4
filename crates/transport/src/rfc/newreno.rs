//! Fast recovery without SACK: Reno's (RFC 5681 section 3.2) and `NewReno`'s (RFC 6582 section 3.2).

use super::news::News;
use super::{Phase, RfcSender};
use crate::config::Variant;
use crate::outcome::AckOutcome;
use crossfade_core::SimTime;

impl RfcSender {
    /// True if duplicate ACKs, of which `dupthresh` have arrived, signal a new loss.
    pub(super) fn duplicates_show_loss(&self) -> bool {
        // RFC 6582 section 3.2 step 2: only if the ACK exceeds the segments in flight at the last loss; otherwise
        // duplicates answer needless retransmissions.
        self.dupacks == self.config.dupthresh
            && self.recover.is_none_or(|recover| self.flight.snd_una() > recover)
    }

    /// Infers arrivals from duplicate ACKs: each one means that a segment beyond the oldest has arrived. An ACK of new
    /// segments fills the hole; the segments behind the hole were counted before.
    pub(super) fn count_arrivals(&mut self, news: &mut News) {
        if news.acked > 0 {
            news.delivered = news.acked.saturating_sub(self.counted_arrivals).max(1);
            self.counted_arrivals = match self.phase {
                Phase::Recovery => self.counted_arrivals.saturating_sub(news.acked - 1),
                Phase::Open | Phase::Loss => 0,
            };
            return;
        }
        // After a timeout all older segments count as lost: only new segments cause duplicates that count.
        let most = match self.phase {
            Phase::Loss => self.flight.snd_max().saturating_sub(self.recover.unwrap_or(0)),
            Phase::Open | Phase::Recovery => self.flight.size().saturating_sub(1),
        };
        if self.counted_arrivals < most {
            self.counted_arrivals += 1;
            news.delivered = 1;
        }
    }

    /// Processes an acknowledgement in a fast recovery that counts duplicate ACKs as arrivals.
    pub(super) fn on_ack_counting(&mut self, now: SimTime, news: &News) -> AckOutcome {
        let snd_una = self.flight.snd_una();
        // Only an ACK beyond `recover` shows that no earlier duplicates are left (RFC 6582 section 3.2 step 2).
        let is_over = self.recover.is_none_or(|recover| snd_una > recover) || self.flight.size() == 0;
        if is_over {
            self.counted_arrivals = 0;
            self.end_recovery(self.congestion.ssthresh());
            return AckOutcome::RecoveryEnd;
        }
        if news.acked > 0 {
            if self.recover.is_some_and(|recover| snd_una < recover) {
                // Partial acknowledgement: the next hole is the oldest segment.
                self.flight.mark_lost(snd_una);
            }
            self.rto.restart(now, true);
        }
        self.reduce_rate(news.delivered, false);
        AckOutcome::New
    }

    /// Inflates the window by `segments` (RFC 5681 section 3.2 step 3): each further duplicate ACK stands for a segment
    /// that has left the network.
    pub(super) fn inflate(&mut self, segments: u32) {
        let cwnd = self.congestion.cwnd() + f64::from(segments);
        self.set_cwnd(cwnd);
    }

    /// Processes an acknowledgement of `acked` new segments, or a duplicate, in fast recovery without SACK.
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
        // Partial acknowledgement: retransmit the next segment, deflate by the acknowledged segments, add one back.
        self.repeat_oldest();
        let deflated = self.congestion.cwnd() - acked as f64 + 1.0;
        self.set_cwnd(deflated.max(1.0));
        // RFC 6582 section 4: the impatient variant restarts the timer on the first partial acknowledgement only.
        if !self.config.rfc.impatient || !self.seen_partial {
            self.rto.restart(now, true);
        }
        self.seen_partial = true;
        AckOutcome::New
    }
}
