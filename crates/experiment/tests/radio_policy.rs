//! Tests of a physical layer whose scheme follows a varying signal-to-noise ratio.

use crossfade_experiment::{ExecutionHandle, Experiment, PointResult, Shard, execute, summarise};
use crossfade_scenario::Overrides;
use serde_json::{Value, json};

const SHADOWED: &str = r#"
    schema = 1
    run = { duration = "35 s", runs = 12 }
    channel = { model = "block-rayleigh", snr_db = 9, shadowing_db = 6, decorrelation = "10 s", antennas = { n_t = 4, n_r = 4 } }
    phy = { symbol_rate = "8 kBd", combining = { stage = "stacked" } }
    link = { frame_size = "30 B", framing = { header = "readable" }, arq = { protocol = "rlp-nack", max_retransmissions = 3 } }
    wired = { one_way_delay = "100 ms" }
    tcp = { flavour = "ns2", variant = "sack", mss = "536 B", headers = "40 B", w_max = 20, rto = { min = "200 ms", granularity = "10 ms" } }
"#;

/// Policy whose schemes change near their crossings with combining; the first and the last range have no end.
const POLICY: &str = "axis,unit,from,to,phy.scheme,phy.detector,to_low,to_high,because
channel.snr_db,,-10,-2,stbc-half,linear,,,goodput_bps
channel.snr_db,,-2,2.5,stbc-1,ml,,,goodput_bps
channel.snr_db,,2.5,8.5,stbc-2,ml,,,goodput_bps
channel.snr_db,,8.5,30,blast,mmse-osic,,,
";

const SCHEMES: [(&str, &str, f64); 4] = [
    ("stbc-half", "linear", 8e3),
    ("stbc-1", "ml", 16e3),
    ("stbc-2", "ml", 32e3),
    ("blast", "mmse-osic", 64e3),
];

/// Loads the scenario with keys `set` and a policy file with this text.
fn load(set: &[Value], file: &str) -> Result<Experiment, String> {
    let overrides: Overrides = serde_json::from_value(json!({ "set": set })).unwrap();
    let file = file.to_owned();
    let read = move |_: &str| Ok(file.clone());
    Experiment::load_with_files(SHADOWED, "test.toml", &overrides, &read).map_err(|error| error.to_string())
}

fn run(set: &[Value], file: &str) -> PointResult {
    let experiment = load(set, file).unwrap();
    let (handle, mut rows) = (ExecutionHandle::default(), Vec::new());
    assert!(execute(&experiment, vec![], 2, Shard::WHOLE, &handle, &mut |new, _| rows.extend(new)).unwrap());
    summarise(&experiment, &rows).remove(0)
}

fn metric(result: &PointResult, name: &str) -> f64 {
    result.metrics.iter().find(|(known, _)| *known == name).unwrap_or_else(|| panic!("{name}")).1.value
}

fn adaptive(more: &[Value], table: &str) -> PointResult {
    run(&[&[json!(["phy.policy", "switching.csv"])], more].concat(), table)
}

#[test]
fn a_policy_of_one_scheme_is_that_scheme() {
    for (scheme, detector, rate) in SCHEMES {
        let short = [json!(["run.duration", "8 s"]), json!(["channel.fd_t", 0.01])];
        let table = format!("axis,from,to,phy.scheme,phy.detector\nchannel.snr_db,0,1,{scheme},{detector}\n");
        let chosen = adaptive(&short, &table);
        let fixed = run(
            &[&[json!(["phy.scheme", scheme]), json!(["phy.detector", detector])], &short[..]].concat(),
            "",
        );
        assert_eq!(chosen.metrics.len(), fixed.metrics.len());
        for ((name, one), (_, other)) in chosen.metrics.iter().zip(&fixed.metrics) {
            // Frames of varying times are added up in another order.
            let room = if *name == "link_utilisation" { 1e-12 } else { 0.0 };
            assert!((one.value - other.value).abs() <= room || one.value.is_nan(), "{scheme} {name}");
        }
        let experiment = load(&[json!(["phy.policy", "switching.csv"])], &table).unwrap();
        assert_eq!(experiment.points.at(0).setup.links().unwrap().forward.rate_bps(), Some(rate));
    }
}

