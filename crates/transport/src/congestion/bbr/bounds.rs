//! Bounds of the bandwidth and of the segments in flight that follow from losses (draft-ietf-ccwg-bbr section 5.5.10).

use crate::congestion::RateSample;

/// Loss thresholds and reductions (draft-ietf-ccwg-bbr section 2.5).
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct LossRules {
    /// Share of the segments in flight beyond which losses are excessive.
    threshold: f64,
    /// Smallest factor by which one round with losses multiplies a bound.
    pub(super) beta: f64,
    /// Share of the long-term bound that is left to other flows while cruising.
    headroom: f64,
    /// True if all results are rounded to whole segments, as in Linux.
    is_whole: bool,
}

impl LossRules {
    pub(super) const DRAFT: Self = Self { threshold: 0.02, beta: 0.7, headroom: 0.15, is_whole: false };
    /// Linux's values in 1/256, rounded down: losses beyond 2 %, reductions by 30 %, headroom of 15 %.
    pub(super) const LINUX: Self =
        Self { threshold: 5.0 / 256.0, beta: 180.0 / 256.0, headroom: 38.0 / 256.0, is_whole: true };

    fn down(self, segments: f64) -> f64 {
        if self.is_whole { segments.floor() } else { segments }
    }

    /// True if `lost` of `in_flight` segments exceed the loss threshold. Rounded to whole segments, two of a hundred
    /// exceed it; unrounded, they do not.
    pub(super) fn is_too_much(self, lost: u64, in_flight: u64) -> bool {
        lost as f64 > self.down(self.threshold * in_flight as f64)
    }

    /// Lowest value to which one round with losses may reduce a bound of `segments`, in segments.
    pub(super) fn cut(self, segments: f64) -> f64 {
        self.down(self.beta * segments)
    }

    /// Estimated number of segments in flight at which the losses exceeded the threshold (`BBRInflightAtLoss`):
    /// `in_flight` were in flight when the last of the `lost` segments left, itself included.
    pub(super) fn inflight_at_loss(self, in_flight: u64, lost: u64) -> f64 {
        let (prev, lost_prev) = (in_flight as f64 - 1.0, lost as f64 - 1.0);
        if self.is_whole {
            let budget = (self.threshold * prev).ceil();
            return prev + ((budget - lost_prev).max(0.0) / (1.0 - self.threshold)).floor();
        }
        prev + (self.threshold * prev - lost_prev) / (1.0 - self.threshold)
    }
}

/// Short-term and long-term bounds of bandwidth (segments per second) and segments in flight, and the delivery signals
/// from which they follow.
#[derive(Clone, Copy, Debug)]
pub(super) struct Bounds {
    pub(super) losses: LossRules,
    pub(super) bw_shortterm: f64,
    pub(super) inflight_shortterm: f64,
    pub(super) inflight_longterm: f64,
    bw_latest: f64,
    pub(super) inflight_latest: f64,
    pub(super) loss_in_round: bool,
    loss_round_at: u64,
    is_loss_round: bool,
    pub(super) delivered: u64,
    /// Number of rounds of growth of the long-term bound, each of which doubles its slope; at most 30.
    up_rounds: u32,
    /// Segments acknowledged since the long-term bound last grew by a segment.
    up_acks: f64,
    /// Number of acknowledged segments for which the long-term bound grows by a segment; infinite: no growth.
    up_count: f64,
}

impl Bounds {
    /// Creates the bounds of a new connection, all infinite.
    pub(super) fn new(losses: LossRules) -> Self {
        Self {
            losses,
            bw_shortterm: f64::INFINITY,
            inflight_shortterm: f64::INFINITY,
            inflight_longterm: f64::INFINITY,
            bw_latest: 0.0,
            inflight_latest: 0.0,
            loss_in_round: false,
            loss_round_at: 0,
            is_loss_round: false,
            delivered: 0,
            up_rounds: 0,
            up_acks: 0.0,
            up_count: f64::INFINITY,
        }
    }

    /// Updates the delivery signals with an acknowledgement; returns true if it ends a loss round, with or without
    /// losses (`BBRUpdateLatestDeliverySignals`).
    pub(super) fn note_delivery(&mut self, sample: &RateSample) -> bool {
        self.is_loss_round = false;
        self.delivered = sample.delivered;
        let Some(prior_delivered) = sample.prior_delivered else { return false };
        self.bw_latest = self.bw_latest.max(sample.rate.unwrap_or(0.0));
        self.inflight_latest = self.inflight_latest.max((sample.delivered - prior_delivered) as f64);
        if prior_delivered >= self.loss_round_at {
            self.loss_round_at = sample.delivered;
            self.is_loss_round = true;
        }
        self.is_loss_round
    }

