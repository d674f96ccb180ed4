//! Tests of simulated plans against results that are known without a program.

use crate::common::{texts, texts_of_run};
use crossfade_experiment::{
    ExecutionHandle, Experiment, Found, METRICS, PointResult, Row, Shard, events, execute, link_events,
    summarise,
};
use crossfade_scenario::Overrides;
use serde_json::{Value, json};
use std::sync::atomic::AtomicBool;

const PAPER: &str = r#"
    schema = 1
    run = { duration = "20000 slots", warmup = "100 slots", runs = 4 }
    channel = { model = "none" }
    link = { rate = "1.5 Mbit/s", packet_size = "1400 B" }
    tcp = { variant = "newreno", w_max = 24, rto = { fixed = "100 slots" } }
"#;

fn plan(overrides: Value) -> Experiment {
    let overrides: Overrides = serde_json::from_value(overrides).unwrap();
    Experiment::load(PAPER, "test.toml", &overrides).unwrap()
}

fn rows(plan: &Experiment, jobs: usize) -> Vec<Row> {
    let mut rows = Vec::new();
    assert!(
        execute(plan, Vec::new(), jobs, Shard::WHOLE, &ExecutionHandle::default(), &mut |new, _| rows
            .extend(new))
        .unwrap()
    );
    for row in &mut rows {
        row.seconds = 0.0;
    }
    let place = |row: &Row| plan.points.iter().position(|point| point.id == row.point);
    rows.sort_by_key(|row| (place(row), row.run));
    rows
}

fn results(overrides: Value) -> Vec<PointResult> {
    let plan = plan(overrides);
    summarise(&plan, &rows(&plan, 2))
}

fn value(result: &PointResult, name: &str) -> f64 {
    result.metrics.iter().find(|(metric, _)| *metric == name).unwrap_or_else(|| panic!("{name}")).1.value
}

