//! Hidden Markov chain of a series: its levels, their durations, and the level at each step, also at steps without a
//! value.
//!
//! Values of a level are normal, with one variance for all levels. The chain is estimated by the Baum-Welch algorithm
//! (Baum et al., Annals of Mathematical Statistics 41(1), 1970), which allows missing values; the Bayesian information
//! criterion gives the number of levels.

use crate::bootstrap::quantile;

/// Maximum number of levels.
const MOST_LEVELS: usize = 8;
/// Maximum number of Baum-Welch iterations.
const ROUNDS: usize = 40;
/// Increase of the log-likelihood below which iteration stops.
const SETTLED: f64 = 1e-3;
/// Minimum number of values per level.
const FEWEST: usize = 20;
/// Initial mean duration of a level, in steps.
const LASTS: f64 = 10.0;
/// Minimum standard deviation of a level, relative to the scale of all values.
const LEAST_DEVIATION: f64 = 1e-3;

/// Hidden Markov chain fitted to a series with missing values.
#[derive(Clone, Debug, PartialEq)]
pub struct Hidden {
    /// Mean value of each level, in ascending order.
    pub levels: Vec<f64>,
    /// Standard deviation of values around their level, equal for all levels.
    pub deviation: f64,
    /// Transition probabilities per step: a row per level, a column per next level.
    pub transitions: Vec<Vec<f64>>,
    /// Index of the most likely level at each step, given all values.
    pub states: Vec<usize>,
    likelihood: f64,
}

impl Hidden {
    /// Fits a chain to a series (`None`: missing value), with the number of levels, at most 8, of the best Bayesian
    /// information criterion; `None` with fewer than 20 values.
    pub fn new(values: &[Option<f64>]) -> Option<Self> {
        let count = values.iter().flatten().count();
        let mut best: Option<(f64, Self)> = None;
        for levels in 1..=MOST_LEVELS.min(count / FEWEST) {
            let found = Self::with(values, levels);
            // Parameters: means, transitions and the variance.
            let parameters = (levels + levels * (levels - 1) + 1) as f64;
            let criterion = parameters * libm::log(count as f64) - 2.0 * found.likelihood;
            match &best {
                Some((least, _)) if criterion >= *least => break,
                _ => best = Some((criterion, found)),
            }
        }
        best.map(|(_, found)| found.sorted())
    }

    /// Returns the chain with its levels in ascending order.
    fn sorted(self) -> Self {
        let mut order: Vec<usize> = (0..self.levels.len()).collect();
        order.sort_by(|a, b| self.levels[*a].total_cmp(&self.levels[*b]));
        let mut place = vec![0; order.len()];
        for (new, old) in order.iter().enumerate() {
            place[*old] = new;
        }
        let row = |from: &usize| order.iter().map(|to| self.transitions[*from][*to]).collect();
        Self {
            levels: order.iter().map(|old| self.levels[*old]).collect(),
            transitions: order.iter().map(row).collect(),
            states: self.states.iter().map(|state| place[*state]).collect(),
            ..self
        }
    }

    /// Mean duration of a stay at a level, in steps.
    pub fn lasts(&self, level: usize) -> f64 {
        1.0 / (1.0 - self.transitions[level][level]).max(1e-9)
    }

    /// Share of steps at a level, 0 to 1.
    pub fn share(&self, level: usize) -> f64 {
        self.states.iter().filter(|state| **state == level).count() as f64 / self.states.len().max(1) as f64
    }

    /// Chain with a given number of levels, estimated from quantiles of the values as first levels.
    fn with(values: &[Option<f64>], count: usize) -> Self {
        let mut sorted: Vec<f64> = values.iter().flatten().copied().collect();
        sorted.sort_by(f64::total_cmp);
        let scale = quantile(&sorted, 0.95) - quantile(&sorted, 0.05);
        let least = LEAST_DEVIATION * scale.max(1e-9);
        let others = ((count - 1) as f64).max(1.0);
        let stays = if count == 1 { 1.0 } else { 1.0 - 1.0 / LASTS };
        let row =
            |from: usize| (0..count).map(move |to| if from == to { stays } else { (1.0 - stays) / others });
        let mut found = Self {
            levels: (0..count).map(|at| quantile(&sorted, (at as f64 + 0.5) / count as f64)).collect(),
            deviation: (scale / (2.0 * count as f64)).max(least),
            transitions: (0..count).map(|from| row(from).collect()).collect(),
            states: Vec::new(),
            likelihood: f64::NEG_INFINITY,
        };
        for _ in 0..ROUNDS {
            let before = found.likelihood;
            found.improve(values, least);
            if found.likelihood - before < SETTLED {
                break;
            }
        }
        found
    }

    /// Probability density of a value at each level relative to that at the most likely level, and the logarithm of the
    /// latter.
    fn densities(&self, value: f64) -> (Vec<f64>, f64) {
        let of = |level: &f64| {
            let away = (value - level) / self.deviation;
            -0.5 * away * away - libm::log(self.deviation) - 0.5 * libm::log(2.0 * std::f64::consts::PI)
        };
        let logs: Vec<f64> = self.levels.iter().map(of).collect();
        let most = logs.iter().copied().fold(f64::NEG_INFINITY, f64::max);
        (logs.iter().map(|log| libm::exp(log - most)).collect(), most)
    }

