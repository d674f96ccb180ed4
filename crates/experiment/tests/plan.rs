//! Tests of plans from texts: defaults, row keys, overrides, and invalid texts.

use crossfade_experiment::{
    ExecutionHandle, Experiment, Progress, Schedule, Shard, Task, execute, make, summarise,
};
use crossfade_scenario::{Method, Overrides, StopRule, parse_value, schema};
use proptest::prelude::*;
use serde_json::{Value, json};

const PAPER: &str = r#"
    schema = 1
    run = { duration = "1000 slots" }
    channel = { model = "markov", p_e = 0.01, fd_t = 0.01 }
    link = { rate = "1.5 Mbit/s", packet_size = "1400 B" }
    tcp = { variant = "reno", w_max = 24, rto = { fixed = "100 slots" } }
"#;

const NS2: &str = r#"
    schema = 1
    run = { segments = 1000 }
    channel = { model = "iid", p_e = 0.01 }
    link = { rate = "10 Mbit/s", packet_size = "1000 B", delay = "20 ms" }
    reverse = { rate = "10 Mbit/s", delay = "20 ms" }
    tcp = { flavour = "ns2", variant = "sack", w_max = 64 }
"#;

fn plan(text: &str, overrides: Value) -> Experiment {
    let overrides: Overrides = serde_json::from_value(overrides).unwrap();
    Experiment::load(text, "test.toml", &overrides).unwrap()
}

fn key(text: &str, overrides: Value) -> String {
    let plan = plan(text, overrides);
    plan.row_key(0, Method::Simulation, 0)
}

/// Dotted keys of the schema with their defaults, for defaults that do not depend on other keys.
fn defaults(schema: &Value, key: &str) -> Vec<(String, Value)> {
    let own = schema.get("default").map(|value| (key.to_owned(), value.clone()));
    let properties = schema["properties"].as_object().into_iter().flatten();
    let inner = properties.flat_map(|(name, property)| {
        defaults(property, &if key.is_empty() { name.clone() } else { format!("{key}.{name}") })
    });
    own.into_iter().chain(inner).collect()
}

#[test]
fn a_default_that_is_written_out_changes_nothing() {
    let schema = schema();
    let defaults = defaults(&schema, "");
    assert!(defaults.len() >= 8, "{defaults:?}");
    let resolved = json!(plan(PAPER, json!({})).describe())["scenario"].clone();
    // A file of schema version 1 without a flavour has one written out, and a figure's keys exist only if the file has
    // a figure.
    let is_asked = |name: &str| name != "tcp.flavour" && !name.starts_with("figure.");
    for (name, default) in defaults.iter().filter(|(name, _)| is_asked(name)) {
        let found = name.split('.').try_fold(&resolved, |value, part| value.get(part));
        assert_eq!(found, Some(default), "{name}: the schema says otherwise");
        assert_eq!(key(PAPER, json!({ "set": [[name, default]] })), key(PAPER, json!({})), "{name}");
    }
    // The resolved scenario, used as overrides, gives the same row key.
    for text in [PAPER, NS2] {
        let resolved = json!(plan(text, json!({})).describe())["scenario"].clone();
        let tables: Vec<Value> = resolved.as_object().unwrap().iter().map(|(k, v)| json!([k, v])).collect();
        assert_eq!(key(text, json!({ "set": tables })), key(text, json!({})));
    }
    let written = json!({ "set": [
        ["reverse", { "delay": "0 ms", "queue": { "limit": "unlimited" }, "channel": { "model": "none" } }],
        ["tcp", { "flavour": "paper", "headers": "40 B", "mss": "1.36 kB", "gate": "slot" }],
        ["tcp", { "initial_ssthresh": 24, "limited_transmit": false, "rto": { "backoff": false } }],
        ["link.rate", "1500 kbit/s"],
        ["channel", { "p_e": "1 %", "clock": "slot" }],
    ] });
    assert_eq!(key(PAPER, written), key(PAPER, json!({})));
    let written = json!({ "set": [
        ["tcp", { "headers": "0 B", "mss": "1000 B", "gate": "queue", "limited_transmit": true }],
        ["tcp.rto", { "min": "0.2 s", "initial": "3 s", "granularity": "10 ms" }],
        ["tcp.rto", { "max": "1 min", "backoff": true }],
    ] });
    assert_eq!(key(NS2, written), key(NS2, json!({})));
}

