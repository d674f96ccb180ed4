//! Mutual information of bit-interleaved coded modulation, and the effective signal-to-noise ratio of a block whose
//! parts have several ratios.
//!
//! The error rate of a code whose bits see several ratios is about that at one effective ratio, at which a symbol
//! carries the mean of the mutual information at each (mutual-information effective SINR mapping, MIESM; Brueninghaus
//! et al., "Link performance models for system level simulations of broadband radio access", PIMRC 2005; normalised per
//! bit it is called RBIR).
//!
//! For Gray labelled pulse-amplitude modulation in real noise of variance s^2, with `X_b` the levels whose bit i is b,
//! the mutual information is
//!
//! ```text
//! I = sum over bits i of 1 - E log2( sum over all x' of exp(-(y - x')^2 / 2 s^2) / sum over x' in X_b )   (Caire et al. 1998)
//! ```
//!
//! A square constellation has two such dimensions, each with half the energy. The expectation over the noise is a
//! trapezoidal sum, which converges faster than any power of its step for such an integrand. It is computed at the
//! points of a grid in dB, each when first needed, and interpolated between them by a polynomial through eight points.

use crate::error::PhyError;
use crossfade_core::{from_db, to_db};
use std::sync::OnceLock;

/// Start of the grids in dB: below, mutual information is taken as proportional to the ratio.
const LOWEST_DB: f64 = -30.0;
const PER_DB: f64 = 4.0;
/// Number of grid points through which a polynomial goes.
const POINTS: usize = 8;
/// Number of bisection steps by which a ratio between two grid points is found.
const HALVINGS: u32 = 40;
/// Step of the sum over the noise, in its standard deviations; the sum has `STEPS` steps on either side.
const STEP: f64 = 0.125;
const STEPS: i32 = 72;

/// Mutual information of a Gray labelled constellation as a function of Es/N0.
#[derive(Debug)]
pub struct MutualInformation {
    name: &'static str,
    /// Number of dimensions, 1 or 2, and bits of each dimension.
    dimensions: u32,
    bits: u32,
    /// End of the grid in dB: above, mutual information is taken as that of the last point.
    highest_db: f64,
    grid: OnceLock<Vec<Point>>,
    /// Interpolating polynomial between each two neighbouring points of the grid, computed when first needed.
    polynomials: OnceLock<Vec<OnceLock<[f64; POINTS]>>>,
}

/// Point of a grid: Es/N0 (linear), and the mutual information once computed.
#[derive(Debug)]
struct Point {
    snr: f64,
    information: OnceLock<f64>,
}

/// Tables of all constellations, computed when needed: BPSK and the square ones.
static ALL: [MutualInformation; 7] = [
    MutualInformation::new("bpsk", 1, 1),
    MutualInformation::new("qpsk", 2, 1),
    MutualInformation::new("16-qam", 2, 2),
    MutualInformation::new("64-qam", 2, 3),
    MutualInformation::new("256-qam", 2, 4),
    MutualInformation::new("1024-qam", 2, 5),
    MutualInformation::new("4096-qam", 2, 6),
];

impl MutualInformation {
    const fn new(name: &'static str, dimensions: u32, bits: u32) -> Self {
        // Four times the points of a constellation need 6 dB more.
        let highest_db = if bits > 5 { 51.0 } else { 45.0 };
        Self { name, dimensions, bits, highest_db, grid: OnceLock::new(), polynomials: OnceLock::new() }
    }

