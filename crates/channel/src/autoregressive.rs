//! First-order autoregressive sequences.

use crate::normal::complex_normal;
use crossfade_core::Stream;
use std::f64::consts::SQRT_2;

/// A stationary Gaussian sequence x(k) = a x(k-1) + sqrt(1 - a^2) sigma w(k), w of standard deviation 1.
///
/// The value at k is a function of the stream and k alone; going back computes all steps from the start.
#[derive(Clone, Debug)]
pub(crate) struct Autoregressive {
    pole: f64,
    deviation: f64,
    /// Standard deviation of the innovation in one step, sqrt(1 - a^2) sigma.
    innovation: f64,
    start: Stream,
    stream: Stream,
    index: u64,
    value: f64,
}

impl Autoregressive {
    /// Creates the sequence with pole a, in [0, 1), and standard deviation sigma, drawn from `stream`.
    pub(crate) fn new(pole: f64, deviation: f64, stream: Stream) -> Self {
        let innovation = (1.0 - pole * pole).sqrt() * deviation;
        let start = stream.clone();
        let mut sequence = Self { pole, deviation, innovation, start, stream, index: 0, value: 0.0 };
        sequence.restart();
        sequence
    }

    /// Value x(k) of the sequence at k = `index`; an index below that of the last call restarts from 0.
    pub(crate) fn at(&mut self, index: u64) -> f64 {
        if index < self.index {
            self.restart();
        }
        while self.index < index {
            self.value = self.pole * self.value + self.innovation * self.normal();
            self.index += 1;
        }
        self.value
    }

    fn restart(&mut self) {
        self.stream = self.start.clone();
        self.index = 0;
        self.value = self.deviation * self.normal();
    }

    fn normal(&mut self) -> f64 {
        complex_normal(&mut self.stream).re * SQRT_2
    }
}
