//! Confidence intervals for cases in which Student's covers too rarely: rare events, rates without an event, shares
//! close to 0 or 1, and few skewed runs.
//!
//! Their measured coverage is in `docs/intervals.md`, computed by `bench/coverage.py`.

use crate::incomplete::{beta_quantile_odds, gamma_quantile};
use crate::portable::{cube, square};
use crate::student::student_quantiles;

/// Kind of a metric's values, which decides the confidence interval of their mean.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum MetricKind {
    /// Mean or sum of many values.
    Mean,
    /// Number of events in a run.
    Count,
    /// Number of events over the number of trials, such as losses over transmissions.
    Rate,
    /// Share between 0 and 1 without countable events.
    Share,
    /// Quantile within one run. It differs from the quantile of all runs together, the more the shorter the runs.
    Quantile,
}

/// Number of events and number of trials in all runs together, behind a count or a rate.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Events {
    /// Number of events in all runs together.
    pub events: f64,
    /// Number of trials in all runs together, such as slots or transmissions; for a count, the number of runs.
    pub chances: f64,
}

/// Lower and upper end of an interval.
pub(crate) type Limits = (f64, f64);

/// Number of events in all runs together below which they are rare: the interval is then that of a Poisson count
/// instead of Student's.
pub(crate) const RARE: f64 = 30.0;

/// Limits of the 95 % interval of a mean over `n` runs: on each side the outer one of Student's limit and of a limit
/// corrected for the skewness of the runs. `None` for a single run.
///
/// The correction is the cubic transformation of Willink, "A confidence interval and test for the mean of an
/// asymmetric distribution", Communications in Statistics 34 (2005), with a coverage of 98 % where the skewness
/// is more than two of its standard errors from 0: an estimate of it from ten runs falls short.
pub(crate) fn of_mean(values: &[f64]) -> Option<Limits> {
    let Moments { n, mean, deviation, skewness } = Moments::of(values)?;
    let error = deviation / n.sqrt();
    let [t, wider_t] = student_quantiles(values.len());
    let half = t * error;
    let student = (mean - half, mean + half);
    if n < 3.0 || half == 0.0 {
        return Some(student);
    }
    let is_skewed = skewness.abs() > 2.0 * skewness_error(n);
    let t = if is_skewed { wider_t } else { t };
    let a = skewness / (6.0 * n.sqrt());
    let transformed = |r: f64| {
        if a.abs() < 1e-9 { r } else { (libm::cbrt(1.0 + 6.0 * a * (r - a)) - 1.0) / (2.0 * a) }
    };
    Some(hull(student, (mean - transformed(t) * error, mean - transformed(-t) * error)))
}

/// Limits of the 95 % interval of a mean number of events per run, or of a rate per trial, from rare `events`. Without
/// events it is one-sided: above `high`, at most 5 % of experiments would have none. `None` without trials, or for a
/// single run with events.
///
/// The limits are the exact ones of a Poisson count (Garwood, Biometrika 28, 1936). If the counts of runs vary more
/// than Poisson counts do (index of dispersion, at 5 %), events are clustered: the effective number of events is then
/// smaller, and the interval at least as wide as that of a mean. The limit without events assumes single events: of
/// clustered ones it bounds the number of clusters.
pub(crate) fn of_events(values: &[f64], events: Events) -> Option<Limits> {
    let Events { events, chances } = events;
    if !(chances > 0.0 && chances.is_finite() && events >= 0.0) {
        return None;
    }
    if events == 0.0 {
        return Some((0.0, -libm::log(0.05) / chances));
    }
    let (rate, moments) = (events / chances, Moments::of(values)?);
    let effective = moments.effective_events();
    let freedom = moments.n - 1.0;
    if freedom * events / effective <= 2.0 * gamma_quantile(0.95, freedom / 2.0) {
        return Some(scaled_poisson(rate, events));
    }
    Some(hull(of_mean(values)?, scaled_poisson(rate, effective.min(events))))
}