    /// Mutual information of the constellation called `name`.
    ///
    /// # Errors
    /// If there is no constellation of this name, or it is not Gray labelled.
    pub fn named(name: &str) -> Result<&'static Self, PhyError> {
        ALL.iter().find(|one| one.name == name).ok_or_else(|| PhyError::Unknown {
            parameter: "modulation",
            value: name.into(),
            allowed: ALL.each_ref().map(|one| one.name).join(", "),
        })
    }

    /// Number of bits per symbol.
    pub fn bits_per_symbol(&self) -> u32 {
        self.dimensions * self.bits
    }

    /// Mutual information in bits per symbol at Es/N0 = `snr` (linear, not in dB); between 0 and
    /// [`bits_per_symbol`](Self::bits_per_symbol), within 1e-9.
    pub fn at(&self, snr: f64) -> f64 {
        if snr.is_nan() || snr <= 0.0 {
            return 0.0;
        }
        self.at_db(to_db(snr))
    }

    /// Es/N0 (linear, not in dB) at which a symbol carries `information` bits. For 0 bits it is 0; for all bits of a
    /// symbol, which every large Es/N0 reaches, it is the smallest such value of the grid.
    ///
    /// The error is below 1e-6 dB if a symbol carries between 0.001 and 0.999 of its bits.
    pub fn inverse(&self, information: f64) -> f64 {
        from_db(self.inverse_db(information))
    }

    /// Es/N0 in dB at which a symbol carries `information` bits, like [`inverse`](Self::inverse); minus infinity for 0
    /// bits. The search is faster if the result is between `least_db` and `greatest_db`, which need not hold.
    pub fn inverse_db_between(&self, information: f64, least_db: f64, greatest_db: f64) -> f64 {
        let grid = self.grid();
        let entry = |db: f64| ((db - LOWEST_DB) * PER_DB) as usize;
        // Entries below `least_db` and above `greatest_db`, with one to spare for rounding.
        let (from, to) = (entry(least_db), (entry(greatest_db) + 3).min(grid.len()));
        let within = grid.get(from..to).unwrap_or_default();
        let above = from + within.partition_point(|point| self.of(point) < information);
        if above > from
            && above < to
            && let Some(place) = self.crossing(above - 1, information)
        {
            return LOWEST_DB + place / PER_DB;
        }
        self.inverse_db(information)
    }

    /// Es/N0 in dB at which a symbol carries `information` bits, like [`inverse`](Self::inverse); minus infinity for 0
    /// bits.
    fn inverse_db(&self, information: f64) -> f64 {
        let grid = self.grid();
        if information.is_nan() || information <= 0.0 {
            return f64::NEG_INFINITY;
        }
        let lowest = self.of(&grid[0]);
        if information <= lowest {
            return LOWEST_DB + to_db(information / lowest);
        }
        let above = grid.partition_point(|point| self.of(point) < information);
        if above == grid.len() {
            return self.highest_db;
        }
        if let Some(place) = self.crossing(above - 1, information) {
            return LOWEST_DB + place / PER_DB;
        }
        let [mut low, mut high] = [above - 1, above].map(|entry| LOWEST_DB + entry as f64 / PER_DB);
        for _ in 0..HALVINGS {
            let middle = f64::midpoint(low, high);
            if self.at_db(middle) < information { low = middle } else { high = middle }
        }
        f64::midpoint(low, high)
    }

    /// Position at which the curve crosses `information` after grid point `whole`, in grid steps from its beginning, by
    /// Newton's method; `None` if the curve is so flat that rounding matters.
    fn crossing(&self, whole: usize, information: f64) -> Option<f64> {
        let [below, above] = [whole, whole + 1].map(|point| self.of(&self.grid()[point]));
        let rise = above - below;
        if rise < 1e-5 {
            return None;
        }
        let polynomial = self.polynomial(whole)?;
        let mut x = (information - below) / rise - 0.5;
        for _ in 0..6 {
            let (value, slope) = polynomial
                .iter()
                .rev()
                .fold((0.0, 0.0), |(value, slope), coefficient| (value * x + coefficient, slope * x + value));
            let step = (value - information) / slope;
            x -= step;
            if step.abs() < 1e-9 {
                // The error after a step goes by the square of the step.
                return (x.abs() <= 0.5 + 1e-9).then_some(whole as f64 + 0.5 + x);
            }
        }
        None
    }

    /// Effective Es/N0 of a block whose equally long parts have these ratios, all linear, not in dB: the ratio at which
    /// a symbol carries the mean of their mutual information.
    pub fn effective(&self, ratios: &[f64]) -> f64 {
        let least = ratios.iter().copied().fold(f64::INFINITY, f64::min);
        let greatest = ratios.iter().copied().fold(0.0, f64::max);
        if ratios.is_empty() || least >= greatest {
            return greatest;
        }
        let mean = ratios.iter().map(|&ratio| self.at(ratio)).sum::<f64>() / ratios.len() as f64;
        self.inverse(mean).clamp(least, greatest)
    }

    fn grid(&self) -> &[Point] {
        self.grid.get_or_init(|| {
            let snr = |entry: usize| from_db(LOWEST_DB + entry as f64 / PER_DB);
            let entries = ((self.highest_db - LOWEST_DB) * PER_DB) as usize + 1;
            (0..entries).map(|entry| Point { snr: snr(entry), information: OnceLock::new() }).collect()
        })
    }

    /// Mutual information in bits per symbol at a point of the grid.
    fn of(&self, point: &Point) -> f64 {
        *point.information.get_or_init(|| self.integral(point.snr))
    }

    /// Interpolating polynomial between grid point `whole` and the next; `None` at the end of the grid.
    fn polynomial(&self, whole: usize) -> Option<&[f64; POINTS]> {
        let empty = || (1..self.grid().len()).map(|_| OnceLock::new()).collect();
        let cell = self.polynomials.get_or_init(empty).get(whole)?;
        Some(cell.get_or_init(|| {
            let grid = self.grid();
            polynomial(whole, grid.len(), |point| self.of(&grid[point]))
        }))
    }

    /// Mutual information in bits per symbol at Es/N0 = `db` in decibels, like [`at`](Self::at).
    pub fn at_db(&self, db: f64) -> f64 {
        let place = (db - LOWEST_DB) * PER_DB;
        if place <= 0.0 {
            return self.of(&self.grid()[0]) * from_db(db - LOWEST_DB);
        }
        let Some(polynomial) = self.polynomial(place as usize) else {
            return self.of(&self.grid()[self.grid().len() - 1]);
        };
        let x = place - (place as usize as f64 + 0.5);
        let sum = polynomial.iter().rev().fold(0.0, |sum, coefficient| sum * x + coefficient);
        sum.clamp(0.0, f64::from(self.bits_per_symbol()))
    }

    /// Mutual information in bits per symbol at Es/N0 = `snr` (linear), by numerical integration of the formula in the
    /// module's documentation.
    fn integral(&self, snr: f64) -> f64 {
        let levels = 1_usize << self.bits;
        // Levels at +-1, +-3, ... have the mean energy (4^bits - 1) / 3.
        let energy = (libm::pow(4.0, f64::from(self.bits)) - 1.0) / 3.0 * f64::from(self.dimensions);
        // The distance of two levels in standard deviations of the noise, 1 / (2 snr) in each dimension.
        let spacing = 2.0 * (2.0 * snr / energy).sqrt();
        let after = libm::exp(-spacing * spacing);
        let mut likelihoods = vec![0.0; levels];
        let mut lacking = 0.0;
        for step in -STEPS..=STEPS {
            let noise = f64::from(step) * STEP;
            let weight = STEP * libm::exp(-noise * noise / 2.0) / (2.0 * std::f64::consts::PI).sqrt();
            let next = [1.0, -1.0].map(|way| libm::exp((way * noise - spacing / 2.0) * spacing));
            // Levels are symmetric: half of them are all.
            for sent in 0..levels / 2 {
                relative_likelihoods(&mut likelihoods, sent, next, after);
                for bit in 0..self.bits {
                    // Summed in this form, as a difference of sums would cancel.
                    let (mut same, mut other) = (0.0, 0.0);
                    for (i, likelihood) in likelihoods.iter().enumerate() {
                        let sum = if (gray(i) ^ gray(sent)) >> bit & 1 == 0 { &mut same } else { &mut other };
                        *sum += likelihood;
                    }
                    lacking += weight * libm::log1p(other / same);
                }
            }
        }
        let lacking = lacking / std::f64::consts::LN_2 / (levels / 2) as f64;
        f64::from(self.dimensions) * (f64::from(self.bits) - lacking).max(0.0)
    }
}

