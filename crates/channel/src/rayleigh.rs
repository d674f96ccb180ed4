//! Rayleigh fading, and the two-state Markov chain that approximates it.
//!
//! A transmission is lost when the power gain |h|^2 (mean 1) is below 1/F, F the fading margin. The gains of
//! two consecutive steps are complex Gaussians of correlation rho = `J0(2 pi fd_t)`; the chain has the
//! transition probabilities of this pair: Zorzi, Rao and Milstein (1995); Chockalingam and Bao (2000), eqs
//! 3-6, with Marcum's Q; Table I of "Throughput analysis of TCP on channels with memory". Only |rho| matters.
//!
//! # How it is computed
//! The printed form is a difference of two Q functions that are both near 1 when losses are rare or fading is
//! slow, and loses its digits there. As integrals over an angle (Simon 1998) the two share their exponential,
//! and what remains of the difference is weighted by the Poisson kernel. A Moebius map of the circle makes
//! the kernel uniform. In the new angle d, with u = 1/F,
//!
//! ```text
//! v(d)     = u (1 - rho^2) / ((1 - |rho|)^2 + 4 |rho| sin^2(d/2)),   whose mean over d in [0, pi] is u
//! p_GB     = mean of 1 - exp(-v)
//! P_E p_BG = (1 - P_E) p_GB
//! P_E p_BB = exp(-u) (exp(u) - 1 - u + mean of exp(-v) - 1 + v)
//! ```
//!
//! Every term is positive: nothing cancels, and each probability keeps its digits however small it is.

use crate::error::{ChannelError, out_of_range, probability};
use crate::markov::TwoStateMarkov;
use crossfade_core::to_db;
use std::f64::consts::PI;

/// Fading margin F in dB at which Rayleigh fading loses the share `p_e` = 1 - exp(-1/F) of transmissions.
///
/// It is infinite for `p_e` = 0, since no margin avoids all losses, and minus infinity for 1.
///
/// # Errors
/// If `p_e` is outside [0, 1].
///
/// ```
/// let margin = crossfade_channel::fading_margin_db(0.01).unwrap();
/// assert!((margin - 19.9782).abs() < 1e-4);
/// ```
pub fn fading_margin_db(p_e: f64) -> Result<f64, ChannelError> {
    Ok(-to_db(threshold(probability("p_e", p_e)?)))
}

/// Share of transmissions that Rayleigh fading loses with a fading margin of `fading_margin_db` dB.
///
/// # Errors
/// If `fading_margin_db` is not a number.
pub fn p_e_from_fading_margin_db(fading_margin_db: f64) -> Result<f64, ChannelError> {
    if fading_margin_db.is_nan() {
        return Err(out_of_range("fading_margin_db", fading_margin_db, "a number of dB"));
    }
    Ok(-libm::expm1(-libm::pow(10.0, -fading_margin_db / 10.0)))
}

/// Power gain 1/F below which a transmission is lost, for the loss rate `p_e`; the mean power gain is 1.
pub(crate) fn threshold(p_e: f64) -> f64 {
    -libm::log1p(-p_e)
}

/// Rayleigh fading with Clarke's (Jakes') Doppler spectrum, observed once per step.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct RayleighFading {
    fd_t: f64,
}

impl RayleighFading {
    /// Creates fading whose maximum Doppler frequency times the length of a step is `fd_t`.
    ///
    /// # Errors
    /// If `fd_t` is outside [1e-100, 1e9]: not positive, so small that nothing ever changes, or so large that an f64
    /// has lost its fraction.
    pub fn new(fd_t: f64) -> Result<Self, ChannelError> {
        if (1e-100..=1e9).contains(&fd_t) {
            Ok(Self { fd_t })
        } else {
            Err(out_of_range("fd_t", fd_t, "between 1e-100 and 1e9"))
        }
    }

    /// Maximum Doppler frequency times the length of a step.
    pub fn fd_t(self) -> f64 {
        self.fd_t
    }

    /// Correlation of the complex gains of two consecutive steps, `J0(2 pi fd_t)`; can be negative.
    pub fn rho(self) -> f64 {
        libm::j0(2.0 * PI * self.fd_t)
    }