/// Metrics that the scenario of the test lacks, since they are of other scenarios and methods.
const ELSEWHERE: &[&str] = &[
    // Metrics of flavour quic.
    "spurious_losses",
    // Metrics by method analysis.
    "throughput_lower",
    "throughput_upper",
    "cycle_mean_slots",
    "cycle_deviation_slots",
    "truncation_error",
    "states",
    // Metrics of links with frames.
    "residual_frame_error_rate",
    "frames_given_up",
    "frames_delivered",
    "frame_transmissions_per_frame",
    "rlp_throughput_bps",
    "hol_delay_mean_s",
    "hol_delay_p50_s",
    "hol_delay_p95_s",
    "hol_delay_p99_s",
    "packets_lost",
    // Metrics of networks where packets wait, of flows with an end, and of several flows.
    "rtt_p50_s",
    "rtt_p95_s",
    "rtt_p99_s",
    "rtt_pooled_p95_s",
    "rtt_pooled_p99_s",
    "one_way_delay_p50_s",
    "one_way_delay_p99_s",
    "one_way_delay_p95_s",
    "one_way_delay_pooled_p95_s",
    "one_way_delay_pooled_p99_s",
    "completion_time_s",
    "completion_time_p95_s",
    "flows_completed",
    "flows_unfinished",
    "jain_fairness",
    // Metrics of a physical layer.
    "bit_error_rate",
    "bit_errors",
    "bits_sent",
    "effective_rate_bps",
    // Metrics of a satellite link by analysis, and of a mesh.
    "link_capacity_bps",
    "outage_share",
    "idle_wait_s",
    "exchanges_mean",
    "transmit_share",
    "receive_share",
    "busy_share",
    "packets_delivered",
    "packets_forwarded",
    "interface_drops",
    "duplicates",
    "deferrals",
    "nulls_spent",
    "rts_sent",
    "rts_losses",
    "rts_drops",
    "data_sent",
    "data_losses",
    "data_drops",
    // Metrics of live runs.
    "lateness_p50_s",
    "lateness_p99_s",
    "late_share",
    "ring_drops",
    // Metrics of links alone.
    "queueing_delay_mean_s",
    "queueing_delay_p50_s",
    "queueing_delay_p95_s",
    "queueing_delay_p99_s",
    // Metrics of cells.
    "user_goodput_bps",
    "user_goodput_p05_bps",
    "bins_per_slot",
    "retransmissions_per_frame",
    "retransmissions_per_piece",
    "initial_frame_error_rate",
    "below_levels_share",
    "modulation_share_1",
    "modulation_share_2",
    "modulation_share_3",
    "modulation_share_4",
    "modulation_share_5",
    "modulation_share_6",
    "modulation_share_7",
    "modulation_share_8",
    "uplink_goodput_bps",
    "uplink_bins_per_slot",
    "uplink_initial_frame_error_rate",
    "uplink_queueing_delay_mean_s",
    "delay_queue_mean_s",
    "delay_grant_mean_s",
    "delay_air_mean_s",
    "delay_harq_mean_s",
    "delay_rlc_mean_s",
    "delay_reordering_mean_s",
    "rlc_retransmissions_per_packet",
    "rlc_status_pdus",
    "radio_link_failures",
    "pdcp_discards",
    "uplink_delay_queue_mean_s",
    "uplink_delay_grant_mean_s",
    "uplink_delay_air_mean_s",
    "uplink_delay_harq_mean_s",
    "uplink_delay_rlc_mean_s",
    "uplink_delay_reordering_mean_s",
    "scheduling_requests",
    // Metrics of bearers where users have several.
    "bearer_delay_queue_mean_s",
    "bearer_delay_grant_mean_s",
    "bearer_delay_air_mean_s",
    "bearer_delay_harq_mean_s",
    "bearer_delay_rlc_mean_s",
    "bearer_delay_reordering_mean_s",
    "bearer_queue_drops",
    "bearer_ecn_marks",
    "bearer_pdcp_discards",
    "bearer_rlc_retransmissions_per_packet",
    "bearer_rlc_status_pdus",
    "uplink_bearer_delay_queue_mean_s",
    "uplink_bearer_delay_grant_mean_s",
    "uplink_bearer_delay_air_mean_s",
    "uplink_bearer_delay_harq_mean_s",
    "uplink_bearer_delay_rlc_mean_s",
    "uplink_bearer_delay_reordering_mean_s",
    "uplink_bearer_queue_drops",
    "uplink_bearer_pdcp_discards",
    "uplink_bearer_rlc_retransmissions_per_packet",
    // Metrics of Wi-Fi networks.
    "station_goodput_bps",
    "station_uplink_goodput_bps",
    "airtime_share",
    "jain_airtime",
    "mpdus_per_ampdu",
    "uplink_mpdus_per_ampdu",
    "stations_per_ppdu",
    "uplink_stations_per_ppdu",
    "mpdu_error_rate",
    "uplink_mpdu_error_rate",
    "retries_per_mpdu",
    "uplink_retries_per_mpdu",
    "mpdus_given_up",
    "collision_probability",
    "mcs_mean",
    "uplink_mcs_mean",
    "window_limited_share",
    "block_ack_stall_s",
    "station_queueing_delay_mean_s",
    "station_uplink_queueing_delay_mean_s",
    "wlan_link_goodput_bps",
    "wlan_link_uplink_goodput_bps",
    "wlan_link_airtime_share",
    "wlan_link_mpdus",
    "wlan_link_mpdu_share",
    "wlan_link_uplink_mpdu_share",
    "wlan_link_mpdus_per_ampdu",
    "wlan_link_collision_probability",
    "wlan_link_window_limited_share",
    "wlan_link_reordering_delay_s",
    "wlan_link_uplink_reordering_delay_s",
];

