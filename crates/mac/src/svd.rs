//! Singular value decomposition of a few constraint rows: weights that null them, or that leak least.

use crate::vector::{MAX_ANTENNAS, Vector};
use crossfade_channel::modulus;
use num_complex::Complex64;

/// Singular values below this share of the largest count as zero.
const RANK_TOLERANCE: f64 = 1e-9;

/// Share of the total power below which a column is a rounding error.
const NOTHING: f64 = 1e-29;

/// Singular values and right singular vectors of a matrix, by one-sided Jacobi rotations (Hestenes 1958); exact to
/// rounding for small matrices.
///
/// For the matrix C and a right singular vector v, |C v| is the singular value.
#[derive(Clone, Debug)]
pub struct Svd {
    values: [f64; MAX_ANTENNAS],
    vectors: [Vector; MAX_ANTENNAS],
    antennas: usize,
}

impl Svd {
    /// Decomposes the matrix with these rows, each of `antennas` entries.
    pub fn new(antennas: usize, rows: &[Vector]) -> Self {
        // Columns of C, rotated until they are orthogonal, and V, rotated along. If C has more rows than columns, R of
        // C = Q R replaces it, which has the same right singular vectors.
        let mut square = [Vector::zeros(antennas); MAX_ANTENNAS];
        let rows = if rows.len() > antennas {
            triangular(antennas, rows, &mut square);
            &square[..antennas]
        } else {
            rows
        };
        let mut columns = [Vector::zeros(rows.len()); MAX_ANTENNAS];
        let mut vectors = [Vector::zeros(antennas); MAX_ANTENNAS];
        for j in 0..antennas {
            vectors[j][j] = Complex64::ONE;
            rows.iter().enumerate().for_each(|(i, row)| columns[j][i] = row[j]);
        }
        let total: f64 = rows.iter().map(Vector::norm_sqr).sum();
        for _sweep in 0..60 {
            let mut rotated = false;
            for p in 0..antennas {
                for q in p + 1..antennas {
                    rotated |= orthogonalise(&mut columns, &mut vectors, p, q, NOTHING * total);
                }
            }
            if !rotated {
                break;
            }
        }
        let mut values = [0.0; MAX_ANTENNAS];
        (0..antennas).for_each(|j| values[j] = columns[j].norm_sqr().sqrt());
        Self { values, vectors, antennas }
    }

    /// Rank: number of singular values above 1e-9 of the largest.
    pub fn rank(&self) -> usize {
        (0..self.antennas).filter(|&j| !self.is_null(j)).count()
    }

    fn is_null(&self, j: usize) -> bool {
        let largest = self.values[..self.antennas].iter().copied().fold(0.0, f64::max);
        self.values[j] <= RANK_TOLERANCE * largest
    }

    /// Projection of `vector` on the null space of the matrix; zero at full rank.
    pub fn project(&self, vector: &Vector) -> Vector {
        let zero = Vector::zeros(self.antennas);
        (0..self.antennas)
            .filter(|&j| self.is_null(j))
            .map(|j| &self.vectors[j])
            .fold(zero, |sum, basis| sum.add_scaled(basis.dot(vector), basis))
    }

    /// Right singular vector of the smallest singular value.
    pub fn least(&self) -> Vector {
        let mut least = 0;
        for j in 1..self.antennas {
            if self.values[j] < self.values[least] {
                least = j;
            }
        }
        self.vectors[least]
    }
}

/// Rotates columns `p` and `q` so that they are orthogonal; false if they were, or if one has at most the power
/// `nothing`.
fn orthogonalise(
    columns: &mut [Vector; MAX_ANTENNAS],
    vectors: &mut [Vector; MAX_ANTENNAS],
    p: usize,
    q: usize,
    nothing: f64,
) -> bool {
    let inner = columns[p].dot(&columns[q]);
    let (alpha, beta) = (columns[p].norm_sqr(), columns[q].norm_sqr());
    let size = modulus(inner);
    if alpha.min(beta) <= nothing || size <= f64::EPSILON * (alpha * beta).sqrt() {
        return false;
    }
    // The phase makes the inner product real, then Jacobi's angle makes it zero.
    let phase = inner / size;
    let zeta = (beta - alpha) / (2.0 * size);
    let tangent = zeta.signum() / (zeta.abs() + (1.0 + zeta * zeta).sqrt());
    let cos = 1.0 / (1.0 + tangent * tangent).sqrt();
    let sin = cos * tangent;
    for pair in [columns, vectors] {
        let (first, second) = (pair[p], pair[q]);
        pair[p] = first.scale(Complex64::from(cos)).add_scaled(-phase.conj() * sin, &second);
        pair[q] = first.scale(phase * sin).add_scaled(Complex64::from(cos), &second);
    }
    true
}

