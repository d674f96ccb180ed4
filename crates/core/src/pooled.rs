//! Quantiles of the times of all runs together: of delays, or of times some of which had not ended when their run did.
//!
//! Each run keeps its times in a [`DelayHistogram`], so that a quantile has a relative error below 1/64 for any gaps
//! between the times. A time that had not ended when the run did is *censored*: it is longer than its observed part.

use crate::estimate::{Estimate, MethodKind};
use crate::portable::square;
use crate::student::student_quantiles;
use crate::{DelayHistogram, SimTime, incomplete_beta};
use std::borrow::Cow;

/// Times of one run, those that ended apart from those unfinished at its end.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct RunTimes {
    /// Durations of the intervals that ended within the run.
    pub ended: DelayHistogram,
    /// Durations, so far, of the intervals that had not ended when the run did; empty for delays.
    pub unended: DelayHistogram,
}

/// Quantile `p` of the times of all runs together, with its 95 % interval: the smallest time with at least a share `p`
/// of all times at or below it, each time with equal weight. `None` without times.
///
/// A censored time (one that had not ended when its run did) is only known to be longer than its observed part; longer
/// times may well be cut off earlier, such as those of flows that arrive late at an overloaded link. If less than
/// `1 - p` of the times are censored, the quantile lies between two bounds: that of the observed parts, and one with
/// all censored times taken as endless. The value is the estimate of Kaplan and Meier ("Nonparametric estimation from
/// incomplete observations", J. American Statistical Association 53, 1958), which lies between both. Otherwise, the
/// quantile of the observed parts is given as a lower bound (`at_least`).
///
/// The interval goes from the lower end of the lower bound's interval to the upper end of the upper bound's. Runs are
/// clusters of times (Woodruff, "Confidence intervals for medians and other position measures", J. American Statistical
/// Association 47, 1952). The variance over the runs of the share at or below a quantile gives an effective number of
/// independent times (Korn and Graubard, "Confidence intervals for proportions with small expected number of positive
/// counts", Survey Methodology 24, 1998); the ends are the order statistics of as many independent times between which
/// the quantile lies in 95 % of experiments. `high` is `None` if the longest time that ended may be below the quantile.
/// The interval is not symmetric, so `ci95` is `None`.
pub fn pooled_quantile(runs: &[RunTimes], p: f64) -> Option<Estimate> {
    let p = p.clamp(0.0, 1.0);
    let as_seen = Times::of(runs, |run| {
        if run.unended.count() == 0 {
            return Cow::Borrowed(&run.ended);
        }
        let mut seen = run.ended.clone();
        seen.merge(&run.unended);
        Cow::Owned(seen)
    });
    let endless = Times::of(runs, |run| Cow::Borrowed(&run.ended));
    let n = runs.iter().filter(|run| run.count() > 0).count();
    let (value, at_least) = match endless.quantile(p) {
        Some(longest) => (kaplan_meier(&as_seen, &endless, p).unwrap_or(longest), false),
        // The observed part of a censored time is a lower bound of the time.
        None => (DelayHistogram::bucket(as_seen.bucket(p)?).0, true),
    };
    let low = (n > 1).then(|| as_seen.ends(p).0.map_or(SimTime::ZERO, |low| low.min(value)));
    let high = if n > 1 && !at_least { endless.ends(p).1.map(|high| high.max(value)) } else { None };
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

impl RunTimes {
    /// Number of times of the run, both ended and unfinished.
    fn count(&self) -> u64 {
        self.ended.count() + self.unended.count()
    }
}

/// Times of several runs; some of the longest may be known only to be longer than any given time (endless).
struct Times<'a> {
    /// For each run, the histogram of its times with an end, and the number of all its times.
    runs: Vec<(Cow<'a, DelayHistogram>, u64)>,
    /// Histogram of the times with an end, of all runs together.
    all: DelayHistogram,
    count: u64,
}

impl<'a> Times<'a> {
    /// Times of `runs`: those in the histogram that `known` returns for a run have an end, all its others are endless.
    fn of(runs: &'a [RunTimes], known: impl Fn(&'a RunTimes) -> Cow<'a, DelayHistogram>) -> Self {
        let runs: Vec<_> = runs.iter().map(|run| (known(run), run.count())).collect();
        let mut all = DelayHistogram::default();
        for (known, _) in &runs {
            all.merge(known);
        }
        let count = runs.iter().map(|(_, count)| count).sum();
        Self { runs, all, count }
    }

    /// Smallest time with a share `level` of all times at or below it; `None` without times, and if this time is
    /// endless.
    fn quantile(&self, level: f64) -> Option<SimTime> {
        self.all.ranked(self.rank(level))
    }

    /// Rank of the quantile `level` among all times, counted from 1 for the shortest.
    fn rank(&self, level: f64) -> u64 {
        ((level * self.count as f64).ceil() as u64).clamp(1, self.count.max(1))
    }

    /// Number of the histogram bucket that holds the quantile `level`; `None` if it is endless.
    fn bucket(&self, level: f64) -> Option<u32> {
        let (rank, mut up_to) = (self.rank(level), 0);
        let is_here = |&(_, count): &(u32, u64)| {
            up_to += count;
            up_to >= rank
        };
        self.all.counts().find(is_here).map(|(number, _)| number)
    }

    /// Lower and upper end of the 95 % interval of the quantile `p`; `None` for an end that no time gives.
    fn ends(&self, p: f64) -> (Option<SimTime>, Option<SimTime>) {
        let (below, above) = order_statistics(self.independent_times(p), p);
        (below.and_then(|level| self.quantile(level)), above.and_then(|level| self.quantile(level)))
    }

    /// Effective number of independent times whose share up to the quantile `p` would vary as much as it does over the
    /// runs; at most the number of times. If the quantile is endless, the share is that up to the longest time with an
    /// end.
    fn independent_times(&self, p: f64) -> f64 {
        let count = self.count as f64;
        if self.runs.iter().all(|(_, count)| *count <= 1) {
            return count;
        }
        let Some(last) = self.bucket(p).or_else(|| self.all.counts().map(|(number, _)| number).last()) else {
            return count;
        };
        // Number of times in earlier buckets, and in this one.
        let up_to = |known: &DelayHistogram| {
            let upto = known.counts().take_while(|(number, _)| *number <= last);
            upto.fold((0.0, 0.0), |(before, here), (number, count)| {
                if number < last { (before + count as f64, here) } else { (before, here + count as f64) }
            })
        };
        let (before, here) = up_to(&self.all);
        // Part of the bucket's times that lies up to the quantile.
        let part = ((p * count - before) / here).clamp(0.0, 1.0);
        let share = (before + part * here) / count;
        let with_any = self.runs.iter().filter(|(_, count)| *count > 0);
        let residuals = with_any.map(|(known, count)| {
            let (before, here) = up_to(known);
            before + part * here - share * *count as f64
        });
        let (n, squares) = residuals.fold((0, 0.0), |(n, squares), x| (n + 1, squares + x * x));
        let variance = squares * f64::from(n) / f64::from(n - 1) / square(count);
        // A variance estimated from few runs may be far too small, as Student's quantile accounts for.
        let t = student_quantiles(n as usize)[0];
        let found = share * (1.0 - share) / variance * square(NORMAL / t);
        if found.is_finite() { found.clamp(1.0, count) } else { count }
    }
}

