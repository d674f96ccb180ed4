//! Tests of scenarios with a cell: resolved values, and refused combinations.

use crossfade_cell::{Allocation, Quantiser};
use crossfade_core::SimTime;
use crossfade_scenario::{CellModel, Overrides, Plan, Setup};
use serde_json::{Value, json};

const CELL: &str = r#"
    schema = 2
    cell = { prediction = { nmse = 0.1 } }
    link = { packet_size = "1500 B" }
    reverse = { rate = "20 kbit/s", delay = "2 ms" }
    wired = { rtt = "80 ms" }
    tcp = { flavour = "rfc", variant = "sack" }
"#;

fn load(set: &Value) -> Result<Plan, String> {
    load_with(set, "0,12\n0.5,18\n")
}

/// Plan of the scenario with the keys of `set` and a file `sinr.csv` with the text `sinr`; or the error.
fn load_with(set: &Value, sinr: &str) -> Result<Plan, String> {
    let overrides: Overrides = serde_json::from_value(json!({ "set": set })).unwrap();
    let read =
        |name: &str| if name == "sinr.csv" { Ok(sinr.to_owned()) } else { Err("cannot be read".to_owned()) };
    Plan::load_with_files(CELL, "cell.toml", &overrides, &read).map_err(|error| error.to_string())
}

fn setup(set: &Value) -> Setup {
    load(set).unwrap().points.at(0).setup.clone()
}

fn cell(set: &Value) -> CellModel {
    setup(set).cell().unwrap().model.clone()
}

#[test]
fn presets_and_defaults() {
    let config = |set: Value| cell(&set).config;
    let wip = config(json!([]));
    assert_eq!((wip.slot, wip.symbols, wip.bins), (SimTime::from_nanos(666_667), 108, 25));
    assert_eq!((wip.bin_width_hz, wip.allocation), (200e3, Allocation::BestBin { candidates: 25 }));
    assert_eq!((wip.arq.delay_slots, wip.arq.max_retransmissions, wip.arq.split), (3, None, true));
    let [user] = &wip.users[..] else { panic!("{} users", wip.users.len()) };
    assert_eq!((user.mean_snr_db, user.nmse), (16.0, 0.1));
    // 75 km/h at 2 GHz are 139 Hz.
    assert!((user.fd_t - 0.0926).abs() < 1e-4, "{}", user.fd_t);
    let nr = config(json!([["cell.preset", "nr-30k"]]));
    assert_eq!((nr.slot, nr.symbols, nr.bins, nr.bin_width_hz), (SimTime::from_micros(500), 132, 106, 360e3));
    let lte = config(json!([["cell.preset", "lte"], ["cell.bins", 50], ["cell.arq.delay", "8 ms"]]));
    assert_eq!((lte.bins, lte.arq.delay_slots), (50, 8));
    // What a word does not take is forgotten: sweeps have it in all of their points.
    let id = |set: Value| load(&set).unwrap().points.at(0).id.clone();
    assert_eq!(
        id(json!([["cell.allocation", "static"], ["cell.candidates", 2]])),
        id(json!([["cell.allocation", "static"]]))
    );
}

#[test]
fn each_flow_has_a_user_and_ranges_go_evenly() {
    let flows = json!({
        "far": { "count": 3, "radio": { "mean_snr_db": { "from": 0, "to": 10 }, "speed": "3 km/h" } },
        "me": { "traffic": "outside", "radio": { "mean_snr_db": 20 } },
        "near": { "count": 2, "radio": { "speed": { "from": "18 km/h", "to": "36 km/h" } } },
    });
    let setup = setup(&json!([["flows", flows], ["cell.radio.mean_snr_db", 25]]));
    let ends: Vec<_> = setup.flows.iter().map(|flow| flow.ends.clone()).collect();
    assert_eq!(ends, [vec![[0, 1], [0, 2], [0, 3]], vec![[0, 4]], vec![[0, 5], [0, 6]]]);
    let users = &setup.cell().unwrap().model.config.users;
    let means: Vec<f64> = users.iter().map(|user| user.mean_snr_db).collect();
    assert_eq!(means, [0.0, 5.0, 10.0, 20.0, 25.0, 25.0]);
    assert_eq!((users[4].speed_mps, users[5].speed_mps), (5.0, 10.0));
}

#[test]
fn a_horizon_makes_the_error_of_each_user() {
    let flows = json!({
        "slow": { "radio": { "speed": "3 km/h" } },
        "fast": { "radio": { "speed": "120 km/h" } },
    });
    let set =
        json!([["flows", flows], ["cell.prediction.nmse", null], ["cell.prediction.horizon", "3 slots"]]);
    let users = cell(&set).config.users;
    // In the order of the names.
    assert!(users[0].nmse > 0.05 && users[1].nmse < 0.01, "{} {}", users[0].nmse, users[1].nmse);
    assert_ne!(users[0].levels.at(16.0), users[1].levels.at(16.0));
}

