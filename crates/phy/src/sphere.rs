//! The sphere decoder: exact maximum likelihood without comparing all candidates.
//!
//! With G = R^H R, R upper triangular, the metric is a sum of squares that grows from the last symbol to the first: ||
//! R^-H z - R s ||^2. Branches that already exceed the best candidate are cut (Schnorr and Euchner 1994: nearest branch
//! first). The run time depends on channel and noise.

use crate::hermitian::cholesky;
use crate::layout::{MOST_SYMBOLS, Packing};
use crossfade_channel::Matrix;
use num_complex::Complex64;

/// Relative size below which an entry of the root of a Gram matrix counts as 0. Without full rank (fully correlated
/// antennas) rounding leaves small entries. Outputs have single precision, and their rounding errors, divided by such
/// an entry, would exceed the noise.
const PRECISION: f64 = 1e-6;

/// Sphere decoder set up for the channel of one frame.
pub(crate) struct Sphere<'a> {
    points: &'a [Complex64],
    size: usize,
    lower: [[Complex64; MOST_SYMBOLS]; MOST_SYMBOLS],
}

/// State of the search for the symbols of one block.
struct Search {
    target: [Complex64; MOST_SYMBOLS],
    labels: [usize; MOST_SYMBOLS],
    best: [usize; MOST_SYMBOLS],
    least: f64,
}

impl<'a> Sphere<'a> {
    pub(crate) fn new<const K: usize>(gram: &Matrix, points: &'a [Complex64]) -> Self {
        let mut lower = [[Complex64::ZERO; MOST_SYMBOLS]; MOST_SYMBOLS];
        let root = cholesky::<K>(gram);
        let greatest = (0..K).map(|k| gram[(k, k)].re).fold(0.0, f64::max);
        for column in (0..K).filter(|&k| root[k][k].re > PRECISION * greatest) {
            for row in column..K {
                lower[row][column] = root[row][column];
            }
        }
        Self { points, size: K, lower }
    }

    /// Labels of the most likely symbols of a block, for its matched filter outputs `z`.
    pub(crate) fn detect(&self, z: &[Complex64]) -> [usize; MOST_SYMBOLS] {
        let mut target = [Complex64::ZERO; MOST_SYMBOLS];
        for k in 0..self.size {
            let rest = (0..k).fold(z[k], |rest, j| rest - self.lower[k][j] * target[j]);
            let pivot = self.lower[k][k].re;
            target[k] = if pivot > 0.0 { rest / pivot } else { Complex64::ZERO };
        }
        let start = [0; MOST_SYMBOLS];
        let mut search = Search { target, labels: start, best: start, least: f64::INFINITY };
        self.descend(self.size, 0.0, &mut search);
        search.best
    }

    /// Searches the symbols below `level`, when those from it on are decided and contribute `so_far` to the metric.
    fn descend(&self, level: usize, so_far: f64, search: &mut Search) {
        if level == 0 {
            (search.best, search.least) = (search.labels, so_far);
            return;
        }
        let k = level - 1;
        let rest = (level..self.size)
            .fold(search.target[k], |rest, j| rest - self.lower[j][k].conj() * self.points[search.labels[j]]);
        let mut branches = [(0.0, 0_u16); 256];
        let branches = &mut branches[..self.points.len()];
        for (label, (branch, point)) in branches.iter_mut().zip(self.points).enumerate() {
            *branch = ((rest - self.lower[k][k] * point).norm_sqr(), label as u16);
        }
        branches.sort_unstable_by(|a, b| a.0.total_cmp(&b.0).then(a.1.cmp(&b.1)));
        for &mut (distance, label) in branches {
            if so_far + distance >= search.least {
                return;
            }
            search.labels[k] = usize::from(label);
            self.descend(k, so_far + distance, search);
        }
    }

    /// Decides the labels of all blocks of a frame.
    pub(crate) fn detect_all(&self, statistic: &[f32], stride: usize, packing: Packing, words: &mut [u32]) {
        for block in 0..stride {
            let part = |row: usize| f64::from(statistic[row * stride + block]);
            let z: [Complex64; MOST_SYMBOLS] = std::array::from_fn(|k| {
                if k < self.size { Complex64::new(part(2 * k), part(2 * k + 1)) } else { Complex64::ZERO }
            });
            for word in 0..packing.words() {
                words[word * stride + block] = 0;
            }
            for (k, &label) in self.detect(&z)[..self.size].iter().enumerate() {
                let (word, shift) = packing.place(k);
                words[word * stride + block] |= (label as u32) << shift;
            }
        }
    }
}