    /// Performs one Baum-Welch iteration: probabilities of the levels from the chain, then the chain from these.
    /// `least` is the minimum standard deviation.
    fn improve(&mut self, values: &[Option<f64>], least: f64) {
        let count = self.levels.len();
        let (mut forward, mut likelihood) = (Vec::<Vec<f64>>::with_capacity(values.len()), 0.0);
        let mut densities = Vec::with_capacity(values.len());
        for value in values {
            let mut now = match forward.last() {
                None => vec![1.0 / count as f64; count],
                Some(before) => (0..count)
                    .map(|to| (0..count).map(|from| before[from] * self.transitions[from][to]).sum())
                    .collect(),
            };
            let of = value.map(|value| self.densities(value));
            if let Some((of, most)) = &of {
                for (now, of) in now.iter_mut().zip(of) {
                    *now *= of;
                }
                likelihood += most;
            }
            let sum: f64 = now.iter().sum::<f64>().max(f64::MIN_POSITIVE);
            likelihood += libm::log(sum);
            for now in &mut now {
                *now /= sum;
            }
            forward.push(now);
            densities.push(of.map_or_else(|| vec![1.0; count], |of| of.0));
        }
        let mut states = vec![0; values.len()];
        let mut moves = vec![vec![0.0; count]; count];
        let mut sums = vec![(0.0, 0.0, 0.0); count];
        let mut behind = vec![1.0; count];
        for at in (0..values.len()).rev() {
            let mut here: Vec<f64> =
                forward[at].iter().zip(&behind).map(|(forward, behind)| forward * behind).collect();
            let sum: f64 = here.iter().sum::<f64>().max(f64::MIN_POSITIVE);
            for here in &mut here {
                *here /= sum;
            }
            states[at] =
                (0..count).fold(0, |best, level| if here[level] > here[best] { level } else { best });
            if let Some(value) = values[at] {
                for (sum, here) in sums.iter_mut().zip(&here) {
                    *sum = (sum.0 + here, sum.1 + here * value, sum.2 + here * value * value);
                }
            }
            if at > 0 {
                let ahead: Vec<f64> =
                    densities[at].iter().zip(&behind).map(|(density, behind)| density * behind).collect();
                let mut pairs = vec![vec![0.0; count]; count];
                let mut all = f64::MIN_POSITIVE;
                for (from, row) in pairs.iter_mut().enumerate() {
                    for (to, pair) in row.iter_mut().enumerate() {
                        *pair = forward[at - 1][from] * self.transitions[from][to] * ahead[to];
                        all += *pair;
                    }
                }
                for (sum, pair) in moves.iter_mut().flatten().zip(pairs.iter().flatten()) {
                    *sum += pair / all;
                }
                behind = (0..count)
                    .map(|from| (0..count).map(|to| self.transitions[from][to] * ahead[to]).sum::<f64>())
                    .collect();
                let most = behind.iter().copied().fold(f64::MIN_POSITIVE, f64::max);
                for behind in &mut behind {
                    *behind /= most;
                }
            }
        }
        let (mut squares, mut weight) = (0.0, 0.0);
        for (level, (of, sum, square)) in self.levels.iter_mut().zip(&sums) {
            if *of > 1e-9 {
                *level = sum / of;
                squares += square - sum * sum / of;
                weight += of;
            }
        }
        self.deviation = (squares.max(0.0) / weight.max(1.0)).sqrt().max(least);
        for (row, moves) in self.transitions.iter_mut().zip(&moves) {
            let all: f64 = moves.iter().sum();
            if all > 1e-9 {
                for (row, moves) in row.iter_mut().zip(moves) {
                    *row = moves / all;
                }
            }
        }
        (self.states, self.likelihood) = (states, likelihood);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::bootstrap::normal;
    use crossfade_core::RunSeed;
    use rand::RngExt;

    /// Series of levels 0, 1 and 3 that last 25 steps in the mean, with noise of standard deviation 0.2 and a share
    /// `missing` of the values left out; and the true level of each step.
    fn series(missing: f64, seed: u64) -> (Vec<Option<f64>>, Vec<usize>) {
        let mut random = RunSeed { seed, run: 0 }.stream("hidden");
        let mut state = 0_usize;
        let of = |_| {
            if random.random_bool(0.04) {
                state = (state + random.random_range(1..3_usize)) % 3;
            }
            let value = [0.0, 1.0, 3.0][state] + 0.2 * normal(&mut random);
            ((!random.random_bool(missing)).then_some(value), state)
        };
        (0..2000).map(of).unzip()
    }

    #[test]
    fn levels_and_how_long_they_last_come_back() {
        for seed in 0..10 {
            let (values, states) = series(0.3, seed);
            let found = Hidden::new(&values).unwrap();
            assert_eq!(found.levels.len(), 3, "{seed}: {:?}", found.levels);
            for (level, true_one) in found.levels.iter().zip([0.0, 1.0, 3.0]) {
                assert!((level - true_one).abs() < 0.05, "{seed}: {:?}", found.levels);
            }
            assert!((found.deviation - 0.2).abs() < 0.02);
            for level in 0..3 {
                assert!((12.0..50.0).contains(&found.lasts(level)), "{seed}: {}", found.lasts(level));
            }
            let right = found.states.iter().zip(&states).filter(|(found, there)| found == there).count();
            assert!(right > 1900, "{seed}: {right} of 2000 steps");
        }
    }

    #[test]
    fn noise_has_one_level() {
        let more = (0..50).filter(|seed| {
            let mut random = RunSeed { seed: *seed, run: 0 }.stream("hidden");
            let values: Vec<Option<f64>> = (0..600).map(|_| Some(normal(&mut random))).collect();
            Hidden::new(&values).unwrap().levels.len() > 1
        });
        assert!(more.count() <= 2);
        assert_eq!(Hidden::new(&[Some(1.0); 10]), None);
        assert_eq!(Hidden::new(&[Some(1.0); 100]).unwrap().levels, [1.0]);
    }
}
