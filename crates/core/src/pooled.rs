//! A quantile of all runs together, of delays or of times that some runs did not see the end of.
//!
//! Each run keeps its times in a [`DelayHistogram`], so that a quantile is off by less than 1/64 of itself, whatever gaps the
//! times have. Times that had not ended when the run did are *censored*: such a time is longer than what was seen of it.

use crate::estimate::{Estimate, MethodKind};
use crate::square::square;
use crate::student::student_quantiles;
use crate::{DelayHistogram, SimTime};
use statrs::function::beta::beta_reg;

/// The times of one run.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct RunTimes {
    /// Those that ended.
    pub ended: DelayHistogram,
    /// So long had lasted those that had not ended; none, of delays.
    pub unended: DelayHistogram,
}

impl RunTimes {
    /// How many there are.
    fn count(&self) -> u64 {
        self.ended.count() + self.unended.count()
    }
}

/// The time that a share `p` of the times of all runs together does not exceed, each counting once: the smallest with at least
/// that share at or below it. `None` of no times.
///
/// With times that did not end, shares are those of Kaplan and Meier ("Nonparametric estimation from incomplete observations",
/// J. American Statistical Association 53, 1958), which takes the reason for a time's not being seen to its end to have nothing
/// to do with the time. If they do not come to `p`, the quantile is longer than the longest time seen, which is given as a
/// lower bound (`at_least`).
///
/// The interval: the share at or below the quantile varies over the runs, which are clusters of times (Woodruff, "Confidence
/// intervals for medians and other position measures", J. American Statistical Association 47, 1952), as that of so many
/// independent times would (Korn and Graubard, "Confidence intervals for proportions with small expected number of positive
/// counts", Survey Methodology 24, 1998); its ends are the order statistics of these between which the quantile lies in 95 % of
/// experiments. There is no `high` where the longest time seen may be below the quantile. It is not symmetric, so `ci95`
/// is empty.
pub fn pooled_quantile(runs: &[RunTimes], p: f64) -> Option<Estimate> {
    let curve = Curve::of(runs)?;
    let p = p.clamp(0.0, 1.0);
    let (value, at_least) = match curve.quantile(p) {
        Some(value) => (value, false),
        None => (curve.last(), true),
    };
    let n = runs.iter().filter(|run| run.count() > 0).count();
    let (low, high) = if n > 1 {
        let independent = curve.independent_times(runs, p, n);
        let (below, above) = order_statistics(independent, p);
        let low = below.map_or(SimTime::ZERO, |level| curve.quantile(level).unwrap_or_else(|| curve.last()));
        (Some(low), above.and_then(|level| curve.quantile(level)))
    } else {
        (None, None)
    };
    Some(Estimate {
        value: value.as_secs_f64(),
        ci95: None,
        low: low.map(SimTime::as_secs_f64),
        high: high.map(SimTime::as_secs_f64),
        n: n as u64,
        method: MethodKind::Simulation,
        at_least,
    })
}

/// The share of times that have ended, by time.
struct Curve {
    all: RunTimes,
    steps: Vec<Step>,
}

/// A bucket of times in which some ended.
struct Step {
    bucket: u32,
    /// How many lasted as long or longer, and how many of them ended here.
    at_risk: f64,
    ended: f64,
    /// The share that has ended, before and behind.
    before: f64,
    behind: f64,
    /// The sum of `ended / (at_risk (at_risk - ended))` up to here, the steps at which all ended left out.
    hazard: f64,
}

impl Curve {
    /// `None` of no times.
    fn of(runs: &[RunTimes]) -> Option<Self> {
        let mut all = RunTimes::default();
        for run in runs {
            all.ended.merge(&run.ended);
            all.unended.merge(&run.unended);
        }
        (all.count() > 0).then(|| Self { steps: steps(&all), all })
    }

    /// The smallest time by which a share `level` has ended; `None` where so many have not.
    fn quantile(&self, level: f64) -> Option<SimTime> {
        if self.all.unended.count() == 0 {
            return self.all.ended.quantile(level);
        }
        let step = self.steps.iter().find(|step| step.behind >= level)?;
        let (start, width) = DelayHistogram::bucket(step.bucket);
        // As if the times of a bucket were spread evenly over it.
        let share = step.part(level) * step.ended;
        let share = (share.ceil().clamp(1.0, step.ended) - 0.5) / step.ended;
        Some(start + SimTime::from_nanos((share * width.as_nanos() as f64) as u64))
    }

    /// The longest time seen, ended or not; not longer than it was.
    fn last(&self) -> SimTime {
        let last = self.all.ended.counts().chain(self.all.unended.counts()).map(|(bucket, _)| bucket).max();
        last.map_or(SimTime::ZERO, |bucket| DelayHistogram::bucket(bucket).0)
    }

