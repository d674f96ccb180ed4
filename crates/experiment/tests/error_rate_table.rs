//! Tests of users' own error-rate tables on a link: constant and fading ratios, block sizes, retransmissions, and
//! errors.

use crossfade_experiment::{ExecutionHandle, Experiment, PointResult, Shard, execute, summarise};
use crossfade_scenario::{Method, Overrides};
use serde_json::{Value, json};

/// Scenario of datagrams of 500 bytes at a tenth of the link's rate, so that none waits and each is sent once.
const LINK: &str = r#"
    schema = 2
    run = { duration = "200 s", runs = 20, warmup = "0 s" }
    channel = { model = "error-rate-table", snr_db = 8, table = "bler.csv" }
    link = { rate = "400 kbit/s", packet_size = "500 B" }
    flows = { a = { traffic = "udp", rate = "200 kbit/s" } }
"#;

/// Error-rate table that falls by a factor of 45 from 4 to 10 dB, to a floor of 0.02.
const TABLE: &str = "snr_db,error_rate\n0,0.9\n4,0.9\n10,0.02\n14,0.02\n";

fn load(text: &str, set: &Value, table: &str) -> Result<Experiment, String> {
    let overrides: Overrides = serde_json::from_value(json!({ "set": set })).unwrap();
    let table = table.to_owned();
    let read = move |_: &str| Ok(table.clone());
    Experiment::load_with_files(text, "test.toml", &overrides, &read).map_err(|error| error.to_string())
}

fn solve(experiment: &Experiment) -> Vec<PointResult> {
    let (control, mut rows) = (ExecutionHandle::default(), Vec::new());
    assert!(execute(experiment, vec![], 2, Shard::WHOLE, &control, &mut |new, _| rows.extend(new)).unwrap());
    summarise(experiment, &rows)
}

/// Mean of a metric over the runs, and the standard error of the mean.
fn over_runs(set: &Value, table: &str, metric: &str) -> (f64, f64) {
    let plan = load(LINK, set, table).unwrap();
    let (control, mut rows) = (ExecutionHandle::default(), Vec::new());
    assert!(execute(&plan, vec![], 2, Shard::WHOLE, &control, &mut |new, _| rows.extend(new)).unwrap());
    let values: Vec<f64> = rows.iter().map(|row| row.metrics.get(metric).unwrap()).collect();
    let n = values.len() as f64;
    let mean = values.iter().sum::<f64>() / n;
    let variance = values.iter().map(|value| (value - mean) * (value - mean)).sum::<f64>() / (n - 1.0);
    (mean, (variance / n).sqrt())
}

/// Checks that a mean is within six standard errors of `exact`: for 20 runs, Student's t with 19 degrees of freedom
/// exceeds them in one of 110,000 cases.
fn close((found, error): (f64, f64), exact: f64, what: &str) {
    assert!((found - exact).abs() < 6.0 * error, "{what}: {found}, {exact}, standard error {error}");
    assert!(error < 0.04 * exact + 0.002, "{what}: standard error {error} shows nothing");
}

#[test]
fn a_constant_ratio_loses_what_the_table_says() {
    // Interpolated at 8 dB: 0.9 (0.02 / 0.9)^(4/6). Above the table the floor, below it all blocks are lost. A packet
    // is two blocks of 250 bytes, or half of a block of 1000.
    let at_8 = 0.9 * (0.02_f64 / 0.9).powf(4.0 / 6.0);
    let lost = |set, table: &str| over_runs(&set, table, "frame_error_rate");
    close(lost(json!([]), TABLE), at_8, "8 dB");
    close(lost(json!([["channel.snr_db", 30]]), TABLE), 0.02, "beyond the table");
    assert_eq!(lost(json!([["channel.snr_db", -1]]), TABLE).0, 1.0);
    let of = |bytes: u32| TABLE.replace("snr_db,", "bytes,snr_db,").replace('\n', &format!("\n{bytes},"));
    let of = |bytes| of(bytes).trim_end_matches(&format!("{bytes},")).to_owned();
    close(lost(json!([]), &of(250)), 1.0 - (1.0 - at_8) * (1.0 - at_8), "two blocks");
    close(lost(json!([]), &of(1000)), 1.0 - (1.0 - at_8).sqrt(), "half a block");
    close(lost(json!([["channel.block_sizes", "nearest"]]), &of(1000)), at_8, "nearest");
}

