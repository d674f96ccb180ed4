//! Monte-Carlo estimates with confidence intervals.

use crate::interval::{self, Events, MetricKind};
use crate::square::square;
use crate::student::student_quantiles;

/// How a value was obtained.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum MethodKind {
    /// Solved.
    Analysis,
    /// Estimated from simulated runs.
    Simulation,
    /// Measured on real programs.
    Live,
}

/// The normal quantile at 97.5 %.
const NORMAL: f64 = 1.959_963_984_540_054;

/// A value with its 95 % confidence interval.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Estimate {
    /// The mean over the runs.
    pub value: f64,
    /// Half-width of the two-sided 95 % Student interval; `None` where one run says nothing of the spread, and
    /// where events are too rare for Student's distribution.
    pub ci95: Option<f64>,
    /// The lower end of an interval that covers in 95 % of experiments also where events are rare and runs are
    /// skewed; it is never narrower than Student's. `None` where nothing can be said.
    pub low: Option<f64>,
    /// Its upper end.
    pub high: Option<f64>,
    /// The number of runs.
    pub n: u64,
    /// Where the value comes from.
    pub method: MethodKind,
}

impl Estimate {
    /// The mean of independent replications and its Student interval; `None` of an empty slice.
    ///
    /// ```
    /// use crossfade_core::{Estimate, MethodKind};
    /// let e = Estimate::from_runs(&[1.0, 2.0, 3.0], MethodKind::Simulation).unwrap();
    /// assert_eq!(e.value, 2.0);
    /// // t(0.975, 2) = 4.302653, standard error 1 / sqrt(3).
    /// assert!((e.ci95.unwrap() - 2.484138).abs() < 1e-6);
    /// ```
    pub fn from_runs(values: &[f64], method: MethodKind) -> Option<Self> {
        Self::of(MetricKind::Mean, values, None, method)
    }

    /// The mean of independent replications of a metric of some kind. `events` are those behind a count or a rate; without
    /// them the interval is that of a mean, and of no events there is none.
    pub fn of(kind: MetricKind, values: &[f64], events: Option<Events>, method: MethodKind) -> Option<Self> {
        if values.is_empty() {
            return None;
        }
        let n = values.len() as f64;
        let value = interval::mean(values);
        let student = (values.len() > 1).then(|| {
            let variance = values.iter().map(|x| square(x - value)).sum::<f64>() / (n - 1.0);
            student_quantiles(values.len())[0] * (variance / n).sqrt()
        });
        let of_mean = || (student, interval::of_mean(values));
        let (ci95, limits) = match (kind, events) {
            _ if student.is_none() => (None, None),
            (MetricKind::Mean | MetricKind::Quantile, _) => of_mean(),
            (MetricKind::Share, _) => {
                (student.filter(|_| 0.0 < value && value < 1.0), interval::of_share(values))
            }
            (_, Some(events)) if events.events < interval::RARE => {
                (None, interval::of_events(values, events))
            }
            (_, None) if value == 0.0 => (None, None),
            _ => of_mean(),
        };
        let is_positive = !matches!(kind, MetricKind::Mean | MetricKind::Quantile);
        let (low, high) =
            limits.map(|(low, high)| (if is_positive { low.max(0.0) } else { low }, high)).unzip();
        Some(Self { value, ci95, low, high, n: values.len() as u64, method })
    }

