//! Antenna schemes: the symbols of each antenna and slot, and their equivalent channel.
//!
//! Source: "TCP performance over wireless MIMO channels" (the paper), section 2, with corrections of its matrices. A
//! code is defined once, by the symbols that each antenna sends; the equivalent channel is derived from it, so that the
//! two cannot disagree as they do in print.

use crate::error::PhyError;
use crossfade_channel::Matrix;
use num_complex::Complex64;

/// Antenna scheme: the mapping of symbols to antennas.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Scheme {
    /// One antenna at each end (SISO).
    Siso,
    /// One transmit antenna, and maximal-ratio combining of the receive antennas (SIMO).
    Simo,
    /// Alamouti's code (1998): two transmit antennas, one symbol per channel use.
    Alamouti,
    /// Orthogonal space-time code `C_8,4` (equation 4): four transmit antennas, 1/2 symbol per channel use.
    StbcHalf,
    /// Quasi-orthogonal space-time code `C_4,4` (equation 7): four transmit antennas, one symbol per channel use.
    Stbc1,
    /// Two Alamouti codes side by side (equation 14): four transmit antennas, two symbols per channel use.
    Stbc2,
    /// Spatial multiplexing (BLAST, equation 1): an independent stream from each antenna.
    Blast,
}

/// Transmit power of the space-time codes with four antennas.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum StbcPower {
    /// Total power equal to that of every other scheme: amplitude sqrt(rho / 4) per antenna.
    #[default]
    Equal,
    /// Amplitude sqrt(rho / 2) per antenna, as printed in equations 12 to 16, which is twice the power. The figures of
    /// "TCP performance over wireless MIMO channels" agree with it.
    Printed,
}

/// Slot of a space-time code: true if the symbols are sent conjugated, and the signed number from 1 of each antenna's
/// symbol.
type Slot = (bool, [i8; 4]);

const ALAMOUTI: [Slot; 2] = [(false, [1, 2, 0, 0]), (true, [-2, 1, 0, 0])];
const STBC_2: [Slot; 2] = [(false, [1, 2, 3, 4]), (true, [-2, 1, -4, 3])];
/// Slots of `C_4,4`; the paper prints the last row without conjugation.
const STBC_1: [Slot; 4] =
    [(false, [1, 2, 3, 4]), (true, [2, -1, 4, -3]), (false, [3, -4, -1, 2]), (true, [-4, -3, 2, 1])];
/// Slots of `C_8,4`.
const STBC_HALF: [Slot; 8] = [
    (false, [1, 2, 3, 4]),
    (false, [-2, 1, -4, 3]),
    (false, [-3, 4, 1, -2]),
    (false, [-4, -3, 2, 1]),
    (true, [1, 2, 3, 4]),
    (true, [-2, 1, -4, 3]),
    (true, [-3, 4, 1, -2]),
    (true, [-4, -3, 2, 1]),
];

impl Scheme {
    /// All antenna schemes.
    pub const ALL: [Self; 7] =
        [Self::Siso, Self::Simo, Self::Alamouti, Self::StbcHalf, Self::Stbc1, Self::Stbc2, Self::Blast];

