use crate::{ExecutionHandle, Experiment, PointResult, Row, Shard, execute, summarise};
use crossfade_core::testing::{is_long, long_or};
use crossfade_scenario::Overrides;
use serde_json::{Value, json};

const TEXT: &str = r#"
    schema = 2
    run = { duration = "6 s", warmup = "1 s" }
    link = { packet_size = "1500 B" }
    wlan = { standard = "ax", streams = 1, mcs = 11, ampdu = { window = 64 }, queue = { discipline = "drop-tail" } }
    tcp = { flavour = "rfc", variant = "sack", w_max = 4000 }
    flows = { full = { traffic = "saturated" } }
"#;

/// The scenario with keys set; ten runs in the long form and two in the usual one, unless a table `run` is set.
fn plan(set: &Value) -> Result<Experiment, String> {
    let mut all = vec![json!(["run.runs", long_or(10, 2)])];
    all.extend(set.as_array().unwrap().iter().cloned());
    let overrides: Overrides = serde_json::from_value(json!({ "set": all })).unwrap();
    Experiment::load(TEXT, "wlan.toml", &overrides).map_err(|error| error.to_string())
}

fn results(set: &Value) -> Vec<PointResult> {
    let plan = plan(set).unwrap_or_else(|error| panic!("{set}: {error}"));
    let mut rows = Vec::new();
    let mut keep = |new: Vec<Row>, _| rows.extend(new);
    let done = execute(&plan, Vec::new(), 1, Shard::WHOLE, &ExecutionHandle::default(), &mut keep);
    assert_eq!(done, Ok(true));
    summarise(&plan, &rows)
}

fn metric(result: &PointResult, name: &str) -> f64 {
    result.metrics.iter().find(|(known, _)| *known == name).unwrap_or_else(|| panic!("{name}")).1.value
}

fn of_part(result: &PointResult, part: &str, name: &str) -> f64 {
    let part =
        result.parts.iter().find(|one| one.part.name == part && one.part.kind.name == "station").unwrap();
    part.metrics.iter().find(|(known, _)| *known == name).unwrap().1.value
}

/// Formula and simulation agree within 1 % for one station, for stations that contend, and for stations to which the
/// access point sends.
///
/// The 95 % interval of ten runs of 10 s is 0.36 % wide on either side for five stations, and at most 0.1 % in all
/// other cases: a simulation that is 1.4 % off fails with a probability of 99 %.
///
/// The usual form has one of the three cases of five stations, with four runs: their mean has a standard error of
/// 0.25 %, so that a simulation 1.6 % off fails in all but one case of a hundred. Of the other cases it makes two runs of
/// 3 s, whose mean has a standard error of at most 0.15 %.
#[test]
fn formula_and_simulation_agree() {
    let both = ["methods", "[\"formula\", \"simulation\"]"];
    for (set, within) in [
        (json!([]), 0.006),
        (json!([["wlan.mcs", 4]]), 0.006),
        (json!([["wlan.standard", "n"], ["wlan.mcs", 7]]), 0.006),
        (
            json!([
                ["flows.full", { "traffic": "saturated", "direction": "up", "count": 5 }],
                ["run.duration", "10 s"],
                ["run.runs", long_or(10, 4)],
            ]),
            0.01,
        ),
        (
            json!([["flows.full", { "traffic": "saturated", "direction": "up", "count": 5 }], ["wlan.rts", true]]),
            0.01,
        ),
        // With DCF an empty slot follows a success unless the winner sends again, so a station alone meets none.
        (
            json!([
                ["wlan.backoff", "dcf"],
                ["flows.full", { "traffic": "saturated", "direction": "up", "count": 5 }],
                ["run.duration", "10 s"],
            ]),
            0.01,
        ),
        (json!([["wlan.backoff", "dcf"], ["wlan.ampdu.window", 1]]), 0.006),
        (json!([["flows.full", { "traffic": "saturated", "count": 3 }]]), 0.01),
        // Eight stations in one PPDU with RUs of one size, on the downlink and, triggered, on the uplink.
        (
            json!([["flows.full", { "traffic": "saturated", "count": 8 }], ["wlan.ofdma.users", 8], ["run.duration", "4 s"]]),
            0.006,
        ),
        (
            json!([
                ["flows.full", { "traffic": "saturated", "direction": "up", "count": 8 }],
                ["wlan.ofdma.ru", 106],
                ["wlan.ampdu.window", 256],
                ["run.duration", "4 s"],
            ]),
            0.006,
        ),
    ] {
        let mut set = set.as_array().unwrap().clone();
        let contends = set.iter().any(|pair| pair[1]["count"] == 5);
        let is_first = set.iter().any(|pair| pair[0] == "run.runs");
        if !is_long() && contends && !is_first {
            continue;
        }
        if !is_long() && !contends {
            set.extend([json!(["run.duration", "3 s"]), json!(["run.runs", 2])]);
        }
        set.push(json!([both[0], ["formula", "simulation"]]));
        let found = results(&set.clone().into());
        let [formula, simulation] = [0, 1].map(|i| metric(&found[i], "goodput_bps"));
        assert!((simulation / formula - 1.0).abs() < within, "{set:?}: {simulation} for {formula}");
    }
}

