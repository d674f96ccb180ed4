//! Comparison of antenna weights under null constraints with those that another program computed.

use crate::case::CaseReport;
use crate::parse::GoldenError;
use crossfade_mac::golden::{Comparison, compare_weights};

/// Computes the antenna weights of each entry of a list in the layout of `vectors.json` and compares them. `name` is
/// the file's name.
///
/// # Errors
/// A text that does not follow the layout ([`crossfade_mac::golden`]).
pub fn verify_weights(name: &str, json: &str) -> Result<Vec<CaseReport>, GoldenError> {
    let comparisons = compare_weights(json)
        .map_err(|error| GoldenError::new(format!("{name}: case {}", error.case), error.problem))?;
    Ok(comparisons.iter().enumerate().map(|(number, comparison)| report(name, number, comparison)).collect())
}

fn report(name: &str, number: usize, comparison: &Comparison) -> CaseReport {
    let Comparison { antennas, constraints, difference, leakage } = comparison;
    let found = format!(
        "{antennas} antennas, {constraints} constraints: {difference:.1e} apart, {leakage:.1e} leaks ({:.0e} allowed)",
        Comparison::TOLERANCE
    );
    CaseReport {
        case: format!("{name}/{number}"),
        rows: 1,
        difference: (!comparison.agrees()).then(|| found.clone()),
        found: Some(found),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const GOLDEN: &str = include_str!("../../../tests/data/golden/weights/vectors.json");

    #[test]
    fn every_case_agrees_and_an_altered_one_is_named() {
        let cases = verify_weights("vectors.json", GOLDEN).unwrap();
        assert!(!cases.is_empty() && cases.iter().all(|case| case.difference.is_none()), "{cases:?}");
        let mut altered: serde_json::Value = serde_json::from_str(GOLDEN).unwrap();
        let weight = &mut altered[0]["w_A"][0][0];
        *weight = (weight.as_f64().unwrap() + 1e-8).into();
        let failed: Vec<CaseReport> = verify_weights("vectors.json", &altered.to_string())
            .unwrap()
            .into_iter()
            .filter(|case| case.difference.is_some())
            .collect();
        assert!(failed.len() == 1 && failed[0].case == "vectors.json/0", "{failed:?}");
        assert!(failed[0].difference.as_ref().unwrap().contains("1.0e-8 apart"), "{failed:?}");
    }

    #[test]
    fn what_is_no_list_is_refused_with_its_place() {
        let error = verify_weights("vectors.json", "[{\"N\": 2}]").unwrap_err().to_string();
        assert!(error.starts_with("vectors.json: case 0: expected N, H_AB"), "{error}");
        assert_eq!(verify_weights("vectors.json", "[]").unwrap(), []);
    }
}
