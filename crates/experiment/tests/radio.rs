//! Tests of the physical layer from the scenario to figures: errors, derived values, and agreement of method phy,
//! closed forms, tables, and frames under ARQ and TCP.

use crossfade_experiment::{ExecutionHandle, Experiment, PointResult, Shard, execute, summarise};
use crossfade_scenario::{Method, Overrides, StopRule};
use serde_json::{Value, json};
use std::fmt::Write as _;

const RADIO: &str = r#"
    schema = 1
    run = { duration = "35 s", runs = 10 }
    channel = { model = "block-rayleigh", snr_db = 12 }
    phy = { scheme = "blast", symbol_rate = "8 kBd" }
    link = { frame_size = "30 B", framing = { header = "readable" }, arq = { protocol = "rlp-nack", max_retransmissions = 3 } }
    wired = { one_way_delay = "100 ms" }
    tcp = { flavour = "ns2", variant = "sack", mss = "536 B", headers = "40 B", w_max = 20, rto = { min = "200 ms", granularity = "10 ms" } }
"#;

const PHY_ALONE: &str = r#"
    schema = 1
    methods = ["phy"]
    channel = { model = "block-rayleigh", snr_db = 6 }
    phy = { scheme = "siso", symbol_rate = "8 kBd" }
    link = { frame_size = "30 B" }
"#;

fn load(text: &str, set: &Value) -> Result<Experiment, String> {
    let overrides: Overrides = serde_json::from_value(json!({ "set": set })).unwrap();
    Experiment::load(text, "test.toml", &overrides).map_err(|error| error.to_string())
}

fn with_table(text: &str, set: &Value, table: String) -> Result<Experiment, String> {
    let overrides: Overrides = serde_json::from_value(json!({ "set": set })).unwrap();
    let read = move |_: &str| Ok(table.clone());
    Experiment::load_with_files(text, "test.toml", &overrides, &read).map_err(|error| error.to_string())
}

fn solve(experiment: &Experiment) -> Vec<PointResult> {
    let (handle, mut rows) = (ExecutionHandle::default(), Vec::new());
    assert!(execute(experiment, vec![], 2, Shard::WHOLE, &handle, &mut |new, _| rows.extend(new)).unwrap());
    summarise(experiment, &rows)
}

fn metric(result: &PointResult, name: &str) -> (f64, f64, f64) {
    let (_, found) =
        result.metrics.iter().find(|(known, _)| *known == name).unwrap_or_else(|| panic!("{name}"));
    (found.value, found.low.unwrap_or(found.value), found.high.unwrap_or(found.value))
}

