//! Tests of links and channels that follow a file, from the text of a scenario to packets.

use crate::common::{load, metric, plan_with, result, texts};
use crossfade_experiment::{Experiment, events};
use crossfade_scenario::Method;
use serde_json::{Value, json};

/// Scenario with a UDP source that is faster than any link of these tests.
const UDP: &str = r#"
    schema = 1
    run = { duration = "2 s", runs = 2 }
    channel = { model = "none" }
    link = { packet_size = "1500 B", queue = { limit = "20 packets" } }
    flows.load = { traffic = "udp", rate = "12 Mbit/s" }
"#;

/// Times in milliseconds at which packets reached the receiver.
fn arrivals_ms(plan: &Experiment) -> Vec<f64> {
    let csv = texts(plan, events).remove(0);
    let received = csv.lines().filter(|line| line.contains(",receive,"));
    let time_ms = |line: &str| line.split(',').next().unwrap().parse::<f64>().unwrap() * 1e3;
    // A nanosecond is the finest resolution.
    received.map(|line| (time_ms(line) * 1e6).round() / 1e6).collect()
}

fn opportunities(text: &str) -> Experiment {
    let set = json!([["link.trace", { "opportunities": "cell.up" }]]);
    plan_with(UDP, &set, &[("cell.up", text)])
}

#[test]
fn packets_leave_at_the_opportunities_of_a_trace_to_the_millisecond() {
    // The source sends at 0, 1, 2, ... ms, and the queue is never empty.
    let constant = opportunities("12\n");
    let expected: Vec<f64> = (1..=166).map(|n| 12.0 * f64::from(n)).collect();
    assert_eq!(arrivals_ms(&constant), expected);
    let irregular = [3, 5, 5, 9, 17, 40, 41, 41, 41, 100];
    let text = irregular.map(|millis| millis.to_string()).join("\n");
    let rounds = (0..20).flat_map(|round| irregular.map(|millis| f64::from(millis + 100 * round)));
    assert_eq!(arrivals_ms(&opportunities(&text)), rounds.collect::<Vec<_>>());
    // Opportunities without a waiting packet are lost: packets that arrive at 0, 30, 60, ms leave at the next
    // opportunity.
    let set = json!([
        ["link.trace", { "opportunities": "cell.up" }], ["flows.load.rate", "400 kbit/s"], ["run.duration", "300 ms"],
    ]);
    let sparse = plan_with(UDP, &set, &[("cell.up", &text)]);
    assert_eq!(arrivals_ms(&sparse), [3.0, 40.0, 100.0, 103.0, 140.0, 200.0, 203.0, 217.0, 241.0, 300.0]);
}

/// Opportunities have the size that the scenario gives: packets of 1500 bytes take more than one opportunity of 1400
/// bytes.
#[test]
fn opportunities_have_the_size_that_is_given() {
    let of = |size: &str| {
        let set = json!([["link.trace", { "opportunities": "cell.up", "opportunity_size": size }]]);
        plan_with(UDP, &set, &[("cell.up", "10\n")])
    };
    let usual = opportunities("10\n");
    assert_eq!(arrivals_ms(&of("1500 B")), arrivals_ms(&usual));
    // The row key depends on the behaviour of a run, not on the wording of its scenario.
    assert_eq!(result(&of("1500 B")).rows, result(&usual).rows);
    // Packet n ends with opportunity ceil(1500 n / 1400).
    let ends = (1_u32..).map(|n| (1500 * n).div_ceil(1400) * 10).take_while(|at| *at <= 2000);
    assert_eq!(arrivals_ms(&of("1400 B")), ends.map(f64::from).collect::<Vec<_>>());
    let refused = load(
        UDP,
        &json!([["link.trace", { "opportunities": "cell.up", "opportunity_size": "0 B" }]]),
        &[("cell.up", "10\n")],
    );
    assert_eq!(refused.unwrap_err(), "link.trace.opportunity_size = \"0 B\": must be at least 1 B");
}

