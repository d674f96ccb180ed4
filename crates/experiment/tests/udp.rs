//! Tests of sources without feedback at a full drop-tail queue: phase effects, and their remedies.

use crate::common::{load, plan, result_of, rows};
use crossfade_experiment::{FLOW, PointResult, samples};
use serde_json::{Value, json};
use std::sync::atomic::{AtomicBool, Ordering};

/// Scenario of three sources that offer 12 Mbit/s to a link of 10 Mbit/s, so that a fair share is 10/12 of each.
const TEXT: &str = r#"
    schema = 1
    run = { duration = "20 s", runs = 10 }
    channel = { model = "none" }
    link = { rate = "10 Mbit/s", packet_size = "1000 B", queue = { limit = "10 packets" } }
    flows.slow = { traffic = "udp", rate = "1 Mbit/s" }
    flows.middle = { traffic = "udp", rate = "1 Mbit/s" }
    flows.fast = { traffic = "udp", rate = "10 Mbit/s" }
"#;

const FLOWS: [&str; 3] = ["slow", "middle", "fast"];

/// Share of the offered load that each flow delivers.
fn shares(result: &PointResult) -> [f64; 3] {
    FLOWS.map(|name| {
        let flow = result.parts_of(FLOW).find(|flow| flow.part.name == name).unwrap();
        let (_, metric) = flow.metrics.iter().find(|(found, _)| *found == "goodput_bps").unwrap();
        metric.value / if name == "fast" { 1e7 } else { 1e6 }
    })
}

fn warns(result: &PointResult) -> bool {
    result.warnings.iter().any(|warning| warning.contains("exactly periodic and in phase"))
}

#[test]
fn periodic_sources_in_phase_share_badly_and_are_warned_of() {
    let result = result_of(TEXT, &json!([]));
    assert!(warns(&result), "{:?}", result.warnings);
    let [slow, middle, fast] = shares(&result);
    let (least, most) = (slow.min(middle).min(fast), slow.max(middle).max(fast));
    assert!(most - least > 0.2, "{slow} {middle} {fast}");
}

#[test]
fn poisson_sources_lose_alike_and_jitter_ends_the_phase() {
    let with = |key: &str, value: &str| {
        let set = FLOWS.map(|name| json!([format!("flows.{name}.{key}"), value]));
        let result = result_of(TEXT, &Value::from(set.to_vec()));
        assert!(!warns(&result), "{:?}", result.warnings);
        shares(&result)
    };
    // Poisson arrivals see time averages of the queue, whatever their rate.
    for share in with("traffic", "poisson") {
        assert!((share - 10.0 / 12.0).abs() < 0.05, "{share}");
    }
    // Equal sources have equal loss rates; the fast one is smoother and loses less.
    let [slow, middle, fast] = with("jitter", "50 %");
    assert!((slow - middle).abs() < 0.03 && fast > slow, "{slow} {middle} {fast}");
}

#[test]
fn random_starts_differ_from_run_to_run_and_from_flow_to_flow() {
    let set = FLOWS.map(|name| json!([format!("flows.{name}.start_within"), "1 s"]));
    let rows = rows(&plan(TEXT, &Value::from(set.to_vec())), 2);
    let sent = |i: usize, name: &str| rows[i].metrics.get(&format!("flow:{name}.segments_sent")).unwrap();
    assert!((1..10).any(|run| sent(run, "slow") != sent(0, "slow")));
    assert!((0..10).any(|run| sent(run, "slow") != sent(run, "middle")));
}

#[test]
fn what_is_not_taken_is_refused() {
    let refusal = |set: Value| load(TEXT, &set, &[]).unwrap_err();
    let message =
        refusal(json!([["flows.slow", { "traffic": "poisson", "rate": "1 Mbit/s", "jitter": "10 %" }]]));
    assert!(message.contains("flows.slow.jitter contradicts"), "{message}");
    let message = refusal(json!([["flows.extra", { "traffic": "poisson" }]]));
    assert!(message.contains("flows.extra.rate: missing"), "{message}");
    let message = refusal(json!([["flows.slow.jitter", 1.5]]));
    assert!(message.contains("jitter"), "{message}");
}

/// A policer of 2 Mbit/s passes exactly its bucket and the tokens that flow in, of an offered 12 Mbit/s, and no packet
/// waits.
#[test]
fn a_policer_passes_its_bucket_and_its_rate() {
    let set = json!([
        ["run", { "duration": "20 s", "runs": 1 }],
        ["link.policer", { "rate": "2 Mbit/s", "burst": "20 kB" }],
    ]);
    let result = result_of(TEXT, &set);
    let value = |name: &str| result.metrics.iter().find(|(found, _)| *found == name).unwrap().1.value;
    let (offered, fluid) = (12e6 * 20.0 / 8000.0, (20_000.0 + 250_000.0 * 20.0) / 1000.0);
    let passed = value("goodput_bps") * 20.0 / 8000.0;
    assert!((passed - fluid).abs() <= 3.0, "{passed} packets, the fluid has {fluid}");
    assert!((value("queue_drops") - (offered - fluid)).abs() <= 3.0, "{}", value("queue_drops"));
    assert!(result.warnings.iter().all(|warning| !warning.contains("were full")), "{:?}", result.warnings);
}

/// Sampling ends when it is cancelled, even if few events occur between two samples.
#[test]
fn samples_end_when_they_are_cancelled() {
    let plan = plan(TEXT, &json!([["run.duration", "1000 s"], ["run.sample", "100 ms"], ["run.runs", 1]]));
    let (cancel, mut portions) = (AtomicBool::new(false), 0);
    let mut sink = |_: usize, _: &str| {
        portions += 1;
        cancel.store(true, Ordering::Relaxed);
    };
    assert_eq!(samples(&plan, 0, &mut sink, &cancel), Ok(None));
    assert_eq!(portions, 1);
}