#[test]
fn fading_slow_against_a_block_loses_the_mean_over_its_distribution() {
    // Means of the table over an exponential SNR of mean 8, 12 and 20 dB, and over a log-normal SNR of 4 dB around 8
    // dB, by scipy.integrate.quad between the points of the table.
    let lost = |set| over_runs(&set, TABLE, "frame_error_rate");
    let faded = |snr_db: f64, fd_t: f64| lost(json!([["channel.snr_db", snr_db], ["channel.fd_t", fd_t]]));
    close(faded(8.0, 0.02), 0.413_731_533, "8 dB, f_d T 0.02");
    close(faded(12.0, 0.1), 0.205_979_364, "12 dB, f_d T 0.1");
    close(faded(20.0, 0.3), 0.052_681_174, "20 dB, f_d T 0.3");
    close(
        lost(json!([["channel.snr_db", 12], ["channel.fading", "rayleigh"]])),
        0.205_979_364,
        "12 dB, a gain for each block",
    );
    let shadowed = json!([["channel.shadowing_db", 4], ["channel.decorrelation", "0.1 s"]]);
    close(lost(shadowed), 0.259_610_146, "shadowing of 4 dB");
    // A packet of 500 bytes is two blocks of 250 bytes.
    let table = "bytes,snr_db,error_rate\n250,0,0.9\n250,4,0.9\n250,10,0.02\n250,14,0.02\n";
    let set = json!([["channel.snr_db", 12], ["channel.fd_t", 0.1]]);
    close(over_runs(&set, table, "frame_error_rate"), 0.258_177_863, "two blocks");
}

#[test]
fn fading_loses_in_bursts_and_a_fast_one_averages_within_a_block() {
    // A step at 8 dB under a mean of 8 dB loses blocks with a gain below 1: a share of 1 - 1/e. With many parts of fast
    // fading in a block the effective SNR hardly varies and is below 8 dB, since mutual information is concave.
    let step = "snr_db,error_rate\n8,0\n9,0\n";
    let lost = |set| over_runs(&set, step, "frame_error_rate");
    close(lost(json!([["channel.fd_t", 0.1]])), 1.0 - (-1.0_f64).exp(), "a threshold");
    let parts = json!([
        ["channel.fd_t", 20],
        ["channel.parts", 64],
        ["channel.modulation", "qpsk"],
        ["run.duration", "4 s"]
    ]);
    assert!(lost(parts).0 > 0.99);
}

#[test]
fn copies_of_frames_are_combined() {
    // Two transmissions at 4 dB fail with 0.9 each; Chase combining of both fails with 0.9 (0.02/0.9)^(3.0103/6).
    let arq = |combining: &str| {
        json!([
            ["channel.snr_db", 4],
            ["channel.combining", combining],
            ["link.frame_size", "100 B"],
            ["link.framing.header", "readable"],
            ["link.arq.protocol", "selective-repeat"],
            ["link.arq.max_retransmissions", 1],
            ["link.arq.window", 64],
            ["flows.a.rate", "100 kbit/s"],
        ])
    };
    let residual = |combining| over_runs(&arq(combining), TABLE, "residual_frame_error_rate");
    let together = 0.9 * (0.02_f64 / 0.9).powf(10.0 * 2.0_f64.log10() / 6.0);
    close(residual("chase"), together, "combined");
    close(residual("none"), 0.81, "apart");
}

