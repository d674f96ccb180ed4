//! Sum-product decoder for LDPC codes, layered or flooding.
//!
//! A magnitude x of a log-likelihood ratio (LLR) is represented by e = exp(-x), for which a check combines two messages
//! exactly: tanh(x/2) = (1 - e) / (1 + e), so that the product of two hyperbolic tangents is that of (a + b) / (1 + a
//! b). There is no cancellation, and no table is needed. Results are bit-identical on every processor
//! ([`crossfade_channel::simd`]).

use super::code::Code;
use crossfade_channel::simd::{Kernel, Simd, Vector};

/// Order in which the rows of checks are computed in an iteration.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Schedule {
    /// Layered: row by row, each with the results of the rows before.
    Layered,
    /// Flooding: all rows with the results of the last iteration.
    Flooding,
}

/// Largest magnitude of a message, so that no product of two exp(-x) leaves the normal range of f32.
const LARGEST: f32 = 40.0;
/// LLR of a filler bit, which is known to be 0.
const KNOWN: f32 = 1000.0;
/// Multiple to which every column is padded: the largest number of SIMD lanes.
const PAD: usize = 16;
/// Maximum number of entries in a row of a base graph.
const MOST_ONES: usize = 20;

/// Decoder for one code, which reuses its memory from block to block.
pub struct Decoder {
    code: Code,
    simd: Simd,
    schedule: Schedule,
    iterations: u32,
    /// Padded number of bits of a column.
    stride: usize,
    /// Current LLRs of the bits of each column.
    totals: Vec<f32>,
    /// LLRs from the channel, for flooding.
    channel: Vec<f32>,
    /// Message of each entry to its column, in the order of the checks.
    messages: Vec<f32>,
    /// LLRs of a row's columns in the order of its checks.
    aligned: Vec<f32>,
}

impl Decoder {
    /// Decoder with at most `iterations` iterations per block.
    pub fn new(code: Code, schedule: Schedule, iterations: u32, simd: Simd) -> Self {
        let stride = code.lifting().next_multiple_of(PAD);
        let (columns, ones) =
            (code.graph().size().1 as usize, code.rows().iter().map(Vec::len).sum::<usize>());
        Self {
            simd,
            schedule,
            iterations,
            stride,
            totals: vec![0.0; columns * stride],
            channel: Vec::new(),
            messages: vec![0.0; ones * stride],
            aligned: vec![0.0; MOST_ONES * stride],
            code,
        }
    }

    /// Code of the decoder.
    pub fn code(&self) -> &Code {
        &self.code
    }

    /// Decodes LLRs ln(P(0) / P(1)) of all bits of a code word, 0 for bits that were not received. Returns the number
    /// of iterations after which the decoded bits equal `block`, a stand-in for its checksum, or `None` if they never
    /// do.
    pub fn decode(&mut self, ratios: &[f32], block: &[u8]) -> Option<u32> {
        let (z, stride) = (self.code.lifting(), self.stride);
        for (column, bits) in self.totals.chunks_exact_mut(stride).zip(ratios.chunks_exact(z)) {
            column[..z].copy_from_slice(bits);
        }
        for filler in self.code.bits()..self.code.information() {
            self.totals[filler / z * stride + filler % z] = KNOWN;
        }
        self.messages.fill(0.0);
        // A row whose own parity column was not received carries no information about the others.
        let extension = self.code.graph().size().2 as usize + 4;
        let totals = &self.totals;
        let is_received =
            |column: usize| totals[column * stride..column * stride + z].iter().any(|ratio| *ratio != 0.0);
        let in_use: Vec<bool> =
            (0..self.code.rows().len()).map(|row| row < 4 || is_received(extension + row - 4)).collect();
        if self.schedule == Schedule::Flooding {
            self.channel.clone_from(&self.totals);
        }
        for iteration in 1..=self.iterations {
            match self.schedule {
                Schedule::Layered => self.layered(&in_use),
                Schedule::Flooding => self.flooding(&in_use),
            }
            if self.agrees(block) {
                return Some(iteration);
            }
        }
        None
    }

