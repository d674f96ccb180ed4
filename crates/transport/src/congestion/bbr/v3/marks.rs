//! ECN marks of queues that mark early and often, as in BBR version 3 of Linux (branch v3 of google/bbr:
//! `bbr_update_ecn_alpha`, `bbr_ecn_cut`). Shares are in 1/256, rounded down.

use crate::congestion::{Phase, RateSample};
use crossfade_core::SimTime;

const UNIT: u64 = 256;
/// Weight of the last round in the average share of marks, in 1/256: 1/16.
const GAIN: u64 = 16;
/// Factor of the average share in a reduction of the segments in flight, in 1/256: 1/3.
const FACTOR: u64 = UNIT / 3;
/// Share of marked segments, in 1/256, beyond which there are too many: 1/2.
const THRESHOLD: u64 = UNIT / 2;
/// Number of consecutive rounds with at least half of the segments marked that ends Startup.
const STARTUP_ROUNDS: u32 = 2;

/// Average share of ECN-marked segments, and the state of the reactions to marks.
#[derive(Clone, Copy, Debug)]
#[expect(clippy::struct_excessive_bools, reason = "flags of the kernel, each on or off")]
pub(super) struct Marks {
    /// Largest minimum RTT at which marks count; 0: no limit.
    max_rtt: SimTime,
    /// True once the minimum RTT has been short enough for marks to count.
    pub(super) is_eligible: bool,
    /// Moving average of the share of marked segments, in 1/256.
    alpha: u64,
    /// Number of marked segments since the start.
    marked: u64,
    /// Values of `delivered` and `marked` at the end of the last round.
    round: (u64, u64),
    high_rounds: u32,
    in_round: bool,
    in_cycle: bool,
    loss_in_cycle: bool,
    /// Value of `delivered` at which the connection leaves state `TCP_CA_CWR`, which it entered after a mark: all
    /// segments then in flight have been delivered. `None` outside the state.
    reducing_until: Option<u64>,
}

impl Marks {
    /// Creates the state of a new connection: the average share is 1, so the first reduction is a full one
    /// (`ecn_alpha_init`).
    pub(super) fn new(max_rtt: SimTime) -> Self {
        Self {
            max_rtt,
            is_eligible: false,
            alpha: UNIT,
            marked: 0,
            round: (0, 0),
            high_rounds: 0,
            in_round: false,
            in_cycle: false,
            loss_in_cycle: false,
            reducing_until: None,
        }
    }

    pub(super) fn alpha(&self) -> f64 {
        self.alpha as f64 / UNIT as f64
    }

    /// Counts the marks of an acknowledgement, which starts a round if `starts`. Returns the share of marks in the
    /// round that has ended, in 1/256; `None` within a round, or if marks do not count.
    pub(super) fn update(
        &mut self,
        sample: &RateSample,
        starts: bool,
        min_rtt: Option<SimTime>,
    ) -> Option<u64> {
        self.count(sample);
        let share = starts.then(|| self.end_round(sample.delivered, min_rtt)).flatten();
        self.in_round |= self.is_eligible && sample.ce > 0;
        share
    }

    fn count(&mut self, sample: &RateSample) {
        self.marked += sample.ce;
        self.reducing_until.take_if(|until| sample.delivered >= *until);
        if sample.ce > 0 {
            self.reducing_until.get_or_insert(sample.delivered + sample.in_flight);
        }
    }

    /// Ends a round. Returns its share of marked segments, in 1/256; `None` if marks do not count.
    fn end_round(&mut self, delivered: u64, min_rtt: Option<SimTime>) -> Option<u64> {
        let is_short = |min_rtt| min_rtt <= self.max_rtt || self.max_rtt == SimTime::ZERO;
        self.is_eligible |= min_rtt.is_some_and(is_short);
        let (newly, marked) = (delivered - self.round.0, self.marked - self.round.1);
        if !self.is_eligible || newly == 0 {
            return None;
        }
        self.round = (delivered, self.marked);
        let share = UNIT * marked / newly;
        self.alpha = ((UNIT - GAIN) * self.alpha / UNIT + GAIN * share / UNIT).min(UNIT);
        Some(share)
    }

    /// Takes the share of marks of a round in Startup, in 1/256. Returns true if enough consecutive rounds had too many
    /// marks to end Startup.
    pub(super) fn ends_startup(&mut self, share: u64) -> bool {
        self.high_rounds = if share >= THRESHOLD { self.high_rounds + 1 } else { 0 };
        self.high_rounds >= STARTUP_ROUNDS
    }

    /// True if more than half of the segments delivered since the newest acknowledged segment left were marked.
    pub(super) fn are_too_many(&self, sample: &RateSample) -> bool {
        let delivered = sample.prior_delivered.map_or(0, |prior| sample.delivered - prior);
        self.is_eligible && sample.ce_since_sent > THRESHOLD * delivered / UNIT
    }

