//! Tests of scalable and classic senders behind one link (RFC 9332), from the scenario to the metric.

use crate::common::{load, result_of, rows};
use crossfade_core::testing::Runs;
use crossfade_experiment::{FLOW, LINK, PointResult};
use serde_json::json;

const TEXT: &str = r#"
    schema = 2
    run = { duration = "45 s", warmup = "15 s", runs = 2 }
    channel = { model = "iid", p_e = 0 }
    link = { rate = "40 Mbit/s", packet_size = "1500 B", queue = { discipline = "dualpi2" } }
    wired = { rtt = "25 ms" }
    tcp = { flavour = "rfc", variant = "sack", w_max = 2000 }

    [flows.classic]
    count = 5
    [flows.scalable]
    count = 5
    tcp = { congestion = "prague" }
"#;

fn flow(result: &PointResult, name: &str, metric: &str) -> f64 {
    let flow = result.parts_of(FLOW).find(|flow| flow.part.name == name).unwrap();
    flow.metrics.iter().find(|(found, _)| *found == metric).unwrap().1.value
}

fn link(result: &PointResult, metric: &str) -> f64 {
    let link = result.parts_of(LINK).find(|link| link.part.name == "forward").unwrap();
    link.metrics.iter().find(|(found, _)| *found == metric).unwrap().1.value
}

/// Measurements of the two classes of a dual queue, classic first.
#[derive(Debug)]
struct Classes {
    /// Mean queueing delay of each class in milliseconds.
    delays: [f64; 2],
    /// Goodput of a scalable flow divided by that of a classic flow.
    share: f64,
    /// Share of classic packets that were dropped, and share of scalable packets that were marked.
    dropped: f64,
    marked: f64,
    /// Mean window of a flow of each class in segments: rate times round trip.
    windows: [f64; 2],
}

fn classes(result: &PointResult, round_trip_ms: f64) -> Classes {
    let both = |metric| ["classic", "scalable"].map(|name| flow(result, name, metric));
    let [classic, scalable] = both("segments_sent");
    let goodput = both("goodput_bps");
    Classes {
        // Subtract half of the round trip and the transmission of the packet.
        delays: both("one_way_delay_mean_s").map(|delay| delay * 1e3 - round_trip_ms / 2.0 - 0.3),
        share: goodput[1] / goodput[0],
        dropped: link(result, "queue_drops") / classic,
        marked: link(result, "ecn_marks") / scalable,
        windows: [0, 1].map(|class| goodput[class] / 5.0 * both("rtt_mean_s")[class] / (1460.0 * 8.0)),
    }
}

/// Marks and drops of a dual queue are coupled (RFC 9332), here with five flows of each class on 40 Mbit/s. The
/// integral controller holds the classic queue at its target, the scalable queue stays below its ramp, the share of
/// marks is the coupling factor times the square root of that of drops, and the window of a scalable flow times its
/// marks is 2 (equation (6)). Reno stays below the 1.22 of equation (5), since it does not grow for one of the dozen
/// round trips between two losses.
#[test]
fn a_dual_queue_couples_marks_and_drops() {
    for (round_trip, coupling) in [(25.0, 2.0), (50.0, 2.0), (25.0, 4.0)] {
        let set = json!([["wired.rtt", format!("{round_trip} ms")], ["link.queue.coupling", coupling]]);
        let result = result_of(TEXT, &set);
        let got = classes(&result, round_trip);
        assert!((got.delays[0] / 15.0 - 1.0).abs() < 0.1, "{set}: {got:?}");
        assert!(got.delays[1] > 0.0 && got.delays[1] < 0.5, "{set}: {got:?}");
        assert!((got.marked / (coupling * got.dropped.sqrt()) - 1.0).abs() < 0.05, "{set}: {got:?}");
        assert!((got.windows[1] * got.marked / 2.0 - 1.0).abs() < 0.15, "{set}: {got:?}");
        let reno = got.windows[0] * got.dropped.sqrt();
        assert!((0.95..1.22).contains(&reno), "{set}: {reno}, {got:?}");
        assert!(link(&result, "link_utilisation") > 0.97);
    }
}

