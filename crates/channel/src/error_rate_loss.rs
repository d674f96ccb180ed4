//! Losses by an error rate that depends on a signal-to-noise ratio which fades in time.
//!
//! The signal-to-noise ratio of a transmission is the mean ratio times the power |h|^2 of a Rayleigh fading gain of
//! mean power 1 (or 1 without fading), times log-normal shadowing. A gain is constant over a step of the channel, or
//! over a part of a step where there are several [`parts`](ErrorRateLoss::parts). An [`ErrorRate`] maps these ratios to
//! the error rate of a block.

use crate::antenna_correlation::AntennaCorrelation;
use crate::correlated_shadowing::{CorrelatedShadowing, ShadowingProcess};
use crate::error::{ChannelError, out_of_range};
use crate::loss::{Clock, LossProcess};
use crate::matrix_fading::{MatrixFading, Motion};
use crate::simd::Simd;
use crossfade_core::{SimTime, Stream, from_db};
use rand::RngExt;
use std::fmt::Debug;
use std::sync::{Arc, OnceLock};

/// Error rate of blocks as a function of the signal-to-noise ratio, which is linear, not in dB.
pub trait ErrorRate: Debug + Send + Sync {
    /// Effective signal-to-noise ratio of a block whose equally long parts have the given ratios (all linear, not in
    /// dB); with a single part, its own ratio.
    fn effective(&self, ratios: &[f64]) -> f64;

    /// Error rate of a block of `bytes` whose `copies` received copies are combined; their signal-to-noise ratios
    /// (linear, not in dB) add up to `sum`.
    fn error_rate(&self, sum: f64, copies: u32, bytes: u32) -> f64;
}

/// Configuration of losses by an error rate at a fading signal-to-noise ratio.
#[derive(Clone, Debug)]
pub struct ErrorRateLoss {
    /// Error rate of a block as a function of its signal-to-noise ratio.
    pub rates: Arc<dyn ErrorRate>,
    /// Mean signal-to-noise ratio in dB; with shadowing, the median of the mean.
    pub snr_db: f64,
    /// Rayleigh fading of the SNR; `None`: a constant gain of 1.
    pub fading: Option<Motion>,
    /// Log-normal shadowing of the mean SNR in time; `None`: no shadowing.
    pub shadowing: Option<CorrelatedShadowing>,
    /// Number of equal parts of a channel step, each with its own fading gain.
    pub parts: u32,
    /// Block size in bytes for which [`rate`](Self::rate) holds, and of transmissions without a stated size.
    pub bytes: u32,
    /// True if the receiver combines the copies of a block, for which it needs more than the fate of each copy.
    pub combines: bool,
    /// Cached result of [`rate`](Self::rate), which takes milliseconds.
    known: OnceLock<Option<f64>>,
}

/// Greatest number of parts of a channel step.
pub const MOST_PARTS: u32 = 64;

/// Steps of the sum over shadowing on either side of its median; the sum spans 6 standard deviations each way.
const STEPS: i32 = 48;

/// Offsets in the channel's random stream of the draws for shadowing and for verdicts: far from those of the gains, and
/// from each other.
const SHADOWING: u128 = 1 << 100;
const VERDICTS: u128 = 1 << 101;

impl ErrorRateLoss {
    /// Creates a configuration with a constant SNR of `snr_db` and blocks of `bytes`; fading, shadowing and further
    /// fields are set before its first use.
    pub fn new(rates: Arc<dyn ErrorRate>, snr_db: f64, bytes: u32) -> Self {
        let known = OnceLock::new();
        Self { rates, snr_db, fading: None, shadowing: None, parts: 1, bytes, combines: false, known }
    }

