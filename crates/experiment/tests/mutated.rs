//! Tests of randomly mutated scenarios, which are run to their end: each gives a possible result or a one-line error,
//! never a panic, and (with overflow checks, as in the profiles `dev` and `checked`) never a number that wrapped
//! around.
//!
//! The long form is `cargo test --profile checked -p crossfade-experiment --test all mutated -- --ignored --nocapture`.

mod spoilt;

use crossfade_experiment::{ExecutionHandle, Experiment, Shard, execute, summarise};
use crossfade_scenario::{Overrides, schema};
use rand::{RngExt, SeedableRng};
use rand_chacha::ChaCha8Rng;
use serde_json::{Value, json};
use spoilt::{BASES, FILES};
use std::collections::BTreeMap;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::atomic::Ordering;
use std::thread;
use std::time::{Duration, Instant};

/// Ends of the keys that name a file.
const FILE_KEYS: [&str; 10] = [
    ".file",
    ".opportunities",
    ".delays",
    ".record",
    ".draws",
    ".rates",
    ".attenuation",
    ".table",
    ".policy",
    ".radio.trace",
];

/// Time after which a run is cancelled, and counted as stopped.
const PATIENCE: Duration = Duration::from_secs(3);

/// Time after which a cancelled run counts as endless, however loaded the machine is.
const HANGS: Duration = Duration::from_secs(60);
/// Estimated bytes of memory above which a scenario is not run.
const MOST_MEMORY: f64 = 500e6;

/// Dotted keys of a scenario, and the words that each accepts.
fn keys() -> Vec<(String, Vec<Value>)> {
    let (root, mut found) = (schema(), Vec::new());
    collect(&root, &root, "", &mut found, 0);
    found.retain(|(key, _)| !key.starts_with("sweep"));
    for (key, words) in &mut found {
        if FILE_KEYS.iter().any(|name| key.ends_with(name)) {
            *words = FILES.iter().map(|(name, _)| json!(name)).collect();
        }
    }
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

/// A value like `old`, mostly with the same unit; `None` for values without a number.
fn near(old: &Value, draw: &mut ChaCha8Rng) -> Option<Value> {
    let number = number(draw);
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

/// Adds the dotted keys below `key` that a table has, and their values.
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

/// A random number as text; one of four is 0.
fn number(draw: &mut ChaCha8Rng) -> &'static str {
    if draw.random_bool(0.25) { "0" } else { NUMBERS[draw.random_range(0..NUMBERS.len())] }
}

/// A random value, which the key may or may not accept.
fn value(words: &[Value], draw: &mut ChaCha8Rng) -> Value {
    const UNITS: [&str; 16] = [
        "slots", "ms", "s", "ns", "us", "h", "B", "kB", "MiB", "packets", "frames", "%", "dB", "bit/s",
        "Mbit/s", "Gbit/s",
    ];
    let number = number(draw);
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

/// Outcome of a mutated scenario, in words; panics if it is a bug.
fn outcome(text: &str, overrides: &Overrides, files: &[(&str, String)]) -> &'static str {
    let read = |name: &str| {
        let found = files.iter().find(|(known, _)| *known == name);
        found.map(|(_, text)| text.clone()).ok_or_else(|| "no such file".to_owned())
    };
    let experiment = match Experiment::load_with_files(text, "mutated.toml", overrides, &read) {
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
    let handle = ExecutionHandle::default();
    let mut rows = Vec::new();
    let done = thread::scope(|scope| {
        let run = scope.spawn(|| {
            execute(&experiment, Vec::new(), 1, Shard::WHOLE, &handle, &mut |new, _| rows.extend(new))
        });
        let began = Instant::now();
        while !run.is_finished() {
            if began.elapsed() > PATIENCE {
                handle.cancel.store(true, Ordering::Relaxed);
            }
            assert!(began.elapsed() < PATIENCE + HANGS, "it does not end");
            thread::sleep(Duration::from_micros(200));
        }
        run.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic))
    });
    // An impossible result is an error, which is a bug.
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

/// Values of a resolved scenario by dotted key.
fn written(text: &str) -> Vec<(String, Value)> {
    let read = |name: &str| {
        let found = FILES.iter().find(|(known, _)| *known == name);
        Ok(found.expect("it is there").1.to_owned())
    };
    let plan = Experiment::load_with_files(text, "base.toml", &Overrides::default(), &read)
        .unwrap_or_else(|error| panic!("{error}: {text}"));
    let mut found = Vec::new();
    leaves("", &json!(plan.points.at(0).scenario), &mut found);
    found.retain(|(key, _)| !matches!(key.as_str(), "schema" | "run.runs"));
    found
}

/// Files of scenarios, of which one in three has another cell, or a line more or less.
fn files(draw: &mut ChaCha8Rng) -> Vec<(&'static str, String)> {
    const CELLS: [&str; 12] = [
        "",
        "x",
        "-1",
        "nan",
        "inf",
        "1e400",
        "-0.0",
        "1e-320",
        "\u{0}",
        "\"",
        "0,0",
        "18446744073709551616",
    ];
    FILES
        .iter()
        .map(|&(name, text)| {
            let mut lines: Vec<Vec<&str>> = text.lines().map(|line| line.split(',').collect()).collect();
            if draw.random_bool(0.33) {
                let line = draw.random_range(0..lines.len());
                let cell = draw.random_range(0..lines[line].len());
                match draw.random_range(0..8) {
                    0 => drop(lines.remove(line)),
                    1 => lines.push(lines[line].clone()),
                    2 => lines.truncate(line),
                    3 => drop(lines[line].remove(cell)),
                    4 | 5 => lines[line][cell] = CELLS[draw.random_range(0..CELLS.len())],
                    _ => lines[line][cell] = number(draw),
                }
            }
            let lines: Vec<String> = lines.iter().map(|cells| cells.join(",") + "\n").collect();
            let text = lines.concat();
            (name, text)
        })
        .collect()
}

/// Runs `count` mutated scenarios, and counts their outcomes.
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
        let files = files(draw);
        let became = catch_unwind(AssertUnwindSafe(|| outcome(text, &overrides, &files)))
            .unwrap_or_else(|_| panic!("scenario {number}: {:?} with {files:?} in {text}", overrides.set));
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
