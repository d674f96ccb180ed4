//! Complex vectors with one entry per antenna.

use num_complex::Complex64;
use std::ops::{Index, IndexMut};

/// Largest number of antennas of an array.
pub const MAX_ANTENNAS: usize = 8;

/// Complex vector with one entry per antenna, stored in place without allocation.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Vector {
    entries: [Complex64; MAX_ANTENNAS],
    antennas: usize,
}

impl Vector {
    /// Vector of zeros for `antennas` antennas, at most [`MAX_ANTENNAS`].
    ///
    /// # Panics
    /// If there are more antennas.
    pub fn zeros(antennas: usize) -> Self {
        assert!(antennas <= MAX_ANTENNAS, "checked where the array is made");
        Self { entries: [Complex64::ZERO; MAX_ANTENNAS], antennas }
    }

    /// Unit vector of the first antenna, which alone is used.
    pub fn first(antennas: usize) -> Self {
        let mut vector = Self::zeros(antennas);
        vector[0] = Complex64::ONE;
        vector
    }

    /// Vector of these entries; `None` if there are more than [`MAX_ANTENNAS`].
    pub fn from_slice(entries: &[Complex64]) -> Option<Self> {
        if entries.len() > MAX_ANTENNAS {
            return None;
        }
        let mut vector = Self::zeros(entries.len());
        vector.as_mut_slice().copy_from_slice(entries);
        Some(vector)
    }

    /// Entries of the vector, one per antenna.
    pub fn as_slice(&self) -> &[Complex64] {
        &self.entries[..self.antennas]
    }

    fn as_mut_slice(&mut self) -> &mut [Complex64] {
        &mut self.entries[..self.antennas]
    }

    /// Number of entries.
    pub fn antennas(&self) -> usize {
        self.antennas
    }

    /// Sum of a b, without conjugation: output of antennas weighted by `self` for the received signal `other`.
    pub fn transpose_dot(&self, other: &Self) -> Complex64 {
        self.as_slice().iter().zip(other.as_slice()).map(|(a, b)| a * b).sum()
    }

    /// Inner product: sum of conj(a) b.
    pub fn dot(&self, other: &Self) -> Complex64 {
        self.as_slice().iter().zip(other.as_slice()).map(|(a, b)| a.conj() * b).sum()
    }

    /// Squared norm: sum of |a|^2.
    pub fn norm_sqr(&self) -> f64 {
        self.as_slice().iter().map(Complex64::norm_sqr).sum()
    }

    /// Replaces each entry `x` by `f(x)`.
    #[must_use]
    pub fn map(mut self, f: impl FnMut(Complex64) -> Complex64) -> Self {
        let mut f = f;
        self.as_mut_slice().iter_mut().for_each(|x| *x = f(*x));
        self
    }

    /// Complex conjugate of each entry.
    #[must_use]
    pub fn conj(self) -> Self {
        self.map(|x| x.conj())
    }

    /// Product of the vector and `factor`.
    #[must_use]
    pub fn scale(self, factor: Complex64) -> Self {
        self.map(|x| x * factor)
    }

    /// Sum of the vector and `factor` times `other`.
    #[must_use]
    pub fn add_scaled(mut self, factor: Complex64, other: &Self) -> Self {
        self.as_mut_slice().iter_mut().zip(other.as_slice()).for_each(|(a, b)| *a += factor * b);
        self
    }

    /// Vector scaled to norm 1; `None` if its norm is at most 1e-12.
    pub fn normalised(self) -> Option<Self> {
        let norm = self.norm_sqr().sqrt();
        (norm > 1e-12).then(|| self.scale(Complex64::from(1.0 / norm)))
    }
}

impl Index<usize> for Vector {
    type Output = Complex64;
    fn index(&self, antenna: usize) -> &Complex64 {
        &self.as_slice()[antenna]
    }
}

impl IndexMut<usize> for Vector {
    fn index_mut(&mut self, antenna: usize) -> &mut Complex64 {
        &mut self.as_mut_slice()[antenna]
    }
}