#[test]
fn a_trace_names_the_mean_rate_of_its_slots_and_is_used_up() {
    let plan = opportunities("3\n5\n5\n9\n17\n40\n41\n41\n41\n100\n");
    assert_eq!(plan.points.at(0).setup.slot.as_nanos(), 10_000_000);
    let result = result(&plan);
    assert_eq!(metric(&result, "link_goodput_bps").0, 1.2e6);
    assert_eq!(metric(&result, "link_utilisation").0, 1.0);
    let expected = [
        "link.trace.opportunities lasts 0.1 s and a run 2 s: it begins again",
        "all 2 runs are equal, nothing in them is random: intervals of 0 mean nothing",
    ];
    assert_eq!(result.warnings, expected);
}

/// Synthetic records of capacity and delay, with handovers every 15 s; their first lines describe them.
const RECORDED: [(&str, &str); 2] = [
    ("leo.up", include_str!("recorded/leo-synthetic.up")),
    ("leo.delay", include_str!("recorded/leo-synthetic.delay")),
];

fn recorded_pair(set: &[Value]) -> Experiment {
    let trace = json!({ "opportunities": "leo.up", "delays": "leo.delay" });
    let common = [json!(["link.trace", trace]), json!(["link.delay", "1 ms"])];
    plan_with(UDP, &json!([&common[..], set].concat()), &RECORDED)
}

/// A record of capacity and delay delivers packets at its opportunities, after its delays and in order. The delays are
/// 29, 9 and 29 ms at the beginning, in the middle and at the end of the first slot of 15 s, then 31 and 11 ms, plus 1
/// ms of `link.delay`. The source is faster than the link, so that a packet leaves at each opportunity.
#[test]
fn a_recorded_pair_delivers_at_its_opportunities_and_after_its_delays() {
    let set = |end: &str| [json!(["run.duration", end])];
    let arrivals = arrivals_ms(&recorded_pair(&set("16 s")));
    let sent = RECORDED[0].1.lines().filter_map(|line| line.parse::<f64>().ok());
    let delay_ms = |at: f64| match at {
        ..50.0 | 14_950.0..15_000.0 => 29.0,
        15_000.0..15_050.0 => 31.0,
        15_050.0.. => 11.0,
        _ => 9.0,
    };
    let mut last = 0.0;
    let expected = sent.map(|at| {
        last = f64::max(last, at + delay_ms(at) + 1.0);
        last
    });
    let expected: Vec<f64> = expected.take_while(|at| *at <= 16_000.0).collect();
    assert_eq!(expected[..3], [95.0, 140.0, 178.0]);
    assert_eq!(arrivals, expected);
    // The record begins again with the capacity: at 60.085 s as at 0.085 s. If it does not, its last delay, 30 ms,
    // holds.
    let again = arrivals_ms(&recorded_pair(&set("61 s")));
    assert!(again.contains(&60_095.0) && !again.contains(&60_116.0), "the delays begin again");
    let held = [json!(["run.duration", "61 s"]), json!(["link.trace.delays_end", "hold"])];
    let held = arrivals_ms(&recorded_pair(&held));
    assert!(held.contains(&60_116.0) && !held.contains(&60_095.0), "the last delay holds");
}

#[test]
fn a_recorded_delay_is_a_part_of_what_is_said_of_a_path() {
    let plan = recorded_pair(&[json!(["run.duration", "1 s"])]);
    let setup = &plan.points.at(0).setup;
    // Each slot of 60 s has 100 ms with 20 ms more: 9.5 + 20 x 0.4 / 60 ms, and `link.delay`.
    let round_trip_s = setup.round_trip(&setup.flows[0]).as_secs_f64() - setup.slot.as_secs_f64();
    assert!((round_trip_s - (0.0095 + 0.020 * 0.4 / 60.0 + 0.001)).abs() < 1e-8, "{round_trip_s}");
    assert!(result(&plan).warnings.iter().all(|line| !line.contains("delays")));
    let longer = [RECORDED[0], ("leo.delay", "0 0.01\n100 0.02\n")];
    let trace =
        json!([["link.trace", { "opportunities": "leo.up", "delays": "leo.delay" }], ["run.runs", 1]]);
    assert!(result(&plan_with(UDP, &trace, &longer)).warnings.contains(
        &"link.trace.delays goes on to 100 s, beyond the capacity, which begins again after 60 s: rows from then on are left out"
            .to_owned()
    ));
    let shorter = [RECORDED[0], ("leo.delay", "0 0.01\n10 0.02\n20 0.01\n")];
    assert!(result(&plan_with(UDP, &trace, &shorter)).warnings.contains(
        &"link.trace.delays ends at 20 s and the capacity begins again after 60 s: its last delay holds for 40 s".to_owned()
    ));
}

