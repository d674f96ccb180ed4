//! Tests of drop-tail queues, which decide the fate of a packet when it arrives. Random scenarios that end at random
//! times have bit for bit the same metrics and samples as under a `CoDel` queue whose target is never reached, which
//! decides when packets leave. Some counts are also checked by hand.

use crate::common::{plan, rows, texts};
use crossfade_core::testing::long_or;
use crossfade_experiment::{Experiment, Row, link_events, samples};
use proptest::prelude::*;
use proptest::sample::select;
use proptest::test_runner::{Config, TestRunner};
use serde_json::{Map, Value, json};

/// A queue that drops packets if it holds `limit`; with `is_codel` a `CoDel` queue whose target no packet ever exceeds.
fn queue(limit: &str, is_codel: bool) -> Value {
    if is_codel {
        let never = "1000000 s";
        json!({ "discipline": "codel", "limit": limit, "target": never, "interval": never, "ecn": false })
    } else {
        json!({ "discipline": "drop-tail", "limit": limit })
    }
}

/// A scenario without its queues, and their limits: of the wireless link, the wired link, and the reverse path.
#[derive(Clone, Debug)]
pub(crate) struct Draft {
    pub(crate) tables: Value,
    pub(crate) limits: [Option<String>; 3],
}

impl Draft {
    fn plan(&self, is_codel: bool) -> Experiment {
        let mut tables = self.tables.clone();
        for (table, limit) in ["link", "wired", "reverse"].iter().zip(&self.limits) {
            if let Some(limit) = limit {
                tables[table]["queue"] = queue(limit, is_codel);
            }
        }
        let set: Vec<Value> =
            tables.as_object().unwrap().iter().map(|(key, value)| json!([key, value])).collect();
        plan("schema = 2", &Value::from(set))
    }
}

fn any_limit() -> impl Strategy<Value = String> {
    prop_oneof![
        3 => (1_u32..60).prop_map(|packets| format!("{packets} packets")),
        1 => (2_u32..90).prop_map(|kilobytes| format!("{kilobytes} kB")),
    ]
}

/// Random loss process of packets or frames.
fn any_channel() -> impl Strategy<Value = Value> {
    prop_oneof![
        2 => Just(json!({ "model": "none" })),
        2 => select(vec![0.01, 0.1, 0.3]).prop_map(|p_e| json!({ "model": "iid", "p_e": p_e })),
        1 => Just(json!({ "model": "markov", "p_e": 0.1, "mean_burst": 4.0 })),
    ]
}

/// Random wireless link of whole packets or of frames, without its queue.
fn any_link() -> impl Strategy<Value = Value> {
    let protocol = prop_oneof![
        Just(json!({ "protocol": "none" })),
        Just(json!({ "protocol": "stop-and-wait", "max_retransmissions": 3 })),
        Just(json!({ "protocol": "go-back-n", "window": 16, "max_retransmissions": 2 })),
        Just(json!({ "protocol": "selective-repeat", "window": 32, "max_retransmissions": 5 })),
    ];
    let frames = (select(vec!["250 B", "1000 B", "3000 B"]), protocol);
    // 1000 bytes take 1 ms or 4 ms, or a time that is no whole number of nanoseconds.
    (select(vec!["8 Mbit/s", "2 Mbit/s", "3.7 Mbit/s"]), 0_u32..30, prop::option::weighted(0.3, frames))
        .prop_map(|(rate, delay, frames)| {
            let mut link = json!({ "rate": rate, "packet_size": "1000 B", "delay": format!("{delay} ms") });
            if let Some((size, arq)) = frames {
                link["frame_size"] = json!(size);
                link["arq"] = arq;
            }
            link
        })
}

fn any_tcp() -> impl Strategy<Value = Value> {
    let flavours = prop_oneof![
        Just(json!({ "flavour": "paper", "variant": "tahoe", "rto": { "fixed": "60 ms" }, "gate": "queue" })),
        Just(json!({ "flavour": "ns2", "variant": "newreno" })),
        Just(json!({ "variant": "sack" })),
        Just(json!({ "variant": "cubic" })),
        Just(json!({ "variant": "sack", "congestion": "cubic", "rfc": { "profile": "linux" } })),
        Just(json!({ "variant": "sack", "congestion": "bbr-v1", "rfc": { "profile": "linux" } })),
        Just(json!({ "flavour": "quic", "congestion": "cubic" })),
    ];
    (flavours, 2_u32..150).prop_map(|(mut tcp, w_max)| {
        tcp["w_max"] = json!(w_max);
        tcp
    })
}