    /// Checks the configuration.
    ///
    /// # Errors
    /// If `snr_db` is outside [-50, 60] dB, `parts` outside 1 to 64 or above 1 with gains that do not move in time,
    /// `fd_t` out of range, or `CROSSFADE_SIMD` names instructions that this processor lacks.
    pub fn check(&self) -> Result<(), ChannelError> {
        if !(-50.0..=60.0).contains(&self.snr_db) {
            return Err(out_of_range("snr_db", self.snr_db, "between -50 and 60"));
        }
        if !(1..=MOST_PARTS).contains(&self.parts) {
            return Err(out_of_range("parts", f64::from(self.parts), "between 1 and 64"));
        }
        let moves_in_time = matches!(self.fading, Some(Motion::Moving { clock: Clock::Slot(_), .. }));
        if self.parts > 1 && !moves_in_time {
            return Err(out_of_range("parts", f64::from(self.parts), "1 where gains do not move in time"));
        }
        // Creating a realisation checks `fd_t` and the instructions.
        self.gains(rand::SeedableRng::from_seed([0; 32])).map(|_| ())
    }

    /// Fading gains drawn from `stream`, and the duration of a part of a step; `None` without fading.
    fn gains(&self, stream: Stream) -> Result<Option<(MatrixFading, SimTime)>, ChannelError> {
        let Some(motion) = self.fading else { return Ok(None) };
        let (motion, part) = match motion {
            Motion::Moving { fd_t, clock: Clock::Slot(step) } => {
                let part = SimTime::from_nanos((step.as_nanos() / u64::from(self.parts)).max(1));
                // A part is rounded to whole nanoseconds; its Doppler shift is scaled by its length.
                let fd_t = fd_t * (part.as_nanos() as f64 / step.as_nanos() as f64);
                (Motion::Moving { fd_t, clock: Clock::Slot(part) }, part)
            }
            other => (other, SimTime::ZERO),
        };
        let fading = MatrixFading::new((1, 1), motion, AntennaCorrelation::None, stream, Simd::chosen()?)?;
        Ok(Some((fading, part)))
    }

    /// Creates the process that gives each transmission its signal-to-noise ratio, drawn from `stream`.
    ///
    /// # Errors
    /// If [`check`](Self::check) refuses the configuration.
    pub fn ratios(&self, stream: &Stream) -> Result<FadingRatio, ChannelError> {
        let shadowing = self.shadowing.map(|config| config.process(advanced(stream, SHADOWING)));
        let ratios = vec![from_db(self.snr_db); self.parts as usize];
        Ok(FadingRatio { snr_db: self.snr_db, gains: self.gains(stream.clone())?, shadowing, ratios })
    }

    /// Uniform random number of transmission `number`, in [0, 1): the block is lost if it is below the error rate.
    pub fn verdict(stream: &Stream, number: u128) -> f64 {
        advanced(stream, VERDICTS.wrapping_add(number)).random()
    }

    /// True if blocks fail independently of each other: no shadowing, and no gains that move from step to step.
    pub fn is_independent(&self) -> bool {
        self.shadowing.is_none() && !matches!(self.fading, Some(Motion::Moving { .. }))
    }

    /// Long-run loss rate of blocks of the usual size: the mean of the error rate over the distribution of the SNR,
    /// exponential under fading, log-normal under shadowing. The error is below 1e-5, or 1.2e-4 of the height of a step
    /// in the error rate. `None` if blocks have several parts.
    pub fn rate(&self) -> Option<f64> {
        *self.known.get_or_init(|| self.mean_rate())
    }

    fn mean_rate(&self) -> Option<f64> {
        if self.parts > 1 {
            return None;
        }
        let at = |mean: f64| match self.fading {
            None => self.rates.error_rate(mean, 1, self.bytes),
            // Shadowing smooths steps in the error rate, so fewer panels suffice.
            Some(_) => self.over_fading(mean, if self.shadowing.is_some() { 1 << 10 } else { 1 << 15 }),
        };
        let Some(shadowing) = self.shadowing else { return Some(at(from_db(self.snr_db))) };
        // Mean over shadowing by the trapezoidal rule.
        let (mut sum, mut weights) = (0.0, 0.0);
        for i in -STEPS..=STEPS {
            let z = 6.0 * f64::from(i) / f64::from(STEPS);
            let weight = libm::exp(-z * z / 2.0);
            sum += weight * at(from_db(self.snr_db + z * shadowing.std_db()));
            weights += weight;
        }
        Some(sum / weights)
    }