#[test]
fn a_held_table_counts_its_last_entry_and_the_round_trip_its_delays() {
    let facts = |rates: &str, at_end: Value| {
        let set = json!([["link.trace", { "rates": "link", "at_end": at_end }], ["run.duration", "1 s"]]);
        let plan = plan_with(UDP, &set, &[("link", rates)]);
        serde_json::to_value(plan.describe()).unwrap()["path"].clone()
    };
    // TheaterQ: 100 ms of 2 Mbit/s and 20 ms, 300 ms of 1 Mbit/s and 40 ms. The means are (0.2 + 0.3) / 0.4 = 1.25
    // Mbit/s and (2 + 12) / 0.4 = 35 ms.
    let theaterq = "100000,20000000,2000000,0,100\n300000,40000000,1000000,0,100\n";
    let held = facts(theaterq, json!("hold"));
    assert_eq!(held["links"][0]["rate_bps"], 1.25e6);
    assert_eq!(held["links"][0]["recorded_delay_s"], json!([0.02, 0.035, 0.04]));
    assert_eq!(held["links"][0]["held"], json!({ "from_s": 0.4, "rate_bps": 1e6, "delay_s": 0.04 }));
    // 12,000 bits at 1.25 Mbit/s take 9.6 ms.
    assert_eq!(
        (held["slot_s"].as_f64(), held["flows"][0]["round_trip_s"].as_f64()),
        (Some(0.0096), Some(0.0446))
    );
    let looped = facts(theaterq, json!("loop"));
    assert_eq!(
        (&looped["links"][0]["rate_bps"], &looped["links"][0]["held"]),
        (&json!(1.25e6), &Value::Null)
    );
    // The duration of the last row of a table may be unknown: the mean is that of the rows before.
    let own = facts("0 2e6 0.02 0\n0.1 1e6 0.04 0\n", json!("hold"));
    assert_eq!(
        (&own["links"][0]["rate_bps"], &own["links"][0]["held"]["from_s"]),
        (&json!(2e6), &json!(0.1))
    );
    let plain = facts("0 2e6 0 0\n", json!("hold"));
    assert_eq!(
        (&plain["links"][0]["held"], &plain["links"][0]["recorded_delay_s"]),
        (&Value::Null, &Value::Null)
    );
}

#[test]
fn what_is_in_a_record_of_delays_decides_and_a_wrong_line_is_refused() {
    let with = |keys: Value, delays: &str| {
        let trace = json!([["link.trace", { "opportunities": "cell.up" }], ["link.trace", keys]]);
        load(UDP, &trace, &[("cell.up", "12\n24\n"), ("d", delays), ("e", delays)])
    };
    let id = |keys, delays| with(keys, delays).unwrap().points.id(0);
    let same = id(json!({ "delays": "d" }), "0 0.01\n");
    assert_eq!(
        same,
        id(json!({ "delays": "e", "interpolation": "step", "delays_end": "repeat" }), "0 0.01\n")
    );
    assert_ne!(same, id(json!({ "delays": "d" }), "0 0.02\n"));
    assert_ne!(same, id(json!({ "delays": "d", "interpolation": "linear" }), "0 0.01\n"));
    assert_ne!(same, id(json!({}), ""));
    for (keys, text, said) in [
        (
            json!({ "delays": "d" }),
            "0 0.1\n0.02\n",
            "link.trace.delays = \"d\": line 2: \"0.02\": must be 2 numbers: time_s, delay_s",
        ),
        (
            json!({ "delays": "d" }),
            "0.1 0.1\n",
            "link.trace.delays = \"d\": the first row is at 0.1 s: must be before 0.024 s, after which it begins again",
        ),
        (json!({ "interpolation": "linear" }), "", "link.trace.interpolation: needs link.trace.delays"),
        (
            json!({ "opportunities": null, "rates": "d", "delays": "e" }),
            "0 1e6 0 0\n",
            "link.trace.delays contradicts link.trace.rates: it takes period, at_end, direction",
        ),
    ] {
        let found = with(keys, text).map(|_| ()).unwrap_err();
        assert_eq!(found, said);
    }
}

