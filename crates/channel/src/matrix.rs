//! Small complex matrices, for the gains between a few antennas.

use crate::complex::modulus;
use num_complex::Complex64;
use std::ops::{Index, IndexMut};

/// Greatest number of antennas at either end of a link.
pub const MOST_ANTENNAS: usize = 8;

/// A complex matrix of at most 8 rows and columns, addressed by `[(row, column)]`.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Matrix {
    rows: usize,
    columns: usize,
    entries: [Complex64; MOST_ANTENNAS * MOST_ANTENNAS],
}

impl Matrix {
    /// Creates a matrix of zeros.
    ///
    /// # Panics
    /// If there are more than 8 rows or columns.
    pub fn zeros(rows: usize, columns: usize) -> Self {
        assert!(rows.max(columns) <= MOST_ANTENNAS, "a matrix of {rows} x {columns}");
        Self { rows, columns, entries: [Complex64::ZERO; MOST_ANTENNAS * MOST_ANTENNAS] }
    }

    /// Creates a matrix from a function of row and column, both counted from 0.
    pub fn from_fn(rows: usize, columns: usize, entry: impl Fn(usize, usize) -> Complex64) -> Self {
        let mut matrix = Self::zeros(rows, columns);
        for row in 0..rows {
            for column in 0..columns {
                matrix[(row, column)] = entry(row, column);
            }
        }
        matrix
    }

    /// The identity matrix of `size` rows and columns.
    pub fn identity(size: usize) -> Self {
        Self::from_fn(size, size, |row, column| if row == column { Complex64::ONE } else { Complex64::ZERO })
    }

    /// Number of rows of the matrix.
    pub fn rows(&self) -> usize {
        self.rows
    }

    /// Number of columns of the matrix.
    pub fn columns(&self) -> usize {
        self.columns
    }

    /// Matrix product `self` x `other`.
    ///
    /// # Panics
    /// If the columns of `self` are not as many as the rows of `other`.
    #[must_use]
    pub fn times(&self, other: &Self) -> Self {
        assert_eq!(self.columns, other.rows);
        Self::from_fn(self.rows, other.columns, |row, column| {
            (0..self.columns).fold(Complex64::ZERO, |sum, k| sum + self[(row, k)] * other[(k, column)])
        })
    }

    /// Mean of the squared magnitudes of all entries.
    pub fn mean_power(&self) -> f64 {
        let entries = (0..self.rows()).flat_map(|row| (0..self.columns()).map(move |column| (row, column)));
        entries.map(|entry| self[entry].norm_sqr()).sum::<f64>() / (self.rows() * self.columns()) as f64
    }

    /// Conjugate transpose of the matrix.
    #[must_use]
    pub fn adjoint(&self) -> Self {
        Self::from_fn(self.columns, self.rows, |row, column| self[(column, row)].conj())
    }

    /// Hermitian root B of a positive semidefinite Hermitian matrix A: B = B^H, B B = A.
    ///
    /// It is computed from eigenvalues, of which those that rounding leaves below 0 count as 0.
    #[must_use]
    pub fn hermitian_root(&self) -> Self {
        let (values, vectors) = self.hermitian_eigen();
        Self::from_fn(self.rows, self.rows, |row, column| {
            (0..self.rows).fold(Complex64::ZERO, |sum, k| {
                sum + vectors[(row, k)] * values[k].max(0.0).sqrt() * vectors[(column, k)].conj()
            })
        })
    }

    /// Eigenvalues and eigenvectors (columns) of a Hermitian matrix, in no particular order, by Jacobi's method.
    fn hermitian_eigen(&self) -> ([f64; MOST_ANTENNAS], Self) {
        let n = self.rows;
        let (mut a, mut vectors) = (*self, Self::identity(n));
        // Convergence is quadratic; a matrix of 8 x 8 takes 6 to 8 sweeps.
        for _ in 0..30 {
            for p in 0..n {
                for q in p + 1..n {
                    let magnitude = modulus(a[(p, q)]);
                    if magnitude < 1e-300 {
                        continue;
                    }
                    let phase = a[(p, q)] / magnitude;
                    let theta = (a[(q, q)].re - a[(p, p)].re) / (2.0 * magnitude);
                    let tangent = theta.signum() / (theta.abs() + (1.0 + theta * theta).sqrt());
                    let cos = 1.0 / (1.0 + tangent * tangent).sqrt();
                    let sin = tangent * cos;
                    a.rotate_columns(p, q, cos, phase * sin);
                    a.rotate_rows(p, q, cos, phase * sin);
                    vectors.rotate_columns(p, q, cos, phase * sin);
                }
            }
        }
        (std::array::from_fn(|k| if k < n { a[(k, k)].re } else { 0.0 }), vectors)
    }

    /// Multiplies the matrix from the right by the rotation [cos, sin; -sin*, cos] of columns p and q.
    fn rotate_columns(&mut self, p: usize, q: usize, cos: f64, sin: Complex64) {
        for row in 0..self.rows {
            let (x, y) = (self[(row, p)], self[(row, q)]);
            self[(row, p)] = x * cos - y * sin.conj();
            self[(row, q)] = x * sin + y * cos;
        }
    }

    /// Multiplies the matrix from the left by the adjoint of the rotation [cos, sin; -sin*, cos] of rows p and q.
    fn rotate_rows(&mut self, p: usize, q: usize, cos: f64, sin: Complex64) {
        for column in 0..self.columns {
            let (x, y) = (self[(p, column)], self[(q, column)]);
            self[(p, column)] = x * cos - y * sin;
            self[(q, column)] = x * sin.conj() + y * cos;
        }
    }
}

impl Index<(usize, usize)> for Matrix {
    type Output = Complex64;
    #[inline]
    fn index(&self, (row, column): (usize, usize)) -> &Complex64 {
        &self.entries[row * MOST_ANTENNAS + column]
    }
}

impl IndexMut<(usize, usize)> for Matrix {
    #[inline]
    fn index_mut(&mut self, (row, column): (usize, usize)) -> &mut Complex64 {
        &mut self.entries[row * MOST_ANTENNAS + column]
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn distance(a: &Matrix, b: &Matrix) -> f64 {
        let pairs = (0..a.rows()).flat_map(|row| (0..a.columns()).map(move |column| (row, column)));
        pairs.map(|at| (a[at] - b[at]).norm()).fold(0.0, f64::max)
    }

    #[test]
    fn a_root_is_hermitian_and_its_square_the_matrix() {
        for n in 1..=8 {
            let a = Matrix::from_fn(n, n, |row, column| {
                let x = (row * 7 + column * 3) as f64;
                Complex64::new(x.sin(), (x * 1.3).cos())
            });
            let positive = a.times(&a.adjoint());
            let root = positive.hermitian_root();
            assert!(distance(&root, &root.adjoint()) < 1e-12, "{n}");
            assert!(distance(&root.times(&root), &positive) < 1e-11, "{n}");
        }
    }

    #[test]
    fn a_singular_matrix_has_a_root() {
        // 1 + j e^(...) of rank one: eigenvalues 4 and 0.
        let v = |k: usize| Complex64::cis(k as f64);
        let one = Matrix::from_fn(4, 4, |row, column| v(row) * v(column).conj());
        let root = one.hermitian_root();
        assert!(distance(&root.times(&root), &one) < 1e-7);
    }
}
