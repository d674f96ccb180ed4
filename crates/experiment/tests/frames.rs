//! Tests of links with frames and ARQ against closed forms, from the text of a scenario to its metrics.

use crate::common::{metric, plan, result_of, rows};
use crossfade_experiment::{ExecutionHandle, LINK, PointResult, Shard, execute};
use crossfade_scenario::Method;
use serde_json::{Value, json};

/// Scenario of the link of Chockalingam and Bao alone: frames with 20 octets of payload take 20 ms at 9600 bit/s.
const RLP: &str = r#"
    schema = 1
    run = { duration = "2020 s", warmup = "20 s", runs = 10 }
    channel = { model = "iid", p_e = 0.1 }
    flows.load = { traffic = "saturated" }

    [link]
    rate = "9600 bit/s"
    packet_size = "576 B"
    queue = { limit = "10 packets" }
    frame_size = "24 B"
    framing = { payload = "20 B", packing = "crossing" }
    arq = { protocol = "rlp-is99", max_retransmissions = 60 }
"#;

/// Checks that `expected` is within Student's 99.9 % interval over ten runs; the level is high since many comparisons
/// must all hold.
#[track_caller]
fn agrees(result: &PointResult, name: &str, expected: f64) {
    let (value, ci95) = metric(result, name);
    // Scales the 95 % interval to 99.9 % by t(0.9995, 9) / t(0.975, 9); a frame or two may be at the edges of the
    // measured time.
    let allowed = 4.781 / 2.262 * ci95 + 1e-4 * expected;
    assert!((value - expected).abs() <= allowed, "{name}: {value} +- {ci95}, expected {expected}");
}

#[test]
fn rounds_of_naks_cost_their_copies() {
    for p_e in [0.01, 0.1, 0.3] {
        // With one NAK a round every frame is sent until it arrives.
        let one = result_of(RLP, &json!([["channel.p_e", p_e], ["link.arq.reading", "g"]]));
        agrees(&one, "rlp_throughput_bps", 8000.0 * (1.0 - p_e));
        agrees(&one, "frame_error_rate", p_e);
        agrees(&one, "frame_transmissions_per_frame", 1.0 / (1.0 - p_e));
        // Packets of 576 bytes fill frames of 20 bytes without a gap.
        let (goodput, rlp) = (metric(&one, "link_goodput_bps").0, metric(&one, "rlp_throughput_bps").0);
        assert!((goodput / rlp - 1.0).abs() < 1e-3, "{goodput} {rlp}");
        // Round r has r NAKs, each of which causes a transmission whether it is needed or not.
        for reading in ["e", "f"] {
            let growing = result_of(RLP, &json!([["channel.p_e", p_e], ["link.arq.reading", reading]]));
            let extra: f64 = (1..40).map(|r| f64::from(r) * p_e.powi(1 + r * (r - 1) / 2)).sum();
            agrees(&growing, "rlp_throughput_bps", 8000.0 / (1.0 + extra));
        }
    }
}

#[test]
fn a_frame_is_lost_with_all_its_retransmissions() {
    let (is99, nack) = ("rlp-is99", "rlp-nack");
    for (p_e, n) in [(0.3_f64, 1), (0.3, 3), (0.1, 1), (0.05, 0)] {
        let arq = |arq: Value| json!([["channel.p_e", p_e], ["link.arq", null], ["link.arq", arq]]);
        for arq in [
            arq(json!({ "protocol": is99, "reading": "f", "max_retransmissions": n })),
            arq(json!({ "protocol": is99, "reading": "g", "max_retransmissions": n })),
            // The timer is long enough for the queue of retransmissions.
            arq(json!({ "protocol": nack, "timeout": "40 frames", "max_retransmissions": n })),
            arq(json!({ "protocol": "stop-and-wait", "max_retransmissions": n })),
            arq(json!({ "protocol": "selective-repeat", "window": 256, "max_retransmissions": n })),
        ] {
            let result = result_of(RLP, &arq);
            agrees(&result, "residual_frame_error_rate", p_e.powi(n + 1));
        }
    }
}

