//! Proportional Rate Reduction: number of segments sent after each acknowledgement of a recovery with SACK (RFC 6937
//! section 3, RFC 9937 section 6).

use crate::config::{RateReduction, ReductionBound};

/// Counters of one recovery, in segments.
#[derive(Clone, Copy, Debug)]
pub(super) struct Prr {
    rule: RateReduction,
    ssthresh: u64,
    /// RFC 6937's `RecoverFS`: number of segments in flight at the start of recovery.
    recover_fs: u64,
    /// RFC 6937's `prr_delivered`: number of segments delivered during this recovery.
    delivered: u64,
    /// RFC 6937's `prr_out`: number of segments sent during this recovery.
    out: u64,
}

/// State of the flight at the start of a recovery.
#[derive(Clone, Copy, Debug)]
pub(super) struct Entry {
    pub(super) ssthresh: f64,
    pub(super) flight_size: u64,
    /// Number of segments reported beyond `snd_una`, including the reports of the recovery's first acknowledgement.
    pub(super) sacked: u64,
    /// Number of segments delivered by the recovery's first acknowledgement.
    pub(super) delivered: u64,
    /// Number of segments acknowledged cumulatively by the recovery's first acknowledgement.
    pub(super) acked: u64,
    /// Window in segments, if it replaces the flight size (Linux); otherwise `None`.
    pub(super) window: Option<f64>,
}

impl Prr {
    pub(super) fn start(rule: RateReduction, entry: &Entry) -> Self {
        let recover_fs = match (rule, entry.window) {
            (_, Some(window)) => window as u64,
            // RFC 9937 section 6.1: segments reported earlier will not be delivered in recovery.
            (RateReduction::Rfc9937, None) => entry.flight_size - entry.sacked + entry.delivered,
            // RFC 6937 section 3: snd.nxt - snd.una, before the acknowledgement.
            (RateReduction::Rfc6937(_) | RateReduction::Immediate, None) => entry.flight_size + entry.acked,
        };
        Self {
            rule,
            ssthresh: (entry.ssthresh as u64).max(1),
            recover_fs: recover_fs.max(1),
            delivered: 0,
            out: 0,
        }
    }

    /// True if no segment was sent in this recovery yet.
    pub(super) fn is_new(&self) -> bool {
        self.out == 0
    }

    /// Records that a segment was sent, new or retransmitted.
    pub(super) fn on_sent(&mut self) {
        self.out += 1;
    }

    /// Processes an acknowledgement that delivered `delivered` segments and leaves `pipe` in flight; `safe` if it
    /// advanced `snd_una` and revealed no further loss (RFC 9937's `SafeACK`). Returns the number of segments that may
    /// follow.
    pub(super) fn on_ack(&mut self, delivered: u64, pipe: u64, safe: bool) -> u64 {
        self.delivered += delivered;
        let owed = self.delivered.saturating_sub(self.out);
        let sndcnt = if pipe > self.ssthresh {
            // The proportional part: ceil(prr_delivered * ssthresh / RecoverFS) - prr_out.
            (self.delivered * self.ssthresh).div_ceil(self.recover_fs).saturating_sub(self.out)
        } else {
            let limit = match self.rule {
                // RFC 9937 section 6.2: CRB, plus one segment while recovery makes good progress.
                RateReduction::Rfc9937 => owed.max(delivered) + u64::from(safe),
                // RFC 6937 section 3.
                RateReduction::Rfc6937(ReductionBound::Conservative) | RateReduction::Immediate => owed,
                RateReduction::Rfc6937(ReductionBound::SlowStart) => owed.max(delivered) + 1,
            };
            limit.min(self.ssthresh - pipe)
        };
        // RFC 9937 section 6.2: recovery starts with a fast retransmit in any case.
        sndcnt.max(u64::from(self.out == 0))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Simulates a recovery after one of `flight_size` segments is lost, in which each acknowledgement reports one more
    /// segment. Returns the number of segments sent after each report.
    fn sent_after(rule: RateReduction, flight_size: u64, ssthresh: f64) -> Vec<u64> {
        let entry = Entry { ssthresh, flight_size, sacked: 3, delivered: 1, acked: 0, window: None };
        let mut prr = Prr::start(rule, &entry);
        let mut pipe = flight_size - 4;
        (4..flight_size)
            .map(|_| {
                let sndcnt = prr.on_ack(1, pipe, false);
                (0..sndcnt).for_each(|_| prr.on_sent());
                pipe = pipe + sndcnt - 1;
                sndcnt
            })
            .collect()
    }

    #[test]
    fn half_the_segments_are_sent_through_the_whole_recovery() {
        // RFC 6937 section 3.1, first figure: 20 segments, Reno; the fast retransmit, then a segment for every second
        // acknowledgement until the pipe is ssthresh = 10.
        let rule = RateReduction::Rfc6937(ReductionBound::SlowStart);
        let sent = sent_after(rule, 20, 10.0);
        assert_eq!(sent[..8], [1, 0, 1, 0, 1, 0, 1, 0]);
    }

    /// `RecoverFS` is the number that each source says. With ssthresh = 10, ceil(10 x 13 / `RecoverFS`) segments follow
    /// 13 deliveries: 8 of 20 - 5 + 2 (RFC 9937 section 6.1, segments reported earlier will not be delivered), 7 of 20
    /// and 6 of 20 + 2 (RFC 6937 section 3), 5 of a window of 30 (Linux).
    #[test]
    fn recover_fs_is_what_each_says() {
        let slow = RateReduction::Rfc6937(ReductionBound::SlowStart);
        for (rule, acked, window, expected) in [
            (RateReduction::Rfc9937, 0, None, 8),
            (slow, 0, None, 7),
            (slow, 2, None, 6),
            (slow, 2, Some(30.0), 5),
        ] {
            let entry = Entry { ssthresh: 10.0, flight_size: 20, sacked: 5, delivered: 2, acked, window };
            let mut prr = Prr::start(rule, &entry);
            for _ in 0..13 {
                let sndcnt = prr.on_ack(1, 11, false);
                (0..sndcnt).for_each(|_| prr.on_sent());
            }
            assert_eq!(prr.out, expected, "{rule:?}, acked {acked}, window {window:?}");
        }
    }

    #[test]
    fn a_burst_of_losses_is_answered_as_the_bound_says() {
        // RFC 6937 section 3.1, second figure: 20 segments, the first 15 are lost: the pipe falls below ssthresh.
        let entry =
            Entry { ssthresh: 10.0, flight_size: 20, sacked: 3, delivered: 1, acked: 0, window: None };
        let first = |rule| Prr::start(rule, &entry).on_ack(1, 4, false);
        assert_eq!(first(RateReduction::Rfc6937(ReductionBound::Conservative)), 1);
        assert_eq!(first(RateReduction::Rfc6937(ReductionBound::SlowStart)), 2);
        assert_eq!(first(RateReduction::Rfc9937), 1);
        assert_eq!(Prr::start(RateReduction::Rfc9937, &entry).on_ack(1, 4, true), 2);
    }
}