#[test]
fn a_table_has_rates_delays_and_losses() {
    // A rate of one byte per microsecond; an outage; half the rate, with a long delay and losses.
    let table = "time_s,rate_bps,delay_s,loss\n0,8e6,0.005,0\n0.5,0,0.005,0\n0.75,4e6,0.1,0.25\n";
    let set = json!([
        ["channel", null], ["link.trace", { "rates": "path.csv" }], ["link.delay", "1 ms"], ["run.runs", 10],
        ["run.duration", "20 s"],
    ]);
    let plan = plan_with(UDP, &set, &[("path.csv", table)]);
    let arrivals = arrivals_ms(&plan);
    let before: Vec<f64> = (1..=330).map(|n| 1.5 * f64::from(n) + 6.0).collect();
    assert!(arrivals.iter().zip(&before).all(|(found, expected)| (found - expected).abs() < 1e-9));
    assert!(arrivals.iter().all(|&at| !(506.5..851.0).contains(&at)), "the outage");
    let result = result(&plan);
    // None of the 333 packets of the first half second is lost; a fourth of the others is.
    let (packets, late) = (333.0 + 19.25 * 4e6 / 12e3, 19.25 * 4e6 / 12e3);
    let (rate, ci95) = metric(&result, "frame_error_rate");
    assert!((rate - 0.25 * late / packets).abs() < 4.781 / 2.262 * ci95, "{rate} +- {ci95}");
    assert_eq!(
        result.warnings,
        ["link.trace.rates lasts 0.75 s and a run 20 s: what holds then holds for the rest"]
    );
    let repeating = json!([
        ["channel", null], ["link.trace", { "rates": "path.csv", "period": "1 s" }], ["run.duration", "20 s"],
    ]);
    let repeating = plan_with(UDP, &repeating, &[("path.csv", table)]);
    // 4 Mbit at the first rate and 1 Mbit at the last, in a period of one second.
    assert_eq!(repeating.points.at(0).setup.links().unwrap().forward.rate_bps(), Some(5e6));
    let goodput = metric(&crate::common::result(&repeating), "link_goodput_bps").0;
    assert!((goodput / (4e6 + 0.75e6) - 1.0).abs() < 0.02, "{goodput}");
}

#[test]
fn rain_slows_a_satellite_down() {
    // 8 dB under a clear sky allow 8PSK 3/4, 3 dB allow QPSK 3/5, and -3 dB no transmission.
    let noise_dbm = -173.975_187 + 10.0 * 1e6_f64.log10() + 2.0;
    let budget = json!({
        "transmit_power_dbm": 60, "path_loss_db": 60.0 - noise_dbm - 8.0, "noise_figure_db": 2,
        "bandwidth_hz": 1e6,
    });
    let set = json!([
        ["channel", null], ["link.trace", { "attenuation": "rain.csv", "budget": budget }],
        ["run.duration", "30 s"], ["run.runs", 1],
    ]);
    let plan = plan_with(UDP, &set, &[("rain.csv", "time_s attenuation_db\n0 0\n10 5\n20 11\n")]);
    let goodput = metric(&result(&plan), "link_goodput_bps").0;
    assert!((goodput / ((2.228124e6 + 1.188304e6) / 3.0) - 1.0).abs() < 5e-3, "{goodput}");
    let scenario = &json!(plan.describe())["scenario"]["link"]["trace"];
    assert_eq!((&scenario["modcod"], &scenario["budget"]["margin_db"]), (&json!("dvb-s2"), &json!(0.0)));
}

