//! Reception of a frame: the payload's symbols through the channel and the matched filter, with noise.

use crate::hermitian::cholesky;
use crate::layout::{MOST_SYMBOLS, Packing, add_product, single, size, store};
use crate::symbols::Symbols;
use crossfade_channel::simd::{Kernel, Vector};
use crossfade_channel::{Matrix, NoiseSource, Use, positions};

/// Kernel that draws the labels of a payload.
pub(crate) struct Payload<'a> {
    pub(crate) source: NoiseSource,
    pub(crate) sdu: u64,
    pub(crate) packing: Packing,
    pub(crate) stride: usize,
    pub(crate) words: &'a mut [u32],
}

impl Kernel for Payload<'_> {
    type Output = ();
    #[inline(always)]
    fn run<V: Vector>(self) {
        for word in 0..self.packing.words() {
            // One counter gives four words, which go to blocks 16 apart, so that each vector is contiguous.
            for group in (0..self.stride).step_by(64) {
                for lane in (0..16).step_by(V::LANES) {
                    let position = positions::<V>(group / 4 + lane);
                    let drawn = self.source.words::<V>(Use::Payload, self.sdu, word as u32, position);
                    for (quarter, value) in drawn.into_iter().enumerate() {
                        let block = group + 16 * quarter + lane;
                        if block < self.stride {
                            V::store_int(value, &mut self.words[word * self.stride + block..]);
                        }
                    }
                }
            }
        }
    }
}

/// Matched filter outputs of a channel: z = C s + L n, with white noise n.
///
/// C is c E^H H, where E is the receiver's estimate of H, and L L^H = c E^H E is the covariance of the noise. With a
/// perfect estimate both follow from the Gram matrix G. So only K noise values are drawn, instead of those of all
/// antennas and slots.
#[derive(Clone, Debug)]
pub(crate) struct Matched {
    signal: [[[f32; 2]; MOST_SYMBOLS]; MOST_SYMBOLS],
    noise: [[[f32; 2]; MOST_SYMBOLS]; MOST_SYMBOLS],
    diagonal: bool,
}

impl Matched {
    /// Creates the matched outputs from C (`signal`) and c E^H E (`gram`); `diagonal`: both have no entries off the
    /// diagonal.
    pub(crate) fn new<const K: usize>(signal: &Matrix, gram: &Matrix, diagonal: bool) -> Self {
        let mut matched = Self {
            signal: [[[0.0; 2]; MOST_SYMBOLS]; MOST_SYMBOLS],
            noise: [[[0.0; 2]; MOST_SYMBOLS]; MOST_SYMBOLS],
            diagonal,
        };
        if diagonal {
            for k in 0..K {
                matched.signal[k][k][0] = signal[(k, k)].re as f32;
                matched.noise[k][k][0] = gram[(k, k)].re.sqrt() as f32;
            }
            return matched;
        }
        let lower = cholesky::<K>(gram);
        for row in 0..K {
            for column in 0..K {
                matched.signal[row][column] = single(signal[(row, column)]);
                matched.noise[row][column] = single(lower[row][column]);
            }
        }
        matched
    }
}

/// Kernel that draws the matched filter outputs of a transmission.
pub(crate) struct Receive<'a, const K: usize> {
    pub(crate) source: NoiseSource,
    pub(crate) transmission: u64,
    pub(crate) symbols: &'a Symbols,
    pub(crate) packing: Packing,
    pub(crate) matched: &'a Matched,
    pub(crate) words: &'a [u32],
    pub(crate) stride: usize,
    pub(crate) statistic: &'a mut [f32],
}

impl<const K: usize> Kernel for Receive<'_, K> {
    type Output = ();
    #[inline(always)]
    fn run<V: Vector>(self) {
        let n = size::<K>(self.packing.symbols);
        for first in (0..self.stride).step_by(V::LANES) {
            let position = positions::<V>(first);
            let zero = (V::splat(0.0), V::splat(0.0));
            let (mut symbols, mut noise) = ([zero; K], [zero; K]);
            for k in 0..n {
                symbols[k] = self.symbols.map(self.packing.label::<V>(self.words, self.stride, first, k));
            }
            for pair in 0..n.div_ceil(2) {
                let [a, b] = self.source.gaussians::<V>(Use::Noise, self.transmission, pair as u32, position);
                noise[2 * pair] = a;
                if 2 * pair + 1 < n {
                    noise[2 * pair + 1] = b;
                }
            }
            for k in 0..n {
                let mut z = zero;
                if self.matched.diagonal {
                    let (signal, root) =
                        (V::splat(self.matched.signal[k][k][0]), V::splat(self.matched.noise[k][k][0]));
                    z.0 = signal * symbols[k].0 + root * noise[k].0;
                    z.1 = signal * symbols[k].1 + root * noise[k].1;
                } else {
                    for j in 0..n {
                        z = add_product(z, self.matched.signal[k][j], symbols[j]);
                    }
                    for j in 0..=k {
                        z = add_product(z, self.matched.noise[k][j], noise[j]);
                    }
                }
                store(z, self.statistic, self.stride, first, k);
            }
        }
    }
}
