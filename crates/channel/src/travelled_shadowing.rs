//! Log-normal shadowing of a moving user, as a function of the distance travelled.

use crate::autoregressive::Autoregressive;
use crate::error::{ChannelError, out_of_range};
use crossfade_core::Stream;

/// Shadowing in dB along the path of a user: a first-order autoregressive process with one sample every
/// [`spacing_m`](ShadowingConfig::spacing_m) metres, s(k) = a s(k-1) + sqrt(1 - a^2) sigma w(k), interpolated linearly
/// (Gudmundson 1991).
///
/// The value depends only on the stream and the distance; a shorter distance than in the last call restarts from the
/// beginning.
#[derive(Clone, Debug)]
pub struct TravelledShadowing {
    config: ShadowingConfig,
    samples: Autoregressive,
    /// Index of the first of the two samples between which the last position lies.
    sample: u64,
    around: [f64; 2],
}

/// Parameters of shadowing along the path of a user.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct ShadowingConfig {
    /// Standard deviation sigma of the shadowing in dB.
    pub std_db: f64,
    /// Correlation a of neighbouring samples, from 0 to below 1.
    pub pole: f64,
    /// Distance between neighbouring samples in metres.
    pub spacing_m: f64,
    /// True if a sample holds until the next; otherwise values are interpolated linearly.
    pub hold: bool,
}

impl ShadowingConfig {
    /// Checks the parameters.
    ///
    /// # Errors
    /// If `std_db` is outside [0, 40], `pole` outside [0, 1), or `spacing_m` not between 1 cm and 10 km.
    pub fn check(&self) -> Result<(), ChannelError> {
        if !(0.0..=40.0).contains(&self.std_db) {
            return Err(out_of_range("sigma_db", self.std_db, "between 0 and 40"));
        }
        if !(0.0..1.0).contains(&self.pole) {
            return Err(out_of_range("pole", self.pole, "at least 0 and below 1"));
        }
        if !(0.01..=1e4).contains(&self.spacing_m) {
            return Err(out_of_range("spacing", self.spacing_m, "between 1 cm and 10 km"));
        }
        Ok(())
    }
}

impl TravelledShadowing {
    /// Creates a realisation of the shadowing, drawn from `stream`.
    ///
    /// # Errors
    /// If [`ShadowingConfig::check`] refuses the parameters.
    pub fn new(config: ShadowingConfig, stream: Stream) -> Result<Self, ChannelError> {
        config.check()?;
        let mut samples = Autoregressive::new(config.pole, config.std_db, stream);
        let around = [0, 1].map(|sample| samples.at(sample));
        Ok(Self { config, samples, sample: 0, around })
    }

    /// Shadowing in dB after `way_m` metres of travel.
    pub fn db(&mut self, way_m: f64) -> f64 {
        let place = way_m / self.config.spacing_m;
        let sample = place as u64;
        if sample != self.sample {
            self.around = [sample, sample + 1].map(|sample| self.samples.at(sample));
            self.sample = sample;
        }
        let [first, second] = self.around;
        if self.config.hold { first } else { first + (second - first) * (place - sample as f64) }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crossfade_core::RunSeed;

    const PAPER: ShadowingConfig = ShadowingConfig { std_db: 4.0, pole: 0.74, spacing_m: 2.0, hold: false };

    #[test]
    fn samples_have_their_deviation_and_pole() {
        let mut squares = [0.0; 3];
        let (runs, samples) = (40, 1000_u32);
        for run in 0..runs {
            let stream = RunSeed { seed: 1, run }.stream("shadowing.0");
            let mut shadowing = TravelledShadowing::new(PAPER, stream).unwrap();
            let values: Vec<f64> = (0..samples).map(|k| shadowing.db(2.0 * f64::from(k))).collect();
            for (lag, square) in squares.iter_mut().enumerate() {
                *square += values.windows(lag + 1).map(|w| w[0] * w[lag]).sum::<f64>()
                    / (f64::from(samples) - lag as f64)
                    / runs as f64;
            }
        }
        // 40,000 samples correlated over about 3.4 each way: a standard error of 16 sqrt(2 x 3.4 / 4e4) = 0.21.
        for (square, expected) in squares.iter().zip([16.0, 16.0 * 0.74, 16.0 * 0.74 * 0.74]) {
            assert!((square - expected).abs() < 0.85, "{square} {expected}");
        }
    }

    #[test]
    fn places_can_be_asked_for_in_any_order() {
        let stream = || RunSeed { seed: 1, run: 9 }.stream("shadowing.0");
        let mut shadowing = TravelledShadowing::new(PAPER, stream()).unwrap();
        let [a, b] = [7.0, 8.0].map(|way| shadowing.db(way));
        let [far, again] = [7000.5, 7.0].map(|way| shadowing.db(way));
        assert_eq!(a, again);
        assert_eq!(far, TravelledShadowing::new(PAPER, stream()).unwrap().db(7000.5));
        // 7 m is half way between 6 and 8.
        assert!((a - f64::midpoint(shadowing.db(6.0), b)).abs() < 1e-12);
        let hold = ShadowingConfig { hold: true, ..PAPER };
        let mut held = TravelledShadowing::new(hold, stream()).unwrap();
        assert_eq!(held.db(7.9), shadowing.db(6.0));
    }

    #[test]
    fn bad_parameters_are_refused() {
        let error = |config: ShadowingConfig| config.check().unwrap_err().to_string();
        assert_eq!(
            error(ShadowingConfig { pole: 1.0, ..PAPER }),
            "pole = 1.0: must be at least 0 and below 1"
        );
        assert_eq!(
            error(ShadowingConfig { std_db: -1.0, ..PAPER }),
            "sigma_db = -1.0: must be between 0 and 40"
        );
        assert!(ShadowingConfig { spacing_m: 0.0, ..PAPER }.check().is_err());
    }
}
