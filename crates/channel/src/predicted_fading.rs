//! A frequency-selective fading channel and the transmitter's prediction of it.

use crate::delay_profile::DelayProfile;
use crate::doppler_taps::DopplerTaps;
use crate::error::{ChannelError, out_of_range};
use crate::frequency_response::FrequencyResponse;
use crate::simd::Simd;
use crossfade_core::Stream;
use num_complex::Complex64;
use std::f64::consts::TAU;
use std::sync::Arc;

/// Fading of one user: the gain h of each frequency bin, and its prediction p with the normalised mean square error e,
///
/// p = (1 - e) h + sqrt(e (1 - e)) w,
///
/// with w drawn like h and independent of it. Like the error of a minimum mean square error prediction, h - p has power
/// e and is orthogonal to p: h given p is Gaussian around p. The errors have the autocorrelation of the channel.
///
/// Gains depend only on the streams and the slot, and h does not depend on the error.
#[derive(Clone, Debug)]
pub struct PredictedFading {
    response: Arc<FrequencyResponse>,
    channel: DopplerTaps,
    /// The process w, and the error e; `None` if predictions are exact.
    error: Option<(DopplerTaps, f64)>,
    slot: Option<u64>,
    gains: Vec<f32>,
    predicted: Vec<f32>,
}

impl PredictedFading {
    /// Creates a realisation of `profile` seen through `response`, with the maximum Doppler shift `fd_t` in cycles per
    /// slot. The first stream is that of the channel, the second that of the errors.
    ///
    /// # Errors
    /// If `nmse` is outside [0, 1), or [`DopplerTaps::new`] refuses `fd_t`.
    pub fn new(
        profile: &DelayProfile,
        response: Arc<FrequencyResponse>,
        fd_t: f64,
        nmse: f64,
        [channel, errors]: [Stream; 2],
        simd: Simd,
    ) -> Result<Self, ChannelError> {
        if !(0.0..1.0).contains(&nmse) {
            return Err(out_of_range("nmse", nmse, "at least 0 and below 1"));
        }
        let taps = profile.taps().len();
        let channel = DopplerTaps::new(taps, fd_t, channel, simd)?;
        let error =
            if nmse == 0.0 { None } else { Some((DopplerTaps::new(taps, fd_t, errors, simd)?, nmse)) };
        let row = vec![0.0; channel.row_len()];
        Ok(Self { response, channel, error, slot: None, gains: row.clone(), predicted: row })
    }

    /// Moves the gains and their prediction to radio slot number `slot`.
    pub fn go(&mut self, slot: u64) {
        if self.slot == Some(slot) {
            return;
        }
        self.slot = Some(slot);
        self.channel.at(slot, &mut self.gains);
        if let Some((process, nmse)) = &mut self.error {
            process.at(slot, &mut self.predicted);
            let (of_gain, of_error) = ((1.0 - *nmse) as f32, (*nmse * (1.0 - *nmse)).sqrt() as f32);
            for (predicted, gain) in self.predicted.iter_mut().zip(&self.gains) {
                *predicted = gain * of_gain + *predicted * of_error;
            }
        }
    }

    fn prediction_row(&self) -> &[f32] {
        if self.error.is_some() { &self.predicted } else { &self.gains }
    }

    /// Writes the predicted power gain |p|^2 of every bin to `powers`, which has [`FrequencyResponse::padded`] places.
    pub fn predicted_powers(&self, powers: &mut [f32]) {
        self.response.powers(self.prediction_row(), powers);
    }

    /// Predicted complex gain p of bin number `bin`.
    pub fn prediction(&self, bin: usize) -> Complex64 {
        self.response.gain(self.prediction_row(), bin)
    }

    /// Complex gain h of bin number `bin`.
    pub fn gain(&self, bin: usize) -> Complex64 {
        self.response.gain(&self.gains, bin)
    }
}

