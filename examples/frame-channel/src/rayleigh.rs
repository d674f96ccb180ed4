//! Frames over Rayleigh fading, copies of which are combined with maximal ratio.

use crossfade_core::Stream;
use crossfade_link::arq::{Conditions, FrameChannel, Reception, SoftValue, Transmission};
use rand::RngExt;

/// A flat Rayleigh channel that is constant during a frame and independent from one transmission to the next.
///
/// The SNR of a transmission is exponential. A frame passes its check where the SNR is at least what the frame
/// needs, in dB a logistic variable around a threshold: its distribution is the waterfall curve of the code.
/// Maximal-ratio combining adds the SNRs of the copies (Brennan, "Linear diversity combining techniques", Proc.
/// IRE 47, 1959).
pub struct RayleighFrames {
    /// Mean SNR.
    pub snr_db: f64,
    /// The SNR at which half of the frames pass.
    pub threshold_db: f64,
    /// The width of the waterfall: half of the frames need the threshold within 1.1 widths. 0 is a step.
    pub width_db: f64,
    /// Whether the receiver combines copies.
    pub is_combining: bool,
    /// Draw number n is the fading of transmission n.
    pub fading: Stream,
    /// Draw number n is what payload n needs.
    pub payload: Stream,
    /// The SNR of the last transmission.
    pub last_snr: f64,
}

/// Number `index` of the draws of a stream, uniform on [0, 1).
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
        // A frame without payload is an average one.
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

/// The SNR of one copy, or the sum of several.
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

/// The share of frames that `copies` of them are not enough for.
///
/// Over Rayleigh fading the sum of L SNRs has a gamma distribution: it lies below x times the mean with
/// probability 1 - exp(-x) (1 + x + .. + x^(L-1) / (L-1)!). The waterfall averages that over x, here at the
/// middle of equal parts of the payload's draw.
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
