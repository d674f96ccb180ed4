//! Marks of a queue that marks early and often, as version 3 in Linux takes them (branch v3 of google/bbr: `bbr_update_ecn_alpha`,
//! `bbr_ecn_cut`). Shares are in 1/256, rounded down.

use crate::congestion::{Phase, RateSample};
use crossfade_core::SimTime;

const UNIT: u64 = 256;
/// The weight of the last round in the average, 1/16.
const GAIN: u64 = 16;
/// What the average is multiplied with in a cut, 1/3.
const FACTOR: u64 = UNIT / 3;
/// More than this share is too much.
const THRESHOLD: u64 = UNIT / 2;
/// Rounds of it in succession that end Startup.
const STARTUP_ROUNDS: u32 = 2;

/// What marks tell.
#[derive(Clone, Copy, Debug)]
#[expect(clippy::struct_excessive_bools, reason = "flags of the kernel, each on or off")]
pub(super) struct Marks {
    /// The longest round trip at which marks count; 0 has no limit.
    max_rtt: SimTime,
    /// Whether the RTT was that short once.
    pub(super) is_eligible: bool,
    /// The average share.
    alpha: u64,
    /// Since the start.
    marked: u64,
    /// `delivered` and `marked` as the last round ended.
    round: (u64, u64),
    high_rounds: u32,
    in_round: bool,
    in_cycle: bool,
    loss_in_cycle: bool,
    /// A mark came: until what was under way has arrived the connection is reducing (`TCP_CA_CWR`).
    reducing_until: Option<u64>,
}

impl Marks {
    /// The average begins at 1, so that the first cut is a whole one (`ecn_alpha_init`).
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

    /// Takes an acknowledgement, with which a round `starts` or not. Returns the share of marks of the one that has ended, if marks count.
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

    /// A round ends. Returns its share of marks, if marks count.
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

    /// The share of a round of Startup. Returns whether enough of them in succession were too much.
    pub(super) fn ends_startup(&mut self, share: u64) -> bool {
        self.high_rounds = if share >= THRESHOLD { self.high_rounds + 1 } else { 0 };
        self.high_rounds >= STARTUP_ROUNDS
    }

    /// Whether more than half of what arrived with this sample was marked.
    pub(super) fn are_too_many(&self, sample: &RateSample) -> bool {
        let delivered = sample.prior_delivered.map_or(0, |prior| sample.delivered - prior);
        self.is_eligible && sample.ce_since_sent > THRESHOLD * delivered / UNIT
    }

    /// What a round with marks leaves of what is under way.
    pub(super) fn take_cut(&mut self) -> Option<f64> {
        let left = UNIT - self.alpha * FACTOR / UNIT;
        std::mem::take(&mut self.in_round).then_some(left as f64 / UNIT as f64)
    }

    pub(super) fn note_loss(&mut self) {
        self.loss_in_cycle = true;
    }

    /// Behind all else that an acknowledgement does: what it shows is of the cycle that it has begun.
    pub(super) fn end_ack(&mut self, sample: &RateSample) {
        self.loss_in_cycle |= sample.lost_since_sent > 0;
        self.in_cycle |= sample.ce_since_sent > 0;
    }

    pub(super) fn reset(&mut self) {
        (self.in_round, self.in_cycle, self.loss_in_cycle) = (false, false, false);
    }

    /// This cycle had marks and no losses, and the marks have ceased.
    pub(super) fn have_ceased(&self, phase: Phase) -> bool {
        let is_open = phase == Phase::Open && self.reducing_until.is_none();
        self.is_eligible && self.in_cycle && !self.loss_in_cycle && is_open
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const MS: SimTime = SimTime::from_millis(1);

    /// alpha 256; 240/256 of it and a sixteenth of the share, each rounded down.
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
        // A share below 1/16 is none: the average falls to 0.
        let last = (4..100).map(|number| round(number, 6)).last();
        assert_eq!(last, Some((Some(15), 0)));
    }

    /// `1 - alpha/3`: 171/256 of the first mark, all of it where nothing is left of the average.
    #[test]
    fn a_round_with_marks_cuts_once() {
        let mut marks = Marks { is_eligible: true, in_round: true, ..Marks::new(MS * 5) };
        assert_eq!((marks.take_cut(), marks.take_cut()), (Some(171.0 / 256.0), None));
        (marks.in_round, marks.alpha) = (true, 2);
        assert_eq!(marks.take_cut(), Some(1.0));
    }

    /// 5 ms once are enough, whatever comes later; 0 has no limit.
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

    /// More than half of what a sample is of, not half.
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

    /// The connection reduces until what was under way with the mark has arrived.
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
