//! Complex Gaussian noise by index: any value of a sequence can be computed without the values before it.
//!
//! The generator is Philox4x32-10 (Salmon, Moraes, Dror and Shaw, "Parallel random numbers: as easy as 1, 2, 3", SC
//! 2011): a bijection of a 128-bit counter under a 64-bit key. Pairs of its words become Gaussians by Box and Muller
//! (1958), with this file's own logarithm and cosine, because those of libraries differ by platform and have no vector
//! form. The values depend only on key and counter, never on the width of vectors.
//!
//! The real part of a value reaches 6.7 standard deviations; its distribution was tested to 5 and more
//! (`cargo run --release -p crossfade-channel --example noise_quality`).
// See `simd`.
#![allow(clippy::inline_always)]

use crate::simd::Vector;
use crossfade_core::Stream;
use rand::Rng;

/// Random words and Gaussians of one random stream, addressed by use, sequence, draw and position.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct NoiseSource {
    key: [u32; 2],
}

/// Purpose of a random draw: draws for different purposes are independent.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u32)]
pub enum Use {
    /// Bits of a payload; the sequence is the payload's number.
    Payload = 0,
    /// Gains of a fading channel; the sequence is the number of the transmission, block or segment.
    Fading = 1,
    /// Noise at the receiver; the sequence is the number of the transmission.
    Noise = 2,
    /// Errors of a channel estimate; the sequence is the number of the transmission.
    Estimation = 3,
}

/// Complex numbers, one per lane: vectors of real and of imaginary parts.
pub type Complex<V> = (V, V);

impl NoiseSource {
    /// Creates the source of a named stream: the stream's first 64 bits are the key.
    pub fn new(mut stream: Stream) -> Self {
        Self { key: [stream.next_u32(), stream.next_u32()] }
    }

    /// Four random words for each lane, for the values at the lanes' `position` in sequence `index` of use `what`; draw
    /// `call` is below 2^24.
    #[inline(always)]
    pub fn words<V: Vector>(&self, what: Use, index: u64, call: u32, position: V::Int) -> [V::Int; 4] {
        let counter = [
            position,
            V::splat_int((call << 8) | what as u32),
            V::splat_int(index as u32),
            V::splat_int((index >> 32) as u32),
        ];
        philox::<V>(counter, self.key)
    }

    /// Two independent complex Gaussians of variance 1 for each lane, for the values at the lanes' `position` in
    /// sequence `index` of use `what`; draw `call` is below 2^24.
    #[inline(always)]
    pub fn gaussians<V: Vector>(
        &self,
        what: Use,
        index: u64,
        call: u32,
        position: V::Int,
    ) -> [Complex<V>; 2] {
        let [a, b, c, d] = self.words::<V>(what, index, call, position);
        [gaussian::<V>(a, b), gaussian::<V>(c, d)]
    }
}

/// Positions of the lanes of a vector: `first`, `first` + 1, ...
#[inline(always)]
pub fn positions<V: Vector>(first: usize) -> V::Int {
    const COUNT: [u32; 16] = [0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15];
    V::load_int(&COUNT) + V::splat_int(first as u32)
}

#[inline(always)]
fn philox<V: Vector>(counter: [V::Int; 4], key: [u32; 2]) -> [V::Int; 4] {
    let [mut a, mut b, mut c, mut d] = counter;
    let [mut k0, mut k1] = key;
    for _ in 0..10 {
        let (upper0, lower0) = V::multiply_wide(a, 0xd251_1f53);
        let (upper1, lower1) = V::multiply_wide(c, 0xcd9e_8d57);
        (a, b, c, d) = (upper1 ^ b ^ V::splat_int(k0), lower1, upper0 ^ d ^ V::splat_int(k1), lower0);
        k0 = k0.wrapping_add(0x9e37_79b9);
        k1 = k1.wrapping_add(0xbb67_ae85);
    }
    [a, b, c, d]
}

/// Complex Gaussian of variance 1 from two random words u and v, scaled to (0, 1): sqrt(-ln u) exp(2 pi j v).
#[inline(always)]
fn gaussian<V: Vector>(u: V::Int, v: V::Int) -> Complex<V> {
    // Only 31 bits of the first word: small values, which make the tails, keep all their digits.
    let uniform = (V::from_int(u >> 1) + V::splat(0.5)) * V::splat(1.0 / (1_u32 << 31) as f32);
    let radius = minus_ln(uniform).sqrt();
    let (cos, sin) = cos_sin_turns::<V>(v);
    (radius * cos, radius * sin)
}