#[test]
fn recorded_ratios_are_what_the_file_says() {
    let flows = json!({
        "drawn": { "radio": { "speed": "3 km/h" } },
        "measured": { "count": 2, "radio": { "trace": "sinr.csv", "trace_period": "1 s" } },
    });
    let set = json!([["flows", flows]]);
    let measured = cell(&set);
    let [drawn, one, other] = &measured.config.users[..] else {
        panic!("{} users", measured.config.users.len())
    };
    assert!(drawn.trace.is_none() && one.trace == other.trace);
    let mean_db = 10.0 * f64::midpoint(10_f64.powf(1.2), 10_f64.powf(1.8)).log10();
    assert!((one.mean_snr_db - mean_db).abs() < 1e-9, "{}", one.mean_snr_db);
    assert_eq!((one.speed_mps, one.fd_t, one.nmse), (0.0, 0.0, 0.0));
    let [recorded] = &measured.recorded[..] else { panic!("{:?}", measured.recorded) };
    assert_eq!(
        (recorded.key.as_str(), recorded.lasts, recorded.repeats),
        ("flows.measured.radio.trace", SimTime::from_millis(1000), true)
    );
    // What is in the file decides, not its name alone.
    let id = |sinr: &str| load_with(&set, sinr).unwrap().points.at(0).id.clone();
    assert!(id("0,12\n0.5,18\n") == id("0,12\n0.5,18\n") && id("0,12\n") != id("0,13\n"));
    // Flows that say nothing take what is usual; those that say how strong they are do not.
    let flows = json!({ "measured": {}, "drawn": { "radio": { "mean_snr_db": 9 } } });
    let users = cell(&json!([["flows", flows], ["cell.radio.trace", "sinr.csv"]])).config.users;
    assert_eq!([users[0].trace.is_some(), users[1].trace.is_some()], [false, true]);
}

#[test]
fn reports_and_the_outer_loop_have_defaults() {
    let config = |set: Value| cell(&set).config;
    let none = config(json!([]));
    assert!(none.feedback.is_none() && none.outer_loop.is_none());
    let feedback = |set: Value| config(set).feedback.unwrap();
    let late = feedback(json!([["cell.feedback.delay", "4 slots"]]));
    assert_eq!((late.period_slots, late.delay_slots, late.quantiser), (1, 4, None));
    let set = json!([["cell.feedback", { "period": "5 ms", "step_db": 2 }]]);
    let quantiser = Quantiser { lowest_db: -6.0, step_db: 2.0, bits: 4 };
    // 5 ms are 7.5 slots.
    assert_eq!((feedback(set.clone()).period_slots, feedback(set).quantiser), (8, Some(quantiser)));
    let outer = |set: Value| config(json!([["cell.outer_loop", set]])).outer_loop.unwrap();
    // Sionna's steps, and srsRAN's.
    let usual = outer(json!({ "step_down_db": 1 }));
    assert!((usual.step_up_db - 1.0 / 9.0).abs() < 1e-12 && usual.limit_db == 20.0);
    let given = outer(json!({ "step_down_db": 0.099, "step_up_db": 0.001 }));
    assert!((given.target() - 0.01).abs() < 1e-12);
    let of_levels = config(json!([["cell.levels.target_fer", "1 %"], ["cell.outer_loop.limit_db", 5]]));
    assert!((of_levels.outer_loop.unwrap().target() - 0.01).abs() < 1e-12);
}