/// Likelihood of each level relative to the sent one. Likelihoods are Gaussian, so the ratio to the neighbours of the
/// sent level is `next`, and each further ratio is smaller by the factor `after`. Negligible values are 0.
fn relative_likelihoods(likelihoods: &mut [f64], sent: usize, next: [f64; 2], after: f64) {
    const NEGLIGIBLE: f64 = 1e-26;
    likelihoods.fill(0.0);
    likelihoods[sent] = 1.0;
    let (below, above) = likelihoods.split_at_mut(sent);
    let fill = |levels: &mut dyn Iterator<Item = &mut f64>, mut ratio: f64| {
        let mut likelihood = 1.0;
        for level in levels {
            likelihood *= ratio;
            if likelihood < NEGLIGIBLE && ratio < 1.0 {
                return;
            }
            *level = likelihood;
            ratio *= after;
        }
    };
    fill(&mut above[1..].iter_mut(), next[0]);
    fill(&mut below.iter_mut().rev(), next[1]);
}

/// Interpolating polynomial (Lagrange) between grid point `whole` of `count` and the next, in powers of the distance
/// from the middle between them, in grid steps; it goes through equally many points on either side where the grid has
/// them.
fn polynomial(whole: usize, count: usize, at: impl Fn(usize) -> f64) -> [f64; POINTS] {
    let first = (whole + 1).saturating_sub(POINTS / 2).min(count - POINTS);
    let middle = whole as f64 + 0.5;
    let mut sum = [0.0; POINTS];
    for i in first..first + POINTS {
        // Basis polynomial: 1 at this point and 0 at the others, with one factor for each of these.
        let mut basis = [0.0; POINTS];
        basis[0] = 1.0;
        for j in (first..first + POINTS).filter(|&j| j != i) {
            let (zero, scale) = (j as f64 - middle, i as f64 - j as f64);
            for power in (0..POINTS).rev() {
                let lower = if power > 0 { basis[power - 1] } else { 0.0 };
                basis[power] = (lower - zero * basis[power]) / scale;
            }
        }
        let value = at(i);
        sum.iter_mut().zip(basis).for_each(|(sum, part)| *sum += value * part);
    }
    sum
}