#[test]
fn a_run_lasts_100000_slots_unless_something_else_is_said() {
    let default = json!({ "set": [["run.duration", null]] });
    let written = json!({ "set": [["run.duration", "100000 slots"]] });
    assert_eq!(key(PAPER, default), key(PAPER, written));
}

/// Windows in bytes, packets or segments with the same meaning give the same row key.
#[test]
fn windows_in_bytes_and_packets_by_their_segments() {
    let same = |set: Value, plain: Value| {
        assert_eq!(key(PAPER, json!({ "set": set })), key(PAPER, json!({ "set": plain })), "{set}");
    };
    same(json!([["tcp.w_max", "33 kB"]]), json!([["tcp.w_max", 24]]));
    same(json!([["tcp.w_max", null]]), json!([["tcp.w_max", 48]]));
    same(json!([["link.packet_size", null], ["tcp.mss", "1360 B"]]), json!([]));
    same(json!([["tcp.w_max", "100 B"]]), json!([["tcp.w_max", 1]]));
}

/// With `run.count`, runs are made until a metric has reached a sum.
#[test]
fn a_count_ends_the_runs() {
    let asked = plan(PAPER, json!({ "set": [["run.count", 100]] }));
    let mut rows = Vec::new();
    assert!(
        execute(&asked, vec![], 2, Shard::WHOLE, &ExecutionHandle::default(), &mut |new, _| rows.extend(new))
            .unwrap()
    );
    rows.sort_by_key(|row| row.run);
    let errors: Vec<f64> = rows.iter().map(|row| row.metrics.get("frame_errors").unwrap()).collect();
    let sum: f64 = errors.iter().sum();
    assert!(sum >= 100.0 && sum - errors.last().unwrap() < 100.0, "{errors:?}");
    assert_eq!(summarise(&asked, &rows)[0].runs, errors.len() as u64);
    assert_eq!(
        json!(asked.describe())["stop"],
        json!({ "count": 100, "max_runs": 1000, "metric": "frame_errors" })
    );
    assert_eq!(rows[0].key, key(PAPER, json!({})), "a stop rule has no part in the identity");
    let few = plan(PAPER, json!({ "set": [["run", { "count": 1_000_000, "max_runs": 20 }]] }));
    assert!(summarise(&few, &rows[..0])[0].warnings[0].contains("before frame_errors came to 1000000"));
    let wrong: Overrides =
        serde_json::from_value(json!({ "set": [["run", { "count": 9, "metric": "timeout" }]] })).unwrap();
    let error = Experiment::load(PAPER, "x", &wrong).unwrap_err().to_string();
    assert!(error.starts_with("run.metric = \"timeout\": must be one of goodput_bps"), "{error}");
    assert!(error.ends_with("did you mean \"timeouts\"?"), "{error}");
}

#[test]
fn what_decides_results_is_in_the_key() {
    let set = |key: &str, value: Value| json!({ "set": [[key, value]] });
    let different = [
        json!({}),
        json!({ "seed": 2 }),
        set("run.duration", json!("1001 slots")),
        set("run.warmup", json!("1 slots")),
        set("run", json!({ "duration": null, "segments": 1000 })),
        set("channel.p_e", json!(0.02)),
        set("channel.fd_t", json!(0.02)),
        set("channel.clock", json!("transmission")),
        set("channel.model", json!("rayleigh")),
        set("channel", json!({ "p_e": null, "fading_margin_db": 20 })),
        set("channel", json!({ "fd_t": null, "mean_burst": 5 })),
        set("channel", json!({ "model": "none", "p_e": null, "fd_t": null })),
        set("channel", json!({ "model": "drop-list", "p_e": null, "fd_t": null, "drops": [1] })),
        set("link.rate", json!("2 Mbit/s")),
        set("link.packet_size", json!("1000 B")),
        set("link.delay", json!("1 ms")),
        set("link.queue.limit", json!("5 packets")),
        set("reverse.rate", json!("1 Mbit/s")),
        set("reverse.delay", json!("1 ms")),
        set("reverse.queue.limit", json!("5 packets")),
        set("reverse.channel", json!({ "model": "iid", "p_e": 0.1 })),
        set("tcp.flavour", json!("ns2")),
        set("tcp.variant", json!("newreno")),
        set("tcp.w_max", json!(25)),
        set("tcp.dupthresh", json!(1)),
        set("tcp.initial_window", json!(2)),
        set("tcp.initial_ssthresh", json!(12)),
        set("tcp.headers", json!("20 B")),
        set("tcp.ack_size", json!("60 B")),
        set("tcp.sack_block_size", json!("10 B")),
        set("tcp.gate", json!("queue")),
        set("tcp.rto.fixed", json!("50 slots")),
        set("tcp.rto.backoff", json!(true)),
        set("tcp.rto", json!({ "backoff": true, "max": "5 s" })),
    ];
    let mut keys: Vec<String> = different.iter().map(|overrides| key(PAPER, overrides.clone())).collect();
    assert!(keys.iter().all(|key| key.len() == 32 && key.bytes().all(|digit| digit.is_ascii_hexdigit())));
    keys.sort();
    keys.dedup();
    assert_eq!(keys.len(), different.len());

    for same in [
        set("title", json!("another")),
        set("methods", json!(["simulation"])),
        set("run.seed", json!(1)),
        json!({ "runs": 3 }),
        json!({ "precision": 0.02 }),
        json!({ "over": [["channel.p_e", [0.01]]] }),
    ] {
        assert_eq!(key(PAPER, same.clone()), key(PAPER, json!({})), "{same}");
    }
}

