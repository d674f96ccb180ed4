//! Conditions that end a run, and rules for the number of runs of a point.

use crossfade_core::{Estimate, MethodKind, SimTime};

/// Condition that ends a run.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum End {
    /// The run ends at this simulated time.
    At(SimTime),
    /// The run ends when this number of segments has been delivered since the warm-up.
    Delivered(u64),
}

/// Rule that determines the number of runs of a point.
#[derive(Clone, Debug, PartialEq)]
pub enum StopRule {
    /// Fixed number of runs.
    Runs(u64),
    /// Runs end when the half-width of a metric's 95 % interval is at most `relative` times its value, after at least
    /// 20 runs.
    Precision {
        /// Name of the metric.
        metric: String,
        /// Greatest half-width of the 95 % interval over the value.
        relative: f64,
        /// Maximum number of runs.
        max_runs: u64,
    },
    /// Runs end when a metric summed over the runs reaches `count`, such as a number of frame errors.
    Count {
        /// Name of the metric.
        metric: String,
        /// Target of the sum over the runs.
        count: u64,
        /// Maximum number of runs.
        max_runs: u64,
    },
}

/// Minimum number of runs for a precision target. A rule that checks after every run stops where the spread is small by
/// chance: with a minimum of 10 runs, a 95 % interval covers in only 93 % of cases, with 20 in 94 % and more
/// (docs/comparing.md).
const FEWEST_RUNS: usize = 20;

impl StopRule {
    /// Upper limit of the number of runs of a point by this rule.
    pub fn most_runs(&self) -> u64 {
        match self {
            Self::Runs(runs) => *runs,
            Self::Precision { max_runs, .. } | Self::Count { max_runs, .. } => *max_runs,
        }
    }

    /// True if the first runs, with these values of the rule's metric in order, suffice.
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

    /// Number of runs whose results count, given the rule's metric of each run in order: all for a fixed number of
    /// runs, otherwise the first runs that suffice, or all if none do.
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

    /// Expected number of runs of a point, estimated from the values of the rule's metric in the first runs.
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

    /// Metric that the rule is about; `None` for a fixed number of runs.
    pub fn metric(&self) -> Option<&str> {
        match self {
            Self::Runs(_) => None,
            Self::Precision { metric, .. } | Self::Count { metric, .. } => Some(metric),
        }
    }

    /// Lower limit of the number of runs of a point by this rule.
    pub fn fewest_runs(&self) -> u64 {
        match self {
            Self::Runs(runs) => *runs,
            Self::Precision { .. } => FEWEST_RUNS as u64,
            Self::Count { .. } => 1,
        }
    }
}

/// Sum of the values; runs without the metric count as 0.
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
