//! Snapshots of the facts, warnings and results of every kind of network: of each shipped scenario, and of some
//! scenarios with features that no shipped one has. Facts and results appear as hashes, texts for people in full.

use crate::common::{assert_kept, usual_scenarios};
use crossfade_core::testing::{is_long, is_salted, long_or};
use crossfade_experiment::{
    ExecutionHandle, Experiment, MAIN_METRICS, MAIN_METRICS_OF_SECONDS, METRICS, PARTS, PointResult, Row,
    Shard, USUAL_METRIC, execute, link_events, samples, summarise,
};
use crossfade_scenario::Overrides;
use insta::assert_snapshot;
use serde::Serialize;
use serde_json::{Map, Value, json};
use sha2::{Digest, Sha256};
use std::fmt::Write as _;
use std::fs;
use std::path::{Path, PathBuf};
use std::sync::atomic::AtomicBool;

/// Duration of the runs: few slots show every metric and take little time.
const SLOTS: &str = "200 slots";

const METHODS: [&str; 8] = [
    "analysis",
    "analysis:bounds",
    "analysis:paper-bounds",
    "formula",
    "formula:square-root",
    "phy",
    "simulation",
    "live",
];

/// Scenarios of links, meshes and cells with features that no shipped scenario has.
const OTHERS: [(&str, &str); 7] = [
    (
        "links with all that a link can have",
        r#"
        run = { duration = "2 s" }
        channel = { model = "rayleigh", p_e = 0.1, speed = "3 km/h", carrier = "1 GHz" }
        wired = { rate = "2 Mbit/s", rtt = "20 ms", queue = { limit = "2 bdp" } }
        tcp = { variant = "cubic", w_max = 400 }
        flows = { a = { count = 2 }, web = { traffic = "arrivals", arrivals_per_s = 5, size = "3 kB" } }
        [link]
        rate = "1 Mbit/s"
        packet_size = "500 B"
        frame_size = "60 B"
        framing = { payload = "50 B" }
        arq = { protocol = "selective-repeat", window = 16, max_retransmissions = 3 }
        jitter = { std = "1 ms" }
        [reverse]
        rate = "50 kbit/s"
        shaper = { rate = "40 kbit/s", burst = "400 B" }
        aggregation = { period = "5 ms", thinning = 2 }
        channel = { model = "iid", p_e = 0.1 }
        "#,
    ),
    (
        "a link beside a program",
        r#"
        run = { duration = "2 s" }
        channel = { model = "iid", p_e = 0.01 }
        link = { rate = "1 Mbit/s", packet_size = "500 B", delay = "3 ms", policer = { rate = "900 kbit/s", burst = "5 kB" } }
        tcp = { variant = "sack", w_max = 20 }
        flows = { a = {}, program = { traffic = "outside" } }
        "#,
    ),
    (
        "a star of saturated stations",
        r#"
        methods = ["simulation", "formula"]
        run = { duration = "2 s" }
        link = { packet_size = "1000 B" }
        mesh = { topology = "star", stations = 4, spacing = "100 m" }
        flows = { up = { traffic = "saturated", from = "others", to = 0 } }
        "#,
    ),
    (
        "a mesh with shadowing",
        r#"
        run = { duration = "2 s" }
        link = { packet_size = "1000 B" }
        tcp = { variant = "sack", w_max = 20 }
        mesh = { topology = "chain", hops = 5, routing = "shortest-path", spacing = "200 m", reception = "sinr", mac = "nulling" }
        flows = { a = { from = 0, to = 5 }, b = { from = 5, to = 0, traffic = "udp", rate = "10 kbit/s" } }
        "#,
    ),
    (
        "a cell behind a wired segment",
        r#"
        run = { duration = "2 s" }
        link = { packet_size = "500 B", queue = { limit = "30 packets" } }
        wired = { rate = "20 Mbit/s", rtt = "20 ms" }
        reverse = { rate = "1 Mbit/s", delay = "2 ms", channel = { model = "iid", p_e = 0.01 } }
        tcp = { variant = "cubic", w_max = 100 }
        cell = { preset = "lte", scheduler = "proportional-fair", prediction = { nmse = 0.001, horizon = "5 slots" } }
        [flows]
        near = { count = 2, radio = { mean_snr_db = 20, speed = "3 km/h" } }
        far = { radio = { mean_snr_db = 5, speed = "200 km/h" } }
        voice = { traffic = "udp", rate = "8 kbit/s", radio = { mean_snr_db = -20 } }
        "#,
    ),
    (
        "a cell of one",
        r#"
        run = { duration = "2 s" }
        link = { packet_size = "500 B" }
        tcp = { variant = "sack", w_max = 100 }
        cell = { radio = { mean_snr_db = 10 } }
        "#,
    ),
    (
        "a cell with an uplink",
        r#"
        run = { duration = "2 s" }
        link = { packet_size = "500 B" }
        wired = { rtt = "10 ms" }
        tcp = { variant = "cubic", w_max = 100 }
        cell = { preset = "lte", uplink = { pattern = "DDDU", snr_offset_db = -30, scheduler = "round-robin" } }
        flows = { a = { count = 2 }, b = { traffic = "arrivals", arrivals_per_s = 5, size = "3 kB" } }
        "#,
    ),
];

