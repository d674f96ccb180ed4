//! Constellations of 1 to 8 bits: points of unit mean energy and their labels.
//!
//! A label is a number whose bit i is bit i of the symbol. Square constellations, 8-PSK and the rectangular 8-QAM are
//! Gray labelled; the star and the crosses, for which no Gray labelling exists, are quasi-Gray labelled.

use crate::error::PhyError;
use num_complex::Complex64;
use std::f64::consts::TAU;

/// Constellation of a modulation.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Modulation {
    /// BPSK: 1 bit per symbol.
    Bpsk,
    /// QPSK: 2 bits per symbol.
    Qpsk,
    /// Star 8-QAM: 3 bits per symbol, on two rings of four points, the outer at 1 + sqrt(3) where the inner is at
    /// sqrt(2).
    Star8,
    /// 8-PSK: 3 bits per symbol, on a circle.
    Psk8,
    /// Rectangular 8-QAM: 3 bits per symbol, 4 x 2 points.
    Rect8,
    /// 16-QAM: 4 bits per symbol.
    Qam16,
    /// Cross 32-QAM: 5 bits per symbol, 6 x 6 points without the corners.
    Cross32,
    /// 64-QAM: 6 bits per symbol.
    Qam64,
    /// Cross 128-QAM: 7 bits per symbol, 12 x 12 points without 2 x 2 at each corner.
    Cross128,
    /// 256-QAM: 8 bits per symbol.
    Qam256,
}

impl Modulation {
    /// All modulations.
    pub const ALL: [Self; 10] = [
        Self::Bpsk,
        Self::Qpsk,
        Self::Star8,
        Self::Psk8,
        Self::Rect8,
        Self::Qam16,
        Self::Cross32,
        Self::Qam64,
        Self::Cross128,
        Self::Qam256,
    ];

    /// Name of the modulation in scenarios.
    pub fn name(self) -> &'static str {
        match self {
            Self::Bpsk => "bpsk",
            Self::Qpsk => "qpsk",
            Self::Star8 => "8-star",
            Self::Psk8 => "8-psk",
            Self::Rect8 => "8-rect",
            Self::Qam16 => "16-qam",
            Self::Cross32 => "32-cross",
            Self::Qam64 => "64-qam",
            Self::Cross128 => "128-cross",
            Self::Qam256 => "256-qam",
        }
    }

    /// Modulation with the given name.
    ///
    /// # Errors
    /// If no modulation has this name.
    pub fn named(name: &str) -> Result<Self, PhyError> {
        Self::ALL.into_iter().find(|modulation| modulation.name() == name).ok_or_else(|| PhyError::Unknown {
            parameter: "modulation",
            value: name.into(),
            allowed: Self::ALL.map(Self::name).join(", "),
        })
    }

    /// Usual modulation of 1 to 8 bits per symbol: the star for 3, crosses for 5 and 7.
    ///
    /// # Errors
    /// If `bits` is any other number.
    pub fn of_bits(bits: u32) -> Result<Self, PhyError> {
        match bits {
            1 => Ok(Self::Bpsk),
            2 => Ok(Self::Qpsk),
            3 => Ok(Self::Star8),
            4 => Ok(Self::Qam16),
            5 => Ok(Self::Cross32),
            6 => Ok(Self::Qam64),
            7 => Ok(Self::Cross128),
            8 => Ok(Self::Qam256),
            _ => Err(PhyError::OutOfRange {
                parameter: "bits_per_symbol",
                value: f64::from(bits),
                allowed: "between 1 and 8",
            }),
        }
    }

    /// Number of bits per symbol.
    pub fn bits(self) -> u32 {
        match self {
            Self::Bpsk => 1,
            Self::Qpsk => 2,
            Self::Star8 | Self::Psk8 | Self::Rect8 => 3,
            Self::Qam16 => 4,
            Self::Cross32 => 5,
            Self::Qam64 => 6,
            Self::Cross128 => 7,
            Self::Qam256 => 8,
        }
    }

    /// Number of points on a side of a square constellation; `None` for others.
    pub fn side(self) -> Option<u32> {
        match self {
            Self::Qpsk => Some(2),
            Self::Qam16 => Some(4),
            Self::Qam64 => Some(8),
            Self::Qam256 => Some(16),
            _ => None,
        }
    }

    /// Points of the constellation in the order of their labels, with mean energy 1.
    pub fn points(self) -> Vec<Complex64> {
        let labels = 0..1_u32 << self.bits();
        let points: Vec<_> = match self {
            Self::Bpsk => vec![Complex64::ONE, -Complex64::ONE],
            Self::Qpsk | Self::Qam16 | Self::Qam64 | Self::Qam256 => {
                let half = self.bits() / 2;
                labels.map(|label| grid(label, half, half)).collect()
            }
            Self::Rect8 => labels.map(|label| grid(label, 2, 1)).collect(),
            Self::Psk8 => labels.map(|label| polar(1.0, f64::from(from_gray(label)) / 8.0)).collect(),
            Self::Star8 => labels
                .map(|label| {
                    let quarter = f64::from(from_gray(label & 3)) / 4.0;
                    let inner = polar(2_f64.sqrt(), quarter) * polar(1.0, 0.125);
                    if label < 4 { inner } else { polar(1.0 + 3_f64.sqrt(), quarter) }
                })
                .collect(),
            // The ends of a rectangle 8 x 4 (16 x 8) become the upper and lower rows of the cross.
            Self::Cross32 | Self::Cross128 => {
                let half = self.bits() / 2;
                let scale = f64::from(1_u32 << (half - 1));
                let cross = |point: Complex64| {
                    if point.re.abs() <= 3.0 * scale {
                        return point;
                    }
                    let (re, im) = (point.im.abs(), point.re.abs() - scale);
                    Complex64::new(re.copysign(point.re), im.copysign(point.im))
                };
                labels.map(|label| cross(grid(label, half + 1, half))).collect()
            }
        };
        let energy: f64 = points.iter().map(Complex64::norm_sqr).sum::<f64>() / points.len() as f64;
        points.into_iter().map(|point| point / energy.sqrt()).collect()
    }
}

