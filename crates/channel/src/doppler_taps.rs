//! Rayleigh fading of several paths for a slotted radio: one gain per path and slot, for any number of slots.
//!
//! Blocks of a process with Clarke's (Jakes') Doppler spectrum are computed in the frequency domain: each cell of a
//! Fourier transform gets a complex Gaussian whose power is the part of the spectrum in the cell, (asin(b/fd) -
//! asin(a/fd)) / pi between its edges a and b. Values are exactly Gaussian. Consecutive blocks are independent, overlap
//! by half and are added with the weights cos and sin of an angle that grows from 0 to a quarter turn. So the power
//! stays 1, and the autocorrelation is that of a block times the cosine of the change of this angle, at most
//! 0.3 % less up to the fifth zero of `J0`. Blocks have at least 5 samples per Doppler period and are interpolated, so
//! slow fading costs less.
// See `simd`.
#![allow(clippy::inline_always)]

use crate::error::{ChannelError, out_of_range};
use crate::fourier::{BLOCK, Transform, frequency_at};
use crate::noise::{NoiseSource, Use, positions};
use crate::simd::{Kernel, Simd, Vector};
use crossfade_core::Stream;
use crossfade_core::square;
use rand::Rng;
use std::f64::consts::{FRAC_PI_2, PI};
use std::sync::{Arc, LazyLock, Mutex, PoisonError};

/// Number of samples from the start of one block to the start of the next: blocks overlap by half.
const HALF: usize = BLOCK / 2;
/// Number of samples from which one value is interpolated.
const SPAN: usize = 8;
/// Greatest number of radio slots per sample.
const MOST_SLOTS: u64 = 128;
/// Greatest Doppler shift in cycles per sample, if a sample spans several radio slots.
const BAND: f64 = 0.2;
/// Number of paths to a multiple of which rows are padded: the lanes of the widest vectors.
const LANES: usize = 16;

/// Complex gains of independent paths, each of mean power 1 and autocorrelation `J0(2 pi fd_t k)` over k slots.
///
/// Gains depend on the stream and the slot alone, so slots can be computed in any order, and the process never repeats.
/// In increasing order a path takes 10 to 20 ns per slot; a jump costs two blocks of 1024 samples. Clones are the same
/// realisation and share its computed segments, though each may be at another slot.
#[derive(Clone, Debug)]
pub struct DopplerTaps {
    taps: usize,
    /// Length of half a row: a row has the real parts of all paths, padded to the widest vector, then the imaginary
    /// ones.
    width: usize,
    is_static: bool,
    /// Binary logarithm of the number of radio slots per sample.
    sample_bits: u32,
    simd: Simd,
    source: NoiseSource,
    /// Square roots of the power of the frequency cells from -k to k.
    amplitudes: Vec<f32>,
    filters: Vec<[f32; SPAN]>,
    /// Segments in use, and the last ones that any clone has computed, at index 0 for even and 1 for odd segment
    /// numbers.
    segments: [Segment; 2],
    made: Arc<Mutex<[Segment; 2]>>,
    /// Sample of a segment at which the next segment is computed, drawn at random: several processes then compute
    /// theirs at different times.
    ahead: u64,
}

/// Samples of half a block: the second half of the block with this number, mixed with the first half of the next block.
#[derive(Clone, Debug, Default)]
struct Segment {
    number: Option<u64>,
    /// Rows of the segment, then those of the second half of the next block, from which the next segment is computed.
    rows: Arc<Vec<f32>>,
}

/// Cosines and sines of the angles by which blocks are mixed: a quarter turn in `HALF` equal steps, each at its middle.
static FADE: LazyLock<[(f32, f32); HALF]> = LazyLock::new(|| {
    std::array::from_fn(|i| {
        let (sin, cos) = libm::sincos(FRAC_PI_2 * (i as f64 + 0.5) / HALF as f64);
        (cos as f32, sin as f32)
    })
});

