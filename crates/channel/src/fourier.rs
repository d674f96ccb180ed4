//! Inverse Fourier transform of many series at once, side by side in rows, for blocks of fading.
// See `simd`.
#![allow(clippy::inline_always)]

use crate::simd::{Kernel, Vector};
use std::f64::consts::TAU;
use std::sync::LazyLock;

/// Number of rows that a transform takes: the samples of a block.
pub(crate) const BLOCK: usize = 1024;
const HALF: usize = BLOCK / 2;
/// Number of rows that fit into the processor's cache together.
const CACHED: usize = 256;

/// Twiddle factors: cosines and sines of the angles of half a turn, in `HALF` equal steps.
static TWIDDLES: LazyLock<[(f32, f32); HALF]> = LazyLock::new(|| {
    std::array::from_fn(|i| {
        let (sin, cos) = libm::sincos(TAU * i as f64 / BLOCK as f64);
        (cos as f32, sin as f32)
    })
});

/// Index of the frequency whose amplitudes belong in row `place` of the input: decimation in time takes it in
/// bit-reversed order.
pub(crate) fn frequency_at(place: usize) -> usize {
    place.reverse_bits() >> (usize::BITS - BLOCK.ilog2())
}

/// Inverse Fourier transform along the rows, in place, radix 2 (Cooley and Tukey, 1965). Two stages at a time run on
/// parts that fit into the cache; this changes the order of the computation, but no sum.
pub(crate) struct Transform<'a> {
    rows: &'a mut [f32],
    width: usize,
    twiddles: &'static [(f32, f32); HALF],
}

impl<'a> Transform<'a> {
    /// Creates the transform of [`BLOCK`] rows, each of `width` real parts and as many imaginary ones: from amplitudes
    /// in the order of [`frequency_at`] to samples in the order of time.
    pub(crate) fn new(rows: &'a mut [f32], width: usize) -> Self {
        Self { rows, width, twiddles: &TWIDDLES }
    }
}

impl Kernel for Transform<'_> {
    type Output = ();
    #[inline(always)]
    fn run<V: Vector>(self) {
        const { assert!(CACHED == 1 << 8 && BLOCK == CACHED << 2, "an even number of stages in each") };
        let row = 2 * self.width;
        for part in self.rows.chunks_exact_mut(CACHED * row) {
            for bits in (0..8).step_by(2) {
                two_stages::<V>(part, 1 << bits, self.width, self.twiddles);
            }
        }
        two_stages::<V>(self.rows, CACHED, self.width, self.twiddles);
    }
}

/// Runs two stages of the transform: the first joins groups of `size` rows, the second groups of twice as many.
#[inline(always)]
fn two_stages<V: Vector>(rows: &mut [f32], size: usize, width: usize, twiddles: &[(f32, f32); HALF]) {
    let row = 2 * width;
    for group in rows.chunks_exact_mut(4 * size * row) {
        let (left, right) = group.split_at_mut(2 * size * row);
        let (a, b) = left.split_at_mut(size * row);
        let (c, d) = right.split_at_mut(size * row);
        let pairs = a.chunks_exact_mut(row).zip(b.chunks_exact_mut(row));
        let others = c.chunks_exact_mut(row).zip(d.chunks_exact_mut(row));
        for (i, ((a, b), (c, d))) in pairs.zip(others).enumerate() {
            let inner = turn(twiddles, i * (HALF / size));
            let first = turn(twiddles, i * (HALF / size / 2));
            let second = turn(twiddles, (i + size) * (HALF / size / 2));
            let mut at = 0;
            while at < width {
                let (upper, lower) = butterfly::<V>(load(a, at), load(b, at), inner);
                let (other_upper, other_lower) = butterfly::<V>(load(c, at), load(d, at), inner);
                let (new_a, new_c) = butterfly(upper, other_upper, first);
                let (new_b, new_d) = butterfly(lower, other_lower, second);
                store(new_a, a, at);
                store(new_b, b, at);
                store(new_c, c, at);
                store(new_d, d, at);
                at += V::LANES;
            }
        }
    }
}

type Complex<V> = (V, V);

/// Cosine and sine of the twiddle factor number `place`, in all lanes.
#[inline(always)]
fn turn<V: Vector>(twiddles: &[(f32, f32); HALF], place: usize) -> Complex<V> {
    let (cos, sin) = twiddles[place % HALF];
    (V::splat(cos), V::splat(sin))
}

/// Loads the complex values of a row for the paths from number `at` on, one per lane.
#[inline(always)]
fn load<V: Vector>(row: &[f32], at: usize) -> Complex<V> {
    let (re, im) = row.split_at(row.len() / 2);
    (V::load(&re[at..]), V::load(&im[at..]))
}

#[inline(always)]
fn store<V: Vector>((re, im): Complex<V>, row: &mut [f32], at: usize) {
    let (to_re, to_im) = row.split_at_mut(row.len() / 2);
    re.store(&mut to_re[at..]);
    im.store(&mut to_im[at..]);
}

/// Butterfly of the transform: the sum and the difference of `upper` and of `lower` rotated by `cos` and `sin`.
#[inline(always)]
fn butterfly<V: Vector>(
    upper: Complex<V>,
    (re, im): Complex<V>,
    (cos, sin): Complex<V>,
) -> (Complex<V>, Complex<V>) {
    let (turned_re, turned_im) = (re * cos - im * sin, re * sin + im * cos);
    ((upper.0 + turned_re, upper.1 + turned_im), (upper.0 - turned_re, upper.1 - turned_im))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::simd::Simd;
    use num_complex::Complex64;

    /// Frequencies of the test, each with an amplitude of its own in every series.
    const FREQUENCIES: [usize; 6] = [0, 1, 5, 511, 512, 1000];

    fn amplitude(frequency: usize, series: usize) -> Complex64 {
        Complex64::new(1.0 + series as f64 / 7.0, frequency as f64 / 1024.0 - 0.4)
    }

    #[test]
    fn samples_are_the_sum_of_their_frequencies() {
        let width = 16;
        let mut rows = vec![0.0; BLOCK * 2 * width];
        for (place, row) in rows.chunks_exact_mut(2 * width).enumerate() {
            let frequency = frequency_at(place);
            for series in (0..width).filter(|_| FREQUENCIES.contains(&frequency)) {
                let value = amplitude(frequency, series);
                (row[series], row[width + series]) = (value.re as f32, value.im as f32);
            }
        }
        Simd::widest().run(Transform::new(&mut rows, width));
        for (time, row) in rows.chunks_exact(2 * width).enumerate() {
            for series in [0, 3, 15] {
                let turned = |frequency| {
                    let angle = TAU * ((frequency * time) % BLOCK) as f64 / BLOCK as f64;
                    amplitude(frequency, series) * Complex64::from_polar(1.0, angle)
                };
                let direct: Complex64 = FREQUENCIES.into_iter().map(turned).sum();
                let got = Complex64::new(row[series].into(), row[width + series].into());
                assert!((got - direct).norm() < 2e-5, "{time} {series}: {got} {direct}");
            }
        }
    }
}