/// A scenario whose facts and results are recorded.
struct Network<'a> {
    name: String,
    text: String,
    /// Folder of the files that the scenario names.
    folder: &'a Path,
}

impl Network<'_> {
    fn load(&self, text: &str, overrides: &Value) -> Result<Experiment, String> {
        let overrides: Overrides = serde_json::from_value(overrides.clone()).unwrap();
        let read = |name: &str| fs::read_to_string(self.folder.join(name)).map_err(|error| error.to_string());
        Experiment::load_with_files(text, "file", &overrides, &read).map_err(|error| error.to_string())
    }

    /// Plan of the first point alone, with short runs by `method`.
    fn short(&self, first: &Map<String, Value>, method: &str) -> Result<Experiment, String> {
        let mut set: Vec<Value> = first.iter().map(|(key, value)| json!([key, value])).collect();
        set.retain(|pair| !["schema", "methods", "run"].contains(&pair[0].as_str().unwrap()));
        let run = if method == "phy" { json!({ "frames": 10 }) } else { json!({ "duration": SLOTS }) };
        set.push(json!(["run", run]));
        self.load("schema = 2", &json!({ "set": set, "runs": 2, "methods": [method] }))
    }

    /// Text of all facts, warnings and results of the scenario.
    fn told(&self) -> String {
        let plan = self.load(&self.text, &json!({})).unwrap_or_else(|error| panic!("{}: {error}", self.name));
        let said = json!(plan.describe());
        let mut text = format!("== {}\n", self.name);
        let kind = said["network"].as_str().unwrap();
        let _ = writeln!(text, "{kind}: {}", hash(&said[kind]));
        let _ = writeln!(text, "memory: {:.6e}", plan.memory().0);
        lines(&mut text, "warning", &plan.warnings());
        let Value::Object(first) = said["scenario"].clone() else { unreachable!("a table") };
        let first = without_counts(first);
        let mut simulated = None;
        for method in METHODS {
            match self.short(&first, method) {
                Ok(short) if method == "simulation" => simulated = Some(short),
                Ok(short) => {
                    let _ = writeln!(text, "{method}: taken");
                    if method == "formula" {
                        results(&mut text, &short, &rows(&short));
                    }
                }
                Err(error) => {
                    let _ = writeln!(text, "{method}: {error}");
                }
            }
        }
        let Some(short) = simulated else { return text };
        let rows = rows(&short);
        let [row, _] = &rows[..] else { panic!("{}: {} rows", self.name, rows.len()) };
        let names: Vec<&str> = row.metrics.names().joined().split('\n').collect();
        let _ = writeln!(text, "row: {} metrics {}", names.len(), hash(&names));
        results(&mut text, &short, &rows);
        let _ = writeln!(text, "events: {}", self.events(&first));
        text
    }

    /// Hash of the samples and link events of a short run.
    fn events(&self, first: &Map<String, Value>) -> String {
        let mut sampled = first.clone();
        sampled.retain(|key, _| !["schema", "methods", "run"].contains(&key.as_str()));
        let mut set: Vec<Value> = sampled.iter().map(|(key, value)| json!([key, value])).collect();
        set.push(json!(["run", { "duration": SLOTS, "sample": "20 slots" }]));
        let plan = self.load("schema = 2", &json!({ "set": set, "runs": 1 })).unwrap();
        let mut texts = String::new();
        let cancel = AtomicBool::new(false);
        samples(&plan, 0, &mut |_, text| texts.push_str(text), &cancel).unwrap();
        link_events(&plan, 0, &mut |_, text| texts.push_str(text), &cancel).unwrap();
        hash(&texts)
    }
}