impl DopplerTaps {
    /// Creates a realisation of `taps` paths with the maximum Doppler shift `fd_t` in cycles per slot; with 0 gains are
    /// constant.
    ///
    /// # Errors
    /// If `fd_t` is neither 0 nor in [5e-5, 0.5): from 0.5 on one value per slot undersamples the process.
    pub fn new(taps: usize, fd_t: f64, stream: Stream, simd: Simd) -> Result<Self, ChannelError> {
        let is_static = fd_t == 0.0;
        if !is_static && !(5e-5..0.5).contains(&fd_t) {
            return Err(out_of_range("fd_t", fd_t, "0 or between 5e-5 and 0.5"));
        }
        let mut sample_bits = 0;
        while !is_static && 1 << sample_bits < MOST_SLOTS && fd_t * (2_u64 << sample_bits) as f64 <= BAND {
            sample_bits += 1;
        }
        let slots_per_sample = 1_u64 << sample_bits;
        Ok(Self {
            taps,
            width: taps.next_multiple_of(LANES),
            is_static,
            sample_bits,
            simd,
            ahead: SPAN as u64 + stream.clone().next_u64() % (HALF - 2 * SPAN) as u64,
            source: NoiseSource::new(stream),
            amplitudes: amplitudes(fd_t * slots_per_sample as f64 * BLOCK as f64),
            filters: (0..slots_per_sample).map(|i| filter(i as f64 / slots_per_sample as f64)).collect(),
            segments: Default::default(),
            made: Arc::default(),
        })
    }

    /// Number of values that [`at`](Self::at) writes: the real parts of all paths fill the first half, padded, the
    /// imaginary parts the second.
    pub fn row_len(&self) -> usize {
        2 * self.width
    }

    /// Writes the path gains of radio slot number `slot` into `row`, which has [`row_len`](Self::row_len) values.
    pub fn at(&mut self, slot: u64, row: &mut [f32]) {
        let slot = if self.is_static { 0 } else { slot };
        let first = slot >> self.sample_bits;
        let last = first + (SPAN - 1) as u64;
        let (number, last_number) = (first / HALF as u64, last / HALF as u64);
        self.prepare(number);
        if first % HALF as u64 == self.ahead {
            self.prepare(number.wrapping_add(1));
        }
        let weights = (slot - (first << self.sample_bits)) as usize;
        let row_len = self.row_len();
        let from = (first % HALF as u64) as usize * row_len;
        if number == last_number {
            let rows = &self.segments[(number % 2) as usize].rows[from..from + SPAN * row_len];
            let rows = std::array::from_fn(|i| &rows[i * row_len..(i + 1) * row_len]);
            return self.simd.run(Interpolate { rows, weights: &self.filters[weights], row });
        }
        self.prepare(last_number);
        let rows = std::array::from_fn(|i| {
            let sample = first + i as u64;
            let from = (sample % HALF as u64) as usize * row_len;
            &self.segments[(sample / HALF as u64 % 2) as usize].rows[from..from + row_len]
        });
        self.simd.run(Interpolate { rows, weights: &self.filters[weights], row });
    }

    /// Computes segment `number` if it is not in use: the second half of its block, mixed with the first half of the
    /// next.
    #[inline]
    fn prepare(&mut self, number: u64) {
        if self.segments[(number % 2) as usize].number != Some(number) {
            self.make(number);
        }
    }

    #[inline(never)]
    fn make(&mut self, number: u64) {
        let made = Arc::clone(&self.made);
        let mut made = made.lock().unwrap_or_else(PoisonError::into_inner);
        let [place, other] = [number % 2, (number + 1) % 2].map(|place| place as usize);
        if made[place].number != Some(number) {
            let middle = HALF * self.row_len();
            // The memory of the replaced segment is reused if no clone holds it.
            self.segments[place] = Segment::default();
            let spare = std::mem::take(&mut made[place].rows);
            let mut rows = Arc::try_unwrap(spare).unwrap_or_default();
            // Clones far behind or ahead may have replaced the preceding segment.
            let before = [&made[other], &self.segments[other]]
                .into_iter()
                .find(|segment| segment.number.is_some() && segment.number == number.checked_sub(1));
            let mut jumped = Vec::new();
            let old = if let Some(before) = before {
                &before.rows[middle..]
            } else {
                self.block(number, &mut jumped);
                &jumped[middle..]
            };
            self.block(number.wrapping_add(1), &mut rows);
            self.simd.run(Mix { old, new: &mut rows[..middle], row: self.row_len(), turns: &*FADE });
            made[place] = Segment { number: Some(number), rows: Arc::new(rows) };
        }
        self.segments[place] = made[place].clone();
    }

