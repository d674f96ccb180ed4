//! Snapshots of plans, results and row keys, byte for byte, as the interface passes them on. A change of row keys
//! requires a new results version.

use crate::common::shipped_scenarios;
use crossfade_experiment::{ExecutionHandle, Experiment, PointResult, Shard, execute, summarise};
use crossfade_scenario::Overrides;
use insta::assert_snapshot;
use serde_json::{Map, Value, json};
use sha2::{Digest, Sha256};
use std::fmt::Write as _;
use std::fs;
use std::path::Path;

/// Text of the plan of a scenario and of its results, a line each.
fn shown(text: &str, overrides: Value, of_result: impl Fn(&PointResult) -> Value) -> String {
    let overrides: Overrides = serde_json::from_value(overrides).unwrap();
    let plan = Experiment::load(text, "file", &overrides).unwrap();
    let mut rows = Vec::new();
    assert!(
        execute(&plan, vec![], 2, Shard::WHOLE, &ExecutionHandle::default(), &mut |new, _| rows.extend(new))
            .unwrap()
    );
    let mut lines = vec![json!(plan.describe())];
    lines.extend(summarise(&plan, &rows).iter().map(of_result));
    let first = &plan.row_key(0, plan.methods[0], 0);
    let row = rows.iter().find(|row| row.key == *first).unwrap();
    let names = row.metrics.names().joined().split('\n').map(str::to_owned);
    lines
        .push(names.zip(row.metrics.values().iter().map(|value| json!(value))).collect::<Map<_, _>>().into());
    let lines: Vec<String> = lines.iter().map(Value::to_string).collect();
    lines.join("\n") + "\n"
}

#[test]
fn the_quickstart() {
    if crossfade_core::testing::is_salted() {
        return;
    }
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../python/crossfade/scenarios/quickstart.toml");
    let methods = ["simulation", "analysis", "analysis:bounds", "analysis:paper-bounds", "formula"];
    let overrides = json!({
        "set": [["run.duration", "4000 slots"]], "runs": 2, "over": [["channel.p_e", [0.01, 0.1]]],
        "methods": methods,
    });
    assert_snapshot!(shown(&fs::read_to_string(path).unwrap(), overrides, |result| json!(result)));
}

/// Snapshot of every kind of traffic over a wired segment, a queue with AQM, and a link with frames.
#[test]
fn a_network() {
    if crossfade_core::testing::is_salted() {
        return;
    }
    let text = r#"
        schema = 1
        methods = ["simulation"]
        run = { duration = "40 s", warmup = "2 s", precision = "90 %", max_runs = 21 }
        channel = { model = "rayleigh", p_e = 0.02, fd_t = 0.05 }
        wired = { rate = "200 kbit/s", rtt = "20 ms", queue = { discipline = "codel", limit = "40 packets" } }
        tcp = { flavour = "rfc", variant = "cubic", w_max = 40, rfc = { ecn = true } }
        [link]
        rate = "100 kbit/s"
        packet_size = "500 B"
        frame_size = "60 B"
        framing = { payload = "50 B" }
        arq = { protocol = "selective-repeat", window = 16, max_retransmissions = 3 }
        queue = { limit = "30 packets" }
        [reverse]
        rate = "50 kbit/s"
        channel = { model = "iid", p_e = 0.01 }
        [flows]
        bulk = { count = 2, start = "1 s", stagger = "1 s", access_delay = "3 ms" }
        file = { traffic = "transfer", size = "50 kB" }
        web = { traffic = "arrivals", arrivals_per_s = 0.5, size = "3 kB", sizes = "pareto" }
        voice = { traffic = "udp", rate = "8 kbit/s", on = "1 s", off = "1 s" }
    "#;
    assert_snapshot!(shown(text, json!({}), |result| json!(result)));
}

/// Snapshot of the messages of methods that give no result.
#[test]
fn refusals() {
    if crossfade_core::testing::is_salted() {
        return;
    }
    let text = r#"
        schema = 1
        methods = ["simulation", "analysis", "analysis:bounds", "formula", "formula:square-root"]
        run = { duration = "1000 slots", runs = 1 }
        channel = { model = "iid", p_e = 0.01 }
        link = { rate = "1.5 Mbit/s", packet_size = "1400 B" }
        tcp = { variant = "reno", w_max = 24, rto = { fixed = "100 slots" } }
    "#;
    let drops = json!({ "model": "drop-list", "p_e": null, "drops": [3, 9] });
    let ns2 = json!({ "flavour": "ns2", "rto": { "fixed": null } });
    let over = json!([
        ["tcp,channel", [
            [{}, {}], [{ "rto": { "backoff": true } }, {}], [{ "rto": { "fixed": "100.5 slots" } }, {}], [ns2, {}],
            [{}, drops], [{ "gate": "queue" }, {}], [{ "w_max": 1 }, {}],
            [{}, { "model": "markov", "fd_t": 0.1, "clock": "transmission" }],
        ]],
        ["reverse", [{}, { "delay": "1 slots" }, { "rate": "1 Mbit/s" }]]
    ]);
    assert_snapshot!(shown(text, json!({ "over": over }), |result| {
        json!([result.axes, result.method, result.warnings, result.metrics.len(), result.rows])
    }));
}

/// Snapshot of the shipped scenarios: points, rows, the keys of the first and the last row, and a hash over all keys.
#[test]
fn row_keys_of_the_shipped_scenarios() {
    let mut lines = String::new();
    for (name, path, text) in shipped_scenarios() {
        let read =
            |name: &str| fs::read_to_string(path.with_file_name(name)).map_err(|error| error.to_string());
        let plan = Experiment::load_with_files(&text, "file", &Overrides::default(), &read).unwrap();
        let keys = plan.keys();
        let hash: Vec<_> = Sha256::digest(keys.concat()).iter().map(|byte| format!("{byte:02x}")).collect();
        let [first, last] = [keys.first(), keys.last()].map(|key| key.map_or("", String::as_str));
        let (points, rows) = (plan.points.len(), keys.len());
        let _ = writeln!(lines, "{name}: {points} points, {rows} rows, {first} .. {last}, {}", hash.concat());
    }
    assert_snapshot!(lines);
}
