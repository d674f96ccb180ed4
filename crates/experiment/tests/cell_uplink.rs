//! Tests of a cell whose acknowledgements take its uplink: goodputs and round trips against arithmetic by hand.

use crate::common::{load, plan_with, result, rows};
use crossfade_experiment::PointResult;
use serde_json::{Value, json};

/// Scenario with users received so well that no frame fails: a slot of 1 ms has one bin of 100 symbols of 8 bits, which
/// carries one packet of 100 bytes.
const TEXT: &str = r#"
    schema = 2
    run = { duration = "20 s", warmup = "4 s" }
    link = { packet_size = "100 B", queue = { limit = "unlimited" } }
    tcp = { flavour = "rfc", variant = "sack", w_max = 1, ack_size = "40 B", rfc = { delayed_ack = "0 s", timestamps = false } }
    [cell]
    slot = "1 ms"
    symbols = 100
    bins = 1
    scheduler = "round-robin"
    levels = { target_nmse = 0 }
    radio = { trace = "perfect.csv" }
    uplink = { pattern = "DDDU", grant_delay = "0 s" }
"#;

const PERFECT: [(&str, &str); 1] = [("perfect.csv", "0,55\n")];

fn of(set: &Value) -> PointResult {
    result(&plan_with(TEXT, set, &PERFECT))
}

fn metric(result: &PointResult, name: &str) -> f64 {
    result.metrics.iter().find(|(found, _)| *found == name).unwrap_or_else(|| panic!("{name}")).1.value
}

/// Packets of 100 bytes per second in a result.
fn packets_per_s(result: &PointResult) -> f64 {
    metric(result, "ip_goodput_bps") / 800.0
}

#[test]
fn a_window_of_one_goes_round_in_slots() {
    // The acknowledgement arrives at the end of an uplink slot, when the next slot has begun: the packet takes the slot
    // after that one, and its acknowledgement takes the next uplink slot, a period of 4 slots. With a grant delay of 2
    // slots the acknowledgement misses that uplink slot and takes the next. With pattern DDU the uplink slot follows
    // the packet's slot at once, so that the acknowledgement misses it too.
    for (pattern, grant, round_trip_ms) in [
        ("DDDU", "0 s", 4.0),
        ("DDDU", "1 slots", 4.0),
        ("DDDU", "2 slots", 8.0),
        ("DDDU", "5 slots", 8.0),
        ("DDU", "0 s", 6.0),
        ("DDDDDDDDDU", "3 slots", 10.0),
    ] {
        let set = json!([["cell.uplink.pattern", pattern], ["cell.uplink.grant_delay", grant]]);
        let found = of(&set);
        let rtt_ms = 1e3 * metric(&found, "rtt_mean_s");
        assert!((rtt_ms - round_trip_ms).abs() < 1e-9, "{pattern}, {grant}: {rtt_ms} ms");
        let expected = 1e3 / round_trip_ms;
        assert!((packets_per_s(&found) / expected - 1.0).abs() < 1e-3, "{pattern}, {grant}");
        assert_eq!(metric(&found, "uplink_initial_frame_error_rate"), 0.0);
        let expected = 320.0 * expected;
        assert!((metric(&found, "uplink_goodput_bps") / expected - 1.0).abs() < 1e-3, "{pattern}, {grant}");
    }
}

#[test]
fn a_wide_window_fills_the_slots_of_the_downlink() {
    // Three of 4 slots carry a packet each. Acknowledgements of 40 bytes for all three packets would take 1.2 uplink
    // slots; one for every second packet fits.
    let set = json!([
        ["tcp.w_max", 100],
        ["tcp.rfc.delayed_ack", "40 ms"],
        ["tcp.rfc.quick_acks", 0],
        ["run.duration", "30 s"]
    ]);
    let found = of(&set);
    assert!((packets_per_s(&found) / 750.0 - 1.0).abs() < 2e-3, "{}", packets_per_s(&found));
}

#[test]
fn acknowledgements_limit_the_goodput_as_the_arithmetic_says() {
    // Four of 5 slots could carry 800 packets per second; an uplink slot of 100 bytes carries 2.5 acknowledgements, 500
    // per second. A user whose acknowledgements wait fills its frames, so the number of users does not matter.
    for users in [1, 4, 10] {
        let set = json!([
            ["cell.uplink.pattern", "DDDDU"],
            ["flows", { "a": { "count": users } }],
            ["tcp.w_max", 60],
            ["run", { "duration": "40 s", "warmup": "10 s" }],
        ]);
        let found = of(&set);
        assert!((packets_per_s(&found) / 500.0 - 1.0).abs() < 5e-3, "{users}: {}", packets_per_s(&found));
        let busy = found.parts.iter().find(|part| part.part.name == "reverse").unwrap();
        let busy = busy.metrics.iter().find(|(name, _)| *name == "link_utilisation").unwrap().1.value;
        assert!((busy - 0.2).abs() < 1e-3, "{busy}");
        let warnings = plan_with(TEXT, &set, &PERFECT).warnings();
        assert!(warnings.iter().any(|line| line.contains("take 1.60 times the bins")), "{warnings:?}");
    }
}