    /// Two-state Markov chain of this fading: transmissions are lost below the power threshold with loss rate `p_e`.
    ///
    /// For `p_e` of 0, below 1e-290 (where products lose digits) and of 1 the chain is the limit: bad steps become
    /// single as losses vanish, good steps as losses prevail.
    ///
    /// The relative error of each transition probability is below 5e-15 (measured for `fd_t` 1e-4 to 1.3 and `p_e` 1e-6
    /// to 0.5). The computation takes 4 to 15 us in this range, more in extremely slow fading.
    ///
    /// # Errors
    /// If `p_e` is outside [0, 1].
    pub fn markov(self, p_e: f64) -> Result<TwoStateMarkov, ChannelError> {
        let u = threshold(probability("p_e", p_e)?);
        if p_e < 1e-290 || p_e == 1.0 {
            return TwoStateMarkov::new(1.0 - p_e, p_e);
        }
        let s = self.one_minus_abs_rho();
        let mean = means_over_the_circle(u, s);
        let p_gb = mean.saturation;
        let p_bg = p_gb / p_e * (1.0 - p_e);
        let p_bb = libm::exp(-u) * (u / p_e) * (excess(u) + mean.excess);
        Ok(TwoStateMarkov::with_all_digits(p_gb, p_bg, p_bb))
    }

    /// 1 - |rho| of two consecutive gains, to full relative precision even in slow fading.
    fn one_minus_abs_rho(self) -> f64 {
        let x = 2.0 * PI * self.fd_t;
        if x >= 1.0 {
            return 1.0 - libm::j0(x).abs();
        }
        // 1 - J0(x) = q - q^2/2!^2 + q^3/3!^2 - ..., q = x^2/4; ten terms reach 1e-19 at x = 1.
        let q = x * x / 4.0;
        (1..=10).rev().fold(0.0, |tail, k| q / f64::from(k * k) * (1.0 - tail))
    }
}

impl TwoStateMarkov {
    /// Creates the chain of Rayleigh fading with the normalised Doppler frequency `fd_t` and the loss rate `p_e`, by
    /// [`RayleighFading::markov`].
    ///
    /// # Errors
    /// If `p_e` is outside [0, 1], or `fd_t` outside [1e-100, 1e9].
    pub fn from_rayleigh(p_e: f64, fd_t: f64) -> Result<Self, ChannelError> {
        RayleighFading::new(fd_t)?.markov(p_e)
    }
}

/// Means over the angle d in [0, pi] from which the transition probabilities follow.
struct Means {
    /// Mean of 1 - exp(-v).
    saturation: f64,
    /// Mean of (exp(-v) - 1 + v) / u.
    excess: f64,
}

/// Means over the angle d of the functions of v(d) in the module's documentation, for u = 1/F and s = 1 - |rho|.
///
/// Near d = 0 the integrands change over the scales s and sqrt(u s), many decades apart; in log d they are smooth. Each
/// panel therefore lies twice as far out as the last. The Gauss rule of n points converges like 4.2^-2n: v has its
/// poles near +-i s, and Re v > 0, which bounds exp(-v), where |Im d| < |Re d|.
fn means_over_the_circle(u: f64, s: f64) -> Means {
    let rho = 1.0 - s;
    let peak = (2.0 - s) / s; // v(0) / u
    let mut means = Means { saturation: 0.0, excess: 0.0 };
    let (mut left, mut right) = (0.0, s / 2.0);
    loop {
        let (centre, half) = (f64::midpoint(left, right), (right - left) / 2.0);
        for (node, weight) in GAUSS_16 {
            for d in [centre - half * node, centre + half * node] {
                let distance = 2.0 * libm::sin(d / 2.0) / s;
                let ratio = peak / (1.0 + rho * distance * distance);
                let v = u * ratio;
                means.saturation -= weight * half * libm::expm1(-v);
                means.excess -= weight * half * ratio * excess(-v);
            }
        }
        if right >= PI {
            break;
        }
        (left, right) = (right, (2.0 * right).min(PI));
    }
    Means { saturation: means.saturation / PI, excess: means.excess / PI }
}

/// Value of (exp(x) - 1 - x) / x, computed without cancellation.
fn excess(x: f64) -> f64 {
    if x.abs() >= 0.5 {
        return (libm::expm1(x) - x) / x;
    }
    // x/2! + x^2/3! + ...; 13 terms reach 1e-16 of the sum at |x| = 0.5.
    (2..=14).rev().fold(0.0, |tail, k| x / f64::from(k) * (1.0 + tail))
}