    /// Mean of the error rate at the SNR `mean` x g, g exponential with mean 1: an integral over t = ln g by the
    /// midpoint rule.
    fn over_fading(&self, mean: f64, panels: u32) -> f64 {
        let (first, last) = (-16.0, 4.0);
        let step = (last - first) / f64::from(panels);
        let value = |i: u32| {
            let g = libm::exp(first + step * (f64::from(i) + 0.5));
            step * g * libm::exp(-g) * self.rates.error_rate(mean * g, 1, self.bytes)
        };
        let deepest = self.rates.error_rate(mean * libm::exp(first), 1, self.bytes) * libm::exp(first);
        (deepest + (0..panels).map(value).sum::<f64>()).min(1.0)
    }
}

fn advanced(stream: &Stream, by: u128) -> Stream {
    let mut stream = stream.clone();
    stream.advance(by);
    stream
}

/// Signal-to-noise ratio of each transmission, as a function of the stream, the time and the number of the
/// transmission.
#[derive(Clone, Debug)]
pub struct FadingRatio {
    snr_db: f64,
    /// Fading gain between two antennas, and the duration of a part of a transmission.
    gains: Option<(MatrixFading, SimTime)>,
    shadowing: Option<ShadowingProcess>,
    ratios: Vec<f64>,
}

impl FadingRatio {
    /// Signal-to-noise ratio (linear, not in dB) of each part of transmission number `transmission`, which starts at
    /// `now`.
    pub fn at(&mut self, now: SimTime, transmission: u64) -> &[f64] {
        let moving = self.shadowing.as_mut().map(|shadowing| shadowing.db_at(now));
        let mean = from_db(self.snr_db + moving.unwrap_or_default());
        for (i, place) in (0_u64..).zip(&mut self.ratios) {
            *place = mean;
            if let Some((gains, part)) = &mut self.gains {
                *place *= gains.gains(now.saturating_add(part.saturating_mul(i)), transmission).mean_power();
            }
        }
        &self.ratios
    }
}

/// Loss process of an [`ErrorRateLoss`].
pub(crate) struct ErrorRateLosses {
    config: ErrorRateLoss,
    ratios: FadingRatio,
    stream: Stream,
}

impl ErrorRateLosses {
    /// Creates the loss process of `config`, drawn from `stream`.
    pub(crate) fn new(config: ErrorRateLoss, stream: Stream) -> Result<Self, ChannelError> {
        Ok(Self { ratios: config.ratios(&stream)?, config, stream })
    }
}

impl LossProcess for ErrorRateLosses {
    fn lost(&mut self, now: SimTime, transmission: u64) -> bool {
        self.lost_of(now, transmission, self.config.bytes)
    }