    /// Name of the antenna scheme in scenarios.
    pub fn name(self) -> &'static str {
        match self {
            Self::Siso => "siso",
            Self::Simo => "simo",
            Self::Alamouti => "alamouti",
            Self::StbcHalf => "stbc-half",
            Self::Stbc1 => "stbc-1",
            Self::Stbc2 => "stbc-2",
            Self::Blast => "blast",
        }
    }

    /// Antenna scheme with the given name.
    ///
    /// # Errors
    /// If no scheme has this name.
    pub fn named(name: &str) -> Result<Self, PhyError> {
        Self::ALL.into_iter().find(|scheme| scheme.name() == name).ok_or_else(|| PhyError::Unknown {
            parameter: "scheme",
            value: name.into(),
            allowed: Self::ALL.map(Self::name).join(", "),
        })
    }

    /// Checks that the scheme fits `n_t` transmit and `n_r` receive antennas.
    ///
    /// # Errors
    /// If the scheme needs other numbers of antennas; the error names them.
    pub fn check(self, n_t: usize, n_r: usize) -> Result<(), PhyError> {
        let (fits, needs) = match self {
            Self::Siso => (n_t == 1 && n_r == 1, "n_t = 1 and n_r = 1"),
            Self::Simo => (n_t == 1 && (1..=8).contains(&n_r), "n_t = 1 and n_r between 1 and 8"),
            Self::Alamouti => (n_t == 2 && (1..=8).contains(&n_r), "n_t = 2 and n_r between 1 and 8"),
            Self::StbcHalf | Self::Stbc1 => {
                (n_t == 4 && (1..=8).contains(&n_r), "n_t = 4 and n_r between 1 and 8")
            }
            Self::Stbc2 => (n_t == 4 && (2..=8).contains(&n_r), "n_t = 4 and n_r between 2 and 8"),
            Self::Blast => (
                (2..=8).contains(&n_t) && (n_t..=8).contains(&n_r),
                "n_t between 2 and 8 and n_r from n_t to 8",
            ),
        };
        if fits { Ok(()) } else { Err(PhyError::Antennas { scheme: self.name(), n_t, n_r, needs }) }
    }

    /// Number of symbols in a block of the scheme with `n_t` transmit antennas.
    pub fn symbols(self, n_t: usize) -> usize {
        match self {
            Self::Siso | Self::Simo => 1,
            Self::Alamouti => 2,
            Self::StbcHalf | Self::Stbc1 | Self::Stbc2 => 4,
            Self::Blast => n_t,
        }
    }

    /// Number of channel uses in a block of the scheme.
    pub fn slots(self) -> usize {
        match self {
            Self::Siso | Self::Simo | Self::Blast => 1,
            Self::Alamouti | Self::Stbc2 => 2,
            Self::Stbc1 => 4,
            Self::StbcHalf => 8,
        }
    }

    /// Symbols per channel use.
    pub fn rate(self, n_t: usize) -> f64 {
        self.symbols(n_t) as f64 / self.slots() as f64
    }

    /// Received power relative to that of [`StbcPower::Equal`]: 2 for codes with four antennas at printed power,
    /// otherwise 1.
    pub fn power(self, power: StbcPower) -> f64 {
        match (self, power) {
            (Self::StbcHalf | Self::Stbc1 | Self::Stbc2, StbcPower::Printed) => 2.0,
            _ => 1.0,
        }
    }

    /// Groups of symbols that interfere with each other, which must be decided together; symbols of different groups do
    /// not interfere.
    pub fn groups(self, n_t: usize) -> Vec<Vec<usize>> {
        match self {
            Self::Stbc2 | Self::Blast => vec![(0..self.symbols(n_t)).collect()],
            Self::Stbc1 => vec![vec![0, 2], vec![1, 3]],
            _ => (0..self.symbols(n_t)).map(|symbol| vec![symbol]).collect(),
        }
    }

    /// True if no symbol interferes with another, so that the matched filter is optimal.
    pub fn is_orthogonal(self) -> bool {
        matches!(self, Self::Siso | Self::Simo | Self::Alamouti | Self::StbcHalf)
    }

    fn code(self) -> &'static [Slot] {
        match self {
            Self::Alamouti => &ALAMOUTI,
            Self::StbcHalf => &STBC_HALF,
            Self::Stbc1 => &STBC_1,
            Self::Stbc2 => &STBC_2,
            Self::Siso | Self::Simo | Self::Blast => &[],
        }
    }

    /// Transmitted symbols for the symbols of a block: for each slot, one value per antenna.
    pub fn send(self, symbols: &[Complex64]) -> Vec<Vec<Complex64>> {
        if self.code().is_empty() {
            return vec![symbols.to_vec()];
        }
        let antennas = if self == Self::Alamouti { 2 } else { 4 };
        let entry = |conjugate: bool, signed: i8| {
            let symbol = symbols[signed.unsigned_abs() as usize - 1] * f64::from(signed.signum());
            if conjugate { symbol.conj() } else { symbol }
        };
        self.code()
            .iter()
            .map(|&(conjugate, slot)| {
                slot[..antennas].iter().map(|&signed| entry(conjugate, signed)).collect()
            })
            .collect()
    }

    /// Equivalent channel matrix: rows are the receive antennas in slot 1, then those in slot 2, and so on; columns are
    /// the symbols of the block. Its product with the symbols is the received signal, conjugated in the slots that
    /// [`conjugated`](Scheme::conjugated) names.
    pub fn equivalent(self, gains: &Matrix) -> Vec<Vec<Complex64>> {
        let antennas = 0..gains.rows();
        if self.code().is_empty() {
            return antennas.map(|i| (0..gains.columns()).map(|j| gains[(i, j)]).collect()).collect();
        }
        let symbols = self.symbols(gains.columns());
        let mut rows = Vec::new();
        for &(conjugate, slot) in self.code() {
            for i in antennas.clone() {
                let mut row = vec![Complex64::ZERO; symbols];
                for j in 0..gains.columns() {
                    let gain = if conjugate { gains[(i, j)].conj() } else { gains[(i, j)] };
                    row[slot[j].unsigned_abs() as usize - 1] += gain * f64::from(slot[j].signum());
                }
                rows.push(row);
            }
        }
        rows
    }

    /// True if the received signal of slot number `slot` (from 0) has to be conjugated.
    pub fn conjugated(self, slot: usize) -> bool {
        self.code().get(slot).is_some_and(|&(conjugate, _)| conjugate)
    }

    /// Gram matrix `scale` H^H H of the equivalent channel H, computed from the structure of the scheme.
    pub(crate) fn gram(self, gains: &Matrix, scale: f64) -> Matrix {
        let (n_r, n_t) = (gains.rows(), gains.columns());
        let inner = |a: usize, b: usize| {
            (0..n_r).fold(Complex64::ZERO, |sum, i| sum + gains[(i, a)].conj() * gains[(i, b)])
        };
        let power = |antennas: std::ops::Range<usize>| antennas.map(|a| inner(a, a).re).sum::<f64>();
        let mut gram = Matrix::zeros(self.symbols(n_t), self.symbols(n_t));
        match self {
            Self::Siso | Self::Simo | Self::Alamouti | Self::StbcHalf => {
                // Each symbol of C_8,4 is sent twice from each antenna.
                let times = if self == Self::StbcHalf { 2.0 } else { 1.0 };
                for k in 0..gram.rows() {
                    gram[(k, k)] = Complex64::from(times * scale * power(0..n_t));
                }
            }
            Self::Stbc1 => {
                // Equations 10 and 11.
                let alpha = 2.0 * scale * (inner(0, 2) + inner(3, 1)).im;
                for k in 0..4 {
                    gram[(k, k)] = Complex64::from(scale * power(0..4));
                }
                (gram[(0, 2)], gram[(2, 0)]) = (Complex64::new(0.0, alpha), Complex64::new(0.0, -alpha));
                (gram[(1, 3)], gram[(3, 1)]) = (Complex64::new(0.0, -alpha), Complex64::new(0.0, alpha));
            }
            Self::Stbc2 => {
                for pair in [0, 2] {
                    let own = Complex64::from(scale * power(pair..pair + 2));
                    (gram[(pair, pair)], gram[(pair + 1, pair + 1)]) = (own, own);
                }
                // H_1^H H_2 has the structure of an Alamouti code itself.
                let x = (inner(0, 2) + inner(1, 3).conj()) * scale;
                let y = (inner(0, 3) - inner(1, 2).conj()) * scale;
                for ((row, column), value) in
                    [((0, 2), x), ((0, 3), y), ((1, 2), -y.conj()), ((1, 3), x.conj())]
                {
                    gram[(row, column)] = value;
                    gram[(column, row)] = value.conj();
                }
            }
            Self::Blast => {
                for row in 0..n_t {
                    gram[(row, row)] = Complex64::from(inner(row, row).re * scale);
                    for column in 0..row {
                        gram[(row, column)] = inner(row, column) * scale;
                        gram[(column, row)] = gram[(row, column)].conj();
                    }
                }
            }
        }
        gram
    }

    /// Matrix `scale` E^H H, by which symbols reach the outputs of a receiver matched to `estimate`; E is its
    /// equivalent channel, H that of `gains`.
    pub(crate) fn cross_gram(self, estimate: &Matrix, gains: &Matrix, scale: f64) -> Matrix {
        let (e, h) = (self.equivalent(estimate), self.equivalent(gains));
        let symbols = self.symbols(gains.columns());
        Matrix::from_fn(symbols, symbols, |a, b| {
            e.iter().zip(&h).fold(Complex64::ZERO, |sum, (e, h)| sum + e[a].conj() * h[b]) * scale
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crossfade_channel::{AntennaCorrelation, MatrixFading, Motion, simd::Simd};
    use crossfade_core::{RunSeed, SimTime};

    pub(crate) fn antennas(scheme: Scheme) -> Vec<(usize, usize)> {
        let all = (1..=8).flat_map(|n_t| (1..=8).map(move |n_r| (n_t, n_r)));
        all.filter(|&(n_t, n_r)| scheme.check(n_t, n_r).is_ok()).collect()
    }

    fn gains(antennas: (usize, usize)) -> Matrix {
        let stream = RunSeed { seed: 1, run: 0 }.stream("channel.dl");
        MatrixFading::new(antennas, Motion::Independent, AntennaCorrelation::None, stream, Simd::widest())
            .unwrap()
            .gains(SimTime::ZERO, 0)
    }

    #[test]
    fn each_scheme_names_the_antennas_that_it_fits() {
        let counts = Scheme::ALL.map(|scheme| antennas(scheme).len());
        assert_eq!(counts, [1, 8, 8, 8, 8, 7, 28]);
        let message = Scheme::Alamouti.check(4, 4).unwrap_err().to_string();
        assert_eq!(
            message,
            "scheme alamouti does not fit n_t = 4, n_r = 4: it needs n_t = 2 and n_r between 1 and 8"
        );
        assert!(Scheme::Blast.check(4, 3).is_err() && Scheme::Stbc2.check(4, 1).is_err());
    }

    #[test]
    fn the_equivalent_channel_gives_what_the_antennas_receive() {
        for scheme in Scheme::ALL {
            for (n_t, n_r) in antennas(scheme) {
                let gains = gains((n_t, n_r));
                let symbols: Vec<_> =
                    (0..scheme.symbols(n_t)).map(|k| Complex64::cis(1.0 + k as f64)).collect();
                let rows = scheme.equivalent(&gains);
                assert_eq!(rows.len(), scheme.slots() * n_r);
                for (slot, sent) in scheme.send(&symbols).iter().enumerate() {
                    for i in 0..n_r {
                        let received: Complex64 = (0..n_t).map(|j| gains[(i, j)] * sent[j]).sum();
                        let received = if scheme.conjugated(slot) { received.conj() } else { received };
                        let row = &rows[slot * n_r + i];
                        let equivalent: Complex64 = row.iter().zip(&symbols).map(|(h, s)| h * s).sum();
                        assert!((received - equivalent).norm() < 1e-12, "{scheme:?}");
                    }
                }
            }
        }
    }

    #[test]
    fn gram_matrices_have_the_structure_claimed() {
        for scheme in Scheme::ALL {
            for antennas in antennas(scheme) {
                let gains = gains(antennas);
                let (claimed, computed) = (scheme.gram(&gains, 1.7), scheme.cross_gram(&gains, &gains, 1.7));
                for row in 0..claimed.rows() {
                    for column in 0..claimed.rows() {
                        let difference = (claimed[(row, column)] - computed[(row, column)]).norm();
                        assert!(difference < 1e-12, "{scheme:?} {row} {column}");
                    }
                }
            }
        }
    }

    #[test]
    fn the_half_rate_code_has_a_gram_of_twice_the_power() {
        // The paper prints once the power below equation 5.
        let gains = gains((4, 4));
        let power: f64 = (0..16).map(|k| gains[(k / 4, k % 4)].norm_sqr()).sum();
        let gram = Scheme::StbcHalf.gram(&gains, 1.0);
        for k in 0..4 {
            assert!((gram[(k, k)].re - 2.0 * power).abs() < 1e-12);
        }
    }

    #[test]
    fn every_scheme_sends_the_same_power() {
        for scheme in Scheme::ALL {
            let (n_t, _) = antennas(scheme)[0];
            let symbols: Vec<_> = (0..scheme.symbols(n_t)).map(|k| Complex64::cis(k as f64)).collect();
            for slot in scheme.send(&symbols) {
                let power: f64 = slot.iter().map(Complex64::norm_sqr).sum();
                assert!((power - n_t as f64).abs() < 1e-12, "{scheme:?}");
            }
        }
    }
}
