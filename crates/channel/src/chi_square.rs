//! Tests whose statistic follows a chi-square distribution.

use crossfade_core::chi_square_survival;

/// Outcome of a chi-square test of a hypothesis.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct ChiSquareTest {
    /// Test statistic, which is large if the hypothesis is wrong.
    pub statistic: f64,
    /// Degrees of freedom of the chi-square distribution that the statistic has under the hypothesis.
    pub freedom: u32,
    /// Probability, under the hypothesis, of a statistic at least as large.
    pub p_value: f64,
}

impl ChiSquareTest {
    /// Outcome for a `statistic` with `freedom` degrees of freedom; `None` for 0, where data cannot contradict the
    /// hypothesis.
    pub(crate) fn new(statistic: f64, freedom: u32) -> Option<Self> {
        if freedom == 0 {
            return None;
        }
        // Rounding may leave a statistic that is zero slightly below it.
        let statistic = statistic.max(0.0);
        Some(Self { statistic, freedom, p_value: chi_square_survival(statistic, f64::from(freedom)) })
    }

    /// Likelihood-ratio statistic for the independence of the rows and columns of a table of counts, with its degrees
    /// of freedom.
    ///
    /// G^2 = 2 sum n ln(n N / (row column)) over the cells with n > 0, N the total; empty rows and columns do not
    /// count.
    pub(crate) fn likelihood_ratio(table: [[u64; 2]; 2]) -> (f64, u32) {
        let rows = table.map(|row| row[0] + row[1]);
        let columns = [0, 1].map(|column| table[0][column] + table[1][column]);
        let total = (rows[0] + rows[1]) as f64;
        let mut statistic = 0.0;
        for (row, counts) in rows.iter().zip(table) {
            for (column, count) in columns.iter().zip(counts).filter(|(_, count)| *count > 0) {
                let (row, column, count) = (*row as f64, *column as f64, count as f64);
                statistic += 2.0 * count * libm::log(count / row * (total / column));
            }
        }
        let filled = |totals: [u64; 2]| totals.iter().filter(|&&total| total > 0).count() as u32;
        (statistic, filled(rows).saturating_sub(1) * filled(columns).saturating_sub(1))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn p_values_match_scipy() {
        // scipy.stats.chi2.sf(statistic, freedom)
        for (statistic, freedom, expected) in [
            (3.841458820694124, 1, 0.05),
            (0.02, 1, 0.887537083981715),
            (9.21, 2, 0.01000170200470548),
            (17.3, 17, 0.4342268850352391),
            (100.0, 3, 1.5541594313896026e-21),
            (120.0, 49, 6.876961427062773e-08),
        ] {
            let got = ChiSquareTest::new(statistic, freedom).unwrap().p_value;
            assert!((got / expected - 1.0_f64).abs() < 1e-9, "{statistic}, {freedom}: {got}, {expected}");
        }
        assert_eq!(ChiSquareTest::new(1e9, 2).unwrap().p_value, 0.0);
        assert_eq!(ChiSquareTest::new(-1e-12, 2).unwrap().p_value, 1.0);
        assert_eq!(ChiSquareTest::new(0.0, 0), None);
    }

    #[test]
    fn likelihood_ratios_match_scipy() {
        // scipy.stats.chi2_contingency(table, correction=False, lambda_="log-likelihood")
        let (statistic, freedom) = ChiSquareTest::likelihood_ratio([[90, 10], [7, 13]]);
        assert!((statistic - LR_OF_TABLE).abs() < 1e-12, "{statistic}");
        assert_eq!(freedom, 1);
        assert_eq!(ChiSquareTest::likelihood_ratio([[90, 10], [0, 0]]).1, 0);
        assert_eq!(ChiSquareTest::likelihood_ratio([[90, 0], [10, 0]]), (0.0, 0));
        assert_eq!(ChiSquareTest::likelihood_ratio([[0, 0], [0, 0]]), (0.0, 0));
    }
    const LR_OF_TABLE: f64 = 26.35689426561894;
}