#[test]
fn what_does_not_fit_is_refused_by_name() {
    let cases = [
        (
            json!([["phy.symbol_rate", null]]),
            "phy.symbol_rate: missing; a symbol rate such as \"8 kBd\" (or link.rate)",
        ),
        (
            json!([["link.rate", "60 kbit/s"]]),
            "link.rate = \"60000 bit/s\": phy.symbol_rate = \"8000 Bd\" makes it 64000 bit/s (8 bits a channel use): give one of the two",
        ),
        (
            json!([["channel.eb_n0_db", 3]]),
            "channel: snr_db = 12.0 and eb_n0_db = 3.0 are given: give one of them",
        ),
        (
            json!([["channel.snr_db", null]]),
            "channel.snr_db: missing; a signal-to-noise ratio in dB (or es_n0_db, or eb_n0_db)",
        ),
        (json!([["channel.snr_db", 61]]), "channel.snr_db = 61: must be between -50 and 60"),
        (
            json!([["phy.scheme", "alamouti"], ["channel.antennas.n_t", 4]]),
            "channel.antennas: scheme alamouti does not fit n_t = 4, n_r = 4: it needs n_t = 2 and n_r between 1 and 8",
        ),
        (
            json!([["phy.modulation", "256-qam"], ["phy.detector", "ml"]]),
            "phy.detector: detector ml would compare 256-qam^4 candidates for each vector, more than 2^16: use detector sphere, \
             which finds the same",
        ),
        (
            json!([["phy.combining.stage", "stacked"], ["link.framing.header", null]]),
            "link.framing.header = \"lost\": must be \"readable\" with phy.combining: the receiver must know which frame a spoiled \
             copy belongs to",
        ),
        (
            json!([["phy.combining.stage", "stacked"], ["link.arq", { "protocol": "none", "max_retransmissions": null }]]),
            "link.arq.protocol = \"none\": must be one that retransmits frames, with phy.combining: there is one copy of each",
        ),
        (
            json!([["phy.combining", { "stage": "stacked", "weights": "equal-gain" }]]),
            "phy.combining.weights contradicts phy.combining.stage = \"stacked\": only posthoc and joint weigh receptions",
        ),
        (
            json!([["phy.combining.stage", "joint"], ["phy.detector", "mmse"]]),
            "phy.combining: combining stage joint does not fit detector mmse: it cancels nothing: use posthoc or stacked",
        ),
        (
            json!([["channel.antennas", { "correlation": "custom", "transmitter": { "mean_angle": "84 deg", "spread": 7 } }]]),
            "channel.antennas.transmitter.spread = 7: must be an angle with its unit such as \"60 deg\" or \"1.05 rad\"",
        ),
        (
            json!([["channel.antennas", { "correlation": "custom", "transmitter": { "mean_angle": "84 deg", "spread": "100 deg" } }]]),
            "channel.antennas.transmitter.spread = \"1.7453292519943295 rad\": must be 0 to 90 deg (pi / 2 rad)",
        ),
        (
            json!([["channel.antennas", { "correlation": "urban", "receiver": { "spread": "7 deg" } }]]),
            "channel.antennas.receiver contradicts channel.antennas.correlation = \"urban\": only \"custom\" takes the spread of an end",
        ),
        (
            json!([["channel.clock", "frame"]]),
            "channel.clock = \"frame\": needs channel.fd_t or channel.block_length: without them nothing moves",
        ),
        (json!([["channel.block_length", 0]]), "channel.block_length = 0: must be between 1 and 1000000000"),
        (
            json!([["channel.block_length", 8], ["channel.fd_t", 0.02]]),
            "channel.block_length contradicts channel.fd_t: a channel takes snr_db (or es_n0_db, or eb_n0_db), antennas, shadowing_db \
             with decorrelation, and fd_t (or speed and carrier, or block_length) with clock",
        ),
        (json!([["phy.fidelity", "table"]]), "phy.table: missing; a file, with phy.fidelity = \"table\""),
        (json!([["phy.table", "fer.csv"]]), "phy.table: needs phy.fidelity = \"table\""),
        (
            json!([["channel", { "model": "iid", "snr_db": null, "p_e": 0.1 }]]),
            "phy: needs channel.model = \"block-rayleigh\"",
        ),
        (
            json!([["run.frame_errors", 7]]),
            "run.frame_errors: needs methods = [\"phy\"]; run.count counts the frame errors of a simulation",
        ),
        (
            json!([["reverse.channel", { "model": "block-rayleigh", "snr_db": 3 }]]),
            "reverse.channel.model = \"block-rayleigh\": is a channel of frames: it needs link.frame_size, and stands in the table \
             channel",
        ),
    ];
    for (set, expected) in cases {
        assert_eq!(load(RADIO, &set).unwrap_err(), expected, "{set}");
    }
    assert_eq!(
        load(PHY_ALONE, &json!([["link.frame_size", "0 B"]])).unwrap_err(),
        "link.frame_size = \"0 B\": must be at least 1 B"
    );
    let table = "snr_db,transmissions,residual\n0,1,0.5\n10,1,1.5\n";
    let set = json!([["phy", { "fidelity": "table", "table": "fer.csv" }]]);
    let error = with_table(RADIO, &set, table.into()).unwrap_err();
    assert_eq!(error, "phy.table = \"fer.csv\": line 3: residual = \"1.5\": must be a share between 0 and 1");
    let table = "snr_db,transmissions,residual\n0,1,0.5\n10,1,0.1\n";
    let error = with_table(RADIO, &set, table.into()).unwrap_err();
    assert_eq!(error, "phy.table: snr_db = 12.0 is outside the table, which reaches from 0.0 to 10.0 dB");
    let set = json!([["phy", { "fidelity": "table", "table": "fer.csv" }], ["channel", { "fd_t": 0.01, "snr_db": 5 }]]);
    let error = with_table(RADIO, &set, table.into()).unwrap_err();
    assert_eq!(error, "phy.fidelity contradicts channel.fd_t: a table knows frames that fade independently");
}

