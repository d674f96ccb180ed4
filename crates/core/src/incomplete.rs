//! Incomplete beta and gamma functions, and quantiles of the beta and gamma distributions, computed by the pinned
//! `libm` alone.

use crate::portable::square;
use std::f64::consts::PI;

/// A distribution function at one point: the probabilities below and above it, and the derivative of that below by the
/// logarithm of the argument.
#[derive(Clone, Copy, Debug)]
struct Shares {
    below: f64,
    above: f64,
    slope: f64,
}

/// Regularised incomplete beta function `I_x(a, b)`: the probability that a beta variable lies below `x`. It is also
/// the probability of at least `a` successes in `a + b - 1` independent trials, each with probability `x`.
///
/// Source: DLMF 8.17. The relative error is below 1e-10 (compared with scipy for `a` and `b` from 0.5 to 5e8).
///
/// # Panics
/// If `a` or `b` is not positive or `x` is not within [0, 1].
pub fn incomplete_beta(a: f64, b: f64, x: f64) -> f64 {
    assert!(a > 0.0 && b > 0.0 && (0.0..=1.0).contains(&x), "I_{x}({a}, {b})");
    if x == 0.0 || x == 1.0 {
        return x;
    }
    beta(a, b, x, 1.0 - x).below
}

/// The probability that a chi-square variable with `freedom` degrees of freedom exceeds `statistic` (DLMF 8.2). The
/// relative error is below 1e-10, also for small probabilities.
///
/// # Panics
/// If `freedom` is not positive or `statistic` is negative.
pub fn chi_square_survival(statistic: f64, freedom: f64) -> f64 {
    assert!(freedom > 0.0 && statistic >= 0.0, "chi-square of {freedom} degrees at {statistic}");
    if statistic == 0.0 || statistic.is_infinite() {
        return f64::from(u8::from(statistic == 0.0));
    }
    gamma(freedom / 2.0, statistic / 2.0).above
}

/// The `p` quantile of a gamma variable of shape `a` and scale 1, which is half of the quantile of a chi-square
/// variable with `2 a` degrees of freedom.
pub(crate) fn gamma_quantile(p: f64, a: f64) -> f64 {
    quantile(p, a, |x| gamma(a, x))
}

/// Odds `x / (1 - x)` of the `p` quantile `x` of a beta variable. Unlike `x`, they keep all digits of `1 - x`.
pub(crate) fn beta_quantile_odds(p: f64, a: f64, b: f64) -> f64 {
    quantile(p, a / b, |odds| beta(a, b, odds / (1.0 + odds), 1.0 / (1.0 + odds)))
}

/// Argument at which the probability below is `p`: Newton's method for the logarithm of the smaller of both
/// probabilities over the logarithm of the argument, within a bracket.
fn quantile(p: f64, start: f64, shares: impl Fn(f64) -> Shares) -> f64 {
    assert!(p > 0.0 && p < 1.0, "the quantile {p}");
    let (mut low, mut high, mut at) = (0.0, f64::INFINITY, start);
    for _ in 0..200 {
        let Shares { below, above, slope } = shares(at);
        let step = if p <= 0.5 {
            libm::log(p / below) * below / slope
        } else {
            libm::log(above / (1.0 - p)) * above / slope
        };
        // If both shares are at the level of rounding errors, a step may be NaN; the bracket still holds.
        if below < p {
            low = at;
        } else {
            high = at;
        }
        let next = at * libm::exp(step);
        if step.abs() < 1e-9 {
            return next;
        }
        at = if next > low && next < high {
            next
        } else if low == 0.0 {
            high / 16.0
        } else if high.is_infinite() {
            low * 16.0
        } else {
            (low * high).sqrt()
        };
    }
    at
}

/// Beta distribution at `x` with `y = 1 - x`, both within (0, 1): by a continued fraction that converges fast below the
/// mean, above it by symmetry.
fn beta(a: f64, b: f64, x: f64, y: f64) -> Shares {
    // x^a y^b / B(a, b) (Loader 2000, equation 4: as a binomial probability).
    let n = a + b;
    let slope = (a * b / (2.0 * PI * n)).sqrt()
        * libm::exp(
            stirling_error(n)
                - stirling_error(a)
                - stirling_error(b)
                - deviance(a, n * x)
                - deviance(b, n * y),
        );
    if x * (n + 2.0) < a + 1.0 {
        let below = slope * beta_fraction(a, b, x, y);
        Shares { below, above: 1.0 - below, slope }
    } else {
        let above = slope * beta_fraction(b, a, y, x);
        Shares { below: 1.0 - above, above, slope }
    }
}