/// Goodputs of links add up, by formula and in simulation within 1 %: two and three equal links, two that differ in
/// band and width, and stations that contend on both links, one of them only on one.
///
/// The usual form makes two runs of 3 s instead of ten of 6 s where nobody contends, else four of
/// 12 s, whose mean has a standard error of about 0.25 %.
#[test]
fn links_add_up() {
    let of = |links: Value, more: Value| {
        let mut set = vec![
            json!(["methods", ["formula", "simulation"]]),
            json!(["run.duration", long_or("6 s", "3 s")]),
            json!(["wlan.standard", "be"]),
            json!(["wlan.ampdu.window", 1024]),
            json!(["wlan.links", links]),
        ];
        set.extend(more.as_array().unwrap().iter().cloned());
        results(&set.into())
    };
    let one =
        metric(&results(&json!([["wlan.standard", "be"], ["wlan.ampdu.window", 1024]]))[0], "goodput_bps");
    for (links, times) in [(json!({ "a": {}, "b": {} }), 2.0), (json!({ "a": {}, "b": {}, "c": {} }), 3.0)] {
        let found = of(links, json!([]));
        for found in &found {
            let rate = metric(found, "goodput_bps");
            assert!((rate / one / times - 1.0).abs() < 0.01, "{times}: {rate} for {one}");
        }
        let parts: Vec<&str> = found[1]
            .parts
            .iter()
            .filter(|part| part.part.kind.name == "wlan_link")
            .map(|part| part.part.name.as_str())
            .collect();
        assert_eq!(parts, &["0", "1", "2"][..times as usize]);
    }
    let up = |count: u32| json!({ "traffic": "saturated", "direction": "up", "count": count });
    for (links, more) in [
        (json!({ "a": { "band": "2.4 GHz", "mcs": 4 }, "b": { "width": "40 MHz", "mcs": 2 } }), json!([])),
        (
            json!({ "a": {}, "b": { "mcs": 5 } }),
            json!([["flows.full", up(3)], ["run.duration", "12 s"], ["run.runs", long_or(10, 4)]]),
        ),
        (
            json!({ "a": { "width": "40 MHz" }, "b": { "width": "40 MHz" } }),
            json!([
                ["wlan.stations", { "both": {}, "one": { "links": ["a"] } }],
                ["flows.full", null],
                ["flows", {
                    "both": { "traffic": "saturated", "direction": "up", "station": "both" },
                    "one": { "traffic": "saturated", "direction": "up", "station": "one" },
                }],
                ["run.duration", "12 s"],
                ["run.runs", long_or(10, 4)],
            ]),
        ),
    ] {
        let found = of(links.clone(), more);
        let [formula, simulation] = [0, 1].map(|i| metric(&found[i], "goodput_bps"));
        assert!((simulation / formula - 1.0).abs() < 0.01, "{links}: {simulation} for {formula}");
    }
}

