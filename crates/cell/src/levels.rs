//! Link adaptation: switching levels of the predicted SNR between modulations.
//!
//! A transmitter knows the prediction p of a channel gain h, with the normalised power e of its error. The true SNR g
//! is then that of a complex Gaussian gain around p. With the local mean SNR G and the predicted SNR x = G |p|^2, its
//! density is
//!
//! ```text
//! f(g | x) = 1 / (G e) exp(-(g + x) / (G e)) I0(2 sqrt(g x) / (G e))
//! ```
//!
//! The transmitter chooses the number k of bits per symbol for which k times the integral of `(1 - P_k(g))^N f(g | x)`
//! is greatest, with the symbol error rate `P_k`: the expected bits of a frame of N symbols that arrive (Sternad and
//! Falahati 2004). A switching level is an SNR x at which the choice changes.

use crate::error::{CellError, out_of_range};
use crate::frame_success::FrameSuccess;
use crossfade_core::square;
use crossfade_link::MOST_BITS;
use std::sync::OnceLock;

/// Rule by which switching levels are computed.
#[derive(Clone, Debug, PartialEq)]
pub enum LevelRule {
    /// Maximises the expected number of bits that arrive, for predictions with the error `target_nmse`, even if the
    /// actual error differs.
    Optimal {
        /// Assumed normalised mean-square error of the prediction.
        target_nmse: f64,
    },
    /// Chooses the greatest number of bits per symbol whose mean frame error rate is at most `target`, for predictions
    /// with the error `target_nmse`.
    TargetFer {
        /// Greatest allowed mean frame error rate.
        target: f64,
        /// Assumed normalised mean-square error of the prediction.
        target_nmse: f64,
    },
    /// Uses given levels of the predicted SNR in dB: 7 from which on 2 to 8 bits per symbol are used, or 8 for 1 to 8
    /// bits.
    Custom(Vec<f64>),
}

/// Estimate of the SNR that the transmitter compares with the switching levels, from the local mean G and the predicted
/// gain p with error power e.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum PredictedSinr {
    /// Unbiased estimate G (|p|^2 + e) (Ekman, Sternad and Ahlen 2002).
    Unbiased,
    /// Raw estimate G |p|^2, which is too low by the power of the error in the mean.
    Raw,
}

/// Lowest local mean SNR in dB with levels of its own; there are levels for each quarter of a decibel.
const LOWEST_DB: f64 = -30.0;
const HIGHEST_DB: f64 = 60.0;
const PER_DB: f64 = 4.0;

/// Switching levels of the predicted SNR for all local means, each set computed at its first use.
#[derive(Debug)]
pub struct Levels {
    rule: LevelRule,
    kind: PredictedSinr,
    success: FrameSuccess,
    /// Least number of bits per symbol that can be sent.
    lowest: u32,
    table: Vec<OnceLock<[f64; MOST_BITS]>>,
}

impl Levels {
    /// Creates levels by `rule`, for estimates of `kind` and frames with the success probability `success`.
    ///
    /// # Errors
    /// An NMSE outside [0, 1), a target outside (0, 1), or custom levels that are not 7 or 8 rising numbers.
    pub fn new(rule: LevelRule, kind: PredictedSinr, success: FrameSuccess) -> Result<Self, CellError> {
        let nmse = |nmse: f64| {
            if (0.0..1.0).contains(&nmse) {
                Ok(())
            } else {
                out_of_range("levels.target_nmse", format!("{nmse:?}"), "at least 0 and below 1")
            }
        };
        match &rule {
            LevelRule::Optimal { target_nmse } => nmse(*target_nmse)?,
            LevelRule::TargetFer { target, target_nmse } => {
                nmse(*target_nmse)?;
                if !(*target > 0.0 && *target < 1.0) {
                    return out_of_range("levels.target_fer", format!("{target:?}"), "above 0 and below 1");
                }
            }
            LevelRule::Custom(levels) => {
                if !(MOST_BITS - 1..=MOST_BITS).contains(&levels.len()) {
                    return out_of_range(
                        "levels.custom_db",
                        format!("{} levels", levels.len()),
                        "7 or 8 levels",
                    );
                }
                let rises = levels.windows(2).all(|pair| pair[0] < pair[1]);
                if !rises || !levels.iter().all(|level| level.is_finite()) {
                    return out_of_range("levels.custom_db", format!("{levels:?}"), "in rising order");
                }
            }
        }
        let entries =
            if rule.depends_on_mean() { ((HIGHEST_DB - LOWEST_DB) * PER_DB) as usize + 1 } else { 1 };
        let (lowest, _) = success.range();
        Ok(Self { rule, kind, success, lowest, table: (0..entries).map(|_| OnceLock::new()).collect() })
    }

