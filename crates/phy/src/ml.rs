//! Maximum likelihood detection by comparing all candidates ("TCP performance over wireless MIMO channels", equation
//! 2).
//!
//! On matched filter outputs z = G s + w, half of the distance ||y - sqrt(c) H s||^2 is, up to a constant,
//!
//! ```text
//! sum over k of  G_kk |s_k|^2 / 2 - Re(s_k* v_k),    v_k = z_k - sum over i < k of G_ki s_i
//! ```
//!
//! The search tries all values of all symbols but the last, for which the point nearest to `v / G` is best.

use crate::layout::{MOST_SYMBOLS, Packed, Packing, load, single, size};
use crate::symbols::Symbols;
use crossfade_channel::Matrix;
use crossfade_channel::simd::{Kernel, Vector};
use num_complex::Complex64;

/// Channel-dependent terms of the metric for a group of interfering symbols.
#[derive(Clone, Debug, Default)]
pub(crate) struct Candidates {
    /// Number of symbols in the group, and the indices of these symbols.
    count: usize,
    members: [usize; MOST_SYMBOLS],
    /// Contribution `G_jk` s of each point s of symbol k to the output of each symbol j > k, at ((k count + j) M +
    /// label).
    products: Vec<[f32; 2]>,
    /// Real and imaginary part of each point s of symbol k, and `G_kk` |s|^2 / 2, at (k M + label).
    own: Vec<[f32; 3]>,
    /// `G_kk` / 2 and 1 / `G_kk` of the last symbol.
    last: [f32; 2],
}

impl Candidates {
    /// Computes the terms for the group of the symbols `members`, in this order.
    pub(crate) fn set(&mut self, gram: &Matrix, members: &[usize], symbols: &Symbols) {
        let (k, m) = (members.len(), symbols.count());
        self.count = k;
        self.members[..k].copy_from_slice(members);
        self.products.resize(k * k * m, [0.0; 2]);
        self.own.resize(k * m, [0.0; 3]);
        for (level, &a) in members.iter().enumerate() {
            let half = 0.5 * gram[(a, a)].re;
            let own = self.own[level * m..].iter_mut();
            for (place, (&re, &im)) in own.zip(symbols.re.iter().zip(&symbols.im)) {
                let energy = f64::from(re) * f64::from(re) + f64::from(im) * f64::from(im);
                *place = [re, im, (half * energy) as f32];
            }
            for (later, &b) in members.iter().enumerate().skip(level + 1) {
                let factor = gram[(b, a)];
                let products = self.products[(level * k + later) * m..].iter_mut();
                for (place, (&re, &im)) in products.zip(symbols.re.iter().zip(&symbols.im)) {
                    *place = single(factor * Complex64::new(f64::from(re), f64::from(im)));
                }
            }
        }
        let own = gram[(members[k - 1], members[k - 1])].re;
        self.last = [(0.5 * own) as f32, (1.0 / own) as f32];
    }

    /// Points of symbol k of the group with their energy terms; `m` points.
    #[inline(always)]
    fn own(&self, k: usize, m: usize) -> &[[f32; 3]] {
        &self.own[k * m..][..m]
    }

    /// Contributions of the points of symbol k to the output of the `later` symbol of the group.
    #[inline(always)]
    fn products(&self, k: usize, later: usize, m: usize) -> &[[f32; 2]] {
        &self.products[(k * self.count + later) * m..][..m]
    }
}

/// Kernel of the maximum-likelihood detector for one group of symbols in all blocks. K is at least the size of the
/// group; `QPSK`: all symbols are QPSK.
pub(crate) struct Ml<'a, const K: usize, const QPSK: bool> {
    pub(crate) symbols: &'a Symbols,
    pub(crate) packing: Packing,
    pub(crate) candidates: &'a Candidates,
    pub(crate) statistic: &'a [f32],
    pub(crate) stride: usize,
    /// Words that hold the labels of other groups of symbols, to which those of this group are added.
    pub(crate) words: &'a mut [u32],
}

/// Best candidate found so far, one per lane.
struct Best<V: Vector> {
    metric: V,
    /// Labels of all symbols but the last.
    labels: V::Int,
    /// Output from which the last symbol is decided.
    v: (V, V),
}