/// A station with a single radio for two links (EMLSR) gets less than the goodput of one link, and the less the longer
/// its delays; a station that uses both links at once gets twice as much. A key of the station overrides the network's.
#[test]
fn a_single_radio_has_one_link_at_a_time() {
    let of = |more: Value| {
        let mut set = vec![
            json!(["run.duration", long_or("6 s", "3 s")]),
            json!(["wlan.standard", "be"]),
            json!(["wlan.ampdu", { "window": 1024, "bytes": "60 kB" }]),
            json!(["wlan.links", { "a": {}, "b": {} }]),
        ];
        set.extend(more.as_array().unwrap().iter().cloned());
        metric(&results(&set.into())[0], "goodput_bps")
    };
    let one = metric(
        &results(&json!([["wlan.standard", "be"], ["wlan.ampdu", { "window": 1024, "bytes": "60 kB" }]]))[0],
        "goodput_bps",
    );
    let both = of(json!([]));
    let usual = of(json!([["wlan.multi_link", "emlsr"]]));
    let slow =
        json!({ "padding_delay": "256 us", "transition_delay": "256 us", "initial_frame_rate": "6 Mbit/s" });
    let slow = of(json!([["wlan.multi_link", "emlsr"], ["wlan.emlsr", slow]]));
    assert!((both / one / 2.0 - 1.0).abs() < 0.01, "{both} and {one}");
    assert!(slow < 0.8 * usual && usual < one, "{slow}, {usual}, {one}");
    // The key in the table of stations overrides that of the network.
    let own =
        of(json!([["wlan.multi_link", "emlsr"], ["wlan.stations", { "desk": { "multi_link": "str" } }]]));
    assert!((own / both - 1.0).abs() < 1e-12, "{own} and {both}");
    let own = of(json!([["wlan.stations", { "desk": { "multi_link": "emlsr" } }]]));
    assert!((own / usual - 1.0).abs() < 1e-12, "{own} and {usual}");
}

/// Rows of a network with several links do not depend on the number of threads, and the resolved scenario has the
/// stations' links.
#[test]
fn rows_of_links_are_equal_for_any_number_of_threads() {
    let set = json!([
        ["run", { "duration": "2 s", "runs": 3 }],
        ["wlan.mcs", null],
        ["wlan", {
            "standard": "be", "streams": 1, "radio": { "mean_snr_db": 28 },
            "links": {
                "low": { "band": "2.4 GHz", "snr_offset_db": 4, "neighbours": { "count": 2, "busy": "30 %" } },
                "high": { "band": "6 GHz", "width": "160 MHz", "snr_offset_db": -3 },
            },
            "stations": { "new": {}, "old": { "standard": "ax", "links": ["high"] } },
        }],
        ["flows.full", null],
        ["flows", { "new": { "station": "new" }, "up": { "station": "new", "direction": "up" }, "old": { "station": "old" } }],
    ]);
    let plan = plan(&set).unwrap();
    let rows = |threads| {
        let mut rows = Vec::new();
        let mut keep = |new: Vec<Row>, _| rows.extend(new);
        execute(&plan, Vec::new(), threads, Shard::WHOLE, &ExecutionHandle::default(), &mut keep).unwrap();
        rows.sort_by_key(|row| row.run);
        let measured = |row: &Row| format!("{} {:?}\n", row.run, row.metrics);
        rows.iter().map(measured).collect::<String>()
    };
    let one = rows(1);
    assert!(one == rows(3), "rows differ");
    assert!(one.contains("wlan_link:1.wlan_link_goodput_bps"));
}

/// Formula and simulation agree for two fast stations and a slow one, with airtime fairness and in turns.
#[test]
fn shares_of_the_air_agree() {
    for fair in [true, false] {
        let found = results(&json!([
            ["methods", ["formula", "simulation"]],
            ["run.duration", "20 s"],
            ["wlan", {
                "standard": "ax", "width": "20 MHz", "streams": 1, "queue": { "discipline": "drop-tail" },
                "access_point": { "airtime_fairness": fair, "aql": false },
                "stations": { "fast": { "count": 2, "mcs": 11 }, "slow": { "mcs": 0 } },
            }],
            ["flows.full", null],
            ["flows", { "fast": { "traffic": "saturated", "station": "fast" }, "slow": { "traffic": "saturated", "station": "slow" } }],
        ]));
        for station in ["0", "1", "2"] {
            let [formula, simulation] = [0, 1].map(|i| of_part(&found[i], station, "station_goodput_bps"));
            assert!(
                (simulation / formula - 1.0).abs() < 0.02,
                "{fair}, {station}: {simulation} for {formula}"
            );
        }
        let jain = metric(&found[1], "jain_airtime");
        assert_eq!(jain > 0.999, fair || jain > 0.999, "{jain}");
    }
}