#[test]
fn a_table_of_several_schemes_gives_each_its_own() {
    let table = "scheme,detector,combining,combining_stage,snr_db,transmissions,residual\n\
                 blast,mmse-osic,none,,12,1,0.6\nblast,mmse-osic,,stacked,12,1,0.5\n\
                 blast,ml,,ml,12,1,0.4\nstbc-2,ml,none,,12,1,0.3\n";
    let read = |set: Value| {
        let table_keys = [json!(["phy.fidelity", "table"]), json!(["phy.table", "fer.csv"])];
        let set: Vec<Value> = table_keys.into_iter().chain(set.as_array().unwrap().iter().cloned()).collect();
        let plan = with_table(RADIO, &json!(set), table.into())?;
        let point = plan.points.at(0);
        let table = point.setup.links().unwrap().forward.radio().unwrap().table.clone().unwrap();
        table.residual(12.0, 1).map_err(|error| error.to_string())
    };
    assert_eq!(read(json!([])), Ok(0.6));
    assert_eq!(read(json!([["phy.combining.stage", "stacked"]])), Ok(0.5));
    assert_eq!(read(json!([["phy.combining.stage", "stacked"], ["phy.detector", "ml"]])), Ok(0.4));
    assert_eq!(read(json!([["phy.scheme", "stbc-2"], ["phy.detector", "ml"]])), Ok(0.3));
    assert_eq!(
        read(json!([["phy.scheme", "stbc-1"]])).unwrap_err(),
        "phy.table: has no lines with scheme = \"stbc-1\", detector = \"mmse-osic\", combining = \"none\", \
         combining_stage = \"\": it has several tables, told apart by scheme, detector, combining, combining_stage"
    );
}

#[test]
fn frames_of_a_scenario_of_transports_stop_by_their_own_rule() {
    let stop = |overrides: Value| {
        let overrides: Overrides = serde_json::from_value(overrides).unwrap();
        Experiment::load(RADIO, "test.toml", &overrides).unwrap().stop.clone()
    };
    let of_frames = |count, max_runs| StopRule::Count { metric: "frame_errors".into(), count, max_runs };
    let alone = |set: Value| stop(json!({ "methods": ["phy"], "set": set }));
    assert_eq!(alone(json!([])), of_frames(10_000, 500));
    assert_eq!(alone(json!([["run.frame_errors", 70], ["run.frames", 1000]])), of_frames(70, 100));
    assert_eq!(alone(json!([["run.runs", 7]])), StopRule::Runs(7));
    assert_eq!(stop(json!({ "methods": ["phy"], "runs": 9 })), StopRule::Runs(9));
    // The text of the file is about transports, and is checked where these are tested.
    assert_eq!(stop(json!({ "methods": ["phy", "simulation"] })), StopRule::Runs(10));
    assert_eq!(stop(json!({ "set": [["methods", ["phy"]], ["run.runs", null]] })), of_frames(400, 5000));
}

#[test]
fn two_ways_to_say_one_thing_are_one_run() {
    let key = |set| {
        let plan = load(RADIO, &set).unwrap();
        plan.row_key(0, Method::Simulation, 0)
    };
    let plain = key(json!([]));
    let antennas = json!({ "n_t": 4, "n_r": 4, "correlation": "none" });
    for same in [
        json!([["link.rate", "64 kbit/s"]]),
        json!([["phy.symbol_rate", null], ["link.rate", "64 kbit/s"]]),
        json!([["channel.antennas", antennas], ["phy.detector", "mmse-osic"], ["phy.modulation", "qpsk"]]),
        json!([["phy.stbc_power", "equal"], ["phy.combining.stage", "none"], ["phy.estimation.nmse", 0]]),
    ] {
        assert_eq!(key(same.clone()), plain, "{same}");
    }
    assert_ne!(key(json!([["phy.combining.stage", "stacked"]])), plain);
    let plan = load(RADIO, &json!([["phy.scheme", "stbc-half"]])).unwrap();
    assert_eq!(plan.points.at(0).setup.links().unwrap().forward.rate_bps(), Some(8000.0));
    // rho = Eb/N0 + 10 log10(8 bits a use), for BLAST with QPSK.
    let plan = load(RADIO, &json!([["channel", { "snr_db": null, "eb_n0_db": 3 }]])).unwrap();
    let rho = plan.points.at(0).setup.links().unwrap().forward.radio().unwrap().snr_db;
    assert!((rho - (3.0 + 10.0 * 8_f64.log10())).abs() < 1e-12, "{rho}");
}

