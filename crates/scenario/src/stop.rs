//! When a run ends, and when there are enough runs.

use crossfade_core::{Estimate, MethodKind, SimTime};

/// When a run ends.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum End {
    /// At this time.
    At(SimTime),
    /// When so many segments have been delivered after the warm-up.
    Delivered(u64),
}

/// When there are enough runs of a point.
#[derive(Clone, Debug, PartialEq)]
pub enum StopRule {
    /// After so many.
    Runs(u64),
    /// When the 95 % interval of a metric is at most `relative` of its value on either side, after at least 20
    /// runs.
    Precision {
        /// The name of the metric.
        metric: String,
        /// The half-width of the interval over the value.
        relative: f64,
        /// Give up after so many.
        max_runs: u64,
    },
    /// When a metric, summed over the runs, has come to this: so many frame errors.
    Count {
        /// The name of the metric.
        metric: String,
        /// The sum.
        count: u64,
        /// Give up after so many.
        max_runs: u64,
    },
}

/// Fewer replications give no interval that can be trusted. A rule that looks after every run stops where the
/// spread happens to look small: from 10 runs on, a 95 % interval covers in 93 % of cases only, from 20 on in
/// 94 % and more (docs/comparing.md).
const FEWEST_RUNS: usize = 20;

impl StopRule {
    /// No point needs more runs than this.
    pub fn most_runs(&self) -> u64 {
        match self {
            Self::Runs(runs) => *runs,
            Self::Precision { max_runs, .. } | Self::Count { max_runs, .. } => *max_runs,
        }
    }

    /// Whether these runs, the first ones in order, are enough.
    pub fn is_met(&self, prefix: &[f64]) -> bool {
        match self {
            Self::Runs(runs) => prefix.len() as u64 >= *runs,
            Self::Precision { relative, .. } => {
                prefix.len() >= FEWEST_RUNS
                    && Estimate::from_runs(prefix, MethodKind::Simulation)
                        .is_some_and(|estimate| estimate.is_within(*relative))
            }
            Self::Count { count, .. } => sum(prefix) >= *count as f64,
        }
    }

    /// How many of the runs at hand count, given the metric of the rule of each in order: all of a fixed number,
    /// otherwise the first ones that suffice (all of them where they do not).
    pub fn runs_that_count(&self, metric: impl IntoIterator<Item = f64>) -> usize {
        let mut values = metric.into_iter();
        if let Self::Runs(_) = self {
            return values.count();
        }
        let mut prefix = Vec::new();
        while !self.is_met(&prefix)
            && let Some(value) = values.next()
        {
            prefix.push(value);
        }
        prefix.len()
    }

    /// How many runs it will take, judged by the spread of those at hand.
    pub fn expected_runs(&self, prefix: &[f64]) -> u64 {
        match self {
            Self::Runs(runs) => *runs,
            Self::Precision { relative, max_runs, .. } => {
                let fewest = (*max_runs).min(prefix.len().max(FEWEST_RUNS) as u64);
                let estimate = Estimate::from_runs(prefix, MethodKind::Simulation);
                let ratio = estimate.and_then(|e| Some(e.ci95? / (relative * e.value.abs()))).unwrap_or(0.0);
                // The interval shrinks with the square root of the number of runs.
                ((prefix.len() as f64 * ratio * ratio).ceil() as u64).clamp(fewest, *max_runs)
            }
            Self::Count { count, max_runs, .. } => {
                let fewest = (*max_runs).min(prefix.len().max(1) as u64);
                let found = sum(prefix);
                let expected =
                    if found > 0.0 { prefix.len() as f64 * *count as f64 / found } else { *max_runs as f64 };
                (expected.ceil() as u64).clamp(fewest, *max_runs)
            }
        }
    }

    /// The metric that decides; `None` where the number of runs is fixed.
    pub fn metric(&self) -> Option<&str> {
        match self {
            Self::Runs(_) => None,
            Self::Precision { metric, .. } | Self::Count { metric, .. } => Some(metric),
        }
    }

    /// No point can do with fewer runs than this.
    pub fn fewest_runs(&self) -> u64 {
        match self {
            Self::Runs(runs) => *runs,
            Self::Precision { .. } => FEWEST_RUNS as u64,
            Self::Count { .. } => 1,
        }
    }
}

/// A metric that a run does not have counts for nothing.
fn sum(values: &[f64]) -> f64 {
    values.iter().filter(|value| value.is_finite()).sum()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_count_is_reached_by_the_sum_of_the_runs() {
        let rule = StopRule::Count { metric: "frame_errors".into(), count: 100, max_runs: 50 };
        let values = [30.0, f64::NAN, 60.0, 10.0, 70.0];
        assert_eq!(rule.runs_that_count(values), 4);
        assert!(!rule.is_met(&values[..3]) && rule.is_met(&values[..4]));
        assert_eq!((rule.expected_runs(&[]), rule.expected_runs(&values[..1])), (50, 4));
        assert_eq!((rule.expected_runs(&[0.0; 9]), rule.expected_runs(&[1.0])), (50, 50));
    }
}