    /// Writes the samples of block `number` into `rows`, one row per sample.
    fn block(&self, number: u64, rows: &mut Vec<f32>) {
        let (cells, row_len) = (self.amplitudes.len(), self.row_len());
        let half = (cells * self.taps).div_ceil(2).next_multiple_of(LANES);
        let (mut re, mut im) = (vec![0.0; 2 * half], vec![0.0; 2 * half]);
        self.simd.run(Draw { source: self.source, number, half, re: &mut re, im: &mut im });
        rows.resize(BLOCK * row_len, 0.0);
        for (place, row) in rows.chunks_exact_mut(row_len).enumerate() {
            row.fill(0.0);
            let cell = (frequency_at(place) + cells / 2) % BLOCK;
            let Some(amplitude) = self.amplitudes.get(cell) else { continue };
            let drawn = cell * self.taps..(cell + 1) * self.taps;
            let (row_re, row_im) = row.split_at_mut(self.width);
            row_re.iter_mut().zip(&re[drawn.clone()]).for_each(|(row, re)| *row = re * amplitude);
            row_im.iter_mut().zip(&im[drawn]).for_each(|(row, im)| *row = im * amplitude);
        }
        self.simd.run(Transform::new(rows, self.width));
    }
}

/// Square roots of the powers of the frequency cells from -k to k, for a maximum Doppler shift of `edge` cells; the
/// powers add up to 1.
fn amplitudes(edge: f64) -> Vec<f32> {
    let outermost = ((edge + 0.5) as usize).min(HALF - 1);
    let below = |cell: f64| {
        if edge == 0.0 { cell.signum() * FRAC_PI_2 } else { libm::asin((cell / edge).clamp(-1.0, 1.0)) }
    };
    let power = |cell: usize| {
        let cell = cell as f64 - outermost as f64;
        (below(cell + 0.5) - below(cell - 0.5)) / PI
    };
    let powers: Vec<f64> = (0..=2 * outermost).map(power).collect();
    let total: f64 = powers.iter().sum();
    powers.iter().map(|power| (power / total).sqrt() as f32).collect()
}

/// Weights by which [`SPAN`] samples are interpolated at the fraction `phase` of a sample after the fourth of them: a
/// sinc under Kaiser's window, whose images lie 68 dB down for Doppler shifts up to [`BAND`].
fn filter(phase: f64) -> [f32; SPAN] {
    const BETA: f64 = 6.5;
    let half = (SPAN / 2) as f64;
    let weights: [f64; SPAN] = std::array::from_fn(|i| {
        let x = i as f64 - (half - 1.0) - phase;
        let sinc = if x == 0.0 { 1.0 } else { libm::sin(PI * x) / (PI * x) };
        sinc * bessel_i0(BETA * (1.0 - square(x / half)).max(0.0).sqrt())
    });
    let total: f64 = weights.iter().sum();
    weights.map(|weight| (weight / total) as f32)
}

/// Modified Bessel function I0(x), by its power series.
fn bessel_i0(x: f64) -> f64 {
    let (mut term, mut sum) = (1.0, 1.0);
    for k in 1..60 {
        term *= square(x / (2.0 * f64::from(k)));
        sum += term;
    }
    sum
}

struct Draw<'a> {
    source: NoiseSource,
    number: u64,
    half: usize,
    re: &'a mut [f32],
    im: &'a mut [f32],
}

impl Kernel for Draw<'_> {
    type Output = ();
    #[inline(always)]
    fn run<V: Vector>(self) {
        for first in (0..self.half).step_by(V::LANES) {
            let [a, b] = self.source.gaussians::<V>(Use::Fading, self.number, 0, positions::<V>(first));
            a.0.store(&mut self.re[first..]);
            a.1.store(&mut self.im[first..]);
            b.0.store(&mut self.re[self.half + first..]);
            b.1.store(&mut self.im[self.half + first..]);
        }
    }
}

/// Mixes old rows into new ones: weights are the cosine and the sine of each row's angle.
struct Mix<'a> {
    old: &'a [f32],
    new: &'a mut [f32],
    row: usize,
    turns: &'a [(f32, f32)],
}

impl Kernel for Mix<'_> {
    type Output = ();
    #[inline(always)]
    fn run<V: Vector>(self) {
        let rows = self.old.chunks_exact(self.row).zip(self.new.chunks_exact_mut(self.row));
        for ((old, new), &(cos, sin)) in rows.zip(self.turns) {
            let (cos, sin) = (V::splat(cos), V::splat(sin));
            for (old, new) in old.chunks_exact(V::LANES).zip(new.chunks_exact_mut(V::LANES)) {
                (V::load(old) * cos + V::load(new) * sin).store(new);
            }
        }
    }
}

