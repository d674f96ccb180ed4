//! Tests of parameters that are drawn for each run, from the text of a scenario to intervals.

use crate::common::{load, metric, plan_with, result, rows};
use crossfade_core::RunSeed;
use crossfade_experiment::Experiment;
use crossfade_scenario::Method;
use serde_json::{Value, json};
use std::fmt::Write as _;

/// Scenario of datagrams over a link with losses whose rate is drawn for each run.
const SCENARIO: &str = r#"
    schema = 2
    run = { duration = "20 s", runs = 40, draws = "draws.csv" }
    channel = { model = "iid", p_e = 0.5 }
    link = { rate = "2 Mbit/s", packet_size = "1000 B", delay = "1 ms", queue = { limit = "100 packets" } }
    flows.load = { traffic = "udp", rate = "1 Mbit/s" }
"#;

/// `count` loss rates drawn uniformly from 0.05 to 0.25.
fn losses(count: u64) -> Vec<f64> {
    let mut stream = RunSeed { seed: 7, run: 0 }.stream("losses");
    (0..count)
        .map(|_| 0.05 + 0.2 * (rand::Rng::next_u64(&mut stream) >> 11) as f64 / (1_u64 << 53) as f64)
        .collect()
}

fn table(values: &[f64]) -> String {
    values.iter().fold("channel.p_e\n".to_owned(), |mut text, value| {
        let _ = writeln!(text, "{value:?}");
        text
    })
}

fn plan(set: &Value, table: &str) -> Experiment {
    plan_with(SCENARIO, set, &[("draws.csv", table)])
}

/// The interval over runs with drawn loss rates has the spread of the draws. A run of 20 s has 2,500 packets; its loss
/// rate varies by the draw (variance 0.2^2 / 12 = 0.0577^2) and by chance (variance at most p (1 - p) / 2500, 0.0071^2
/// for p = 0.15). The half-width over 40 runs is 2.0227 standard errors (Student's t, 39 degrees of freedom).
#[test]
fn the_interval_over_draws_has_the_spread_of_what_is_not_known() {
    let drawn = losses(40);
    let (rate, ci95) = metric(&result(&plan(&json!([]), &table(&drawn))), "frame_error_rate");
    let mean = drawn.iter().sum::<f64>() / 40.0;
    let variance = drawn.iter().map(|p| (p - mean).powi(2)).sum::<f64>() / 39.0;
    let by_chance = drawn.iter().map(|p| p * (1.0 - p) / 2500.0).sum::<f64>() / 40.0;
    let expected = 2.0227 * ((variance + by_chance) / 40.0).sqrt();
    // The mean differs from that of the draws only by chance: four standard errors. Chance is 1 % of the interval's
    // width.
    assert!((rate - mean).abs() < 4.0 * (by_chance / 40.0).sqrt(), "{rate} {mean}");
    assert!((ci95 / expected - 1.0).abs() < 0.08, "{ci95} {expected}");
    // The standard deviation of the uniform distribution is 0.0577, which 40 draws estimate within some 20 %.
    let of_law = 2.0227 * ((0.04 / 12.0 + by_chance) / 40.0).sqrt();
    assert!((ci95 / of_law - 1.0).abs() < 0.25, "{ci95} {of_law}");
    // A known loss rate gives an interval that is eight times as narrow.
    let known = result(&plan(&json!([["run.draws", null], ["channel.p_e", 0.15]]), ""));
    let (_, narrow) = metric(&known, "frame_error_rate");
    assert!(ci95 / narrow > 6.0, "{ci95} {narrow}");
}

/// Run r of a plan with draws equals run r of a scenario with the values of row r, random streams included.
#[test]
fn run_r_takes_row_r_and_keeps_its_streams() {
    let text = "channel.p_e, link.rate\n0.1, 2 Mbit/s\n20 %, 1.5 Mbit/s\n0.3, 3 Mbit/s\n";
    let plan = plan(&json!([["run.runs", 3], ["run.duration", "2 s"]]), text);
    let drawn = rows(&plan, 2);
    for (run, (p_e, rate)) in
        [(0.1, "2 Mbit/s"), (0.2, "1.5 Mbit/s"), (0.3, "3 Mbit/s")].into_iter().enumerate()
    {
        let set = json!([
            ["run", { "draws": null, "runs": 3, "duration": "2 s" }], ["channel.p_e", p_e], ["link.rate", rate],
        ]);
        let alone = rows(&self::plan(&set, text), 1);
        assert_eq!(drawn[run].metrics, alone[run].metrics, "run {run}");
        assert_ne!(drawn[run].key, alone[run].key);
    }
    assert_eq!(rows(&plan, 1), drawn);
}

#[test]
fn the_table_is_a_part_of_what_a_row_is() {
    let key = |text: &str| plan(&json!([["run.runs", 1]]), text).row_key(0, Method::Simulation, 0);
    let one = key("channel.p_e\n0.1\n");
    assert_eq!(one, key("channel.p_e\n0.1\n"));
    assert_ne!(one, key("channel.p_e\n0.1\n0.2\n"));
    let plan = plan(&json!([["run.runs", 1]]), "channel.p_e\n0.1\n");
    assert_eq!(json!(plan.describe())["scenario"]["channel"]["p_e"], 0.1);
}

#[test]
fn what_contradicts_the_draws_is_refused_in_one_line() {
    let text = "channel.p_e\n0.1\n0.2\n";
    let load_with = |set: Value, text: &str| {
        let set = json!([&[json!(["run.runs", 2])], set.as_array().unwrap().as_slice()].concat());
        load(SCENARIO, &set, &[("draws.csv", text)]).map(|_| ()).unwrap_err()
    };
    let cases = [
        (
            json!([["run.runs", 3]]),
            text,
            "run.draws = \"draws.csv\": has 2 draws, and there may be 3 runs: give run.runs, or run.max_runs, of at most as many",
        ),
        (
            json!([["channel.p_e", 0.3]]),
            text,
            "channel.p_e (set) contradicts run.draws: each run takes channel.p_e from the table",
        ),
        (
            json!([["methods", ["simulation", "formula"]]]),
            text,
            "run.draws: method formula solves one scenario, not its draws; use method simulation",
        ),
        (json!([]), "channel.p_e\n0.1\n2\n", "channel.p_e = 2: must be between 0 and 1 (at draw 1)"),
        (
            json!([]),
            "channel.p_e\n0.1,3\n",
            "run.draws = \"draws.csv\": line 2: \"0.1,3\": must be 1 values, one for each key",
        ),
    ];
    for (set, text, said) in cases {
        assert_eq!(load_with(set, text), said);
    }
    let swept = format!("sweep = {{ \"channel.p_e\" = [0.1, 0.2] }}\n{SCENARIO}");
    let found = load(&swept, &json!([["run.runs", 2]]), &[("draws.csv", text)]).map(|_| ()).unwrap_err();
    assert_eq!(
        found,
        "axis \"channel.p_e\" contradicts run.draws: each run takes channel.p_e from the table (at channel.p_e = 0.1)"
    );
}