#[test]
fn what_cannot_be_is_said_in_a_line() {
    for (set, said) in [
        (json!([["cell.prediction.nmse", 1.0]]), "cell.prediction.nmse = 1: must be at least 0 and below 1"),
        (json!([["cell.prediction.nmse", -0.1]]), "cell.prediction.nmse = -0.1: must be between 0 and 1"),
        (json!([["flows", { "a": { "count": 0 } }]]), "flows.a.count = 0: must be between 1 and"),
        (
            json!([["cell.delays_ns", [0, 2000, 1000]], ["cell.powers_db", [0, 0, 0]]]),
            "cell.delays_ns = 1000: must be sorted, here between 2000 and 1e6",
        ),
        (json!([["cell.delays_ns", [0, 100]]]), "cell.powers_db: missing; a list"),
        (
            json!([["cell.delays_ns", [0]], ["cell.powers_db", [0]], ["cell.profile", "EPA"]]),
            "cell.profile contradicts cell.delays_ns",
        ),
        (
            json!([["cell.levels.custom_db", [1, 2, 4, 3, 5, 6, 7]]]),
            "cell.levels.custom_db = [1.0, 2.0, 4.0, 3.0, 5.0, 6.0, 7.0]: must be in rising order",
        ),
        (
            json!([["cell.levels.custom_db", [1, 2]], ["cell.levels.target_nmse", 0]]),
            "cell.levels.target_nmse contradicts cell.levels.custom_db",
        ),
        (
            json!([["cell.levels.target_nmse", 1]]),
            "cell.levels.target_nmse = 1.0: must be at least 0 and below 1",
        ),
        (
            json!([["cell.radio.speed", "500 km/h"]]),
            "cell.radio.speed = \"500 km/h\": too fast: f_d T = 0.618",
        ),
        (json!([["cell.radio.speed", "fast"]]), "cell.radio.speed = \"fast\": must be a speed such as"),
        (json!([["cell.radio.mean_snr_db", 99]]), "cell.radio.mean_snr_db = 99: must be between -30 and 60"),
        (json!([["cell.candidates", 26]]), "cell.candidates = 26: must be between 1 and 25, the bins"),
        (json!([["cell.slot", "1 us"]]), "cell.slot = \"1 us\": must be between 10 us and 100 ms"),
        (json!([["cell.profile", "eva"]]), "cell.profile = \"eva\": must be one of typical-urban, EPA, EVA"),
        (json!([["cell.shadowing.pole", 1]]), "cell.shadowing.pole = 1.0: must be at least 0 and below 1"),
        (
            json!([["cell.allocation", "static"], ["flows", { "a": { "count": 26 } }]]),
            "cell.bins = 25: must be at least 26, one for each user of allocation static",
        ),
        (json!([["link.rate", "1 Mbit/s"]]), "link contradicts cell: the cell carries the data"),
        (json!([["channel.model", "iid"], ["channel.p_e", 0.1]]), "channel contradicts cell"),
        (json!([["mesh.topology", "chain"], ["mesh.hops", 2]]), "contradicts mesh"),
        (json!([["cell.radio.trace", "other.csv"]]), "cell.radio.trace = \"other.csv\": cannot be read"),
        (
            json!([["flows.a.radio.trace", "sinr.csv"], ["flows.a.radio.speed", "3 km/h"]]),
            "flows.a.radio.speed contradicts flows.a.radio.trace: the ratios are in the file",
        ),
        (
            json!([["cell.radio.trace_period", "1 s"]]),
            "cell.radio.trace: missing; the file that begins again",
        ),
        (
            json!([["cell.radio.trace", "sinr.csv"], ["cell.radio.trace_period", "0.5 s"]]),
            "cell.radio.trace_period = \"500 ms\": must be above 0.5 s, the time of the last row",
        ),
        (json!([["cell.feedback.bits", 4]]), "cell.feedback.step_db: missing; the steps of reports"),
        (json!([["cell.feedback.period", "0 s"]]), "cell.feedback.period = \"0 s\": must be longer than 0 s"),
        (
            json!([["cell.feedback.delay", "100 s"]]),
            "cell.feedback.delay = 150000: must be at most 100000 slots",
        ),
        (
            json!([["cell.outer_loop.target_fer", "100 %"]]),
            "cell.outer_loop.target_fer = 1: must be above 0 and below 1",
        ),
        (
            json!([["cell.outer_loop", { "target_fer": 0.1, "step_up_db": 1 }]]),
            "cell.outer_loop.target_fer contradicts cell.outer_loop.step_up_db: each follows from the other",
        ),
        (
            json!([["link.queue.limit", "1 kB"]]),
            "link.queue.limit = \"1000 B\": must let in a packet of 1500 B",
        ),
    ] {
        let line = load(&set).map(|_| ()).expect_err(&set.to_string());
        assert!(line.contains(said) && !line.contains('\n'), "{set}: {line}");
    }
    let set = json!([["cell.radio.trace", "sinr.csv"]]);
    for (text, said) in [
        ("time_s,sinr_db\n0,12\n1,x\n", "line 3: sinr_db = \"x\": must be a number"),
        ("0,12,13\n", "cell.radio.trace: 2 ratios on a line: must be 1, or 25, the bins of the cell"),
    ] {
        let line = load_with(&set, text).map(|_| ()).unwrap_err();
        assert!(line.starts_with("cell.radio.trace") && line.ends_with(said), "{line}");
    }
    let overrides: Overrides = serde_json::from_value(json!({})).unwrap();
    let text = "schema = 2\nchannel = { model = \"none\" }\nlink = { rate = \"1 Mbit/s\", packet_size = \"1500 B\" }\n\
                tcp = { flavour = \"rfc\", variant = \"sack\" }\nflows.a.radio.speed = \"3 km/h\"";
    let line = Plan::load(text, "x.toml", &overrides).map(|_| ()).unwrap_err().to_string();
    assert_eq!(line, "flows.a.radio: needs a cell or an nr, which have radios");
}
