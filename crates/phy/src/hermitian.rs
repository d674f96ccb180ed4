//! Inverses and Cholesky factors of the Gram matrices of blocks.

use crossfade_channel::Matrix;
use num_complex::Complex64;

/// Inverse of `gram` + `ridge` I, a positive definite K x K matrix.
#[inline]
pub(crate) fn inverse<const K: usize>(gram: &Matrix, ridge: f64) -> [[Complex64; K]; K] {
    let mut a = [[Complex64::ZERO; K]; K];
    for row in 0..K {
        for column in 0..K {
            a[row][column] = gram[(row, column)];
        }
        a[row][row].re += ridge;
    }
    // The sweep operator: after sweeping all pivots, a is minus the inverse. Half is enough, it stays
    // Hermitian.
    for k in 0..K {
        let pivot = 1.0 / a[k][k].re;
        for row in 0..K {
            if row == k {
                continue;
            }
            let factor = a[row][k] * pivot;
            for column in 0..=row {
                if column != k {
                    let (x, y) = (factor, a[k][column]);
                    a[row][column].re -= x.re * y.re - x.im * y.im;
                    a[row][column].im -= x.re * y.im + x.im * y.re;
                }
            }
        }
        for row in 0..K {
            for column in 0..row {
                a[column][row] = a[row][column].conj();
            }
        }
        for other in 0..K {
            if other != k {
                a[other][k] *= pivot;
                a[k][other] = a[other][k].conj();
            }
        }
        a[k][k] = Complex64::new(-pivot, 0.0);
    }
    a.map(|row| row.map(|entry| -entry))
}

/// Lower triangular L with L L^H = `gram`, a positive semidefinite K x K matrix.
#[inline]
pub(crate) fn cholesky<const K: usize>(gram: &Matrix) -> [[Complex64; K]; K] {
    let mut lower = [[Complex64::ZERO; K]; K];
    for column in 0..K {
        let mut pivot = gram[(column, column)].re;
        for k in 0..column {
            pivot -= lower[column][k].norm_sqr();
        }
        // Rounding may leave less than nothing of a column that depends on those before.
        let root = pivot.max(0.0).sqrt();
        lower[column][column].re = root;
        let reciprocal = if root > 0.0 { 1.0 / root } else { 0.0 };
        for row in column + 1..K {
            let mut entry = gram[(row, column)];
            for k in 0..column {
                entry -= lower[row][k] * lower[column][k].conj();
            }
            lower[row][column] = entry * reciprocal;
        }
    }
    lower
}

#[cfg(test)]
pub(crate) mod tests {
    use super::*;

    pub(crate) fn some_gram(n: usize, seed: f64) -> Matrix {
        let h = Matrix::from_fn(n, n, |row, column| {
            let x = seed + (row * 5 + column * 11) as f64;
            Complex64::new((x * 1.1).sin(), (x * 0.7).cos()) * 2.0
        });
        h.adjoint().times(&h)
    }

    #[test]
    fn inverse_and_root_multiply_back() {
        fn check<const K: usize>() {
            let gram = some_gram(K, 0.3);
            let (inverse, lower) = (inverse::<K>(&gram, 1.0), cholesky::<K>(&gram));
            let inverse = Matrix::from_fn(K, K, |row, column| inverse[row][column]);
            let lower = Matrix::from_fn(K, K, |row, column| lower[row][column]);
            let ridged = Matrix::from_fn(K, K, |row, column| {
                gram[(row, column)] + if row == column { 1.0 } else { 0.0 }
            });
            let (one, square) = (inverse.times(&ridged), lower.times(&lower.adjoint()));
            for row in 0..K {
                for column in 0..K {
                    let unit = if row == column { Complex64::ONE } else { Complex64::ZERO };
                    assert!((one[(row, column)] - unit).norm() < 1e-10, "{K}");
                    assert!((square[(row, column)] - gram[(row, column)]).norm() < 1e-10, "{K}");
                }
            }
        }
        check::<1>();
        check::<2>();
        check::<4>();
        check::<8>();
    }
}