    /// Factor by which a round with marks multiplies the segments in flight; `None` if the round had no marks. Clears
    /// the round's marks.
    pub(super) fn take_cut(&mut self) -> Option<f64> {
        let left = UNIT - self.alpha * FACTOR / UNIT;
        std::mem::take(&mut self.in_round).then_some(left as f64 / UNIT as f64)
    }

    pub(super) fn note_loss(&mut self) {
        self.loss_in_cycle = true;
    }

    /// Ends the processing of an acknowledgement. It runs last, because the acknowledgement's marks belong to the
    /// probing cycle that it may have started.
    pub(super) fn end_ack(&mut self, sample: &RateSample) {
        self.loss_in_cycle |= sample.lost_since_sent > 0;
        self.in_cycle |= sample.ce_since_sent > 0;
    }

    pub(super) fn reset(&mut self) {
        (self.in_round, self.in_cycle, self.loss_in_cycle) = (false, false, false);
    }

    /// True if this probing cycle had marks and no losses, and the connection has left the reducing state.
    pub(super) fn have_ceased(&self, phase: Phase) -> bool {
        let is_open = phase == Phase::Open && self.reducing_until.is_none();
        self.is_eligible && self.in_cycle && !self.loss_in_cycle && is_open
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const MS: SimTime = SimTime::from_millis(1);

    /// The average share starts at 256; each round keeps 240/256 of it and adds a sixteenth of the round's share, each
    /// rounded down, as in the kernel.
    #[test]
    fn the_average_of_shares_is_the_kernels() {
        let mut marks = Marks::new(MS * 5);
        let mut round = |number: u64, ce| {
            marks.count(&RateSample { ce, ..RateSample::default() });
            let share = marks.end_round(100 * number, Some(MS * 5));
            (share, marks.alpha)
        };
        assert_eq!(round(1, 0), (Some(0), 240));
        assert_eq!(round(2, 50), (Some(128), 225 + 8));
        assert_eq!(round(3, 100), (Some(256), 218 + 16));
        // A share below 1/16 adds nothing: the average falls to 0.
        let last = (4..100).map(|number| round(number, 6)).last();
        assert_eq!(last, Some((Some(15), 0)));
    }

    /// A round with marks reduces the segments in flight once, to `1 - alpha/3`: 171/256 after the first mark, no
    /// reduction once the average is 0.
    #[test]
    fn a_round_with_marks_cuts_once() {
        let mut marks = Marks { is_eligible: true, in_round: true, ..Marks::new(MS * 5) };
        assert_eq!((marks.take_cut(), marks.take_cut()), (Some(171.0 / 256.0), None));
        (marks.in_round, marks.alpha) = (true, 2);
        assert_eq!(marks.take_cut(), Some(1.0));
    }

    /// Marks count once the minimum RTT has been at most 5 ms, even if it is longer later; a limit of 0 always counts
    /// them.
    #[test]
    fn marks_count_on_short_paths() {
        let is_eligible = |max_rtt, rtt| {
            let mut marks = Marks::new(max_rtt);
            let first = marks.end_round(10, Some(rtt)).is_some();
            (first, marks.end_round(20, Some(MS * 100)).is_some())
        };
        assert_eq!(is_eligible(MS * 5, MS * 5), (true, true));
        assert_eq!(is_eligible(MS * 5, SimTime::from_micros(5001)), (false, false));
        assert_eq!(is_eligible(SimTime::ZERO, MS * 100), (true, true));
    }

    /// Marks are too many if more than half of the delivered segments are marked; exactly half is not.
    #[test]
    fn more_than_half_is_too_much() {
        let marks = Marks { is_eligible: true, ..Marks::new(MS * 5) };
        let sample = |ce_since_sent| RateSample {
            delivered: 100,
            prior_delivered: Some(80),
            ce_since_sent,
            ..RateSample::default()
        };
        assert_eq!([10, 11].map(|ce| marks.are_too_many(&sample(ce))), [false, true]);
        assert!(!Marks::new(MS * 5).are_too_many(&sample(20)));
    }

    /// Marks have ceased once the segments in flight at the first mark have arrived.
    #[test]
    fn marks_cease_a_round_later() {
        let mut marks = Marks { is_eligible: true, in_cycle: true, ..Marks::new(MS * 5) };
        let mut ceased = |delivered, ce| {
            marks.count(&RateSample { delivered, ce, in_flight: 20, ..RateSample::default() });
            marks.have_ceased(Phase::Open)
        };
        assert_eq!(
            [ceased(100, 1), ceased(110, 1), ceased(119, 0), ceased(120, 0)],
            [false, false, false, true]
        );
        assert!(!ceased(121, 1));
        marks.reducing_until = None;
        assert!(!marks.have_ceased(Phase::Recovery));
        marks.note_loss();
        assert!(!marks.have_ceased(Phase::Open));
    }
}