    fn agrees(&self, block: &[u8]) -> bool {
        let (z, stride) = (self.code.lifting(), self.stride);
        let mut columns = self.totals.chunks_exact(stride).zip(block.chunks(z));
        // An LLR of 0 counts as wrong for either bit.
        columns.all(|(column, bits)| {
            let mut wrong = 0_u32;
            for (ratio, bit) in column.iter().zip(bits) {
                wrong |= u32::from(if *bit == 0 { *ratio <= 0.0 } else { *ratio >= 0.0 });
            }
            wrong == 0
        })
    }

    fn layered(&mut self, in_use: &[bool]) {
        let (z, stride) = (self.code.lifting(), self.stride);
        let mut first = 0;
        for (row, ones) in self.code.rows().iter().enumerate() {
            let messages = &mut self.messages[first * stride..(first + ones.len()) * stride];
            first += ones.len();
            if !in_use[row] {
                continue;
            }
            for (aligned, &(column, shift)) in self.aligned.chunks_exact_mut(stride).zip(ones) {
                rotate(&self.totals[column * stride..column * stride + z], &mut aligned[..z], shift);
            }
            let aligned = &mut self.aligned[..ones.len() * stride];
            self.simd.run(Check { aligned, messages, ones: ones.len(), stride });
            for ((aligned, messages), &(column, shift)) in
                self.aligned.chunks_exact(stride).zip(messages.chunks_exact(stride)).zip(ones)
            {
                let total = &mut self.totals[column * stride..column * stride + z];
                let sums = |total: &mut [f32], first: usize| {
                    for ((total, aligned), message) in
                        total.iter_mut().zip(&aligned[first..]).zip(&messages[first..])
                    {
                        *total = aligned + message;
                    }
                };
                let (before, after) = total.split_at_mut(shift);
                sums(after, 0);
                sums(before, z - shift);
            }
        }
    }

    fn flooding(&mut self, in_use: &[bool]) {
        let (z, stride) = (self.code.lifting(), self.stride);
        let mut sums = self.channel.clone();
        let mut first = 0;
        for (row, ones) in self.code.rows().iter().enumerate() {
            let messages = &mut self.messages[first * stride..(first + ones.len()) * stride];
            first += ones.len();
            if !in_use[row] {
                continue;
            }
            for (aligned, &(column, shift)) in self.aligned.chunks_exact_mut(stride).zip(ones) {
                rotate(&self.totals[column * stride..column * stride + z], &mut aligned[..z], shift);
            }
            let aligned = &mut self.aligned[..ones.len() * stride];
            self.simd.run(Check { aligned, messages, ones: ones.len(), stride });
            for (messages, &(column, shift)) in messages.chunks_exact(stride).zip(ones) {
                let (before, after) = sums[column * stride..column * stride + z].split_at_mut(shift);
                let add = |sums: &mut [f32], first: usize| {
                    for (sum, message) in sums.iter_mut().zip(&messages[first..]) {
                        *sum += message;
                    }
                };
                add(after, 0);
                add(before, z - shift);
            }
        }
        self.totals = sums;
    }
}

/// Rotates a column cyclically: bit `shift` becomes the first.
fn rotate(from: &[f32], to: &mut [f32], shift: usize) {
    let (before, after) = from.split_at(shift);
    let (start, end) = to.split_at_mut(after.len());
    start.copy_from_slice(after);
    end.copy_from_slice(before);
}

/// Kernel that updates the checks of a row: `aligned` has the LLRs of its columns and gets them without this row's
/// messages; `messages` has the old messages and gets the new ones.
struct Check<'a> {
    aligned: &'a mut [f32],
    messages: &'a mut [f32],
    ones: usize,
    stride: usize,
}

