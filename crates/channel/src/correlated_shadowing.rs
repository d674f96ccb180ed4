//! Correlated shadowing: a mean power that changes slowly in time.

use crate::autoregressive::Autoregressive;
use crate::error::ChannelError;
use crate::shadowing::LogNormalShadowing;
use crossfade_core::{OutOfRange, SimTime, Stream};

/// Log-normal shadowing in time: in decibels a stationary Gaussian process with autocorrelation exp(-t / T).
///
/// Source: Gudmundson, "Correlation model for shadow fading in mobile radio systems", Electronics Letters 27(23),
/// 1991, for a terminal of constant speed.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct CorrelatedShadowing {
    std_db: f64,
    decorrelation: SimTime,
    step: SimTime,
}

impl CorrelatedShadowing {
    /// Shadowing of standard deviation `std_db`, whose correlation falls to 1/e in the time `decorrelation`. Each value
    /// holds for a `step`.
    ///
    /// # Errors
    /// If `std_db` is outside [0, 40], or a time is zero.
    pub fn new(std_db: f64, decorrelation: SimTime, step: SimTime) -> Result<Self, ChannelError> {
        LogNormalShadowing::new(std_db)?;
        for (parameter, time) in [("decorrelation", decorrelation), ("step", step)] {
            OutOfRange::unless(time > SimTime::ZERO, parameter, format!("{time:?}"), "above 0")?;
        }
        Ok(Self { std_db, decorrelation, step })
    }

    /// Standard deviation of the shadowing in dB.
    pub fn std_db(self) -> f64 {
        self.std_db
    }

    /// Creates a realisation of the shadowing in time, drawn from `stream`.
    pub fn process(self, stream: Stream) -> ShadowingProcess {
        let correlation = libm::exp(-self.step.as_secs_f64() / self.decorrelation.as_secs_f64());
        ShadowingProcess { shadowing: self, steps: Autoregressive::new(correlation, 1.0, stream) }
    }
}

/// Realisation of shadowing in time: received power over its median, in dB. It depends only on stream and time; an
/// earlier time than in the last call restarts the computation from time zero.
#[derive(Clone, Debug)]
pub struct ShadowingProcess {
    shadowing: CorrelatedShadowing,
    /// Autoregressive process of standard deviation 1; its values are multiplied by the standard deviation in dB.
    steps: Autoregressive,
}

impl ShadowingProcess {
    /// Shadowing at `now`, in dB.
    pub fn db_at(&mut self, now: SimTime) -> f64 {
        self.shadowing.std_db * self.steps.at(now / self.shadowing.step)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crossfade_core::RunSeed;

    fn process(run: u64) -> ShadowingProcess {
        let stream = RunSeed { seed: 1, run }.stream("shadowing.dl");
        let (decorrelation, step) = (SimTime::from_secs_f64(1.0), SimTime::from_secs_f64(0.01));
        CorrelatedShadowing::new(6.0, decorrelation, step).unwrap().process(stream)
    }

    #[test]
    fn it_has_the_deviation_and_autocorrelation_of_the_model() {
        let runs = 4000;
        for lag in [0.0, 0.5, 1.0, 3.0] {
            let products = (0..runs).map(|run| {
                let mut process = process(run);
                process.db_at(SimTime::from_secs_f64(2.0)) * process.db_at(SimTime::from_secs_f64(2.0 + lag))
            });
            let got = products.sum::<f64>() / runs as f64 / 36.0;
            let expected = f64::exp(-lag);
            // Four standard errors: the variance of x y is 1 + rho^2.
            let error = 4.0 * ((1.0 + expected * expected) / runs as f64).sqrt();
            assert!((got - expected).abs() < error, "{lag}: {got}, {expected}");
        }
    }

    /// The value at time zero has the standard deviation of all others, 6 dB, within five standard errors of the
    /// mean square.
    #[test]
    fn the_first_value_is_stationary() {
        let runs = 4000;
        let square =
            (0..runs).map(|run| process(run).db_at(SimTime::ZERO).powi(2)).sum::<f64>() / runs as f64;
        assert!((square / 36.0 - 1.0).abs() < 5.0 * (2.0 / runs as f64).sqrt(), "{square}");
    }

    #[test]
    fn any_order_gives_the_same() {
        let at = |ms: u64| SimTime::from_nanos(ms * 1_000_000);
        let mut process = process(0);
        let forward: Vec<f64> = (0..200).map(|k| process.db_at(at(7 * k))).collect();
        let backward: Vec<f64> = (0..200).rev().map(|k| process.db_at(at(7 * k))).collect();
        assert!(forward.iter().eq(backward.iter().rev()));
        // Shadowing is constant within a step of 10 ms.
        assert_eq!(process.db_at(at(20)), process.db_at(at(29)));
        assert_ne!(process.db_at(at(20)), process.db_at(at(30)));
    }

    #[test]
    fn bad_parameters_are_refused() {
        let second = SimTime::from_secs_f64(1.0);
        let error = CorrelatedShadowing::new(41.0, second, second).unwrap_err();
        assert_eq!(error.to_string(), "shadowing_db = 41.0: must be between 0 and 40");
        let error = CorrelatedShadowing::new(6.0, SimTime::ZERO, second).unwrap_err();
        assert!(error.to_string().starts_with("decorrelation = "), "{error}");
    }
}
