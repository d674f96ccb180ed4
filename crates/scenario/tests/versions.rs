//! Tests of format versions: files of version 1 keep their meaning, and the default flavour of version 2 is `rfc`.

use crossfade_scenario::{Overrides, Plan};
use serde_json::{Value, json};

const BODY: &str = r#"
    run = { duration = "1000 slots" }
    channel = { model = "iid", p_e = 0.01 }
    link = { rate = "1.5 Mbit/s", packet_size = "1400 B" }
"#;

fn load(version: u32, rest: &str, over: &Value) -> Plan {
    let overrides: Overrides = serde_json::from_value(json!({ "over": over })).unwrap();
    Plan::load(&format!("schema = {version}\n{BODY}{rest}"), "test.toml", &overrides).unwrap()
}

fn flavours(version: u32, rest: &str) -> Vec<Value> {
    let plan = load(version, rest, &json!([]));
    plan.points.iter().map(|point| json!(point.scenario)["tcp"]["flavour"].clone()).collect()
}

#[test]
fn without_a_flavour_version_1_is_the_papers_and_version_2_the_rfcs() {
    let tcp = "tcp = { variant = \"reno\", w_max = 24, rto = { fixed = \"100 slots\" } }";
    assert_eq!((flavours(1, tcp), flavours(2, tcp)), (vec![json!("paper")], vec![json!("rfc")]));
    let swept = "sweep.tcp = [{ variant = \"reno\", w_max = 24, rto = { fixed = \"100 slots\" } }, { variant = \"sack\", flavour = \"rfc\", w_max = 24, rto = { fixed = \"100 slots\" } }]";
    assert_eq!(flavours(1, swept), [json!("paper"), json!("rfc")]);
    let of_flow = "flows.a.tcp = { variant = \"reno\", w_max = 24, rto = { fixed = \"100 slots\" } }";
    for (version, flavour) in [(1, "paper"), (2, "rfc")] {
        let plan = load(version, of_flow, &json!([]));
        assert_eq!(json!(plan.points.at(0).scenario)["flows"]["a"]["tcp"]["flavour"], json!(flavour));
    }
}

#[test]
fn what_means_the_same_is_the_same_run() {
    let implicit =
        load(1, "tcp = { variant = \"reno\", w_max = 24, rto = { fixed = \"100 slots\" } }", &json!([]));
    let explicit =
        "tcp = { flavour = \"paper\", variant = \"reno\", w_max = 24, rto = { fixed = \"100 slots\" } }";
    for version in [1, 2] {
        assert_eq!(load(version, explicit, &json!([])).points.id(0), implicit.points.id(0));
    }
    // What is set on top of a file of version 1 goes on from what it means.
    let over = json!([["tcp.variant", ["tahoe"]]]);
    let over = load(1, "tcp = { variant = \"reno\", w_max = 24, rto = { fixed = \"100 slots\" } }", &over);
    assert_eq!(json!(over.points.at(0).scenario)["tcp"]["flavour"], json!("paper"));
}

#[test]
fn other_versions_are_refused() {
    let refusal = |text: &str| Plan::load(text, "test.toml", &Overrides::default()).unwrap_err().to_string();
    assert_eq!(refusal("title = \"x\""), "schema: missing; write schema = 2");
    for version in ["0", "3", "\"2\"", "1.5"] {
        let line =
            format!("schema = {version}: must be 2, the version of the format that is read here, or 1");
        assert_eq!(refusal(&format!("schema = {version}")), line);
    }
}
