//! Tests of many flows: their names, their counts, and the independence of their random streams.

use crossfade_experiment::{
    ExecutionHandle, Experiment, FLOW, LINK, PointResult, Row, Shard, execute, summarise,
};
use crossfade_scenario::Overrides;
use serde_json::{Value, json};

const TEXT: &str = r#"
    schema = 1
    run = { duration = "20 s", warmup = "2 s", runs = 4 }
    channel = { model = "iid", p_e = 0.001 }
    link = { rate = "10 Mbit/s", packet_size = "1500 B", delay = "5 ms", queue = { limit = "60 packets" } }
    reverse = { rate = "10 Mbit/s", delay = "5 ms" }
    wired = { rtt = "20 ms" }
    tcp = { flavour = "rfc", variant = "sack", w_max = 200 }

    [flows.bulk]
    count = 3
    [flows.files]
    traffic = "arrivals"
    arrivals_per_s = 2
    size = "40 kB"
    [flows.voice]
    traffic = "udp"
    rate = "200 kbit/s"
    on = "1 s"
    off = "1 s"
"#;

fn rows(set: &Value) -> (Experiment, Vec<Row>) {
    let overrides: Overrides = serde_json::from_value(json!({ "set": set })).unwrap();
    let plan = Experiment::load(TEXT, "test.toml", &overrides).unwrap();
    let mut rows = Vec::new();
    assert!(
        execute(&plan, Vec::new(), 2, Shard::WHOLE, &ExecutionHandle::default(), &mut |new, _| rows
            .extend(new))
        .unwrap()
    );
    rows.sort_by_key(|row| row.run);
    (plan, rows)
}

fn result(set: &Value) -> PointResult {
    let (plan, rows) = rows(set);
    summarise(&plan, &rows).remove(0)
}

fn flow(result: &PointResult, name: &str, metric: &str) -> f64 {
    let flow = result.parts_of(FLOW).find(|flow| flow.part.name == name).unwrap();
    flow.metrics
        .iter()
        .find(|(found, _)| *found == metric)
        .unwrap_or_else(|| panic!("{name}.{metric}"))
        .1
        .value
}

fn link(result: &PointResult, name: &str, metric: &str) -> f64 {
    let link = result.parts_of(LINK).find(|link| link.part.name == name).unwrap();
    link.metrics
        .iter()
        .find(|(found, _)| *found == metric)
        .unwrap_or_else(|| panic!("{name}.{metric}"))
        .1
        .value
}

fn whole(result: &PointResult, metric: &str) -> f64 {
    result.metrics.iter().find(|(found, _)| *found == metric).unwrap().1.value
}

#[test]
fn the_whole_is_the_sum_of_its_flows() {
    let result = result(&json!([]));
    let names: Vec<&str> = result.parts_of(FLOW).map(|flow| flow.part.name.as_str()).collect();
    assert_eq!(names, ["bulk", "files", "voice"]);
    for metric in ["goodput_bps", "segments_sent", "retransmissions", "segments_delivered", "timeouts"] {
        let sum: f64 = names.iter().map(|name| flow(&result, name, metric)).sum();
        assert!((sum / whole(&result, metric) - 1.0).abs() < 1e-12, "{metric}");
    }
    assert!(flow(&result, "bulk", "jain_fairness") > 0.8);
    assert!(flow(&result, "files", "flows_completed") > 20.0);
    // The source is on for half of the time: 100 kbit/s.
    let voice = flow(&result, "voice", "ip_goodput_bps");
    assert!((50e3..150e3).contains(&voice), "{voice}");
    // 20 ms of wire, 10 ms of radio and 1.2 ms for a packet; the rest is queueing.
    let rtt = flow(&result, "bulk", "rtt_p50_s");
    assert!(rtt > 0.0312 && rtt < 0.0312 + 60.0 * 0.0012 + 0.01, "{rtt}");
}

/// Jain's index leaves out flows that start after the warm-up, since they had less time for their goodput.
#[test]
fn flows_that_come_later_are_not_in_the_index_of_fairness() {
    let text = |start: &str| {
        format!(
            "schema = 1\nrun = {{ duration = \"10 s\", warmup = \"2 s\", runs = 2 }}\nwired = {{ rtt = \"20 ms\" }}\n\
             channel = {{ model = \"iid\", p_e = 0.001 }}\n\
             link = {{ rate = \"10 Mbit/s\", packet_size = \"1500 B\", queue = {{ limit = \"60 packets\" }} }}\n\
             reverse = {{ rate = \"10 Mbit/s\" }}\ntcp = {{ flavour = \"rfc\", variant = \"sack\" }}\n\
             [flows.bulk]\ncount = 2\n[flows.late]\ncount = 2\nstart = \"{start}\"\n"
        )
    };
    let index = |start| {
        let plan = Experiment::load(&text(start), "test.toml", &Overrides::default()).unwrap();
        let mut rows = Vec::new();
        execute(&plan, Vec::new(), 2, Shard::WHOLE, &ExecutionHandle::default(), &mut |new, _| {
            rows.extend(new);
        })
        .unwrap();
        let result = summarise(&plan, &rows).remove(0);
        let of = |name: &str| {
            let flow = result.parts_of(FLOW).find(|flow| flow.part.name == name).unwrap();
            flow.metrics.iter().find(|(found, _)| *found == "jain_fairness").map(|found| found.1.value)
        };
        (whole(&result, "jain_fairness"), of("bulk").unwrap(), of("late").filter(|index| !index.is_nan()))
    };
    // With all four flows, two of which have a fifth of the time, the index would be at most (2 + 2/5)^2 / 4 (2 + 2/25)
    // = 0.69.
    let (all, bulk, late) = index("8.4 s");
    assert!(all == bulk && late.is_none() && all > 0.75, "{all} {bulk} {late:?}");
    // A flow that starts at the end of the warm-up is active in all of the measured time.
    let (all, bulk, late) = index("2 s");
    assert!(all != bulk && late.is_some(), "{all} {bulk} {late:?}");
}