/// Point with odd coordinates for a Gray label: its lower bits give the real part, label 0 has the greatest
/// coordinates.
fn grid(label: u32, re_bits: u32, im_bits: u32) -> Complex64 {
    let level = |label: u32, bits: u32| f64::from((1 << bits) - 1) - 2.0 * f64::from(from_gray(label));
    Complex64::new(level(label & ((1 << re_bits) - 1), re_bits), level(label >> re_bits, im_bits))
}

fn polar(radius: f64, turns: f64) -> Complex64 {
    let (sin, cos) = libm::sincos(TAU * turns);
    Complex64::new(radius * cos, radius * sin)
}

/// Number whose Gray label is `label`.
fn from_gray(label: u32) -> u32 {
    (0..8).fold(0, |number, shift| number ^ (label >> shift))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn neighbours(points: &[Complex64]) -> (f64, Vec<(usize, usize)>) {
        let pairs: Vec<_> =
            (0..points.len()).flat_map(|i| (i + 1..points.len()).map(move |j| (i, j))).collect();
        let distance = |&(i, j): &(usize, usize)| (points[i] - points[j]).norm();
        let least = pairs.iter().map(distance).fold(f64::INFINITY, f64::min);
        (least, pairs.into_iter().filter(|pair| distance(pair) < least * 1.0001).collect())
    }

    #[test]
    fn points_are_distinct_with_mean_zero_and_unit_energy() {
        for modulation in Modulation::ALL {
            let points = modulation.points();
            assert_eq!(points.len(), 1 << modulation.bits());
            let mean = points.iter().sum::<Complex64>() / points.len() as f64;
            let energy = points.iter().map(Complex64::norm_sqr).sum::<f64>() / points.len() as f64;
            assert!(mean.norm() < 1e-12 && (energy - 1.0).abs() < 1e-12, "{modulation:?}");
            assert!(neighbours(&points).0 > 0.1, "{modulation:?}");
        }
    }

    #[test]
    fn gray_neighbours_differ_in_one_bit() {
        for modulation in Modulation::ALL {
            let (_, pairs) = neighbours(&modulation.points());
            let bits: u32 = pairs.iter().map(|(i, j)| (i ^ j).count_ones()).sum();
            let mean = f64::from(bits) / pairs.len() as f64;
            match modulation {
                Modulation::Star8 => assert!(mean <= 1.5, "{mean}"),
                Modulation::Cross32 | Modulation::Cross128 => assert!(mean < 1.3, "{mean}"),
                _ => assert_eq!(mean, 1.0, "{modulation:?}"),
            }
        }
    }

    #[test]
    fn least_distances_are_those_of_the_formulas() {
        // Coordinates of odd numbers have distance 2, so 2 / sqrt(Es): wipemu's Es for star and cross.
        let energies = [
            (Modulation::Star8, 3.0 + 3_f64.sqrt()),
            (Modulation::Cross32, 20.0),
            (Modulation::Cross128, 82.0),
            (Modulation::Qam64, 42.0),
        ];
        for (modulation, energy) in energies {
            let (least, _) = neighbours(&modulation.points());
            assert!((least - 2.0 / f64::sqrt(energy)).abs() < 1e-12, "{modulation:?}");
        }
    }

    #[test]
    fn names_and_bits_find_them() {
        for modulation in Modulation::ALL {
            assert_eq!(Modulation::named(modulation.name()), Ok(modulation));
        }
        assert!(Modulation::named("4-qam").unwrap_err().to_string().contains("16-qam"));
        for bits in 1..=8 {
            assert_eq!(Modulation::of_bits(bits).unwrap().bits(), bits);
        }
        assert!(Modulation::of_bits(0).is_err() && Modulation::of_bits(9).is_err());
    }
}
