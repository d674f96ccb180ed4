//! Tests of presets of Wi-Fi networks: each equals the keys that its sources give, and keys of the scenario take
//! precedence.

use crossfade_scenario::{Overrides, Plan, Point};
use serde_json::{Value, json};

const WLAN: &str = r#"
    schema = 2
    run = { duration = "1 s" }
    link = { packet_size = "1500 B" }
    tcp = { flavour = "rfc", variant = "sack", w_max = 400 }
"#;

fn load(set: &Value) -> Result<Point, String> {
    let overrides: Overrides = serde_json::from_value(json!({ "set": set })).unwrap();
    let plan = Plan::load(WLAN, "wlan.toml", &overrides).map_err(|error| error.to_string())?;
    Ok(Point::clone(&plan.points.at(0)))
}

/// Table `wlan` with all defaults filled in, of the scenario with the keys of `set`; or the error.
fn resolved(set: &Value) -> Result<Value, String> {
    Ok(serde_json::to_value(&load(set)?.scenario.wlan).unwrap())
}

/// Presets, each with the keys that it stands for as whole tables.
fn presets() -> Vec<(&'static str, Value)> {
    let modes = |standard: &str, band: &str, width: &str, streams: u32, guard: &str| json!({ "standard": standard, "band": band, "width": width, "streams": streams, "guard_interval": guard });
    let with = |mut keys: Value, more: Value| {
        keys.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
        keys
    };
    let one_fifo = |limit: &str| {
        json!({
            "queue": { "discipline": "drop-tail", "limit": limit },
            "access_point": { "queues": "fifo", "limit": limit },
        })
    };
    let rmcat = with(modes("n", "5 GHz", "20 MHz", 2, "0.8 us"), one_fifo("500 packets"));
    let ns_3 = with(modes("ax", "5 GHz", "80 MHz", 1, "3.2 us"), one_fifo("500 packets"));
    vec![
        ("wifi-4", modes("n", "2.4 GHz", "20 MHz", 2, "0.4 us")),
        ("wifi-5", modes("ac", "5 GHz", "80 MHz", 2, "0.4 us")),
        ("wifi-6", modes("ax", "5 GHz", "80 MHz", 2, "0.8 us")),
        ("wifi-7", modes("be", "6 GHz", "160 MHz", 2, "0.8 us")),
        (
            "linux",
            json!({
                "queue": {
                    "discipline": "fq-codel", "target": "20 ms", "interval": "100 ms", "quantum": "300 B",
                    "limit": "8192 packets",
                },
                "access_point": {
                    "queues": "per-station", "airtime_fairness": true, "aql": true,
                    "aql_low": "5 ms", "aql_high": "12 ms", "aql_threshold": "24 ms",
                },
                "reorder_timeout": "100 ms",
            }),
        ),
        ("old-box", one_fifo("1000 packets")),
        (
            "atc-2017",
            with(modes("n", "5 GHz", "20 MHz", 2, "0.4 us"), json!({ "ampdu": { "duration": "4 ms" } })),
        ),
        (
            "ns-3",
            with(
                ns_3,
                json!({
                    "ampdu": { "bytes": "65535 B" }, "transmissions": 0, "after_missed_ack": "request",
                    "reorder_timeout": "0 s",
                }),
            ),
        ),
        ("rfc-8869", with(rmcat, json!({ "mcs": 3, "ampdu": { "window": 1 } }))),
    ]
}

#[test]
fn a_preset_is_its_keys() {
    for (name, keys) in presets() {
        let [mut named, written] = [json!({ "preset": name }), keys]
            .map(|table| load(&json!([["wlan", table]])).unwrap_or_else(|error| panic!("{name}: {error}")));
        // They are one run, and its scenario says which preset it has.
        assert_eq!(named.id, written.id, "{name}");
        assert_eq!(json!(named.scenario.wlan.preset.take()), json!(name));
        assert_eq!(named.scenario.wlan, written.scenario.wlan, "{name}");
        // The defaults are those of wifi-6.
        let usual = load(&json!([["wlan.rts", false]])).unwrap();
        assert_eq!(named.id == usual.id, name == "wifi-6", "{name}");
    }
}

