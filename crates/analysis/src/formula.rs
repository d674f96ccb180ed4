//! Throughput formulas for independent losses: the square-root law, the models of Padhye et al., and the response
//! function of CUBIC.
//!
//! They depend on the channel by its loss rate alone, and serve for comparison with the analysis, which considers
//! bursts of losses.

use crate::model::AnalysisError;
use crossfade_core::OutOfRange;

/// Closed formula for the send rate of a TCP connection.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Formula {
    /// Square-root law sqrt(3 / (2 b p)) / rtt, with the loss rate p and b segments per acknowledgement (Mathis, Semke,
    /// Mahdavi and Ott, 1997, eq. 3).
    SquareRoot,
    /// Full model of Reno with timeouts (Padhye, Firoiu, Towsley and Kurose, 2000, eq. 32).
    Padhye,
    /// Approximation of the full model of Reno (Padhye, Firoiu, Towsley and Kurose, 2000, eq. 33).
    PadhyeApproximation,
    /// Response function of CUBIC (RFC 9438 sections 4.3 and 5.2).
    Cubic,
}

/// Inputs of the throughput formulas. All times are in one unit, of [`unit_s`](Self::unit_s) seconds; rates are in
/// segments per unit.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct TcpPath {
    /// Loss rate, from 0 to 1. For Padhye et al. it is that of packets whose predecessor in the round was not lost,
    /// since their model loses the rest of a round after a loss.
    pub p: f64,
    /// Round-trip time, in units of `unit_s`.
    pub rtt: f64,
    /// First timeout of a series, in units of `unit_s`; each further one doubles, up to 64 times this.
    pub t0: f64,
    /// Segments that one acknowledgement covers: 1, or 2 with delayed acknowledgements.
    pub b: f64,
    /// Receiver's window in segments.
    pub w_max: f64,
    /// Unit of time in seconds. Only CUBIC needs it, because its window grows with time instead of RTTs.
    pub unit_s: f64,
}

impl TcpPath {
    fn check(&self) -> Result<(), AnalysisError> {
        let check = |parameter, value, allowed: &str, holds: bool| {
            if holds {
                return Ok(());
            }
            Err(OutOfRange::new(parameter, value, allowed.to_owned()).into())
        };
        let positive = |value: f64| value > 0.0 && value.is_finite();
        check("p", self.p, "between 0 and 1", (0.0..=1.0).contains(&self.p))?;
        check("rtt", self.rtt, "above 0 and finite", positive(self.rtt))?;
        check("t0", self.t0, "above 0 and finite", positive(self.t0))?;
        check("b", self.b, "at least 1 and finite", self.b >= 1.0 && self.b.is_finite())?;
        check("unit_s", self.unit_s, "above 0 and finite", positive(self.unit_s))?;
        check("w_max", self.w_max, "at least 1 and finite", self.w_max >= 1.0 && self.w_max.is_finite())
    }
}

/// Throughput in packets per slot over a link that sends one packet per slot, with the times of `path` in slots.
///
/// The formulas are send rates on a path whose RTT does not depend on the window. `rtt` is therefore the base RTT,
/// without queueing (at least the slot of the packet itself); a rate above the link's packet per slot is cut off; and
/// the share 1 - p arrives: (1 - p) min(rate, 1). If the window exceeds the bandwidth-delay product, the link is always
/// busy and only timeouts cost throughput; the square-root law, which has none, is then 1 - p.
///
/// # Errors
/// `p` outside [0, 1]; `rtt`, `t0` or `unit_s` not above 0; `b` or `w_max` below 1; any of them not finite.
pub fn formula(formula: Formula, path: &TcpPath) -> Result<f64, AnalysisError> {
    let rate = match formula {
        Formula::SquareRoot => square_root_law(path),
        Formula::Padhye => padhye(path),
        Formula::PadhyeApproximation => padhye_approximation(path),
        Formula::Cubic => cubic_response(path),
    }?;
    Ok((1.0 - path.p) * rate.min(1.0))
}

/// Send rate by the square-root law: C / (rtt sqrt(p)) with C = sqrt(3 / (2 b)), at most `w_max / rtt`.
///
/// Mathis, Semke, Mahdavi and Ott, ACM CCR 27(3), 1997, eq. 3. C = sqrt(3/2) = 1.22 assumes a periodic loss after every
/// 1/p packets and an acknowledgement for each packet; with delayed acknowledgements (b = 2) it is sqrt(3/4) = 0.87.
/// Every loss is repaired by fast retransmit, without timeouts, so `t0` is not used.
///
/// # Errors
/// See [`formula`].
fn square_root_law(path: &TcpPath) -> Result<f64, AnalysisError> {
    path.check()?;
    Ok((3.0 / (2.0 * path.b * path.p)).sqrt().min(path.w_max) / path.rtt)
}

