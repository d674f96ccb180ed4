//! Tools for tests of random numbers: a salt for all streams, a long form of slow tests, and bounds with a stated
//! false-alarm rate.
//!
//! The feature `testing` enables this module; only dev-dependencies request it.

use crate::student::student_t_quantile;
use std::env::{VarError, var, var_os};
use std::sync::OnceLock;

/// False-alarm rate of one assertion on [`Runs`]: one of 10,000 salts fails a correct program.
pub const FALSE_ALARM: f64 = 1e-4;

/// Salt of all random streams, from the environment variable `CROSSFADE_TEST_SALT`; 0 if it is unset. Tests that pin
/// the numbers of one seed hold only at 0.
///
/// # Panics
///
/// If the variable is set to anything but a whole number.
pub fn salt() -> u64 {
    static SALT: OnceLock<u64> = OnceLock::new();
    *SALT.get_or_init(|| match var("CROSSFADE_TEST_SALT") {
        Ok(text) => text
            .parse()
            .unwrap_or_else(|_| panic!("CROSSFADE_TEST_SALT must be a whole number, not {text:?}")),
        Err(VarError::NotPresent) => 0,
        Err(error) => panic!("CROSSFADE_TEST_SALT: {error}"),
    })
}

/// True if the salt is not 0, so that all streams differ from the usual ones. Tests of pinned numbers then return at
/// once.
pub fn is_salted() -> bool {
    salt() != 0
}

/// True if the environment variable `CROSSFADE_LONG` is set and not empty: tests then take their long form, with more
/// cases, more runs or longer ones. `make test-long` sets it, for Rust and for Python.
pub fn is_long() -> bool {
    static IS_LONG: OnceLock<bool> = OnceLock::new();
    *IS_LONG.get_or_init(|| var_os("CROSSFADE_LONG").is_some_and(|value| !value.is_empty()))
}

/// Returns `long` in the long form of tests (see [`is_long`]), else `usual`.
pub fn long_or<T>(long: T, usual: T) -> T {
    if is_long() { long } else { usual }
}

/// One number for each of several independent runs.
#[derive(Clone, Debug)]
pub struct Runs(Vec<f64>);

impl Runs {
    /// Numbers that `value` gives for the runs 0 to `count` - 1.
    pub fn of(count: u64, value: impl FnMut(u64) -> f64) -> Self {
        (0..count).map(value).collect::<Vec<f64>>().into()
    }

    /// Mean over the runs.
    pub fn mean(&self) -> f64 {
        self.0.iter().sum::<f64>() / self.0.len() as f64
    }

    /// Standard error of the mean; NaN for a single run.
    pub fn error(&self) -> f64 {
        let (n, mean) = (self.0.len() as f64, self.mean());
        let variance = self.0.iter().map(|x| (x - mean) * (x - mean)).sum::<f64>() / (n - 1.0);
        (variance / n).sqrt()
    }

    /// Half-width of the Student interval that misses the true mean with probability [`FALSE_ALARM`].
    ///
    /// # Panics
    ///
    /// For a single run, which has no spread.
    fn half_width(&self) -> f64 {
        let freedom = self.0.len() as f64 - 1.0;
        student_t_quantile(1.0 - FALSE_ALARM / 2.0, freedom) * self.error()
    }

    /// Paired differences: the numbers minus those of `other` in the same runs. Common random effects cancel in them.
    #[must_use]
    pub fn less(&self, other: &Self) -> Self {
        assert_eq!(self.0.len(), other.0.len());
        self.0.iter().zip(&other.0).map(|(a, b)| a - b).collect::<Vec<f64>>().into()
    }

    /// Asserts that the true mean can be in `range`, with a false-alarm rate of [`FALSE_ALARM`].
    ///
    /// # Panics
    ///
    /// If it cannot, or if the half-width of the interval exceeds twice the width of `range`: too few runs to tell.
    #[track_caller]
    pub fn assert_mean_in(&self, range: std::ops::RangeInclusive<f64>, what: &str) {
        let (mean, half, low, high) = (self.mean(), self.half_width(), *range.start(), *range.end());
        let said = format!("{what}: {mean:.5} +- {half:.5} over {} runs, not {low} to {high}", self.0.len());
        println!("{}", said.replace(", not ", ", bounds "));
        assert!(mean + half >= low && mean - half <= high, "{said}");
        // An end of `f64::INFINITY` makes the assertion one-sided.
        assert!(half <= 2.0 * (high - low), "{said}: too few runs to tell");
    }

    /// Like [`Self::assert_mean_in`], but the range is `expected` plus or minus `tolerance`.
    #[track_caller]
    pub fn assert_mean_near(&self, expected: f64, tolerance: f64, what: &str) {
        self.assert_mean_in(expected - tolerance..=expected + tolerance, what);
    }
}

impl From<Vec<f64>> for Runs {
    fn from(values: Vec<f64>) -> Self {
        Self(values)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::RunSeed;
    use rand::RngExt;

    #[test]
    fn the_long_form_is_asked_for() {
        let is_asked = std::env::vars().any(|(name, value)| name == "CROSSFADE_LONG" && !value.is_empty());
        assert_eq!((is_long(), long_or(7, 3)), (is_asked, if is_asked { 7 } else { 3 }));
    }

    #[test]
    fn intervals_are_students() {
        let runs = Runs::from(vec![1.0, 2.0, 3.0]);
        // scipy.stats.t.ppf(1 - 0.5e-4, 2) = 99.99249984, standard error 1 / sqrt(3).
        assert!((runs.half_width() - 99.99249984 / 3.0_f64.sqrt()).abs() < 1e-5, "{}", runs.half_width());
        assert_eq!(runs.less(&Runs::from(vec![0.5; 3])).mean(), 1.5);
    }

    #[test]
    fn a_mean_that_is_off_is_seen() {
        let mut stream = RunSeed { seed: 1, run: 0 }.stream("runs");
        let runs = Runs::of(400, |_| stream.random::<f64>());
        // A standard error of 0.0144: 0.5 passes but once in 10,000, 0.7 is eight more of them off.
        runs.assert_mean_near(0.5, 0.03, "uniform");
        let off = std::panic::catch_unwind(|| runs.assert_mean_near(0.7, 0.03, "uniform"));
        let few =
            std::panic::catch_unwind(|| Runs::from(vec![0.4, 0.5, 0.6]).assert_mean_near(0.5, 0.1, "few"));
        assert!(off.is_err() && few.is_err());
    }
}