#[test]
fn recorded_losses_are_played_back() {
    let text = "# packets 5\n1\n2\n";
    let lost = |clock: &str, rate: &str| {
        let set = json!([
            ["channel", { "model": "trace", "file": "losses.txt", "clock": clock }],
            ["link.rate", "12 Mbit/s"], ["flows.load.rate", rate], ["run.duration", "20 ms"],
        ]);
        let plan = plan_with(UDP, &set, &[("losses.txt", text)]);
        let csv = texts(&plan, events).remove(0);
        let lost = csv.lines().filter(|line| line.contains(",lost,"));
        lost.map(|line| line.split(',').nth(3).unwrap().parse().unwrap()).collect::<Vec<u32>>()
    };
    // A packet in each slot, and in every second slot.
    assert_eq!(lost("transmission", "12 Mbit/s"), [1, 2, 6, 7, 11, 12, 16, 17]);
    assert_eq!(lost("slot", "12 Mbit/s"), [1, 2, 6, 7, 11, 12, 16, 17]);
    assert_eq!(lost("transmission", "6 Mbit/s"), [1, 2, 6, 7]);
    // Packets take slots 0, 2, 4, ...: 2, 6, 12 and 16 are bad.
    assert_eq!(lost("slot", "6 Mbit/s"), [1, 3, 6, 8]);
}

const PAPER: &str = r#"
    schema = 1
    run = { duration = "50000 slots", runs = 1 }
    channel = { model = "trace", file = "losses.txt" }
    link = { rate = "1.5 Mbit/s", packet_size = "1400 B" }
    tcp = { variant = "newreno", w_max = 24, rto = { fixed = "100 slots" } }
"#;

/// Loss record of a chain with `p_gb` 0.02 and mean bursts of 2, by a separate generator.
fn record(packets: usize) -> String {
    let (mut state, mut bad) = (7_u64, false);
    let mut draw = || {
        state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (state >> 11) as f64 / (1_u64 << 53) as f64
    };
    (0..packets)
        .map(|_| {
            bad = draw() < if bad { 0.5 } else { 0.02 };
            if bad { '1' } else { '0' }
        })
        .collect()
}

#[test]
fn a_record_is_analysed_through_the_chain_that_fits_it() {
    let record = record(400_000);
    let set = json!([["methods", ["analysis", "simulation"]], ["run.duration", "400000 slots"]]);
    let plan = plan_with(PAPER, &set, &[("losses.txt", &record)]);
    let results = crossfade_experiment::summarise(&plan, &crate::common::rows(&plan, 2));
    let [solved, simulated] =
        [&results[0], &results[1]].map(|result| metric(result, "throughput_per_slot").0);
    // Four runs of 50,000 slots by another generator deviate by 1.2 %, this one of 400,000 by a third of that.
    assert!((simulated / solved - 1.0).abs() < 0.015, "{solved} {simulated}");
    assert!(
        results[0].warnings[0].contains("takes a chain fitted to the channel"),
        "{:?}",
        results[0].warnings
    );
    assert!(results[1].warnings.is_empty(), "{:?}", results[1].warnings);
    let by_transmission = json!([["methods", ["analysis"]], ["channel.clock", "transmission"]]);
    let error = load(PAPER, &by_transmission, &[("losses.txt", &record)]).unwrap_err();
    assert!(error.starts_with("channel.clock = \"transmission\": the analysis assumes a channel"), "{error}");
}

#[test]
fn short_and_open_records_are_warned_of() {
    let warnings = |text: &str| plan_with(PAPER, &json!([]), &[("losses.txt", text)]).warnings();
    assert_eq!(
        warnings(&record(1000)),
        ["channel.file holds 1000 packets and a run has up to 50000: the record begins again"]
    );
    let open = warnings("3 4 60000");
    assert!(open[0].contains("is taken to end with its last loss (add a line \"# packets N\")"), "{open:?}");
}

#[test]
fn what_is_in_a_file_decides_not_its_name() {
    let key = |name: &str, text: &str| {
        let plan = plan_with(PAPER, &json!([["channel.file", name]]), &[(name, text)]);
        plan.row_key(0, Method::Simulation, 0)
    };
    assert_eq!(key("a.txt", "0110"), key("elsewhere/b.txt", "0110"));
    assert_ne!(key("a.txt", "0110"), key("a.txt", "0111"));
    let sweep = json!({ "over": [["channel.file", ["a", "b"]]] });
    let read = |name: &str| Ok(if name == "a" { "0110".to_owned() } else { "0111".to_owned() });
    let overrides = serde_json::from_value(sweep).unwrap();
    let plan = Experiment::load_with_files(PAPER, "test.toml", &overrides, &read).unwrap();
    assert_ne!(plan.points.id(0), plan.points.id(1));
}

