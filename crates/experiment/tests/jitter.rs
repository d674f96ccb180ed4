//! Tests of jitter behind a link, from the scenario to the metric.

use crate::common::{load, metric, result_of};
use crossfade_experiment::PointResult;
use serde_json::{Value, json};

/// Scenario of datagrams of 1.2 ms with a delay of 20 ms, 50 ms apart so that none waits for another.
const TEXT: &str = r#"
    schema = 2
    run = { duration = "200 s", runs = 1 }
    channel = { model = "none" }
    link = { rate = "10 Mbit/s", delay = "20 ms", packet_size = "1500 B" }
    tcp = { variant = "sack", w_max = 100 }
    [flows]
    u = { traffic = "udp", rate = "240 kbit/s" }
"#;

fn result(set: &Value) -> PointResult {
    result_of(TEXT, set)
}

fn value(result: &PointResult, name: &str) -> f64 {
    metric(result, name).0
}

/// One-way delays have the quantiles of a half-normal distribution and its mean sqrt(2/pi); cutting it at 3 deviations
/// reduces the mean by 0.0008.
#[test]
fn one_way_delays_are_half_normal() {
    let plain = result(&json!([]));
    let of = |result: &PointResult, name: &str| value(result, name) - 0.0212;
    assert!(of(&plain, "one_way_delay_mean_s").abs() < 1e-9);
    let varied = result(&json!([["link.jitter.std", "5 ms"]]));
    // 4000 packets: four standard errors, and 1 % of a histogram's bins.
    for (name, deviations, error) in [
        ("one_way_delay_mean_s", 0.797, 0.6 / 63.0),
        ("one_way_delay_p50_s", 0.6745, 0.8 / 63.0),
        ("one_way_delay_p95_s", 1.96, 1.9 / 63.0),
    ] {
        let found = of(&varied, name) / 0.005;
        assert!((found - deviations).abs() < 4.0 * error + 0.05, "{name}: {found}");
    }
    assert_eq!(value(&varied, "segments_delivered"), value(&plain, "segments_delivered"));
    // Other random draws, and jitter with a lower bound.
    let bounded = result(&json!([["link.jitter", { "std": "5 ms", "n_std": 0.5 }]]));
    assert!((of(&bounded, "one_way_delay_p95_s") / 0.0025 - 1.0).abs() < 0.12);
}

/// Jitter on both directions lengthens round trips, and no packet overtakes another: a flow without losses has no
/// reordering.
#[test]
fn round_trips_vary_both_ways_and_nothing_is_overtaken() {
    let set = |jitter: &Value| {
        let flow = json!({ "traffic": "bulk" });
        json!([["flows", { "u": flow }], ["link.jitter", jitter], ["reverse.jitter", jitter], ["tcp.w_max", 1]])
    };
    let [plain, varied] = [json!({}), json!({ "std": "5 ms" })].map(|jitter| result(&set(&jitter)));
    let more = (value(&varied, "rtt_mean_s") - value(&plain, "rtt_mean_s")) / 0.005;
    assert!((more - 2.0 * 0.797).abs() < 0.06, "{more}");
    let busy = result(&json!([
        ["flows", { "u": { "traffic": "bulk" } }],
        ["link.jitter", { "std": "5 ms", "rate": "100 Mbit/s" }],
        ["link.queue.limit", "unlimited"],
    ]));
    assert_eq!((value(&busy, "retransmissions"), value(&busy, "fast_retransmits")), (0.0, 0.0));
}

#[test]
fn formulas_refuse_it() {
    let (alone, _) = TEXT.split_once("[flows]").unwrap();
    for table in ["link", "reverse"] {
        let set = json!([
            ["methods", ["formula"]],
            ["channel", { "model": "iid", "p_e": 0.01 }],
            [format!("{table}.jitter.std"), "5 ms"],
        ]);
        let line = load(alone, &set, &[]).map(|_| ()).unwrap_err();
        assert!(line.starts_with(&format!("{table}.jitter: ")), "{line}");
    }
}
