//! Counter of rounds: round trips, delimited by deliveries.

use super::RateSample;

/// Counter of rounds: a round ends with the acknowledgement of a segment sent after the round started
/// (draft-ietf-ccwg-bbr section 5.5.1; DCTCP's window of data, RFC 8257 section 3.3).
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Rounds {
    /// Number of rounds started.
    pub(super) count: u64,
    /// True if the last acknowledgement started a round.
    pub(super) starts: bool,
    /// Value of `delivered` that starts the next round: a segment sent at this value or later does so when
    /// acknowledged.
    next_at: u64,
}

impl Rounds {
    /// Processes an acknowledgement. Returns true if it starts a round.
    pub(super) fn update(&mut self, sample: &RateSample) -> bool {
        self.starts = sample.prior_delivered.is_some_and(|prior| prior >= self.next_at);
        if self.starts {
            self.restart(sample);
            self.count += 1;
        }
        self.starts
    }

    /// Restarts the current round: the next one starts with the acknowledgement of a segment sent from now on.
    pub(super) fn restart(&mut self, sample: &RateSample) {
        self.next_at = sample.delivered;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_round_ends_with_what_left_after_it_had_begun() {
        let mut rounds = Rounds::default();
        let mut begins = |prior_delivered, delivered| {
            rounds.update(&RateSample { delivered, prior_delivered, ..RateSample::default() })
        };
        assert_eq!([begins(Some(0), 10), begins(Some(9), 12), begins(None, 13)], [true, false, false]);
        assert_eq!([begins(Some(10), 14), begins(Some(13), 20), begins(Some(14), 21)], [true, false, true]);
        assert_eq!((rounds.count, rounds.next_at), (3, 21));
        rounds.restart(&RateSample { delivered: 30, ..RateSample::default() });
        assert!(!rounds.update(&RateSample { prior_delivered: Some(29), ..RateSample::default() }));
    }
}
