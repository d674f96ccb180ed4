//! Arithmetic that is the same to the bit on every machine: small powers, decibels and divisors.
//!
//! A small power is a product, since std leaves open how `powi` rounds.

/// `x * x`.
#[inline]
pub fn square(x: f64) -> f64 {
    x * x
}

/// `x * x * x`.
#[inline]
pub(crate) fn cube(x: f64) -> f64 {
    x * x * x
}

/// The ratio of powers that is `db` decibels.
#[inline]
pub fn from_db(db: f64) -> f64 {
    libm::pow(10.0, db / 10.0)
}

/// A ratio of powers in decibels: minus infinity of 0, no number of a negative one.
#[inline]
pub fn to_db(ratio: f64) -> f64 {
    10.0 * libm::log10(ratio)
}

/// The largest number that divides both (Euclid).
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
