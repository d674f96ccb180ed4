//! Log-normal shadowing, drawn anew for each frame and receiver.

use crate::error::ChannelError;
use crate::normal::complex_normal;
use crossfade_core::{OutOfRange, Stream};
use std::f64::consts::{LN_10, SQRT_2};

/// Log-normal shadowing: the received power in decibels is normally distributed around that of the
/// [`PathLoss`](crate::PathLoss).
///
/// As in ns-2's `Propagation/Shadowing`, every call draws anew, once for each frame and receiver.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct LogNormalShadowing {
    std_db: f64,
}

impl LogNormalShadowing {
    /// Default standard deviation of ns-2 in dB: its `std_db_`.
    pub const NS2_STD_DB: f64 = 4.0;

    /// Creates shadowing with a standard deviation of `std_db` decibels.
    ///
    /// # Errors
    /// If `std_db` is outside [0, 40].
    pub fn new(std_db: f64) -> Result<Self, ChannelError> {
        if (0.0..=40.0).contains(&std_db) {
            Ok(Self { std_db })
        } else {
            let allowed = "between 0 and 40";
            Err(OutOfRange::new("shadowing_db", format!("{std_db:?}"), allowed).into())
        }
    }

    /// Standard deviation of the shadowing in dB.
    pub fn std_db(&self) -> f64 {
        self.std_db
    }

    /// Draws a power gain (a ratio, not dB) whose median is 1. It consumes two random numbers of the stream, none with
    /// a standard deviation of 0.
    pub fn gain(&self, stream: &mut Stream) -> f64 {
        if self.std_db == 0.0 {
            return 1.0;
        }
        let normal = complex_normal(stream).re * SQRT_2;
        libm::exp(self.std_db * normal * LN_10 / 10.0)
    }

    /// Probability of a gain no more than `margin_db` below the median: `P[gain >= -margin_db]`, with the gain in dB.
    pub fn probability_above(&self, margin_db: f64) -> f64 {
        if self.std_db == 0.0 {
            return f64::from(u8::from(margin_db >= 0.0));
        }
        0.5 * libm::erfc(-margin_db / (self.std_db * SQRT_2))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crossfade_core::RunSeed;

    #[test]
    fn draws_have_the_mean_and_deviation_in_decibels() {
        let shadowing = LogNormalShadowing::new(LogNormalShadowing::NS2_STD_DB).unwrap();
        let mut stream = RunSeed { seed: 1, run: 0 }.stream("mac.shadowing.0");
        let n = 40_000;
        let db: Vec<f64> = (0..n).map(|_| 10.0 * shadowing.gain(&mut stream).log10()).collect();
        let mean = db.iter().sum::<f64>() / f64::from(n);
        let variance = db.iter().map(|x| (x - mean).powi(2)).sum::<f64>() / f64::from(n);
        // Four standard errors.
        assert!(mean.abs() < 0.08, "{mean}");
        assert!((variance.sqrt() - 4.0).abs() < 0.057, "{variance}");
        for margin in [-3.0, 0.0, 8.0] {
            let share = db.iter().filter(|&&x| x >= -margin).count() as f64 / f64::from(n);
            assert!((share - shadowing.probability_above(margin)).abs() < 0.01, "{margin}: {share}");
        }
    }

    #[test]
    fn eight_db_of_margin_pass_98_per_cent_at_4_db() {
        // Q(-2) = 0.97725.
        let shadowing = LogNormalShadowing::new(4.0).unwrap();
        assert!((shadowing.probability_above(8.0) - 0.977_249_868).abs() < 1e-9);
        let none = LogNormalShadowing::new(0.0).unwrap();
        assert_eq!((none.probability_above(0.0), none.probability_above(-0.1)), (1.0, 0.0));
    }

    #[test]
    fn bad_parameters_are_refused() {
        let error = LogNormalShadowing::new(-1.0).unwrap_err();
        assert_eq!(error.to_string(), "shadowing_db = -1.0: must be between 0 and 40");
        assert!(LogNormalShadowing::new(f64::NAN).is_err());
    }
}
