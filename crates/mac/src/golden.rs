//! Golden vectors of antenna weights: reads them, computes the weights, and compares both.
//!
//! The format is a JSON list of objects. An object of an exchange has `N`, the channel `H_AB` row by row, the
//! constraints of the two ends (`tx_constraints`, `rx_constraints`) and the expected `w_A`, `w_B`, `gain_abs2`,
//! `leak_tx`, `leak_rx`. An object of an overloaded array has `N`, constraints that cannot all be nulled (`overloaded`)
//! and the expected `least_leak_w`, `leak_sum`. Complex numbers are `[re, im]`.

use crate::vector::{MAX_ANTENNAS, Vector};
use crate::weights::{Channel, leakage, least_leak_weights, nulling_weights};
use crossfade_channel::modulus;
use num_complex::Complex64;
use serde::Deserialize;
use thiserror::Error;

/// Error in a file of golden weights.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
#[error("case {case}: {problem}")]
pub struct GoldenError {
    /// Index of the object in the list, from 0.
    pub case: usize,
    /// What is wrong with the object.
    pub problem: String,
}

type Pairs = Vec<[f64; 2]>;

#[derive(Deserialize)]
#[serde(untagged, deny_unknown_fields)]
enum Entry {
    Exchange {
        #[serde(rename = "N")]
        antennas: usize,
        #[serde(rename = "H_AB")]
        channel: Pairs,
        tx_constraints: Vec<Pairs>,
        rx_constraints: Vec<Pairs>,
        #[serde(rename = "w_A")]
        w_a: Pairs,
        #[serde(rename = "w_B")]
        w_b: Pairs,
        gain_abs2: f64,
        leak_tx: f64,
        leak_rx: f64,
    },
    Overloaded {
        #[serde(rename = "N")]
        antennas: usize,
        overloaded: Vec<Pairs>,
        least_leak_w: Pairs,
        leak_sum: f64,
    },
}

/// Comparison of one golden case with the weights computed here.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Comparison {
    /// Number of antennas.
    pub antennas: usize,
    /// Number of constraints, of both ends together.
    pub constraints: usize,
    /// Largest absolute difference over weights, gain and leakage. The weights of an overloaded array are compared up
    /// to a common phase, which is arbitrary.
    pub difference: f64,
    /// Largest |w^T v| over the constraints v that can be nulled.
    pub leakage: f64,
}

impl Comparison {
    /// Largest accepted [`Comparison::difference`] and [`Comparison::leakage`].
    pub const TOLERANCE: f64 = 1e-9;

    /// True if difference and leakage are within the tolerance.
    pub fn agrees(&self) -> bool {
        self.difference <= Self::TOLERANCE && self.leakage <= Self::TOLERANCE
    }
}

/// Reads golden weights and compares each case with the weights computed here.
///
/// # Errors
/// If the text is not in the format of this module, or the sizes in a case do not fit together.
pub fn compare_weights(text: &str) -> Result<Vec<Comparison>, GoldenError> {
    let entries: Vec<serde_json::Value> =
        serde_json::from_str(text).map_err(|error| GoldenError { case: 0, problem: error.to_string() })?;
    let compare = |(case, entry): (usize, serde_json::Value)| {
        let refuse = |problem: &str| GoldenError { case, problem: problem.to_owned() };
        let entry: Entry = serde_json::from_value(entry).map_err(|_| {
            refuse("expected N, H_AB, tx_constraints, rx_constraints, w_A, w_B, gain_abs2, leak_tx, leak_rx, or N, overloaded, least_leak_w, leak_sum")
        })?;
        entry.compare().map_err(|problem| refuse(&problem))
    };
    entries.into_iter().enumerate().map(compare).collect()
}

impl Entry {
    fn compare(self) -> Result<Comparison, String> {
        match self {
            Self::Exchange {
                antennas,
                channel,
                tx_constraints,
                rx_constraints,
                w_a,
                w_b,
                gain_abs2,
                leak_tx,
                leak_rx,
            } => {
                in_range(antennas)?;
                let rows = channel.into_iter().map(complex).collect();
                let channel = Channel::new(antennas, rows).ok_or("H_AB: must have N x N entries")?;
                let tx = vectors(antennas, "tx_constraints", tx_constraints)?;
                let rx = vectors(antennas, "rx_constraints", rx_constraints)?;
                let expected_a = vector(antennas, "w_A", w_a)?;
                let expected_b = vector(antennas, "w_B", w_b)?;
                let overload = |()| "as many constraints as antennas leave no weights";
                let a = nulling_weights(&Vector::first(antennas), &tx).ok_or(()).map_err(overload)?;
                let wish = channel.seen_by_second(&a).conj();
                let b = nulling_weights(&wish, &rx).ok_or(()).map_err(overload)?;
                let gain = channel.seen_by_second(&a).transpose_dot(&b).norm_sqr();
                let (ours_tx, ours_rx) = (leakage(&a, &tx), leakage(&b, &rx));
                let difference = distance(&a, &expected_a)
                    .max(distance(&b, &expected_b))
                    .max((gain - gain_abs2).abs())
                    .max((ours_tx - leak_tx).abs())
                    .max((ours_rx - leak_rx).abs());
                Ok(Comparison {
                    antennas,
                    constraints: tx.len() + rx.len(),
                    difference,
                    leakage: ours_tx.max(ours_rx),
                })
            }
            Self::Overloaded { antennas, overloaded, least_leak_w, leak_sum } => {
                in_range(antennas)?;
                let constraints = vectors(antennas, "overloaded", overloaded)?;
                let expected = vector(antennas, "least_leak_w", least_leak_w)?;
                let ours = least_leak_weights(antennas, &constraints);
                let inner = ours.dot(&expected);
                let phase = if modulus(inner) > 0.0 { inner / modulus(inner) } else { Complex64::ONE };
                let sum: f64 = constraints.iter().map(|v| ours.transpose_dot(v).norm_sqr()).sum();
                let difference = distance(&ours.scale(phase), &expected).max((sum - leak_sum).abs());
                Ok(Comparison { antennas, constraints: constraints.len(), difference, leakage: 0.0 })
            }
        }
    }
}

fn in_range(antennas: usize) -> Result<(), String> {
    if (1..=MAX_ANTENNAS).contains(&antennas) {
        return Ok(());
    }
    Err(format!("N = {antennas}: must be between 1 and {MAX_ANTENNAS}"))
}

fn complex([re, im]: [f64; 2]) -> Complex64 {
    Complex64::new(re, im)
}

fn vector(antennas: usize, name: &str, entries: Pairs) -> Result<Vector, String> {
    let entries: Vec<Complex64> = entries.into_iter().map(complex).collect();
    let vector = Vector::from_slice(&entries).filter(|vector| vector.antennas() == antennas);
    vector.ok_or_else(|| format!("{name}: must have N = {antennas} entries"))
}

fn vectors(antennas: usize, name: &str, rows: Vec<Pairs>) -> Result<Vec<Vector>, String> {
    rows.into_iter().map(|row| vector(antennas, name, row)).collect()
}

/// Largest difference of the entries of two vectors; infinite for NaN.
fn distance(a: &Vector, b: &Vector) -> f64 {
    let differences = a.as_slice().iter().zip(b.as_slice()).map(|(a, b)| modulus(a - b));
    differences.fold(0.0, |most, d| if d.is_nan() { f64::INFINITY } else { most.max(d) })
}