/// Random traffic of a flow, and its start.
fn any_flow() -> impl Strategy<Value = Value> {
    let rate = || select(vec!["0.3 Mbit/s", "1.6 Mbit/s", "4 Mbit/s", "9 Mbit/s"]);
    let traffic = prop_oneof![
        4 => any_tcp().prop_map(|tcp| json!({ "tcp": tcp })),
        2 => (any_tcp(), 1_u32..200).prop_map(|(tcp, size)| {
            json!({ "traffic": "transfer", "size": format!("{size} kB"), "tcp": tcp })
        }),
        1 => any_tcp().prop_map(|tcp| {
            json!({ "traffic": "arrivals", "arrivals_per_s": 8.0, "size": "20 kB", "tcp": tcp })
        }),
        2 => rate().prop_map(|rate| json!({ "traffic": "udp", "rate": rate })),
        1 => rate().prop_map(|rate| json!({ "traffic": "udp", "rate": rate, "jitter": 0.3 })),
        1 => rate().prop_map(|rate| json!({ "traffic": "poisson", "rate": rate })),
        1 => rate().prop_map(|rate| json!({ "traffic": "udp", "rate": rate, "on": "100 ms", "off": "150 ms" })),
    ];
    (traffic, select(vec![0_u32, 0, 3, 10]), 0_u32..300).prop_map(|(mut flow, access, start)| {
        flow["access_delay"] = json!(format!("{access} ms"));
        if flow["traffic"] != "arrivals" {
            flow["start"] = json!(format!("{start} ms"));
        }
        flow
    })
}

/// Random end of a run: a time that is a whole number of sample intervals, which are 1 ms, 4 ms or a random number of
/// nanoseconds; or a count of delivered segments.
fn any_run() -> impl Strategy<Value = Value> {
    let sample = prop_oneof![Just(1_000_000_u64), Just(4_000_000), 1_000_000_u64..9_000_000];
    let ends = (sample, 20_u64..400, prop_oneof![Just(0.0), 0.0..0.9], any::<u64>()).prop_map(
        |(sample, samples, warm, seed)| {
            let warmup = (samples as f64 * warm) as u64 * sample;
            let span = |ns: u64| format!("{}.{:09} s", ns / 1_000_000_000, ns % 1_000_000_000);
            json!({
                "duration": span(sample * samples), "warmup": span(warmup), "sample": span(sample),
                "runs": 1, "seed": seed >> 12,
            })
        },
    );
    let counts = (1_u64..300, 0_u32..200, any::<u64>()).prop_map(|(segments, warmup, seed)| {
        json!({ "segments": segments, "warmup": format!("{warmup} ms"), "runs": 1, "seed": seed >> 12 })
    });
    prop_oneof![4 => ends, 1 => counts]
}

pub(crate) fn any_draft() -> impl Strategy<Value = Draft> {
    let wired = (select(vec!["1.3 Mbit/s", "4 Mbit/s", "8 Mbit/s"]), 0_u32..20)
        .prop_map(|(rate, delay)| json!({ "rate": rate, "one_way_delay": format!("{delay} ms") }));
    let back = (select(vec!["0.1 Mbit/s", "0.32 Mbit/s", "2 Mbit/s"]), 0_u32..20)
        .prop_map(|(rate, delay)| json!({ "rate": rate, "delay": format!("{delay} ms") }));
    let flows = prop::collection::vec(any_flow(), 1..4);
    let limits = (any_limit(), any_limit(), prop::option::of(any_limit()));
    let parts = (
        any_run(),
        any_channel(),
        any_link(),
        prop::option::weighted(0.3, wired),
        prop::option::weighted(0.4, back),
    );
    (parts, flows, limits).prop_map(
        |((run, channel, link, wired, reverse), flows, (forward, there, back))| {
            let named: Map<_, _> =
                (0..).zip(flows).map(|(i, flow): (u32, _)| (format!("f{i}"), flow)).collect();
            let run_counts = run.get("segments").is_some();
            let mut tables = json!({ "run": run, "channel": channel, "link": link, "flows": named });
            // A run with a count of segments has only bulk flows, since these might starve for hours beside datagrams.
            let flows = tables["flows"].as_object_mut().unwrap();
            if run_counts {
                flows.retain(|_, flow| flow["traffic"] == Value::Null);
                let usual = json!({ "tcp": { "variant": "sack", "w_max": 20 } });
                if flows.is_empty() {
                    flows.insert("f0".to_owned(), usual);
                }
            }
            let mut limits = [Some(forward), None, None];
            if let Some(wired) = wired {
                tables["wired"] = wired;
                limits[1] = Some(there);
            }
            if let Some(reverse) = reverse {
                tables["reverse"] = reverse;
                limits[2] = back;
            }
            Draft { tables, limits }
        },
    )
}