#[test]
#[expect(clippy::too_many_lines, reason = "a table of cases")]
fn wrong_files_and_keys_are_refused_in_one_line() {
    let files = [
        ("cell.up", "1\n2\nx\n"),
        ("path.csv", "0 1e6 0 0\n1 1e6 0 2\n"),
        ("dead.csv", "0 0 0 0\n"),
        ("good.csv", "0 1e6 0 0\n9 2e6 0 0\n"),
        ("lossy.csv", "0 1e6 0 0.1\n9 2e6 0 0\n"),
        ("good.up", "12\n"),
        ("losses.txt", "0 1 2x"),
        ("rain.csv", "0 0\n5 x\n"),
        ("clear.csv", "0 0\n"),
    ];
    let trace = |trace: Value| json!([["channel", null], ["link.trace", trace]]);
    let budget = json!({
        "transmit_power_dbm": 60, "path_loss_db": 150, "noise_figure_db": 2, "bandwidth_hz": 1e6,
    });
    let with = |trace: Value, key: &str, value: Value| {
        json!([["channel", null], ["link.trace", trace], [key, value]])
    };
    let cases = [
        (trace(json!({ "opportunities": "no.up" })), "link.trace.opportunities = \"no.up\": no such file"),
        (
            trace(json!({ "opportunities": "cell.up" })),
            "link.trace.opportunities = \"cell.up\": line 3: \"x\": must be a time in whole milliseconds",
        ),
        (
            trace(json!({ "rates": "path.csv" })),
            "link.trace.rates = \"path.csv\": line 2: loss = 2.0: must be between 0 and 1",
        ),
        (trace(json!({ "rates": "dead.csv" })), "link.trace.rates: the mean rate of the link is 0"),
        (
            trace(json!({ "rates": "good.csv", "period": "5 s" })),
            "link.trace.period: period = 5.0 s: must be above 9.0 s, the time of the last row",
        ),
        (
            trace(json!({ "rates": "good.csv", "period": "50 slots" })),
            "link.trace.period = \"50 slots\": must be a time such as",
        ),
        (
            trace(json!({ "rates": "good.csv", "modcod": "dvb-s2" })),
            "link.trace.modcod contradicts link.trace.rates: it takes period",
        ),
        (
            trace(json!({ "rates": "good.csv", "opportunities": "cell.up" })),
            "link.trace.rates contradicts link.trace.opportunities: it takes opportunity_size, delays, interpolation, delays_end",
        ),
        (trace(json!({ "period": "5 s" })), "link.trace: missing; one of opportunities, rates, attenuation"),
        (
            trace(json!({ "attenuation": "rain.csv", "budget": budget })),
            "link.trace.attenuation = \"rain.csv\": line 2: attenuation_db = \"x\": must be a number",
        ),
        (
            trace(json!({ "attenuation": "clear.csv" })),
            "link.trace.budget.transmit_power_dbm: missing; attenuation needs it",
        ),
        (
            trace(json!({ "attenuation": "clear.csv", "budget": { "bandwidth_hz": 0 } })),
            "link.trace.budget.bandwidth_hz = 0: must be above 0",
        ),
        (
            trace(json!({ "attenuation": "clear.csv", "modcod": "dvb" })),
            "link.trace.modcod = \"dvb\": must be",
        ),
        // Every packet passes through the queue of such a link.
        (
            with(json!({ "rates": "good.csv" }), "link.queue.limit", json!("0 packets")),
            "link.queue.limit = \"0 packets\": must let in a packet of link.packet_size = \"1500 B\"",
        ),
        (
            with(json!({ "opportunities": "good.up" }), "link.queue.limit", json!("1499 B")),
            "link.queue.limit = \"1499 B\": must let in a packet of link.packet_size = \"1500 B\"",
        ),
        (
            json!([
                ["link.rate", "1 Mbit/s"],
                ["reverse", { "trace": { "opportunities": "good.up" }, "queue": { "limit": "0 B" } }],
            ]),
            "reverse.queue.limit = \"0 B\": must let in a packet",
        ),
        (
            json!([
                ["link", { "rate": "1 Mbit/s", "packet_size": "1500 B", "queue": { "limit": "0 packets" },
                    "shaper": { "rate": "500 kbit/s", "burst": "3 kB" } }],
            ]),
            "link.queue.limit = \"0 packets\": must let in a packet",
        ),
        (
            with(json!({ "rates": "good.csv" }), "link.rate", json!("1 Mbit/s")),
            "link.rate contradicts link.trace.rates: the trace has the rates",
        ),
        (
            with(json!({ "rates": "good.csv" }), "link.frame_size", json!("24 B")),
            "link.frame_size contradicts link.trace.rates: frames need a constant rate",
        ),
        (
            with(json!({ "rates": "lossy.csv" }), "channel", json!({ "model": "iid", "p_e": 0.1 })),
            "channel.model contradicts link.trace: the table has losses of its own",
        ),
        (
            json!([["link.rate", "1 Mbit/s"], ["reverse", { "trace": { "opportunities": "no.down" } }]]),
            "reverse.trace.opportunities = \"no.down\": no such file",
        ),
        (
            json!([["link.rate", "1 Mbit/s"], ["channel", { "model": "trace" }]]),
            "channel: incomplete; model \"trace\" takes file, format and clock; given: nothing",
        ),
        (
            json!([["link.rate", "1 Mbit/s"], ["channel", { "model": "trace", "file": "losses.txt" }]]),
            "channel.file = \"losses.txt\": line 1: \"2x\": must be",
        ),
        (
            json!([["link.rate", "1 Mbit/s"], ["channel", { "model": "iid", "p_e": 0.1, "file": "losses.txt" }]]),
            "channel.file contradicts channel.model = \"iid\"",
        ),
    ];
    for (set, expected) in cases {
        let error = load(UDP, &set, &files).err().unwrap_or_else(|| panic!("{set} was taken"));
        assert!(error.starts_with(expected) && !error.contains('\n'), "{set}: {error}");
    }
    let set = json!([["channel", null], ["link", { "rate": null, "trace": { "rates": "good.csv" } }], ["methods", ["formula"]]]);
    let error = load(PAPER, &set, &files).unwrap_err();
    assert_eq!(error, "link.trace.rates: a formula assumes a constant rate; use method simulation");
    // The plain function has no files.
    let overrides = serde_json::from_value(json!({})).unwrap();
    let error = Experiment::load(PAPER, "test.toml", &overrides).unwrap_err().to_string();
    assert_eq!(error, "channel.file = \"losses.txt\": this scenario was given without files");
}