/// The highest rates of the presets equal those printed by vendors and standards.
#[test]
fn modes_of_presets_have_the_rates_that_are_printed() {
    for (name, printed) in [
        ("wifi-4", 144.4),
        ("wifi-5", 866.7),
        ("wifi-6", 1201.0),
        ("wifi-7", 2882.4),
        ("atc-2017", 144.4),
        ("rfc-8869", 52.0),
    ] {
        let point = load(&json!([["wlan.preset", name]])).unwrap();
        let modes = &point.setup.wlan().unwrap().model.config.stations[0].modes;
        let mbps = modes.last().unwrap().rate_bps() / 1e6;
        assert!((mbps - printed).abs() < 0.06, "{name}: {mbps}");
    }
}

#[test]
fn keys_of_the_scenario_take_precedence() {
    let pairs = [
        (json!({ "preset": "wifi-6", "width": "160 MHz", "streams": 4 }), "width", json!("160000000 Hz")),
        (json!({ "preset": "wifi-7", "band": "5 GHz" }), "band", json!("5 GHz")),
        (json!({ "preset": "rfc-8869", "mcs": 7 }), "mcs", json!(7)),
        (json!({ "preset": "ns-3", "transmissions": 7 }), "transmissions", json!(7)),
        (
            json!({ "preset": "ns-3", "ampdu": { "window": 64 } }),
            "ampdu",
            json!({
                "window": 64, "bytes": "65535 B", "duration": "5484 us",
            }),
        ),
        // Keys of other queues than the preset's do not come with them.
        (
            json!({ "preset": "linux", "queue": { "discipline": "codel", "limit": "99 packets" } }),
            "queue",
            json!({
                "discipline": "codel", "limit": "99 packets", "ecn": true, "target": "5 ms", "interval": "100 ms",
            }),
        ),
        (
            json!({ "preset": "linux", "access_point": { "queues": "fifo" } }),
            "access_point",
            json!({
                "queues": "fifo", "limit": "1000 packets",
            }),
        ),
        (
            json!({ "preset": "old-box", "access_point": { "queues": "per-station", "aql": false } }),
            "access_point",
            json!({
                "queues": "per-station", "airtime_fairness": true, "aql": false,
            }),
        ),
        // Minstrel chooses the MCS that the preset would give.
        (json!({ "preset": "rfc-8869", "rate": "minstrel" }), "mcs", Value::Null),
    ];
    for (table, key, value) in pairs {
        let found = resolved(&json!([["wlan", table]])).unwrap_or_else(|error| panic!("{table}: {error}"));
        assert_eq!(found[key], value, "{table}");
    }
    // A station has its own.
    let stations =
        json!({ "old": { "standard": "a", "width": "20 MHz", "guard_interval": "0.8 us" }, "new": {} });
    let found = resolved(
        &json!([["wlan", { "preset": "wifi-5", "stations": stations }], ["flows", { "f": { "station": "new" } }]]),
    );
    assert_eq!(found.unwrap()["stations"]["old"]["standard"], "a");
}

#[test]
fn links_take_the_width_of_the_preset() {
    let links = json!({ "five": {}, "six": { "band": "6 GHz" } });
    let found = resolved(&json!([["wlan", { "preset": "wifi-7", "links": links }]])).unwrap();
    assert_eq!(
        [&found["links"]["five"]["width"], &found["links"]["six"]["width"]],
        ["160000000 Hz", "160000000 Hz"]
    );
}

#[test]
fn unknown_presets_are_refused_in_a_line() {
    let error = resolved(&json!([["wlan", { "preset": "wifi-8" }]])).unwrap_err();
    let said = "wlan.preset = \"wifi-8\": must be one of wifi-4, wifi-5, wifi-6, wifi-7, linux, old-box, atc-2017, ns-3, \
                rfc-8869";
    assert!(error.contains(said) && !error.contains('\n'), "{error}");
}