/// Removes the number of arriving flows from a resolved scenario, since a scenario must not set it.
fn without_counts(mut scenario: Map<String, Value>) -> Map<String, Value> {
    let flows = scenario.get_mut("flows").and_then(Value::as_object_mut).into_iter().flatten();
    for (_, flow) in flows.filter(|(_, flow)| flow["traffic"] == "arrivals") {
        flow.as_object_mut().unwrap().remove("count");
    }
    scenario
}

fn rows(plan: &Experiment) -> Vec<Row> {
    let mut rows = Vec::new();
    execute(plan, vec![], 1, Shard::WHOLE, &ExecutionHandle::default(), &mut |new, _| rows.extend(new))
        .unwrap();
    rows
}

fn results(text: &mut String, plan: &Experiment, rows: &[Row]) {
    for result in summarise(plan, rows) {
        parts(text, &result);
        lines(text, "doubt", &result.warnings);
        let _ = writeln!(text, "result: {}", hash(&result));
    }
}

/// Writes the parts of a result, and the number of metrics of each.
fn parts(text: &mut String, result: &PointResult) {
    let said = json!(result);
    for kind in ["flows", "links", "nodes", "users"] {
        let Some(parts) = said[kind].as_array().filter(|parts| !parts.is_empty()) else { continue };
        let part = |part: &Value| {
            let name = ["name", "node", "user"].iter().find_map(|key| part.get(*key)).unwrap();
            format!("{name} {}", part.as_object().unwrap().len() - 1)
        };
        let parts: Vec<String> = parts.iter().map(part).collect();
        let _ = writeln!(text, "{kind}: {}", parts.join(", "));
    }
}

fn lines(text: &mut String, what: &str, lines: &[String]) {
    for line in lines {
        let _ = writeln!(text, "{what}: {line}");
    }
}

fn hash(value: &impl Serialize) -> String {
    let hash = Sha256::digest(serde_json::to_string(value).unwrap());
    hash[..12].iter().fold(String::new(), |text, byte| text + &format!("{byte:02x}"))
}

/// True if numbers and messages are those of the snapshots; a build without live runs has other messages.
fn is_as_kept() -> bool {
    !is_salted() && cfg!(all(target_os = "linux", feature = "live"))
}

#[test]
fn what_is_said_of_the_shipped_networks() {
    if !is_as_kept() {
        return;
    }
    let told = |(name, path, text): (String, PathBuf, String)| {
        let told = Network { name: name.clone(), text, folder: path.parent().unwrap() }.told();
        (name, told)
    };
    let scenarios = usual_scenarios().into_iter().step_by(long_or(1, 2));
    let parts: Vec<(String, String)> = scenarios.map(told).collect();
    if is_long() {
        let text: String = parts.into_iter().map(|(_, told)| told).collect();
        assert_snapshot!(text);
    } else {
        let file = include_str!("snapshots/all__networks__what_is_said_of_the_shipped_networks.snap");
        assert_kept(file, "== ", &parts);
    }
}

#[test]
fn what_is_said_of_other_networks() {
    if !is_as_kept() {
        return;
    }
    let of = |(name, text): (&str, &str)| {
        let (name, text) = (name.to_owned(), format!("schema = 2\n{text}"));
        Network { name, text, folder: Path::new("/") }.told()
    };
    assert_snapshot!(OTHERS.map(of).concat());
}

#[test]
fn what_a_person_sees_first_is_published() {
    let shown = PARTS
        .iter()
        .flat_map(|kind| kind.shown)
        .chain(&MAIN_METRICS)
        .chain(&MAIN_METRICS_OF_SECONDS)
        .chain([&USUAL_METRIC]);
    let known: Vec<&str> = METRICS.iter().map(|metric| metric.name).collect();
    assert_eq!(shown.filter(|name| !known.contains(name)).count(), 0);
}