#[test]
fn without_losses_every_slot_carries_a_new_packet() {
    let result = &results(json!({}))[0];
    assert_eq!(value(result, "throughput_per_slot"), 1.0);
    assert_eq!(value(result, "energy_per_packet"), 1.0);
    assert_eq!(value(result, "segments_delivered"), 19_900.0);
    // 1360 of 1400 bytes are data; a slot of 7.466667 ms is rounded by 5e-8.
    assert!((value(result, "goodput_bps") / (1.5e6 * 1360.0 / 1400.0) - 1.0).abs() < 1e-7);
    assert!((value(result, "ip_goodput_bps") / 1.5e6 - 1.0).abs() < 1e-7);
    assert_eq!(value(result, "ip_goodput_bps"), value(result, "link_goodput_bps"));
    for name in ["retransmissions", "timeouts", "fast_retransmits", "frame_error_rate", "queue_drops"] {
        assert_eq!(value(result, name), 0.0, "{name}");
    }
    // The acknowledgement arrives at the end of the packet's slot.
    assert!((value(result, "rtt_mean_s") - 0.007466667).abs() < 1e-9);
    assert!(result.warnings.is_empty());
    let names: Vec<&str> =
        METRICS.iter().map(|metric| metric.name).filter(|name| !ELSEWHERE.contains(name)).collect();
    assert_eq!(result.metrics.iter().map(|(name, _)| *name).collect::<Vec<_>>(), names);
    // Four equal runs have no spread, which is no certainty for events that did not occur and for shares at their
    // bound.
    let unsure = [
        "retransmissions",
        "segment_loss_rate",
        "timeouts",
        "spurious_timeouts",
        "spurious_timeouts_detected",
        "fast_retransmits",
        "spurious_fast_retransmits",
        "tail_loss_probes",
        "ecn_reductions",
        "timeouts_per_slot",
        "fast_retransmits_per_slot",
        "frame_error_rate",
        "frame_errors",
        "queue_drops",
        "ecn_marks",
    ];
    for (name, metric) in &result.metrics {
        if unsure.contains(name) {
            assert!(metric.ci95.is_none() && metric.low < metric.high, "{name}: {metric:?}");
        } else {
            assert_eq!(metric.ci95, Some(0.0), "{name}");
        }
    }
}

#[test]
fn the_share_that_is_asked_for_is_lost() {
    // With a clock of transmissions, the sender's pauses do not bias what it sees of the channel.
    for channel in [
        json!({ "model": "iid", "p_e": 0.05 }),
        json!({ "model": "markov", "p_e": 0.05, "mean_burst": 2, "clock": "transmission" }),
        json!({ "model": "markov", "p_gg": 0.975, "p_bb": 0.525, "clock": "transmission" }),
        json!({ "model": "markov", "p_e": 0.05, "fd_t": 0.1, "clock": "transmission" }),
        json!({ "model": "rayleigh", "p_e": 0.05, "fd_t": 0.1, "clock": "transmission" }),
    ] {
        let result = &results(json!({ "runs": 10, "set": [["channel", channel.clone()]] }))[0];
        let (_, rate) = result.metrics.iter().find(|(name, _)| *name == "frame_error_rate").unwrap();
        // Four standard errors; the half-width of the interval of ten runs is t(0.975, 9) = 2.262 of them.
        let tolerance = 4.0 / 2.262 * rate.ci95.unwrap();
        assert!((rate.value - 0.05).abs() < tolerance, "{channel}: {rate:?}");
        assert!(value(result, "energy_per_packet") > 1.0);
    }
}

#[test]
fn real_runs_do_not_depend_on_threads_or_points() {
    let axes = json!([["channel.p_e", [0.01, 0.1]], ["tcp.variant", "tahoe,reno"]]);
    let many = plan(json!({ "set": [["channel.model", "iid"]], "over": axes }));
    let one_thread = rows(&many, 1);
    assert_eq!(one_thread.len(), 16);
    for jobs in [2, 5] {
        assert_eq!(rows(&many, jobs), one_thread);
    }
    // The point in a plan of its own has the same rows, since random streams depend only on seed, run and name.
    let alone =
        plan(json!({ "set": [["channel", { "model": "iid", "p_e": 0.1 }], ["tcp.variant", "reno"]] }));
    for (mine, theirs) in rows(&alone, 1).iter().zip(&one_thread[12..]) {
        assert_eq!((&mine.key, &mine.metrics), (&theirs.key, &theirs.metrics));
    }
}