/// Row of the only run of a plan.
fn row(plan: &Experiment) -> Row {
    rows(plan, 1).remove(0)
}

/// Metrics of a row with the bits of their values.
fn bits(row: &Row) -> Vec<(String, f64, u64)> {
    let names = row.metrics.names().joined().split('\n').map(str::to_owned);
    names.zip(row.metrics.values()).map(|(name, &value)| (name, value, value.to_bits())).collect()
}

/// Seconds of a time such as "1.5 s".
fn seconds(span: &Value) -> f64 {
    span.as_str().unwrap().trim_end_matches(" s").parse().unwrap()
}

/// Number of waiting packets over time, from the events of a link.
fn lengths(events: &str, link: &str) -> Vec<(f64, f64)> {
    let cells = events.lines().skip(1).map(|line| line.split(',').collect::<Vec<_>>());
    let of_queue = cells.filter(|cells| cells[1] == link && cells[2] == "queue");
    of_queue.map(|cells| (cells[0].parse().unwrap(), cells[14].parse().unwrap())).collect()
}

/// Mean number of waiting packets between two times.
fn mean_length(lengths: &[(f64, f64)], from: f64, to: f64) -> f64 {
    let ends = lengths.iter().skip(1).map(|(at, _)| *at).chain([to]);
    let area = |((at, length), end): (&(f64, f64), f64)| length * (end.min(to) - at.max(from)).max(0.0);
    lengths.iter().zip(ends).map(area).sum::<f64>() / (to - from)
}

/// One column of the samples of a link or a flow after the time `from`, as times and values.
fn column<'a>(
    samples: &'a str,
    of: (usize, &'a str),
    name: &str,
    from: f64,
) -> impl Iterator<Item = (f64, f64)> + 'a {
    let place = samples.lines().next().unwrap().split(',').position(|column| column == name).unwrap();
    let cells = samples.lines().skip(1).map(|line| line.split(',').collect::<Vec<_>>());
    cells.filter(move |cells| cells[of.0] == of.1).filter_map(move |cells| {
        let at: f64 = cells[0].parse().unwrap();
        (at > from + 1e-10).then(|| (at, cells[place].parse().unwrap()))
    })
}

fn close(one: f64, other: f64, what: &str) -> Result<(), TestCaseError> {
    prop_assert!((one - other).abs() <= 1e-9 * one.abs().max(1.0), "{what}: {one} {other}");
    Ok(())
}