/// Rates follow the laws of both classes at one p' (RFC 9332 equations (5) and (6)): N flows of each class fill the
/// link if its rate is `N (1.22/(R_C p') + 2/(k R_L p'))`, and a Prague flow gets `2 R_C/(1.22 k R_L)` of a Reno flow,
/// equation (10) for k = 2, with their actual round trips `R_L` and `R_C`. Reno is below its law, the more the smaller its
/// window (1.03 at 7 segments, 1.21 at 31), since it does not grow in recovery. Below 25 ms Prague behaves as at 25 ms
/// (appendix C.2), which the share shows at 10 ms. At 100 ms the classic queue is empty at times and p' varies, so that
/// neither drops nor equation (10) apply.
#[test]
fn five_and_five_share_as_the_two_laws_say() {
    for (round_trip, coupling) in
        [(10.0, 2.0), (25.0, 1.0), (25.0, 2.0), (25.0, 4.0), (50.0, 2.0), (100.0, 2.0)]
    {
        let set = json!([
            ["wired.rtt", format!("{round_trip} ms")],
            ["link.queue.coupling", coupling],
            ["run", { "duration": "75 s", "warmup": "15 s", "runs": 3 }],
        ]);
        let result = result_of(TEXT, &set);
        let got = classes(&result, round_trip);
        let [classic, scalable] = ["classic", "scalable"].map(|name| flow(&result, name, "rtt_mean_s"));
        let scalable = scalable.max(0.025);
        let goodput: f64 =
            ["classic", "scalable"].map(|name| flow(&result, name, "goodput_bps")).iter().sum();
        let rate = goodput / (1460.0 * 8.0);
        let probability = 5.0 * (1.22 / classic + 2.0 / (coupling * scalable)) / rate;
        let share = 2.0 * classic / (1.22 * coupling * scalable);
        let off = [got.marked / coupling / probability, got.dropped.sqrt() / probability, got.share / share];
        println!("{round_trip} ms, k = {coupling}: {off:?} of p' = {probability}, share {share}");
        let laws = match round_trip {
            ..25.0 => &off[..0],
            100.0.. => &off[..1],
            _ => &off[..2],
        };
        assert!(laws.iter().all(|off| (off - 1.0).abs() < 0.1), "{set}: {off:?}, {got:?}");
        assert!(round_trip > 50.0 || (0.9..1.25).contains(&off[2]), "{set}: {off:?}, {got:?}");
    }
}

/// The share of marks of one DCTCP flow over a step goes with sqrt(2/W) (Alizadeh et al., SIGCOMM 2010, section 3.3),
/// not with the 2/W of random marks, since the flow marks a part of a window each time its window exceeds the step. In
/// the paper a whole window is marked; here the queue passes the step within a window, as the window's last segment
/// joins.
#[test]
fn a_step_marks_with_the_root_of_the_window() {
    let one = TEXT
        .replace("[flows.classic]\n    count = 5\n", "")
        .replace("count = 5", "count = 1")
        .replace("prague", "dctcp");
    let queue = json!({ "discipline": "dualpi2", "profile": "linux" });
    let set = |round_trip: &str| json!([["wired.rtt", round_trip], ["link.queue", queue], ["run.runs", 8]]);
    // The windows are 37, 69 and 133 segments.
    for round_trip in ["10 ms", "20 ms", "40 ms"] {
        let runs = rows(&load(&one, &set(round_trip), &[]).unwrap(), 2);
        let parts = runs.iter().map(|run| {
            let of = |metric: &str| run.metrics.get(metric).unwrap();
            let window = of("goodput_bps") * of("rtt_mean_s") / (1460.0 * 8.0);
            let marked = of("ecn_marks") / of("segments_sent");
            assert!(marked > 2.0 * 2.0 / window, "{round_trip}: {marked} at W = {window}");
            marked * (window / 2.0).sqrt()
        });
        Runs::from(parts.collect::<Vec<f64>>()).assert_mean_in(0.6..=0.8, round_trip);
    }
}

/// The dual queue of Linux, with the same target and coupling, a step at 1 ms, and independent marks, behaves as that
/// of the RFC.
#[test]
fn the_dual_queue_of_linux_does_the_same() {
    let got = classes(
        &result_of(TEXT, &json!([["link.queue", { "discipline": "dualpi2", "profile": "linux" }]])),
        25.0,
    );
    assert!((got.delays[0] / 15.0 - 1.0).abs() < 0.1, "{got:?}");
    assert!(got.delays[1] > 0.0 && got.delays[1] < 0.5, "{got:?}");
    assert!((got.marked / (2.0 * got.dropped.sqrt()) - 1.0).abs() < 0.1, "{got:?}");
    assert!((1.0..1.6).contains(&got.share), "{got:?}");
}