#[test]
fn the_textbook_protocols_keep_to_their_formulas() {
    // A frame takes one frame time, and each direction half of one: an answer arrives two frame times after the start.
    let p_e = 0.1;
    let with = |arq: Value| {
        let set = json!([["link.delay", "10 ms"], ["link.arq", null], ["link.arq", arq]]);
        result_of(RLP, &set)
    };
    let (a_frame, frames) = (8000.0, 2.0);
    let stop_and_wait = with(json!({ "protocol": "stop-and-wait" }));
    agrees(&stop_and_wait, "rlp_throughput_bps", a_frame * (1.0 - p_e) / frames);
    // Lost feedback costs as much as a lost frame.
    let deaf = with(json!({ "protocol": "stop-and-wait", "feedback": { "loss": 0.2 } }));
    agrees(&deaf, "rlp_throughput_bps", a_frame * (1.0 - p_e) * 0.8 / frames);
    // A loss costs the whole window of go-back-N.
    let go_back_n = with(json!({ "protocol": "go-back-n", "window": 2 }));
    agrees(&go_back_n, "rlp_throughput_bps", a_frame * (1.0 - p_e) / (1.0 - p_e + frames * p_e));
    let selective_repeat = with(json!({ "protocol": "selective-repeat", "window": 4096 }));
    agrees(&selective_repeat, "rlp_throughput_bps", a_frame * (1.0 - p_e));
    assert_eq!(metric(&selective_repeat, "packets_lost").0, 0.0);
}

#[test]
fn without_arq_a_packet_needs_all_its_frames() {
    let set = json!([["link.arq", null], ["link.framing.packing", "padded"], ["channel.p_e", 0.01]]);
    let result = result_of(RLP, &set);
    agrees(&result, "residual_frame_error_rate", 0.01);
    agrees(&result, "frame_transmissions_per_frame", 1.0);
    // A packet is 29 frames, the last of which is padded.
    agrees(&result, "link_goodput_bps", 576.0 * 8.0 / (29.0 * 0.02) * 0.99_f64.powi(29));
    assert_eq!(metric(&result, "hol_delay_mean_s").0, 0.0);
    assert!(metric(&result, "packets_lost").0 > 0.0);
}

/// Scenario of TCP as in the paper: Tahoe with a window of 4 segments of 536 octets. A segment with a header of 3
/// octets and 4 octets of PPP is 28 frames.
const TCP: &str = r#"
    schema = 1
    run = { duration = "3000 s", runs = 10 }
    channel = { model = "iid", p_e = 0.3 }

    [link]
    rate = "9600 bit/s"
    packet_size = "576 B"
    frame_size = "24 B"
    framing = { payload = "20 B" }
    headers = { compressed = "3 B", ppp = "4 B" }
    arq = { protocol = "rlp-is99", max_retransmissions = 10 }

    [tcp]
    flavour = "ns2"
    variant = "tahoe"
    w_max = 4
    headers = "40 B"
    limited_transmit = false
    rto = { min = "1 s", initial = "3 s", granularity = "100 ms", max = "64 s" }
"#;

#[test]
fn tcp_over_the_default_reading_agrees_with_an_independent_implementation() {
    // An independent implementation gives 4872 bit/s, with a standard error of 50 at most, as the least goodput over
    // the channels of the paper with ten retransmissions and a frame error rate of 30 %.
    let channels = [None, Some(0.01), Some(0.04), Some(0.16)];
    let goodputs = channels.map(|fd_t| match fd_t {
        None => metric(&result_of(TCP, &json!([])), "goodput_bps"),
        Some(fd_t) => {
            let channel = json!({ "model": "markov", "fd_t": fd_t });
            metric(&result_of(TCP, &json!([["channel", channel]])), "goodput_bps")
        }
    });
    let (lowest, ci95) = goodputs.into_iter().min_by(|a, b| a.0.total_cmp(&b.0)).unwrap();
    assert!((lowest - 4872.0).abs() < 3.0 * (ci95 / 2.262).hypot(50.0), "{lowest} +- {ci95}");
}

#[test]
fn at_one_percent_only_headers_and_padding_are_lost_to_tcp() {
    let result = result_of(TCP, &json!([["channel.p_e", 0.01]]));
    let (goodput, rlp) = (metric(&result, "goodput_bps").0, metric(&result, "rlp_throughput_bps").0);
    // A segment of 543 bytes takes 28 frames of 20 bytes, 560 bytes.
    assert!((goodput / rlp - 536.0 / 560.0).abs() < 1e-3, "{goodput} of {rlp}");
    // The rate is 8000 / (1 + P + 2 P^2 + ...) = 7919 bit/s. TCP starts with a window of one segment.
    assert!((rlp / 7919.0 - 1.0).abs() < 2e-3, "{rlp}");
}

