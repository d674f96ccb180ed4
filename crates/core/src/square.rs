//! Small powers as products: std leaves open how `powi` rounds, a product is the same on every machine.

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
