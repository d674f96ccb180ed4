//! Reaction of BBR version 3 in Linux to ECN marks, apart from its bounds (branch v3 of google/bbr:
//! `bbr_check_ecn_too_high_in_startup`, `bbr_check_time_to_probe_bw`).

use super::BbrV3;
use crate::congestion::{Phase, RateSample};

impl BbrV3 {
    /// Counts the marks of an acknowledgement, which may have started a round; two rounds with too many marks end
    /// Startup.
    pub(super) fn update_marks(&mut self, sample: &RateSample) {
        let Some(marks) = &mut self.marks else { return };
        // The model takes the first acknowledgement's RTT only later.
        let min_rtt = self.min_rtt.or(sample.rtt);
        let share = marks.update(sample, self.rounds.starts, min_rtt);
        if let Some(share) = share.filter(|_| !self.full_pipe.reached)
            && marks.ends_startup(share)
        {
            self.end_startup_for_queue();
        }
    }

    /// Initial slope of an early probe, as the exponent of a power of 2: if marks came and ceased in a cycle without
    /// losses, a probe follows at once whose first round adds up to half of the long-term bound (`ecn_reprobe_gain`):
    /// the largest power of 2 not above that half. `None`: no early probe.
    pub(super) fn reprobe(&self, phase: Phase) -> Option<u32> {
        self.marks.filter(|marks| marks.have_ceased(phase))?;
        let longterm = self.bounds.inflight_longterm.min(f64::from(u32::MAX)) as u64;
        Some((longterm / 2).max(1).ilog2())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::config::BbrConfig;
    use crossfade_core::SimTime;

    const MS: SimTime = SimTime::from_millis(1);

    /// With a long-term bound of 80 segments the slope is 2^5, the largest power of 2 not above 40; without a bound it
    /// is the maximum, 2^30.
    #[test]
    fn a_probe_after_marks_begins_steeply() {
        let config = BbrConfig { ecn_max_rtt: Some(MS * 5), ..BbrConfig::linux_v3() };
        let mut control = BbrV3::new(10.0, config, None);
        assert_eq!(control.reprobe(Phase::Open), None);
        let marked =
            RateSample { delivered: 10, prior_delivered: Some(0), ce_since_sent: 1, ..RateSample::default() };
        control.marks.iter_mut().for_each(|marks| {
            marks.update(&marked, true, Some(MS));
            marks.end_ack(&marked);
        });
        assert_eq!(control.reprobe(Phase::Open), Some(30));
        control.bounds.inflight_longterm = 80.0;
        assert_eq!(control.reprobe(Phase::Open), Some(5));
    }
}
