//! Cells: what their scenarios mean, and what is refused.

use crossfade_cell::Allocation;
use crossfade_core::SimTime;
use crossfade_scenario::{Overrides, Plan, Setup};
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
    let overrides: Overrides = serde_json::from_value(json!({ "set": set })).unwrap();
    Plan::load(CELL, "cell.toml", &overrides).map_err(|error| error.to_string())
}

fn setup(set: &Value) -> Setup {
    load(set).unwrap().points.at(0).setup.clone()
}

#[test]
fn presets_and_defaults() {
    let cell = |set: Value| setup(&set).cell.unwrap().config;
    let wip = cell(json!([]));
    assert_eq!((wip.slot, wip.symbols, wip.bins), (SimTime::from_nanos(666_667), 108, 25));
    assert_eq!((wip.bin_width_hz, wip.allocation), (200e3, Allocation::BestBin { candidates: 25 }));
    assert_eq!((wip.arq.delay_slots, wip.arq.max_retransmissions, wip.arq.split), (3, None, true));
    let [user] = &wip.users[..] else { panic!("{} users", wip.users.len()) };
    assert_eq!((user.mean_snr_db, user.nmse), (16.0, 0.1));
    // 75 km/h at 2 GHz are 139 Hz.
    assert!((user.fd_t - 0.0926).abs() < 1e-4, "{}", user.fd_t);
    let nr = cell(json!([["cell.preset", "nr-30k"]]));
    assert_eq!((nr.slot, nr.symbols, nr.bins, nr.bin_width_hz), (SimTime::from_micros(500), 132, 106, 360e3));
    let lte = cell(json!([["cell.preset", "lte"], ["cell.bins", 50], ["cell.arq.delay", "8 ms"]]));
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
    let users = setup.cell.unwrap().config.users;
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
    let users = setup(&set).cell.unwrap().config.users;
    // In the order of the names.
    assert!(users[0].nmse > 0.05 && users[1].nmse < 0.01, "{} {}", users[0].nmse, users[1].nmse);
    assert_ne!(users[0].levels.at(16.0), users[1].levels.at(16.0));
}

#[test]
fn what_cannot_be_is_said_in_a_line() {
    for (set, said) in [
        (
            json!([["cell.prediction.nmse", 1.0]]),
            "cell.prediction.nmse = 1.0: must be at least 0 and below 1",
        ),
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
        (
            json!([["cell.radio.mean_snr_db", 99]]),
            "cell.radio.mean_snr_db = 99.0: must be between -30 and 60",
        ),
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
        (
            json!([["link.queue.limit", "1 kB"]]),
            "link.queue.limit = \"1000 B\": must let in a packet of 1500 B",
        ),
    ] {
        let line = load(&set).map(|_| ()).expect_err(&set.to_string());
        assert!(line.contains(said) && !line.contains('\n'), "{set}: {line}");
    }
    let overrides: Overrides = serde_json::from_value(json!({})).unwrap();
    let text = "schema = 2\nchannel = { model = \"none\" }\nlink = { rate = \"1 Mbit/s\", packet_size = \"1500 B\" }\n\
                tcp = { flavour = \"rfc\", variant = \"sack\" }\nflows.a.radio.speed = \"3 km/h\"";
    let line = Plan::load(text, "x.toml", &overrides).map(|_| ()).unwrap_err().to_string();
    assert_eq!(line, "flows.a.radio: needs a cell, which has radios");
}
