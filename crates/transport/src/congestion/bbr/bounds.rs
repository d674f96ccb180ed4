//! What losses teach: bounds of the bandwidth and of what is under way (draft-ietf-ccwg-bbr section 5.5.10).

use crate::congestion::RateSample;

/// More lost than this share of what is under way is too much (section 2.5).
pub(super) const LOSS_THRESHOLD: f64 = 0.02;
/// A bound falls to this at most in a round.
const BETA: f64 = 0.7;
/// Left for others while cruising.
const HEADROOM: f64 = 0.15;

/// The bounds, and the signals that they follow from.
#[derive(Clone, Copy, Debug)]
pub(super) struct Bounds {
    pub(super) bw_shortterm: f64,
    pub(super) inflight_shortterm: f64,
    pub(super) inflight_longterm: f64,
    bw_latest: f64,
    pub(super) inflight_latest: f64,
    pub(super) loss_in_round: bool,
    loss_round_at: u64,
    is_loss_round: bool,
    pub(super) delivered: u64,
    /// How fast the long-term bound rises: rounds of it, what was acknowledged since the last step, and what a step needs.
    up_rounds: u32,
    up_acks: f64,
    up_count: f64,
}

impl Default for Bounds {
    fn default() -> Self {
        Self {
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
}

impl Bounds {
    /// Takes an acknowledgement; returns whether a round of losses ends with it (`BBRUpdateLatestDeliverySignals`).
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

    /// The signals of the next round begin (`BBRAdvanceLatestDeliverySignals`).
    pub(super) fn advance(&mut self, sample: &RateSample) {
        if self.is_loss_round
            && let Some(prior_delivered) = sample.prior_delivered
        {
            self.bw_latest = sample.rate.unwrap_or(0.0);
            self.inflight_latest = (sample.delivered - prior_delivered) as f64;
        }
    }

    /// A segment was lost: the round that this is of begins with the first.
    pub(super) fn note_loss(&mut self) {
        if !self.loss_in_round {
            self.loss_round_at = self.delivered;
        }
        self.loss_in_round = true;
    }

    /// A round is over: with losses in it the short-term bounds fall, unless the rule probes
    /// (`BBRAdaptLowerBoundsFromCongestion`).
    pub(super) fn end_loss_round(&mut self, may_fall: bool, max_bw: f64, cwnd: f64) {
        if std::mem::take(&mut self.loss_in_round) && may_fall {
            let bw = if self.bw_shortterm.is_finite() { self.bw_shortterm } else { max_bw };
            let inflight = if self.inflight_shortterm.is_finite() { self.inflight_shortterm } else { cwnd };
            self.bw_shortterm = self.bw_latest.max(BETA * bw);
            self.inflight_shortterm = self.inflight_latest.max(BETA * inflight);
        }
    }

    pub(super) fn reset_signals(&mut self) {
        self.loss_in_round = false;
        (self.bw_latest, self.inflight_latest) = (0.0, 0.0);
    }

    pub(super) fn forget_shortterm(&mut self) {
        (self.bw_shortterm, self.inflight_shortterm) = (f64::INFINITY, f64::INFINITY);
    }

    /// The losses were none: no bound is below what it was.
    pub(super) fn raise_to(&mut self, before: &Self) {
        self.bw_shortterm = self.bw_shortterm.max(before.bw_shortterm);
        self.inflight_shortterm = self.inflight_shortterm.max(before.inflight_shortterm);
        self.inflight_longterm = self.inflight_longterm.max(before.inflight_longterm);
    }

    /// The long-term bound, less what is left for others.
    pub(super) fn with_headroom(&self) -> f64 {
        let longterm = self.inflight_longterm;
        if longterm.is_finite() { (longterm - (HEADROOM * longterm).max(1.0)).max(4.0) } else { longterm }
    }

    /// How much was under way when the losses became too many: `in_flight` as the last of `lost` left, itself included
    /// (`BBRInflightAtLoss`).
    pub(super) fn inflight_at_loss(in_flight: f64, lost: f64) -> f64 {
        let (prev, lost_prev) = (in_flight - 1.0, lost - 1.0);
        prev + (LOSS_THRESHOLD * prev - lost_prev) / (1.0 - LOSS_THRESHOLD)
    }

    pub(super) fn stop_rising(&mut self) {
        self.up_count = f64::INFINITY;
    }

    pub(super) fn start_rising(&mut self) {
        (self.up_rounds, self.up_acks) = (0, 0.0);
    }

    /// In the next round the bound rises by twice as much (`BBRRaiseInflightLongtermSlope`).
    pub(super) fn raise_slope(&mut self, cwnd: f64) {
        let growth = (1_u64 << self.up_rounds) as f64;
        self.up_rounds = (self.up_rounds + 1).min(30);
        self.up_count = (cwnd / growth).max(1.0);
    }

    /// An acknowledgement without excess loss: the long-term bound is no less than what was under way, and `rises` where the
    /// window was held there.
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

    /// 100 under way with a window of 110, three lost: the draft's derivation.
    #[test]
    fn the_bound_is_where_two_percent_were_lost() {
        let at_loss = Bounds::inflight_at_loss(100.0, 3.0);
        assert!((at_loss - 98.98).abs() < 0.005, "{at_loss}");
    }

    #[test]
    fn the_longterm_bound_rises_by_1_2_4_8_a_round() {
        let mut bounds = Bounds { inflight_longterm: 60.0, ..Bounds::default() };
        bounds.start_rising();
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
        let mut bounds = Bounds::default();
        let round = |bounds: &mut Bounds, delivered, bw| {
            bounds.note_loss();
            let sample = RateSample {
                delivered,
                prior_delivered: Some(delivered - 50),
                rate: Some(bw),
                ..RateSample::default()
            };
            if bounds.note_delivery(&sample) {
                bounds.end_loss_round(true, 1000.0, 100.0);
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

    #[test]
    fn fifteen_percent_are_left_for_others() {
        let bounds = |inflight_longterm| Bounds { inflight_longterm, ..Bounds::default() };
        assert_eq!(bounds(100.0).with_headroom(), 85.0);
        assert_eq!(bounds(6.0).with_headroom(), 5.0);
        assert_eq!(bounds(4.0).with_headroom(), 4.0);
    }
}