/// Send rate of Reno with timeouts and a limited window, by the full model of Padhye et al.
///
/// Padhye, Firoiu, Towsley and Kurose, "Modeling TCP Reno performance", IEEE/ACM Trans. Networking 8(2), 2000, eq. 32
/// (SIGCOMM 1998 has it too): the packets in a period of fast retransmits and the timeouts after it, divided by its
/// duration. As printed it jumps up, by a few percent at small windows, where the window limit ceases to matter.
///
/// # Errors
/// See [`formula`].
fn padhye(path: &TcpPath) -> Result<f64, AnalysisError> {
    path.check()?;
    let TcpPath { p, rtt, t0, b, w_max, .. } = *path;
    let unlimited = unlimited_window(p, b);
    let window = unlimited.min(w_max);
    // Numerator and denominator are multiplied by p (1 - p), so that p = 0 and p = 1 need no special case.
    let rounds = if unlimited < w_max {
        p * (b / 2.0 * unlimited + 1.0)
    } else {
        p * (b / 8.0 * w_max + 2.0) + (1.0 - p) / w_max
    };
    let timeout = timeout_share(window, p);
    let packets = (1.0 - p) * (1.0 - p) + p * (1.0 - p) * window + p * timeout;
    Ok(packets / ((1.0 - p) * rtt * rounds + p * timeout * t0 * backoff(p)))
}

/// Send rate by the approximation of [`padhye`], eq. 33 of that paper. RFC 5348 section 3.1 has it without the limits
/// of the window and of the share of timeouts.
///
/// # Errors
/// See [`formula`].
fn padhye_approximation(path: &TcpPath) -> Result<f64, AnalysisError> {
    path.check()?;
    let TcpPath { p, rtt, t0, b, w_max, .. } = *path;
    let timeouts = (3.0 * (3.0 * b * p / 8.0).sqrt()).min(1.0);
    let time = rtt * (2.0 * b * p / 3.0).sqrt() + t0 * timeouts * p * (1.0 + 32.0 * p * p);
    Ok((w_max / rtt).min(1.0 / time))
}

/// Send rate of CUBIC with C = 0.4 and `beta_cubic` = 0.7 under a periodic loss after every 1/p packets: the window
/// over `rtt`, at most `w_max / rtt`. The window is that of RFC 9438 figure 7 (section 5.2), 1.054 rtt^0.75 / p^0.75
/// with rtt in seconds, or Reno's sqrt(3 / (2 p)) where this is larger (Reno-friendly region, section 4.3). The formula
/// has neither timeouts nor fast convergence; `b` and `t0` are not used.
///
/// # Errors
/// See [`formula`].
fn cubic_response(path: &TcpPath) -> Result<f64, AnalysisError> {
    path.check()?;
    let TcpPath { p, rtt, w_max, unit_s, .. } = *path;
    // Figure 5 (section 5): [C (3 + beta) / (4 (1 - beta))]^0.25.
    let scale = (0.4_f64 * 3.7 / 1.2).sqrt().sqrt();
    let cubic = scale * libm::pow(rtt * unit_s / p, 0.75);
    Ok(cubic.max((1.5 / p).sqrt()).min(w_max) / rtt)
}

/// `E[W_u]` of Padhye et al. (2000): mean window at a loss, without the limit of a receiver's window.
fn unlimited_window(p: f64, b: f64) -> f64 {
    let c = (2.0 + b) / (3.0 * b);
    c + (8.0 * (1.0 - p) / (3.0 * b * p) + c * c).sqrt()
}

/// Q-hat of Padhye et al. (2000): probability that a loss in a window of `w` segments ends in a timeout.
fn timeout_share(w: f64, p: f64) -> f64 {
    // In a window of three packets, three duplicate acknowledgements cannot occur.
    if w <= 3.0 {
        return 1.0;
    }
    // 1 - (1 - p)^n without cancellation.
    let some_lost = |n: f64| -libm::expm1(n * libm::log1p(-p));
    let no_three_behind = 1.0 + libm::pow(1.0 - p, 3.0) * some_lost(w - 3.0);
    let first_three = if p > 0.0 { some_lost(3.0) / some_lost(w) } else { 3.0 / w };
    (first_three * no_three_behind).min(1.0)
}

