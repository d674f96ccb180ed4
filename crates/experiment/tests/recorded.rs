//! Tests of flows whose packets leave at recorded times, from the text of a scenario to packets.

use crate::common::{load, metric, plan_with, result, texts};
use crossfade_experiment::{Experiment, events};
use serde_json::{Value, json};

/// Scenario with a link of 1 Mbit/s, 10 ms and room for two waiting packets; 1000 bytes take 8 ms.
const SCENARIO: &str = r#"
    schema = 2
    run = { duration = "1 s", runs = 1 }
    channel = { model = "none" }
    link = { rate = "1 Mbit/s", packet_size = "1000 B", delay = "10 ms", queue = { limit = "2 packets" } }
    flows.call = { traffic = "recorded", record = "sends.csv" }
"#;

const SENDS: &str = "time_s,bytes\n0,1000\n0,500\n0,1000\n0,200\n0.030,200\n0.031,1500\n";

fn plan(set: &Value) -> Experiment {
    plan_with(SCENARIO, set, &[("sends.csv", SENDS)])
}

/// Events `what` of packets: flow, time in microseconds, and sequence number.
fn happened(plan: &Experiment, what: &str) -> Vec<(String, u64, u64)> {
    let csv = texts(plan, events).remove(0);
    let mut lines = csv.lines();
    let columns: Vec<&str> = lines.next().unwrap().split(',').collect();
    let at = |name: &str| columns.iter().position(|column| *column == name).unwrap();
    let (time, flow, event, seq) = (at("time_s"), at("flow"), at("event"), at("seq"));
    let fields = lines.map(|line| line.split(',').collect::<Vec<&str>>());
    let micros = |text: &str| (text.parse::<f64>().unwrap() * 1e6).round() as u64;
    fields
        .filter(|fields| fields[event] == what)
        .map(|fields| (fields[flow].to_owned(), micros(fields[time]), fields[seq].parse().unwrap()))
        .collect()
}

fn times(plan: &Experiment, what: &str) -> Vec<(u64, u64)> {
    happened(plan, what).into_iter().map(|(_, at, seq)| (at, seq)).collect()
}

/// Packets leave at their recorded times and are queued, sent and dropped by the link. Three packets take 8, 4 and 8 ms
/// one after the other; the fourth finds two waiting and is dropped. Those at 30 and 31 ms take 1.6 and 12 ms.
#[test]
fn packets_leave_as_recorded_and_the_link_does_to_them_what_it_does() {
    let plan = plan(&json!([]));
    let sent = [(0, 0), (0, 1), (0, 2), (0, 3), (30_000, 4), (31_000, 5)];
    assert_eq!(times(&plan, "send"), sent);
    let arrived = [(18_000, 0), (22_000, 1), (30_000, 2), (41_600, 4), (53_600, 5)];
    assert_eq!(times(&plan, "receive"), arrived);
    let result = result(&plan);
    assert_eq!(metric(&result, "queue_drops").0, 1.0);
    assert_eq!(metric(&result, "goodput_bps").0, (1000.0 + 500.0 + 1000.0 + 200.0 + 1500.0) * 8.0);
    let mean_s = (0.018 + 0.022 + 0.030 + 0.0116 + 0.0226) / 5.0;
    assert!((metric(&result, "one_way_delay_mean_s").0 - mean_s).abs() < 1e-12);
    assert!(result.warnings.contains(
        &"flows.call.record lasts 0.031 s and a run 1 s: nothing is sent from there on".to_owned()
    ));
    // Times of departure do not depend on the fate of packets: they are the same over a link that loses all.
    let cut = json!([["channel", { "model": "iid", "p_e": 1.0 }], ["link.delay", "300 ms"]]);
    assert_eq!(times(&self::plan(&cut), "send"), sent);
}

#[test]
fn a_record_begins_again_and_each_flow_begins_at_its_own_time() {
    let again = plan(&json!([["flows.call.record_period", "100 ms"], ["run.duration", "250 ms"]]));
    let round = |at: u64, first: u64| {
        [(0, 0), (0, 1), (0, 2), (0, 3), (30, 4), (31, 5)].map(|(ms, seq)| ((at + ms) * 1000, first + seq))
    };
    assert_eq!(times(&again, "send"), [round(0, 0), round(100, 6), round(200, 12)].concat());
    let two = plan(&json!([
        ["flows.call.count", 2],
        ["flows.call.start", "100 ms"],
        ["flows.call.stagger", "50 ms"],
    ]));
    let sent = happened(&two, "send");
    let of = |flow: &str| {
        sent.iter().filter(|(of, ..)| of == flow).map(|(_, at, seq)| (*at, *seq)).collect::<Vec<_>>()
    };
    let names: Vec<&String> = sent.iter().map(|(flow, ..)| flow).collect();
    assert_eq!(of(names[0]), round(100, 0));
    assert_eq!(of(names[names.len() - 1]), round(150, 0));
}

/// Recorded packets pass an AQM queue, frames and jitter, and each has exactly one fate.
#[test]
fn any_link_takes_them() {
    for set in [
        json!([["link.queue.discipline", "codel"]]),
        json!([["link.frame_size", "100 B"], ["link.arq", { "protocol": "selective-repeat", "window": 32, "timeout": "100 ms" }], ["channel", { "model": "iid", "p_e": 0.1 }]]),
        json!([["link.jitter.std", "5 ms"]]),
    ] {
        let plan = plan(&set);
        let count = |what: &str| times(&plan, what).len();
        let dropped = metric(&result(&plan), "queue_drops").0 as usize;
        assert_eq!((count("send"), count("receive")), (6, 6 - dropped), "{set}");
    }
}

#[test]
fn what_is_in_a_record_decides_and_what_is_wrong_is_refused_in_one_line() {
    let with = |flow: Value, text: &str| {
        load(SCENARIO, &json!([["flows.call", flow]]), &[("sends.csv", text), ("other.csv", text)])
    };
    let id = |flow: Value, text: &str| with(flow, text).unwrap().points.id(0);
    assert_eq!(id(json!({}), SENDS), id(json!({ "record": "other.csv" }), SENDS));
    assert_ne!(id(json!({}), SENDS), id(json!({}), "0 1000\n"));
    assert_ne!(id(json!({}), SENDS), id(json!({ "record_period": "1 s" }), SENDS));
    for (flow, text, said) in [
        (
            json!({}),
            "0 1000\nx 1\n",
            "flows.call.record = \"sends.csv\": line 2: time_s = \"x\": must be a number",
        ),
        (json!({ "record": null }), "", "flows.call.record: missing; traffic \"recorded\" needs it"),
        (
            json!({ "record_period": "31 ms" }),
            SENDS,
            "flows.call.record_period = \"31 ms\": must be above 0.031 s, the time of the last packet, and is 0.031 s",
        ),
        (
            json!({ "rate": "1 Mbit/s" }),
            SENDS,
            "flows.call.rate contradicts flows.call.traffic = \"recorded\": it takes count, start, stagger, start_within, \
             record, record_period, from, to, access_delay, radio, queue, five_qi, beside, bearer, station, direction, category",
        ),
        (
            json!({ "traffic": "udp" }),
            SENDS,
            "flows.call.record contradicts flows.call.traffic = \"udp\": it takes count, \
             start, stagger, start_within, rate, packet_size, on, off, times, jitter, from, to, access_delay, radio, queue, five_qi, beside, bearer, station, direction, category",
        ),
    ] {
        assert_eq!(with(flow, text).map(|_| ()).unwrap_err(), said);
    }
}
