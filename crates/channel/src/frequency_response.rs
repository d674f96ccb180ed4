//! Frequency response of a channel of independent paths.
// See `simd`.
#![allow(clippy::inline_always)]

use crate::complex::polar;
use crate::delay_profile::DelayProfile;
use crate::simd::{Kernel, Simd, Vector};
use num_complex::Complex64;
use std::f64::consts::TAU;

const LANES: usize = 16;

/// Frequency response in bins, taken at the centre of each bin: H(f) = sum over paths of sqrt(power) gain exp(-j 2 pi f
/// delay).
#[derive(Clone, Debug)]
pub struct FrequencyResponse {
    bins: usize,
    taps: usize,
    /// Factors sqrt(power) exp(-j 2 pi f delay) by path: real parts of all bins, then the imaginary ones.
    factors: Vec<f32>,
    /// Factors sqrt(power) exp(-j 2 pi f delay) by bin: those of all paths for each bin.
    by_bin: Vec<Complex64>,
    simd: Simd,
}

impl FrequencyResponse {
    /// Creates the response of `profile` in `bins` adjacent bins of `width_hz`, the middle one at frequency 0.
    pub fn new(profile: &DelayProfile, bins: usize, width_hz: f64, simd: Simd) -> Self {
        let padded = bins.next_multiple_of(LANES);
        let taps = profile.taps().len();
        let mut factors = vec![0.0; taps * 2 * padded];
        let mut by_bin = vec![Complex64::ZERO; taps * bins];
        for (i, (tap, factors)) in profile.taps().iter().zip(factors.chunks_exact_mut(2 * padded)).enumerate()
        {
            for bin in 0..bins {
                let frequency = (bin as f64 - (bins - 1) as f64 / 2.0) * width_hz;
                let factor = polar(tap.power.sqrt(), -TAU * frequency * tap.delay_s);
                let (re, im) = (factor.re as f32, factor.im as f32);
                (factors[bin], factors[padded + bin]) = (re, im);
                by_bin[bin * taps + i] = Complex64::new(re.into(), im.into());
            }
        }
        Self { bins, taps, factors, by_bin, simd }
    }

    /// Number of frequency bins.
    pub fn bins(&self) -> usize {
        self.bins
    }

    /// Number of values that [`powers`](Self::powers) writes: one per bin, then padding.
    pub fn padded(&self) -> usize {
        self.bins.next_multiple_of(LANES)
    }

    /// Writes the power gain |H|^2 of every bin to `powers`, which has [`padded`](Self::padded) places; `row` has the
    /// gains of the paths ([`DopplerTaps::at`](crate::DopplerTaps::at)).
    pub fn powers(&self, row: &[f32], powers: &mut [f32]) {
        self.simd.run(Powers { factors: &self.factors, row, taps: self.taps, out: powers });
    }

    /// Complex frequency response H of bin number `bin`, from 0; `row` has the gains of the paths
    /// ([`DopplerTaps::at`](crate::DopplerTaps::at)).
    #[inline]
    pub fn gain(&self, row: &[f32], bin: usize) -> Complex64 {
        let factors = &self.by_bin[bin * self.taps..(bin + 1) * self.taps];
        let (re, im) = row.split_at(row.len() / 2);
        let gains = re.iter().zip(im).map(|(&re, &im)| Complex64::new(re.into(), im.into()));
        factors.iter().zip(gains).map(|(factor, gain)| factor * gain).sum()
    }
}

struct Powers<'a> {
    factors: &'a [f32],
    row: &'a [f32],
    taps: usize,
    out: &'a mut [f32],
}

impl Kernel for Powers<'_> {
    type Output = ();
    #[inline(always)]
    fn run<V: Vector>(self) {
        let (padded, half) = (self.out.len(), self.row.len() / 2);
        let mut at = 0;
        while at < padded {
            let (mut re, mut im) = (V::splat(0.0), V::splat(0.0));
            let mut tap = 0;
            while tap < self.taps {
                let factors = &self.factors[2 * padded * tap..];
                let (a, b) = (V::load(&factors[at..]), V::load(&factors[padded + at..]));
                let (gain_re, gain_im) = (V::splat(self.row[tap]), V::splat(self.row[half + tap]));
                re = re + (a * gain_re - b * gain_im);
                im = im + (a * gain_im + b * gain_re);
                tap += 1;
            }
            (re * re + im * im).store(&mut self.out[at..]);
            at += V::LANES;
        }
    }
}
