//! Tests of the engine's shortcuts, which omit work but change no result: shipped and random scenarios count the same,
//! bit for bit, with all shortcuts, with each of them off, and without any. Receivers of a scenario have no access
//! line, so `foreseen` and `late_receivers` apply only where a test turns all flows round;
//! `crates/sim/tests/one_event.rs` and `late_receivers.rs` test these two.

use crate::common::{plan, usual_scenarios};
use crate::drop_tail::{Draft, any_draft};
use crossfade_core::RunSeed;
use crossfade_core::testing::long_or;
use crossfade_experiment::{Experiment, network};
use crossfade_scenario::{Overrides, Setup};
use crossfade_sim::{Network, Shortcuts, simulate};
use proptest::prelude::*;
use proptest::sample::select;
use proptest::test_runner::{Config, TestRunner};
use serde_json::{Value, json};
use std::fs;
use std::mem::swap;
use std::sync::atomic::AtomicBool;

/// Text of all counts of a run, from which its row is made; means without a value are included. Flows that are `turned`
/// (by index, arrivals last) send their data over the links of the acknowledgements and back: reverse traffic, which a
/// scenario cannot have.
fn counted(setup: &Setup, turned: &[bool], shortcuts: Shortcuts) -> String {
    let mut network = Network { shortcuts, ..network(setup, RunSeed { seed: 7, run: 0 }) };
    let flows = network.flows.iter_mut().map(|flow| &mut flow.path);
    let arrivals = network.arrivals.iter_mut().map(|arrivals| &mut arrivals.path);
    for (path, _) in flows.chain(arrivals).zip(turned).filter(|(_, is_turned)| **is_turned) {
        swap(&mut path.data, &mut path.acks);
        swap(&mut path.sender_access, &mut path.receiver_access);
    }
    format!("{:?}", simulate(network, None, None, &AtomicBool::new(false)).unwrap())
}

/// Sets of shortcuts with which the first point of a plan has other counts than with all of them; must be empty.
fn different(plan: &Experiment, turned: &[bool]) -> Vec<Shortcuts> {
    let setup = &plan.points.at(0).setup;
    let usual = counted(setup, turned, Shortcuts::ALL);
    let mut without = Shortcuts::each_off().to_vec();
    without.retain(|&shortcuts| counted(setup, turned, shortcuts) != usual);
    without
}

/// Each simulated shipped scenario counts the same without shortcuts: two seconds or 4,000 packet times of its first
/// point.
#[test]
fn shipped_scenarios_count_the_same_without_shortcuts() {
    let mut simulated = 0;
    for (name, path, text) in usual_scenarios() {
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
        assert_eq!(different(&plan, &[]), [], "{name}");
    }
    assert!(simulated > 20, "{simulated} scenarios");
}

/// Random queue: an AQM discipline that decides as packets leave and marks some of them, or drop-tail.
fn any_queue() -> impl Strategy<Value = Value> {
    let limits = select(vec!["6 packets", "40 packets", "200 packets"]);
    let disciplines = prop_oneof![
        3 => Just(json!({ "discipline": "drop-tail" })),
        3 => select(vec!["red", "codel", "pie"]).prop_map(|discipline| json!({ "discipline": discipline })),
        // Turns of the queue have more than one packet, or fewer.
        1 => select(vec!["300 B", "1514 B", "4000 B"])
            .prop_map(|quantum| json!({ "discipline": "fq-codel", "quantum": quantum })),
        1 => select(vec!["rfc", "linux"])
            .prop_map(|profile| json!({ "discipline": "dualpi2", "profile": profile })),
    ];
    (limits, disciplines).prop_map(|(limit, mut queue)| {
        queue["limit"] = json!(limit);
        queue
    })
}

/// Random congestion control that sends ECT(1), whose packets enter the other queue of DualPI2; mostly none.
fn any_scalable() -> impl Strategy<Value = Option<&'static str>> {
    select(vec![None, None, None, Some("prague"), Some("dctcp")])
}

/// Random flows that send against the others: mostly none, any, or all.
fn any_turned() -> impl Strategy<Value = Vec<bool>> {
    prop_oneof![
        4 => Just(vec![]),
        2 => prop::collection::vec(any::<bool>(), 3),
        1 => Just(vec![true; 3]),
    ]
}

/// Random scenario: a draft of `drop_tail.rs` with other queues, ECN and delayed acknowledgements, often with an
/// acknowledgement path without losses, without which few shortcuts apply.
fn any_scenario() -> impl Strategy<Value = Value> {
    let delays = select(vec![None, None, Some("1 ms"), Some("40 ms"), Some("300 ms")]);
    let queues =
        (prop::option::of(any_queue()), prop::option::of(any_queue()), prop::option::of(any_queue()));
    let back = select(vec![None, Some("0 ms"), Some("7 ms"), Some("25 ms")]);
    let access = select(vec![None, Some("1 ms"), Some("4 ms")]);
    (any_draft(), queues, delays, (any::<bool>(), any_scalable()), back, access).prop_map(
        |(Draft { mut tables, limits }, (link, wired, reverse), delay, (ecn, scalable), back, access)| {
            for ((table, queue), limit) in
                ["link", "wired", "reverse"].iter().zip([link, wired, reverse]).zip(limits)
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
                if let Some(scalable) = scalable.filter(|_| tcp.contains_key("congestion")) {
                    tcp["congestion"] = json!(scalable);
                }
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
    // The number of cases scales with the one requested for the default of 256.
    let cases = Config::default().cases * cases / 256;
    let mut runner = TestRunner::new(Config { cases, failure_persistence: None, ..Config::default() });
    let agree = |(tables, turned): (Value, Vec<bool>)| {
        let set: Vec<Value> =
            tables.as_object().unwrap().iter().map(|(key, value)| json!([key, value])).collect();
        let different = different(&plan("schema = 2", &Value::from(set)), &turned);
        prop_assert!(different.is_empty(), "{tables}, turned {turned:?}: {different:?}");
        Ok(())
    };
    runner.run(&(any_scenario(), any_turned()), agree).unwrap_or_else(|error| panic!("{error}"));
}

/// The long form has 3,000 scenarios, each simulated seven times: minutes.
#[test]
fn random_scenarios_count_the_same_without_shortcuts() {
    agree_in(long_or(3000, 48));
}

/// Reverse traffic counts the same without shortcuts even if data of one flow and acknowledgements of another come out
/// of the two links in the same nanosecond: which of them enters the other link first must not depend on when their
/// events were scheduled.
#[test]
fn reverse_traffic_in_one_instant_counts_the_same_without_shortcuts() {
    let set = json!([
        ["run", { "segments": 31, "warmup": "0 ms", "runs": 1, "seed": 0 }],
        ["channel.model", "none"],
        ["link", { "rate": "2 Mbit/s", "packet_size": "1000 B", "delay": "5 ms", "queue": { "limit": "6 packets" } }],
        ["reverse", { "rate": "2 Mbit/s", "delay": "0 ms" }],
        ["flows", {
            "f0": { "tcp": { "variant": "sack", "w_max": 6 }, "access_delay": "1 ms", "start": "170 ms" },
            "f1": { "tcp": { "variant": "sack", "w_max": 8 }, "access_delay": "1 ms", "start": "72 ms" },
        }],
    ]);
    assert_eq!(different(&plan("schema = 2", &set), &[false, true]), []);
}
