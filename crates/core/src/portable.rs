//! Arithmetic with bit-identical results on every machine: small powers, decibels and greatest common divisors.
//!
//! A small power is a product, since std leaves open how `powi` rounds.

/// Square of `x`.
#[inline]
pub fn square(x: f64) -> f64 {
    x * x
}

/// Cube of `x`.
#[inline]
pub(crate) fn cube(x: f64) -> f64 {
    x * x * x
}

/// Power ratio of `db` decibels.
#[inline]
pub fn from_db(db: f64) -> f64 {
    libm::pow(10.0, db / 10.0)
}

/// Decibels of a power ratio: minus infinity for 0, NaN for a negative ratio.
#[inline]
pub fn to_db(ratio: f64) -> f64 {
    10.0 * libm::log10(ratio)
}

/// Greatest common divisor of `a` and `b` (Euclid's algorithm).
pub const fn greatest_common_divisor(a: u64, b: u64) -> u64 {
    if b == 0 { a } else { greatest_common_divisor(b, a % b) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ten_decibels_are_a_factor_of_ten() {
        assert_eq!([0.0, 10.0, 20.0, -10.0].map(from_db), [1.0, 10.0, 100.0, 0.1]);
        assert_eq!([1.0, 10.0, 100.0].map(to_db), [0.0, 10.0, 20.0]);
        assert!((to_db(2.0) - 3.010_299_956_639_812).abs() < 1e-15);
        assert!(to_db(0.0) == f64::NEG_INFINITY && to_db(-1.0).is_nan());
    }
}