/// Normalised mean square error of the best linear prediction of a fading gain `horizon` slots ahead, from the last
/// `observations` slots, each observed with a signal-to-noise ratio of `snr` (linear, not in dB): the Wiener filter for
/// a channel with autocorrelation `J0(2 pi fd_t k)`.
pub fn wiener_nmse(fd_t: f64, horizon: f64, snr: f64, observations: usize) -> f64 {
    let correlation = |slots: f64| libm::j0(TAU * fd_t * slots);
    let n = observations;
    let mut matrix: Vec<Vec<f64>> = (0..n)
        .map(|i| {
            (0..n).map(|j| correlation(i as f64 - j as f64) + if i == j { 1.0 / snr } else { 0.0 }).collect()
        })
        .collect();
    let cross: Vec<f64> = (0..n).map(|i| correlation(horizon + i as f64)).collect();
    // Cholesky; |L^-1 r|^2 is the power that the filter predicts.
    let mut explained = 0.0;
    let mut solved = vec![0.0; n];
    for i in 0..n {
        for j in 0..=i {
            let known: f64 = (0..j).map(|k| matrix[i][k] * matrix[j][k]).sum();
            let rest = matrix[i][j] - known;
            matrix[i][j] = if i == j { rest.max(f64::MIN_POSITIVE).sqrt() } else { rest / matrix[j][j] };
        }
        let known: f64 = (0..i).map(|k| matrix[i][k] * solved[k]).sum();
        solved[i] = (cross[i] - known) / matrix[i][i];
        explained += solved[i] * solved[i];
    }
    (1.0 - explained).clamp(0.0, 1.0)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::delay_profile::NamedProfile;
    use crossfade_core::RunSeed;

    fn fading(nmse: f64, run: u64) -> PredictedFading {
        let profile = DelayProfile::named(NamedProfile::TypicalUrban).unwrap();
        let simd = Simd::widest();
        let response = Arc::new(FrequencyResponse::new(&profile, 25, 2e5, simd));
        let streams = ["channel", "prediction"].map(|name| RunSeed { seed: 2, run }.stream(name));
        PredictedFading::new(&profile, response, 0.0926, nmse, streams, simd).unwrap()
    }

    /// Mean of independent values, and its standard error.
    fn mean(values: impl Iterator<Item = f64>) -> (f64, f64) {
        let values: Vec<f64> = values.collect();
        let n = values.len() as f64;
        let mean = values.iter().sum::<f64>() / n;
        let variance = values.iter().map(|x| (x - mean).powi(2)).sum::<f64>() / (n - 1.0);
        (mean, (variance / n).sqrt())
    }

    fn assert_is((mean, error): (f64, f64), expected: f64, what: &str) {
        assert!(
            (mean - expected).abs() <= 4.0 * error,
            "{what}: {mean}, not {expected}, standard error {error}"
        );
    }

    /// Values of `of` at slots far enough apart to be nearly independent, over several runs, with prediction error
    /// `nmse`.
    fn visits<T>(nmse: f64, mut of: impl FnMut(&PredictedFading) -> T) -> Vec<T> {
        let mut all = Vec::new();
        for run in 0..8 {
            let mut fading = fading(nmse, run);
            for visit in 0..250 {
                fading.go(visit * 37);
                all.push(of(&fading));
            }
        }
        all
    }

    #[test]
    fn bins_are_correlated_as_the_profile_says() {
        let profile = DelayProfile::named(NamedProfile::TypicalUrban).unwrap();
        let pairs: Vec<Vec<Complex64>> = visits(0.0, |fading| (0..25).map(|bin| fading.gain(bin)).collect());
        for apart in [0, 1, 2, 3, 12] {
            let exact: Complex64 = profile
                .taps()
                .iter()
                .map(|tap| Complex64::from_polar(tap.power, -TAU * apart as f64 * 2e5 * tap.delay_s))
                .sum();
            let product = |bins: &Vec<Complex64>| bins[5 + apart] * bins[5].conj();
            assert_is(mean(pairs.iter().map(|bins| product(bins).re)), exact.re, "real part");
            assert_is(mean(pairs.iter().map(|bins| product(bins).im)), exact.im, "imaginary part");
            // 0.82, 0.53 and 0.39 in a prototype of another author.
            let printed = [1.0, 0.82, 0.53, 0.39];
            if let Some(printed) = printed.get(apart) {
                assert!((exact.norm() - printed).abs() < 0.005, "{apart}: {}", exact.norm());
            }
        }
    }

    #[test]
    fn predictions_have_the_error_asked_for_and_orthogonal_to_them() {
        for nmse in [0.025, 0.1, 0.4] {
            let pairs = visits(nmse, |fading| [fading.gain(3), fading.prediction(3)]);
            assert_is(mean(pairs.iter().map(|[h, p]| (h - p).norm_sqr())), nmse, "NMSE");
            assert_is(mean(pairs.iter().map(|[_, p]| p.norm_sqr())), 1.0 - nmse, "power of the prediction");
            assert_is(mean(pairs.iter().map(|[h, _]| h.norm_sqr())), 1.0, "power of the channel");
            assert_is(mean(pairs.iter().map(|[h, p]| ((h - p) * p.conj()).re)), 0.0, "orthogonality");
            assert_is(mean(pairs.iter().map(|[h, p]| ((h - p) * p.conj()).im)), 0.0, "orthogonality");
        }
    }

    #[test]
    fn powers_of_all_bins_are_those_of_each_and_the_channel_does_not_depend_on_the_error() {
        let (mut exact, mut wrong) = (fading(0.0, 0), fading(0.1, 0));
        let mut powers = [0.0; 32];
        for slot in [0, 1, 5000, 77] {
            exact.go(slot);
            wrong.go(slot);
            wrong.predicted_powers(&mut powers);
            for (bin, &power) in powers[..25].iter().enumerate() {
                assert_eq!(exact.gain(bin), wrong.gain(bin));
                let direct = wrong.prediction(bin).norm_sqr();
                assert!((f64::from(power) - direct).abs() < 1e-5, "{bin}: {power} {direct}");
            }
            assert_eq!(exact.gain(7), exact.prediction(7));
        }
    }

    #[test]
    fn wiener_has_its_limits() {
        // One observation: 1 - r^2 / (1 + 1/snr).
        let one = wiener_nmse(0.0926, 3.0, 40.0, 1);
        let r = libm::j0(TAU * 0.0926 * 3.0);
        assert!((one - (1.0 - r * r / 1.025)).abs() < 1e-12);
        // In a constant channel the noise averages out: 1 / (1 + n snr).
        assert!((wiener_nmse(0.0, 3.0, 2.0, 8) - 1.0 / 17.0).abs() < 1e-9);
        // Longer horizons are worse, more observations better, and all below the channel's power.
        let at = |horizon, observations| wiener_nmse(0.0926, horizon, 40.0, observations);
        assert!(at(1.0, 32) < at(2.0, 32) && at(2.0, 32) < at(3.0, 32) && at(3.0, 32) < 1.0);
        assert!(at(3.0, 32) < at(3.0, 4) && at(3.0, 4) < at(3.0, 1));
    }

    #[test]
    fn bad_errors_are_refused() {
        let profile = DelayProfile::named(NamedProfile::Epa).unwrap();
        let response = Arc::new(FrequencyResponse::new(&profile, 1, 2e5, Simd::widest()));
        let streams = || ["a", "b"].map(|name| RunSeed { seed: 2, run: 0 }.stream(name));
        let new =
            |nmse| PredictedFading::new(&profile, response.clone(), 0.1, nmse, streams(), Simd::widest());
        assert_eq!(new(1.0).unwrap_err().to_string(), "nmse = 1.0: must be at least 0 and below 1");
        assert!(new(f64::NAN).is_err() && new(0.999).is_ok());
    }
}
