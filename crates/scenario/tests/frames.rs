//! Links with frames and ARQ, from the text of a scenario to its metrics.

use crossfade_scenario::{Overrides, Plan, PointResult, execute, summarise};
use serde_json::{Value, json};
use std::sync::atomic::AtomicBool;

/// The link of Chockalingam and Bao alone: 20 octets in 20 ms at 9600 bit/s.
const RLP: &str = r#"
    schema = 1
    run = { duration = "2000 s", runs = 10 }
    channel = { model = "iid", p_e = 0.1 }
    flows.load = { traffic = "saturated" }

    [link]
    rate = "9600 bit/s"
    packet_size = "576 B"
    queue = { limit = "10 packets" }
    frame_size = "24 B"
    framing = { payload = "20 B", packing = "crossing" }
    arq = { protocol = "rlp-is99", reading = "e", max_retransmissions = 10 }

    [tcp]
    flavour = "ns2"
    variant = "tahoe"
    w_max = 4
"#;

fn plan(text: &str, set: &Value) -> Plan {
    let overrides: Overrides = serde_json::from_value(json!({ "set": set })).unwrap();
    Plan::load(text, "test.toml", &overrides).unwrap_or_else(|error| panic!("{error}"))
}

fn result_of(text: &str, set: &Value) -> PointResult {
    let plan = plan(text, set);
    let mut rows = Vec::new();
    assert!(execute(&plan, Vec::new(), 2, &AtomicBool::new(false), &mut |row, _| rows.push(row)));
    summarise(&plan, &rows).remove(0)
}

/// Value and half-width of the interval of a metric of the whole.
fn metric(result: &PointResult, name: &str) -> (f64, f64) {
    let (_, metric) = result.metrics.iter().find(|(found, _)| *found == name).unwrap();
    (metric.value, metric.ci95.unwrap())
}

/// The expected value lies in an interval of twice the usual half-width: few of many cases leave the usual one.
fn agrees(result: &PointResult, name: &str, expected: f64) {
    let (value, ci95) = metric(result, name);
    assert!((value - expected).abs() <= 2.0 * ci95, "{name}: {value} +- {ci95}, expected {expected}");
}

#[test]
fn a_saturated_radio_link_carries_what_its_rounds_leave() {
    for p_e in [0.01, 0.1, 0.3] {
        // One NAK a round: every frame is sent until it comes.
        let set = json!([["channel.p_e", p_e], ["link.arq.reading", "g"]]);
        let one = result_of(RLP, &set);
        agrees(&one, "rlp_throughput_bps", 8000.0 * (1.0 - p_e));
        agrees(&one, "frame_error_rate", p_e);
        agrees(&one, "frame_transmissions_per_frame", 1.0 / (1.0 - p_e));
        // r NAKs in round r, each a transmission, needed or not.
        let growing = result_of(RLP, &json!([["channel.p_e", p_e], ["link.arq.reading", "e"]]));
        let extra: f64 = (1..50).map(|r| f64::from(r) * p_e.powi(1 + r * (r - 1) / 2)).sum();
        agrees(&growing, "rlp_throughput_bps", 8000.0 / (1.0 + extra));
    }
}