/// Checks that metrics, samples and events under drop-tail equal those under a `CoDel` queue that never drops early.
fn agree(draft: &Draft) -> Result<(), TestCaseError> {
    let plans = [false, true].map(|is_codel| draft.plan(is_codel));
    let [tail, codel] = plans.each_ref().map(row);
    prop_assert_eq!(bits(&tail), bits(&codel));
    let run = &draft.tables["run"];
    let Some(duration) = run.get("duration").map(seconds) else { return Ok(()) };
    let (warmup, every) = (seconds(&run["warmup"]), seconds(&run["sample"]));
    let [sampled, of_codel] = plans.each_ref().map(|plan| texts(plan, samples).remove(0));
    prop_assert_eq!(&sampled, &of_codel);
    let events = texts(&plans[1], link_events).remove(0);
    let measured = duration - warmup;
    let value = |name: &str| tail.metrics.get(name);

    // The flows have sent as much on the wireless link as the link has sent.
    let is_framed = draft.tables["link"].get("frame_size").is_some();
    if let Some(energy) = value("energy_per_packet").filter(|_| !is_framed) {
        let sent = energy * value("segments_delivered").unwrap();
        close(sent, value("frame_transmissions").unwrap(), "energy_per_packet")?;
    }

    // Samples of links: packets that came out, and packets that wait.
    let links = ["forward", "wired", "reverse"].iter().zip(["link", "wired", "reverse"]).zip(&draft.limits);
    for ((&link, table), limit) in links.filter(|((_, table), _)| draft.tables.get(*table).is_some()) {
        let of_link =
            |name: &str| value(&if link == "forward" { name.to_owned() } else { format!("{link}.{name}") });
        let came =
            column(&sampled, (9, link), "goodput_bps", warmup).map(|(_, bps)| bps * every).sum::<f64>();
        close(came / measured, of_link("link_goodput_bps").unwrap(), "link_goodput_bps")?;
        let is_framed = draft.tables[table].get("frame_size").is_some();
        if limit.is_none() || is_framed {
            continue;
        }
        let lengths = lengths(&events, link);
        close(
            mean_length(&lengths, warmup, duration),
            of_link("queue_mean_packets").unwrap(),
            "queue_mean_packets",
        )?;
        for (at, packets) in column(&sampled, (9, link), "queue_packets", -1.0) {
            let known = lengths.iter().take_while(|(changed, _)| *changed <= at + 1e-12).last();
            prop_assert_eq!(known.map_or(0.0, |(_, length)| *length), packets, "{} at {}", link, at);
        }
    }

    // Samples of flows that exist from the start.
    let lasting =
        draft.tables["flows"].as_object().unwrap().iter().filter(|(_, flow)| flow["traffic"] != "arrivals");
    for (number, (name, _)) in lasting.enumerate() {
        let (number, of_flow) =
            (number.to_string(), |metric: &str| value(&format!("flow:{name}.{metric}")).unwrap());
        let sum = |column_name| {
            column(&sampled, (2, &number), column_name, warmup).map(|(_, value)| value).sum::<f64>()
        };
        close(sum("goodput_bps") * every / measured, of_flow("goodput_bps"), "goodput_bps")?;
        close(sum("retransmissions"), of_flow("retransmissions"), "retransmissions")?;
    }
    Ok(())
}

fn agree_in(cases: u32) {
    // The number of cases scales with the one requested for the default of 256.
    let cases = Config::default().cases * cases / 256;
    let mut runner = TestRunner::new(Config { cases, failure_persistence: None, ..Config::default() });
    runner.run(&any_draft(), |draft| agree(&draft)).unwrap_or_else(|error| panic!("{error}"));
}

/// The long form has 3,000 scenarios.
#[test]
fn drop_tail_counts_what_a_queue_counts_that_never_acts() {
    agree_in(long_or(3000, 100));
}

/// Scenario with a link of 1 Mbit/s, on which a packet takes 12 ms.
const ONE_MEGABIT: &str = r#"
    schema = 2
    run = { duration = "60 s", runs = 1 }
    channel = { model = "none" }
    link = { rate = "1 Mbit/s", packet_size = "1500 B" }
"#;

/// Metrics `names` of a run over 1 Mbit/s with a queue of 1000 packets, under drop-tail and under a `CoDel` queue that
/// never drops early.
fn over_one_megabit<const N: usize>(set: &[(&str, Value)], names: [&str; N]) -> [[f64; N]; 2] {
    [false, true].map(|is_codel| {
        let queue = ("link.queue", queue("1000 packets", is_codel));
        let set: Vec<Value> = set.iter().chain([&queue]).map(|(key, value)| json!([key, value])).collect();
        let row = row(&plan(ONE_MEGABIT, &Value::from(set)));
        names.map(|name| row.metrics.get(name).unwrap_or_else(|| panic!("no {name}")))
    })
}