/// Stores in `square` the factor R of the QR decomposition of `rows`, by modified Gram-Schmidt.
fn triangular(antennas: usize, rows: &[Vector], square: &mut [Vector; MAX_ANTENNAS]) {
    let mut columns: Vec<Vec<Complex64>> =
        (0..antennas).map(|j| rows.iter().map(|row| row[j]).collect()).collect();
    for p in 0..antennas {
        let norm = columns[p].iter().map(Complex64::norm_sqr).sum::<f64>().sqrt();
        square[p][p] = Complex64::from(norm);
        if norm == 0.0 {
            continue;
        }
        let unit: Vec<Complex64> = columns[p].iter().map(|x| x / norm).collect();
        for (q, column) in columns.iter_mut().enumerate().skip(p + 1) {
            let inner: Complex64 = unit.iter().zip(column.iter()).map(|(a, b)| a.conj() * b).sum();
            square[p][q] = inner;
            column.iter_mut().zip(&unit).for_each(|(x, u)| *x -= inner * u);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crossfade_channel::complex_normal;
    use crossfade_core::RunSeed;
    use proptest::prelude::*;

    fn rows(antennas: usize, count: usize, seed: u64) -> Vec<Vector> {
        let mut stream = RunSeed { seed, run: 0 }.stream("rows");
        (0..count).map(|_| Vector::zeros(antennas).map(|_| complex_normal(&mut stream))).collect()
    }

    #[test]
    fn worked_numbers() {
        // [[3, 0], [4, 5]]: singular values sqrt(45) and sqrt(5), the lesser's vector (1, -1)/sqrt(2).
        let real = |x: &[f64]| Vector::from_slice(&x.iter().map(|&x| x.into()).collect::<Vec<_>>()).unwrap();
        let svd = Svd::new(2, &[real(&[3.0, 0.0]), real(&[4.0, 5.0])]);
        let mut values = svd.values[..2].to_vec();
        values.sort_by(f64::total_cmp);
        assert!((values[0] - 5_f64.sqrt()).abs() < 1e-14 && (values[1] - 45_f64.sqrt()).abs() < 1e-14);
        let least = svd.least();
        assert!((least[0] + least[1]).norm() < 1e-14);
        assert_eq!(svd.rank(), 2);
        assert_eq!(Svd::new(2, &[]).rank(), 0);
        // The same direction twice constrains once.
        assert_eq!(Svd::new(3, &[real(&[1.0, 2.0, 3.0]), real(&[2.0, 4.0, 6.0])]).rank(), 1);
    }

    proptest! {
        #[test]
        fn what_is_projected_is_nulled_and_the_rest_untouched(
            antennas in 1usize..=MAX_ANTENNAS, count in 0usize..12, seed: u64,
        ) {
            let rows = rows(antennas, count, seed);
            let svd = Svd::new(antennas, &rows);
            prop_assert_eq!(svd.rank(), count.min(antennas));
            let vector = rows.first().copied().unwrap_or(Vector::first(antennas)).conj();
            let projected = svd.project(&Vector::first(antennas));
            for row in &rows {
                prop_assert!(row.transpose_dot(&projected).norm() < 1e-12);
            }
            // The projection must be orthogonal to conj(v).
            if !rows.is_empty() {
                prop_assert!(svd.project(&vector).norm_sqr() < 1e-20);
            }
            let again = svd.project(&projected);
            prop_assert!(again.add_scaled(Complex64::from(-1.0), &projected).norm_sqr() < 1e-24);
        }

        #[test]
        fn no_unit_vector_leaks_less_than_the_least(antennas in 2usize..=4, extra in 0usize..4, seed: u64) {
            let rows = rows(antennas, antennas + extra, seed);
            let leak = |w: &Vector| -> f64 { rows.iter().map(|row| row.transpose_dot(w).norm_sqr()).sum() };
            let least = Svd::new(antennas, &rows).least();
            prop_assert!((least.norm_sqr() - 1.0).abs() < 1e-12);
            let mut stream = RunSeed { seed, run: 1 }.stream("tries");
            for _ in 0..50 {
                let near = least.map(|x| x + complex_normal(&mut stream) * 0.1).normalised().unwrap();
                prop_assert!(leak(&least) <= leak(&near) * (1.0 + 1e-12));
            }
        }
    }
}