    /// Restarts the delivery signals with this sample if a loss round has ended (`BBRAdvanceLatestDeliverySignals`).
    pub(super) fn advance(&mut self, sample: &RateSample) {
        if self.is_loss_round
            && let Some(prior_delivered) = sample.prior_delivered
        {
            self.bw_latest = sample.rate.unwrap_or(0.0);
            self.inflight_latest = (sample.delivered - prior_delivered) as f64;
        }
    }

    /// Records a loss; the first loss of a round starts a new loss round.
    pub(super) fn note_loss(&mut self) {
        if !self.loss_in_round {
            self.loss_round_at = self.delivered;
        }
        self.loss_in_round = true;
    }

    /// Ends a loss round: losses in it lower the short-term bounds if `may_fall`, when the control does not probe for
    /// bandwidth (`BBRAdaptLowerBoundsFromCongestion`). `by_marks`, the factor of a round with ECN marks, also lowers
    /// the bound of the segments in flight.
    pub(super) fn end_loss_round(&mut self, may_fall: bool, max_bw: f64, cwnd: f64, by_marks: Option<f64>) {
        let inflight = if self.inflight_shortterm.is_finite() { self.inflight_shortterm } else { cwnd };
        if std::mem::take(&mut self.loss_in_round) && may_fall {
            let bw = if self.bw_shortterm.is_finite() { self.bw_shortterm } else { max_bw };
            self.bw_shortterm = self.bw_latest.max(self.losses.beta * bw);
            self.inflight_shortterm = self.inflight_latest.max(self.losses.cut(inflight));
        }
        if let Some(left) = by_marks.filter(|_| may_fall) {
            self.inflight_shortterm = self.inflight_shortterm.min(self.losses.down(left * inflight));
        }
    }

    pub(super) fn reset_signals(&mut self) {
        self.loss_in_round = false;
        (self.bw_latest, self.inflight_latest) = (0.0, 0.0);
    }

    pub(super) fn forget_shortterm(&mut self) {
        (self.bw_shortterm, self.inflight_shortterm) = (f64::INFINITY, f64::INFINITY);
    }

    /// Raises every bound to at least its value in `before`, after losses that proved spurious.
    pub(super) fn raise_to(&mut self, before: &Self) {
        self.bw_shortterm = self.bw_shortterm.max(before.bw_shortterm);
        self.inflight_shortterm = self.inflight_shortterm.max(before.inflight_shortterm);
        self.inflight_longterm = self.inflight_longterm.max(before.inflight_longterm);
    }

    /// Long-term bound of the segments in flight less the headroom for other flows, at least four segments.
    pub(super) fn with_headroom(&self) -> f64 {
        let longterm = self.inflight_longterm;
        if !longterm.is_finite() {
            return longterm;
        }
        let headroom = self.losses.down(self.losses.headroom * longterm);
        (longterm - headroom.max(1.0)).max(4.0)
    }

    pub(super) fn stop_rising(&mut self) {
        self.up_count = f64::INFINITY;
    }

    /// Prepares the growth of the long-term bound as if it had already grown for `rounds` rounds.
    pub(super) fn start_rising(&mut self, rounds: u32) {
        (self.up_rounds, self.up_acks) = (rounds.min(30), 0.0);
    }

    /// Doubles the growth of the long-term bound for the next round (`BBRRaiseInflightLongtermSlope`).
    pub(super) fn raise_slope(&mut self, cwnd: f64) {
        let growth = (1_u64 << self.up_rounds) as f64;
        self.up_rounds = (self.up_rounds + 1).min(30);
        self.up_count = (cwnd / growth).max(1.0);
    }