/// Natural logarithm of x with the sign changed, for positive normal x up to 1, within 2 ulp or 1e-7.
///
/// x = 2^e m, m between sqrt(1/2) and sqrt(2), and ln m = 2 artanh(s), s = (m - 1) / (m + 1).
#[inline(always)]
fn minus_ln<V: Vector>(x: V) -> V {
    const SQRT_HALF: u32 = 0x3f35_04f3;
    let shifted = x.to_bits() + V::splat_int(0x3f80_0000 - SQRT_HALF);
    let exponent = V::from_int((shifted >> 23) - V::splat_int(127));
    let m = V::from_bits((shifted & V::splat_int(0x007f_ffff)) + V::splat_int(SQRT_HALF));
    let s = (m - V::splat(1.0)) / (m + V::splat(1.0));
    let z = s * s;
    // The next term of the series is below 4e-9 of the sum.
    let tail = V::splat(1.0 / 7.0) + z * V::splat(1.0 / 9.0);
    let tail = V::splat(1.0 / 3.0) + z * (V::splat(1.0 / 5.0) + z * tail);
    let ln_m = (s + s) + (s + s) * (z * tail);
    let minus = V::splat(-std::f32::consts::LN_2) * exponent - ln_m;
    minus.max(V::splat(0.0))
}