/// Exact limits of the 95 % interval of a probability, from independent trials (Clopper and Pearson, Biometrika 26,
/// 1934); one-sided if all trials or none had the event. `None` without trials.
pub(crate) fn of_trials(Events { events, chances }: Events) -> Option<Limits> {
    if !(chances >= 1.0 && chances.is_finite() && (0.0..=chances).contains(&events)) {
        return None;
    }
    if events == 0.0 || events == chances {
        let beyond = libm::pow(0.05, 1.0 / chances);
        return Some(if events == 0.0 { (0.0, 1.0 - beyond) } else { (beyond, 1.0) });
    }
    let quantile = |p, a, b| {
        let odds = beta_quantile_odds(p, a, b);
        odds / (1.0 + odds)
    };
    Some((quantile(0.025, events, chances - events + 1.0), quantile(0.975, events + 1.0, chances - events)))
}

/// Limits of the 95 % interval of a mean share between 0 and 1: those of [`of_mean`], widened to the Poisson limits of
/// the mean distance to the nearer of 0 and 1. If all `n` runs are at 0 or all at 1, the limit is exact: were more than
/// a share `1 - 0.05^(1/n)` of all runs elsewhere, 95 % of experiments would have shown one.
pub(crate) fn of_share(values: &[f64]) -> Option<Limits> {
    let moments = Moments::of(values)?;
    let beyond = libm::pow(0.05, 1.0 / moments.n);
    if values.iter().all(|&x| x >= 1.0) {
        return Some((beyond, 1.0));
    }
    if values.iter().all(|&x| x <= 0.0) {
        return Some((0.0, 1.0 - beyond));
    }
    let around = of_mean(values)?;
    let (low, high) = if moments.mean > 0.5 {
        let missing = Moments { mean: 1.0 - moments.mean, ..moments };
        let (low, high) = scaled_poisson(missing.mean, missing.effective_events());
        hull(around, (1.0 - high, 1.0 - low))
    } else {
        hull(around, scaled_poisson(moments.mean, moments.effective_events()))
    };
    Some((low.max(0.0), high.min(1.0)))
}

/// Mean of `values`. If all are equal, it is exactly their value.
pub(crate) fn mean(values: &[f64]) -> f64 {
    if values.iter().all(|x| *x == values[0]) {
        return values[0];
    }
    values.iter().sum::<f64>() / values.len() as f64
}

/// Limits of the 95 % interval of `mean` if it comes from a Poisson count of `events`, which need not be a whole
/// number.
fn scaled_poisson(mean: f64, events: f64) -> Limits {
    // Non-negative values vary no more than one event does. Beyond a million events a Poisson count is nearly normal,
    // and its limits lie within Student's.
    let events = events.max(1.0);
    if events > 1e6 {
        return (mean, mean);
    }
    (mean * gamma_quantile(0.025, events) / events, mean * gamma_quantile(0.975, events + 1.0) / events)
}

fn hull(a: Limits, b: Limits) -> Limits {
    (a.0.min(b.0), a.1.max(b.1))
}

/// Standard error of the skewness of `n` normal values (Fisher 1930).
fn skewness_error(n: f64) -> f64 {
    (6.0 * n * (n - 1.0) / ((n - 2.0) * (n + 1.0) * (n + 3.0))).sqrt()
}

#[derive(Clone, Copy)]
struct Moments {
    n: f64,
    mean: f64,
    /// Standard deviation of the values (not of their mean).
    deviation: f64,
    /// Skewness, from an unbiased third central moment.
    skewness: f64,
}

impl Moments {
    /// Moments of `values`; `None` for fewer than two.
    fn of(values: &[f64]) -> Option<Self> {
        if values.len() < 2 {
            return None;
        }
        let (n, mean) = (values.len() as f64, mean(values));
        let squares = values.iter().map(|x| square(x - mean)).sum::<f64>();
        let cubes = values.iter().map(|x| cube(x - mean)).sum::<f64>();
        let deviation = (squares / (n - 1.0)).sqrt();
        let third = if n > 2.0 && deviation > 0.0 { cubes * n / ((n - 1.0) * (n - 2.0)) } else { 0.0 };
        let skewness = if deviation > 0.0 { third / cube(deviation) } else { 0.0 };
        Some(Self { n, mean, deviation, skewness })
    }