    /// Adapts the long-term bound to an acknowledgement without excessive loss: raises it to at least the segments in
    /// flight, and lets it grow if `rises`, when the bound has limited the window in UP.
    pub(super) fn note_no_excess(&mut self, sample: &RateSample, rises: bool, cwnd: f64, round: bool) {
        if !self.inflight_longterm.is_finite() {
            return;
        }
        self.inflight_longterm = self.inflight_longterm.max(sample.tx_in_flight as f64);
        if !rises {
            return;
        }
        self.up_acks += sample.newly_acked as f64;
        if self.up_acks >= self.up_count {
            let steps = (self.up_acks / self.up_count).floor();
            self.up_acks -= steps * self.up_count;
            self.inflight_longterm += steps;
        }
        if round {
            self.raise_slope(cwnd);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// With three of 100 segments in flight lost, the losses exceeded 2 % at 98.98 segments in flight, by the draft's
    /// derivation.
    #[test]
    fn the_bound_is_where_two_percent_were_lost() {
        let at_loss = LossRules::DRAFT.inflight_at_loss(100, 3);
        assert!((at_loss - 98.98).abs() < 0.005, "{at_loss}");
    }

    #[test]
    fn the_longterm_bound_rises_by_1_2_4_8_a_round() {
        let mut bounds = Bounds { inflight_longterm: 60.0, ..Bounds::new(LossRules::DRAFT) };
        bounds.start_rising(0);
        bounds.raise_slope(60.0);
        let mut reached = Vec::new();
        for _ in 0..4 {
            let segments = 60;
            for _ in 0..segments {
                let sample = RateSample { newly_acked: 1, ..RateSample::default() };
                bounds.note_no_excess(&sample, true, 60.0, false);
            }
            reached.push(bounds.inflight_longterm.round());
            bounds.raise_slope(60.0);
        }
        assert_eq!(reached, [61.0, 63.0, 67.0, 75.0]);
    }

    #[test]
    fn losses_outside_of_probes_lower_the_shortterm_bounds_once_a_round() {
        let mut bounds = Bounds::new(LossRules::DRAFT);
        let round = |bounds: &mut Bounds, delivered, bw| {
            bounds.note_loss();
            let sample = RateSample {
                delivered,
                prior_delivered: Some(delivered - 50),
                rate: Some(bw),
                ..RateSample::default()
            };
            if bounds.note_delivery(&sample) {
                bounds.end_loss_round(true, 1000.0, 100.0, None);
            }
            bounds.advance(&sample);
        };
        round(&mut bounds, 100, 600.0);
        assert_eq!((bounds.bw_shortterm, bounds.inflight_shortterm), (700.0, 70.0));
        round(&mut bounds, 200, 600.0);
        assert_eq!((bounds.bw_shortterm, bounds.inflight_shortterm), (600.0, 50.0));
        bounds.forget_shortterm();
        assert_eq!(bounds.bw_shortterm, f64::INFINITY);
    }

    /// ECN marks reduce the bound of the segments in flight to 171/256 and leave the bandwidth bound unchanged; with
    /// losses in the same round, the lower of both bounds is used.
    #[test]
    fn marks_lower_what_is_under_way() {
        let mut bounds = Bounds::new(LossRules::LINUX);
        bounds.end_loss_round(true, 1000.0, 100.0, Some(171.0 / 256.0));
        assert_eq!((bounds.bw_shortterm, bounds.inflight_shortterm), (f64::INFINITY, 66.0));
        bounds.end_loss_round(false, 1000.0, 100.0, Some(171.0 / 256.0));
        assert_eq!(bounds.inflight_shortterm, 66.0, "a probe is not held back");
        bounds.note_loss();
        bounds.end_loss_round(true, 1000.0, 100.0, Some(171.0 / 256.0));
        assert_eq!((bounds.bw_shortterm, bounds.inflight_shortterm), (180.0 / 256.0 * 1000.0, 44.0));
    }

    #[test]
    fn fifteen_percent_are_left_for_others() {
        let bounds = |inflight_longterm| Bounds { inflight_longterm, ..Bounds::new(LossRules::DRAFT) };
        assert_eq!(bounds(100.0).with_headroom(), 85.0);
        assert_eq!(bounds(6.0).with_headroom(), 5.0);
        assert_eq!(bounds(4.0).with_headroom(), 4.0);
    }

    /// Linux rounds to whole segments: loss threshold 5/256, reduction to 180/256, headroom 38/256.
    #[test]
    fn linux_counts_losses_in_whole_segments() {
        let linux = LossRules::LINUX;
        let too_much = |rules: LossRules, lost| {
            [49, 51, 52, 100, 103].map(|in_flight| rules.is_too_much(lost, in_flight))
        };
        assert_eq!(too_much(linux, 1), [true, true, false, false, false]);
        assert_eq!(too_much(linux, 2), [true, true, true, true, false]);
        assert_eq!(too_much(LossRules::DRAFT, 1), [true, false, false, false, false]);
        assert_eq!(too_much(LossRules::DRAFT, 2), [true, true, true, false, false]);
        // ceil(99 x 5/256) = 2: the second loss is at the limit; with a third the earlier losses exceeded it already.
        assert_eq!([2, 3].map(|lost| linux.inflight_at_loss(100, lost)), [100.0, 99.0]);
        assert_eq!(linux.cut(101.0), 71.0);
        let bounds = Bounds { inflight_longterm: 100.0, ..Bounds::new(linux) };
        assert_eq!(bounds.with_headroom(), 86.0);
    }
}