    /// Success probability of frames, by which the levels are computed.
    pub fn success(&self) -> &FrameSuccess {
        &self.success
    }

    /// Kind of estimate of the SNR to compare with the levels.
    pub fn kind(&self) -> PredictedSinr {
        self.kind
    }

    /// Values of the predicted SNR (not in dB) from which on 1, 2, ... 8 bits per symbol are used, for a local mean SNR
    /// in dB, which is rounded to a quarter of a decibel; 0 for a modulation without a lower limit.
    pub fn at(&self, local_mean_db: f64) -> &[f64; MOST_BITS] {
        let exact = ((local_mean_db - LOWEST_DB) * PER_DB).clamp(0.0, (self.table.len() - 1) as f64);
        // Rounding without a call, since this is done for every frame.
        let below = exact as usize;
        let place = below + usize::from(exact - below as f64 >= 0.5);
        self.table[place].get_or_init(|| self.solve(LOWEST_DB + place as f64 / PER_DB))
    }

    /// Number of bits per symbol (at least 1) for the SNR estimate `predicted` (not in dB) by the levels of
    /// [`at`](Self::at), and true if it lies below the lowest level.
    #[inline]
    pub fn choose(levels: &[f64; MOST_BITS], predicted: f64) -> (u32, bool) {
        let bits = levels.iter().filter(|&&level| predicted >= level).count() as u32;
        (bits.max(1), bits == 0)
    }

    /// Number of bits per symbol for the SNR estimate `predicted` (not in dB) at a local mean SNR in dB, at least that
    /// of the lowest available modulation; true if the estimate lies below the lowest level.
    #[inline]
    pub(crate) fn bits(&self, local_mean_db: f64, predicted: f64) -> (u32, bool) {
        let (bits, is_below) = Self::choose(self.at(local_mean_db), predicted);
        (bits.max(self.lowest), is_below)
    }

    /// Levels for a local mean SNR in dB. An unavailable modulation has the level of the next available one, so that it
    /// is never chosen.
    fn solve(&self, local_mean_db: f64) -> [f64; MOST_BITS] {
        let mut levels = self.solve_all(local_mean_db);
        let mut next = f64::INFINITY;
        for (below, level) in levels.iter_mut().enumerate().rev() {
            next = if self.success.has(below as u32 + 1) { *level } else { next };
            *level = next;
        }
        levels
    }

    fn solve_all(&self, local_mean_db: f64) -> [f64; MOST_BITS] {
        let mean = from_db(local_mean_db);
        let error = match &self.rule {
            LevelRule::Custom(levels) => {
                let missing = MOST_BITS - levels.len();
                return std::array::from_fn(|i| i.checked_sub(missing).map_or(0.0, |i| from_db(levels[i])));
            }
            LevelRule::Optimal { target_nmse } | LevelRule::TargetFer { target_nmse, .. } => {
                mean * target_nmse
            }
        };
        let shift = if self.kind == PredictedSinr::Unbiased { error } else { 0.0 };
        // All searches begin with equal arguments, so results are kept and reused.
        let mut asked: Vec<(f64, usize)> = Vec::new();
        std::array::from_fn(|i| {
            let (mut low, mut high) = (-40.0_f64, 60.0_f64);
            let mut step = 0;
            let mut is_allowed = |db: f64| {
                if asked.get(step).is_none_or(|(before, _)| *before != db) {
                    asked.truncate(step);
                    asked.push((db, self.allowed(from_db(db), error)));
                }
                step += 1;
                asked[step - 1].1 > i
            };
            if is_allowed(low) {
                return 0.0;
            }
            for _ in 0..20 {
                let middle = f64::midpoint(low, high);
                if is_allowed(middle) { high = middle } else { low = middle }
            }
            from_db(high) + shift
        })
    }