    fn lost_of(&mut self, now: SimTime, transmission: u64, bytes: u32) -> bool {
        let ratio = self.config.rates.effective(self.ratios.at(now, transmission));
        let rate = self.config.rates.error_rate(ratio, 1, bytes);
        ErrorRateLoss::verdict(&self.stream, u128::from(transmission)) < rate
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crossfade_core::RunSeed;

    /// Test error rate exp(-SNR / 4) for blocks of 100 bytes, scaled to other sizes; the effective ratio of several
    /// parts is their mean.
    #[derive(Debug)]
    struct Exponential;

    impl ErrorRate for Exponential {
        fn effective(&self, ratios: &[f64]) -> f64 {
            ratios.iter().sum::<f64>() / ratios.len() as f64
        }

        fn error_rate(&self, sum: f64, _copies: u32, bytes: u32) -> f64 {
            1.0 - (1.0 - libm::exp(-sum / 4.0)).powf(f64::from(bytes) / 100.0)
        }
    }

    const SLOT: SimTime = SimTime::from_millis(1);

    fn config(fading: Option<Motion>) -> ErrorRateLoss {
        ErrorRateLoss { fading, ..ErrorRateLoss::new(Arc::new(Exponential), 10.0, 100) }
    }

    fn moving(fd_t: f64) -> Motion {
        Motion::Moving { fd_t, clock: Clock::Slot(SLOT) }
    }

    fn losses(config: &ErrorRateLoss, n: u64, bytes: u32) -> f64 {
        let stream = RunSeed { seed: 3, run: 0 }.stream("channel.dl");
        let mut losses = ErrorRateLosses::new(config.clone(), stream).unwrap();
        (0..n).filter(|&i| losses.lost_of(SLOT * i, i, bytes)).count() as f64 / n as f64
    }

    #[test]
    fn the_share_lost_is_the_mean_over_the_ratio() {
        let n = 100_000;
        // The mean of exp(-10 g / 4) over an exponential g of mean 1 is 1 / (1 + 10 / 4).
        let (constant, faded) = (libm::exp(-2.5), 1.0 / 3.5);
        // Five standard errors: false alarms once in a million. Fast fading has steps that are nearly independent.
        let check = |found: f64, exact: f64| {
            let error = 5.0 * (exact * (1.0 - exact) / n as f64).sqrt();
            assert!((found - exact).abs() < error, "{found} {exact}");
        };
        for (fading, exact) in [(None, constant), (Some(Motion::Independent), faded)] {
            let config = config(fading);
            assert!((config.rate().unwrap() - exact).abs() < 1e-4 * exact, "{:?} {exact}", config.rate());
            assert!(config.is_independent());
            check(losses(&config, n, 100), exact);
        }
        check(losses(&config(None), n, 200), 1.0 - (1.0 - constant) * (1.0 - constant));
        assert!(!config(Some(moving(0.01))).is_independent());
        assert!((config(Some(moving(0.01))).rate().unwrap() - faded).abs() < 1e-4 * faded);
    }

    #[test]
    fn moving_gains_lose_in_bursts_and_in_the_mean_alike() {
        // Each run is one draw of the gains of 200 steps: the spread over runs tells the error of their mean.
        let config = config(Some(moving(0.02)));
        let share = |run: u64| {
            let stream = RunSeed { seed: 5, run }.stream("channel.dl");
            let mut losses = ErrorRateLosses::new(config.clone(), stream).unwrap();
            (0..200).filter(|&i| losses.lost(SLOT * i, i)).count() as f64 / 200.0
        };
        let shares: Vec<f64> = (0..600).map(share).collect();
        let mean = shares.iter().sum::<f64>() / 600.0;
        let variance = shares.iter().map(|share| (share - mean) * (share - mean)).sum::<f64>() / 599.0;
        let exact = 1.0 / 3.5;
        assert!((mean - exact).abs() < 5.0 * (variance / 600.0).sqrt(), "{mean} {exact}");
        // Independent losses would have a variance of p (1 - p) / 200.
        assert!(variance > 5.0 * exact * (1.0 - exact) / 200.0, "{variance}");
    }

    #[test]
    fn parts_average_within_a_step_and_any_order_gives_the_same() {
        let one = config(Some(moving(0.3)));
        let eight = ErrorRateLoss { parts: 8, ..one.clone() };
        let stream = RunSeed { seed: 3, run: 0 }.stream("channel.dl");
        let mut ratios = eight.ratios(&stream).unwrap();
        let first: Vec<Vec<f64>> = (0..50).map(|i| ratios.at(SLOT * i, i).to_vec()).collect();
        let again: Vec<Vec<f64>> = (0..50).rev().map(|i| ratios.at(SLOT * i, i).to_vec()).collect();
        assert!(first.iter().eq(again.iter().rev()));
        assert!(
            first.iter().all(|parts| parts.len() == 8 && parts.windows(2).all(|pair| pair[0] != pair[1]))
        );
        // The spread of the mean of parts is less than that of one gain.
        let variance = |config: &ErrorRateLoss| {
            let mut ratios = config.ratios(&stream).unwrap();
            let of: Vec<f64> = (0..20_000).map(|i| Exponential.effective(ratios.at(SLOT * i, i))).collect();
            let mean = of.iter().sum::<f64>() / 20_000.0;
            of.iter().map(|x| (x - mean) * (x - mean)).sum::<f64>() / 20_000.0
        };
        assert!(variance(&eight) < 0.9 * variance(&one));
        assert_eq!(eight.rate(), None);
    }

    /// Dividing a step into parts leaves its Doppler shift unchanged: powers of one step and the next correlate by J0(2
    /// pi 0.1)^2 = 0.8168, with one sample per run, within five standard errors of the mean.
    #[test]
    fn parts_do_not_speed_fading_up() {
        for parts in [1, 4] {
            let config = ErrorRateLoss { parts, ..config(Some(moving(0.1))) };
            let pair = |run: u64| {
                let stream = RunSeed { seed: 4, run }.stream("channel.dl");
                let mut ratios = config.ratios(&stream).unwrap();
                let mut power = |step: u64| ratios.at(SLOT * step, step)[0] / 10.0;
                (power(50), power(51))
            };
            let n = 4000;
            let products: Vec<f64> = (0..n).map(pair).map(|(a, b)| (a - 1.0) * (b - 1.0)).collect();
            let mean = products.iter().sum::<f64>() / n as f64;
            let variance = products.iter().map(|x| (x - mean) * (x - mean)).sum::<f64>() / (n - 1) as f64;
            let error = 5.0 * (variance / n as f64).sqrt();
            assert!(error < 0.4 && (mean - 0.8168).abs() < error, "{parts} parts: {mean} +- {error}");
        }
    }

    /// The number that decides a transmission is independent of its shadowing: products of a uniform number and the
    /// square of a normal one, both less their means, have mean 0 and variance 2 / 12; five standard errors.
    #[test]
    fn verdicts_are_independent_of_shadowing() {
        let shadowing = CorrelatedShadowing::new(6.0, SimTime::from_millis(100), SLOT).unwrap();
        let config = ErrorRateLoss { shadowing: Some(shadowing), ..config(None) };
        let product = |run: u64| {
            let stream = RunSeed { seed: 6, run }.stream("channel.dl");
            let ratio = config.ratios(&stream).unwrap().at(SimTime::ZERO, 0)[0];
            let z = (crossfade_core::to_db(ratio) - 10.0) / 6.0;
            (ErrorRateLoss::verdict(&stream, 0) - 0.5) * (z * z - 1.0)
        };
        let n = 4000;
        let mean = (0..n).map(product).sum::<f64>() / n as f64;
        assert!(mean.abs() < 5.0 * (2.0 / 12.0 / n as f64).sqrt(), "{mean}");
    }

    #[test]
    fn shadowing_moves_the_mean() {
        let shadowing = CorrelatedShadowing::new(6.0, SimTime::from_millis(100), SLOT).unwrap();
        let config = ErrorRateLoss { shadowing: Some(shadowing), ..config(None) };
        // The mean of exp(-10^(z 6 / 10) 10 / 4) over a standard normal z, by scipy.integrate.quad.
        let rate = config.rate().unwrap();
        assert!((rate - SHADOWED).abs() < 1e-6, "{rate}");
        assert!(!config.is_independent());
    }
    const SHADOWED: f64 = 0.213_490_281_35;

    #[test]
    fn what_cannot_be_is_refused() {
        let said = |config: ErrorRateLoss| config.check().unwrap_err().to_string();
        assert_eq!(
            said(ErrorRateLoss { parts: 65, ..config(Some(moving(0.1))) }),
            "parts = 65.0: must be between 1 and 64"
        );
        assert_eq!(
            said(ErrorRateLoss { parts: 2, ..config(None) }),
            "parts = 2.0: must be 1 where gains do not move in time"
        );
        assert_eq!(
            said(ErrorRateLoss { snr_db: 61.0, ..config(None) }),
            "snr_db = 61.0: must be between -50 and 60"
        );
        assert!(said(config(Some(moving(-1.0)))).starts_with("fd_t = "));
    }
}