/// Quantile `p` by the estimate of Kaplan and Meier. At each ended time the share of ended times grows by a fraction of
/// the remaining share: the times ending there over all times observed so long. In a bucket with ended and censored
/// times, ended ones count as the shorter. `None` if the share never reaches `p`.
fn kaplan_meier(as_seen: &Times<'_>, endless: &Times<'_>, p: f64) -> Option<SimTime> {
    let total = as_seen.count;
    if endless.all.count() == total {
        return endless.quantile(p);
    }
    let (mut seen, mut passed, mut left) = (as_seen.all.counts().peekable(), 0, 1.0);
    for (number, ended) in endless.all.counts() {
        while let Some((_, count)) = seen.next_if(|(at, _)| *at < number) {
            passed += count;
        }
        let at_risk = (total - passed) as f64;
        let behind = left * (1.0 - ended as f64 / at_risk);
        if 1.0 - behind >= p - ROUNDING {
            // The times of a bucket are treated as spread evenly over it.
            let share = ((p - (1.0 - left)) / (left - behind)).clamp(0.0, 1.0);
            let share = ((share * ended as f64).ceil().max(1.0) - 0.5) / ended as f64;
            let (start, width) = DelayHistogram::bucket(number);
            return Some(start + SimTime::from_nanos((share * width.as_nanos() as f64) as u64));
        }
        left = behind;
    }
    None
}

/// Tolerance for rounding in products of shares.
const ROUNDING: f64 = 1e-12;

/// Quantile of the standard normal distribution at 97.5 %, for two-sided 95 % intervals.
const NORMAL: f64 = 1.959_963_984_540_054;

/// Number of independent times above which order statistics are taken from the normal distribution.
const MANY: f64 = 1e5;

/// Order statistics of `n` independent values, as shares of `n`, that enclose their quantile `p` in 95 % of experiments
/// (2.5 % beyond each end); `None` for an end that no value gives.
fn order_statistics(n: f64, p: f64) -> (Option<f64>, Option<f64>) {
    if n > MANY {
        let half = NORMAL * (p * (1.0 - p) / n).sqrt();
        return (Some((p - half).max(0.0)), Some((p + half).min(1.0)));
    }
    let n = n.floor() as u64;
    let at_least = |k: u64| at_least(k, n, p);
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

/// Probability that at least `k` of `n` independent values lie below their quantile `p`; it falls with `k`.
fn at_least(k: u64, n: u64, p: f64) -> f64 {
    if k == 0 { 1.0 } else { incomplete_beta(k as f64, (n - k + 1) as f64, p) }
}

#[cfg(test)]
mod tests;