#[test]
fn frames_alone_agree_with_the_closed_forms() {
    let cases = [
        ("siso", 1, 1),
        ("simo", 1, 1),
        ("simo", 1, 2),
        ("simo", 1, 3),
        ("simo", 1, 4),
        ("alamouti", 2, 2),
        ("stbc-half", 4, 1),
    ];
    for (scheme, n_t, n_r) in cases {
        let antennas = json!({ "n_t": n_t, "n_r": n_r });
        let set = json!([
            ["phy.scheme", scheme],
            ["channel.antennas", antennas],
            ["methods", ["phy", "formula"]],
            ["run.max_frames", 20_000],
            ["channel.snr_db", 8]
        ]);
        let results = solve(&load(PHY_ALONE, &set).unwrap());
        let [phy, formula] = results.as_slice() else { panic!("{}", results.len()) };
        let (expected, ..) = metric(formula, "frame_error_rate");
        let (value, low, high) = metric(phy, "frame_error_rate");
        // 4.3 standard errors: one of the fourteen comparisons is outside in one of 4,000 seeds.
        let room = 1.1 * (high - low);
        assert!(
            (value - expected).abs() < room,
            "{scheme} {n_t} {n_r}: {value} ({low} to {high}), {expected}"
        );
        let (expected, ..) = metric(formula, "bit_error_rate");
        let (value, low, high) = metric(phy, "bit_error_rate");
        let room = 1.1 * (high - low);
        assert!(
            (value - expected).abs() < room,
            "{scheme} {n_t} {n_r}: {value} ({low} to {high}), {expected}"
        );
    }
}

#[test]
fn closed_forms_need_neither_packets_nor_runs() {
    let set = json!([["methods", ["formula"]], ["run.frame_errors", 50]]);
    let plan = load(PHY_ALONE, &set).unwrap();
    let (alone, both) = (
        solve(&plan),
        solve(&load(PHY_ALONE, &json!([["methods", ["phy", "formula"]], ["run.frame_errors", 50]])).unwrap()),
    );
    assert_eq!(alone.len(), 1);
    assert_eq!(metric(&alone[0], "frame_error_rate"), metric(&both[1], "frame_error_rate"));
    assert_eq!(plan.points.at(0).setup.links().unwrap().frames, 200);
}

#[test]
fn the_stop_rule_counts_frame_errors() {
    let results = solve(&load(PHY_ALONE, &json!([["run.frame_errors", 50]])).unwrap());
    let (errors, ..) = metric(&results[0], "frame_errors");
    // The metric is a mean over runs of 200 frames; the last run is the one that reached the count of 50.
    let total = errors * results[0].runs as f64;
    assert!((50.0..50.0 + 200.0).contains(&total), "{total}");
    let bounded =
        solve(&load(PHY_ALONE, &json!([["channel.snr_db", 40], ["run.max_frames", 4000]])).unwrap());
    assert_eq!(bounded[0].runs, 20);
    assert!(bounded[0].warnings[0].contains("frame_errors has not come to 400 within 20 runs"));
}

/// Results for frames alone and for frames under ARQ, with the residual error rate after each transmission.
fn both(set: &Value) -> (PointResult, PointResult) {
    let all = json!([["methods", ["phy", "simulation"]], ["run.frames", 1000], ["run.duration", "12 s"]]);
    let set: Vec<Value> = all.as_array().unwrap().iter().chain(set.as_array().unwrap()).cloned().collect();
    let mut results = solve(&load(RADIO, &json!(set)).unwrap()).into_iter();
    (results.next().unwrap(), results.next().unwrap())
}

#[test]
fn frames_under_arq_and_tcp_fail_as_often_as_frames_alone() {
    for set in [
        json!([["channel.snr_db", 12]]),
        json!([["channel.snr_db", 7], ["phy.combining.stage", "stacked"]]),
        json!([["channel.snr_db", 7], ["phy.combining", { "stage": "joint", "accept": "either" }]]),
        json!([["channel.snr_db", 8], ["phy.combining", { "stage": "posthoc", "weights": "equal-gain" }]]),
        json!([
            ["channel.snr_db", 4],
            ["phy.scheme", "stbc-half"],
            ["channel.antennas.n_r", 1],
            ["phy.combining.stage", "stacked"]
        ]),
    ] {
        let (alone, under) = both(&set);
        for name in ["frame_error_rate", "residual_frame_error_rate"] {
            let (a, low_a, high_a) = metric(&alone, name);
            let (b, low_b, high_b) = metric(&under, name);
            // Under ARQ retransmissions count as frames, and meet the same channel.
            let room = 0.75 * (high_a - low_a).hypot(high_b - low_b);
            assert!(
                (a - b).abs() < room,
                "{set} {name}: {a} ({low_a} to {high_a}), {b} ({low_b} to {high_b})"
            );
        }
    }
}

