//! Error rate of a fading channel by one mode of an error-rate table.

use crate::error_rate_table::{BlockSizes, ErrorRates};
use crate::mutual_information::MutualInformation;
use crossfade_channel::ErrorRate;
use crossfade_core::to_db;
use std::sync::Arc;

/// Error rate of blocks sent in one mode (modulation and coding) of an error-rate table.
#[derive(Clone, Debug)]
pub struct BlockErrors {
    /// Error rates of the mode by block size and signal-to-noise ratio.
    pub rates: Arc<ErrorRates>,
    /// Rule for block sizes that are not in the table.
    pub sizes: BlockSizes,
    /// Constellation by whose mutual information blocks of several parts get an effective signal-to-noise ratio;
    /// `None`: it is the least ratio of the parts. Not used for blocks of one part.
    pub modulation: Option<&'static MutualInformation>,
}

impl ErrorRate for BlockErrors {
    fn effective(&self, ratios: &[f64]) -> f64 {
        match (ratios, self.modulation) {
            ([one], _) => *one,
            (many, Some(modulation)) => modulation.effective(many),
            // Without a constellation the worst part decides.
            (many, None) => many.iter().copied().fold(f64::INFINITY, f64::min),
        }
    }

    fn error_rate(&self, sum: f64, copies: u32, bytes: u32) -> f64 {
        if copies == 1 {
            self.rates.error_rate(to_db(sum), bytes, self.sizes)
        } else {
            self.rates.combined(sum, copies, bytes, self.sizes)
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::ErrorRateTable;
    use crossfade_core::from_db;

    #[test]
    fn parts_count_with_their_mutual_information() {
        let table = ErrorRateTable::parse("snr_db,error_rate\n-10,1\n0,0.1\n10,0.01\n").unwrap();
        let modulation = MutualInformation::named("qpsk").ok();
        let errors = BlockErrors { rates: table.mode(None).unwrap(), sizes: BlockSizes::Scaled, modulation };
        let half = errors.effective(&[from_db(-30.0), from_db(30.0)]);
        // QPSK carries half of its bits at Es/N0 = 0.187 dB, the limit of rate 1/2; no Gaussian input does below 0 dB.
        assert!((0.187..0.21).contains(&to_db(half)), "{}", to_db(half));
        assert!((errors.error_rate(1.0, 1, 40) - 0.1).abs() < 1e-12);
        assert!((errors.error_rate(10.0, 1, 40) - 0.01).abs() < 1e-12);
        assert!((errors.error_rate(10.0, 2, 40) - 0.01).abs() < 1e-12, "two copies of half the ratio");
        let worst = BlockErrors { modulation: None, ..errors };
        assert_eq!(worst.effective(&[3.0, 2.0, 5.0]), 2.0);
    }
}
