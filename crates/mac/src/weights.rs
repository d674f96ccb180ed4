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

/// The channel between two arrays: entry (i, j) from antenna i of the one to antenna j of the other.
#[derive(Clone, Debug, PartialEq)]
pub struct Channel {
    antennas: usize,
    rows: Vec<Complex64>,
}

impl Channel {
    /// A channel of `antennas` squared gains, row by row; `None` if there are more or fewer.
    pub fn new(antennas: usize, rows: Vec<Complex64>) -> Option<Self> {
        (rows.len() == antennas * antennas).then_some(Self { antennas, rows })
    }

    /// H w: what the antennas of the first array see of the second's weights.
    pub fn seen_by_first(&self, weights: &Vector) -> Vector {
        let mut seen = Vector::zeros(self.antennas);
        for (i, row) in self.rows.chunks_exact(self.antennas).enumerate() {
            seen[i] = row.iter().zip(weights.as_slice()).map(|(h, w)| h * w).sum();
        }
        seen
    }

    /// H^T w: what the antennas of the second array see of the first's weights.
    pub fn seen_by_second(&self, weights: &Vector) -> Vector {
        let mut seen = Vector::zeros(self.antennas);
        for (row, w) in self.rows.chunks_exact(self.antennas).zip(weights.as_slice()) {
            row.iter().enumerate().for_each(|(j, h)| seen[j] += h * w);
        }
        seen
    }
}

/// Weights that null every one of `constraints` and are else as near to `wish` as that allows; `None` if nothing is
/// left: as many independent constraints as antennas.
pub fn nulling_weights(wish: &Vector, constraints: &[Vector]) -> Option<Vector> {
    if constraints.is_empty() {
        return wish.normalised();
    }
    let svd = Svd::new(wish.antennas(), constraints);
    if svd.rank() >= wish.antennas() {
        return None;
    }
    // A wish that lies in what is forbidden leaves the choice open.
    svd.project(wish).normalised().or_else(|| svd.least().normalised())
}

/// Weights that minimise the power of `constraints`, if none null all of them: the right
/// singular vector of the smallest singular value.
pub fn least_leak_weights(antennas: usize, constraints: &[Vector]) -> Vector {
    Svd::new(antennas, constraints).least()
}

/// The largest |w^T v| over `constraints`.
pub fn leakage(weights: &Vector, constraints: &[Vector]) -> f64 {
    constraints.iter().map(|v| modulus(weights.transpose_dot(v))).fold(0.0, f64::max)
}
