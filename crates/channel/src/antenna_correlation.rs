//! Correlation of the gains of closely spaced antennas.
//!
//! Waves from one cluster of scatterers meet a linear array at the mean angle phi, spread around it by a
//! Gaussian of standard deviation delta. Antennas i and j at a spacing of d wavelengths are correlated as
//! (Asztely 1996; equation 21 of "TCP performance over wireless MIMO channels", whose second exponential is misprinted)
//!
//! ```text
//! R_ij = exp(-j 2 pi (j-i) d cos phi) exp(-1/2 (2 pi (j-i) d sin(phi) delta)^2)
//! ```
//!
//! and H = `R_r^(1/2)` `H_w` `R_t^(1/2)`, `H_w` of `n_R` x `n_T` independent gains.

use crate::error::ChannelError;
use crate::matrix::{MOST_ANTENNAS, Matrix};
use crossfade_core::OutOfRange;
use num_complex::Complex64;
use std::f64::consts::{PI, TAU};

/// Angular distribution of the waves at one end of a link, and the array there. Angles are in radians.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct AngularSpread {
    /// Mean angle phi in radians between the waves and the axis of the antenna array.
    pub mean_angle: f64,
    /// Standard deviation delta of the angle of the waves, in radians.
    pub spread: f64,
    /// Distance d between neighbouring antennas, in wavelengths.
    pub spacing: f64,
}

impl AngularSpread {
    /// Correlation matrix of a linear array of `antennas`.
    ///
    /// # Errors
    /// If an angle is outside [0, pi], a spread is outside [0, pi / 2], a spacing is outside [0, 1000], or there are no
    /// antennas or more than 8.
    pub fn correlation(self, antennas: usize) -> Result<Matrix, ChannelError> {
        let check = |parameter, value: f64, most: f64, allowed: &'static str| {
            if (0.0..=most).contains(&value) {
                Ok(())
            } else {
                Err(OutOfRange::new(parameter, format!("{value:?}"), allowed))
            }
        };
        check("mean_angle", self.mean_angle, PI, "between 0 and pi rad (180 deg)")?;
        check("spread", self.spread, PI / 2.0, "between 0 and pi / 2 rad (90 deg)")?;
        check("spacing", self.spacing, 1000.0, "between 0 and 1000 wavelengths")?;
        check_antennas("antennas", antennas)?;
        Ok(Matrix::from_fn(antennas, antennas, |i, j| {
            let distance = TAU * (j as f64 - i as f64) * self.spacing;
            let decay = distance * libm::sin(self.mean_angle) * self.spread;
            let phase = -distance * libm::cos(self.mean_angle);
            Complex64::new(libm::cos(phase), libm::sin(phase)) * libm::exp(-0.5 * decay * decay)
        }))
    }
}

/// Correlation of the antennas at both ends of a link.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub enum AntennaCorrelation {
    /// Uncorrelated antennas.
    #[default]
    None,
    /// Angular spread of 7 degrees around mean angles of 84 (transmitter) and 60 degrees (receiver), antennas half a
    /// wavelength apart: "low correlation" in Table 1 of "TCP performance over wireless MIMO channels", though
    /// neighbouring antennas have correlations of 0.93 and 0.95.
    Urban,
    /// Angular spread of 2 degrees around mean angles of 84 (transmitter) and 60 degrees (receiver), antennas half a
    /// wavelength apart: neighbouring antennas have correlations of 0.994 and 0.996.
    Rural,
    /// Correlation from the given angular spreads.
    Custom {
        /// Angular spread at the transmitter.
        transmitter: AngularSpread,
        /// Angular spread at the receiver.
        receiver: AngularSpread,
    },
}

impl AntennaCorrelation {
    /// Angular spreads at transmitter and receiver; `None` without correlation.
    pub fn spreads(self) -> Option<(AngularSpread, AngularSpread)> {
        let table_1 = |spread: f64| {
            let end = |mean_angle: f64| AngularSpread {
                mean_angle: mean_angle.to_radians(),
                spread: spread.to_radians(),
                spacing: 0.5,
            };
            Some((end(84.0), end(60.0)))
        };
        match self {
            Self::None => None,
            Self::Urban => table_1(7.0),
            Self::Rural => table_1(2.0),
            Self::Custom { transmitter, receiver } => Some((transmitter, receiver)),
        }
    }

