//! Channel reports of users: periodic, delayed and quantised.

use crate::error::{CellError, out_of_range};
use crate::levels::from_db;
use crossfade_core::to_db;

/// Channel reports. At the beginning of every period each user reports the predicted ratio of each bin, which the base
/// station uses from `delay_slots` later until it has the next report. Before the first report it uses the ratios of
/// slot 0.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct FeedbackConfig {
    /// Period of reports in slots.
    pub period_slots: u64,
    /// Slots from the measurement of a report to the first slot that uses it.
    pub delay_slots: u64,
    /// Quantisation of reported ratios; `None` reports exact ones.
    pub quantiser: Option<Quantiser>,
}

/// Quantiser of ratios, `lowest_db` + i `step_db`: the largest value not above the ratio, if there is one (a channel
/// quality indicator promises no more than the channel has).
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Quantiser {
    /// Ratio of index 0 in dB.
    pub lowest_db: f64,
    /// Step from index to index in dB.
    pub step_db: f64,
    /// Bits of an index: there are 2^bits indices.
    pub bits: u32,
}

impl FeedbackConfig {
    /// Checks the parameters.
    ///
    /// # Errors
    /// A period of no slots, more than 100000 slots of period or delay, steps outside [0.01, 40] dB, not 1 to 8 bits, a
    /// lowest ratio outside [-100, 100] dB.
    pub fn check(&self) -> Result<(), CellError> {
        if !(1..=100_000).contains(&self.period_slots) {
            return out_of_range("feedback.period", self.period_slots, "between 1 and 100000 slots");
        }
        if self.delay_slots > 100_000 {
            return out_of_range("feedback.delay", self.delay_slots, "at most 100000 slots");
        }
        let Some(Quantiser { lowest_db, step_db, bits }) = self.quantiser else { return Ok(()) };
        if !(0.01..=40.0).contains(&step_db) {
            return out_of_range("feedback.step_db", step_db, "between 0.01 and 40");
        }
        if !(-100.0..=100.0).contains(&lowest_db) {
            return out_of_range("feedback.lowest_db", lowest_db, "between -100 and 100");
        }
        if !(1..=8).contains(&bits) {
            return out_of_range("feedback.bits", bits, "between 1 and 8");
        }
        Ok(())
    }

    /// The slot whose report the base station uses in `slot`.
    pub(crate) fn known(&self, slot: u64) -> u64 {
        slot.saturating_sub(self.delay_slots) / self.period_slots * self.period_slots
    }
}

impl Quantiser {
    /// The reported value of `ratio`.
    pub fn told(&self, ratio: f64) -> f64 {
        let index = ((to_db(ratio) - self.lowest_db) / self.step_db).floor();
        from_db(self.lowest_db + self.step_db * index.clamp(0.0, f64::from((1_u32 << self.bits) - 1)))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_report_serves_from_its_delay_on_until_the_next() {
        let config = FeedbackConfig { period_slots: 4, delay_slots: 2, quantiser: None };
        let known: Vec<u64> = (0..12).map(|slot| config.known(slot)).collect();
        assert_eq!(known, [0, 0, 0, 0, 0, 0, 4, 4, 4, 4, 8, 8]);
    }

    #[test]
    fn no_more_is_told_than_there_is() {
        let quantiser = Quantiser { lowest_db: -6.0, step_db: 2.0, bits: 4 };
        for (db, told) in [(-20.0, -6.0), (-6.0, -6.0), (-4.1, -6.0), (7.9, 6.0), (8.1, 8.0), (60.0, 24.0)] {
            let found = 10.0 * quantiser.told(from_db(db)).log10();
            assert!((found - told).abs() < 1e-9, "{db}: {found}");
        }
        // Nothing at all is reported as little.
        assert!((quantiser.told(0.0) - from_db(-6.0)).abs() < 1e-12);
    }
}