#[test]
fn segments_end_a_run() {
    let set =
        json!([["run", { "duration": null, "segments": 500 }], ["channel", { "model": "iid", "p_e": 0.01 }]]);
    for row in rows(&plan(json!({ "set": set })), 1) {
        // 500 segments arrive in order. At most a window less one may have waited behind a hole at the end of the
        // warm-up, and as many may wait at the end.
        let delivered = row.metrics.get("segments_delivered").unwrap();
        assert!((477.0..524.0).contains(&delivered), "{delivered}");
    }
}

#[test]
fn doubtful_results_say_so() {
    let warnings = |set: Value| results(json!({ "set": set }))[0].warnings.clone();
    let dead = warnings(json!([["channel", { "model": "iid", "p_e": 1 }]]));
    assert!(dead[0].contains("died in 4 of 4 runs"), "{dead:?}");
    let idle = warnings(json!([["channel", { "model": "iid", "p_e": 1e-9 }]]));
    assert_eq!(idle, ["channel had no effect on the outcome: nothing was lost in any of 4 runs"]);
    let reverse = json!({ "channel": { "model": "iid", "p_e": 1e-9 } });
    let idle = warnings(json!([["reverse", reverse]]));
    assert_eq!(idle, ["reverse.channel had no effect on the outcome: nothing was lost in any of 4 runs"]);
    let plan = plan(json!({}));
    let some: Vec<Row> = rows(&plan, 2).into_iter().filter(|row| row.run != 1).collect();
    assert_eq!(summarise(&plan, &some)[0].warnings, ["interrupted after 3 of 4 runs"]);
}

#[test]
fn a_flow_that_died_is_named() {
    // Nothing passes the link, so bulk flows die; a transfer without end is unfinished, which has another warning.
    let died = |flows: Value| {
        let set = json!([
            ["channel", { "model": "iid", "p_e": 1 }],
            ["run", { "duration": "10 s", "runs": 2 }],
            ["tcp", { "variant": "newreno", "w_max": 24 }],
            ["flows", flows],
        ]);
        let found = results(json!({ "set": set }));
        let warnings = found[0].warnings.iter().filter(|warning| warning.contains("died"));
        warnings.map(|warning| warning.split(" runs: ").next().unwrap().to_owned()).collect::<Vec<_>>()
    };
    assert_eq!(died(json!({})), ["the flow died in 2 of 2"]);
    assert_eq!(died(json!({ "a": {}, "b": {} })), ["flow a died in 2 of 2", "flow b died in 2 of 2"]);
    let transfer = json!({ "a": {}, "b": { "traffic": "transfer", "size": "10 kB" } });
    assert_eq!(died(transfer), ["flow a died in 2 of 2"]);
}

#[test]
fn what_is_begun_is_summarised_alone() {
    let plan = plan(json!({ "over": [["tcp.w_max", [6, 12, 24]]] }));
    let of = |point: usize| {
        let of_point = rows(&plan, 2).into_iter().filter(|row| row.point == plan.points.id(point));
        of_point.collect::<Vec<_>>()
    };
    let begun = |rows: &[Row]| -> Vec<PointResult> {
        let found = Found::new(rows);
        found.points(&plan).into_iter().flat_map(|point| found.results(&plan, point)).collect()
    };
    assert_eq!(begun(&of(1)), summarise(&plan, &of(1))[1..2]);
    assert_eq!(begun(&rows(&plan, 2)), summarise(&plan, &rows(&plan, 2)));
    assert_eq!(begun(&[]), []);
}

#[test]
fn a_run_without_deliveries_has_no_energy_per_packet() {
    let result = &results(json!({ "set": [["channel", { "model": "iid", "p_e": 1 }]] }))[0];
    assert!(result.metrics.iter().all(|(name, _)| *name != "energy_per_packet" && *name != "rtt_mean_s"));
    assert_eq!(value(result, "frame_error_rate"), 1.0);
}

#[test]
fn results_have_the_shape_of_the_interface() {
    let result = &results(json!({ "runs": 1, "over": [["tcp.w_max", [8]]] }))[0];
    let json = serde_json::to_value(result).unwrap();
    assert_eq!(
        (&json["point"], &json["runs"], &json["axes"]),
        (&json!(0), &json!(1), &json!({ "tcp.w_max": 8 }))
    );
    assert_eq!(
        json["metrics"]["throughput_per_slot"],
        json!({ "value": 1.0, "ci95": null, "low": null, "high": null, "runs": 1, "unit": "packets/slot" })
    );
    assert_eq!(json["flows"][0]["goodput_bps"], json["metrics"]["goodput_bps"]);
    assert_eq!(json["links"][0]["name"], json!("forward"));
    assert_eq!(json["links"][0]["frame_error_rate"]["value"], json!(0.0));
}