#[test]
fn analysis_takes_independent_losses_and_refuses_what_moves() {
    let tcp = |set: Value| {
        let all = json!([
            ["flows", null],
            ["tcp", { "flavour": "paper", "variant": "newreno", "w_max": 8, "rto": { "fixed": "20 slots" }, "gate": "slot" }],
            ["methods", ["analysis", "simulation"]],
            ["run.duration", "500 s"],
            ["link.delay", "0 s"],
        ]);
        json!(all.as_array().unwrap().iter().chain(set.as_array().unwrap()).collect::<Vec<_>>())
    };
    for set in [json!([]), json!([["channel.fading", "rayleigh"], ["channel.snr_db", 16]])] {
        let points = solve(&load(LINK, &tcp(set), TABLE).unwrap());
        let of = |method| points.iter().find(|point| point.method == method).unwrap();
        let value = |method| {
            let (_, found) =
                of(method).metrics.iter().find(|(name, _)| *name == "throughput_per_slot").unwrap();
            (found.value, found.low.unwrap_or(found.value), found.high.unwrap_or(found.value))
        };
        let (exact, (mean, low, high)) = (value(Method::AnalysisExact).0, value(Method::Simulation));
        assert!((exact - mean).abs() < 1.5 * (high - low), "{exact}: {mean} ({low} to {high})");
    }
    let moving = json!([["channel.fd_t", 0.1], ["methods", ["analysis"]]]);
    let error = load(LINK, &tcp(moving), TABLE).map(|_| ()).unwrap_err();
    assert!(
        error.contains("loses by an error-rate table at a ratio that moves in time: simulate it"),
        "{error}"
    );
}

#[test]
fn what_does_not_fit_is_refused_in_one_line() {
    let said = |set: Value, table: &str| load(LINK, &set, table).map(|_| ()).unwrap_err();
    let modes = "mode,snr_db,error_rate\nmcs-0,0,1\nmcs-1,0,1\n";
    for (set, table, expected) in [
        (
            json!([["channel.table", null]]),
            TABLE,
            "channel: incomplete; model \"error-rate-table\" takes table and snr_db, mode, block_sizes, fading, fd_t (or speed and carrier) with clock, shadowing_db with decorrelation, parts with modulation, and combining; given: snr_db",
        ),
        (
            json!([]),
            "snr_db,bler\n0,1\n",
            "channel.table = \"bler.csv\": the table has no column error_rate: needed are snr_db and error_rate (or residual)",
        ),
        (
            json!([]),
            "snr_db,error_rate\n0,1\n3,1.5\n",
            "channel.table = \"bler.csv\": line 3: error_rate = \"1.5\": must be a share between 0 and 1",
        ),
        (
            json!([]),
            "snr_db,error_rate\n0,1\n0,0.5\n",
            "channel.table = \"bler.csv\": line 3: snr_db = 0.0, transmissions = 1 is on line 2 already",
        ),
        (json!([]), "", "channel.table = \"bler.csv\": the table has no lines"),
        (
            json!([]),
            modes,
            "channel.table = \"bler.csv\": has several modes, and none was named: must be one of mcs-0, mcs-1",
        ),
        (
            json!([["channel.mode", "mcs-7"]]),
            modes,
            "channel.mode = \"mcs-7\": has no mode \"mcs-7\": must be one of mcs-0, mcs-1",
        ),
        (json!([["channel.snr_db", 61]]), TABLE, "channel.snr_db = 61: must be between -50 and 60"),
        (
            json!([["channel.fading", "none"], ["channel.fd_t", 0.1]]),
            TABLE,
            "channel.fd_t contradicts channel.fading: without fading nothing moves",
        ),
        (
            json!([["channel.clock", "slot"]]),
            TABLE,
            "channel.clock = \"slot\": needs channel.fd_t: without it nothing moves",
        ),
        (
            json!([["channel.parts", 4]]),
            TABLE,
            "channel.parts = 4: needs gains that move in time (channel.fd_t): others are constant in a block",
        ),
        (
            json!([["channel.parts", 4], ["channel.fd_t", 0.1]]),
            TABLE,
            "channel.modulation: missing; the constellation, which channel.parts needs: bpsk, qpsk, 16-qam, ...",
        ),
        (
            json!([["channel.combining", "chase"]]),
            TABLE,
            "channel.combining = \"chase\": needs link.frame_size: whole packets are sent once",
        ),
        (
            json!([["channel.p_e", 0.1]]),
            TABLE,
            "channel.p_e contradicts channel.model = \"error-rate-table\": it takes table and snr_db, mode, block_sizes, fading, fd_t (or speed and carrier) with clock, shadowing_db with decorrelation, parts with modulation, and combining",
        ),
    ] {
        assert_eq!(said(set, table), expected);
    }
}