#[test]
fn acknowledgements_may_travel_in_frames_too() {
    let reverse = json!({
        "rate": "9600 bit/s", "frame_size": "24 B", "framing": { "payload": "20 B" },
        "headers": { "compressed": "3 B", "ppp": "4 B" },
        "arq": { "protocol": "rlp-is99", "max_retransmissions": 10 },
        "channel": { "model": "iid", "p_e": 0.3 },
    });
    let one = |key: &str, value: Value| json!([["run.runs", 3], ["tcp.w_max", 1], [key, value]]);
    let ideal = result_of(TCP, &one("reverse", json!({})));
    let both = result_of(TCP, &one("reverse", reverse));
    let link = both.parts_of(LINK).find(|link| link.part.name == "reverse").unwrap();
    let of_link = |name| link.metrics.iter().find(|(found, _)| *found == name).unwrap().1.value;
    assert!((of_link("frame_error_rate") - 0.3).abs() < 0.02);
    assert!(of_link("residual_frame_error_rate") < 1e-3);
    assert!(of_link("hol_delay_p95_s") >= of_link("hol_delay_p50_s"));
    // An acknowledgement of seven octets takes a frame of 20 ms, or several with retransmissions.
    assert!(metric(&both, "rtt_mean_s").0 > metric(&ideal, "rtt_mean_s").0 + 0.02);
}

#[test]
fn rows_do_not_depend_on_the_number_of_threads() {
    let set = json!([["run.duration", "200 s"], ["link.arq.feedback", { "loss": 0.1 }]]);
    let plan = plan(TCP, &set);
    let one = rows(&plan, 1);
    assert_eq!(one, rows(&plan, 3));
    assert!(one[0].metrics != one[1].metrics);
    let mut late = Vec::new();
    let known = one[..5].to_vec();
    assert!(
        execute(&plan, known, 2, Shard::WHOLE, &ExecutionHandle::default(), &mut |new, _| late.extend(new))
            .unwrap()
    );
    assert_eq!(late.len(), 5);
}

#[test]
fn a_packet_that_fits_a_frame_makes_a_link_of_packets() {
    // Frames of the size of packets, without ARQ, are equivalent to a link of whole packets.
    let whole = r#"
        schema = 1
        run = { duration = "20 s", runs = 3 }
        channel = { model = "markov", p_e = 0.05, fd_t = 0.02 }
        link = { rate = "1.5 Mbit/s", packet_size = "1500 B", delay = "5 ms", queue = { limit = "20 packets" } }
        reverse = { delay = "20 ms" }
        tcp = { flavour = "rfc", variant = "sack", w_max = 40 }
    "#;
    let framed = json!([["link.frame_size", "1500 B"], ["link.framing.slotted", false]]);
    let (packets, frames) = (result_of(whole, &json!([])), result_of(whole, &framed));
    // Counts are equal whenever the run ends and for any seed, since both links count events when they happen. A link
    // of frames reports a loss when the receiver notices it, 5 ms later: one packet of 8 ms at the end of each run.
    let of = |name: &str| packets.metrics.iter().find(|(found, _)| *found == name).unwrap().1.value;
    let one_a_run = 1.0 / of("frame_transmissions");
    for (name, metric) in &packets.metrics {
        let found = frames.metrics.iter().find(|(found, _)| found == name).unwrap().1.value;
        let late = if *name == "segment_loss_rate" { one_a_run } else { 0.0 };
        let tolerance = 1e-9 * metric.value.abs() + late;
        assert!((found - metric.value).abs() <= tolerance, "{name}: {found} {}", metric.value);
    }
}

#[test]
fn what_a_reading_decides_is_written_out_and_can_be_changed() {
    let arq = |set: Value| json!(plan(TCP, &set).describe())["scenario"]["link"]["arq"].clone();
    let default = arq(json!([]));
    assert_eq!(default["reading"], "f");
    assert_eq!(default["persistence"], "retransmissions");
    assert_eq!(default["timer_clock"], "good-new-frames");
    assert_eq!((&default["round_trip"], &default["guard"]), (&json!("2 frames"), &json!("5 frames")));
    assert_eq!(default["feedback"]["delay"], "20 ms");
    // A default written out gives the same run, and reading e with the persistence of reading f equals f.
    let key = |set: Value| {
        let plan = plan(TCP, &set);
        plan.row_key(0, Method::Simulation, 0)
    };
    assert_eq!(key(json!([["link.arq", default]])), key(json!([])));
    let renamed = json!([["link.arq", { "reading": "e", "persistence": "retransmissions" }]]);
    assert_eq!(result_of(TCP, &renamed).metrics, result_of(TCP, &json!([])).metrics);
    assert_ne!(key(json!([["link.arq.guard", "6 frames"]])), key(json!([])));
}