#[test]
fn links_have_names_and_books() {
    let result = result(&json!([]));
    let names: Vec<&str> = result.parts_of(LINK).map(|link| link.part.name.as_str()).collect();
    assert_eq!(names, ["wired", "forward", "reverse", "wired_reverse"]);
    assert!(link(&result, "forward", "link_utilisation") > 0.95);
    assert!(link(&result, "forward", "queue_drops") > 0.0);
    assert_eq!(link(&result, "wired", "queue_drops"), 0.0);
    let [p50, p95, p99] =
        ["p50", "p95", "p99"].map(|p| link(&result, "forward", &format!("queueing_delay_{p}_s")));
    assert!(p50 < p95 && p95 <= p99 && p99 <= 60.5 * 0.0012, "{p50} {p95} {p99}");
}

#[test]
fn one_flow_more_shifts_nobodys_draws() {
    // The flows hardly interact: the link is so fast that no packet waits, and nothing is lost.
    let quiet = json!([
        ["flows.bulk", null],
        ["link.rate", "1 Gbit/s"],
        ["link.queue.limit", "unlimited"],
        ["channel", { "model": "none", "p_e": null }],
    ]);
    let mut more = quiet.as_array().unwrap().clone();
    more.push(json!(["flows.alarm", { "traffic": "udp", "rate": "10 kbit/s", "on": "1 s", "off": "3 s" }]));
    let [(_, before), (_, after)] = [rows(&quiet), rows(&Value::Array(more))];
    for (before, after) in before.iter().zip(&after) {
        for metric in
            ["flow:files.segments_delivered", "flow:files.flows_completed", "flow:voice.segments_sent"]
        {
            assert_eq!(before.metrics.get(metric).unwrap(), after.metrics.get(metric).unwrap(), "{metric}");
        }
        assert!(after.metrics.get("flow:alarm.segments_sent").unwrap() > 0.0);
    }
}

#[test]
fn disciplines_do_what_they_are_for() {
    let with = |discipline: &str, ecn: bool| {
        result(&json!([
            ["flows.bulk.tcp.rfc.ecn", ecn],
            ["link.queue", { "limit": "600 packets" }],
            ["link.queue", if discipline == "drop-tail" { json!({}) } else { json!({ "discipline": discipline }) }],
        ]))
    };
    let deep = with("drop-tail", false);
    let delay = |result: &PointResult| link(result, "forward", "queueing_delay_p50_s");
    for discipline in ["red", "codel", "fq-codel"] {
        let managed = with(discipline, false);
        assert!(delay(&managed) < delay(&deep) / 3.0, "{discipline}: {} {}", delay(&managed), delay(&deep));
        let marked = with(discipline, true);
        assert!(link(&marked, "forward", "ecn_marks") > 0.0, "{discipline}");
        assert!(flow(&marked, "bulk", "ecn_reductions") > 0.0, "{discipline}");
        assert!(flow(&marked, "bulk", "retransmissions") < flow(&managed, "bulk", "retransmissions"));
    }
    let fair = with("fq-codel", false);
    assert!(flow(&fair, "files", "completion_time_s") < flow(&deep, "files", "completion_time_s") / 2.0);
}

/// Flows with packets of different sizes share a link byte by byte according to their rates, and their goodputs add up.
#[test]
fn packets_of_each_flow_have_their_own_size() {
    let flows = json!({
        "small": { "traffic": "udp", "rate": "1 Mbit/s", "packet_size": "125 B" },
        "large": { "traffic": "udp", "rate": "2 Mbit/s", "packet_size": "2500 B" },
        "jumbo": { "tcp": { "mss": "8948 B", "w_max": 10 } },
    });
    let set = json!([
        ["channel.model", "none"],
        ["channel.p_e", null],
        ["flows.bulk", null],
        ["flows.files", null],
        ["flows.voice", null],
        ["flows.small", flows["small"]],
        ["flows.large", flows["large"]],
        ["flows.jumbo", flows["jumbo"]],
        ["link.queue.limit", "500 packets"],
    ]);
    let result = result(&set);
    let per_second = |name: &str| flow(&result, name, "segments_delivered") / 18.0;
    assert!((per_second("small") - 1000.0).abs() < 1.0, "{}", per_second("small"));
    assert!((per_second("large") - 100.0).abs() < 1.0, "{}", per_second("large"));
    // Packets have 8948 B of data and 52 B of headers.
    let jumbo = flow(&result, "jumbo", "ip_goodput_bps");
    assert!((jumbo - per_second("jumbo") * 9000.0 * 8.0).abs() < 1.0, "{jumbo}");
    assert!((flow(&result, "jumbo", "goodput_bps") / jumbo - 8948.0 / 9000.0).abs() < 0.01);
    let whole: f64 =
        ["small", "large", "jumbo"].map(|name| flow(&result, name, "ip_goodput_bps")).iter().sum();
    let carried = link(&result, "forward", "link_goodput_bps");
    assert!((whole / carried - 1.0).abs() < 0.001, "{whole} of {carried}");
}