#[test]
fn lost_acknowledgements_show_at_the_reverse_link() {
    let reverse = json!({ "rate": "1 Mbit/s", "channel": { "model": "iid", "p_e": 0.2 } });
    let json = serde_json::to_value(&results(json!({ "set": [["reverse", reverse]] }))[0]).unwrap();
    let link = &json["links"][1];
    assert_eq!(link["name"], json!("reverse"));
    let rate = &link["frame_error_rate"];
    let (value, ci95) = (rate["value"].as_f64().unwrap(), rate["ci95"].as_f64().unwrap());
    assert!((value - 0.2).abs() < 2.0 * ci95 && ci95 < 0.05, "{value} +- {ci95}");
    assert!(json["metrics"].get("reverse.frame_error_rate").is_none());
}

#[test]
fn events_show_one_loss_and_its_repair() {
    let set = json!([
        ["channel", { "model": "drop-list", "drops": [30] }],
        ["run", { "duration": "200 slots", "warmup": null }],
    ]);
    let csv = &texts(&plan(json!({ "set": set })), events)[0];
    let count = |event: &str| csv.lines().filter(|line| line.split(',').nth(1) == Some(event)).count();
    assert!(csv.starts_with(
        "time_s,event,flow,seq,cwnd,ssthresh,dupacks,backoff,flight_size\n0,flow_start,0,0,1,24,"
    ));
    assert_eq!((count("lost"), count("fast_retransmit"), count("timeout")), (1, 1, 0));
    assert_eq!(count("send"), count("receive") + 1);
}

#[test]
fn events_of_a_sweep_are_those_of_its_points() {
    let over = |values: Vec<u32>| plan(json!({ "over": [["tcp.w_max", values]] }));
    let of = |plan: &Experiment| texts(plan, events);
    let both = of(&over(vec![8, 9]));
    assert_eq!(both, [of(&over(vec![8])), of(&over(vec![9]))].concat());
    assert_ne!(both[0], both[1]);

    let nothing = &mut |_: usize, _: &str| ();
    let error =
        events(&over((4..25).collect()), 0, nothing, &AtomicBool::new(false)).unwrap_err().to_string();
    assert_eq!(error, "sweep: events are written of at most 20 points; the plan has 21");
    assert_eq!(events(&over(vec![8]), 0, nothing, &AtomicBool::new(true)).unwrap(), None);
}

/// Events of a run agree with the counts of its row, which are made by another part of the program.
#[test]
fn events_of_a_run_are_those_that_its_row_counts() {
    let set = json!([
        ["channel", { "model": "iid", "p_e": 0.1 }],
        ["run", { "duration": "500 slots", "warmup": null, "runs": 4 }],
    ]);
    let plan = plan(json!({ "set": set }));
    let rows = rows(&plan, 1);
    let counts = |run: u64| {
        let csv = texts_of_run(&plan, run, events).remove(0);
        let count = |event: &str| csv.lines().filter(|line| line.split(',').nth(1) == Some(event)).count();
        [count("timeout"), count("fast_retransmit")].map(|events| events as f64)
    };
    let counted = |row: &Row| ["timeouts", "fast_retransmits"].map(|name| row.metrics.get(name).unwrap());
    let found: Vec<_> = (0..4).map(counts).collect();
    assert_eq!(found, rows.iter().map(counted).collect::<Vec<_>>());
    assert!(found[3] != found[0], "{found:?}");
    // Events can be made of runs beyond those of the plan.
    assert!(counts(1000)[0] > 0.0);
}