impl Kernel for Check<'_> {
    type Output = ();

    #[inline(always)]
    fn run<V: Vector>(self) {
        let Self { aligned, messages, ones, stride } = self;
        let sign = V::splat_int(0x8000_0000);
        let one = V::splat(1.0);
        for lane in (0..stride).step_by(V::LANES) {
            let mut magnitudes = [one; MOST_ONES];
            let mut forward = [one; MOST_ONES];
            let mut signs = [V::splat_int(0); MOST_ONES];
            let mut parity = V::splat_int(0);
            for i in 0..ones {
                let at = i * stride + lane;
                let value = V::load(&aligned[at..]) - V::load(&messages[at..]);
                value.store(&mut aligned[at..]);
                signs[i] = value.to_bits() & sign;
                parity = parity ^ signs[i];
                magnitudes[i] = exp_negative(value.abs().min(V::splat(LARGEST)));
                forward[i] = if i == 0 { magnitudes[0] } else { both(forward[i - 1], magnitudes[i]) };
            }
            let mut backward = magnitudes[ones - 1];
            for i in (0..ones).rev() {
                let others = if i == ones - 1 {
                    forward[i - 1]
                } else if i == 0 {
                    backward
                } else {
                    let others = both(forward[i - 1], backward);
                    backward = both(backward, magnitudes[i]);
                    others
                };
                let magnitude = negative_log(others);
                let message = V::from_bits(magnitude.to_bits() ^ parity ^ signs[i]);
                message.store(&mut messages[i * stride + lane..]);
            }
        }
    }
}

/// exp(-x) of the magnitude that a check gets from two messages.
#[inline(always)]
fn both<V: Vector>(a: V, b: V) -> V {
    (a + b) / (V::splat(1.0) + a * b)
}

/// exp(-x) for x between 0 and 80, within 2e-7 of it.
#[inline(always)]
fn exp_negative<V: Vector>(x: V) -> V {
    // 2^y with y = whole + rest; adding 1.5 * 2^23 rounds to an integer, which is then in the lowest bits.
    let y = V::splat(0.0) - x * V::splat(std::f32::consts::LOG2_E);
    let magic = V::splat(12_582_912.0);
    let shifted = y + magic;
    let rest = y - (shifted - magic);
    let mut power = V::splat(1.535_336_2e-4);
    for coefficient in [1.339_887_4e-3, 9.618_437e-3, 5.550_332_5e-2, 2.402_264_8e-1, 6.931_472e-1, 1.0] {
        power = power * rest + V::splat(coefficient);
    }
    V::from_bits(power.to_bits() + (shifted.to_bits() << 23))
}

/// -ln(e) for e above 1e-37; at least 0.
#[inline(always)]
fn negative_log<V: Vector>(e: V) -> V {
    // e = 2^k m with m between sqrt(1/2) and sqrt(2); the polynomial is that of logf in Cephes (S. L. Moshier).
    let half = 0x3f35_04f3;
    let offset = e.to_bits() - V::splat_int(half);
    // The exponent may be negative, so it is shifted with an offset.
    let exponent = V::from_int(((offset + V::splat_int(128 << 23)) >> 23) - V::splat_int(128));
    let mantissa = V::from_bits((offset & V::splat_int(0x007f_ffff)) + V::splat_int(half));
    let x = mantissa - V::splat(1.0);
    let mut y = V::splat(7.037_683_6e-2);
    for coefficient in [
        -1.151_461e-1,
        1.167_699_9e-1,
        -1.242_014_1e-1,
        1.424_932_3e-1,
        -1.666_805_8e-1,
        2.000_071_5e-1,
        -2.499_999_4e-1,
        3.333_333e-1,
    ] {
        y = y * x + V::splat(coefficient);
    }
    let square = x * x;
    let log = x + (y * x * square - V::splat(0.5) * square) + exponent * V::splat(std::f32::consts::LN_2);
    (V::splat(0.0) - log).max(V::splat(0.0))
}

#[cfg(test)]
mod tests {
    use super::super::base_graph::BaseGraph;
    use super::super::rate_matching::RateMatching;
    use super::*;
    use crossfade_channel::complex_normal;
    use crossfade_core::RunSeed;
    use rand::RngExt;

    struct Functions<'a>(&'a [f32; 16], &'a mut [f32; 32]);

