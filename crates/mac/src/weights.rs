//! Antenna weights of an exchange that null neighbours in other exchanges.
//!
//! Node a sends with weights `w_a`, node b receives with `w_b`; the gain between them is `w_a^T H_ab w_b` (transpose
//! without conjugation), weights have norm 1, and `H_ba = H_ab^T` (calibrated radios). Node a needs to know `v_ab =
//! H_ab w_b` of a neighbour b, the signal of b's training field at its antennas: neither node receives the other if
//! `w_a^T v_ab = 0` (Jindal and Sahoo, "Improving performance of TCP with efficient MIMO-based MAC", section 3).

use crate::svd::Svd;
use crate::vector::Vector;
use crossfade_channel::modulus;
use num_complex::Complex64;

/// Channel matrix between two arrays: entry (i, j) is the gain from antenna i of the first to antenna j of the second.
#[derive(Clone, Debug, PartialEq)]
pub struct Channel {
    antennas: usize,
    rows: Vec<Complex64>,
}

impl Channel {
    /// Channel matrix of `antennas` x `antennas` gains, row by row; `None` if `rows` has another length.
    pub fn new(antennas: usize, rows: Vec<Complex64>) -> Option<Self> {
        (rows.len() == antennas * antennas).then_some(Self { antennas, rows })
    }

    /// H w: signal at the antennas of the first array if the second sends with `weights`.
    pub fn seen_by_first(&self, weights: &Vector) -> Vector {
        let mut seen = Vector::zeros(self.antennas);
        for (i, row) in self.rows.chunks_exact(self.antennas).enumerate() {
            seen[i] = row.iter().zip(weights.as_slice()).map(|(h, w)| h * w).sum();
        }
        seen
    }

    /// H^T w: signal at the antennas of the second array if the first sends with `weights`.
    pub fn seen_by_second(&self, weights: &Vector) -> Vector {
        let mut seen = Vector::zeros(self.antennas);
        for (row, w) in self.rows.chunks_exact(self.antennas).zip(weights.as_slice()) {
            row.iter().enumerate().for_each(|(j, h)| seen[j] += h * w);
        }
        seen
    }
}

/// Unit-norm weights that null all `constraints` and are otherwise as near to `wish` as possible; `None` if there are
/// as many independent constraints as antennas.
pub fn nulling_weights(wish: &Vector, constraints: &[Vector]) -> Option<Vector> {
    if constraints.is_empty() {
        return wish.normalised();
    }
    let svd = Svd::new(wish.antennas(), constraints);
    if svd.rank() >= wish.antennas() {
        return None;
    }
    // A wish inside the constrained space has no projection: any vector of the null space will do.
    svd.project(wish).normalised().or_else(|| svd.least().normalised())
}

/// Unit-norm weights that minimise the power of `constraints` if these cannot all be nulled: the right singular vector
/// of the smallest singular value.
pub fn least_leak_weights(antennas: usize, constraints: &[Vector]) -> Vector {
    Svd::new(antennas, constraints).least()
}

/// Largest |w^T v| over the vectors v of `constraints`.
pub fn leakage(weights: &Vector, constraints: &[Vector]) -> f64 {
    constraints.iter().map(|v| modulus(weights.transpose_dot(v))).fold(0.0, f64::max)
}