/// Continued fraction of Didonato and Morris for the incomplete beta function (ACM Transactions on Mathematical
/// Software 18, 1992, equation 9).
fn beta_fraction(a: f64, b: f64, x: f64, y: f64) -> f64 {
    // a - (a + b) x, from whichever of x and y has more digits.
    let lambda = if a > b { (a + b) * y - b } else { a - (a + b) * x };
    continued_fraction(a / (a + 1.0) * (lambda + 1.0), |term| {
        let n = term as f64;
        let c = a + 2.0 * n;
        let over = (a + n - 1.0) / (c - 1.0) * ((a + b + n - 1.0) / (c - 1.0)) * (n * (b - n)) * square(x);
        let of = n + n * (b - n) * x / (c - 1.0) + (a + n) / (c + 1.0) * (lambda + 1.0 + n * (1.0 + y));
        (over, of)
    })
}

/// Gamma distribution of shape `a` at `x > 0`: by the series of DLMF 8.7.1 below the mean, by the continued fraction of
/// DLMF 8.9.2 above.
fn gamma(a: f64, x: f64) -> Shares {
    // x^a e^-x / Gamma(a) (Loader 2000, equation 6: as a Poisson probability).
    let slope = (a / (2.0 * PI)).sqrt() * libm::exp(-stirling_error(a) - deviance(a, x));
    if x < a + 1.0 {
        let (mut sum, mut term, mut over) = (1.0, 1.0, a);
        while term > sum * f64::EPSILON / 4.0 {
            over += 1.0;
            term *= x / over;
            sum += term;
        }
        let below = slope / a * sum;
        Shares { below, above: 1.0 - below, slope }
    } else {
        let above = slope
            * continued_fraction(x + 1.0 - a, |term| {
                let n = term as f64;
                (n * (a - n), x + 1.0 - a + 2.0 * n)
            });
        Shares { below: 1.0 - above, above, slope }
    }
}

/// Continued fraction `1 / (first + over(1) / (of(1) + over(2) / (of(2) + ...)))` by the method of Lentz as modified by
/// Thompson and Barnett (Journal of Computational Physics 64, 1986).
fn continued_fraction(first: f64, term: impl Fn(u64) -> (f64, f64)) -> f64 {
    let nonzero = |x: f64| if x.abs() < 1e-300 { 1e-300 } else { x };
    let (mut value, mut c, mut d) = (nonzero(first), nonzero(first), 0.0);
    // About 5 sqrt(a) terms are needed: a few hundred thousand for a billion events.
    for index in 1..10_000_000 {
        let (over, of) = term(index);
        d = 1.0 / nonzero(of + over * d);
        c = nonzero(of + over / c);
        value *= c * d;
        if (c * d - 1.0).abs() <= f64::EPSILON {
            break;
        }
    }
    1.0 / value
}

/// Error of Stirling's formula, `ln Gamma(z + 1) - (z + 1/2) ln z + z - ln(2 pi) / 2` (DLMF 5.11.1).
fn stirling_error(z: f64) -> f64 {
    if z < 16.0 {
        return libm::lgamma(z + 1.0) - (z + 0.5) * libm::log(z) + z - 0.5 * libm::log(2.0 * PI);
    }
    let s = 1.0 / (z * z);
    (1.0 / 12.0 - s * (1.0 / 360.0 - s * (1.0 / 1260.0 - s * (1.0 / 1680.0 - s / 1188.0)))) / z
}

/// Deviance `x ln(x / mean) + mean - x` of a Poisson variable, without cancellation near the mean (Loader, "Fast and
/// accurate computation of binomial probabilities", 2000).
fn deviance(x: f64, mean: f64) -> f64 {
    let v = (x - mean) / (x + mean);
    if v.abs() > 0.1 {
        return x * libm::log(x / mean) + mean - x;
    }
    // x ln(x / mean) = 2 x artanh(v), and mean - x = -v (x + mean).
    let (mut sum, mut power) = ((x - mean) * v, 2.0 * x * v);
    for odd in 1..20 {
        power *= v * v;
        sum += power / f64::from(2 * odd + 1);
    }
    sum
}