#[test]
fn who_follows_the_ratio_beats_every_fixed_scheme() {
    let fixed = SCHEMES.map(|(scheme, detector, _)| {
        metric(&run(&[json!(["phy.scheme", scheme]), json!(["phy.detector", detector])], ""), "goodput_bps")
    });
    let chosen = adaptive(&[], POLICY);
    let best = fixed.into_iter().fold(0.0, f64::max);
    // All plans have the same shadowing and the same gains.
    assert!(metric(&chosen, "goodput_bps") > 1.1 * best, "{} {fixed:?}", metric(&chosen, "goodput_bps"));
    assert!(metric(&chosen, "link_utilisation") <= 1.0);
    // Without shadowing the result is that of the scheme for the mean ratio, with an ARQ timer long enough for the
    // slowest scheme.
    let still = [
        json!(["channel", { "shadowing_db": null, "decorrelation": null }]),
        json!(["link.arq", { "timeout": "120 ms", "feedback": { "delay": "30 ms" } }]),
        json!(["run.duration", "8 s"]),
    ];
    let (scheme, detector) = (json!(["phy.scheme", "blast"]), json!(["phy.detector", "mmse-osic"]));
    let blast = run(&[&[scheme, detector], &still[..]].concat(), "");
    assert_eq!(metric(&adaptive(&still, POLICY), "goodput_bps"), metric(&blast, "goodput_bps"));
}

#[test]
fn moving_gains_are_followed_where_they_are_known() {
    // Rural antennas are almost fully correlated: the power of the gains varies like that of a single path.
    let rural = [json!(["channel", {
        "shadowing_db": null, "decorrelation": null, "snr_db": 9, "fd_t": 3e-4,
        "antennas": { "n_t": 4, "n_r": 4, "correlation": "rural" }
    }])];
    let table = "axis,from,to,phy.scheme,phy.detector
channel.snr_db,0,2.5,stbc-half,linear
channel.snr_db,2.5,30,stbc-1,ml
";
    let followed = metric(&adaptive(&rural, table), "goodput_bps");
    for (scheme, detector, _) in &SCHEMES[..2] {
        let set = [json!(["phy.scheme", scheme]), json!(["phy.detector", detector])];
        let fixed = metric(&run(&[&set[..], &rural].concat(), ""), "goodput_bps");
        assert!(followed > fixed, "{scheme}: {followed} {fixed}");
    }
}

#[test]
fn what_a_policy_cannot_follow_is_refused_by_name() {
    let policy = json!(["phy.policy", "switching.csv"]);
    for (set, expected) in [
        (json!(["phy.scheme", "blast"]), "phy.scheme contradicts phy.policy: the policy chooses it"),
        (json!(["phy.detector", "ml"]), "phy.detector contradicts phy.policy: the policy chooses it"),
        (
            json!(["channel", { "snr_db": null, "eb_n0_db": 3 }]),
            "channel.eb_n0_db contradicts phy.policy: it differs from scheme to scheme; use channel.snr_db",
        ),
        (
            json!(["phy.combining", { "stage": "posthoc" }]),
            "phy.combining: combining stage posthoc does not fit detector ml: it decides on the sum of all receptions: use stacked",
        ),
        (
            json!(["channel.antennas.n_r", 2]),
            "channel.antennas: scheme blast does not fit n_t = 4, n_r = 2: it needs n_t between 2 and 8 and n_r from n_t to 8",
        ),
        (
            json!(["channel.decorrelation", null]),
            "channel.shadowing_db: needs channel.decorrelation, such as \"5 s\"",
        ),
        (json!(["channel.shadowing_db", null]), "channel.decorrelation: needs channel.shadowing_db"),
        (json!(["channel.shadowing_db", 41]), "channel.shadowing_db = 41: must be between 0 and 40"),
        (json!(["methods", ["phy"]]), "phy.policy: method phy assumes one scheme; use method simulation"),
    ] {
        assert_eq!(load(&[policy.clone(), set.clone()], POLICY).unwrap_err(), expected, "{set}");
    }
    let error = load(&[policy], &POLICY.replace("stbc-1", "stbc-3")).unwrap_err();
    assert!(
        error.starts_with(
            "phy.policy = \"switching.csv\": line 3: phy.scheme = \"stbc-3\": must be one of siso"
        )
    );
    let one = [json!(["phy.scheme", "siso"]), json!(["channel.antennas", { "n_t": 1, "n_r": 1 }])];
    let phy = load(&[&one[..], &[json!(["methods", ["phy"]])]].concat(), "").unwrap_err();
    assert_eq!(
        phy,
        "channel.shadowing_db: method phy assumes one signal-to-noise ratio; use method simulation"
    );
}
