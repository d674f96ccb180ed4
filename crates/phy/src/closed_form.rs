//! Error rates of the orthogonal schemes over independent Rayleigh fading, without simulation.
//!
//! The symbols see the signal-to-noise ratio g = c X, with X the sum of D independent unit exponentials: c = rho, D =
//! `n_R` for one transmit antenna; rho / 2 and 2 `n_R` for Alamouti's code; rho / 2 and 4 `n_R` for the half-rate code
//! at equal power (each symbol is sent twice from each of four antennas at rho / 4).

use crate::constellation::Modulation;
use crate::error::PhyError;
use crate::scheme::Scheme;
use crate::symbol_error::{bit_error, frame_error, symbol_error};
use crate::transceiver::PhyConfig;

/// Distribution of the SNR at the decision: `scale` times a sum of `diversity` independent exponential variables of
/// mean 1.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Diversity {
    /// Diversity order D: the number of exponential variables in the sum.
    pub diversity: u32,
    /// Factor c of the sum (a ratio, not dB).
    pub scale: f64,
}

impl Diversity {
    /// Distribution of the SNR at the decision for the physical layer `config`, where `rho` is the mean SNR per receive
    /// antenna (a ratio, not dB).
    ///
    /// # Errors
    /// If symbols of the scheme interfere: it has no closed form.
    pub fn of(config: &PhyConfig, rho: f64) -> Result<Self, PhyError> {
        config.check()?;
        let times = match config.scheme {
            Scheme::Siso | Scheme::Simo | Scheme::Alamouti => 1.0,
            Scheme::StbcHalf => 2.0 * config.scheme.power(config.stbc_power),
            scheme => return Err(PhyError::NotOrthogonal { scheme: scheme.name() }),
        };
        let diversity = (config.n_t * config.n_r) as u32;
        Ok(Self { diversity, scale: times * rho / config.n_t as f64 })
    }

    /// Bit error rate with `modulation` over this fading; `None` for constellations without an exact formula.
    ///
    /// BPSK and QPSK: ((1 - mu) / 2)^D sum of C(D-1+k, k) ((1 + mu) / 2)^k, mu = sqrt(g / (1 + g)), where g is the mean
    /// SNR of a bit in one branch (Proakis).
    pub fn bit_error(self, modulation: Modulation) -> Option<f64> {
        if modulation.bits() > 2 {
            bit_error(modulation, 1.0)?;
            return Some(self.mean(|g| bit_error(modulation, g).unwrap_or(f64::NAN)));
        }
        let g = self.scale / f64::from(modulation.bits());
        // 1 - mu without cancellation.
        let mu = (g / (1.0 + g)).sqrt();
        let (low, high) = (0.5 / ((1.0 + g) * (1.0 + mu)), f64::midpoint(1.0, mu));
        let (mut term, mut sum) = (1.0, 0.0);
        for k in 0..self.diversity {
            sum += term;
            term *= high * f64::from(self.diversity + k) / f64::from(k + 1);
        }
        Some(libm::pow(low, f64::from(self.diversity)) * sum)
    }

    /// Symbol error rate with `modulation` over this fading, as exact as [`symbol_error`] in white noise.
    pub fn symbol_error(self, modulation: Modulation) -> f64 {
        self.mean(|g| symbol_error(modulation, g))
    }

    /// Frame error rate of frames of `frame_bits` uncoded bits, with fading constant in a frame, as exact as
    /// [`symbol_error`] in white noise.
    pub fn frame_error(self, modulation: Modulation, frame_bits: u32) -> f64 {
        self.mean(|g| frame_error(modulation, g, frame_bits))
    }

    /// Distribution after combining `receptions` copies of a frame over independent fading: their SNRs add up.
    #[must_use]
    pub fn combined(self, receptions: u32) -> Self {
        Self { diversity: self.diversity * receptions, ..self }
    }

    /// Mean of a bounded function of the SNR (a ratio, not dB) over this fading, within 1e-10.
    ///
    /// With X = exp(u) the density exp(D u - exp(u)) falls off fast at both ends, so the trapezoidal rule converges
    /// exponentially.
    pub fn mean(self, function: impl Fn(f64) -> f64) -> f64 {
        const STEP: f64 = 1.0 / 64.0;
        let d = f64::from(self.diversity);
        let log_norm = libm::lgamma(d);
        let end = libm::log(d + 12.0 * d.sqrt() + 60.0);
        let start = -40.0 / d.min(4.0);
        let steps = ((end - start) / STEP) as u32;
        let mut sum = 0.0;
        for i in 0..=steps {
            let u = start + STEP * f64::from(i);
            let x = libm::exp(u);
            sum += libm::exp(d * u - x - log_norm) * function(self.scale * x);
        }
        sum * STEP
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::detector::Detector;

    #[test]
    fn the_integral_agrees_with_the_formula() {
        for diversity in [1, 2, 4, 8, 16, 64] {
            for scale in [0.01, 1.0, 30.0, 1e4] {
                let it = Diversity { diversity, scale };
                assert!((it.mean(|_| 1.0) - 1.0).abs() < 1e-10, "{diversity}");
                assert!((it.mean(|g| g / scale) / f64::from(diversity) - 1.0).abs() < 1e-10);
                let formula = it.bit_error(Modulation::Qpsk).unwrap();
                let integral = it.mean(|g| bit_error(Modulation::Qpsk, g).unwrap());
                assert!((formula - integral).abs() < 1e-10, "{diversity} {scale}: {formula} {integral}");
            }
        }
    }

    #[test]
    fn the_siso_receiver_of_the_paper() {
        // BER (1 - sqrt(g / (1 + g))) / 2, g = rho / 2.
        let it = Diversity::of(&PhyConfig::new(Scheme::Siso, Detector::Linear), 10.0).unwrap();
        let expected = 0.5 * (1.0 - (5.0_f64 / 6.0).sqrt());
        assert!((it.bit_error(Modulation::Qpsk).unwrap() - expected).abs() < 1e-14);
    }

    #[test]
    fn symbols_that_interfere_have_no_closed_form() {
        for scheme in [Scheme::Stbc1, Scheme::Stbc2, Scheme::Blast] {
            assert!(Diversity::of(&PhyConfig::new(scheme, Detector::Mmse), 1.0).is_err());
        }
    }
}