#[test]
fn keys_differ_between_runs_and_are_listed_once() {
    let plan = plan(PAPER, json!({ "runs": 3, "over": [["channel.p_e", [0.1, "10 %", 0.2]]] }));
    let mut keys = plan.keys();
    assert_eq!(keys.len(), 6, "two of three points are equal");
    assert_eq!(keys[1], plan.row_key(1, Method::Simulation, 1));
    keys.sort();
    keys.dedup();
    assert_eq!(keys.len(), 6);
    assert_eq!(plan.points.id(0), plan.points.id(1));
    assert_ne!(plan.points.id(0), plan.points.id(2));
}

#[test]
fn overrides_replace_the_stop_rule_of_the_file() {
    let text =
        PAPER.replace("\"1000 slots\"", "\"1000 slots\", precision = \"5 %\", max_runs = 20, seed = 9");
    let rule = |relative| StopRule::Precision { metric: "goodput_bps".into(), relative, max_runs: 20 };
    assert_eq!(plan(&text, json!({})).stop, rule(0.05));
    assert_eq!(plan(&text, json!({ "runs": 4 })).stop, StopRule::Runs(4));
    let one_percent = plan(&text, json!({ "precision": "1%" }));
    assert_eq!(one_percent.stop, rule(0.01));
    assert_eq!((one_percent.seed, plan(&text, json!({ "seed": 3 })).seed), (9, 3));
    assert_eq!(plan(PAPER, json!({})).stop, StopRule::Runs(10));
}

#[test]
fn a_plan_describes_itself() {
    let text =
        format!("{PAPER}[sweep]\n\"tcp.variant\" = \"tahoe,reno\"\nchannel.p_e = \"log:0.01:0.1:2\"\n");
    let plan = plan(&text, json!({ "set": [["title", "x"]], "over": [["tcp.w_max", [3]]] }));
    let described = json!(plan.describe());
    assert_eq!(described["axes"], json!(["tcp.variant", "channel.p_e", "tcp.w_max"]));
    assert_eq!(described["steps"], json!({ "tcp.variant": 2, "channel.p_e": 2, "tcp.w_max": 1 }));
    assert_eq!(
        described["points"][1]["axes"],
        json!({ "tcp.variant": "tahoe", "channel.p_e": 0.1, "tcp.w_max": 3 })
    );
    assert_eq!(described["scenario"]["tcp"]["mss"], json!("1360 B"));
    assert_eq!(described["scenario"]["title"], json!("x"));
    assert_eq!((&described["seed"], &described["stop"]), (&json!(1), &json!({ "runs": 10 })));
    let warnings = described["warnings"].as_array().unwrap();
    assert!(warnings.len() == 1 && warnings[0].as_str().unwrap().contains("tcp.w_max (3)"), "{warnings:?}");
}

