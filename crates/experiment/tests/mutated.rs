//! Scenarios that somebody has spoilt, run to their end: a result that can be, or one line. Never a panic, and
//! (with overflow checks, as in the profiles `dev` and `checked`) never a number that has wrapped around.
//!
//! `cargo test --profile checked -p crossfade-experiment --test all mutated -- --ignored --nocapture` is the long form.

use crossfade_experiment::{Control, Experiment, Shard, execute, summarise};
use crossfade_scenario::{Overrides, schema};
use rand::{RngExt, SeedableRng};
use rand_chacha::ChaCha8Rng;
use serde_json::{Value, json};
use std::collections::BTreeMap;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::atomic::Ordering;
use std::thread;
use std::time::{Duration, Instant};

const BASES: [&str; 10] = [
    r#"
        schema = 1
        run = { duration = "2000 slots", runs = 1 }
        channel = { model = "markov", p_e = 0.05, fd_t = 0.02 }
        link = { rate = "1.5 Mbit/s", packet_size = "1400 B" }
        tcp = { variant = "newreno", w_max = 24, rto = { fixed = "100 slots" } }
    "#,
    r#"
        schema = 1
        run = { duration = "40 s", warmup = "1 s", runs = 1 }
        channel = { model = "iid", p_e = 0.1 }
        link = { rate = "9600 bit/s", packet_size = "576 B", frame_size = "24 B", framing = { payload = "20 B" }, headers = { compressed = "3 B", ppp = "4 B" }, arq = { protocol = "rlp-is99", max_retransmissions = 3 } }
        tcp = { flavour = "ns2", variant = "tahoe", headers = "40 B", w_max = 4 }
    "#,
    r#"
        schema = 1
        run = { duration = "5 s", runs = 1 }
        channel = { model = "rayleigh", p_e = 0.02, fd_t = 0.05 }
        link = { rate = "2 Mbit/s", packet_size = "1500 B", delay = "10 ms", queue = { limit = "50 packets", discipline = "codel" } }
        reverse = { rate = "500 kbit/s", channel = { model = "iid", p_e = 0.01 } }
        wired = { rate = "10 Mbit/s", one_way_delay = "10 ms", queue = { limit = "40 packets", discipline = "red" } }
        tcp = { flavour = "rfc", variant = "cubic", w_max = 100 }
        [flows]
        bulk = { count = 2, start = "1 s", stagger = "100 ms", access_delay = "3 ms" }
        file = { traffic = "transfer", size = "50 kB" }
        voice = { traffic = "udp", rate = "80 kbit/s", on = "1 s", off = "1 s", times = "exponential" }
        web = { traffic = "arrivals", size = "3 kB", sizes = "pareto", arrivals_per_s = 5 }
    "#,
    r#"
        schema = 1
        run = { segments = 500, runs = 1 }
        channel = { model = "drop-list", drops = [3, 7, 100] }
        link = { rate = "1 Mbit/s", packet_size = "1000 B", frame_size = "100 B", arq = { protocol = "selective-repeat", window = 16 } }
        reverse = { rate = "1 Mbit/s", frame_size = "40 B", arq = { protocol = "go-back-n", window = 8 } }
        tcp = { flavour = "rfc", variant = "sack", w_max = 50, rfc = { profile = "linux" } }
    "#,
    r#"
        schema = 1
        run = { duration = "3000 slots", runs = 1 }
        channel = { model = "none" }
        link = { rate = "700 Gbit/s", packet_size = "120 B" }
        tcp = { variant = "reno", w_max = 24 }
        flows = { a = { traffic = "udp", rate = "900 Gbit/s" } }
    "#,
    r#"
        schema = 1
        methods = ["analysis", "analysis:bounds", "formula"]
        run = { duration = "1000 slots", runs = 1 }
        channel = { model = "markov", p_e = 0.01, fd_t = 0.01 }
        link = { rate = "1.5 Mbit/s", packet_size = "1400 B" }
        tcp = { variant = "tahoe", w_max = 12, rto = { fixed = "100 slots" } }
    "#,
    r#"
        schema = 2
        run = { duration = "3 s", warmup = "500 ms", runs = 1 }
        channel = { model = "iid", p_e = 0.001 }
        link = { rate = "10 Mbit/s", packet_size = "1500 B", queue = { discipline = "dualpi2", limit = "100 ms" } }
        wired = { rtt = "25 ms" }
        tcp = { variant = "sack", w_max = 200 }
        [flows]
        bulk = { tcp = { flavour = "quic", congestion = "bbr-v3" } }
        voice = { count = 2, tcp = { congestion = "prague" } }
        web = { tcp = { flavour = "quic", congestion = "cubic", quic = { probes = 1 } } }
    "#,
    r#"
        schema = 2
        run = { duration = "1 s", runs = 1 }
        mesh = { topology = "chain", hops = 4, mac = "nulling" }
        link = { packet_size = "2312 B" }
        tcp = { flavour = "ns2", variant = "newreno", cwnd_limit = { per_hop = 0.357 } }
        flows = { bulk = { traffic = "bulk", rate = "3 Mbit/s" } }
    "#,
    r#"
        schema = 2
        run = { duration = "500 ms", runs = 1 }
        cell = { preset = "lte", profile = "EVA", scheduler = "proportional-fair", prediction = { horizon = "2 slots" } }
        link = { packet_size = "1500 B", queue = { limit = "100 packets" } }
        reverse = { rate = "10 Mbit/s", delay = "8 ms" }
        wired = { rtt = "30 ms" }
        tcp = { flavour = "rfc", variant = "sack", w_max = 100 }
        [flows]
        bulk = { count = 2, radio = { mean_snr_db = { from = 3, to = 22 }, speed = "3 km/h" } }
        web = { radio = { mean_snr_db = 12, speed = "30 km/h" }, tcp = { congestion = "cubic" } }
    "#,
    r#"
        schema = 2
        run = { duration = "2 s", runs = 1 }
        channel = { model = "block-rayleigh", snr_db = 12, antennas = { correlation = "urban" } }
        phy = { scheme = "stbc-2", detector = "mmse-osic", modulation = "qpsk", symbol_rate = "8 kBd", combining = { stage = "stacked" } }
        link = { frame_size = "30 B", framing = { header = "readable" }, arq = { protocol = "rlp-nack", max_retransmissions = 3 } }
        wired = { one_way_delay = "100 ms" }
        tcp = { flavour = "ns2", variant = "sack", mss = "536 B", headers = "40 B", w_max = 20 }
    "#,
];

