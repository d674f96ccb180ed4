//! Quality of the counter-based noise: moments, the distribution from 0 to beyond 5 standard deviations, and
//! correlations between neighbours, sequences and streams.
//!
//! `cargo run --release -p crossfade-channel --example noise_quality [-- MILLIONS]`; 200 million values by default.
//! Each line has a deviation from theory in standard errors; with perfect noise one in 16,000 would exceed 4. The exit
//! status is 1 if any does.

use crossfade_channel::simd::{Kernel, Simd, Vector};
use crossfade_channel::{NoiseSource, Use, positions};
use crossfade_core::RunSeed;
use std::process::ExitCode;

const BLOCK: usize = 1 << 14;
/// Borders between classes of |x| in standard deviations; of 100 million normal values 57 lie beyond 5.
const BORDERS: [f64; 12] = [0.0, 0.25, 0.5, 1.0, 1.5, 2.0, 2.5, 3.0, 3.5, 4.0, 4.5, 5.0];

/// Kernel that fills a block with Gaussian values: noise source, number of the sequence, and output, in four parts:
/// real and imaginary parts of the first and of the second Gaussian of each counter.
struct Draw<'a>(NoiseSource, u64, &'a mut [f32]);

impl Kernel for Draw<'_> {
    type Output = ();
    #[allow(clippy::inline_always)] // see `simd`
    #[inline(always)]
    fn run<V: Vector>(self) {
        let quarter = BLOCK / 4;
        for first in (0..quarter).step_by(V::LANES) {
            let [a, b] = self.0.gaussians::<V>(Use::Noise, self.1, 0, positions::<V>(first));
            for (part, value) in [a.0, a.1, b.0, b.1].into_iter().enumerate() {
                value.store(&mut self.2[part * quarter + first..]);
            }
        }
    }
}

/// Sums over all values of the noise, in units of standard deviations.
#[derive(Default)]
struct Sums {
    powers: [f64; 4],
    /// Number of values in each class of magnitude, for each sign.
    classes: [[u64; BORDERS.len()]; 2],
    /// Sums of products of a value with the next value, the next part, the next sequence and another stream.
    products: [f64; 4],
}

fn main() -> ExitCode {
    let millions: u64 = std::env::args().skip(1).find_map(|argument| argument.parse().ok()).unwrap_or(200);
    let blocks = (millions * 1_000_000).div_ceil(BLOCK as u64);
    let source = |name: &str| NoiseSource::new(RunSeed { seed: 1, run: 0 }.stream(name));
    let (ours, other) = (source("noise.dl"), source("noise.ul"));
    let simd = Simd::widest();
    let (mut values, mut before, mut others) = (vec![0.0; BLOCK], vec![0.0; BLOCK], vec![0.0; BLOCK]);
    let mut sums = Sums::default();
    for block in 0..blocks {
        before.copy_from_slice(&values);
        simd.run(Draw(ours, block, &mut values));
        simd.run(Draw(other, block, &mut others));
        for i in 0..BLOCK {
            let x = f64::from(values[i]) * std::f64::consts::SQRT_2;
            let square = x * x;
            for (sum, power) in sums.powers.iter_mut().zip([x, square, square * x, square * square]) {
                *sum += power;
            }
            let class = BORDERS.partition_point(|border| *border <= x.abs()) - 1;
            sums.classes[usize::from(x < 0.0)][class] += 1;
            let next = [values[(i + 1) % BLOCK], values[(i + BLOCK / 4) % BLOCK], before[i], others[i]];
            for (sum, next) in sums.products.iter_mut().zip(next) {
                *sum += x * f64::from(next) * std::f64::consts::SQRT_2;
            }
        }
    }
    report(&sums, (blocks * BLOCK as u64) as f64)
}

fn report(sums: &Sums, n: f64) -> ExitCode {
    let mut good = true;
    let mut line = |what: String, errors: f64| {
        println!("{what:<40} {errors:+.2} standard errors");
        good &= errors.abs() < 4.0;
    };
    let moments =
        [("mean", 0.0, 1.0), ("variance", 1.0, 2.0), ("skewness", 0.0, 15.0), ("kurtosis", 3.0, 96.0)];
    for ((name, mean, variance), sum) in moments.into_iter().zip(sums.powers) {
        line(name.into(), (sum / n - mean) / (variance / n).sqrt());
    }
    let beyond = |x: f64| 0.5 * libm::erfc(x / std::f64::consts::SQRT_2);
    for (sign, counts) in ["+", "-"].into_iter().zip(sums.classes) {
        for (class, count) in counts.into_iter().enumerate() {
            let upper = BORDERS.get(class + 1).map_or(0.0, |border| beyond(*border));
            let expected = n * (beyond(BORDERS[class]) - upper);
            let name = format!("{sign}, from {} sigma: {count}", BORDERS[class]);
            line(name, (count as f64 - expected) / expected.sqrt());
        }
    }
    let pairs = ["next position", "next quarter", "next sequence", "other stream"];
    for (name, product) in pairs.into_iter().zip(sums.products) {
        line(format!("correlation with the {name}"), product / n.sqrt());
    }
    if good { ExitCode::SUCCESS } else { ExitCode::FAILURE }
}