#[test]
fn another_table_is_another_scenario() {
    let id = |table: &str, set: Value| load(LINK, &set, table).unwrap().points.id(0);
    assert_eq!(id(TABLE, json!([])), id(TABLE, json!([["channel.table", "other-name.csv"]])));
    assert_ne!(id(TABLE, json!([])), id(&TABLE.replace("0.9", "0.8"), json!([])));
}

/// Scenario of a cell with one user with a constant recorded SNR, which always has one bin.
const CELL: &str = r#"
    schema = 2
    run = { duration = "100 s", runs = 20, warmup = "0 s" }
    cell = { table = "bler.csv", allocation = "static", radio = { trace = "bler.csv" }, levels = { target_nmse = 0 } }
    link = { packet_size = "500 B", queue = { limit = "100 packets" } }
    flows = { a = { traffic = "udp", rate = "20 kbit/s" } }
"#;

/// A cell whose recorded SNR is 9 dB, and whose error-rate table is `table`.
fn cell(set: &Value, table: &str) -> Result<Experiment, String> {
    let overrides: Overrides = serde_json::from_value(json!({ "set": set })).unwrap();
    let text = CELL.replace("trace = \"bler.csv\"", "trace = \"sinr.csv\"");
    let table = table.to_owned();
    let read = move |name: &str| {
        Ok(if name == "sinr.csv" { "time_s,sinr_db\n0,9\n".to_owned() } else { table.clone() })
    };
    Experiment::load_with_files(&text, "test.toml", &overrides, &read).map_err(|error| error.to_string())
}

#[test]
fn frames_of_a_cell_fail_as_the_table_says() {
    // 108 QPSK symbols carry 216 bits, the 27 bytes of the table. At 9 dB, half way from 0.1 to 0.4 in the logarithm,
    // the error rate is 0.2, and 1.6 bits a symbol arrive; with 16-QAM it is 0.9, and 0.4 bits arrive. The user sends a
    // frame a slot.
    let table = "mode,bytes,snr_db,error_rate\nqpsk,27,6,0.4\nqpsk,27,12,0.1\n16-qam,54,0,1\n16-qam,54,9,0.9\n\
                 16-qam,54,30,0.001\n";
    let run = |set, table: &str| {
        let points = solve(&cell(&set, table).unwrap());
        let value = |name: &str| {
            let (_, found) = points[0].metrics.iter().find(|(known, _)| *known == name).unwrap();
            // Half of the interval is at least 1.96 standard errors: three times that is some 6 of them.
            (found.value, found.ci95.map_or(0.0, |half| half / 2.0))
        };
        [value("initial_frame_error_rate"), value("modulation_share_2"), value("modulation_share_1")]
    };
    let [rate, qpsk, bpsk] = run(json!([]), table);
    close(rate, 0.2, "QPSK at 9 dB");
    assert_eq!((qpsk.0, bpsk.0), (1.0, 0.0));
    let thirds = "mode,bytes,snr_db,error_rate\n8-star,9,0,1\nqpsk,9,6,0.4\nqpsk,9,12,0.1\nbpsk,9,0,1\n";
    let [rate, ..] = run(json!([]), thirds);
    close(rate, 1.0 - 0.8_f64.powi(3), "three blocks of 9 bytes");
}

#[test]
fn a_table_that_a_cell_cannot_use_is_refused() {
    let said = |table: &str| cell(&json!([]), table).map(|_| ()).unwrap_err();
    assert_eq!(
        said("mode,snr_db,error_rate\nmcs-0,0,1\nmcs-1,0,1\n"),
        "cell.table = \"bler.csv\": has no mode \"bpsk\": must be one of mcs-0, mcs-1"
    );
    assert_eq!(
        said("snr_db,error_rate\n0,1\n"),
        "cell.table = \"bler.csv\": has no mode \"bpsk\": must be one of none: the table has no column mode"
    );
    assert_eq!(
        said("mode,snr_db,error_rate\nbpsk,0,1\n16-qam,0,1\n"),
        "cell.arq.split = true: must be false, or 8-star in the table: rests of frames that are split need it"
    );
    let set = json!([["cell.table", null], ["cell.block_sizes", "nearest"]]);
    let error = cell(&set, TABLE).map(|_| ()).unwrap_err();
    assert_eq!(error, "cell.table: missing; a file, with cell.block_sizes");
}
