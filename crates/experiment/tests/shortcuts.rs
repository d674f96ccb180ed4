//! What the engine leaves out changes no result: shipped scenarios and random ones count the same, bit for bit, with all shortcuts,
//! with each of them off, and without any. Receivers of a scenario have no access line, so `foreseen` and `late_receivers` apply to none:
//! `crates/sim/tests/one_event.rs` and `late_receivers.rs` compare these.

use crate::common::{plan, shipped_scenarios};
use crate::drop_tail::{Draft, any_draft};
use crossfade_core::RunSeed;
use crossfade_experiment::{Experiment, network};
use crossfade_scenario::{Overrides, Setup};
use crossfade_sim::{Network, Shortcuts, simulate};
use proptest::prelude::*;
use proptest::sample::select;
use proptest::test_runner::{Config, TestRunner};
use serde_json::{Value, json};
use std::fs;
use std::sync::atomic::AtomicBool;

/// Everything that is counted in a run, from which its row is made; of means without a value too.
fn counted(setup: &Setup, shortcuts: Shortcuts) -> String {
    let network = Network { shortcuts, ..network(setup, RunSeed { seed: 7, run: 0 }) };
    format!("{:?}", simulate(network, (), (), &AtomicBool::new(false)).unwrap())
}

/// With which shortcuts the first point of a plan counts anything else than with all.
fn different(plan: &Experiment) -> Vec<Shortcuts> {
    let setup = &plan.points.at(0).setup;
    let usual = counted(setup, Shortcuts::ALL);
    Shortcuts::each_off().into_iter().filter(|&shortcuts| counted(setup, shortcuts) != usual).collect()
}

/// Each shipped scenario that is simulated, two seconds or 4,000 packet times of its first point.
#[test]
fn shipped_scenarios_count_the_same_without_shortcuts() {
    let mut simulated = 0;
    for (name, path, text) in shipped_scenarios() {
        let read =
            |name: &str| fs::read_to_string(path.with_file_name(name)).map_err(|error| error.to_string());
        let load = |duration: &str| {
            let overrides: Overrides = serde_json::from_value(json!({
                "set": [["run", { "duration": duration }]], "runs": 1, "methods": ["simulation"],
            }))
            .unwrap();
            Experiment::load_with_files(&text, "file", &overrides, &read)
        };
        let Ok(plan) = load("2 s").or_else(|_| load("4000 slots")) else { continue };
        simulated += 1;
        assert_eq!(different(&plan), [], "{name}");
    }
    assert!(simulated > 20, "{simulated} scenarios");
}

/// Queues that decide as packets leave, and mark some of them; or drop-tail.
fn any_queue() -> impl Strategy<Value = Value> {
    let limits = select(vec!["6 packets", "40 packets", "200 packets"]);
    let disciplines = select(vec!["drop-tail", "drop-tail", "drop-tail", "red", "codel", "pie"]);
    (limits, disciplines).prop_map(|(limit, discipline)| json!({ "limit": limit, "discipline": discipline }))
}

/// The drafts of `drop_tail.rs` with other queues, ECN and delayed acknowledgements; often with an acknowledgement path
/// that loses nothing, without which few shortcuts apply.
fn any_scenario() -> impl Strategy<Value = Value> {
    let delays = select(vec![None, None, Some("1 ms"), Some("40 ms"), Some("300 ms")]);
    let queues = (prop::option::of(any_queue()), prop::option::of(any_queue()));
    let back = select(vec![None, Some("0 ms"), Some("7 ms"), Some("25 ms")]);
    let access = select(vec![None, Some("1 ms"), Some("4 ms")]);
    (any_draft(), queues, delays, any::<bool>(), back, access).prop_map(
        |(Draft { mut tables, limits }, (link, wired), delay, ecn, back, access)| {
            for ((table, queue), limit) in
                ["link", "wired", "reverse"].iter().zip([link, wired, None]).zip(limits)
            {
                let drop_tail = |limit| json!({ "discipline": "drop-tail", "limit": limit });
                let queue = queue.or(limit.map(drop_tail));
                if let Some((queue, _)) = queue.zip(tables.get(*table)) {
                    tables[*table]["queue"] = queue;
                }
            }
            if let Some(back) = back {
                tables["reverse"] = json!({ "rate": "2 Mbit/s", "delay": back });
            }
            for flow in tables["flows"].as_object_mut().unwrap().values_mut() {
                if let Some(access) = access {
                    flow["access_delay"] = json!(access);
                }
                let Some(tcp) = flow.get_mut("tcp").and_then(Value::as_object_mut) else { continue };
                if tcp.get("flavour").is_none() && tcp.get("rfc").is_none() {
                    tcp.insert(
                        "rfc".to_owned(),
                        json!({ "ecn": ecn, "delayed_ack": delay.unwrap_or("0 ms") }),
                    );
                }
            }
            tables
        },
    )
}

fn agree_in(cases: u32) {
    // As many as asked for with the usual 256 cases of a property.
    let cases = Config::default().cases * cases / 256;
    let mut runner = TestRunner::new(Config { cases, failure_persistence: None, ..Config::default() });
    let agree = |tables: Value| {
        let set: Vec<Value> =
            tables.as_object().unwrap().iter().map(|(key, value)| json!([key, value])).collect();
        let different = different(&plan("schema = 2", &Value::from(set)));
        prop_assert!(different.is_empty(), "{tables}: {different:?}");
        Ok(())
    };
    runner.run(&any_scenario(), agree).unwrap_or_else(|error| panic!("{error}"));
}

#[test]
fn random_scenarios_count_the_same_without_shortcuts() {
    agree_in(48);
}

/// `cargo test -p crossfade-experiment --test all -- --ignored three_thousand_scenarios_need_no_shortcut`
#[test]
#[ignore = "3,000 scenarios, seven times each: minutes"]
fn three_thousand_scenarios_need_no_shortcut() {
    agree_in(3000);
}