/// The public example of LeoReplayer is followed to the packet: with a source faster than the link, one packet leaves
/// at each opportunity, takes the delay of that time, and overtakes none.
#[test]
fn the_example_of_leo_replayer_is_followed_to_the_packet() {
    let text = include_str!("../../../tests/data/leo-replayer-example.txt");
    let (_, data) = text.split_once("\ncapacity\n").unwrap();
    let (capacity, delays) = data.split_once("\ndelay\n").unwrap();
    let numbers = |text: &str| -> Vec<u64> {
        text.bytes().filter(|byte| *byte != b'\n').map(|byte| u64::from(byte - b'!')).collect()
    };
    let (capacity, delays) = (numbers(capacity), numbers(delays));
    let opportunities: Vec<u64> =
        (0_u64..).zip(&capacity).flat_map(|(at, count)| vec![at; *count as usize]).collect();
    let lines = |numbers: &[u64]| numbers.iter().map(u64::to_string).collect::<Vec<_>>().join("\n");
    let set = json!([
        ["link.trace", { "opportunities": "bw.txt", "delays": "delay.txt", "delays_end": "hold" }],
        ["link.queue.limit", "500 packets"], ["flows.load.rate", "100 Mbit/s"], ["run.duration", "20 s"],
    ]);
    let plan = plan_with(UDP, &set, &[("bw.txt", &lines(&opportunities)), ("delay.txt", &lines(&delays))]);
    let mut before = 0;
    let expected = opportunities.iter().map(|at| {
        before = before.max(at + delays[(at / 10) as usize]);
        before as f64
    });
    let expected: Vec<f64> = expected.take_while(|at| *at <= 20_000.0).collect();
    assert!(expected.len() > 70_000 && expected.len() < opportunities.len());
    let found = arrivals_ms(&plan);
    let wrong = found.iter().zip(&expected).position(|(found, expected)| found != expected);
    assert_eq!(wrong.map(|at| (at, found[at], expected[at])), None);
    assert_eq!(found.len(), expected.len());
}
