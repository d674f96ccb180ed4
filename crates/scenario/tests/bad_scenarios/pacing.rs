//! Errors in keys of pacing, BBR and ECN feedback.

use crossfade_scenario::Method;
use serde_json::{Value, json};

use super::{assert_refused, load};

/// Valid TCP sender, of which each case sets some keys.
const SACK: &str = r#"
    schema = 2
    run = { duration = "1 s" }
    channel = { model = "none" }
    link = { rate = "10 Mbit/s", packet_size = "1500 B", delay = "20 ms" }
    tcp = { variant = "sack", w_max = 100 }
"#;

#[test]
fn pacing_and_rates() {
    load(SACK, json!({ "set": [["tcp.congestion", "bbr-v1"]] })).unwrap();
    load(SACK, json!({ "set": [["tcp.pacing", "internal"], ["tcp.tso_segments", 2]] })).unwrap();
    let bbr = |key: &str, value: Value| json!([["tcp.congestion", "bbr-v1"], [key, value]]);
    let bbr_v3 = |key: &str, value: Value| json!([["tcp.congestion", "bbr-v3"], [key, value]]);
    let with_ecn = json!({ "profile": "linux-v3", "ecn": true });
    let linux_v3 =
        |key: &str, value: Value| json!([["tcp.congestion", "bbr-v3"], ["tcp.bbr", with_ecn], [key, value]]);
    let paced = |key: &str, value: Value| json!([["tcp.pacing", "internal"], [key, value]]);
    let cases: Vec<(Value, &str)> = vec![
        (json!([["tcp.congestion", "vegas"]]), "tcp.congestion = \"vegas\": must be one of reno, cubic"),
        (json!([["tcp.pacing", 0]]), "tcp.pacing = 0: must be one of off, internal"),
        (paced("tcp.pacing_ss_ratio", json!(0)), "tcp.pacing_ss_ratio = 0: must be above 0"),
        (paced("tcp.pacing_ca_ratio", json!(0)), "tcp.pacing_ca_ratio = 0: must be above 0"),
        (paced("tcp.pacing_ca_ratio", json!(-1.2)), "tcp.pacing_ca_ratio = -1.2: must be above 0"),
        (paced("tcp.tso_segments", json!(0)), "tcp.tso_segments = 0: must be between 1 and 127"),
        (json!([["tcp.pacing_ca_ratio", 2]]), "tcp.pacing_ca_ratio = 2: needs tcp.pacing = \"internal\""),
        (json!([["tcp.tso_segments", 2]]), "tcp.tso_segments = 2: needs tcp.pacing = \"internal\""),
        (bbr("tcp.pacing", json!("off")), "tcp.pacing = \"off\": tcp.congestion sets a rate"),
        (bbr("tcp.pacing_ss_ratio", json!(2)), "tcp.pacing_ss_ratio = 2: tcp.congestion sets the rate"),
        (bbr("tcp.gate", json!("slot")), "tcp.gate"),
        (bbr("tcp.bbr.policer", json!(1)), "tcp.bbr.policer = 1: must be true or false"),
        (bbr("tcp.bbr.extra_acked_cap", json!("-1 s")), "tcp.bbr.extra_acked_cap"),
        (json!([["tcp.bbr.policer", true]]), "tcp.bbr"),
        (
            bbr("tcp.bbr.profile", json!("linux-v3")),
            "tcp.bbr.profile = \"linux-v3\": needs tcp.congestion = \"bbr-v3\"",
        ),
        (bbr("tcp.bbr.full_pipe", json!("linux")), "tcp.bbr.full_pipe = \"linux\": needs"),
        (bbr("tcp.bbr.drain_gain", json!(0.4)), "tcp.bbr.drain_gain = 0.4: needs"),
        (bbr_v3("tcp.bbr.drain_gain", json!(1)), "tcp.bbr.drain_gain = 1: must be above 0 and below 1"),
        (
            bbr_v3("tcp.bbr.drain_gain", json!("x")),
            "tcp.bbr.drain_gain = \"x\": must be a number, above 0 and below 1",
        ),
        (bbr_v3("tcp.bbr.drain_gain", json!(0)), "tcp.bbr.drain_gain = 0: must be above 0 and below 1"),
        (bbr_v3("tcp.bbr.ecn", json!(true)), "tcp.bbr.ecn = true: needs tcp.bbr.profile = \"linux-v3\""),
        (
            bbr_v3("tcp.bbr.ecn_max_rtt", json!("1 ms")),
            "tcp.bbr.ecn_max_rtt = \"1 ms\": needs tcp.bbr.ecn = true",
        ),
        (linux_v3("tcp.rfc.ecn", json!(false)), "tcp.bbr.ecn = true: needs tcp.rfc.ecn = true"),
        (linux_v3("tcp.rfc.accurate_ecn", json!(false)), "tcp.rfc.accurate_ecn = false: must be true"),
        (linux_v3("tcp.bbr.ecn_max_rtt", json!("-1 ms")), "tcp.bbr.ecn_max_rtt"),
        (bbr("tcp.bbr.ecn", json!(true)), "tcp.bbr.ecn = true: needs tcp.congestion = \"bbr-v3\""),
        (bbr_v3("tcp.bbr.profile", json!("linux")), "tcp.bbr.profile = \"linux\": must be"),
        (
            json!([["tcp.rfc.accurate_ecn_option", true]]),
            "tcp.rfc.accurate_ecn_option = true: needs tcp.rfc.accurate_ecn = true",
        ),
        (
            json!([["tcp.congestion", "prague"], ["tcp.bbr.extra_acked_cap", "1 ms"]]),
            "needs tcp.congestion = \"bbr-v1\" or \"bbr-v3\"",
        ),
        (
            json!([["tcp.flavour", "ns2"], ["tcp.congestion", "bbr-v1"]]),
            "tcp.congestion = \"bbr-v1\": needs tcp.flavour = \"rfc\"",
        ),
        (
            json!([["tcp.flavour", "ns2"], ["tcp.pacing", "internal"]]),
            "tcp.pacing = \"internal\": needs tcp.flavour = \"rfc\"",
        ),
    ];
    for (set, fragment) in cases {
        assert_refused(load(SACK, json!({ "set": set })), &[fragment], &set);
    }
}