/// Function f(p) of Padhye et al. (2000): the mean duration of a series of timeouts is `t0` f(p) / (1 - p), where the
/// timeout doubles six times.
fn backoff(p: f64) -> f64 {
    1.0 + p * (1.0 + p * (2.0 + p * (4.0 + p * (8.0 + p * (16.0 + p * 32.0)))))
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn path(p: f64, rtt: f64, t0: f64, b: f64, w_max: f64) -> TcpPath {
        TcpPath { p, rtt, t0, b, w_max, unit_s: 1.0 }
    }

    #[test]
    fn the_full_model_is_the_sum_of_its_parts() {
        // Not from the final formula but from what it is made of, in 30 digits (mpmath): E[Y] and E[A] of the
        // rounds, E[Z^TO] as the infinite sum of L_k p^(k-1) (1 - p), and Q-hat against the double sum of
        // A(w, k) C(k, m) at w 6, p 0.1 and w 20, p 0.02.
        for (path, expected) in [
            (path(0.01, 1.0, 100.0, 1.0, 24.0), 3.743674649263943),
            (path(0.1, 1.0, 100.0, 1.0, 24.0), 0.17409906201610192),
            (path(0.001, 1.0, 100.0, 1.0, 24.0), 17.182627139539038),
            (path(0.02, 0.2, 2.0, 2.0, 20.0), 20.872778552917105),
            (path(0.3, 5.0, 100.0, 2.0, 6.0), 0.024030019166300237),
            (path(0.9, 1.0, 100.0, 1.0, 24.0), 0.0003211693085443155),
            (path(0.0001, 10.0, 100.0, 1.0, 1e6), 12.195853900752851),
            (path(0.05, 10.0, 100.0, 1.0, 6.0), 0.2029718081236822),
        ] {
            let got = padhye(&path).unwrap();
            assert!((got / expected - 1.0).abs() < 1e-14, "{path:?}: {got}, {expected}");
        }
        for (w, p, expected) in [(6.0, 0.1, 0.692631000578369), (20.0, 0.02, 0.2253270932172975)] {
            assert!((timeout_share(w, p) - expected).abs() < 1e-15);
        }
    }

    #[test]
    fn the_approximation_matches_mpmath() {
        for (path, expected) in [
            (path(0.01, 1.0, 100.0, 1.0, 24.0), 3.760115655752146),
            (path(0.02, 0.2, 2.0, 2.0, 20.0), 21.03274013902685),
            (path(0.3, 5.0, 100.0, 2.0, 6.0), 0.008363842004100138),
        ] {
            let got = padhye_approximation(&path).unwrap();
            assert!((got / expected - 1.0).abs() < 1e-14, "{path:?}: {got}, {expected}");
        }
    }

    #[test]
    fn the_square_root_law_has_its_constants() {
        // Mathis et al., table 1: 1.22 with every packet acknowledged, 0.87 with every other.
        for (b, constant) in [(1.0, 1.2247), (2.0, 0.8660)] {
            let rate = square_root_law(&path(1e-4, 0.1, 1.0, b, 1e9)).unwrap();
            assert!((rate * 0.1 * 1e-2 - constant).abs() < 1e-4);
        }
        assert_eq!(square_root_law(&path(1e-4, 0.1, 1.0, 1.0, 24.0)), Ok(240.0));
    }

    #[test]
    fn cubic_has_the_windows_of_rfc_9438() {
        // Tables 1 (RTT 0.1 s) and 2 (0.01 s), column C = 0.4; times here in milliseconds.
        for (rtt_ms, p, window) in [
            (100.0, 1e-2, 12.0),
            (100.0, 1e-3, 39.0),
            (100.0, 1e-4, 187.0),
            (100.0, 1e-6, 5_926.0),
            (10.0, 1e-4, 120.0),
            (10.0, 1e-6, 1_200.0),
            (10.0, 1e-7, 5_926.0),
        ] {
            let path = TcpPath { unit_s: 1e-3, ..path(p, rtt_ms, 1000.0, 1.0, 1e9) };
            let got = cubic_response(&path).unwrap() * rtt_ms;
            assert!((got / window - 1.0).abs() < 0.03, "{path:?}: {got}, {window}");
        }
        assert_eq!(cubic_response(&path(0.0, 0.5, 1.0, 1.0, 24.0)), Ok(48.0));
        // 1.054 (0.1 s)^0.75 / (1e-4)^0.75 = 187.4 segments in 0.1 s.
        let rate = cubic_response(&path(1e-4, 0.1, 1.0, 1.0, 1e9)).unwrap();
        assert!((rate - 1874.0).abs() < 1.0, "{rate}");
    }

    #[test]
    fn without_loss_the_window_is_the_limit_and_with_nothing_else_there_are_timeouts() {
        for formula in [square_root_law, padhye, padhye_approximation] {
            let rate = formula(&path(0.0, 4.0, 100.0, 1.0, 24.0)).unwrap();
            assert!((rate - 6.0).abs() < 1e-12);
            // The formula is continuous at p = 0.
            let rate = formula(&path(1e-12, 4.0, 100.0, 1.0, 24.0)).unwrap();
            assert!((rate - 6.0).abs() < 1e-6, "{rate}");
        }
        // One packet every 64 t0.
        assert!((padhye(&path(1.0, 1.0, 100.0, 1.0, 24.0)).unwrap() - 1.0 / 6400.0).abs() < 1e-15);
    }

    #[test]
    fn rare_losses_without_a_limit_follow_the_square_root_law() {
        for b in [1.0, 2.0] {
            let at = |p| path(p, 1.0, 4.0, b, 1e12);
            let ratio = |p| padhye(&at(p)).unwrap() / square_root_law(&at(p)).unwrap();
            // The leading correction is of order sqrt(p).
            assert!((ratio(1e-8) - 1.0).abs() < 2e-3, "{}", ratio(1e-8));
            assert!((ratio(1e-10) - 1.0).abs() < 2e-4, "{}", ratio(1e-10));
        }
    }

    #[test]
    fn a_link_of_a_packet_a_slot_caps_the_rate() {
        let short = path(0.01, 1.0, 100.0, 1.0, 24.0);
        assert_eq!(formula(Formula::SquareRoot, &short), Ok(0.99));
        assert_eq!(formula(Formula::Padhye, &short), Ok(0.99));
        let lossy = path(0.1, 1.0, 100.0, 1.0, 24.0);
        assert_eq!(formula(Formula::Padhye, &lossy), Ok(0.9 * padhye(&lossy).unwrap()));
        let long = path(0.01, 40.0, 100.0, 1.0, 24.0);
        assert!((formula(Formula::SquareRoot, &long).unwrap() - 0.99 * 12.2474 / 40.0).abs() < 1e-5);
    }

    #[test]
    fn bad_parameters_are_named_with_what_is_allowed() {
        let good = path(0.01, 1.0, 100.0, 1.0, 24.0);
        let message = |path: TcpPath| padhye(&path).unwrap_err().to_string();
        assert_eq!(message(TcpPath { p: 1.5, ..good }), "p = 1.5: must be between 0 and 1");
        assert_eq!(message(TcpPath { rtt: 0.0, ..good }), "rtt = 0: must be above 0 and finite");
        assert_eq!(message(TcpPath { t0: f64::INFINITY, ..good }), "t0 = inf: must be above 0 and finite");
        assert_eq!(message(TcpPath { b: 0.5, ..good }), "b = 0.5: must be at least 1 and finite");
        assert_eq!(
            message(TcpPath { w_max: f64::NAN, ..good }),
            "w_max = NaN: must be at least 1 and finite"
        );
    }

    proptest! {
        #[test]
        fn throughput_is_a_share_of_the_slots_and_falls_with_loss(
            p in 0.0..=1.0, rtt in 1.0..100.0, t0 in 1.0..500.0, b in 1.0..3.0, w_max in 1.0..100.0,
        ) {
            for kind in [Formula::SquareRoot, Formula::Padhye, Formula::PadhyeApproximation] {
                let at = |p| formula(kind, &path(p, rtt, t0, b, w_max)).unwrap();
                prop_assert!((0.0..=1.0).contains(&at(p)), "{kind:?}: {}", at(p));
                let more = f64::min(1.0, p * 1.1);
                let is_limited = |p: f64| unlimited_window(p, b) >= w_max;
                // Equation 32 jumps where the window limit begins.
                if kind != Formula::Padhye || is_limited(p) == is_limited(more) {
                    prop_assert!(at(more) <= at(p) * (1.0 + 1e-12), "{kind:?}: {} after {}", at(more), at(p));
                }
            }
        }
    }
}