    /// Number of bits per symbol chosen by the rule at the predicted SNR `x` = G |p|^2 and the error power `error` = G
    /// e; 0 if no modulation meets the target error rate.
    fn allowed(&self, x: f64, error: f64) -> usize {
        let expected = self.expected(x, error);
        let all = 0..MOST_BITS;
        if let LevelRule::TargetFer { target, .. } = self.rule {
            return all.rev().find(|&i| expected[i] >= 1.0 - target).map_or(0, |i| i + 1);
        }
        let bits = |i: usize| (i + 1) as f64 * expected[i];
        let better = |best: usize, i: usize| if bits(i) > bits(best) { i } else { best };
        all.reduce(better).map_or(1, |i| i + 1)
    }

    /// Success probabilities of frames of 1 to 8 bits per symbol at the predicted SNR `x` and the error power `error`:
    /// integrals of the success over the density of the SNR, by Gauss-Legendre quadrature over its square root u.
    fn expected(&self, x: f64, error: f64) -> [f64; MOST_BITS] {
        const PANELS: u32 = 16;
        const NODES: [(f64, f64); 4] = [
            (-0.861_136_311_594_052_6, 0.347_854_845_137_453_85),
            (-0.339_981_043_584_856_26, 0.652_145_154_862_546_1),
            (0.339_981_043_584_856_26, 0.652_145_154_862_546_1),
            (0.861_136_311_594_052_6, 0.347_854_845_137_453_85),
        ];
        if error == 0.0 {
            return self.success.all_at_root(x.sqrt());
        }
        let (centre, deviation) = (x.sqrt(), (error / 2.0).sqrt());
        let first = (centre - 6.0 * deviation).max(0.0);
        let half = (centre + 6.0 * deviation - first) / f64::from(2 * PANELS);
        let mut sum = [0.0; MOST_BITS];
        for panel in 0..PANELS {
            let middle = first + half * f64::from(2 * panel + 1);
            for (place, weight) in NODES {
                let u = middle + half * place;
                let density = 2.0 * u / error
                    * libm::exp(-square(u - centre) / error)
                    * scaled_i0(2.0 * u * centre / error);
                let success = self.success.all_at_root(u);
                let weight = half * weight * density;
                sum.iter_mut().zip(success).for_each(|(sum, success)| *sum += weight * success);
            }
        }
        sum
    }
}

impl LevelRule {
    fn depends_on_mean(&self) -> bool {
        match self {
            Self::Optimal { target_nmse } | Self::TargetFer { target_nmse, .. } => *target_nmse > 0.0,
            Self::Custom(_) => false,
        }
    }
}

/// Scaled Bessel function exp(-x) I0(x) for x >= 0, with an absolute error below 2e-7 (Abramowitz and Stegun 9.8.1 and
/// 9.8.2).
fn scaled_i0(x: f64) -> f64 {
    let horner = |coefficients: &[f64], t: f64| coefficients.iter().rev().fold(0.0, |sum, c| sum * t + c);
    if x < 3.75 {
        let t = square(x / 3.75);
        let i0 = [1.0, 3.515_622_9, 3.089_942_4, 1.206_749_2, 0.265_973_2, 0.036_076_8, 0.004_581_3];
        return libm::exp(-x) * horner(&i0, t);
    }
    let series = [
        0.398_942_28,
        0.013_285_92,
        0.002_253_19,
        -0.001_575_65,
        0.009_162_81,
        -0.020_577_06,
        0.026_355_37,
        -0.016_476_33,
        0.003_923_77,
    ];
    horner(&series, 3.75 / x) / x.sqrt()
}

