//! Modulus and polar form of complex numbers by the pinned libm: the methods of `num-complex` use the system's libm as
//! soon as any crate enables its feature `std`, and results would depend on the platform.

use num_complex::Complex64;

/// Modulus |z| of a complex number, without overflow.
pub fn modulus(z: Complex64) -> f64 {
    libm::hypot(z.re, z.im)
}

/// Complex number radius * exp(j angle), with the angle in radians.
pub(crate) fn polar(radius: f64, angle: f64) -> Complex64 {
    let (sin, cos) = libm::sincos(angle);
    Complex64::new(radius * cos, radius * sin)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn both_are_those_of_num_complex_but_for_rounding() {
        for (re, im) in [(3.0, 4.0), (-1e-170, 1e-170), (1e200, -2e200), (0.0, 0.0)] {
            let z = Complex64::new(re, im);
            assert!((modulus(z) - z.norm()).abs() <= 1e-15 * z.norm(), "{z}");
        }
        assert_eq!(modulus(Complex64::new(3.0, 4.0)), 5.0);
        for angle in [-4.0, -0.3, 0.0, 1.0, 9.0] {
            assert!((polar(2.0, angle) - Complex64::from_polar(2.0, angle)).norm() < 1e-15, "{angle}");
        }
    }
}