/// Cosine and sine of an angle given in units of 2^-32 turns, within 1e-7.
#[inline(always)]
fn cos_sin_turns<V: Vector>(turns: V::Int) -> (V, V) {
    // The nearest quarter turn, and at most an eighth of a turn from it.
    let quarter = (turns + V::splat_int(1 << 29)) >> 30;
    let angle = V::from_int(turns - (quarter << 30)) * V::splat(std::f32::consts::TAU / (1_u64 << 32) as f32);
    let z = angle * angle;
    // Taylor: the next terms are below 2e-9.
    let sin = V::splat(-1.0 / 5040.0) + z * V::splat(1.0 / 362_880.0);
    let sin = V::splat(-1.0 / 6.0) + z * (V::splat(1.0 / 120.0) + z * sin);
    let sin = angle + angle * (z * sin);
    let cos = V::splat(-1.0 / 720.0) + z * (V::splat(1.0 / 40_320.0) - z * V::splat(1.0 / 3_628_800.0));
    let cos = V::splat(1.0) + z * (V::splat(-0.5) + z * (V::splat(1.0 / 24.0) + z * cos));
    // At odd quarters they change places; signs are those of the quadrant.
    let odd = V::splat_int(0) - (quarter & V::splat_int(1));
    let (cos, sin) = (cos.to_bits(), sin.to_bits());
    let change = (cos ^ sin) & odd;
    let minus_cos = ((quarter + V::splat_int(1)) & V::splat_int(2)) << 30;
    let minus_sin = (quarter & V::splat_int(2)) << 30;
    (V::from_bits(cos ^ change ^ minus_cos), V::from_bits(sin ^ change ^ minus_sin))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::simd::{Kernel, Simd};
    use crossfade_core::RunSeed;

    /// Test kernel: random words of a counter under a key, as the last lane of a vector has them.
    struct Words([u32; 4], [u32; 2]);

    impl Kernel for Words {
        type Output = [u32; 4];
        #[inline(always)]
        fn run<V: Vector>(self) -> [u32; 4] {
            philox::<V>(self.0.map(V::splat_int), self.1).map(|word| {
                let mut lanes = [0; 16];
                V::store_int(word, &mut lanes);
                lanes[V::LANES - 1]
            })
        }
    }

    #[test]
    fn philox_has_its_published_values() {
        // Known answers of Random123, philox4x32 with 10 rounds.
        for simd in Simd::available() {
            let zero = simd.run(Words([0; 4], [0; 2]));
            assert_eq!(zero, [0x6627_e8d5, 0xe169_c58d, 0xbc57_ac4c, 0x9b00_dbd8]);
            let ones = simd.run(Words([u32::MAX; 4], [u32::MAX; 2]));
            assert_eq!(ones, [0x408f_276d, 0x41c8_3b0e, 0xa20b_c7c6, 0x6d54_51fd]);
            let pi = simd
                .run(Words([0x243f_6a88, 0x85a3_08d3, 0x1319_8a2e, 0x0370_7344], [0xa409_3822, 0x299f_31d0]));
            assert_eq!(pi, [0xd16c_fe09, 0x94fd_cceb, 0x5001_e420, 0x2412_6ea1]);
        }
    }

    /// Test kernel: -ln of a number, and cosine and sine of an angle in units of 2^-32 turns.
    struct Functions(f32, u32);

    impl Kernel for Functions {
        type Output = (f32, f32, f32);
        #[inline(always)]
        fn run<V: Vector>(self) -> Self::Output {
            let first = |value: V| {
                let mut lanes = [0.0; 16];
                value.store(&mut lanes);
                lanes[0]
            };
            let (cos, sin) = cos_sin_turns::<V>(V::splat_int(self.1));
            (first(minus_ln(V::splat(self.0))), first(cos), first(sin))
        }
    }

    #[test]
    fn logarithm_cosine_and_sine_are_those_of_f64() {
        for simd in Simd::available() {
            for i in 0..20_000_u32 {
                let x = (f64::from(i) / 20_000.0 * -22.18).exp() as f32;
                let phase = i.wrapping_mul(0x9e37_79b9);
                let (ln, cos, sin) = simd.run(Functions(x, phase));
                let exact = -f64::from(x).ln();
                assert!((f64::from(ln) - exact).abs() < 1.5e-7 * exact.max(1.0), "{x}: {ln} {exact}");
                let angle = f64::from(phase) / 2_f64.powi(32) * std::f64::consts::TAU;
                assert!((f64::from(cos) - angle.cos()).abs() < 1.5e-7, "{phase}");
                assert!((f64::from(sin) - angle.sin()).abs() < 1.5e-7, "{phase}");
            }
        }
    }

    /// Test kernel: real and imaginary parts of two sequences, interleaved; source, number of the sequence, and output.
    struct Sample<'a>(NoiseSource, u64, &'a mut [f32]);

    impl Kernel for Sample<'_> {
        type Output = ();
        #[inline(always)]
        fn run<V: Vector>(self) {
            for (i, chunk) in self.2.chunks_exact_mut(4 * V::LANES).enumerate() {
                let position = positions::<V>(i * V::LANES);
                let [a, b] = self.0.gaussians::<V>(Use::Noise, self.1, 0, position);
                for (part, value) in [a.0, a.1, b.0, b.1].into_iter().enumerate() {
                    // By position first, so that the order does not depend on the width.
                    let mut lanes = [0.0; 16];
                    value.store(&mut lanes);
                    for lane in 0..V::LANES {
                        chunk[4 * lane + part] = lanes[lane];
                    }
                }
            }
        }
    }

    fn sample(simd: Simd, name: &str, index: u64) -> Vec<f32> {
        let mut values = vec![0.0; 1 << 18];
        simd.run(Sample(NoiseSource::new(RunSeed { seed: 1, run: 0 }.stream(name)), index, &mut values));
        values
    }

    #[test]
    fn widths_agree_bit_for_bit() {
        let all: Vec<_> = Simd::available().map(|simd| sample(simd, "noise", 5)).collect();
        assert!(all.iter().all(|other| *other == all[0]));
    }

    #[test]
    fn values_are_normal_and_streams_independent() {
        let values = sample(Simd::widest(), "noise", 5);
        let n = values.len() as f64;
        let moment = |power: i32| {
            let scale = std::f64::consts::SQRT_2; // variance 1/2 a part
            values.iter().map(|&x| (f64::from(x) * scale).powi(power)).sum::<f64>() / n
        };
        // Within 4 standard errors; those of the powers are the roots of 1, 2, 15, 96.
        for (power, mean, variance) in [(1, 0.0, 1.0), (2, 1.0, 2.0), (3, 0.0, 15.0), (4, 3.0, 96.0)] {
            let error = (moment(power) - mean) / (variance / n).sqrt();
            assert!(f64::abs(error) < 4.0, "moment {power}: {error} standard errors");
        }
        for sigmas in [2.0_f64, 3.0, 4.0] {
            let probability = libm::erfc(sigmas / 2_f64.sqrt());
            let beyond = values.iter().filter(|x| f64::from(x.abs()) * 2_f64.sqrt() > sigmas).count() as f64;
            let error = (beyond - n * probability) / (n * probability).sqrt();
            assert!(error.abs() < 4.0, "{sigmas} sigma: {beyond} of {n}");
        }
        for other in [
            sample(Simd::widest(), "other", 5),
            sample(Simd::widest(), "noise", 6),
            values[1..].to_vec(),
            values[4..].to_vec(),
        ] {
            let product: f64 =
                values.iter().zip(&other).map(|(x, y)| 2.0 * f64::from(*x) * f64::from(*y)).sum();
            assert!(product.abs() < 4.0 * n.sqrt(), "correlation {}", product / n);
        }
    }
}