/// In a shared queue with classic marks a scalable sender takes more than its share, since it yields less to each mark
/// (RFC 9331 section 4.3.1).
#[test]
fn a_shared_queue_is_no_place_for_both() {
    let shared = result_of(
        TEXT,
        &json!([["link.queue", { "discipline": "codel", "limit": "1000 packets" }], ["flows.classic.tcp", { "rfc": { "ecn": true } }]]),
    );
    let got = classes(&shared, 25.0);
    assert!(got.share > 2.0, "{got:?}");
}

/// BBR version 3 as in Linux, alone on 50 Mbit/s and 4 ms, keeps a shorter queue with its response to marks than
/// without, where only losses bound a probe. At longer round trips it ignores marks, unless the scenario sets
/// otherwise.
#[test]
fn marks_shorten_the_queue_of_bbr() {
    const ONE: &str = r#"
        schema = 2
        run = { duration = "12 s", warmup = "2 s", runs = 2 }
        channel = { model = "iid", p_e = 0 }
        link = { rate = "50 Mbit/s", packet_size = "1500 B", queue = { discipline = "dualpi2" } }
        wired = { rtt = "4 ms" }
        tcp = { variant = "sack", congestion = "bbr-v3", w_max = 2000, rfc = { profile = "linux" }, bbr = { profile = "linux-v3" } }
        [flows.f]
    "#;
    let queue_and_goodput = |set, round_trip_ms: f64| {
        let result = result_of(ONE, &set);
        let delay = |metric| flow(&result, "f", metric) * 1e3 - round_trip_ms / 2.0 - 0.24;
        let marks = link(&result, "ecn_marks");
        (
            delay("one_way_delay_mean_s"),
            delay("one_way_delay_p99_s"),
            flow(&result, "f", "goodput_bps"),
            marks,
        )
    };
    let without = queue_and_goodput(json!([]), 4.0);
    let with = queue_and_goodput(json!([["tcp.bbr.ecn", true]]), 4.0);
    println!("{without:?} {with:?}");
    assert!(without.3 == 0.0 && with.3 > 0.0, "{without:?} {with:?}");
    assert!(with.0 < 0.7 * without.0 && with.1 < 0.7 * without.1, "{without:?} {with:?}");
    assert!(with.2 > 0.9 * without.2, "{without:?} {with:?}");
    let long = |limit| queue_and_goodput(json!([["wired.rtt", "8 ms"], ["tcp.bbr", limit]]), 8.0);
    let unheard = long(json!({ "profile": "linux-v3", "ecn": true }));
    let heard = long(json!({ "profile": "linux-v3", "ecn": true, "ecn_max_rtt": "10 ms" }));
    println!("{unheard:?} {heard:?}");
    assert!(heard.0 < unheard.0, "{unheard:?} {heard:?}");
}

#[test]
fn what_cannot_be_is_refused_by_name() {
    for (set, key) in [
        (json!([["link.queue.coupling", 0]]), "link.queue.coupling"),
        (json!([["link.queue.target", "0 s"]]), "link.queue.target"),
        (json!([["link.queue.l_min_th", "2 ms"]]), "link.queue.l_min_th"),
        (json!([["link.queue.ecn", false]]), "link.queue.ecn"),
        (json!([["link.queue.limit", "100 B"]]), "link.queue.limit"),
        (json!([["tcp.rfc.accurate_ecn", true]]), "tcp.rfc.accurate_ecn"),
        (json!([["flows.scalable.tcp.rfc", { "accurate_ecn": false }]]), "accurate_ecn"),
        (
            json!([["link.queue", { "discipline": "codel", "limit": "9 packets", "coupling": 2 }]]),
            "link.queue.coupling",
        ),
    ] {
        let error = load(TEXT, &set, &[]).err().unwrap_or_else(|| panic!("{set} was taken"));
        assert!(error.contains(key), "{error}");
    }
}