#[cfg(test)]
mod tests {
    use super::*;

    fn assert_near(got: f64, expected: f64, what: &str) {
        assert!((got / expected - 1.0).abs() < 1e-11, "{what}: {got:e}, not {expected:e}");
    }

    #[test]
    fn gamma_quantiles_match_scipy() {
        // scipy.stats.gamma.ppf(p, a), scipy 1.17.1: ends of Poisson counts, and of their dispersion.
        for (p, a, expected) in [
            (0.025, 1.0, 0.025317807984289876),
            (0.975, 1.0, 3.6888794541139354),
            (0.025, 1e6, 998040.9833402939),
            (0.975, 1000001.0, 1001961.9119454322),
            (0.95, 0.5, 1.920729410347062),
            (0.95, 4.5, 8.459488802310224),
            (0.95, 499999.5, 501163.1548090657),
            (0.005, 30.0, 17.767245539369267),
            (0.995, 31.0, 47.20932647393722),
        ] {
            assert_near(gamma_quantile(p, a), expected, &format!("{p} of {a}"));
        }
    }

    #[test]
    fn beta_quantiles_match_scipy() {
        // scipy.stats.beta.ppf(p, a, b), scipy 1.17.1: ends of Clopper and Pearson.
        for (p, a, b, expected) in [
            (0.025, 1.0, 10.0, 0.0025285785444617848),
            (0.975, 2.0, 9.0, 0.4450161170281954),
            (0.025, 5.0, 999996.0, 1.6234883192411703e-06),
            (0.025, 5e8, 500000001.0, 0.4999690097484223),
            (0.025, 1e6, 1.0, 0.9999963111273498),
            (0.005, 30.0, 71.0, 0.18901476186012411),
            (0.995, 31.0, 70.0, 0.43061355361652065),
        ] {
            let odds = beta_quantile_odds(p, a, b);
            assert_near(odds / (1.0 + odds), expected, &format!("{p} of {a}, {b}"));
        }
        // 1 - 0.025^(1e-9), where scipy has eight digits.
        assert_near(beta_quantile_odds(0.975, 1.0, 1e9), 3.688_879_460_917_887e-9, "one of 1e9");
    }

    #[test]
    fn incomplete_beta_functions_match_scipy_and_binomial_sums() {
        // scipy.special.betainc(a, b, x), scipy 1.17.1.
        for (a, b, x, expected) in [
            (500.0, 501.0, 0.5, 0.5126125090891802),
            (999.0, 2.0, 0.99, 0.00047924445357891947),
            (5e5, 5e5, 0.501, 0.9772499490383677),
            (30.0, 1e6, 2e-5, 0.021824350755094243),
        ] {
            assert_near(incomplete_beta(a, b, x), expected, &format!("I_{x}({a}, {b})"));
        }
        // At least one of ten trials of 10 %: 1 - 0.9^10. At least two of three of 25 %: 3 (1/16) (3/4) + 1/64.
        assert_near(incomplete_beta(1.0, 10.0, 0.1), 0.651_321_559_9, "one of ten");
        assert_near(incomplete_beta(2.0, 2.0, 0.25), 10.0 / 64.0, "two of three");
        assert_eq!([0.0, 1.0].map(|x| incomplete_beta(3.0, 4.0, x)), [0.0, 1.0]);
    }

    #[test]
    fn survival_is_a_finite_sum_of_even_freedom() {
        // Four degrees: e^-h (1 + h), h = statistic / 2; far below what one minus a share could show.
        for statistic in [1e-9, 0.5, 4.0, 8.0, 100.0, 1000.0] {
            let h = statistic / 2.0;
            assert_near(
                chi_square_survival(statistic, 4.0),
                (1.0 + h) * f64::exp(-h),
                &format!("{statistic}"),
            );
        }
        assert_eq!([0.0, f64::INFINITY].map(|statistic| chi_square_survival(statistic, 3.0)), [1.0, 0.0]);
    }
}
