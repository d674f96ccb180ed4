//! Means over windows of time, with their quantiles.

use crossfade_core::SimTime;

/// Greatest number of windows; in longer recordings windows are wider.
const MOST: usize = 1 << 20;

/// Distribution of a quantity over time: its mean, and quantiles of its means over windows.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Distribution {
    /// Mean over the whole recording.
    pub mean: f64,
    /// Least mean of a window.
    pub min: f64,
    /// 5 % quantile of the means of windows.
    pub p5: f64,
    /// Median of the means of windows.
    pub p50: f64,
    /// 95 % quantile of the means of windows.
    pub p95: f64,
    /// Greatest mean of a window.
    pub max: f64,
}

/// Curve of a quantity over time: means over windows.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Curve {
    /// Time in seconds at which each window begins.
    pub times_s: Vec<f64>,
    /// Mean of the quantity in each window.
    pub means: Vec<f64>,
}

/// Sums of a quantity over windows of equal width.
#[derive(Clone, Debug)]
pub(super) struct Windows {
    width: SimTime,
    /// Sums of each window, from time zero on.
    sums: Vec<Sum>,
}

/// Sums of one window; its mean is the amount over the weight.
#[derive(Clone, Copy, Debug, Default)]
struct Sum {
    amount: f64,
    weight: f64,
}

impl Windows {
    pub(super) fn new(width: SimTime) -> Self {
        Self { width, sums: Vec::new() }
    }

    pub(super) fn width(&self) -> SimTime {
        self.width
    }

    /// Adds an amount with a weight at a time; a time at the border of two windows belongs to the earlier.
    pub(super) fn at(&mut self, time: SimTime, amount: f64, weight: f64) {
        let sum = self.window(SimTime::from_nanos(time.as_nanos().saturating_sub(1)));
        sum.amount += amount;
        sum.weight += weight;
    }

    /// Adds a value that changes linearly between the two `values` from `from` to `to`, weighted by time.
    pub(super) fn over(&mut self, from: SimTime, to: SimTime, values: [f64; 2]) {
        if to <= from {
            return;
        }
        self.window(SimTime::from_nanos(to.as_nanos() - 1));
        let slope = (values[1] - values[0]) / (to - from).as_secs_f64();
        let mut now = from;
        while now < to {
            let end = (self.width * (now / self.width + 1)).min(to);
            let lasts_s = (end - now).as_secs_f64();
            let middle_s = (now - from).as_secs_f64() + lasts_s / 2.0;
            let sum = self.window(now);
            sum.amount += (values[0] + slope * middle_s) * lasts_s;
            sum.weight += lasts_s;
            now = end;
        }
    }

    /// Sets the weight of each window to its duration in seconds; the last one ends at `end`.
    pub(super) fn weigh_until(&mut self, end: SimTime) {
        if end > SimTime::ZERO {
            self.window(SimTime::from_nanos(end.as_nanos() - 1));
        }
        for (index, sum) in self.sums.iter_mut().enumerate() {
            let from = self.width * index as u64;
            sum.weight = end.saturating_sub(from).min(self.width).as_secs_f64();
        }
    }

    fn window(&mut self, time: SimTime) -> &mut Sum {
        while time / self.width >= MOST as u64 {
            self.width = self.width * 2;
            self.sums = self
                .sums
                .chunks(2)
                .map(|pair| Sum {
                    amount: pair.iter().map(|sum| sum.amount).sum(),
                    weight: pair.iter().map(|sum| sum.weight).sum(),
                })
                .collect();
        }
        let index = (time / self.width) as usize;
        if index >= self.sums.len() {
            self.sums.resize(index + 1, Sum::default());
        }
        &mut self.sums[index]
    }