/// With one FIFO and a slow station the delay of a call beside downloads is at least five times that with queues by
/// airtime (the 802.11 performance anomaly).
#[test]
fn queues_end_the_anomaly() {
    let of = |access_point: Value| {
        results(&json!([
            ["run.duration", "20 s"],
            ["wlan", {
                "standard": "n", "width": "20 MHz", "streams": 2, "guard_interval": "0.4 us",
                "access_point": access_point,
                "stations": { "fast": { "count": 2, "mcs": 7 }, "slow": { "mcs": 0, "streams": 1 }, "phone": { "mcs": 7, "streams": 1 } },
            }],
            ["tcp.congestion", "cubic"],
            ["flows.full", null],
            ["flows", {
                "fast": { "station": "fast" }, "slow": { "station": "slow" },
                "call": { "station": "phone", "traffic": "udp", "rate": "100 kbit/s", "packet_size": "200 B", "count": 1 },
            }],
        ]))
    };
    let delay = |found: &[PointResult]| {
        let part = found[0].parts.iter().find(|part| part.part.name == "call").unwrap();
        part.metrics.iter().find(|(name, _)| *name == "one_way_delay_mean_s").unwrap().1.value
    };
    let (old, new) = (of(json!({ "queues": "fifo" })), of(json!({})));
    assert!(delay(&old) > 5.0 * delay(&new), "{} against {}", delay(&old), delay(&new));
    let gain = metric(&new[0], "goodput_bps") / metric(&old[0], "goodput_bps");
    // 1.39 on average over six random streams, with a standard deviation of 0.08 in 10 s.
    assert!(gain > 1.2, "{gain}");
}

/// With a CUBIC download to each station, once these have filled the FIFO after a minute, sparse packets to a fast and
/// to the slow station wait at least five times as long in one FIFO as behind FQ-CoDel by airtime with AQL, the 10 ms
/// before the access point included.
#[test]
fn latency_falls_fivefold_for_fast_and_slow() {
    let of = |access_point: Value| {
        results(&json!([
            ["run", { "duration": "60 s", "warmup": "20 s", "runs": long_or(10, 3) }],
            ["wired", { "rtt": "20 ms" }],
            ["wlan.standard", null],
            ["wlan.streams", null],
            ["wlan.mcs", null],
            ["wlan.ampdu", null],
            ["wlan.queue", null],
            ["wlan", {
                "preset": "atc-2017", "access_point": access_point,
                "stations": { "fast": { "count": 2, "mcs": 7, "streams": 2 }, "slow": { "mcs": 0, "streams": 1 } },
            }],
            ["tcp.congestion", "cubic"],
            ["flows.full", null],
            ["flows", {
                "fast": { "station": "fast" }, "slow": { "station": "slow" },
                "ping-fast": { "station": "fast", "traffic": "udp", "rate": "6720 bit/s", "packet_size": "84 B" },
                "ping-slow": { "station": "slow", "traffic": "udp", "rate": "6720 bit/s", "packet_size": "84 B" },
            }],
        ]))
    };
    let delay = |found: &[PointResult], flow: &str| {
        let part = found[0].parts.iter().find(|part| part.part.name == flow).unwrap();
        part.metrics.iter().find(|(name, _)| *name == "one_way_delay_mean_s").unwrap().1.value
    };
    let (old, new) = (of(json!({ "queues": "fifo" })), of(json!({})));
    for (flow, times) in [("ping-fast", 5.0), ("ping-slow", 10.0)] {
        let [old, new] = [&old, &new].map(|found| delay(found, flow));
        assert!(old > times * new, "{flow}: {old} against {new}");
    }
}