/// Usual values of `BBRv3` and of accurate ECN give the rows of a scenario without these keys.
#[test]
fn usual_choices_of_bbr_and_of_accurate_feedback_stay_unsaid() {
    let key = |set: Value| {
        let plan = load(SACK, json!({ "set": set })).unwrap();
        plan.points.run_key(0, Method::Simulation, 1, 0)
    };
    let v3 = json!(["tcp.congestion", "bbr-v3"]);
    let plain = key(json!([v3]));
    for (name, value) in
        [("profile", json!("draft-06")), ("full_pipe", json!("draft")), ("drain_gain", json!(0.5))]
    {
        assert_eq!(key(json!([v3, [format!("tcp.bbr.{name}"), value]])), plain, "{name}");
    }
    let linux = ["tcp.bbr.profile", "linux-v3"];
    let of_linux = key(json!([v3, linux]));
    assert_ne!(of_linux, plain);
    for (name, value) in [
        ("full_pipe", json!("linux")),
        ("drain_gain", json!(0.34375)),
        ("extra_acked_cap", json!("100 ms")),
        ("ecn", json!(false)),
    ] {
        assert_eq!(key(json!([v3, linux, [format!("tcp.bbr.{name}"), value]])), of_linux, "{name}");
    }
    assert_ne!(key(json!([v3, linux, ["tcp.bbr.ecn", true]])), of_linux);
    let prague = json!(["tcp.congestion", "prague"]);
    let option = |on: bool| key(json!([prague, ["tcp.rfc.accurate_ecn_option", on]]));
    assert_eq!(option(false), key(json!([prague])));
    assert_ne!(option(true), option(false));
}