    /// Start times and means of windows, joined to at most `most` points; windows without a weight are left out.
    pub(super) fn curve(&self, most: usize) -> Curve {
        let together = self.sums.len().div_ceil(most.max(1)).max(1);
        let mut curve = Curve::default();
        for (index, sums) in self.sums.chunks(together).enumerate() {
            let amount: f64 = sums.iter().map(|sum| sum.amount).sum();
            let weight: f64 = sums.iter().map(|sum| sum.weight).sum();
            if weight > 0.0 {
                curve.times_s.push((self.width * (index * together) as u64).as_secs_f64());
                curve.means.push(amount / weight);
            }
        }
        curve
    }

    /// Mean and quantiles; `None` without a weight. In quantiles, windows without a weight or cut to less than half do
    /// not count.
    pub(super) fn distribution(&self) -> Option<Distribution> {
        let most = self.sums.iter().map(|sum| sum.weight).fold(0.0, f64::max);
        let [amount, weight] = self
            .sums
            .iter()
            .fold([0.0, 0.0], |[amount, weight], sum| [amount + sum.amount, weight + sum.weight]);
        if weight <= 0.0 {
            return None;
        }
        let is_timed = most <= self.width.as_secs_f64() * (1.0 + 1e-9);
        let least = if is_timed { most / 2.0 } else { 0.0 };
        let full = self.sums.iter().filter(|sum| sum.weight > 0.0 && sum.weight >= least);
        let mut means: Vec<f64> = full.map(|sum| sum.amount / sum.weight).collect();
        means.sort_by(f64::total_cmp);
        let quantile =
            |share: f64| means[((share * means.len() as f64).ceil() as usize).clamp(1, means.len()) - 1];
        Some(Distribution {
            mean: amount / weight,
            min: quantile(0.0),
            p5: quantile(0.05),
            p50: quantile(0.5),
            p95: quantile(0.95),
            max: quantile(1.0),
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const MS: SimTime = SimTime::from_millis(1);

    #[test]
    fn a_step_is_shared_among_the_windows_that_it_lasts_in() {
        let mut windows = Windows::new(MS * 100);
        windows.over(SimTime::ZERO, MS * 150, [10.0, 10.0]);
        windows.over(MS * 150, MS * 300, [40.0, 40.0]);
        let found = windows.distribution().unwrap();
        // 10, then half of each, then 40.
        assert_eq!([found.min, found.p50, found.max], [10.0, 25.0, 40.0]);
        assert!((found.mean - 25.0).abs() < 1e-12);
        let curve = windows.curve(2);
        assert_eq!((curve.times_s, curve.means), (vec![0.0, 0.2], vec![17.5, 40.0]));
        let mut line = Windows::new(MS * 100);
        line.over(SimTime::ZERO, MS * 200, [0.0, 20.0]);
        let found = line.distribution().unwrap();
        assert!((found.min - 5.0).abs() < 1e-9 && (found.max - 15.0).abs() < 1e-9, "{found:?}");
    }

    #[test]
    fn what_is_at_the_end_of_a_window_belongs_to_it() {
        let mut windows = Windows::new(MS * 100);
        for millis in [0, 50, 100, 101, 200] {
            windows.at(MS * millis, 1.0, 0.0);
        }
        windows.weigh_until(MS * 220);
        let found = windows.distribution().unwrap();
        // 3 and 2 in a tenth of a second; the last 20 ms are no window of their own.
        assert!((found.max - 30.0).abs() < 1e-9 && (found.min - 20.0).abs() < 1e-9, "{found:?}");
        assert!((found.mean - 5.0 / 0.22).abs() < 1e-9);
    }

    #[test]
    fn of_a_hundred_years_windows_are_longer() {
        let mut windows = Windows::new(MS * 100);
        windows.over(SimTime::ZERO, MS * 1000, [8.0, 8.0]);
        windows.over(MS * 1000, SimTime::from_secs_f64(3e9), [2.0, 2.0]);
        assert!(windows.width() > MS * 100 && windows.sums.len() <= MOST);
        let found = windows.distribution().unwrap();
        assert!((found.p50 - 2.0).abs() < 1e-9 && (found.mean - 2.0).abs() < 1e-6, "{found:?}");
    }
}
