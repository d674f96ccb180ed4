//! Quantiles of Student's t distribution.

use statrs::distribution::{ContinuousCDF, StudentsT};
use std::sync::OnceLock;

/// The `p` quantile of Student's t distribution with `freedom` degrees of freedom.
///
/// # Panics
/// If `freedom` is not positive or `p` is outside (0, 1).
pub fn student_t_quantile(p: f64, freedom: f64) -> f64 {
    StudentsT::new(0.0, 1.0, freedom).expect("positive degrees of freedom").inverse_cdf(p)
}

/// The 97.5 and 99 % quantiles for `n` runs: the same few are asked for again and again.
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
        // scipy.stats.t.ppf(0.975, df)
        for (freedom, expected) in [
            (1.0, 12.706204736174698),
            (2.0, 4.302652729749462),
            (9.0, 2.2621571627982053),
            (29.0, 2.045229642132703),
            (999.0, 1.9623414611334487),
        ] {
            let got = student_t_quantile(0.975, freedom);
            assert!((got - expected).abs() < 1e-9 * expected, "df {freedom}: {got} against {expected}");
        }
    }
}