#[test]
fn methods_among_the_axes_are_the_methods() {
    let text = format!("{PAPER}\n[sweep]\nmethods = [\"analysis\", \"simulation\"]\n\"tcp.w_max\" = [6, 24]");
    let listed = format!("methods = [\"formula\"]\n{PAPER}");
    let error = |text: &str, overrides: Value| {
        let overrides: Overrides = serde_json::from_value(overrides).unwrap();
        Experiment::load(text, "test.toml", &overrides).unwrap_err().to_string()
    };
    let both = [Method::AnalysisExact, Method::Simulation];
    assert_eq!(plan(&text, json!({})).methods, both);
    assert_eq!(plan(&text, json!({})).axes, ["tcp.w_max"]);
    assert_eq!(plan(&text, json!({})).points.len(), 2);
    assert_eq!(plan(&text, json!({ "over": [["methods", "formula"]] })).methods, [Method::Formula]);
    assert_eq!(plan(&text, json!({ "methods": ["formula"] })).methods, [Method::Formula]);
    assert_eq!(plan(&listed, json!({ "over": [["methods", "analysis,simulation"]] })).methods, both);
    let twice = error(&format!("{listed}\n[sweep]\nmethods = [\"analysis\"]"), json!({}));
    assert_eq!(twice, "methods contradicts axis \"methods\": give one of the two");
    assert_eq!(error(PAPER, json!({ "over": [["methods", ["analysis"]]], "methods": ["formula"] })), twice);
    assert!(
        error(PAPER, json!({ "over": [["methods", "magic"]] }))
            .starts_with("methods[0] = \"magic\": must be")
    );
    let empty = error(PAPER, json!({ "over": [["methods", []]] }));
    assert_eq!(empty, "sweep.\"methods\": must have at least one value");
}

#[test]
fn scenarios_that_are_doubtful_raise_warnings() {
    let warnings = |text, set: Value| plan(text, json!({ "set": set })).warnings();
    assert!(warnings(PAPER, json!([])).is_empty());
    assert!(warnings(NS2, json!([])).is_empty());
    // A round trip is a slot of 7.47 ms and 50 ms of delay.
    let early = warnings(PAPER, json!([["link.delay", "50 ms"], ["tcp.rto.fixed", "57 ms"]]));
    assert!(
        early[0].starts_with("tcp.rto.fixed (0.057 s) is at or below the ACK delay (0.057466667 s"),
        "{early:?}"
    );
    assert!(warnings(PAPER, json!([["link.delay", "50 ms"], ["tcp.rto.fixed", "58 ms"]])).is_empty());
    assert!(warnings(NS2, json!([["reverse.delay", "180 ms"]]))[0].starts_with("tcp.rto.min (0.2 s)"));
    // In a round trip of 40.832 ms fit 51 packets of 0.8 ms.
    assert!(warnings(NS2, json!([["link.queue.limit", "26 packets"]])).is_empty());
    assert!(warnings(NS2, json!([["link.queue.limit", "25 packets"]]))[0].contains("(51.0 packets)"));
    assert!(warnings(PAPER, json!([["tcp.w_max", 3]]))[0].contains("cannot trigger a fast retransmit"));
    assert!(warnings(PAPER, json!([["tcp.w_max", 3], ["tcp.variant", "old-tahoe"]])).is_empty());
}

#[test]
fn tasks_of_a_schedule_made_one_by_one_are_the_run() {
    let plan = plan(PAPER, json!({ "runs": 5 }));
    let never = ExecutionHandle::default();
    let mut rows = Vec::new();
    execute(&plan, Vec::new(), 2, Shard::WHOLE, &never, &mut |new, _| rows.extend(new)).unwrap();
    let mut schedule = Schedule::new(&plan, &[], 3, Shard::WHOLE);
    let tasks: Vec<Task> = std::iter::from_fn(|| schedule.take()).collect();
    assert_eq!((tasks.len(), schedule.under_way()), (5, 5));
    let made = make(&plan, &tasks, &never).unwrap().unwrap();
    for row in made.iter().rev() {
        assert_eq!(schedule.finish(row.clone()), std::slice::from_ref(row));
        // A row that another worker made as well is ignored.
        assert_eq!(schedule.finish(row.clone()), []);
    }
    assert_eq!((schedule.take(), schedule.under_way()), (None, 0));
    assert_eq!(schedule.progress(), Progress { done: 5, expected: 5 });
    assert_eq!(summarise(&plan, &made), summarise(&plan, &rows));
}

/// Loads any text and describes its plan, without a panic.
fn survives(text: &str, overrides: &Overrides) -> Result<(), TestCaseError> {
    match Experiment::load(text, "any.toml", overrides) {
        Ok(plan) => {
            prop_assert!(!plan.points.is_empty());
            prop_assert!(json!(plan.describe()).is_object());
        }
        Err(error) => {
            let line = error.to_string();
            prop_assert!(!line.is_empty() && !line.contains(['\n', '\r']), "{}", line);
        }
    }
    Ok(())
}