#[test]
fn frames_from_a_table_are_those_whose_symbols_are_detected() {
    for set in
        [json!([["channel.snr_db", 13]]), json!([["channel.snr_db", 9], ["phy.combining.stage", "stacked"]])]
    {
        let (alone, symbols) = both(&set);
        let mut table = "# measured\nsnr_db,scheme,transmissions,residual\n".to_owned();
        for (residual, n) in alone.residual.iter().zip(1..) {
            writeln!(table, "{},blast,{n},{}", alone.snr_db.unwrap(), residual.value).unwrap();
        }
        let of_table: Vec<Value> = set
            .as_array()
            .unwrap()
            .iter()
            .cloned()
            .chain([
                json!(["phy.fidelity", "table"]),
                json!(["phy.table", "fer.csv"]),
                json!(["run.duration", "12 s"]),
            ])
            .collect();
        let drawn = solve(&with_table(RADIO, &json!(of_table), table).unwrap());
        for name in
            ["frame_error_rate", "residual_frame_error_rate", "goodput_bps", "frame_transmissions_per_frame"]
        {
            let (a, low_a, high_a) = metric(&symbols, name);
            let (b, low_b, high_b) = metric(&drawn[0], name);
            let room = 0.75 * (high_a - low_a).hypot(high_b - low_b);
            assert!(
                (a - b).abs() < room,
                "{set} {name}: {a} ({low_a} to {high_a}), {b} ({low_b} to {high_b})"
            );
        }
    }
}

const SLOTTED: &str = r#"
    schema = 1
    methods = ["analysis", "simulation", "formula"]
    run = { duration = "4000 slots", runs = 10 }
    channel = { model = "block-rayleigh", snr_db = 5 }
    phy = { scheme = "stbc-half", symbol_rate = "8 kBd" }
    link = { frame_size = "30 B", packet_size = "600 B" }
    tcp = { variant = "reno", w_max = 16, rto = { fixed = "50 slots" } }
"#;

#[test]
fn without_arq_the_analysis_answers() {
    // With this SNR some 4 % of the packets of 20 frames are lost.
    let results = solve(&load(SLOTTED, &json!([])).unwrap());
    let [analysis, simulation, formula] = results.as_slice() else { panic!("{}", results.len()) };
    let (fer, ..) = metric(formula, "frame_error_rate");
    let lost = 1.0 - (1.0 - fer).powi(20);
    let (measured, low, high) = metric(simulation, "frame_error_rate");
    assert!(
        (0.01..0.1).contains(&lost) && (lost - measured).abs() < 0.9 * (high - low),
        "{lost}: {measured} ({low} to {high})"
    );
    let (exact, ..) = metric(analysis, "throughput_per_slot");
    let (mean, low, high) = metric(simulation, "throughput_per_slot");
    assert!((exact - mean).abs() < 0.75 * (high - low), "{exact}: {mean} ({low} to {high})");
    for (set, expected) in [
        (
            json!([["phy.scheme", "blast"]]),
            "phy.scheme = \"blast\": the closed forms assume symbols that do not interfere; use method phy",
        ),
        (
            json!([["channel.fd_t", 0.01]]),
            "channel.fd_t: the analysis assumes frames that fade independently; use method simulation",
        ),
    ] {
        let set: Vec<Value> =
            set.as_array().unwrap().iter().cloned().chain([json!(["methods", ["analysis"]])]).collect();
        assert_eq!(load(SLOTTED, &json!(set)).unwrap_err(), expected);
    }
}

#[test]
fn an_snr_at_which_nothing_can_arrive_is_said() {
    let warned = |set| {
        load(RADIO, &set).unwrap().warnings().iter().any(|warning| warning.contains("nothing can arrive"))
    };
    assert!(warned(json!([["channel.snr_db", -10]])));
    assert!(warned(json!([["channel.snr_db", 3]])));
    assert!(!warned(json!([["channel.snr_db", 18]])));
    assert!(warned(json!([["channel.snr_db", -10], ["phy.combining.stage", "stacked"]])));
    assert!(!warned(json!([
        ["channel.snr_db", 2],
        ["phy.combining.stage", "stacked"],
        ["phy.scheme", "stbc-2"]
    ])));
}

#[test]
fn with_a_table_it_is_the_table_that_says_whether_anything_can_arrive() {
    // At -10 dB per symbol no packet arrives. A table with an error rate of 1 %, or of 99.99 % for a frame of which a
    // packet has some 20, takes precedence.
    let warned = |residual: &str| {
        let table = format!("snr_db,transmissions,residual\n-20,1,{residual}\n20,1,{residual}\n");
        let set = json!([["phy.fidelity", "table"], ["phy.table", "fer.csv"], ["channel.snr_db", -10]]);
        let warnings = with_table(RADIO, &set, table).unwrap().warnings();
        warnings.into_iter().find(|warning| warning.contains("nothing can arrive"))
    };
    assert_eq!(warned("0.01"), None);
    assert_eq!(
        warned("0.9999").as_deref(),
        Some("channel.snr_db: nothing can arrive: less than one packet in 10000 would, says phy.table")
    );
}
