//! Scalable and classic senders behind one link (RFC 9332), from the scenario to the metric.

use crossfade_experiment::{Control, Experiment, PointResult, Row, Shard, execute, summarise};
use crossfade_scenario::Overrides;
use serde_json::{Value, json};

const TEXT: &str = r#"
    schema = 2
    run = { duration = "45 s", warmup = "15 s", runs = 2 }
    channel = { model = "iid", p_e = 0 }
    link = { rate = "40 Mbit/s", packet_size = "1500 B", queue = { discipline = "dualpi2" } }
    wired = { rtt = "25 ms" }
    tcp = { flavour = "rfc", variant = "sack", w_max = 2000 }

    [flows.classic]
    count = 5
    [flows.scalable]
    count = 5
    tcp = { congestion = "prague" }
"#;

fn plan(set: &Value) -> Result<Experiment, String> {
    let overrides: Overrides = serde_json::from_value(json!({ "set": set })).unwrap();
    Experiment::load(TEXT, "test.toml", &overrides).map_err(|error| error.to_string())
}

fn result(set: &Value) -> PointResult {
    let plan = plan(set).unwrap();
    let mut rows: Vec<Row> = Vec::new();
    let mut keep = |new: Vec<Row>, _: _| rows.extend(new);
    assert!(execute(&plan, Vec::new(), 2, Shard::WHOLE, &Control::default(), &mut keep).unwrap());
    rows.sort_by_key(|row| row.run);
    summarise(&plan, &rows).remove(0)
}

fn flow(result: &PointResult, name: &str, metric: &str) -> f64 {
    let flow = result.flows.iter().find(|flow| flow.name == name).unwrap();
    flow.metrics.iter().find(|(found, _)| *found == metric).unwrap().1.value
}

fn link(result: &PointResult, metric: &str) -> f64 {
    let link = result.links.iter().find(|link| link.name == "link").unwrap();
    link.metrics.iter().find(|(found, _)| *found == metric).unwrap().1.value
}

/// Means over 30 s of the queueing delay of each class in milliseconds, and what a scalable flow gets for what a classic one
/// gets.
fn classes(result: &PointResult, round_trip_ms: f64) -> [f64; 3] {
    // Half of the round trip, and the packet itself.
    let base = round_trip_ms / 2.0 + 0.3;
    let queue = |name| flow(result, name, "one_way_delay_mean_s") * 1e3 - base;
    let share = flow(result, "scalable", "goodput_bps") / flow(result, "classic", "goodput_bps");
    [queue("classic"), queue("scalable"), share]
}

/// Five and five flows on 40 Mbit/s: a simulation that is not ours has 15.5 and 0.26 ms and a ratio of 1.20 at 25 ms, 13.0 and
/// 0.15 ms and 1.28 at 50 ms, with evenly spaced marks.
#[test]
fn a_dual_queue_keeps_scalable_delays_short_and_shares_alike() {
    for (round_trip, expected) in [(25.0, [15.5, 0.26, 1.20]), (50.0, [13.0, 0.15, 1.28])] {
        let result = result(&json!([["wired.rtt", format!("{round_trip} ms")]]));
        let got = classes(&result, round_trip);
        eprintln!(
            "{round_trip} {got:?} {} {}",
            link(&result, "link_utilisation"),
            link(&result, "queue_drops")
        );
        for ((got, expected), part) in got.into_iter().zip(expected).zip([0.15, 0.4, 0.2]) {
            assert!((got / expected - 1.0).abs() < part, "{round_trip} ms: {got} against {expected}");
        }
        assert!(link(&result, "link_utilisation") > 0.97);
    }
}

/// RFC 9331 section 4.3.1: in a shared queue of classic marks a scalable sender takes more than its share: it yields less to each.
#[test]
fn a_shared_queue_is_no_place_for_both() {
    let shared = result(
        &json!([["link.queue", { "discipline": "codel", "limit": "1000 packets" }], ["flows.classic.tcp", { "rfc": { "ecn": true } }]]),
    );
    let [_, _, share] = classes(&shared, 25.0);
    eprintln!("shared {share}");
    assert!(share > 2.0, "{share}");
}

#[test]
fn what_cannot_be_is_refused_by_name() {
    for (set, key) in [
        (json!([["link.queue.coupling", 0]]), "link.queue.coupling"),
        (json!([["link.queue.target", "0 s"]]), "link.queue.target"),
        (json!([["link.queue.l_min_th", "2 ms"]]), "link.queue.l_min_th"),
        (json!([["link.queue.ecn", false]]), "link.queue.ecn"),
        (json!([["link.queue.limit", "100 B"]]), "link.queue.limit"),
        (json!([["tcp.rfc.accurate_ecn", true]]), "tcp.rfc.accurate_ecn"),
        (json!([["flows.scalable.tcp.rfc", { "accurate_ecn": false }]]), "accurate_ecn"),
        (
            json!([["link.queue", { "discipline": "codel", "limit": 9, "coupling": 2 }]]),
            "link.queue.coupling",
        ),
    ] {
        let error = plan(&set).err().unwrap_or_else(|| panic!("{set} was taken"));
        assert!(error.contains(key), "{error}");
    }
}