/// Power ratio of `db` decibels. The formula differs from [`crossfade_core::from_db`] in the last bits, on which the
/// result rows of cells depend.
pub(crate) fn from_db(db: f64) -> f64 {
    libm::exp(db * (std::f64::consts::LN_10 / 10.0))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crossfade_phy::Modulation;

    fn levels(rule: LevelRule, kind: PredictedSinr) -> Result<Levels, CellError> {
        Levels::new(rule, kind, FrameSuccess::new(108, Modulation::Star8))
    }

    fn db(ratio: f64) -> f64 {
        10.0 * libm::log10(ratio)
    }

    #[test]
    fn levels_at_16_db_are_those_of_a_prototype() {
        // Found by another author's quadrature: frames of 108 symbols, a local mean of 16 dB.
        for (target_nmse, kind, expected) in [
            (0.0, PredictedSinr::Unbiased, [8.72, 13.36, 16.90, 20.18, 23.60, 26.66, 29.94]),
            (0.1, PredictedSinr::Unbiased, [7.92, 14.19, 17.63, 20.71, 23.93, 26.84, 30.04]),
            (0.1, PredictedSinr::Raw, [3.44, 13.48, 17.32, 20.56, 23.86, 26.80, 30.02]),
        ] {
            let levels = levels(LevelRule::Optimal { target_nmse }, kind).unwrap();
            let [lowest, found @ ..] = *levels.at(16.0);
            assert_eq!(lowest, 0.0);
            for (found, expected) in found.into_iter().map(db).zip(expected) {
                assert!((found - expected).abs() < 0.05, "{target_nmse} {kind:?}: {found} {expected}");
            }
        }
    }

    #[test]
    fn bpsk_is_never_best_where_predictions_are_bad() {
        let unlimited = |target_nmse, mean| {
            let levels = levels(LevelRule::Optimal { target_nmse }, PredictedSinr::Raw).unwrap();
            levels.at(mean)[1] == 0.0
        };
        assert!(unlimited(0.2, 16.0) && unlimited(0.1, 19.0) && !unlimited(0.1, 16.0));
    }

    #[test]
    fn the_density_integrates_to_one_and_has_its_mean() {
        // A success of 1 everywhere above 0: frames of no symbols.
        let always = Levels::new(
            LevelRule::Optimal { target_nmse: 0.1 },
            PredictedSinr::Raw,
            FrameSuccess::new(0, Modulation::Star8),
        );
        for x in [0.0, 0.3, 4.0, 40.0, 1000.0] {
            for error in [0.01, 1.0, 4.0, 20.0] {
                let total = always.as_ref().unwrap().expected(x, error)[3];
                assert!((total - 1.0).abs() < 2e-6, "{x} {error}: {total}");
            }
        }
    }

    #[test]
    fn a_target_frame_error_rate_is_met_at_the_levels() {
        let rule = LevelRule::TargetFer { target: 0.1, target_nmse: 0.0 };
        let levels = levels(rule, PredictedSinr::Unbiased).unwrap();
        for (bits, &level) in (1..).zip(levels.at(3.0)) {
            assert!((levels.success().at(bits, level) - 0.9).abs() < 1e-4, "{bits} bits at {level}");
        }
        assert_eq!(Levels::choose(levels.at(3.0), 0.1), (1, true));
        assert_eq!(Levels::choose(levels.at(3.0), 1e6), (8, false));
    }

    #[test]
    fn bad_levels_are_refused() {
        let error = |rule| levels(rule, PredictedSinr::Raw).unwrap_err().to_string();
        assert_eq!(
            error(LevelRule::Optimal { target_nmse: 1.0 }),
            "levels.target_nmse = 1.0: must be at least 0 and below 1"
        );
        assert_eq!(
            error(LevelRule::Custom(vec![1.0, 3.0, 2.0, 4.0, 5.0, 6.0, 7.0])),
            "levels.custom_db = [1.0, 3.0, 2.0, 4.0, 5.0, 6.0, 7.0]: must be in rising order"
        );
        assert_eq!(error(LevelRule::Custom(vec![1.0])), "levels.custom_db = 1 levels: must be 7 or 8 levels");
        let custom = levels(LevelRule::Custom((8..15).map(f64::from).collect()), PredictedSinr::Raw).unwrap();
        assert_eq!(Levels::choose(custom.at(0.0), from_db(9.5)), (3, false));
    }
}
