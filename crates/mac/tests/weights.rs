//! Antenna weights agree with golden vectors.
//!
//! `tests/data/golden/weights` was computed with the SVD of numpy; `crossfade_mac::golden` documents the format.

use crossfade_mac::golden::{Comparison, compare_weights};

const GOLDEN: &str = include_str!("../../../tests/data/golden/weights/vectors.json");

#[test]
fn golden_weights_agree_to_1e_9() {
    let comparisons = compare_weights(GOLDEN).unwrap();
    assert_eq!(comparisons.len(), 8);
    for (case, comparison) in comparisons.iter().enumerate() {
        assert!(comparison.agrees(), "case {case}: {comparison:?}");
    }
}

#[test]
fn a_tampered_number_is_found() {
    for (from, to) in [
        ("0.5283703173395832", "0.5283703193395832"),
        ("\"gain_abs2\": 0.6304034945951054", "\"gain_abs2\": 0.6304034965951054"),
        ("\"leak_sum\": 2.415788166187333", "\"leak_sum\": 2.415788186187333"),
    ] {
        assert!(GOLDEN.contains(from), "{from}");
        let comparisons = compare_weights(&GOLDEN.replace(from, to)).unwrap();
        assert_eq!(comparisons.iter().filter(|comparison| !comparison.agrees()).count(), 1, "{from}");
        assert!(
            comparisons.iter().all(|comparison| comparison.difference < 2.0 * Comparison::TOLERANCE * 10.0)
        );
    }
}

#[test]
fn what_is_no_golden_file_is_refused() {
    let error = |text: &str| compare_weights(text).unwrap_err().to_string();
    assert!(error("{}").starts_with("case 0: "));
    assert!(error("[{\"N\": 2}]").starts_with("case 0: expected N, H_AB"));
    let overloaded =
        "{\"N\": 2, \"overloaded\": [[[1, 0]]], \"least_leak_w\": [[1, 0], [0, 0]], \"leak_sum\": 0}";
    assert_eq!(error(&format!("[{overloaded}]")), "case 0: overloaded: must have N = 2 entries");
    let huge = "{\"N\": 99, \"overloaded\": [], \"least_leak_w\": [], \"leak_sum\": 0}";
    assert_eq!(error(&format!("[{huge}]")), "case 0: N = 99: must be between 1 and 8");
}