#[test]
fn a_link_that_repeats_for_longer_than_the_shortest_timeout_is_warned_of() {
    let warnings = |set: Value| plan(TCP, &set).warnings();
    // Four rounds of seven frames, and the 28 frames of a segment, take 1.12 s.
    let expected = "tcp.rto.min (1 s) is at or below the time in which link.arq may still repeat a lost frame \
                    (1.12 s with the round trip): segments may time out that were not lost";
    assert_eq!(warnings(json!([])), [expected]);
    assert!(warnings(json!([["link.arq.max_retransmissions", 3]])).is_empty());
    // The 54 frames of a segment alone take 1.08 s.
    let large = warnings(json!([["link.packet_size", "1112 B"], ["link.arq.max_retransmissions", 3]]));
    assert!(large[0].contains("at or below the ACK delay (1.08 s"), "{large:?}");
}

#[test]
fn a_link_without_patience_is_warned_of() {
    let warnings = |arq: Value| {
        let set = json!([["link.delay", "30 ms"], ["link.arq", null], ["link.arq", arq]]);
        plan(RLP, &set).warnings()
    };
    // An answer takes a frame and 30 ms each way.
    assert!(warnings(json!({ "protocol": "stop-and-wait" })).is_empty());
    let expected = |what: &str, answer: &str| {
        [format!(
            "link.arq.{what} is below the time in which an answer can come ({answer}): frames may be repeated \
             that were not lost"
        )]
    };
    let hasty = json!({ "protocol": "stop-and-wait", "timeout": "79 ms" });
    assert_eq!(warnings(hasty), expected("timeout (0.079 s)", "0.08 s"));
    // The NAK takes a frame as well.
    let short = json!({ "protocol": "rlp-is99", "guard": "2 frames" });
    assert_eq!(warnings(short), expected("round_trip and guard (0.08 s)", "0.1 s"));
}

/// The default ARQ window is twice the bandwidth-delay product, and a window below the product gives a warning. From
/// the start of a frame of 20 ms to its acknowledgement 80 ms pass, which is four frames.
#[test]
fn an_arq_window_below_the_product_is_warned_of_and_the_usual_one_is_twice_that() {
    let plan_with = |window: Value| {
        let arq = json!({ "protocol": "selective-repeat", "max_retransmissions": 2 });
        let set = json!([
            ["link.delay", "30 ms"],
            ["link.arq", null],
            ["link.arq", arq],
            ["link.arq.window", window]
        ]);
        plan(RLP, &set)
    };
    let expected = "link.arq.window (3 frames) is below the link's bandwidth-delay product (4.0 frames, from the start of a \
                    frame to its acknowledgement): the link carries at most 75 % of its rate (\"2 bdp\" leaves room for \
                    retransmissions)";
    assert_eq!(plan_with(json!(3)).warnings(), [expected]);
    assert_eq!(plan_with(json!("0.7 bdp")).warnings(), [expected]);
    for enough in [json!(4), json!("1 bdp"), Value::Null] {
        assert!(plan_with(enough.clone()).warnings().is_empty(), "{enough}");
    }
}

/// A mean burst of losses that is longer than ARQ persists gives a warning: 1 / 0.05 = 20 frames of 20 ms, against two
/// retransmissions of 80 ms each.
#[test]
fn bursts_that_outlast_the_persistence_are_warned_of() {
    let warnings = |p_bg: f64, retransmissions: u32| {
        let arq = json!({ "protocol": "selective-repeat", "max_retransmissions": retransmissions });
        let channel = json!({ "model": "markov", "p_gg": 0.999, "p_bb": 1.0 - p_bg });
        let set = json!([
            ["link.delay", "30 ms"],
            ["link.arq", null],
            ["link.arq", arq],
            ["channel", null],
            ["channel", channel]
        ]);
        plan(RLP, &set).warnings()
    };
    assert_eq!(
        warnings(0.05, 2),
        [
            "channel: bursts of losses last longer, on average, than link.arq repeats a frame (2 retransmissions, 0.16 s): they \
          reach the transport"
        ]
    );
    assert!(warnings(0.05, 6).is_empty());
    assert!(warnings(0.5, 1).is_empty());
}

#[test]
fn analysis_and_formulas_say_what_they_assume() {
    for (method, who) in [("analysis", "the analysis"), ("formula", "a formula")] {
        let set = json!([["methods", ["simulation", method]]]);
        let overrides = serde_json::from_value(json!({ "set": set })).unwrap();
        let error =
            crossfade_experiment::Experiment::load(TCP, "test.toml", &overrides).unwrap_err().to_string();
        assert!(error.contains(who) || error.contains("flavour \"paper\""), "{error}");
    }
    let set = json!([["methods", ["formula"]]]);
    let overrides = serde_json::from_value(json!({ "set": set })).unwrap();
    let error = crossfade_experiment::Experiment::load(TCP, "test.toml", &overrides).unwrap_err().to_string();
    let expected = "link.frame_size = \"24 B\": a formula assumes a link that loses whole packets; use method \
                    simulation";
    assert_eq!(error, expected);
}
