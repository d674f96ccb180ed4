//! Monte-Carlo estimates with confidence intervals.

use statrs::distribution::{ContinuousCDF, StudentsT};

/// How a value was obtained.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Method {
    /// Solved.
    Analysis,
    /// Estimated from simulated runs.
    Simulation,
    /// Measured on real programs.
    Live,
}

/// A value with the half-width of its two-sided 95 % confidence interval.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Estimate {
    /// The mean over the runs.
    pub value: f64,
    /// Half-width of the two-sided 95 % Student interval; `None` where one run says nothing of the spread.
    pub ci95: Option<f64>,
    /// The number of runs.
    pub n: u64,
    /// Where the value comes from.
    pub method: Method,
}

impl Estimate {
    /// The mean of independent replications and its Student interval; `None` of an empty slice.
    ///
    /// ```
    /// use crossfade_core::{Estimate, Method};
    /// let e = Estimate::from_runs(&[1.0, 2.0, 3.0], Method::Simulation).unwrap();
    /// assert_eq!(e.value, 2.0);
    /// // t(0.975, 2) = 4.302653, standard error 1 / sqrt(3).
    /// assert!((e.ci95.unwrap() - 2.484138).abs() < 1e-6);
    /// ```
    pub fn from_runs(values: &[f64], method: Method) -> Option<Self> {
        if values.is_empty() {
            return None;
        }
        let n = values.len() as f64;
        let mean = values.iter().sum::<f64>() / n;
        let ci95 = (values.len() > 1).then(|| {
            let variance = values.iter().map(|x| (x - mean).powi(2)).sum::<f64>() / (n - 1.0);
            student_t_quantile(0.975, n - 1.0) * (variance / n).sqrt()
        });
        Some(Self { value: mean, ci95, n: values.len() as u64, method })
    }

    /// Whether the interval is no wider than `relative` of the value on either side.
    pub fn is_within(&self, relative: f64) -> bool {
        self.ci95.is_some_and(|ci95| ci95 <= relative * self.value.abs())
    }
}

/// Jain's fairness index of what several users get: (sum x)^2 / (n sum x^2). It is 1 if all get the same
/// and 1/n if one gets everything (Jain, Chiu and Hawe, DEC TR-301, 1984). `None` of no users, or if nobody
/// gets anything.
///
/// ```
/// use crossfade_core::jain_fairness;
/// assert_eq!(jain_fairness(&[2.0, 2.0]), Some(1.0));
/// assert_eq!(jain_fairness(&[1.0, 0.0, 0.0, 0.0]), Some(0.25));
/// ```
pub fn jain_fairness(values: &[f64]) -> Option<f64> {
    let (sum, squares) = values.iter().fold((0.0, 0.0), |(sum, squares), x| (sum + x, squares + x * x));
    (squares > 0.0).then(|| sum * sum / (values.len() as f64 * squares))
}

/// The `p` quantile of Student's t distribution with `freedom` degrees of freedom.
///
/// # Panics
/// If `freedom` is not positive or `p` is outside (0, 1).
pub fn student_t_quantile(p: f64, freedom: f64) -> f64 {
    StudentsT::new(0.0, 1.0, freedom).expect("positive degrees of freedom").inverse_cdf(p)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn quantiles_match_scipy() {
        // scipy.stats.t.ppf(0.975, df)
        for (freedom, expected) in [
            (1.0, 12.706204736174698),
            (2.0, 4.302652729749462),
            (9.0, 2.2621571627982053),
            (29.0, 2.045229642132703),
            (999.0, 1.9623414611334487),
        ] {
            let got = student_t_quantile(0.975, freedom);
            assert!((got - expected).abs() < 1e-9 * expected, "df {freedom}: {got} against {expected}");
        }
    }

    #[test]
    fn one_run_has_no_interval() {
        let estimate = Estimate::from_runs(&[0.5], Method::Simulation).unwrap();
        assert_eq!(estimate.ci95, None);
        assert!(!estimate.is_within(1.0));
        assert_eq!(Estimate::from_runs(&[], Method::Simulation), None);
    }
}