    /// Effective number of events: that of a Poisson process with the relative variability of the runs.
    fn effective_events(&self) -> f64 {
        self.n * square(self.mean / self.deviation)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn assert_limits(found: Option<Limits>, (low, high): Limits) {
        let (l, h) = found.unwrap();
        assert!((l - low).abs() < 2e-9 && (h - high).abs() < 2e-9, "{l} to {h}, not {low} to {high}");
    }

    /// One value for each run: 1 event in each of the first `events` runs, 0 in the others.
    fn singles(runs: usize, events: usize) -> Vec<f64> {
        (0..runs).map(|run| f64::from(u8::from(run < events))).collect()
    }

    #[test]
    fn no_event_is_limited_on_one_side() {
        // -ln 0.05 = 2.995732273553991 events at the most: "the rule of three".
        let none = Events { events: 0.0, chances: 10.0 };
        assert_limits(of_events(&[0.0; 10], none), (0.0, 0.299_573_227_355_399_1));
        assert_eq!(of_events(&[0.0; 10], Events { events: 0.0, chances: 0.0 }), None);
    }

    #[test]
    fn rare_events_have_the_limits_of_garwood() {
        // scipy.stats.gamma.ppf(0.025, k) and (0.975, k + 1), over 100 chances.
        for (k, low, high) in [
            (1, 0.025_317_807_984, 5.571_643_390_938),
            (2, 0.242_209_278_543, 7.224_687_667_725),
            (5, 1.623_486_390_234, 11.668_332_079_322),
        ] {
            let events = Events { events: k as f64, chances: 100.0 };
            assert_limits(of_events(&singles(10, k), events), (low / 100.0, high / 100.0));
        }
    }

    #[test]
    fn clustered_events_tell_less() {
        let single = of_events(&singles(10, 6), Events { events: 6.0, chances: 10.0 }).unwrap();
        let mut cluster = vec![0.0; 10];
        cluster[3] = 6.0;
        let clustered = of_events(&cluster, Events { events: 6.0, chances: 10.0 }).unwrap();
        assert!(clustered.1 > 2.0 * single.1, "{clustered:?} against {single:?}");
    }

    #[test]
    fn a_share_at_its_ceiling_is_limited_on_one_side() {
        assert_limits(of_share(&[1.0; 10]), (0.741_134_449_106_948_3, 1.0)); // 0.05^(1/10)
        assert_limits(of_share(&[0.0; 10]), (0.0, 0.258_865_550_893_051_7));
        let (low, high) = of_share(&[1.0, 1.0, 1.0, 1.0, 1.0, 1.0, 1.0, 1.0, 1.0, 0.9]).unwrap();
        assert!(low < 0.95 && (0.99..=1.0).contains(&high), "{low} to {high}");
    }

    #[test]
    fn skewed_runs_reach_further_on_the_long_side() {
        let values = [1.0, 1.1, 1.2, 1.0, 1.3, 1.1, 1.0, 1.2, 1.1, 6.0];
        // By the formulas of Willink (2005), computed with numpy and scipy 1.16.
        assert_limits(of_mean(&values), (0.491_773_846_632_460_4, 4.935_747_962_178_012));
        let (low, high) = of_mean(&values).unwrap();
        let mirrored: Vec<f64> = values.iter().map(|x| -x).collect();
        let (from, to) = of_mean(&mirrored).unwrap();
        assert!((from + high).abs() < 1e-12 && (to + low).abs() < 1e-12);
    }

    #[test]
    fn equal_runs_have_no_width_at_all() {
        // 0.1 thrice has a rounded mean that is not 0.1.
        assert_eq!(of_mean(&[0.1; 3]).map(|(low, high)| high - low), Some(0.0));
        assert_eq!(of_mean(&[0.5]), None);
    }
}