    /// Of how many independent times the share up to the quantile `p` (up to the last time, where that is not reached) would
    /// vary as it does over the `n` runs that have some; not more than there are.
    fn independent_times(&self, runs: &[RunTimes], p: f64, n: usize) -> f64 {
        let count = self.all.count() as f64;
        let is_one_each = runs.iter().all(|run| run.count() <= 1);
        if is_one_each && self.all.unended.count() == 0 {
            return count;
        }
        let at = self.steps.iter().position(|step| step.behind >= p).or(self.steps.len().checked_sub(1));
        let Some(at) = at else { return count };
        let step = &self.steps[at];
        let part = step.part(p);
        let share = step.before + part * (step.behind - step.before);
        let deviations = runs.iter().map(|run| {
            let before = at.checked_sub(1).map_or(0.0, |last| self.influence(run, last));
            before + part * (self.influence(run, at) - before)
        });
        let squares: f64 = deviations.map(|deviation| deviation * deviation).sum();
        let variance = squares * n as f64 / (n as f64 - 1.0);
        // An estimate from few runs is as likely to be much too small as Student's quantile says.
        let t = if is_one_each { NORMAL } else { student_quantiles(n)[0] };
        let found = share * (1.0 - share) / variance * square(NORMAL / t);
        if found.is_finite() { found.clamp(1.0, count) } else { count }
    }

    /// What the times of a run add to the share that has ended behind a step, beyond what all together say: the sum over all
    /// runs is 0, that of the squares the variance (without a censored time each is the run's own share less that of all,
    /// times its part of all times).
    fn influence(&self, run: &RunTimes, at: usize) -> f64 {
        let end = &self.steps[at];
        let left = 1.0 - end.behind;
        if left <= 0.0 {
            return 0.0;
        }
        // The last step up to a bucket, and no later than the end.
        let up_to = |bucket: u32| {
            let behind = self.steps[..=at].partition_point(|step| step.bucket <= bucket);
            behind.checked_sub(1).map(|at| &self.steps[at])
        };
        let expected = |(bucket, count): (u32, u64)| {
            -(count as f64) * up_to(bucket).map_or(0.0, |step| step.hazard)
        };
        let seen = |(bucket, count): (u32, u64)| {
            let step = up_to(bucket).filter(|step| step.bucket == bucket);
            step.map_or(0.0, |step| count as f64 / (step.at_risk - step.ended))
        };
        let ended = run.ended.counts().map(|times| expected(times) + seen(times)).sum::<f64>();
        left * (ended + run.unended.counts().map(expected).sum::<f64>())
    }
}

/// The buckets in which times ended. In one with both, those that ended count as the shorter ones.
fn steps(all: &RunTimes) -> Vec<Step> {
    let total = all.count();
    let (mut left, mut behind, mut hazard) = (total, 0.0, 0.0);
    let mut censored = all.unended.counts().peekable();
    let mut has_censored = false;
    let step = |(bucket, ended): (u32, u64)| {
        while let Some((_, count)) = censored.next_if(|(at, _)| *at < bucket) {
            left -= count;
            has_censored = true;
        }
        let (at_risk, before) = (left as f64, behind);
        left -= ended;
        behind = if has_censored {
            1.0 - (1.0 - before) * (left as f64 / at_risk)
        } else {
            // A quotient, to the last digit.
            (total - left) as f64 / total as f64
        };
        if left > 0 {
            hazard += ended as f64 / (at_risk * left as f64);
        }
        Step { bucket, at_risk, ended: ended as f64, before, behind, hazard }
    };
    all.ended.counts().map(step).collect()
}

impl Step {
    /// Which part of the bucket's times lie up to a level.
    fn part(&self, level: f64) -> f64 {
        ((level - self.before) / (self.behind - self.before)).clamp(0.0, 1.0)
    }
}

/// The normal quantile at 97.5 %.
const NORMAL: f64 = 1.959_963_984_540_054;

/// More independent times than these are as good as normal.
const MANY: f64 = 1e5;

/// The order statistics of `n` independent values, as shares of them, below and above which the quantile `p` is in 2.5 % of
/// experiments at the most; `None` where there is none.
fn order_statistics(n: f64, p: f64) -> (Option<f64>, Option<f64>) {
    if n > MANY {
        let half = NORMAL * (p * (1.0 - p) / n).sqrt();
        return (Some((p - half).max(0.0)), Some((p + half).min(1.0)));
    }
    let n = n.floor() as u64;
    // P(so many values or more lie below the quantile): it falls with the number.
    let at_least = |k: u64| if k == 0 { 1.0 } else { beta_reg(k as f64, (n - k + 1) as f64, p) };
    let first = |from: u64, to: u64, holds: &dyn Fn(u64) -> bool| {
        let (mut low, mut high) = (from, to + 1);
        while low < high {
            let middle = u64::midpoint(low, high);
            if holds(middle) { high = middle } else { low = middle + 1 }
        }
        low
    };
    // The largest l with P(fewer than l) <= 2.5 %, and the smallest u with P(u or more) <= 2.5 %.
    let below = first(1, n, &|k| 1.0 - at_least(k) > 0.025) - 1;
    let above = first(1, n, &|k| at_least(k) <= 0.025);
    let level = |k: u64| k as f64 / n as f64;
    (Some(below).filter(|k| *k > 0).map(level), Some(above).filter(|k| *k <= n).map(level))
}

#[cfg(test)]
mod tests;
