//! Minimum mean square error detection with ordered successive interference cancellation.
//!
//! The algorithm of section 2.1 of "TCP performance over wireless MIMO channels" (the paper), on matched filter outputs
//! z = G s + w, G = c H^H H, w of covariance G. With Omega = (G + I)^-1 of the symbols left:
//!
//! 1. decide the symbol with the least `Omega_kk`, which is the one with the greatest ratio 1 / `Omega_kk` - 1
//!    (the paper's remark says the least), from (Omega z)_k / (1 - `Omega_kk`);
//! 2. subtract the decision's part from the other outputs, `z_j` -= `G_jk` `s_k`;
//! 3. leave out row and column k. Omega of the rest is a downdate, `Omega_ab` - `Omega_ak` `Omega_kb` / `Omega_kk`.
//!
//! Order and rows depend only on the channel and are computed once per frame.

use crate::hermitian::inverse;
use crate::layout::{
    MOST_SYMBOLS, Packed, Packing, add_product, load, single, size, store, subtract_product,
};
use crate::linear::gain;
use crate::symbols::Symbols;
use crossfade_channel::Matrix;
use crossfade_channel::simd::{Kernel, Vector};

/// Relative difference below which two ratios are a tie, decided for the first symbol: symbols of a code share their
/// ratio in pairs, up to rounding.
pub(crate) const TIE: f64 = 1e-9;

/// Quantities of the detection that depend only on the channel, with rows and columns in order of detection.
#[derive(Clone, Debug)]
pub(crate) struct Stages {
    /// Index of the symbol that each stage decides.
    pub(crate) order: [usize; MOST_SYMBOLS],
    /// Coefficients of the estimate of stage i (row), applied to the outputs of stages i and later (columns).
    pub(crate) rows: [[[f32; 2]; MOST_SYMBOLS]; MOST_SYMBOLS],
    /// Contribution of the symbol of stage i to the output of stage j, at `cancel[i][j]`.
    pub(crate) cancel: [[[f32; 2]; MOST_SYMBOLS]; MOST_SYMBOLS],
    /// Signal to interference and noise ratio (linear) of each stage, if all stages before decided correctly.
    pub(crate) sinr: [f64; MOST_SYMBOLS],
    /// Gain 1 - `Omega_kk` of each stage's estimate before it was made unbiased.
    pub(crate) gain: [f64; MOST_SYMBOLS],
}

impl Stages {
    pub(crate) fn empty() -> Self {
        Self {
            order: [0; MOST_SYMBOLS],
            rows: [[[0.0; 2]; MOST_SYMBOLS]; MOST_SYMBOLS],
            cancel: [[[0.0; 2]; MOST_SYMBOLS]; MOST_SYMBOLS],
            sinr: [0.0; MOST_SYMBOLS],
            gain: [0.0; MOST_SYMBOLS],
        }
    }

    /// Computes order and coefficients for a channel with the Gram matrix `gram`.
    pub(crate) fn set<const K: usize>(&mut self, gram: &Matrix) {
        let stages = self;
        let mut omega = inverse::<K>(gram, 1.0);
        stages.order = [0, 1, 2, 3, 4, 5, 6, 7];
        // Omega is permuted along, so that what is left is always its lower right part.
        let mut scales = [0.0; K];
        for i in 0..K {
            let mut best = i;
            for j in i + 1..K {
                let (own, least) = (omega[j][j].re, omega[best][best].re);
                let ties = own <= least * (1.0 + TIE) && stages.order[j] < stages.order[best];
                if own < least * (1.0 - TIE) || ties {
                    best = j;
                }
            }
            if best != i {
                stages.order.swap(i, best);
                omega.swap(i, best);
                for row in &mut omega {
                    row.swap(i, best);
                }
            }
            let own = omega[i][i].re;
            stages.gain[i] = gain(own);
            stages.sinr[i] = stages.gain[i] / own;
            scales[i] = 1.0 / stages.gain[i];
            let reciprocal = 1.0 / own;
            for a in i + 1..K {
                let factor = omega[a][i] * reciprocal;
                for b in i + 1..=a {
                    let (x, y) = (factor, omega[i][b]);
                    omega[a][b].re -= x.re * y.re - x.im * y.im;
                    omega[a][b].im -= x.re * y.im + x.im * y.re;
                    omega[b][a] = omega[a][b].conj();
                }
            }
        }
        // A swap moved the columns of earlier rows along with their symbols.
        for i in 0..K {
            for j in i..K {
                stages.rows[i][j] = single(omega[i][j] * scales[i]);
                stages.cancel[i][j] = single(gram[(stages.order[j], stages.order[i])]);
            }
        }
    }
}

/// Kernel that detects all blocks of a frame with ordered successive cancellation.
pub(crate) struct Osic<'a, const K: usize> {
    pub(crate) symbols: &'a Symbols,
    pub(crate) packing: Packing,
    pub(crate) stages: &'a Stages,
    pub(crate) statistic: &'a [f32],
    pub(crate) stride: usize,
    pub(crate) words: &'a mut [u32],
    /// Output of the unbiased estimates by symbol, if wanted.
    pub(crate) estimates: Option<&'a mut [f32]>,
}

impl<const K: usize> Kernel for Osic<'_, K> {
    type Output = ();
    #[inline(always)]
    fn run<V: Vector>(mut self) {
        let stages = self.stages;
        let n = size::<K>(self.packing.symbols);
        for first in (0..self.stride).step_by(V::LANES) {
            let mut z = [(V::splat(0.0), V::splat(0.0)); K];
            for i in 0..n {
                z[i] = load(self.statistic, self.stride, first, stages.order[i]);
            }
            let mut packed = Packed::<V>::new();
            for i in 0..n {
                let mut x = (V::splat(0.0), V::splat(0.0));
                for j in i..n {
                    x = add_product(x, stages.rows[i][j], z[j]);
                }
                if let Some(estimates) = &mut self.estimates {
                    store(x, estimates, self.stride, first, stages.order[i]);
                }
                let (label, re, im) = self.symbols.slice(x.0, x.1);
                packed.put(self.packing, stages.order[i], label);
                for j in i + 1..n {
                    z[j] = subtract_product(z[j], stages.cancel[i][j], (re, im));
                }
            }
            packed.store(self.packing, self.words, self.stride, first);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::hermitian::tests::some_gram;

    #[test]
    fn the_strongest_symbol_comes_first_and_ratios_are_of_the_reduced_system() {
        for seed in 0..50 {
            let gram = some_gram(4, f64::from(seed));
            let mut stages = Stages::empty();
            stages.set::<4>(&gram);
            let mut left: Vec<usize> = (0..4).collect();
            for i in 0..4 {
                let n = left.len();
                let reduced = Matrix::from_fn(n, n, |row, column| gram[(left[row], left[column])]);
                let diagonal: Vec<f64> = match n {
                    4 => (0..4).map(|k| inverse::<4>(&reduced, 1.0)[k][k].re).collect(),
                    3 => (0..3).map(|k| inverse::<3>(&reduced, 1.0)[k][k].re).collect(),
                    2 => (0..2).map(|k| inverse::<2>(&reduced, 1.0)[k][k].re).collect(),
                    _ => vec![inverse::<1>(&reduced, 1.0)[0][0].re],
                };
                let least = diagonal.iter().copied().fold(f64::INFINITY, f64::min);
                let place = left.iter().position(|&k| k == stages.order[i]).unwrap();
                assert!((diagonal[place] - least).abs() < 1e-9);
                assert!((stages.sinr[i] / (1.0 / least - 1.0) - 1.0).abs() < 1e-6);
                left.remove(place);
            }
        }
    }
}