struct Interpolate<'a> {
    rows: [&'a [f32]; SPAN],
    weights: &'a [f32; SPAN],
    row: &'a mut [f32],
}

impl Kernel for Interpolate<'_> {
    type Output = ();
    #[inline(always)]
    fn run<V: Vector>(self) {
        let weights = self.weights.map(V::splat);
        let mut at = 0;
        while at < self.row.len() {
            let mut sum = V::load(&self.rows[0][at..]) * weights[0];
            let mut i = 1;
            while i < SPAN {
                sum = sum + V::load(&self.rows[i][at..]) * weights[i];
                i += 1;
            }
            sum.store(&mut self.row[at..]);
            at += V::LANES;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crossfade_core::RunSeed;
    use num_complex::Complex64;
    use std::f64::consts::TAU;

    fn taps(count: usize, fd_t: f64, run: u64, simd: Simd) -> DopplerTaps {
        let stream = RunSeed { seed: 5, run }.stream("channel.dl.0");
        DopplerTaps::new(count, fd_t, stream, simd).unwrap()
    }

    fn gains(process: &mut DopplerTaps, slots: impl Iterator<Item = u64>) -> Vec<Vec<Complex64>> {
        let mut row = vec![0.0; process.row_len()];
        let count = process.taps;
        let mut of = vec![Vec::new(); count];
        for slot in slots {
            process.at(slot, &mut row);
            for (tap, values) in of.iter_mut().enumerate() {
                values.push(Complex64::new(row[tap].into(), row[process.width + tap].into()));
            }
        }
        of
    }

    #[test]
    fn a_block_is_the_sum_of_its_cells() {
        let process = taps(3, 0.3, 0, Simd::widest());
        let mut rows = Vec::new();
        process.block(7, &mut rows);
        let cells = process.amplitudes.len();
        let half = (cells * 3).div_ceil(2).next_multiple_of(LANES);
        let (mut re, mut im) = (vec![0.0; 2 * half], vec![0.0; 2 * half]);
        process.simd.run(Draw { source: process.source, number: 7, half, re: &mut re, im: &mut im });
        for (sample, tap) in [(0, 0), (1, 2), (511, 1), (1023, 0)] {
            let direct: Complex64 = (0..cells)
                .map(|cell| {
                    let frequency = cell as f64 - (cells / 2) as f64;
                    let amplitude = f64::from(process.amplitudes[cell]);
                    let value = Complex64::new(re[cell * 3 + tap].into(), im[cell * 3 + tap].into());
                    value
                        * Complex64::from_polar(amplitude, TAU * frequency * f64::from(sample) / BLOCK as f64)
                })
                .sum();
            let row = &rows[sample as usize * process.row_len()..];
            let got = Complex64::new(row[tap].into(), row[process.width + tap].into());
            assert!((got - direct).norm() < 1e-5, "{sample} {tap}: {got} {direct}");
        }
    }

    #[test]
    fn autocorrelation_is_j0_and_paths_are_independent() {
        // Each of 16 paths of 20 runs is an independent realisation of 1500 slots.
        for fd_t in [0.0037, 0.0926, 0.23, 0.45] {
            let lags = [0, 1, 2, 3, 6, 12, 25];
            let mut products = vec![Vec::new(); lags.len()];
            let mut across = Vec::new();
            for run in 0..20 {
                let of = gains(&mut taps(16, fd_t, run, Simd::widest()), 700..2230);
                for (lag, products) in lags.iter().zip(&mut products) {
                    let mean = |values: &Vec<Complex64>| {
                        (0..1500).map(|n| (values[n + lag] * values[n].conj()).re).sum::<f64>() / 1500.0
                    };
                    products.extend(of.iter().map(mean));
                }
                across.extend(of.windows(2).map(|pair| (pair[0][9] * pair[1][9].conj()).re));
            }
            for (lag, products) in lags.iter().zip(&products) {
                let (mean, error) = mean_and_error(products);
                let expected = libm::j0(TAU * fd_t * *lag as f64);
                // The largest of 28 is expected near 2 standard errors; 1e-3 is what overlapping takes.
                assert!(
                    (mean - expected).abs() < 4.0 * error + 1e-3,
                    "{fd_t} {lag}: {mean} {expected} {error}"
                );
            }
            let (mean, error) = mean_and_error(&across);
            assert!(mean.abs() < 4.0 * error, "{mean} {error}");
        }
    }

    fn mean_and_error(values: &[f64]) -> (f64, f64) {
        let n = values.len() as f64;
        let mean = values.iter().sum::<f64>() / n;
        let variance = values.iter().map(|x| (x - mean).powi(2)).sum::<f64>() / (n - 1.0);
        (mean, (variance / n).sqrt())
    }

    #[test]
    fn marginals_are_gaussian() {
        // One slot each of many runs, between blocks and inside: independent draws.
        for slot in [17, 1023, 70_000] {
            let values: Vec<Complex64> = (0..150)
                .flat_map(|run| gains(&mut taps(16, 0.0926, run, Simd::widest()), std::iter::once(slot)))
                .map(|path| path[0])
                .collect();
            let n = values.len() as f64;
            for (power, mean, variance) in
                [(1, 0.0, 0.5), (2, 0.5, 0.5), (3, 0.0, 15.0 / 8.0), (4, 0.75, 6.0)]
            {
                let moment = values.iter().map(|z| z.re.powi(power)).sum::<f64>() / n;
                let z = (moment - mean) / (variance / n).sqrt();
                assert!(z.abs() < 4.0, "slot {slot}, moment {power}: {moment}, {z} standard errors");
            }
            // Rayleigh fades: P[|h|^2 < x] = 1 - exp(-x).
            for x in [0.05, 0.5, 2.0] {
                let p = 1.0 - f64::exp(-x);
                let below = values.iter().filter(|z| z.norm_sqr() < x).count() as f64;
                let z = (below - n * p) / (n * p * (1.0 - p)).sqrt();
                assert!(z.abs() < 4.0, "slot {slot}, {x}: {below} of {n}");
            }
        }
    }

    #[test]
    fn gains_depend_on_neither_order_nor_processor() {
        for fd_t in [0.0, 1e-3, 0.0926, 0.3] {
            let mut in_order = taps(10, fd_t, 3, Simd::widest());
            let all = gains(&mut in_order, 0..3000);
            for simd in Simd::available() {
                let mut asked = taps(10, fd_t, 3, simd);
                for slot in [2999, 0, 1025, 1024, 1023, 1 << 60, 517] {
                    let path = gains(&mut asked, std::iter::once(slot));
                    if slot < 3000 {
                        assert_eq!(path[4][0], all[4][slot as usize], "fd_t {fd_t}, slot {slot}");
                    }
                }
            }
        }
    }

    #[test]
    fn clones_share_segments_and_have_slots_of_their_own() {
        for fd_t in [0.0, 0.00485, 0.3] {
            let mut ahead = taps(10, fd_t, 3, Simd::widest());
            let mut behind = ahead.clone();
            let slots_per_segment = HALF as u64 * ahead.filters.len() as u64;
            for slot in (0..6 * slots_per_segment).step_by(slots_per_segment as usize / 4) {
                if slot == 2 * slots_per_segment {
                    let both = ahead.segments.iter().filter(|segment| {
                        behind.segments.iter().any(|other| Arc::ptr_eq(&segment.rows, &other.rows))
                    });
                    assert!(both.count() > 0, "{fd_t}");
                }
                // Some slots behind at first, later by more than two segments.
                let lag = if slot < 3 * slots_per_segment { 1 } else { 8 };
                let then = slot.saturating_sub(lag * slots_per_segment / 3);
                for (shared, slot) in [(&mut ahead, slot), (&mut behind, then)] {
                    let alone = gains(&mut taps(10, fd_t, 3, Simd::widest()), std::iter::once(slot));
                    assert_eq!(gains(shared, std::iter::once(slot)), alone, "{fd_t} {slot}");
                }
            }
        }
    }

    #[test]
    fn bad_doppler_is_refused() {
        let stream = RunSeed { seed: 1, run: 0 }.stream("channel.dl.0");
        let error = DopplerTaps::new(10, 0.5, stream, Simd::widest()).unwrap_err();
        assert_eq!(error.to_string(), "fd_t = 0.5: must be 0 or between 5e-5 and 0.5");
    }
}