impl<const K: usize, const QPSK: bool> Kernel for Ml<'_, K, QPSK> {
    type Output = ();
    #[inline(always)]
    fn run<V: Vector>(self) {
        let n = size::<K>(self.candidates.count);
        let bits = self.packing.bits;
        for first in (0..self.stride).step_by(V::LANES) {
            let mut v = [[(V::splat(0.0), V::splat(0.0)); K]; K];
            for k in 0..n {
                v[0][k] = load(self.statistic, self.stride, first, self.candidates.members[k]);
            }
            let best = self.search(&mut v);
            let inverse = V::splat(self.candidates.last[1]);
            let last = self.symbols.slice(best.v.0 * inverse, best.v.1 * inverse).0;
            let mut packed = Packed::<V>::new();
            for k in 0..n - 1 {
                let label = (best.labels >> (k as u32 * bits)) & V::splat_int((1 << bits) - 1);
                packed.put(self.packing, self.candidates.members[k], label);
            }
            packed.put(self.packing, self.candidates.members[n - 1], last);
            packed.add(self.packing, self.words, self.stride, first);
        }
    }
}

impl<const K: usize, const QPSK: bool> Ml<'_, K, QPSK> {
    /// Tries all values of all symbols but the last. `v[k]` has the outputs minus the contributions of the symbols
    /// before k.
    #[inline(always)]
    fn search<V: Vector>(&self, v: &mut [[(V, V); K]; K]) -> Best<V> {
        let n = size::<K>(self.candidates.count);
        let m = self.symbols.count();
        let bits = self.packing.bits;
        let infinity = V::splat(f32::INFINITY);
        let mut best = Best { metric: infinity, labels: V::splat_int(0), v: v[0][n - 1] };
        if n == 1 {
            return best;
        }
        let mut metrics = [V::splat(0.0); K];
        let (mut digits, mut labels) = ([0; K], [0_u32; K]);
        let mut k = 0;
        loop {
            while k + 2 < n {
                metrics[k + 1] = metrics[k] + fit(self.candidates.own(k, m)[digits[k]], v[k][k]);
                for later in k + 1..n {
                    let [re, im] = self.candidates.products(k, later, m)[digits[k]];
                    v[k + 1][later] = (v[k][later].0 - V::splat(re), v[k][later].1 - V::splat(im));
                }
                labels[k + 1] = labels[k] | (digits[k] as u32) << (k as u32 * bits);
                k += 1;
            }
            self.last_two(metrics[n - 2], labels[n - 2], v[n - 2][n - 2], v[n - 2][n - 1], &mut best);
            loop {
                if k == 0 {
                    return best;
                }
                k -= 1;
                digits[k] += 1;
                if digits[k] < m {
                    break;
                }
                digits[k] = 0;
            }
        }
    }

    /// Tries all values of the last symbol but one, with the best last symbol for each: the innermost loop, which takes
    /// most of the time.
    #[inline(always)]
    fn last_two<V: Vector>(&self, so_far: V, labels: u32, own: (V, V), last: (V, V), best: &mut Best<V>) {
        let (k, m) = (self.candidates.count - 2, self.symbols.count());
        let half = V::splat(self.candidates.last[0]);
        let inverse = V::splat(self.candidates.last[1]);
        let step = 1 << (k as u32 * self.packing.bits);
        let mut word = labels;
        let points = self.candidates.own(k, m).iter().zip(self.candidates.products(k, k + 1, m));
        for (&point, &[re, im]) in points {
            let rest = (last.0 - V::splat(re), last.1 - V::splat(im));
            let metric = so_far + fit(point, own);
            let metric = metric + self.symbols.least_metric::<V, QPSK>(rest.0, rest.1, half, inverse);
            let better = metric.less(best.metric);
            best.metric = V::select(better, metric, best.metric);
            best.labels = V::select_int(better, V::splat_int(word), best.labels);
            best.v.0 = V::select(better, rest.0, best.v.0);
            best.v.1 = V::select(better, rest.1, best.v.1);
            word += step;
        }
    }
}

/// Contribution of a point to the metric, for the output `v`.
#[inline(always)]
fn fit<V: Vector>([re, im, energy]: [f32; 3], v: (V, V)) -> V {
    V::splat(energy) - (V::splat(re) * v.0 + V::splat(im) * v.1)
}