#[test]
fn more_users_wait_longer_for_the_uplink() {
    // Each of k users has a window of one packet and one of k uplink slots for its acknowledgement.
    for users in [1_u32, 2, 4, 8] {
        let set = json!([
            ["cell.uplink.pattern", "DDDU"],
            ["flows", { "a": { "count": users, "start_within": "1 s" } }],
        ]);
        let found = of(&set);
        let per_s = packets_per_s(&found);
        assert!((per_s / 250.0 - 1.0).abs() < 1e-2, "{users}: {per_s}");
        let rtt_ms = 1e3 * metric(&found, "rtt_mean_s");
        // Little's law: each user always has one packet or acknowledgement under way.
        assert!((rtt_ms / (4.0 * f64::from(users)) - 1.0).abs() < 1e-2, "{users}: {rtt_ms} ms");
        let wait_ms = 1e3 * metric(&found, "uplink_queueing_delay_mean_s");
        assert!(wait_ms > 4.0 * f64::from(users) - 4.1, "{users}: {wait_ms} ms");
    }
}

#[test]
fn results_do_not_depend_on_threads_and_without_an_uplink_nothing_is_said_of_one() {
    let set = json!([
        ["cell.radio.trace", null], ["cell.radio.mean_snr_db", 12],
        ["cell.bins", 5],
        ["flows", { "a": { "count": 3 } }],
        ["tcp.w_max", 40],
        ["run", { "duration": "5 s", "runs": 4 }],
    ]);
    let plan = plan_with(TEXT, &set, &PERFECT);
    let found = rows(&plan, 1);
    assert_eq!(found, rows(&plan, 2));
    for user in ["user:0.uplink_goodput_bps", "user:2.uplink_bins_per_slot", "reverse.queueing_delay_mean_s"]
    {
        assert!(found[0].metrics.get(user).is_some_and(|value| value > 0.0), "{user}");
    }
    let without = plan_with(TEXT, &json!([["cell.uplink", null]]), &PERFECT);
    let row = &rows(&without, 1)[0];
    assert!(row.metrics.get("uplink_goodput_bps").is_none() && row.metrics.get("goodput_bps").is_some());
}

#[test]
fn what_cannot_be_is_said_in_a_line() {
    for (set, said) in [
        (
            json!([["cell.uplink.pattern", "DDSU"]]),
            "cell.uplink.pattern = \"DDSU\": must be 2 to 80 letters D (downlink slot) and U (uplink slot), with both",
        ),
        (json!([["cell.uplink.pattern", null]]), "cell.uplink.pattern: missing"),
        (
            json!([["reverse.rate", "1 Mbit/s"]]),
            "reverse contradicts cell.uplink: acknowledgements take the uplink",
        ),
        (
            json!([["cell.uplink.queue_limit", "2 bdp"]]),
            "cell.uplink.queue_limit = \"2 bdp\": must be packets",
        ),
        (json!([["cell.uplink.queue_limit", "0 packets"]]), "cell.uplink.queue"),
        (json!([["cell.uplink.grant_delay", "2 s"]]), "cell.uplink.grant_delay"),
        (
            json!([["cell.uplink.snr_offset_db", 61]]),
            "cell.uplink.snr_offset_db = 61: must be between -60 and 60",
        ),
        (json!([["methods", ["analysis"]]]), "the analysis assumes flavour \"paper\""),
        (
            json!([["methods", ["formula"]]]),
            "cell: a formula assumes a link of constant rate; use method simulation",
        ),
    ] {
        let plan = load(TEXT, &set, &PERFECT);
        let error = match plan {
            Err(error) => error,
            Ok(plan) => panic!("{set}: {} points", plan.points.len()),
        };
        assert!(error.contains(said) && !error.contains('\n'), "{error}");
    }
}

#[test]
fn a_weak_uplink_is_told_of() {
    let warnings = |offset: f64| {
        let set = json!([
            ["cell.radio.trace", null],
            ["cell.radio.mean_snr_db", 12],
            ["cell.uplink.snr_offset_db", offset]
        ]);
        plan_with(TEXT, &set, &PERFECT).warnings()
    };
    assert!(warnings(-3.0).iter().all(|line| !line.contains("snr_offset_db")));
    let weak = warnings(-25.0);
    assert!(weak.iter().any(|line| line.contains("user 0 is received at -13.0 dB")), "{weak:?}");
}