/// Gray label of a level, counted from 0.
fn gray(level: usize) -> usize {
    level ^ (level >> 1)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crossfade_core::testing::long_or;

    /// Reference values: modulation, Es/N0 in dB, and bits per symbol by adaptive quadrature in scipy
    /// (`scripts/reference_mutual_information.py`).
    fn reference() -> Vec<(String, f64, f64)> {
        let path = concat!(env!("CARGO_MANIFEST_DIR"), "/../../tests/data/mutual_information.csv");
        let text = std::fs::read_to_string(path).expect(path);
        let row = |line: &str| {
            let fields: Vec<&str> = line.split(',').collect();
            (fields[0].to_owned(), fields[1].parse().unwrap(), fields[2].parse().unwrap())
        };
        text.lines().skip(1).map(row).collect()
    }

    #[test]
    fn information_is_that_of_an_independent_quadrature() {
        let rows = reference();
        assert!(rows.len() > 150, "{}", rows.len());
        let mut inverses = 0;
        for (name, db, bits) in rows {
            let modulation = MutualInformation::named(&name).unwrap();
            let (found, exact) = (modulation.at(from_db(db)), modulation.integral(from_db(db)));
            assert!((exact - bits).abs() < 1e-10, "{name} at {db} dB: {exact}, {bits}");
            assert!((found - bits).abs() < 1e-9, "{name} at {db} dB: {found}, {bits}");
            let most = f64::from(modulation.bits_per_symbol());
            if bits > 0.001 * most && most - bits > 0.001 * most {
                let back = to_db(modulation.inverse(bits));
                assert!((back - db).abs() < 1e-6, "{name} at {db} dB: {back}");
                inverses += 1;
            }
        }
        assert!(inverses > 80, "{inverses}");
    }

    #[test]
    fn polynomials_are_those_of_lagrange_and_inverses_those_of_halving() {
        for modulation in &ALL {
            let (grid, most) = (modulation.grid(), f64::from(modulation.bits_per_symbol()));
            for step in 0..1500_u32 {
                let db = -29.9 + f64::from(step) * 0.053_3;
                let place = (db - LOWEST_DB) * PER_DB;
                if place as usize + 1 >= grid.len() {
                    break;
                }
                let first = (place as usize + 1).saturating_sub(POINTS / 2).min(grid.len() - POINTS);
                let bits = (first..first + POINTS).fold(0.0, |sum, i| {
                    let others = (first..first + POINTS).filter(|&j| j != i);
                    let weight = |weight, j| weight * (place - j as f64) / (i as f64 - j as f64);
                    sum + others.fold(1.0, weight) * modulation.of(&grid[i])
                });
                let found = modulation.at_db(db);
                assert!(
                    (found - bits.clamp(0.0, most)).abs() < 1e-12,
                    "{} {db} dB: {found}",
                    modulation.name
                );
                let (mut low, mut high) = (LOWEST_DB, modulation.highest_db);
                for _ in 0..60 {
                    let middle = f64::midpoint(low, high);
                    if modulation.at_db(middle) < found { low = middle } else { high = middle }
                }
                let inverse = to_db(modulation.inverse(found));
                // Where a hundredth of a dB is a billionth of a bit or less, rounding decides.
                let is_flat = modulation.at_db(db + 0.01) - modulation.at_db(db - 0.01) < 1e-9;
                assert!(is_flat || (inverse - low).abs() < 1e-6, "{} {db} dB: {inverse}", modulation.name);
            }
        }
    }

    #[test]
    fn an_inverse_from_a_bracket_is_that_of_the_whole_grid() {
        for modulation in &ALL {
            let grid = (-70..110).step_by(long_or(1, 4));
            for (low, span) in grid.flat_map(|low| [0.0, 0.1, 0.26, 3.0, 25.0].map(|span| (low, span))) {
                let least_db = f64::from(low) * 0.513;
                let [least, greatest] = [least_db, least_db + span].map(|db| modulation.at_db(db));
                for share in [0.0, 0.3, 0.999, 1.0] {
                    let mean = least + (greatest - least) * share;
                    let found = modulation.inverse_db_between(mean, least_db, least_db + span);
                    assert_eq!(found, modulation.inverse_db(mean), "{} {least_db} {span}", modulation.name);
                }
            }
            let wrong = modulation.inverse_db_between(modulation.at_db(5.0), 20.0, 30.0);
            assert_eq!(wrong, modulation.inverse_db(modulation.at_db(5.0)), "{}", modulation.name);
            assert_eq!(modulation.inverse_db_between(0.0, f64::NEG_INFINITY, 3.0), f64::NEG_INFINITY);
        }
    }

    #[test]
    fn information_rises_from_nothing_to_all_bits() {
        for modulation in &ALL {
            let most = f64::from(modulation.bits_per_symbol());
            let at: Vec<f64> =
                (-600..600).map(|tenth| modulation.at(from_db(f64::from(tenth) / 10.0))).collect();
            assert!(at.windows(2).all(|pair| pair[0] <= pair[1] + 1e-12), "{}", modulation.name);
            assert!(at[0] > 0.0 && at[0] < 1e-5 && (at[1199] - most).abs() < 1e-9, "{}", modulation.name);
            assert_eq!([0.0, -1.0, f64::NAN].map(|snr| modulation.at(snr)), [0.0; 3]);
            assert_eq!((modulation.inverse(0.0), modulation.inverse(f64::NAN)), (0.0, 0.0));
            assert!(modulation.inverse(most).is_finite());
            // Below the grid a line.
            let tiny = modulation.inverse(modulation.at(1e-5));
            assert!((tiny / 1e-5 - 1.0).abs() < 1e-9, "{tiny}");
        }
    }

    #[test]
    fn the_effective_ratio_lies_between_and_is_that_of_equal_ones() {
        let qpsk = MutualInformation::named("qpsk").unwrap();
        assert_eq!(qpsk.effective(&[3.7, 3.7, 3.7]), 3.7);
        assert_eq!((qpsk.effective(&[]), qpsk.effective(&[0.0, 0.0])), (0.0, 0.0));
        // Half of the symbols carry nothing, the others all bits: the mean is half, as QPSK has at 0.187 dB.
        let half = qpsk.effective(&[0.0, 1e6]);
        assert!((half - qpsk.inverse(1.0)).abs() < 1e-9);
        // Information is concave: the effective ratio is below the mean ratio.
        let effective = qpsk.effective(&[from_db(4.0), from_db(-4.0)]);
        assert!(effective > from_db(-4.0) && effective < f64::midpoint(from_db(4.0), from_db(-4.0)));
        // If all bits are known, the effective ratio is between the least and the greatest.
        let all = qpsk.effective(&[1e5, 1e6]);
        assert!((1e5..=1e6).contains(&all), "{all}");
    }

    #[test]
    fn what_is_not_gray_labelled_is_refused() {
        assert_eq!(
            MutualInformation::named("32-cross").unwrap_err().to_string(),
            "modulation = \"32-cross\": must be one of bpsk, qpsk, 16-qam, 64-qam, 256-qam, 1024-qam, 4096-qam"
        );
    }
}
