//! Tests of scenarios with a mesh: resolved values, and refused combinations.

use crossfade_mac::{Knowledge, Mac};
use crossfade_scenario::{MeshSetup, Overrides, Plan, Setup};
use serde_json::{Value, json};

const CHAIN: &str = r#"
    schema = 1
    mesh = { topology = "chain", hops = 8, mac = "nulling" }
    link = { packet_size = "2312 B" }
    tcp = { flavour = "ns2", variant = "newreno", cwnd_limit = { per_hop = 0.357 } }
    [flows]
    file = { from = 0, to = 8, traffic = "bulk", rate = "3 Mbit/s" }
"#;

const PLACES: &str = "node,x_m,y_m\n0,0,0\n1,200,0\n2,1000,0\n3,1200,0\n";

fn load(set: &Value) -> Result<Plan, String> {
    let overrides: Overrides = serde_json::from_value(json!({ "set": set })).unwrap();
    let read = |name: &str| match name {
        "places.csv" => Ok(PLACES.to_owned()),
        "twice.csv" => Ok("node,x_m,y_m\n0,5,5\n1,5,5\n".to_owned()),
        name => Err(format!("{name}: no such file")),
    };
    Plan::load_with_files(CHAIN, "mesh.toml", &overrides, &read).map_err(|error| error.to_string())
}

fn setup(set: &Value) -> Setup {
    load(set).unwrap().points.at(0).setup.clone()
}

fn mesh(set: &Value) -> MeshSetup {
    setup(set).mesh().unwrap().clone()
}

#[test]
fn the_window_follows_the_hops_of_the_round_trip() {
    let w_max = |set: Value| setup(&set).flows[0].tcp().unwrap().config.w_max();
    // 16 hops there and back over 2.8 are 5.7.
    assert_eq!(w_max(json!([])), 6);
    assert_eq!(w_max(json!([["flows.file.to", 1]])), 1);
    assert_eq!(w_max(json!([["tcp.cwnd_limit.per_hop", 0.2]])), 3);
    assert_eq!(w_max(json!([["tcp.cwnd_limit", 12]])), 12);
    assert_eq!(w_max(json!([["tcp.cwnd_limit", 12], ["tcp.w_max", 4]])), 4);
    // 64 KiB of 2312 bytes.
    assert_eq!(w_max(json!([["tcp.cwnd_limit", null]])), 28);
    let id = |limit: Value| load(&json!([["tcp.cwnd_limit", limit]])).unwrap().points.at(0).id.clone();
    assert_eq!(id(json!("unlimited")), id(json!(null)));
    let config = setup(&json!([])).flows[0].tcp().unwrap().config;
    assert_eq!(config.initial_windows(), [1.0, 6.0]);
}

#[test]
fn times_are_those_of_the_exchanges() {
    // 4.844 ms a hop of the round trip with a packet of 2312 bytes and an acknowledgement of 40.
    let setup = setup(&json!([]));
    let round_trip = setup.round_trip(&setup.flows[0]).as_secs_f64();
    assert!((round_trip / 8.0 - 4.844e-3).abs() < 1e-6, "{round_trip}");
    // 352 + 304 + 304 + 30 us of calls, 1898.182 of DATA, 50 of DIFS and 310 of backoff.
    assert_eq!(setup.slot.as_nanos(), 3_248_182);
}

#[test]
fn words_become_models() {
    let mac = |word: &str| mesh(&json!([["mesh.mac", word]])).config.mac;
    let Mac::Nulling(nulling) = mac("nulling") else { panic!() };
    assert_eq!((nulling.antennas, nulling.knowledge), (2, Knowledge::Overheard));
    let Mac::Nulling(genie) = mac("nulling-genie") else { panic!() };
    assert_eq!(genie.knowledge, Knowledge::Perfect);
    assert_eq!(mac("plain"), Mac::Plain);
    // Plain has no use for antennas: its points are the same whatever they are.
    let id = |antennas: u32| {
        load(&json!([["mesh.mac", "plain"], ["mesh.antennas", antennas]])).unwrap().points.at(0).id.clone()
    };
    assert_eq!(id(1), id(4));
    let hops = |set: Value| mesh(&set).round_trip_hops([0, 8]);
    assert_eq!(hops(json!([["mesh.range", "450 m"]])), Some(16));
    assert_eq!(hops(json!([["mesh.range", "450 m"], ["mesh.routing", "shortest-path"]])), Some(8));
    let listed = json!([
        ["mesh", { "topology": null, "hops": null, "file": "places.csv" }],
        ["flows.file.to", 1],
    ]);
    assert_eq!(mesh(&listed).config.positions.len(), 4);
    let random = |placement: u64| {
        let set = json!([
            ["mesh", { "topology": "random", "hops": null, "nodes": 9, "placement": placement, "range": "900 m" }],
        ]);
        mesh(&set).config.positions
    };
    assert!(random(1) == random(1) && random(1) != random(2));
}

