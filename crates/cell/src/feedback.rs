//! Channel reports from users to the base station: periodic, delayed and quantised.

use crate::error::{CellError, out_of_range};
use crate::levels::from_db;
use crossfade_core::to_db;

/// Configuration of channel reports. At the beginning of every period each user reports the predicted SNR of each bin.
/// The base station uses a report from `delay_slots` later until it has the next one; before the first report it uses
/// the SNR of slot 0.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct FeedbackConfig {
    /// Period of channel reports in slots.
    pub period_slots: u64,
    /// Delay in slots from the measurement of a report to the first slot that uses it.
    pub delay_slots: u64,
    /// Quantiser of the reported SNR; `None` reports exact values.
    pub quantiser: Option<Quantiser>,
}

/// Uniform quantiser of the SNR in dB with the values `lowest_db` + i `step_db`. It rounds down, because a channel
/// quality indicator must not promise more than the channel has; an SNR below all values is reported as the lowest.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Quantiser {
    /// Value of index 0 in dB.
    pub lowest_db: f64,
    /// Difference between the values of successive indices in dB.
    pub step_db: f64,
    /// Number of bits of an index: there are 2^bits values.
    pub bits: u32,
}

impl FeedbackConfig {
    /// Checks the parameters of the channel reports.
    ///
    /// # Errors
    /// A period outside [1, 100000] slots, a delay above 100000 slots, a step outside [0.01, 40] dB, bits outside
    /// [1, 8], or a lowest value outside [-100, 100] dB.
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

    /// Number of the slot whose report the base station uses in `slot`.
    pub(crate) fn known(&self, slot: u64) -> u64 {
        slot.saturating_sub(self.delay_slots) / self.period_slots * self.period_slots
    }
}

impl Quantiser {
    /// Quantised value of `ratio`, both as power ratios (not in dB).
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