    /// The probability of an event in independent trials, with its exact interval; `n` is the number of runs that
    /// the trials were made in. `ci95` is that of the normal distribution, where events are not rare. `None` of
    /// no trials.
    pub fn of_trials(events: Events, n: u64, method: MethodKind) -> Option<Self> {
        let (low, high) = interval::of_trials(events)?;
        let value = events.events / events.chances;
        let is_normal = events.events.min(events.chances - events.events) >= interval::RARE;
        let ci95 = is_normal.then(|| NORMAL * (value * (1.0 - value) / events.chances).sqrt());
        Some(Self { value, ci95, low: Some(low), high: Some(high), n, method })
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn trials_have_the_limits_of_clopper_and_pearson() {
        let of = |events, chances| Estimate::of_trials(Events { events, chances }, 1, MethodKind::Simulation);
        let close = |found: Option<f64>, expected: f64| (found.unwrap() / expected - 1.0).abs() < 1e-6;
        // R: binom.test(5, 100), binom.test(400, 1e6), and 1 - 0.05^(1/1000).
        let rare = of(5.0, 100.0).unwrap();
        assert!(close(rare.low, 0.016_431_88) && close(rare.high, 0.112_834_9) && rare.ci95.is_none());
        let many = of(400.0, 1e6).unwrap();
        assert!(many.low.unwrap() > 3.61e-4 && many.high.unwrap() < 4.42e-4);
        assert!(close(many.ci95, 3.919_144e-5));
        let none = of(0.0, 1000.0).unwrap();
        assert!(none.low == Some(0.0) && close(none.high, 0.002_991_25));
        assert_eq!(of(7.0, 7.0).unwrap().high, Some(1.0));
        assert!(of(0.0, 0.0).is_none() && of(2.0, 1.0).is_none());
    }

    #[test]
    fn equal_runs_are_equal_to_the_last_digit() {
        // The sum of ten times 0.1 is not 1.
        let estimate = Estimate::from_runs(&[0.1; 10], MethodKind::Simulation).unwrap();
        assert_eq!((estimate.value, estimate.ci95), (0.1, Some(0.0)));
        assert_eq!((estimate.low, estimate.high), (Some(0.1), Some(0.1)));
    }

    #[test]
    fn nothing_seen_is_never_certain() {
        let of = |kind, events| Estimate::of(kind, &[0.0; 10], events, MethodKind::Simulation).unwrap();
        let count = of(MetricKind::Count, Some(Events { events: 0.0, chances: 10.0 }));
        assert_eq!((count.value, count.ci95, count.low), (0.0, None, Some(0.0)));
        assert!((count.high.unwrap() - 0.299_573_227).abs() < 1e-9);
        // Out of how many is not known: no interval.
        let rate = of(MetricKind::Rate, None);
        assert_eq!((rate.ci95, rate.low, rate.high), (None, None, None));
    }

    #[test]
    fn many_events_keep_students_interval() {
        let values: Vec<f64> = (0..10).map(|run| f64::from(4 + run % 3)).collect();
        let events = Events { events: values.iter().sum(), chances: 10.0 };
        let count = Estimate::of(MetricKind::Count, &values, Some(events), MethodKind::Simulation).unwrap();
        let mean = Estimate::from_runs(&values, MethodKind::Simulation).unwrap();
        assert_eq!(count, mean);
        assert!(count.ci95.is_some());
    }

    /// Student's interval stands from 30 events on, of a count as of trials, and trials need 30 that failed as well.
    #[test]
    fn fewer_than_thirty_events_are_rare() {
        let of = |events: f64| {
            let values: Vec<f64> = (0..10).map(|run| events / 10.0 + [-1.0, 1.0][run % 2]).collect();
            let events = Events { events, chances: 10.0 };
            Estimate::of(MetricKind::Count, &values, Some(events), MethodKind::Simulation)
                .unwrap()
                .ci95
                .is_some()
        };
        assert_eq!([29.0, 30.0].map(of), [false, true]);
        let trials = |events| {
            Estimate::of_trials(Events { events, chances: 1000.0 }, 1, MethodKind::Simulation)
                .unwrap()
                .ci95
                .is_some()
        };
        assert_eq!([29.0, 30.0, 970.0, 971.0].map(trials), [false, true, true, false]);
    }

    #[test]
    fn one_run_has_no_interval() {
        let estimate = Estimate::from_runs(&[0.5], MethodKind::Simulation).unwrap();
        assert_eq!(estimate.ci95, None);
        assert!(!estimate.is_within(1.0));
        assert_eq!(Estimate::from_runs(&[], MethodKind::Simulation), None);
    }
}
