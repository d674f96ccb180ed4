//! Quantiles of Student's t distribution.

use crate::incomplete::beta_quantile_odds;
use std::sync::OnceLock;

/// The `p` quantile of Student's t distribution with `freedom` degrees of freedom.
///
/// # Panics
/// If `freedom` is not positive or `p` is outside (0, 1).
pub fn student_t_quantile(p: f64, freedom: f64) -> f64 {
    assert!(freedom > 0.0 && p > 0.0 && p < 1.0, "the {p} quantile of {freedom} degrees of freedom");
    // t^2 / (t^2 + freedom) is a beta variable, whose quantile at this share gives t.
    let within = (2.0 * p - 1.0).abs();
    if within == 0.0 {
        return 0.0;
    }
    (freedom * beta_quantile_odds(within, 0.5, freedom / 2.0)).sqrt().copysign(p - 0.5)
}

/// 97.5 % and 99 % quantiles of Student's t distribution for a mean of `n` runs. They are cached, because the same few
/// `n` recur.
pub(crate) fn student_quantiles(n: usize) -> [f64; 2] {
    static KNOWN: [OnceLock<[f64; 2]>; 64] = [const { OnceLock::new() }; 64];
    let compute = || [0.975, 0.99].map(|p| student_t_quantile(p, n as f64 - 1.0));
    KNOWN.get(n).map_or_else(compute, |known| *known.get_or_init(compute))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn quantiles_match_scipy() {
        // scipy.stats.t.ppf(p, freedom), scipy 1.17.1
        for (p, freedom, expected) in [
            (0.975, 1.0, 12.706204736174694),
            (0.975, 2.0, 4.302652729749462),
            (0.975, 9.0, 2.262157162798205),
            (0.975, 29.0, 2.045229642132703),
            (0.975, 63.0, 1.998340542520741),
            (0.975, 999.0, 1.9623414611334493),
            (0.975, 999999.0, 1.9599663568164791),
            (0.975, 1000000.0, 1.959966356814107),
            (0.995, 1.0, 63.656741162871526),
            (0.995, 2.0, 9.924843200918287),
            (0.995, 9.0, 3.249835541592126),
            (0.995, 1000000.0, 2.5758342201053344),
            (0.6, 1.0, 0.32491969623290634),
            (0.6, 30.0, 0.2556053649519128),
            (0.6, 1000000.0, 0.25334717053784184),
            (0.75, 4.0, 0.7406970841126829),
        ] {
            let (got, mirrored) = (student_t_quantile(p, freedom), student_t_quantile(1.0 - p, freedom));
            assert!((got / expected - 1.0_f64).abs() < 1e-11, "{p}, {freedom}: {got} against {expected}");
            assert!((mirrored / expected + 1.0).abs() < 1e-11, "{p}, {freedom}: {mirrored} mirrored");
        }
        assert_eq!(student_t_quantile(0.5, 7.0), 0.0);
    }
}
