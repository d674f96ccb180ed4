//! Complex normal random numbers by a fixed algorithm, the same on every platform.

use crossfade_core::Stream;
use num_complex::Complex64;
use rand::Rng;
use std::f64::consts::TAU;

/// Draws a circularly symmetric complex normal number of variance 1, with variance 1/2 of real and imaginary part each
/// (Box and Muller 1958). It consumes two random numbers of the stream.
///
/// Such numbers are the channel coefficients between two antennas under Rayleigh fading.
pub fn complex_normal(stream: &mut Stream) -> Complex64 {
    // Uniform on (0, 1) without the end points: the logarithm is finite.
    let mut uniform = || ((stream.next_u64() >> 12) as f64 + 0.5) * f64::EPSILON;
    let radius = (-libm::log(uniform())).sqrt();
    let (sin, cos) = libm::sincos(TAU * uniform());
    Complex64::new(radius * cos, radius * sin)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crossfade_core::RunSeed;

    #[test]
    fn moments_are_those_of_the_law() {
        let mut stream = RunSeed { seed: 1, run: 0 }.stream("normal");
        let n = 40_000;
        let draws: Vec<Complex64> = (0..n).map(|_| complex_normal(&mut stream)).collect();
        let mean = |f: fn(Complex64) -> f64| draws.iter().map(|&z| f(z)).sum::<f64>() / f64::from(n);
        // Four standard errors each.
        assert!(mean(|z| z.re).abs() < 0.0142 && mean(|z| z.im).abs() < 0.0142);
        assert!((mean(|z| z.norm_sqr()) - 1.0).abs() < 0.02);
        assert!((mean(|z| z.re * z.re) - 0.5).abs() < 0.0142);
        assert!(mean(|z| z.re * z.im).abs() < 0.01);
        // The fourth moment of a complex normal is 2.
        assert!((mean(|z| z.norm_sqr() * z.norm_sqr()) - 2.0).abs() < 0.09);
    }
}