/// A link that is never idle sends 5000 packets of 12 ms in a minute, regardless of the packets that wait at the end.
/// With no propagation delay each of them has arrived.
#[test]
fn a_full_link_has_sent_what_fits_into_the_time() {
    let names = [
        "frame_transmissions",
        "segments_delivered",
        "energy_per_packet",
        "link_utilisation",
        "queue_mean_packets",
        "forward.queueing_delay_mean_s",
        "rtt_mean_s",
    ];
    let both = over_one_megabit(&[("tcp", json!({ "variant": "cubic", "w_max": 4000 }))], names);
    assert_eq!(both[0], both[1]);
    let [sent, delivered, energy, utilisation, queue, wait, round_trip] = both[0];
    assert_eq!((sent, delivered, energy), (5000.0, 5000.0, 1.0));
    assert!((utilisation - 1.0).abs() < 1e-12, "{utilisation}");
    assert!((560.0..580.0).contains(&queue), "{queue}");
    // A round trip is the wait in the queue, 12 ms, and the time that the receiver takes to answer.
    assert!(wait + 0.012 <= round_trip, "{wait} {round_trip}");
}

/// At twice the rate two packets arrive every 12 ms and one is sent: k packets wait in the first half of period k, and
/// k + 1 in the second. Once 1000 wait, every other packet is dropped.
#[test]
fn twice_the_rate_fills_a_queue_and_loses_what_the_channel_and_the_queue_lose() {
    let set = |p_e: f64| {
        [
            ("channel", json!({ "model": "iid", "p_e": p_e })),
            ("flows.f", json!({ "traffic": "udp", "rate": "2 Mbit/s" })),
        ]
    };
    let names =
        ["queue_drops", "frame_transmissions", "frame_errors", "segment_loss_rate", "queue_mean_packets"];
    let both = over_one_megabit(&set(0.1), names);
    assert_eq!(both[0], both[1]);
    let [drops, sent, lost, loss_rate, queue] = both[0];
    // At the end one packet is being sent and 999 wait; the next would arrive at that time.
    assert_eq!((drops, sent), (10_000.0 - 5000.0 - 1.0 - 999.0, 5000.0));
    // Five standard deviations of a binomial distribution are exceeded for one in two million seeds.
    assert!((lost - 500.0).abs() < 5.0 * 450.0_f64.sqrt(), "{lost}");
    assert_eq!(loss_rate, (lost + drops) / (sent + drops));
    let halves = (0..5000).flat_map(|k| [k, k + 1]).map(|waiting| f64::from(waiting.min(1000)));
    assert!((queue - halves.sum::<f64>() / 10_000.0).abs() < 1e-9, "{queue}");

    // For ten seconds the queue drops nothing, so that all losses are the channel's.
    let short = set(0.1).into_iter().chain([("run.duration", json!("10 s"))]).collect::<Vec<_>>();
    for [drops, sent, lost, loss_rate, _] in over_one_megabit(&short, names) {
        assert_eq!((drops, sent, loss_rate), (0.0, 833.0, lost / 833.0));
    }
}

/// At ten times the rate ten packets arrive every 12 ms: 9 k + j wait after packet j of period k, and 1000 at the most.
#[test]
fn ten_times_the_rate_fills_the_queue_and_no_more() {
    let set = [("flows.f", json!({ "traffic": "udp", "rate": "10 Mbit/s" }))];
    let both = over_one_megabit(&set, ["queue_mean_packets", "queue_drops"]);
    assert_eq!(both[0], both[1]);
    let tenths =
        (0..5000).flat_map(|k| (0..10).map(move |j| 9 * k + j)).map(|waiting| f64::from(waiting.min(1000)));
    let mean = tenths.sum::<f64>() / 50_000.0;
    assert!((both[0][0] - mean).abs() < 1e-9 && mean < 1000.0, "{} {mean}", both[0][0]);
    assert_eq!(both[0][1], 50_000.0 - 5000.0 - 1.0 - 999.0);
}

/// The sender of the papers waits for the slots of a hop with a drop-tail queue; over another queue it sends at once
/// and is not simulated in slots.
#[test]
fn the_papers_sender_runs_over_any_queue() {
    let tcp = json!({ "flavour": "paper", "variant": "tahoe", "w_max": 24, "rto": { "fixed": "100 slots" } });
    let gated = over_one_megabit(&[("tcp", tcp.clone())], ["goodput_bps"]);
    let mut queued = tcp;
    queued["gate"] = json!("queue");
    let both = over_one_megabit(&[("tcp", queued)], ["goodput_bps"]);
    assert_eq!((both[0], gated[1]), (both[1], both[1]));
}
