//! Tests of satellite links, from the scenario to the metric.

use crate::common::{load, metric, plan, result_of, rows};
use serde_json::{Value, json};

/// Scenario of a satellite link of constant rate with slot boundaries every 15 s, and a source of twice its rate.
const STEADY: &str = r#"
    schema = 2
    run = { duration = "300 s", runs = 1 }
    tcp = { variant = "sack", w_max = 4000 }
    [link]
    packet_size = "1500 B"
    satellite = { offset = "0 s", rate = "20 Mbit/s", spread_between_slots = 0, spread_within_slots = 0, grant_spread = 0, handover = 0, loss = 0, base_delay = ["10 ms", "10 ms"] }
    [flows]
    u = { traffic = "udp", rate = "40 Mbit/s" }
"#;

fn value(set: &Value, name: &str) -> f64 {
    metric(&result_of(STEADY, set), name).0
}

/// A full queue uses all capacity that slot boundaries leave: of 15 s, 77 ms of outage and the equivalent of 141 ms of
/// ramp are lost. Grants of a run are off by a thousandth.
#[test]
fn a_full_queue_uses_all_that_boundaries_leave() {
    let expected = 20e6 * (1.0 - (0.077 + 0.141) / 15.0);
    let found = value(&json!([]), "link_goodput_bps");
    assert!((found / expected - 1.0).abs() < 1e-3, "{found} for {expected}");
    let used = value(&json!([]), "link_utilisation");
    assert!((used - 1.0).abs() < 1e-3, "{used}");
    // The default queue holds 200 ms at that rate, and packets wait for so long.
    let delay = value(&json!([]), "one_way_delay_mean_s");
    assert!((delay - 0.21).abs() < 0.005, "{delay}");
}

/// The delay of a lone packet is the propagation delay, the mean wait of 2.07 ms for a grant, and half of the outage
/// with the probability of meeting it.
#[test]
fn a_lone_packet_takes_the_delay_and_the_mean_wait_for_a_grant() {
    let found =
        value(&json!([["flows.u", { "traffic": "poisson", "rate": "500 kbit/s" }]]), "one_way_delay_mean_s");
    let outage = 0.077 * 0.077 / 2.0 / 15.0;
    // 12,500 packets, whose waits are spread over 4 ms.
    assert!((found - 0.01207 - outage).abs() < 1e-4, "{found}");
}

#[test]
fn losses_have_their_rate_and_their_metric() {
    let found = value(&json!([["link.satellite.loss", "1 %"]]), "frame_error_rate");
    assert!((found - 0.01).abs() < 0.001, "{found}");
}

#[test]
fn what_assumes_a_constant_link_says_so_and_few_slots_are_doubtful() {
    let set = json!([["methods", ["formula"]], ["flows", null]]);
    let refused = load(STEADY, &set, &[]).unwrap_err();
    assert_eq!(refused, "link.satellite: a formula assumes a constant rate; use method simulation");
    let warned = |duration: &str| {
        let result = result_of(STEADY, &json!([["run.duration", duration]]));
        result.warnings.iter().any(|warning| warning.contains("fewer than 10 slots of 15 s"))
    };
    assert!(warned("149 s") && !warned("150 s"));
}

/// Satellite slots of a run do not depend on the traffic: with another queue the flow meets the same link.
#[test]
fn every_transport_meets_the_same_link() {
    let restless = json!([
        ["link.satellite", { "spread_between_slots": 0.3, "spread_within_slots": 0.1, "handover": 0.5 }],
        ["run.duration", "60 s"],
    ]);
    let with =
        |more: &[Value]| Value::Array(restless.as_array().unwrap().iter().chain(more).cloned().collect());
    let goodput = |set: &Value| value(set, "link_goodput_bps");
    let [plain, long] = [with(&[]), with(&[json!(["link.queue.limit", "500 ms"])])].map(|set| goodput(&set));
    // The difference is the data that waits at the end, 0.3 s of 60 s.
    assert!((long / plain - 1.0).abs() < 0.01, "{plain}, {long}");
    let other_run = with(&[json!(["run.seed", 2])]);
    assert!((goodput(&other_run) / plain - 1.0).abs() > 0.01);
}

/// Analysis gives the closed forms of the link, and the simulation reaches the capacity.
#[test]
fn analysis_says_what_the_link_can_carry() {
    let set = json!([["methods", ["analysis", "simulation"]], ["link.satellite.obstructed", 0.1]]);
    let rows = rows(&plan(STEADY, &set), 1);
    let [of_analysis, of_run] = [0, 1].map(|at| {
        rows.iter().find(|row| row.metrics.get("link_capacity_bps").is_some() == (at == 0)).unwrap()
    });
    let value = |name: &str| of_analysis.metrics.get(name).unwrap();
    let capacity = 20e6 * (1.0 - (0.077 + 0.141) / 15.0) * 0.9;
    assert!((value("link_capacity_bps") - capacity).abs() < 1.0);
    assert!((value("outage_share") - (1.0 - 0.9 * (1.0 - 0.077 / 15.0))).abs() < 1e-9);
    assert!((value("idle_wait_s") - 0.002 * (1.0 + 0.405 / 12.0)).abs() < 1e-12);
    // 300 s have some 15 obstructions, whose total of 30 s has a standard deviation of about a third.
    let found = of_run.metrics.get("link_goodput_bps").unwrap();
    assert!((found / capacity - 1.0).abs() < 4.0 * 0.035, "{found} for {capacity}");
}