/// Random values, near to what keys accept and far from it.
fn value() -> impl Strategy<Value = Value> {
    let scalar = prop_oneof![
        any::<i64>().prop_map(Value::from),
        any::<u64>().prop_map(Value::from),
        any::<f64>().prop_map(Value::from),
        (-10..1000_i64).prop_map(Value::from),
        (0.0..1.5).prop_map(Value::from),
        any::<bool>().prop_map(Value::from),
        Just(Value::Null),
        "[-0-9.e]{0,6} ?(slots|ms|s|h|%|B|packets|kbit/s|Gbit/s)?".prop_map(Value::from),
        "(log:)?[0-9.]{1,4}:[0-9.]{1,4}:[0-9.]{1,3}".prop_map(Value::from),
        prop::sample::select(vec![
            "markov",
            "iid",
            "drop-list",
            "rayleigh",
            "sack",
            "ns2",
            "queue",
            "transmission"
        ])
        .prop_map(Value::from),
        any::<String>().prop_map(Value::from),
    ];
    scalar.prop_recursive(2, 8, 4, |inner| {
        prop_oneof![
            prop::collection::vec(inner.clone(), 0..4).prop_map(Value::from),
            prop::collection::btree_map("p_e|fd_t|model|limit|fixed|[a-z.]{0,4}", inner, 0..3)
                .prop_map(|map| Value::Object(map.into_iter().collect())),
        ]
    })
}

fn any_key() -> impl Strategy<Value = String> {
    let known = [
        "run.duration",
        "run.warmup",
        "run.segments",
        "run.runs",
        "run.precision",
        "run.max_runs",
        "run.seed",
        "channel",
        "channel.model",
        "channel.p_e",
        "channel.fading_margin_db",
        "channel.fd_t",
        "channel.mean_burst",
        "channel.p_gg",
        "channel.p_bb",
        "channel.drops",
        "channel.clock",
        "link.rate",
        "link.packet_size",
        "link.delay",
        "link.queue.limit",
        "reverse.rate",
        "reverse.channel",
        "tcp.flavour",
        "tcp.variant",
        "tcp.w_max",
        "tcp.dupthresh",
        "tcp.initial_window",
        "tcp.mss",
        "tcp.headers",
        "tcp.ack_size",
        "tcp.gate",
        "tcp.rto",
        "tcp.rto.fixed",
        "tcp.rto.min",
        "tcp.rto.max",
        "tcp.rto.backoff",
        "methods",
        "title",
        "schema",
        "channel.p_e,tcp.w_max",
        "sweep",
    ];
    prop_oneof![9 => prop::sample::select(known.to_vec()).prop_map(str::to_owned), 1 => "[a-z._,]{0,12}"]
}

fn any_overrides() -> impl Strategy<Value = Overrides> {
    let pairs = || prop::collection::vec((any_key(), value()), 0..4);
    (pairs(), pairs(), prop::option::of(value()), prop::option::of(value()))
        .prop_map(|(set, over, runs, seed)| Overrides { set, over, runs, seed, ..Overrides::default() })
}

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn any_bytes_give_a_plan_or_a_line(bytes in prop::collection::vec(any::<u8>(), 0..200)) {
        survives(&String::from_utf8_lossy(&bytes), &Overrides::default())?;
    }

    #[test]
    fn a_spoilt_scenario_gives_a_plan_or_a_line(
        paper in any::<bool>(),
        edits in prop::collection::vec((any::<prop::sample::Index>(), 0..3_u8, any::<char>()), 1..4),
    ) {
        let mut text: Vec<char> = if paper { PAPER } else { NS2 }.chars().collect();
        for (at, what, c) in edits {
            let at = at.index(text.len());
            match what {
                0 => text[at] = c,
                1 => text.insert(at, c),
                _ => drop(text.remove(at)),
            }
        }
        survives(&text.into_iter().collect::<String>(), &Overrides::default())?;
    }

    #[test]
    fn any_overrides_give_a_plan_or_a_line(paper in any::<bool>(), overrides in any_overrides()) {
        survives(if paper { PAPER } else { NS2 }, &overrides)?;
    }

    #[test]
    fn any_text_is_a_value(text in any::<String>()) {
        let _ = parse_value(&text);
    }
}
