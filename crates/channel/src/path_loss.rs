//! Path loss: mean received power as a function of distance.

use crate::error::ChannelError;
use crossfade_core::OutOfRange;
use crossfade_core::square;
use std::f64::consts::PI;

const LIGHT_M_PER_S: f64 = 299_792_458.0;

/// Mean power gain g over distance d: Friis' free-space gain at the reference distance d0, a power law beyond it.
///
/// ```text
/// g(d) = (lambda / (4 pi d0))^2 (d / d0)^-exponent
/// ```
///
/// It is the mean of ns-2's `Propagation/Shadowing`, whose random part is
/// [`LogNormalShadowing`](crate::LogNormalShadowing).
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct PathLoss {
    exponent: f64,
    reference_m: f64,
    reference_gain: f64,
}

impl PathLoss {
    /// Default exponent of ns-2: its `pathlossExp_`.
    pub const NS2_EXPONENT: f64 = 2.0;
    /// Default reference distance of ns-2 in metres: its `dist0_`.
    pub const NS2_REFERENCE_M: f64 = 1.0;
    /// Default carrier frequency of ns-2 in hertz: its `freq_`.
    pub const NS2_FREQUENCY_HZ: f64 = 914e6;

    /// Creates a power law with `exponent` beyond `reference_m` metres, at the carrier frequency `frequency_hz`.
    ///
    /// # Errors
    /// If `exponent` is outside [1, 10], or the reference distance or frequency is not positive.
    pub fn new(exponent: f64, reference_m: f64, frequency_hz: f64) -> Result<Self, ChannelError> {
        let refuse = |parameter, value, allowed: &'static str| {
            Err(OutOfRange::new(parameter, format!("{value:?}"), allowed).into())
        };
        if !(1.0..=10.0).contains(&exponent) {
            return refuse("path_loss_exponent", exponent, "between 1 and 10");
        }
        for (parameter, value) in [("reference_distance", reference_m), ("carrier", frequency_hz)] {
            if !(value > 0.0 && value.is_finite()) {
                return refuse(parameter, value, "above 0");
            }
        }
        let wavelength = LIGHT_M_PER_S / frequency_hz;
        let reference_gain = square(wavelength / (4.0 * PI * reference_m));
        Ok(Self { exponent, reference_m, reference_gain })
    }

    /// Creates the path loss with the defaults of ns-2: exponent 2 beyond 1 m, at 914 MHz.
    pub fn ns2() -> Self {
        let wavelength = LIGHT_M_PER_S / Self::NS2_FREQUENCY_HZ;
        let reference_gain = square(wavelength / (4.0 * PI * Self::NS2_REFERENCE_M));
        Self { exponent: Self::NS2_EXPONENT, reference_m: Self::NS2_REFERENCE_M, reference_gain }
    }

    /// Exponent of the power law.
    pub fn exponent(&self) -> f64 {
        self.exponent
    }

    /// Received power over transmitted power (a ratio, not dB) at a distance of `distance_m` metres, which must be
    /// above 0.
    pub fn gain(&self, distance_m: f64) -> f64 {
        self.reference_gain * libm::pow(distance_m / self.reference_m, -self.exponent)
    }
}

impl Default for PathLoss {
    fn default() -> Self {
        Self::ns2()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn free_space_is_friis() {
        // 914 MHz: 0.328 m. At 100 m free space leaves (0.328 / (400 pi))^2 = -71.67 dB.
        let db = 10.0 * PathLoss::ns2().gain(100.0).log10();
        assert!((db + 71.667).abs() < 0.001, "{db}");
        assert_eq!(PathLoss::new(2.0, 1.0, 914e6), Ok(PathLoss::default()));
    }

    /// At the reference distance the loss is that of free space, independent of the exponent: at 100 m and 2.4 GHz
    /// (0.12491 m) 20 log10(400 pi / 0.12491) = 80.05 dB, and with exponent 3.5 at 1 km 35 dB more.
    #[test]
    fn the_exponent_counts_from_the_reference_distance() {
        let law = PathLoss::new(3.5, 100.0, 2.4e9).unwrap();
        let loss = |distance_m| -10.0 * law.gain(distance_m).log10();
        assert!((loss(100.0) - 80.05).abs() < 0.005, "{}", loss(100.0));
        assert!((loss(1000.0) - 115.05).abs() < 0.005, "{}", loss(1000.0));
    }

    #[test]
    fn a_decade_of_distance_costs_ten_times_the_exponent_in_db() {
        for exponent in [2.0, 2.7, 4.0] {
            let law = PathLoss::new(exponent, 1.0, 2.4e9).unwrap();
            let db = 10.0 * (law.gain(50.0) / law.gain(500.0)).log10();
            assert!((db - 10.0 * exponent).abs() < 1e-9);
        }
    }

    #[test]
    fn bad_parameters_are_refused() {
        let error = PathLoss::new(0.5, 1.0, 1e9).unwrap_err();
        assert_eq!(error.to_string(), "path_loss_exponent = 0.5: must be between 1 and 10");
        let error = PathLoss::new(2.0, 0.0, 1e9).unwrap_err();
        assert_eq!(error.to_string(), "reference_distance = 0.0: must be above 0");
        assert!(PathLoss::new(2.0, 1.0, f64::NAN).is_err());
    }
}