#[test]
#[expect(clippy::too_many_lines, reason = "a table of cases")]
fn what_cannot_be_is_said_in_a_line() {
    let mut wrong = Vec::new();
    for (set, said) in [
        (
            json!([["wlan", { "standard": "ac", "width": "20 MHz", "streams": 1, "mcs": 9 }]]),
            "wlan.mcs = 9: must be another one: 802.11ac at 20 MHz with 1 stream has no MCS 9, 8 is the next below",
        ),
        (json!([["wlan.standard", "b"]]), "wlan.standard"),
        (json!([["wlan.mcs", 12]]), "wlan.mcs = 12: must be at most 11 of 802.11ax"),
        (
            json!([["wlan.width", "30 MHz"]]),
            "wlan.width = 30 MHz: must be one of 20, 40, 80, 160 MHz of 802.11ax",
        ),
        (json!([["wlan.width", "320 MHz"]]), "wlan.width = 320 MHz: must be one of 20, 40, 80, 160 MHz"),
        (json!([["wlan.streams", 9]]), "wlan.streams = 9: must be between 1 and 8"),
        (
            json!([["wlan.guard_interval", "0.4 us"]]),
            "wlan.guard_interval = 400 ns: must be one of 800, 1600, 3200 ns",
        ),
        (
            json!([["wlan.band", "2.4 GHz"], ["wlan.standard", "ac"]]),
            "wlan.band = 2.4 GHz: must be one of 5 GHz of 802.11ac",
        ),
        (
            json!([["wlan.ampdu.window", 257]]),
            "wlan.ampdu.window = 257: must be between 1 and 256 of 802.11ax",
        ),
        (json!([["wlan.ampdu.duration", "6 ms"]]), "wlan.ampdu.duration"),
        (
            json!([["wlan.stations", { "far": { "count": 2000 } }]]),
            "wlan.stations.far.count = 2000: must be between 1 and 1000",
        ),
        (
            json!([["wlan.stations", { "a": {}, "b": {} }]]),
            "flows.full.station: missing; the stations of the flow: one of a, b",
        ),
        (
            json!([["wlan.stations", { "desk": {} }], ["flows.full.station", "dest"]]),
            "flows.full.station = \"dest\": must be one of desk; did you mean \"desk\"?",
        ),
        (json!([["flows.full.station", "desk"]]), "flows.full.station = \"desk\": needs wlan.stations"),
        (json!([["flows.full.from", 1]]), "flows.full.from"),
        (json!([["flows.full.radio", { "mean_snr_db": 3 }]]), "flows.full.radio: stations have the radios"),
        (
            json!([["wlan.radio", { "mean_snr_db": 30 }], ["wlan.mpdu_error_rate", 0.1]]),
            "wlan.mpdu_error_rate contradicts wlan.radio",
        ),
        (
            json!([["wlan.rate", "ideal"], ["wlan.mcs", null]]),
            "wlan.rate = \"ideal\": needs a radio or a distance",
        ),
        (json!([["wlan.rate", "minstrel"]]), "wlan.mcs = 11: needs rate \"constant\""),
        (
            json!([["wlan.links", { "low": {}, "high": {} }]]),
            "wlan.links contradicts wlan.standard = \"ax\": multi-link operation begins with 802.11be",
        ),
        (
            json!([["wlan.standard", "be"], ["wlan.ampdu.window", null], ["wlan.links", { "a": {}, "b": {}, "c": {}, "d": {} }]]),
            "wlan.links: has 4 links and must have at most 3",
        ),
        (
            json!([["wlan.standard", "be"], ["wlan.links", { "low": { "band": "2.4 GHz", "width": "80 MHz" } }]]),
            "wlan.links.low.width = 80 MHz: must be one of 20, 40 MHz of 802.11be at 2.4 GHz",
        ),
        (
            json!([["wlan.standard", "be"], ["wlan.links", { "low": { "band": "5 GHz", "width": "320 MHz" } }]]),
            "wlan.links.low.width = 320 MHz: must be at most 160 MHz outside 6 GHz",
        ),
        (
            json!([["wlan.standard", "be"], ["wlan.links", { "low": { "width": "30 MHz" } }]]),
            "wlan.links.low.width = 30 MHz: must be one of 20, 40, 80, 160, 320 MHz",
        ),
        (
            json!([["wlan.standard", "be"], ["wlan.links", { "low": { "mcs": 14 } }]]),
            "wlan.links.low.mcs = 14: must be between 0 and 13",
        ),
        (
            json!([["wlan.standard", "be"], ["wlan.links", { "low": { "band": "60 GHz" } }]]),
            "wlan.links.low.band = \"60 GHz\"",
        ),
        (
            json!([["wlan.standard", "be"], ["wlan.links", { "low": { "snr_offset_db": 3 } }]]),
            "wlan.links.low.snr_offset_db = 3: needs stations with a radio or a distance",
        ),
        (
            json!([["wlan.standard", "be"], ["wlan.links", { "low": { "snr_offset_db": 50 } }]]),
            "wlan.links.low.snr_offset_db = 50: must be between -40 and 40",
        ),
        (
            json!([["wlan.standard", "be"], ["wlan.links", { "low": { "mpdu_error_rate": "120 %" } }]]),
            "wlan.links.low.mpdu_error_rate",
        ),
        (
            json!([["wlan.standard", "be"], ["wlan.links", { "low": { "neighbours": { "count": 101 } } }]]),
            "wlan.links.low.neighbours.count = 101: must be between 1 and 100",
        ),
        (
            json!([["wlan.standard", "be"], ["wlan.links", { "low": {} }], ["wlan.neighbours", { "count": 1 }]]),
            "wlan.neighbours contradicts wlan.links: each link has its own",
        ),
        (
            json!([["wlan.standard", "be"], ["wlan.links", { "low": {} }], ["wlan.ofdma", { "users": 2 }]]),
            "wlan.ofdma contradicts wlan.links",
        ),
        (
            json!([["wlan.standard", "be"], ["wlan.links", { "low": {}, "high": {} }], ["wlan.stations", { "desk": { "links": ["hihg"] } }]]),
            "wlan.stations.desk.links = \"hihg\": must be one of high, low; did you mean \"high\"?",
        ),
        (
            json!([["wlan.standard", "be"], ["wlan.links", { "low": {}, "high": {} }], ["wlan.stations", { "desk": { "links": ["low"] } }]]),
            "wlan.links.high: no station uses it",
        ),
        (
            json!([["wlan.standard", "be"], ["wlan.links", { "low": {} }], ["wlan.stations", { "desk": { "links": ["low", "low"] } }]]),
            "names low twice",
        ),
        (
            json!([["wlan.standard", "be"], ["wlan.links", { "low": {} }], ["wlan.stations", { "desk": { "links": [] } }]]),
            "wlan.stations.desk.links = []: must name at least one link",
        ),
        (
            json!([["wlan.standard", "be"], ["wlan.links", { "low": {}, "high": {} }], ["wlan.stations", { "desk": { "links": ["low", "high"], "standard": "ax" } }]]),
            "must name one link: several need standard be",
        ),
        (
            json!([["wlan.stations", { "desk": { "links": ["low"] } }]]),
            "wlan.stations.desk.links = [\"low\"]: needs wlan.links, which names them",
        ),
        (
            json!([["wlan.standard", "be"], ["methods", ["formula"]], ["wlan.ampdu.window", 64], ["wlan.links", { "low": {}, "high": {} }]]),
            "wlan.ampdu.window: the formula of saturated stations assumes a window that no link exhausts, here of 128 MPDUs, and station 0 has 64",
        ),
        (
            json!([["wlan.standard", "be"], ["methods", ["formula"]], ["wlan.links", { "low": { "neighbours": { "count": 1 } } }]]),
            "wlan.links.low.neighbours: the formula of saturated stations assumes no neighbours",
        ),
        (
            json!([["wlan.multi_link", "emlsr"]]),
            "wlan.multi_link = \"emlsr\": needs wlan.links, with at least two links",
        ),
        (
            json!([["wlan.standard", "be"], ["wlan.multi_link", "emlsr"], ["wlan.links", { "low": {} }]]),
            "wlan.multi_link = \"emlsr\": needs at least two links in wlan.links",
        ),
        (
            json!([["wlan.standard", "be"], ["wlan.multi_link", "nstr"], ["wlan.links", { "low": {}, "high": {} }]]),
            "wlan.multi_link = \"nstr\"",
        ),
        (
            json!([["wlan.standard", "be"], ["wlan.multi_link", "emlsr"], ["wlan.links", { "low": {}, "high": {} }], ["wlan.stations", { "desk": { "links": ["low"] }, "far": { "links": ["high"] } }], ["flows.full.station", "desk"]]),
            "wlan.multi_link = \"emlsr\": needs a station that uses at least two links",
        ),
        (
            json!([["wlan.standard", "be"], ["wlan.links", { "low": {}, "high": {} }], ["wlan.stations", { "desk": {}, "old": { "standard": "ax", "multi_link": "emlsr" } }], ["flows.full.station", "desk"]]),
            "wlan.stations.old.multi_link = \"emlsr\": needs stations of be that use at least two links",
        ),
        (
            json!([["wlan.stations", { "desk": { "multi_link": "emlsr" } }]]),
            "wlan.stations.desk.multi_link = \"emlsr\": needs wlan.links, with at least two links",
        ),
        (
            json!([["wlan.standard", "be"], ["wlan.emlsr", { "padding_delay": "64 us" }], ["wlan.links", { "low": {}, "high": {} }]]),
            "wlan.emlsr: needs wlan.multi_link = \"emlsr\"",
        ),
        (
            json!([["wlan.standard", "be"], ["wlan.multi_link", "emlsr"], ["wlan.emlsr", { "padding_delay": "16 us" }], ["wlan.links", { "low": {}, "high": {} }]]),
            "wlan.emlsr.padding_delay = \"16 us\": must be one of 0, 32, 64, 128, 256 us",
        ),
        (
            json!([["wlan.standard", "be"], ["wlan.multi_link", "emlsr"], ["wlan.emlsr", { "transition_delay": "1 ms" }], ["wlan.links", { "low": {}, "high": {} }]]),
            "wlan.emlsr.transition_delay = \"1 ms\": must be one of 0, 16, 32, 64, 128, 256 us",
        ),
        (
            json!([["wlan.standard", "be"], ["wlan.multi_link", "emlsr"], ["wlan.emlsr", { "initial_frame_rate": "54 Mbit/s" }], ["wlan.links", { "low": {}, "high": {} }]]),
            "wlan.emlsr.initial_frame_rate = \"54000000 bit/s\": must be one of 6, 12, 24 Mbit/s",
        ),
        (
            json!([["wlan.standard", "be"], ["methods", ["formula"]], ["wlan.multi_link", "emlsr"], ["wlan.links", { "low": {}, "high": {} }]]),
            "wlan.multi_link: the formula of saturated stations assumes stations that use their links at once; use method simulation",
        ),
        (
            json!([["wlan.edca", { "voice": { "cw_min": 5 } }]]),
            "wlan.edca.voice.cw_min = 5: must be one below a power of two",
        ),
        (
            json!([["wlan.access_point", { "queues": "fifo", "aql": true }]]),
            "wlan.access_point.aql contradicts wlan.access_point.queues",
        ),
        (
            json!([["wlan.access_point", { "aql_low": "20 ms", "aql_high": "5 ms" }]]),
            "wlan.access_point.aql_high = \"5 ms\": must be at least",
        ),
        (
            json!([["wlan.neighbours", { "count": 101 }]]),
            "wlan.neighbours.count = 101: must be between 1 and 100",
        ),
        (
            json!([["wlan.standard", "ac"], ["wlan.mcs", 9], ["wlan.ofdma.users", 4]]),
            "wlan.ofdma contradicts wlan.standard = \"ac\": OFDMA begins with 802.11ax",
        ),
        (
            json!([["wlan.width", "20 MHz"], ["wlan.ofdma.users", 20]]),
            "wlan.ofdma.users = 20: must be between 1 and 9: 20 MHz have 9 RUs of 26 tones",
        ),
        (
            json!([["wlan.ofdma", { "ru": 106, "users": 9 }]]),
            "wlan.ofdma.users = 9: must be between 1 and 8: 80 MHz have 8 RUs of 106 tones",
        ),
        (
            json!([["wlan.width", "40 MHz"], ["wlan.ofdma.ru", 996]]),
            "wlan.ofdma.ru = 996: must be one of 26, 52, 106, 242, 484, the RUs of 40 MHz",
        ),
        (
            json!([["wlan.ofdma.ru", 100]]),
            "wlan.ofdma.ru = 100: must be one of 26, 52, 106, 242, 484, 996, 1992, 3984",
        ),
        (
            json!([["methods", ["formula"]], ["wlan.ofdma.users", 4], ["flows.full.count", 3]]),
            "wlan.ofdma: the formula of stations in one PPDU assumes stations of 802.11ax or be with block acknowledgements and RUs of one size",
        ),
        (
            json!([["methods", ["formula"]], ["wlan.ofdma.users", 4], ["flows.full.count", 8]]),
            "wlan.ofdma.users: the formula of stations in one PPDU assumes all stations in each PPDU",
        ),
        (
            json!([
                ["methods", ["formula"]],
                ["wlan.ofdma.stations_contend", true],
                ["flows.full.direction", "up"]
            ]),
            "wlan.ofdma.stations_contend: the formula of stations in one PPDU assumes stations that wait to be asked",
        ),
        (json!([["wlan.neighbours", { "busy": "0 %" }]]), "wlan.neighbours.busy = 0: must be above 0"),
        (
            json!([["link.packet_size", "9000 B"]]),
            "link.packet_size = \"9000 B\": must be at most 2296 B, the largest packet that 802.11 carries",
        ),
        (
            json!([["flows.full.packet_size", "2297 B"]]),
            "flows.full.packet_size = \"2297 B\": must be at most 2296 B",
        ),
        (json!([["wlan.transmissions", 0], ["link.rate", "1 Mbit/s"]]), "link contradicts wlan"),
        (json!([["reverse.delay", "1 ms"]]), "reverse contradicts wlan"),
        (json!([["cell.preset", "lte"]]), "cell contradicts wlan"),
        (
            json!([["methods", ["formula:square-root"]], ["flows", null]]),
            "wlan: a formula assumes a link of constant rate",
        ),
        (
            json!([["methods", ["formula"]], ["flows.full", { "traffic": "bulk" }]]),
            "flows.full: the formula of saturated stations assumes saturated traffic",
        ),
        (
            json!([["methods", ["formula"]], ["wlan.mpdu_error_rate", 0.1]]),
            "assumes stations with a constant MCS that lose nothing",
        ),
        (
            json!([["methods", ["formula"]], ["wlan.access_point", { "queues": "fifo" }], ["flows.full.count", 2]]),
            "assume a queue for each station",
        ),
    ] {
        let error = plan(&set).err().unwrap_or_else(|| "nothing".to_owned());
        if !error.contains(said) || error.contains('\n') {
            wrong.push(format!("{set}: {error}"));
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

/// Data and acknowledgements of a TCP flow share the air, over fading channels with Minstrel.
#[test]
fn data_and_acknowledgements_share_the_air() {
    let found = results(&json!([
        ["wlan.mcs", null],
        ["wlan", { "standard": "ax", "streams": 1, "radio": { "mean_snr_db": 28 } }],
        ["tcp.congestion", "cubic"],
        ["flows.full", null],
        ["flows", { "down": { "count": 2 }, "up": { "direction": "up" } }],
        ["wired", { "rtt": "10 ms" }],
    ]));
    let result = &found[0];
    assert!(metric(result, "goodput_bps") > 50e6, "{}", metric(result, "goodput_bps"));
    assert!(of_part(result, "0", "station_goodput_bps") > 5e6);
    assert!(of_part(result, "2", "station_uplink_goodput_bps") > 5e6);
    assert!(metric(result, "collision_probability") > 0.01);
    assert!((4.0..11.0).contains(&metric(result, "mcs_mean")), "{}", metric(result, "mcs_mean"));
    assert!(metric(result, "uplink_mpdus_per_ampdu") > 1.0);
}

/// Uploads through a wired segment of 1 Mbit/s wait in its queue of 300 ms, as downloads do.
#[test]
fn a_wired_queue_bounds_both_directions() {
    for direction in ["down", "up"] {
        let found = results(&json!([
            ["wlan.queue", null],
            ["tcp.congestion", "cubic"],
            ["flows.full", null],
            ["flows", { "main": { "direction": direction } }],
            ["wired", { "one_way_delay": "50 ms", "rate": "1 Mbit/s", "queue": { "limit": "38 kB" } }],
            ["run", { "duration": "30 s", "warmup": "10 s" }],
        ]));
        let delay = metric(&found[0], "one_way_delay_p95_s");
        assert!((0.2..0.4).contains(&delay), "{direction}: {delay}");
    }
}

/// `stations_per_ppdu` is the mean number of stations in a multi-user PPDU, and absent without OFDMA.
#[test]
fn several_stations_are_counted_where_there_are_any() {
    let of = |ofdma: Value| {
        let set = json!([["wlan.ofdma", ofdma], ["flows.full.count", 4], ["run.duration", "2 s"]]);
        results(&set).remove(0)
    };
    let found = of(json!({ "uplink": false }));
    assert!((metric(&found, "stations_per_ppdu") - 4.0).abs() < 0.01);
    assert!((of_part(&found, "2", "stations_per_ppdu") - 4.0).abs() < 0.01);
    let none = of(json!({ "downlink": false, "uplink": false }));
    assert!(none.metrics.iter().all(|(name, _)| *name != "stations_per_ppdu"));
}

#[test]
fn doubts_are_named() {
    let warnings = |set: Value| plan(&set).unwrap().warnings().join("\n");
    assert_eq!(warnings(json!([])), "", "nothing to doubt");
    let weak = warnings(json!([["wlan", { "radio": { "mean_snr_db": -5 } }]]));
    assert!(weak.contains("station 0 has a mean SNR of -5.0 dB"), "{weak}");
    let old =
        warnings(json!([["wlan", { "ampdu": { "window": 256 }, "access_point": { "queues": "fifo" } }]]));
    assert!(old.contains("its driver holds 128 packets"), "{old}");
}