    /// Square roots `R_t^(1/2)` and `R_r^(1/2)` of the correlation matrices of `n_t` transmit and `n_r` receive
    /// antennas; `None` without correlation.
    ///
    /// # Errors
    /// If [`AngularSpread::correlation`] refuses a spread.
    pub fn roots(self, n_t: usize, n_r: usize) -> Result<Option<(Matrix, Matrix)>, ChannelError> {
        check_antennas("n_t", n_t)?;
        check_antennas("n_r", n_r)?;
        let Some((transmitter, receiver)) = self.spreads() else { return Ok(None) };
        let transmitter = transmitter.correlation(n_t)?.hermitian_root();
        Ok(Some((transmitter, receiver.correlation(n_r)?.hermitian_root())))
    }
}

/// Reads an angle in degrees (`"60 deg"`, `"60°"`) or radians (`"1.05 rad"`); returns radians.
///
/// # Errors
/// If the text has another form, such as a number without a unit: a spread of 7 degrees read as 7 rad would leave no
/// correlation.
pub fn parse_angle(text: &str) -> Result<f64, ChannelError> {
    let text = text.trim();
    let units = [("deg", PI / 180.0), ("°", PI / 180.0), ("rad", 1.0)];
    let read = units.into_iter().find_map(|(unit, scale)| {
        let number: f64 = text.strip_suffix(unit)?.trim_end().parse().ok()?;
        number.is_finite().then_some(number * scale)
    });
    read.ok_or_else(|| ChannelError::Angle { text: text.into() })
}

/// Checks that a number of antennas, the key `parameter`, is between 1 and 8.
pub(crate) fn check_antennas(parameter: &'static str, antennas: usize) -> Result<(), ChannelError> {
    if (1..=MOST_ANTENNAS).contains(&antennas) {
        return Ok(());
    }
    let allowed = format!("between 1 and {MOST_ANTENNAS}");
    Err(OutOfRange::new(parameter, antennas, allowed).into())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn neighbours_are_correlated_as_in_table_1() {
        let magnitudes = |correlation: AntennaCorrelation| {
            let (transmitter, receiver) = correlation.spreads().unwrap();
            [receiver, transmitter].map(|end| end.correlation(4).unwrap()[(0, 1)].norm())
        };
        for (correlation, expected) in
            [(AntennaCorrelation::Urban, [0.946, 0.930]), (AntennaCorrelation::Rural, [0.9955, 0.9941])]
        {
            for (got, expected) in magnitudes(correlation).into_iter().zip(expected) {
                assert!((got - expected).abs() < 6e-4, "{correlation:?}: {got}");
            }
        }
    }

    #[test]
    fn a_correlation_matrix_is_hermitian_with_the_phase_of_the_mean_angle() {
        let r = AngularSpread { mean_angle: PI / 3.0, spread: 0.1, spacing: 0.5 }.correlation(3).unwrap();
        for i in 0..3 {
            assert_eq!(r[(i, i)], Complex64::ONE);
            for j in 0..3 {
                assert!((r[(i, j)] - r[(j, i)].conj()).norm() < 1e-15);
            }
        }
        // -2 pi d cos(60 deg) = -pi/2.
        assert!((r[(0, 1)].arg() + PI / 2.0).abs() < 1e-12);
    }

    #[test]
    fn angles_need_a_unit() {
        assert!((parse_angle("60 deg").unwrap() - PI / 3.0).abs() < 1e-15);
        assert!((parse_angle("60°").unwrap() - PI / 3.0).abs() < 1e-15);
        assert_eq!(parse_angle("0.5rad"), Ok(0.5));
        for text in ["7", "", "deg", "7 grad", "nan rad", "seven deg"] {
            let error = parse_angle(text).unwrap_err().to_string();
            assert!(error.contains("deg"), "{error}");
        }
    }

    #[test]
    fn impossible_arrays_are_refused() {
        let spread = AngularSpread { mean_angle: 1.0, spread: 0.1, spacing: 0.5 };
        assert!(spread.correlation(9).is_err());
        assert!(AngularSpread { mean_angle: 84.0, ..spread }.correlation(2).is_err());
        assert!(AngularSpread { spread: 7.0, ..spread }.correlation(2).is_err());
        assert!(AngularSpread { spacing: f64::NAN, ..spread }.correlation(2).is_err());
        assert!(AntennaCorrelation::Urban.roots(0, 1).is_err());
        assert_eq!(AntennaCorrelation::None.roots(4, 4), Ok(None));
    }
}
