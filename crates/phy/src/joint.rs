//! Successive cancellation on all receptions of a frame at once: the combining stage `joint`.

use crate::combining::Weights;
use crate::detector::Detection;
use crate::hermitian::inverse;
use crate::layout::{
    MOST_SYMBOLS, Packed, Packing, add_product, load, single, store, subtract_product, with_size,
};
use crate::linear::gain;
use crate::osic::TIE;
use crate::symbols::Symbols;
use crossfade_channel::Matrix;
use crossfade_channel::simd::{Kernel, Vector};
use num_complex::Complex64;
use std::collections::VecDeque;

/// Decides the labels of a frame from all its receptions, each a Gram matrix and matched filter outputs.
pub(crate) fn detect(
    detection: &Detection,
    receptions: &VecDeque<(Matrix, Vec<f32>)>,
    weights: Weights,
    stride: usize,
    words: &mut [u32],
) {
    let grams: Vec<Matrix> = receptions.iter().map(|(gram, _)| *gram).collect();
    let stages = with_size!(detection.packing.symbols, K => Stages::new::<K>(&grams, weights));
    let mut outputs: Vec<Vec<f32>> = receptions.iter().map(|(_, outputs)| outputs.clone()).collect();
    detection.simd.run(Joint {
        symbols: &detection.symbols,
        packing: detection.packing,
        stages: &stages,
        outputs: &mut outputs,
        stride,
        words,
    });
}

/// Complex matrix with a row and a column for each symbol of a block, as real and imaginary parts.
type Square = [[[f32; 2]; MOST_SYMBOLS]; MOST_SYMBOLS];

/// Quantities for joint detection that depend only on the channels of all receptions.
struct Stages {
    order: Vec<usize>,
    /// Filter rows of each reception by stage and symbol, weighted so that their sum is an unbiased estimate.
    rows: Vec<Square>,
    /// Gram matrix of each reception: the contribution of a symbol (column) to the output of another (row).
    grams: Vec<Square>,
}

impl Stages {
    fn new<const K: usize>(grams: &[Matrix], weights: Weights) -> Self {
        let mut omegas: Vec<_> = grams.iter().map(|gram| inverse::<K>(gram, 1.0)).collect();
        let mut left: Vec<usize> = (0..K).collect();
        let mut order = Vec::new();
        let mut rows = vec![[[[0.0; 2]; MOST_SYMBOLS]; MOST_SYMBOLS]; grams.len()];
        for stage in 0..K {
            // The symbol whose combination has the greatest signal-to-noise ratio.
            let ratio = |k: usize| combined_ratio(omegas.iter().map(|omega| omega[k][k].re), weights);
            let (place, _) = left
                .iter()
                .map(|&k| ratio(k))
                .enumerate()
                .fold((0, -1.0), |best, next| if next.1 > best.1 * (1.0 + TIE) { next } else { best });
            let k = left.remove(place);
            order.push(k);
            let weight = |own: f64| match weights {
                Weights::EqualGain => gain(own),
                Weights::MaximalRatio => gain(own) / own,
            };
            let total: f64 = omegas.iter().map(|omega| weight(omega[k][k].re)).sum();
            for (omega, rows) in omegas.iter_mut().zip(&mut rows) {
                let own = omega[k][k].re;
                let scale = weight(own) / gain(own) / total;
                rows[stage][k] = single(omega[k][k] * scale);
                for &j in &left {
                    rows[stage][j] = single(omega[k][j] * scale);
                }
                let pivot: [Complex64; K] = omega[k];
                for &a in &left {
                    let factor = omega[a][k] / own;
                    for &b in &left {
                        omega[a][b] -= factor * pivot[b];
                    }
                }
            }
        }
        let entries = |gram: &Matrix| {
            let mut entries = [[[0.0; 2]; MOST_SYMBOLS]; MOST_SYMBOLS];
            for row in 0..K {
                for column in 0..K {
                    entries[row][column] = single(gram[(row, column)]);
                }
            }
            entries
        };
        Self { order, rows, grams: grams.iter().map(entries).collect() }
    }
}

/// Signal-to-noise ratio (linear) of a combination of receptions with the given values of `Omega_kk`.
fn combined_ratio(omegas: impl Iterator<Item = f64>, weights: Weights) -> f64 {
    match weights {
        Weights::MaximalRatio => omegas.map(|own| gain(own) / own).sum(),
        // Outputs of gain g = 1 - Omega have noise of power Omega g.
        Weights::EqualGain => {
            let (signal, noise) =
                omegas.fold((0.0, 0.0), |(signal, noise), own| (signal + gain(own), noise + own * gain(own)));
            signal * signal / noise
        }
    }
}

struct Joint<'a> {
    symbols: &'a Symbols,
    packing: Packing,
    stages: &'a Stages,
    /// Matched filter outputs of each reception, from which decisions are cancelled.
    outputs: &'a mut [Vec<f32>],
    stride: usize,
    words: &'a mut [u32],
}

impl Kernel for Joint<'_> {
    type Output = ();
    #[inline(always)]
    fn run<V: Vector>(self) {
        for first in (0..self.stride).step_by(V::LANES) {
            let mut packed = Packed::<V>::new();
            for (stage, &k) in self.stages.order.iter().enumerate() {
                let later = &self.stages.order[stage..];
                let mut x = (V::splat(0.0), V::splat(0.0));
                for (rows, outputs) in self.stages.rows.iter().zip(&*self.outputs) {
                    for &j in later {
                        x = add_product(x, rows[stage][j], load(outputs, self.stride, first, j));
                    }
                }
                let (label, re, im) = self.symbols.slice(x.0, x.1);
                packed.put(self.packing, k, label);
                for (gram, outputs) in self.stages.grams.iter().zip(&mut *self.outputs) {
                    for &j in &later[1..] {
                        let z = load(outputs, self.stride, first, j);
                        let z = subtract_product::<V>(z, gram[j][k], (re, im));
                        store(z, outputs, self.stride, first, j);
                    }
                }
            }
            packed.store(self.packing, self.words, self.stride, first);
        }
    }
}