/// A warning says that a stop rule on one metric's interval knows nothing of rare events. One packet of each run is
/// lost: three duplicates repair it, or the timer if the window is one packet.
#[test]
fn an_interval_that_ended_the_runs_knows_nothing_of_rare_events() {
    let warnings = |w_max: u32| {
        let set = json!([
            ["channel", { "model": "drop-list", "drops": [30] }],
            ["run", { "duration": "200 slots", "warmup": null, "runs": null, "precision": "50 %" }],
            ["tcp.w_max", w_max],
        ]);
        let plan = plan(json!({ "set": set }));
        summarise(&plan, &rows(&plan, 1))[0].warnings.join("\n")
    };
    let said = warnings(8);
    assert!(said.contains("rare events: no timeout in 20 runs, fewer than 10: what timeouts cost"), "{said}");
    let said = warnings(1);
    assert!(!said.contains("rare events"), "{said}");
}

#[test]
fn link_events_tell_what_the_channel_lost() {
    let plan = plan(json!({ "set": [["channel", { "model": "drop-list", "p_e": null, "drops": [3, 7] }]] }));
    let texts = texts(&plan, link_events);
    let [csv] = texts.as_slice() else { panic!("a text a point: {}", texts.len()) };
    assert!(csv.starts_with("time_s,link,event,"));
    let lost = csv.lines().filter(|line| line.contains(",forward,frame,") && line.contains(",lost,")).count();
    assert_eq!(lost, 2, "{csv}");
}

const FLOOD: &str = r#"
    schema = 1
    run = { duration = "20000 slots", runs = 1 }
    channel = { model = "none" }
    link = { rate = "700 Gbit/s", packet_size = "120 B" }
    tcp = { variant = "reno", w_max = 24 }
    flows = { a = { traffic = "udp", rate = "900 Gbit/s" } }
"#;

#[test]
fn a_link_never_carries_more_than_its_rate() {
    // A packet takes 1.37 ns: with times rounded to 1 ns the utilisation would be 1.37.
    let plan = Experiment::load(FLOOD, "test.toml", &Overrides::default()).unwrap();
    let rows = rows(&plan, 1);
    let value = |name: &str| rows[0].metrics.get(name).unwrap();
    assert!(value("goodput_bps") <= 700e9 && value("link_goodput_bps") > 470e9);
    assert!((0.6..=1.0).contains(&value("link_utilisation")), "{}", value("link_utilisation"));
    let said =
        "link.rate: times are whole nanoseconds, and a packet of 120 B takes 1.37: the link carries 0.6857";
    let warnings = plan.warnings();
    assert!(warnings.iter().any(|text| text.contains(said)), "{warnings:?}");
}

#[test]
fn a_queue_has_a_limit_where_windows_are_none() {
    let of = |set: Value| {
        let mut all = vec![json!(["link.rate", "1 Mbit/s"]), json!(["flows.a.rate", "10 Mbit/s"])];
        all.extend(set.as_array().unwrap().iter().cloned());
        let overrides: Overrides = serde_json::from_value(json!({ "set": all })).unwrap();
        let plan = Experiment::load(FLOOD, "test.toml", &overrides).unwrap();
        let rows = rows(&plan, 1);
        let warnings = summarise(&plan, &rows)[0].warnings.join("\n");
        (rows[0].metrics.get("queue_drops").unwrap(), warnings)
    };
    // Of ten packets that arrive in a slot one is sent; the queue holds 1000.
    let (drops, warnings) = of(json!([]));
    assert!((drops - (9.0 * 20_000.0 - 1000.0)).abs() < 10.0, "{drops}");
    assert!(
        warnings.contains("link.queue.limit is not given, and the usual 1000 packets were full"),
        "{warnings}"
    );
    let (given, warnings) = of(json!([["link.queue.limit", "1000 packets"]]));
    assert!(given == drops && !warnings.contains("is not given"), "{warnings}");
    let (drops, warnings) = of(json!([["link.queue.limit", "unlimited"]]));
    assert!(drops == 0.0 && !warnings.contains("is not given"), "{warnings}");
    // CoDel drops early, so that its drops do not show that the default limit of 10240 packets was reached.
    let (drops, warnings) = of(json!([["link.queue.discipline", "fq-codel"]]));
    assert!(drops > 0.0 && !warnings.contains("is not given"), "{warnings}");
}