/// A run is given up, and counted so, after this time.
const PATIENCE: Duration = Duration::from_secs(3);

/// What goes on so long after that does not end, however busy the machine is.
const HANGS: Duration = Duration::from_secs(60);
/// A run that may take more than this is not begun.
const MOST_MEMORY: f64 = 500e6;

/// The dotted keys of a scenario, and the words that each takes.
fn keys() -> Vec<(String, Vec<Value>)> {
    let (root, mut found) = (schema(), Vec::new());
    collect(&root, &root, "", &mut found, 0);
    found.retain(|(key, _)| !key.starts_with("sweep") && !key.contains("file"));
    found
}

fn collect(root: &Value, at: &Value, key: &str, found: &mut Vec<(String, Vec<Value>)>, depth: u32) {
    let at = match at["$ref"].as_str() {
        Some(name) => root.pointer(name.trim_start_matches('#')).expect("a definition"),
        None => at,
    };
    let words = at["oneOf"].as_array().into_iter().chain(at["anyOf"].as_array()).flatten();
    let words = words.map(|word| word["const"].clone()).filter(|word| !word.is_null());
    let listed = at["enum"].as_array().into_iter().flatten().cloned();
    if !key.is_empty() {
        found.push((key.to_owned(), words.chain(listed).collect()));
    }
    if depth > 4 {
        return;
    }
    let join = |name: &str| if key.is_empty() { name.to_owned() } else { format!("{key}.{name}") };
    for (name, inner) in at["properties"].as_object().into_iter().flatten() {
        collect(root, inner, &join(name), found, depth + 1);
    }
    if at["additionalProperties"].is_object() {
        for name in ["bulk", "voice", "web"] {
            collect(root, &at["additionalProperties"], &join(name), found, depth + 1);
        }
    }
}

/// Something like what the key has: the unit is kept, as a rule.
fn near(old: &Value, draw: &mut ChaCha8Rng) -> Option<Value> {
    let number = NUMBERS[draw.random_range(0..NUMBERS.len())];
    match old {
        Value::String(text) => {
            let (_, unit) = text.split_once(' ').filter(|(number, _)| number.parse::<f64>().is_ok())?;
            Some(json!(format!("{number} {unit}")))
        }
        Value::Number(_) => serde_json::from_str(number).ok(),
        Value::Bool(old) => Some(json!(!old)),
        _ => None,
    }
}

/// The dotted keys that stand in a table, and their values.
fn leaves(key: &str, value: &Value, found: &mut Vec<(String, Value)>) {
    match value {
        Value::Object(table) => {
            for (name, inner) in table {
                leaves(&if key.is_empty() { name.clone() } else { format!("{key}.{name}") }, inner, found);
            }
        }
        value => found.push((key.to_owned(), value.clone())),
    }
}

const NUMBERS: [&str; 26] = [
    "0",
    "1",
    "2",
    "3",
    "5",
    "7",
    "10",
    "12",
    "20",
    "24",
    "40",
    "100",
    "400",
    "1000",
    "65535",
    "100000",
    "1000000",
    "4294967295",
    "1e-9",
    "0.001",
    "0.01",
    "0.5",
    "0.999999",
    "1e9",
    "1e15",
    "9007199254740993",
];

