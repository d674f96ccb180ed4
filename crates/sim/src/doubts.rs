//! Exact count of spurious timeouts: the simulator knows which timeouts were spurious, where a sender can only guess.
//!
//! A timeout is spurious if the segment whose timer expired was not lost: a copy sent before the timeout has reached
//! the receiver, or does so later. A sender that had waited longer would have seen the acknowledgement. If only
//! acknowledgements were lost, the timeout counts as spurious too, since no retransmission of data was needed.

use crossfade_core::SimTime;

/// Timeouts of one segment that has not reached the receiver yet, so its original may be late or lost.
#[derive(Clone, Debug)]
pub(crate) struct Doubts {
    /// Number of the segment; `u64::MAX`: there are no undecided timeouts.
    seq: u64,
    /// Times at which the segment's timer expired; several with back-off.
    expired_at: Vec<SimTime>,
}

impl Doubts {
    pub(crate) const NONE: Self = Self { seq: u64::MAX, expired_at: Vec::new() };

    /// Records that the timer of segment `seq` expired before the segment was received. Timeouts of another segment are
    /// forgotten, since its acknowledgement has reached the sender.
    pub(crate) fn on_timeout(&mut self, now: SimTime, seq: u64) {
        if self.seq != seq {
            self.clear();
            self.seq = seq;
        }
        self.expired_at.push(now);
    }

    /// True if timeouts of segment `seq` are undecided.
    #[inline]
    pub(crate) fn concern(&self, seq: u64) -> bool {
        self.seq == seq
    }

    /// Processes the arrival of a copy of the segment that was sent at `sent`. Returns the number of timeouts after
    /// `sent`, which were spurious. Earlier timeouts stay undecided, since an overtaken copy may arrive later.
    #[cold]
    pub(crate) fn on_arrival(&mut self, sent: SimTime) -> u64 {
        let before = self.expired_at.len();
        self.expired_at.retain(|&expired| expired <= sent);
        let spurious = (before - self.expired_at.len()) as u64;
        if self.expired_at.is_empty() {
            self.clear();
        }
        spurious
    }

    /// Forgets the undecided timeouts, which then do not count as spurious.
    pub(crate) fn clear(&mut self) {
        self.seq = u64::MAX;
        self.expired_at.clear();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const MS: SimTime = SimTime::from_millis(1);

    #[test]
    fn a_copy_from_before_the_timeout_makes_it_spurious() {
        let mut doubts = Doubts::NONE;
        doubts.on_timeout(MS * 200, 7);
        assert!(doubts.concern(7) && !doubts.concern(6));
        assert_eq!(doubts.on_arrival(MS * 5), 1);
        assert!(!doubts.concern(7), "settled");
    }

    #[test]
    fn a_copy_from_after_it_does_not_unless_the_other_was_overtaken() {
        let mut doubts = Doubts::NONE;
        doubts.on_timeout(MS * 200, 7);
        assert_eq!(doubts.on_arrival(MS * 200), 0, "what the timeout made the sender send");
        assert_eq!(doubts.on_arrival(MS * 5), 1);
    }

    #[test]
    fn of_several_timeouts_those_after_the_copy_were_spurious() {
        let mut doubts = Doubts::NONE;
        for expiry in [200, 600, 1400] {
            doubts.on_timeout(MS * expiry, 7);
        }
        // The first copy was lost; the second was delayed.
        assert_eq!(doubts.on_arrival(MS * 200), 2);
        assert_eq!(doubts.on_arrival(MS * 600), 0);
        doubts.on_timeout(MS * 3000, 8);
        assert!(!doubts.concern(7));
    }
}
