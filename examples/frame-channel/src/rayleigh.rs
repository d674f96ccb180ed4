//! Frames over Rayleigh fading, copies of which are combined with maximal ratio.

use crossfade_core::Stream;
use crossfade_link::arq::{Conditions, FrameChannel, Reception, SoftValue, Transmission};
use rand::RngExt;

/// A flat Rayleigh channel that is constant during a frame and independent from one transmission to the next.
///
/// The SNR of a transmission is exponential. A frame passes its check if the SNR is at least the SNR that the frame
/// needs. In dB the needed SNR has a logistic distribution around a threshold, which is the waterfall curve of the
/// code.
/// Maximal-ratio combining adds the SNRs of the copies (Brennan, "Linear diversity combining techniques", Proc.
/// IRE 47, 1959).
pub struct RayleighFrames {
    /// Mean SNR in dB.
    pub snr_db: f64,
    /// SNR in dB at which half of the frames pass.
    pub threshold_db: f64,
    /// Width of the waterfall in dB: half of the frames need an SNR within 1.1 widths of the threshold; 0 is a step.
    pub width_db: f64,
    /// True if the receiver combines copies.
    pub is_combining: bool,
    /// Stream whose draw number n is the fading of transmission n.
    pub fading: Stream,
    /// Stream whose draw number n decides the SNR that payload n needs.
    pub payload: Stream,
    /// SNR of the last transmission (linear).
    pub last_snr: f64,
}

/// Draw number `index` of a stream, uniform on [0, 1).
fn draw(stream: &Stream, index: u64) -> f64 {
    let mut stream = stream.clone();
    stream.advance(u128::from(index));
    stream.random()
}

fn from_db(db: f64) -> f64 {
    10_f64.powf(db / 10.0)
}

impl FrameChannel for RayleighFrames {
    type Soft = Copies;

    fn transmit(&mut self, transmission: Transmission) -> Reception<Copies> {
        let power = -(-draw(&self.fading, transmission.number)).ln_1p();
        self.last_snr = from_db(self.snr_db) * power;
        // A frame without a payload needs the median SNR.
        let u = transmission.sdu.map_or(0.5, |sdu| draw(&self.payload, sdu));
        let needed = from_db(self.threshold_db + self.width_db * (u / (1.0 - u)).ln());
        match (self.is_combining, self.last_snr >= needed) {
            (true, _) => Reception::Soft(Copies { snr: self.last_snr, needed }),
            (false, true) => Reception::Good,
            (false, false) => Reception::Corrupt,
        }
    }

    fn combines(&self) -> bool {
        self.is_combining
    }

    fn conditions(&self) -> Conditions {
        Conditions { snr_db: Some(10.0 * self.last_snr.log10()), scheme: None }
    }
}

/// Sum of the SNRs of one or more copies (linear), and the SNR that their payload needs.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Copies {
    snr: f64,
    needed: f64,
}

impl SoftValue for Copies {
    fn passes_alone(&self) -> bool {
        self.snr >= self.needed
    }

    fn combine(&mut self, copy: Self) -> bool {
        self.snr += copy.snr;
        self.passes_alone()
    }
}

/// Closed form of the share of frames for which `copies` combined copies are not enough.
///
/// Over Rayleigh fading the sum of L SNRs has a gamma distribution: it lies below x times the mean with
/// probability 1 - exp(-x) (1 + x + .. + x^(L-1) / (L-1)!). The waterfall averages this over x, here at the
/// middles of equal parts of the payload's draw.
pub fn residual(snr_db: f64, threshold_db: f64, width_db: f64, copies: u32) -> f64 {
    let below = |x: f64| {
        let terms = (1..copies).scan(1.0, |term, k| {
            *term *= x / f64::from(k);
            Some(*term)
        });
        1.0 - (-x).exp() * (1.0 + terms.sum::<f64>())
    };
    let parts = if width_db > 0.0 { 100_000 } else { 1 };
    let x = |part: u32| {
        let u = (f64::from(part) + 0.5) / f64::from(parts);
        from_db(threshold_db - snr_db + width_db * (u / (1.0 - u)).ln())
    };
    (0..parts).map(|part| below(x(part))).sum::<f64>() / f64::from(parts)
}