/// Something that the key may take, or may not.
fn value(words: &[Value], draw: &mut ChaCha8Rng) -> Value {
    const UNITS: [&str; 16] = [
        "slots", "ms", "s", "ns", "us", "h", "B", "kB", "MiB", "packets", "frames", "%", "dB", "bit/s",
        "Mbit/s", "Gbit/s",
    ];
    let number = NUMBERS[draw.random_range(0..NUMBERS.len())];
    match draw.random_range(0..10) {
        0..4 if !words.is_empty() => words[draw.random_range(0..words.len())].clone(),
        0..6 => json!(format!("{number} {}", UNITS[draw.random_range(0..UNITS.len())])),
        6 | 7 => serde_json::from_str(number).unwrap(),
        8 => [json!(true), json!(false), Value::Null, json!("unlimited"), json!(-1), json!(0.0)]
            [draw.random_range(0..6)]
        .clone(),
        _ => [json!([]), json!({}), json!([0, 1, 2]), json!(""), json!("x".repeat(300)), json!(u64::MAX)]
            [draw.random_range(0..6)]
        .clone(),
    }
}

/// What became of a scenario.
fn outcome(text: &str, overrides: &Overrides) -> &'static str {
    let experiment = match Experiment::load(text, "mutated.toml", overrides) {
        Ok(experiment) => experiment,
        Err(error) => {
            let line = error.to_string();
            assert!(!line.is_empty() && !line.contains(['\n', '\r']), "{line}");
            return "refused in one line";
        }
    };
    assert!(json!(experiment.describe()).is_object());
    if experiment.memory().0 > MOST_MEMORY {
        return "too large for the memory";
    }
    let control = Control::default();
    let mut rows = Vec::new();
    let done = thread::scope(|scope| {
        let run = scope.spawn(|| {
            execute(&experiment, Vec::new(), 1, Shard::WHOLE, &control, &mut |new, _| rows.extend(new))
        });
        let began = Instant::now();
        while !run.is_finished() {
            if began.elapsed() > PATIENCE {
                control.cancel.store(true, Ordering::Relaxed);
            }
            assert!(began.elapsed() < PATIENCE + HANGS, "it does not end");
            thread::sleep(Duration::from_micros(200));
        }
        run.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic))
    });
    // A result that cannot be is a bug, and said so.
    let done = done.unwrap_or_else(|error| panic!("{error}"));
    let results = summarise(&experiment, &rows);
    assert!(
        results.iter().flat_map(|result| &result.metrics).all(|(_, metric)| metric.value.is_finite()),
        "not finite"
    );
    match (done, rows.iter().any(|row| row.failure.is_some())) {
        (false, _) => "stopped after 3 s",
        (true, true) => "no result by a method, and why",
        (true, false) => "a result",
    }
}

/// What a scenario says, by dotted key.
fn written(text: &str) -> Vec<(String, Value)> {
    let plan = Experiment::load(text, "base.toml", &Overrides::default()).expect("it is right");
    let mut found = Vec::new();
    leaves("", &json!(plan.points.at(0).scenario), &mut found);
    found.retain(|(key, _)| !matches!(key.as_str(), "schema" | "run.runs"));
    found
}

/// Tries `count` mutated scenarios and counts what became of them.
fn trial(count: usize, seed: u64) -> BTreeMap<&'static str, usize> {
    let (keys, mut found) = (keys(), BTreeMap::new());
    assert!(keys.len() > 150, "{}", keys.len());
    let known: Vec<Vec<(String, Value)>> = BASES.map(written).into();
    for number in 0..count {
        let draw = &mut ChaCha8Rng::seed_from_u64(seed + number as u64);
        let base = draw.random_range(0..BASES.len());
        let (text, known) = (BASES[base], &known[base]);
        let mut set = Vec::new();
        for _ in 0..draw.random_range(1..4) {
            let (key, old) = &known[draw.random_range(0..known.len())];
            if let Some(value) = near(old, draw).filter(|_| draw.random_bool(0.7)) {
                set.push((key.clone(), value));
            } else {
                let (key, words) = &keys[draw.random_range(0..keys.len())];
                set.push((key.clone(), value(words, draw)));
            }
        }
        let overrides = Overrides { set, runs: Some(json!(1)), ..Overrides::default() };
        let became = catch_unwind(AssertUnwindSafe(|| outcome(text, &overrides)))
            .unwrap_or_else(|_| panic!("scenario {number}: {:?} in {text}", overrides.set));
        *found.entry(became).or_default() += 1;
    }
    found
}

#[test]
fn a_spoilt_scenario_gives_a_result_or_a_line() {
    let found = trial(60, 0);
    assert!(found["refused in one line"] > 10 && found["a result"] > 3, "{found:?}");
}

#[test]
#[ignore = "minutes: the long form"]
fn five_thousand_spoilt_scenarios() {
    let found = trial(5000, 1000);
    println!("5000 mutated scenarios, none failed: {found:?}");
}
