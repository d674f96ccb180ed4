//! Tests of transport blocks of an NR cell, from the shipped scenario to shares of blocks after each transmission.

use crate::common::{load, plan, result, result_of, rows, shipped_scenarios};
use crossfade_experiment::{PointResult, summarise};
use serde_json::{Value, json};

/// Text of the shipped scenario without its axes.
fn shipped() -> String {
    let (.., text) =
        shipped_scenarios().into_iter().find(|(name, ..)| name == "nr-blocks.toml").expect("it is shipped");
    text.split("[sweep]").next().expect("there is a first part").to_owned()
}

/// Keys for a point of the scenario by one method: MCS 7, 16-QAM at code rate 490/1024, with few blocks.
fn at(snr_db: f64, method: &str, more: &Value) -> Value {
    let mut set = json!([
        ["methods", [method]],
        ["nr.block.mcs", 7],
        ["nr.radio.mean_snr_db", snr_db],
        ["run.frames", 50],
        ["run.frame_errors", 60],
        ["run.max_frames", 400]
    ]);
    set.as_array_mut().unwrap().extend(more.as_array().unwrap().iter().cloned());
    set
}

fn residual(result: &PointResult) -> Vec<f64> {
    result.residual.iter().map(|metric| metric.value).collect()
}

#[test]
fn each_transmission_leaves_fewer_blocks_as_the_model_says() {
    for snr_db in [1.0, 2.5, 6.0] {
        let counted = result_of(&shipped(), &at(snr_db, "phy", &json!([])));
        let expected = residual(&result_of(&shipped(), &at(snr_db, "formula", &json!([]))));
        let block = counted.block.as_ref().unwrap();
        assert_eq!((block.bits, block.code_blocks, block.code_block_bits), (304, 1, 320));
        let shares = residual(&counted);
        assert_eq!((shares.len(), expected.len()), (3, 3));
        for (n, (share, expected)) in shares.iter().zip(&expected).enumerate() {
            assert!(n == 0 || *share <= shares[n - 1], "{snr_db} dB: {shares:?}");
            // The normal approximation is 0.2 dB off here, where the share falls by a third per dB; some 60
            // failures add a statistical error.
            assert!(
                (share - expected).abs() < 0.16,
                "{snr_db} dB, {} transmissions: {share} {expected}",
                n + 1
            );
        }
    }
}

#[test]
fn shares_do_not_depend_on_threads_nor_on_how_many_transmissions_follow() {
    let text = shipped();
    let both = plan(&text, &at(2.5, "phy", &json!([])));
    let one = rows(&both, 1);
    assert_eq!(one, rows(&both, 3));
    let three = residual(&summarise(&both, &one).remove(0));
    // More transmissions do not change the first two, since the blocks are the same.
    let two = residual(&result(&plan(&text, &at(2.5, "phy", &json!([["nr.harq.transmissions", 2]])))));
    assert_eq!(two[..], three[..2]);
}

#[test]
fn chase_combining_of_two_is_one_transmission_at_twice_the_ratio() {
    let chase = json!([["nr.harq.combining", "chase"], ["nr.harq.transmissions", 2]]);
    let once = residual(&result_of(&shipped(), &at(6.0, "formula", &chase)));
    let twice = residual(&result_of(&shipped(), &at(6.0 - 10.0 * 2.0_f64.log10(), "formula", &chase)));
    assert!((once[0] - twice[1]).abs() < 1e-9, "{once:?} {twice:?}");
}

#[test]
fn a_table_with_copies_moves_copies_alone() {
    let of = |table: &str| {
        let key = json!([["nr.error_table", table]]);
        residual(&result_of(&shipped(), &at(2.0, "formula", &key)))
    };
    let [one, copies] = ["simulated", "simulated-copies"].map(of);
    assert_eq!(one[0], copies[0]);
    assert!(one[1] != copies[1], "{one:?} {copies:?}");
}

#[test]
fn what_is_no_block_is_refused_by_its_key() {
    for (set, said) in [
        (json!([["nr.block.mcs", 28]]), "nr.block.mcs = 28: must be between 0 and 27"),
        (json!([["nr.block.bits", 7]]), "nr.block.bits = 7: must be between 24 and"),
        (json!([["nr.block.iterations", 0]]), "nr.block.iterations = 0: must be between 1 and 200"),
    ] {
        let mut all = at(6.0, "phy", &json!([]));
        all.as_array_mut().unwrap().extend(set.as_array().unwrap().iter().cloned());
        let error = load(&shipped(), &all, &[]).err().unwrap_or_default();
        assert!(error.contains(said), "{error}");
    }
}
