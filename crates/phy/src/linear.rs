//! Linear detectors, which multiply by one matrix: matched filter, zero forcing, minimum mean square error.

use crate::hermitian::inverse;
use crate::layout::{MOST_SYMBOLS, Packed, Packing, WIDEST, add_product, load_all, single, size, store};
use crate::symbols::Symbols;
use crossfade_channel::Matrix;
use crossfade_channel::simd::{Kernel, Vector};
use num_complex::Complex64;

/// Matrix that turns matched filter outputs z = G s + w into unbiased estimates of the symbols.
#[derive(Clone, Debug)]
pub(crate) struct Filter {
    pub(crate) rows: [[[f32; 2]; MOST_SYMBOLS]; MOST_SYMBOLS],
    /// True if symbols do not interfere, so that only the diagonal counts.
    pub(crate) diagonal: bool,
    /// Signal to interference and noise ratio (linear, not in dB) of each symbol.
    pub(crate) sinr: [f64; MOST_SYMBOLS],
    /// Gain of each symbol's estimate before it was made unbiased.
    pub(crate) gain: [f64; MOST_SYMBOLS],
}

impl Filter {
    fn empty(diagonal: bool) -> Self {
        Self {
            rows: [[[0.0; 2]; MOST_SYMBOLS]; MOST_SYMBOLS],
            diagonal,
            sinr: [0.0; MOST_SYMBOLS],
            gain: [1.0; MOST_SYMBOLS],
        }
    }

    /// Matched filter for symbols that do not interfere: estimate z / G.
    pub(crate) fn matched(gram: &Matrix) -> Self {
        let mut filter = Self::empty(true);
        for k in 0..gram.rows() {
            filter.rows[k][k][0] = (1.0 / gram[(k, k)].re) as f32;
            filter.sinr[k] = gram[(k, k)].re;
        }
        filter
    }

    /// Zero forcing: estimate G^-1 z, with SNR 1 / (G^-1)_kk.
    pub(crate) fn zero_forcing<const K: usize>(gram: &Matrix) -> Self {
        let mut filter = Self::empty(false);
        for (k, row) in inverse::<K>(gram, 1e-12).iter().enumerate() {
            filter.sinr[k] = 1.0 / row[k].re;
            filter.set(k, row, 1.0);
        }
        filter
    }

    /// Minimum mean square error: estimate Omega z with Omega = (G + I)^-1 and SNR 1 / `Omega_kk` - 1. The estimate is
    /// divided by its gain, 1 - `Omega_kk`.
    pub(crate) fn minimum_error<const K: usize>(gram: &Matrix) -> Self {
        let mut filter = Self::empty(false);
        for (k, row) in inverse::<K>(gram, 1.0).iter().enumerate() {
            filter.gain[k] = gain(row[k].re);
            filter.sinr[k] = filter.gain[k] / row[k].re;
            filter.set(k, row, 1.0 / filter.gain[k]);
        }
        filter
    }

    fn set(&mut self, k: usize, row: &[Complex64], scale: f64) {
        for (place, entry) in self.rows[k].iter_mut().zip(row) {
            *place = single(entry * scale);
        }
    }
}

/// Gain 1 - `Omega_kk` of a minimum mean square error estimate, at least 1e-12 where there is no signal at all.
pub(crate) fn gain(omega: f64) -> f64 {
    (1.0 - omega).max(1e-12)
}

/// Kernel that applies a filter and decides each symbol separately.
pub(crate) struct Linear<'a, const K: usize> {
    pub(crate) symbols: &'a Symbols,
    pub(crate) packing: Packing,
    pub(crate) filter: &'a Filter,
    pub(crate) statistic: &'a [f32],
    pub(crate) stride: usize,
    pub(crate) words: &'a mut [u32],
    /// Output of the unbiased estimates, if wanted.
    pub(crate) estimates: Option<&'a mut [f32]>,
}

impl<const K: usize> Kernel for Linear<'_, K> {
    type Output = ();
    #[inline(always)]
    fn run<V: Vector>(mut self) {
        assert!(self.stride.is_multiple_of(WIDEST));
        let n = size::<K>(self.packing.symbols);
        for first in (0..self.stride).step_by(V::LANES) {
            let z = load_all::<V, K>(self.statistic, self.stride, first, n);
            let mut packed = Packed::<V>::new();
            for k in 0..n {
                let row = &self.filter.rows[k];
                let mut x = (V::splat(0.0), V::splat(0.0));
                if self.filter.diagonal {
                    let scale = V::splat(row[k][0]);
                    x = (scale * z[k].0, scale * z[k].1);
                } else {
                    for j in 0..n {
                        x = add_product(x, row[j], z[j]);
                    }
                }
                if let Some(estimates) = &mut self.estimates {
                    store(x, estimates, self.stride, first, k);
                }
                packed.put(self.packing, k, self.symbols.slice(x.0, x.1).0);
            }
            packed.store(self.packing, self.words, self.stride, first);
        }
    }
}