/// Positive nodes and weights of the Gauss-Legendre rule with 16 points on [-1, 1].
const GAUSS_16: [(f64, f64); 8] = [
    (0.09501250983763744, 0.1894506104550685),
    (0.2816035507792589, 0.18260341504492358),
    (0.45801677765722737, 0.16915651939500254),
    (0.6178762444026438, 0.14959598881657674),
    (0.755404408355003, 0.12462897125553388),
    (0.8656312023878318, 0.09515851168249279),
    (0.9445750230732326, 0.062253523938647894),
    (0.9894009349916499, 0.027152459411754096),
];

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use std::collections::BTreeSet;

    /// Rows of `fd_t`, `p_e`, `p_gb`, `p_bg`, `p_bb`, computed in 50 digits from the printed form with Marcum's Q by
    /// `scripts/reference_rayleigh_markov.py`.
    fn reference() -> Vec<[f64; 5]> {
        let path = concat!(env!("CARGO_MANIFEST_DIR"), "/../../tests/data/rayleigh_markov.csv");
        let text = std::fs::read_to_string(path).expect(path);
        let row = |line: &str| -> Vec<f64> { line.split(',').map(|field| field.parse().unwrap()).collect() };
        text.lines().skip(1).map(|line| row(line).try_into().expect("five fields")).collect()
    }

    fn chain(fd_t: f64, p_e: f64) -> TwoStateMarkov {
        TwoStateMarkov::from_rayleigh(p_e, fd_t).unwrap()
    }

    #[test]
    fn every_digit_is_right_over_the_whole_range() {
        let rows = reference();
        assert_eq!(rows.len(), 168);
        for [fd_t, p_e, p_gb, p_bg, p_bb] in rows {
            let chain = chain(fd_t, p_e);
            let pairs =
                [(chain.p_gb(), p_gb), (chain.p_bg(), p_bg), (chain.p_bb(), p_bb), (chain.p_e(), p_e)];
            for (got, expected) in pairs {
                let error = got / expected - 1.0;
                assert!(error.abs() < 5e-15, "fd_t {fd_t}, p_e {p_e}: {got}, {expected}, error {error:e}");
            }
        }
    }

    #[test]
    fn slow_fading_crosses_the_threshold_at_rices_rate() {
        // Down-crossings per step: sqrt(2 pi) fd_t r exp(-r^2), r^2 = 1/F (Rice 1944).
        for (fd_t, tolerance) in [(1e-5, 1e-4), (1e-9, 1e-8), (1e-30, 1e-13), (1e-100, 1e-13)] {
            for p_e in [0.01_f64, 0.5, 0.99] {
                let u = -(-p_e).ln_1p();
                let crossings = (2.0 * PI * u).sqrt() * fd_t * (-u).exp();
                let error = (1.0 - p_e) * chain(fd_t, p_e).p_gb() / crossings - 1.0;
                assert!(error.abs() < tolerance, "fd_t {fd_t}, p_e {p_e}: error {error:e}");
            }
        }
    }

    /// Table I of "Throughput analysis of TCP on channels with memory", as printed: `fd_t`, `p_e`, fading margin in dB,
    /// `p_gg`, `p_bb`, mean burst.
    const TABLE_I: [[&str; 6]; 9] = [
        ["0.01", "0.001", "29.9978", "0.999329", "0.329452", "1.49132"],
        ["0.01", "0.01", "19.9782", "0.997518", "0.754308", "4.07013"],
        ["0.01", "0.1", "9.77322", "0.991872", "0.926851", "13.6708"],
        ["0.08", "0.001", "29.9978", "0.999007", "0.008239", "1.00831"],
        ["0.08", "0.01", "19.9782", "0.990680", "0.077286", "1.08376"],
        ["0.08", "0.1", "9.77322", "0.940354", "0.463188", "1.86285"],
        ["0.64", "0.001", "29.9978", "0.999000", "0.001185", "1.00238"],
        ["0.64", "0.01", "19.9782", "0.990019", "0.011834", "1.01198"],
        ["0.64", "0.1", "9.77322", "0.90182", "0.116376", "1.13170"],
    ];

    #[test]
    fn table_i_is_reproduced_but_for_its_misprints() {
        let mut differences = BTreeSet::new();
        for [fd_t, p_e, margin, p_gg, p_bb, burst] in TABLE_I {
            let chain = chain(fd_t.parse().unwrap(), p_e.parse().unwrap());
            let margin_db = fading_margin_db(p_e.parse().unwrap()).unwrap();
            let columns = [
                ("margin", margin, margin_db),
                ("p_gg", p_gg, chain.p_gg()),
                ("p_bb", p_bb, chain.p_bb()),
                ("burst", burst, chain.mean_burst()),
            ];
            for (column, printed, ours) in columns {
                let decimals = printed.len() - printed.find('.').unwrap() - 1;
                let ours = format!("{ours:.decimals$}");
                if ours != printed {
                    differences.insert(format!("{fd_t} {p_e} {column}: {printed}, ours {ours}"));
                }
            }
        }
        assert_eq!(differences, MISPRINTS.iter().map(ToString::to_string).collect());
    }
    /// Misprints of Table I: the last is `1 / (1 - 2 p_bb)`, the first burst follows from the misprinted `p_bb`.
    const MISPRINTS: [&str; 4] = [
        "0.01 0.01 burst: 4.07013, ours 4.07008",
        "0.01 0.01 p_bb: 0.754308, ours 0.754305",
        "0.08 0.001 p_bb: 0.008239, ours 0.008240",
        "0.64 0.001 burst: 1.00238, ours 1.00119",
    ];

    #[test]
    fn margin_and_loss_rate_are_inverse() {
        for margin in [-20.0, 0.0, 5.0, 30.0, 120.0] {
            let p_e = p_e_from_fading_margin_db(margin).unwrap();
            let error = fading_margin_db(p_e).unwrap() - margin;
            // Below 0 dB nearly all transmissions are lost, and 1 - p_e has few digits left.
            assert!(margin < -10.0 || error.abs() < 1e-12, "{margin} dB: error {error:e}");
        }
        assert_eq!(fading_margin_db(0.0), Ok(f64::INFINITY));
        assert_eq!(fading_margin_db(1.0), Ok(f64::NEG_INFINITY));
        assert_eq!(p_e_from_fading_margin_db(f64::INFINITY), Ok(0.0));
        assert_eq!(p_e_from_fading_margin_db(f64::NEG_INFINITY), Ok(1.0));
        let error = p_e_from_fading_margin_db(f64::NAN).unwrap_err();
        assert_eq!(error.to_string(), "fading_margin_db = NaN: must be a number of dB");
    }

    #[test]
    fn doppler_has_its_range() {
        for fd_t in [0.0, -0.01, f64::NAN, f64::INFINITY, 1e-200, 1e10] {
            let error = TwoStateMarkov::from_rayleigh(0.1, fd_t).unwrap_err().to_string();
            assert_eq!(error, format!("fd_t = {fd_t:?}: must be between 1e-100 and 1e9"));
        }
    }

    #[test]
    fn losses_too_rare_for_all_digits_are_single() {
        for p_e in [f64::MIN_POSITIVE / 1e3, f64::MIN_POSITIVE, 1e-295, 1e-289] {
            for fd_t in [1e-6, 0.01, 0.3] {
                let chain = chain(fd_t, p_e);
                assert!((chain.p_bg() + chain.p_bb() - 1.0).abs() < 1e-12, "{p_e:e} at {fd_t}: {chain:?}");
            }
        }
    }

    #[test]
    fn the_ends_are_the_limits() {
        for (end, near) in [(0.0, 1e-15), (1.0, 1.0 - 1e-15)] {
            let (end, near) = (chain(0.3, end), chain(0.3, near));
            for (a, b) in [(end.p_gb(), near.p_gb()), (end.p_bg(), near.p_bg()), (end.p_bb(), near.p_bb())] {
                assert!((a - b).abs() < 1e-3, "{end:?} {near:?}");
            }
        }
    }

    #[test]
    fn fading_without_correlation_has_no_memory() {
        // At the first zeros of J0.
        for x in [2.404825557695773, 5.520078110286311, 8.653727912911013] {
            for p_e in [1e-6, 0.01, 0.5] {
                let memory = chain(x / (2.0 * PI), p_e).p_bb() / p_e - 1.0;
                assert!(memory.abs() < 1e-10, "2 pi fd_t {x}, p_e {p_e}: {memory:e}");
            }
        }
    }

    proptest! {
        #[test]
        fn losses_are_never_negatively_correlated(log_fd_t in -12.0..3.0, log_p_e in -12.0..-0.01) {
            let (fd_t, p_e) = (10_f64.powf(log_fd_t), 10_f64.powf(log_p_e));
            prop_assert!(chain(fd_t, p_e).p_bb() >= p_e * (1.0 - 1e-14));
        }

        #[test]
        fn memory_grows_as_fading_slows_down(fd_t in 1e-6..0.3, p_e in 1e-9..0.999, slower in 0.01..0.99) {
            // J0 falls from 1 to its first zero at 0.38.
            prop_assert!(chain(fd_t * slower, p_e).p_bb() > chain(fd_t, p_e).p_bb());
        }

        #[test]
        fn bursts_lengthen_with_the_loss_rate(fd_t in 1e-6..10.0, p_e in 1e-9..0.999, fewer in 0.01..0.99) {
            prop_assert!(chain(fd_t, p_e * fewer).p_bb() < chain(fd_t, p_e).p_bb());
        }
    }
}