#[test]
fn what_cannot_be_is_refused_in_one_line() {
    let file = json!({ "topology": null, "hops": null, "file": "places.csv" });
    let twice = json!({ "topology": null, "hops": null, "file": "twice.csv" });
    let cases: Vec<(Value, &str)> = vec![
        (json!([["mesh.hops", 0]]), "mesh.hops = 0: must be between 1 and 1023"),
        (json!([["mesh.hops", null]]), "mesh.hops: missing; topology \"chain\" needs it"),
        (json!([["mesh.topology", null]]), "mesh.topology: missing; one of chain, grid, star, random"),
        (
            json!([["mesh.rows", 2]]),
            "mesh.rows contradicts mesh.topology = \"chain\": it is the size of a grid",
        ),
        (json!([["mesh.placement", 2]]), "mesh.placement contradicts mesh.topology = \"chain\""),
        (json!([["mesh.antennas", 0]]), "mesh.antennas = 0: must be between 1 and 8"),
        (
            json!([["mesh.antennas", 1]]),
            "mesh.antennas = 1: must be between 2 and 8 for nulling: one antenna has no null to spend",
        ),
        (json!([["mesh.interference", "200 m"]]), "mesh.interference = 200 m: must be at least range, 250 m"),
        (
            json!([["mesh", { "topology": "grid", "hops": null, "rows": 32, "columns": 32, "spacing": "10 m", "antennas": 8 }]]),
            "mesh.antennas = 8: must be fewer where",
        ),
        (
            json!([["flows.file.from", "other"]]),
            "flows.file.from = \"other\": must be the number of a node, or \"others\"",
        ),
        (
            json!([["flows.file", { "from": "others", "to": 4, "rate": null }], ["mesh.hops", 8]]),
            "tcp.cwnd_limit = {\"per_hop\":0.357}: needs",
        ),
        (json!([["mesh.rts", false]]), "mesh.rts = false: must be true for nulling"),
        (json!([["mesh.spacing", "0 m"]]), "mesh.spacing = \"0 m\": must be a length above 0"),
        (
            json!([["mesh.spacing", "300 m"]]),
            "mesh.routes: route 0: nodes 0 and 1 are 300 m apart, beyond range",
        ),
        (json!([["mesh.routes", [[0, 1]]]]), "flows.file: no route from node 0 to node 8"),
        (json!([["mesh.routes", [[0, 99]]]]), "mesh.route = [0, 99]: must be of nodes 0 to 8"),
        (json!([["mesh.routing", "static"]]), "mesh.routes: missing"),
        (json!([["mesh", file.clone()]]), "flows.file.to = 8: must be at most 3, the last node"),
        (
            json!([["mesh", file], ["flows.file.to", 3]]),
            "flows.file: no route from node 0 to node 3: no chain",
        ),
        (json!([["mesh", twice]]), "mesh.file = \"twice.csv\": nodes 0 and 1 are both at (5, 5) m"),
        (json!([["mesh.file", "places.csv"]]), "mesh.topology contradicts mesh.file"),
        (json!([["flows.file.to", 0]]), "flows.file.to = 0: must be another node than from"),
        (json!([["mesh.queue", "10 kB"]]), "must be a number of packets"),
        (json!([["mesh.queue", "unlimited"]]), "must be a number of packets"),
        (json!([["mesh.cw_max", 15]]), "mesh.cw_max = 15: must be between cw_min, 31, and 65535"),
        (json!([["mesh.backoff_slot", "2 slots"]]), "mesh.backoff_slot = \"2 slots\": must be a time"),
        (json!([["mesh.retries.short", 0]]), "mesh.retries.short = 0: must be between 1 and 255"),
        (json!([["link.packet_size", "2313 B"]]), "link.packet_size = \"2313 B\": must be at most 2312 B"),
        (json!([["tcp.ack_size", "3000 B"]]), "tcp.ack_size = \"3024 B\": must be at most 2312 B"),
        (json!([["link.rate", "1 Mbit/s"]]), "link contradicts mesh: the mesh carries the packets"),
        (json!([["channel", { "model": "iid", "p_e": 0.1 }]]), "channel contradicts mesh"),
        (json!([["wired.rtt", "10 ms"]]), "wired contradicts mesh"),
        (json!([["tcp.cwnd_limit", 0]]), "tcp.cwnd_limit = 0: must be between 1 and 1000000"),
        (json!([["tcp.cwnd_limit.per_hop", 0]]), "tcp.cwnd_limit.per_hop = 0: must be above 0"),
        (json!([["mesh.mac", "nuling"]]), "did you mean \"nulling\"?"),
    ];
    for (set, expected) in cases {
        let line = load(&set).map(|_| ()).unwrap_err();
        assert!(line.contains(expected) && !line.contains('\n'), "{set}: {line}");
    }
}

#[test]
fn others_are_all_but_the_receiver() {
    let set = json!([
        ["mesh", { "topology": "star", "hops": null, "stations": 5, "mac": "plain" }],
        ["tcp.cwnd_limit", 4],
        ["flows.file", { "from": "others", "to": 0, "traffic": "saturated", "rate": null }],
    ]);
    let setup = setup(&set);
    assert_eq!(setup.flows[0].ends, [[1, 0], [2, 0], [3, 0], [4, 0], [5, 0]]);
    assert_eq!(setup.flows[0].count, 5);
}

#[test]
fn hops_are_of_a_mesh() {
    let link = json!([
        ["mesh", { "topology": null, "hops": null, "mac": null }],
        ["flows.file", { "from": null, "to": null }],
        ["link.rate", "1 Mbit/s"],
        ["channel.model", "none"],
    ]);
    let mut with_ends = link.clone();
    with_ends[1] = json!(["flows.file.to", null]);
    let line = load(&with_ends).map(|_| ()).unwrap_err();
    assert_eq!(line, "flows.file.from: needs a mesh, which has nodes");
    let line = load(&link).map(|_| ()).unwrap_err();
    assert!(line.contains("tcp.cwnd_limit = {\"per_hop\":0.357}: needs a mesh, and flows"), "{line}");
}