    impl Kernel for Functions<'_> {
        type Output = ();
        #[inline(always)]
        fn run<V: Vector>(self) {
            for first in (0..16).step_by(V::LANES) {
                let e = exp_negative(V::load(&self.0[first..]));
                e.store(&mut self.1[first..]);
                negative_log(e).store(&mut self.1[16 + first..]);
            }
        }
    }

    #[test]
    fn exponential_and_logarithm_are_accurate() {
        for step in 0..2000_u16 {
            let x: [f32; 16] = std::array::from_fn(|lane| (f32::from(step) + lane as f32 / 16.0) * 0.02);
            let mut found = [0.0; 32];
            Simd::widest().run(Functions(&x, &mut found));
            for lane in 0..16 {
                let exact = (-f64::from(x[lane])).exp();
                // Rounding of the argument times log2(e) adds a relative error of 2^-24 of its value.
                assert!((f64::from(found[lane]) / exact - 1.0).abs() < 4e-6, "{}", x[lane]);
                let log = -f64::from(found[lane]).ln();
                assert!(
                    (f64::from(found[16 + lane]) - log).abs() < 2e-7 * log + 2e-7,
                    "{} {log}",
                    found[16 + lane]
                );
            }
        }
    }

    /// A check of a row with four entries is the product of hyperbolic tangents.
    #[test]
    fn a_check_is_the_product_of_hyperbolic_tangents() {
        let values = [1.3_f32, -0.4, 5.0, 0.02];
        let mut aligned: Vec<f32> = values.iter().flat_map(|value| [*value; 16]).collect();
        let mut messages = vec![0.0; 64];
        Simd::widest().run(Check { aligned: &mut aligned, messages: &mut messages, ones: 4, stride: 16 });
        for (i, message) in messages.iter().step_by(16).enumerate() {
            let others = (0..4).filter(|j| *j != i).map(|j| (f64::from(values[j]) / 2.0).tanh());
            let exact = 2.0 * others.product::<f64>().atanh();
            assert!((f64::from(*message) / exact - 1.0).abs() < 1e-5, "{message} {exact}");
        }
    }

    /// LLRs of a code word's first transmission with BPSK over noise of this standard deviation.
    fn received(code: &Code, sent: usize, deviation: f64, run: u64) -> (Vec<u8>, Vec<f32>) {
        let mut stream = RunSeed { seed: 3, run }.stream("ldpc");
        let block: Vec<u8> = (0..code.bits()).map(|_| u8::from(stream.random::<bool>())).collect();
        let word = code.encode(&block);
        let mut ratios = vec![0.0; code.word()];
        for place in RateMatching::new(code, sent, 2, None).places(0) {
            let noise = complex_normal(&mut stream).re * 2.0_f64.sqrt() * deviation;
            let signal = if word[place] == 0 { 1.0 } else { -1.0 };
            ratios[place] += (2.0 * (signal + noise) / (deviation * deviation)) as f32;
        }
        (block, ratios)
    }

    #[test]
    fn every_width_and_both_schedules_decode() {
        let mut decoded = 0;
        for (graph, bits) in [(BaseGraph::One, 1000), (BaseGraph::Two, 200)] {
            let code = Code::new(graph, bits);
            for run in 0..5 {
                let (block, ratios) = received(&code, bits as usize * 2, 0.75, run);
                for schedule in [Schedule::Layered, Schedule::Flooding] {
                    let of = |simd: Simd| {
                        let mut decoder = Decoder::new(code.clone(), schedule, 20, simd);
                        (decoder.decode(&ratios, &block), decoder.totals.clone())
                    };
                    let mut all: Vec<_> = Simd::available().map(of).collect();
                    let first = all.remove(0);
                    decoded += u32::from(first.0.is_some());
                    assert!(all.iter().all(|other| *other == first), "{graph:?} {run} {schedule:?}");
                }
            }
        }
        // One in 40 blocks of 200 bits is not decoded; that three of five fail with both schedules happens once in
        // 6,000.
        assert!(decoded >= 15, "{decoded} of 20");
    }

    #[test]
    fn nothing_received_is_not_decoded_and_all_that_was_sent_is() {
        let code = Code::new(BaseGraph::Two, 100);
        let (block, ratios) = received(&code, 400, 0.01, 0);
        let mut decoder = Decoder::new(code.clone(), Schedule::Layered, 5, Simd::widest());
        assert_eq!(decoder.decode(&vec![0.0; code.word()], &block), None);
        assert_eq!(decoder.decode(&ratios, &block), Some(1));
        let flipped: Vec<u8> = block.iter().map(|bit| 1 - bit).collect();
        assert_eq!(decoder.decode(&ratios, &flipped), None);
    }
}
