//! Snapshots of the schema and of error lines, on which other programs may rely byte by byte.

use crate::bad_scenarios::GOOD;
use crossfade_scenario::{Overrides, Plan, schema};
use insta::assert_snapshot;
use serde_json::{Value, json};
use std::collections::BTreeMap;
use std::fmt::Write as _;

#[test]
fn the_schema() {
    assert_snapshot!(serde_json::to_string_pretty(&schema()).unwrap());
}

/// Error lines of many sets of overrides.
fn lines(cases: impl IntoIterator<Item = Value>) -> String {
    let mut text = String::new();
    for set in cases {
        let overrides: Overrides = serde_json::from_value(json!({ "set": set })).unwrap();
        let line =
            Plan::load(GOOD, "file", &overrides).map_or_else(|error| error.to_string(), |_| "taken".into());
        let _ = writeln!(text, "{set} {line}");
    }
    text
}

/// Cases of a tagged table: each of `tags` with each of the keys, and with each two of them if `pairs`.
fn every(table: &str, tag: &str, tags: &[Value], keys: &Value, base: &Value, pairs: bool) -> Vec<Value> {
    let keys: BTreeMap<_, _> = keys.as_object().unwrap().clone().into_iter().collect();
    let mut cases = Vec::new();
    for value in tags {
        let with = |given: &[(&String, &Value)]| {
            let mut content = if value.is_null() { json!({}) } else { json!({ tag: value }) };
            for (key, value) in given {
                content[key.as_str()] = (*value).clone();
            }
            let mut set = base.as_array().unwrap().clone();
            set.push(json!([table, content]));
            Value::Array(set)
        };
        cases.push(with(&[]));
        for (n, first) in keys.iter().enumerate() {
            cases.push(with(&[first]));
            cases.extend(keys.iter().skip(n + 1).filter(|_| pairs).map(|second| with(&[first, second])));
        }
    }
    cases
}

fn words(words: &str) -> Vec<Value> {
    words.split(' ').map(|word| if word == "null" { Value::Null } else { word.into() }).collect()
}

#[test]
fn lines_about_channels() {
    let keys = json!({
        "p_e": 0.1, "fading_margin_db": 10, "fd_t": 0.1, "mean_burst": 3, "p_gg": 0.9, "p_bb": 0.1, "drops": [3],
        "file": "x.txt", "format": "bits", "clock": "slot",
    });
    let models = words("null none iid markov rayleigh drop-list trace");
    let mut cases = every(
        "channel",
        "model",
        &models,
        &keys,
        &json!([["channel", { "model": null, "p_e": null }]]),
        true,
    );
    cases.extend(every("reverse.channel", "model", &models, &keys, &json!([]), false));
    assert_snapshot!(lines(cases));
}

#[test]
fn lines_about_queues() {
    let keys = json!({
        "limit": "50 packets", "ecn": true, "min_th": 4, "max_th": 16, "max_p": 0.2, "w_q": 0.01, "gentle": false,
        "target": "2 ms", "interval": "50 ms", "quantum": "900 B",
    });
    let disciplines = words("null drop-tail red codel fq-codel");
    let mut cases = every("link.queue", "discipline", &disciplines, &keys, &json!([]), true);
    let wired = json!([["tcp", { "flavour": "ns2", "rto": { "fixed": null } }], ["wired.rate", "1 Mbit/s"]]);
    cases.extend(every("wired.queue", "discipline", &disciplines, &keys, &wired, false));
    assert_snapshot!(lines(cases));
}

#[test]
fn lines_about_arq() {
    let keys = json!({
        "max_retransmissions": 2, "window": 8, "timeout": "5 frames", "delivery": "immediate", "reading": "b",
        "persistence": "rounds", "naks_per_round": "one", "timer_clock": "every-frame", "timer_check": "good-frames",
        "round_trip": "3 frames", "guard": "2 frames", "buffer": 64, "overflow": 2, "idle_frames_carry_v_s": false,
        "retransmissions_are_flagged": true, "nack_corrupt": false, "merge_nacks": false, "ack_period": 4,
        "feedback": { "loss": 0.1 },
    });
    let base = json!([
        ["tcp", { "flavour": "ns2", "rto": { "fixed": null } }], ["link.frame_size", "100 B"]
    ]);
    let protocols = words("null none stop-and-wait go-back-n selective-repeat rlp-is99 rlp-nack");
    let mut cases = every("link.arq", "protocol", &protocols, &keys, &base, false);
    cases.extend(every("reverse.arq", "protocol", &protocols, &keys, &base, false));
    assert_snapshot!(lines(cases));
}

#[test]
fn lines_about_flows() {
    let keys = json!({
        "count": 2, "start": "1 s", "stagger": "1 s", "access_delay": "1 ms", "size": "50 kB", "sizes": "fixed",
        "arrivals_per_s": 1, "rate": "10 kbit/s", "on": "1 s", "off": "1 s", "times": "pareto",
        "jitter": "10 %", "start_within": "1 s", "record": "s.csv", "record_period": "1 s", "tcp": { "w_max": 12 },
    });
    let traffics = words("null bulk transfer arrivals udp poisson recorded saturated");
    assert_snapshot!(lines(every("flows.a", "traffic", &traffics, &keys, &json!([]), true)));
}

#[test]
fn lines_about_traces() {
    let keys = json!({
        "opportunities": "o.txt", "opportunity_size": "1400 B", "delays": "d.csv", "interpolation": "linear", "delays_end": "hold", "rates": "r.csv", "attenuation": "a.csv", "period": "10 s", "modcod": "dvb-s2",
        "budget": { "margin_db": 1 },
    });
    let base = json!([["link.rate", null]]);
    let mut cases = every("link.trace", "rates", &words("null x.csv"), &keys, &base, true);
    cases.extend(every("reverse.trace", "rates", &words("null x.csv"), &keys, &json!([]), true));
    assert_snapshot!(lines(cases));
}

#[test]
fn lines_about_tcp() {
    let keys = json!({
        "w_max": 1, "dupthresh": 2, "initial_window": 2, "initial_ssthresh": 8, "limited_transmit": true,
        "mss": "1360 B", "headers": "40 B", "ack_size": "50 B", "sack_block_size": "4 B", "gate": "slot",
        "rto": { "fixed": null, "min": "1 s" }, "rfc": { "rack": true }, "variant": "cubic",
    });
    let flavours = words("null paper ns2 rfc");
    let mut cases = every("tcp", "flavour", &flavours, &keys, &json!([]), true);
    cases.extend(every("tcp", "flavour", &flavours, &keys, &json!([["tcp.rto.fixed", null]]), false));
    let absent = ["link.rate", "link.packet_size", "tcp.w_max", "tcp.variant", "channel.model", "tcp.rto"];
    cases.extend(absent.map(|key| json!([[key, null]])));
    assert_snapshot!(lines(cases));
}
