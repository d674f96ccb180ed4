//! Tests that equivalent scenarios have one run identity: queue limits in other units, speed and carrier for a Doppler
//! frequency, defaults spelt out or omitted.

use crossfade_link::QueueLimit;
use crossfade_scenario::{Overrides, Plan, Point};
use crossfade_transport::{Flavour, TcpConfig, Variant};
use serde_json::{Value, json};

/// Valid scenario: 20 Mbit/s, frames of 0.6 ms, RTT of 40 ms.
const GOOD: &str = r#"
    schema = 1
    run = { duration = "10 s" }
    channel = { model = "markov", p_e = "10 %", fd_t = 0.01 }
    link = { rate = "20 Mbit/s", packet_size = "1500 B", frame_size = "1500 B", arq = { protocol = "selective-repeat", window = 64 } }
    wired = { rtt = "40 ms" }
    tcp = { flavour = "rfc", variant = "sack", w_max = 400 }
"#;

fn load(set: &Value) -> Result<Point, String> {
    let overrides: Overrides = serde_json::from_value(json!({ "set": set })).unwrap();
    let plan = Plan::load(GOOD, "test.toml", &overrides).map_err(|error| error.to_string())?;
    Ok(Point::clone(&plan.points.at(0)))
}

fn limit(set: &Value) -> QueueLimit {
    load(set).unwrap().setup.links().unwrap().forward.queue().limit().unwrap()
}

#[test]
fn a_limit_in_time_is_what_the_link_sends_in_it() {
    // 20 Mbit/s for 200 ms.
    assert_eq!(limit(&json!([["link.queue.limit", "200 ms"]])), QueueLimit::Bytes(500_000));
    // No less than a packet.
    assert_eq!(limit(&json!([["link.queue.limit", "100 us"]])), QueueLimit::Bytes(1500));
    let [time, bytes] = [json!([["link.queue.limit", "200 ms"]]), json!([["link.queue.limit", "500 kB"]])];
    assert_eq!(load(&time).unwrap().id, load(&bytes).unwrap().id);
}

#[test]
fn a_limit_in_products_is_of_the_base_round_trip() {
    // A frame of 0.6 ms and twice 20 ms; the acknowledgement takes no time: 20 Mbit/s for 40.6 ms.
    assert_eq!(limit(&json!([["link.queue.limit", "1 bdp"]])), QueueLimit::Bytes(101_500));
    assert_eq!(limit(&json!([["link.queue.limit", "0.5bdp"]])), QueueLimit::Bytes(50_750));
    // The longest of all flows: 50 ms more there and back.
    let far = json!([
        ["link.queue", { "limit": "2 bdp", "discipline": "codel" }],
        ["flows", { "near": {}, "far": { "access_delay": "25 ms" } }],
    ]);
    assert_eq!(limit(&far), QueueLimit::Bytes(453_000));
    // Each link has its own rate: 100 Mbit/s, over the round trip with its 0.12 ms for a packet and 4.16 us for 52 B.
    let wired = load(&json!([["wired.rate", "100 Mbit/s"], ["wired.queue.limit", "1 bdp"]])).unwrap();
    let limit = wired.setup.links().unwrap().around.wired.as_ref().unwrap()[0].queue().limit();
    assert_eq!(limit, Some(QueueLimit::Bytes((100e6 * 0.040_724_16_f64 / 8.0) as u64)));
}

#[test]
fn speed_and_carrier_are_a_doppler_frequency() {
    let fast = json!([["channel", { "fd_t": null, "speed": "50 km/h", "carrier": "2 GHz" }]]);
    let point = load(&fast).unwrap();
    let doppler = point.setup.links().unwrap().forward.doppler.unwrap();
    // 50/3.6 m/s times 2e9 Hz over 299792458 m/s; frames of 0.6 ms.
    assert!((doppler.frequency_hz - 92.656_69).abs() < 1e-4, "{doppler:?}");
    assert!((doppler.fd_t - 0.055_594).abs() < 1e-6, "{doppler:?}");
    let same = json!([["channel.fd_t", doppler.fd_t]]);
    assert_eq!(load(&same).unwrap().id, point.id);
    // Both may be given where they agree, but for rounding.
    let both = json!([["channel", { "fd_t": 0.0556, "speed": "50 km/h", "carrier": "2 GHz" }]]);
    assert_eq!(load(&both).unwrap().setup.links().unwrap().forward.doppler.unwrap().fd_t, 0.0556);
    for (set, line) in [
        (
            json!([["channel", { "speed": "50 km/h", "carrier": "2 GHz" }]]),
            "channel.fd_t = 0.01: but channel.speed and channel.carrier say 5.5594e-2, in steps of 0.0006 s: give one of \
             the two",
        ),
        (
            json!([["channel.speed", "3 km/h"]]),
            "channel.speed = \"0.8333333333333334 m/s\": needs channel.carrier, \
          such as \"2 GHz\"",
        ),
        (
            json!([["channel.carrier", "2 GHz"]]),
            "channel.carrier = \"2000000000 Hz\": needs channel.speed, such as \
          \"3 km/h\"",
        ),
        (
            json!([["channel", { "fd_t": null, "mean_burst": 3, "speed": "3 km/h", "carrier": "2 GHz" }]]),
            "channel.mean_burst contradicts channel.speed: a channel takes {p_e or fading_margin_db, fd_t or speed \
             and carrier}, {p_e, mean_burst} or {p_gg, p_bb}, and clock",
        ),
        (
            json!([["channel", { "model": "iid", "fd_t": null, "speed": "3 km/h" }]]),
            "channel.speed contradicts channel.model = \"iid\": it takes p_e alone",
        ),
    ] {
        assert_eq!(load(&set).unwrap_err(), line);
    }
}

#[test]
fn a_flow_that_only_set_names_is_told() {
    let overrides =
        json!({ "set": [["flows", { "a": {} }], ["flows.b.count", 2], ["flows.b.start", "1 s"]] });
    let overrides: Overrides = serde_json::from_value(overrides).unwrap();
    let named = format!("{GOOD}\n[flows]\na = {{}}\n");
    assert_eq!(Plan::load(&named, "test.toml", &overrides).unwrap().new_flows, ["b"]);
}

/// The defaults of a scenario are those of the models' configuration for its flavour. Exceptions: the table `tcp.rfc`
/// has tests of its own, and the timeouts of flavour `paper` are in slots.
#[test]
fn what_is_usual_with_a_flavour_is_what_a_scenario_gets() {
    for ([word, name], flavour, variant) in [
        (["rfc", "sack"], Flavour::Rfc, Variant::Sack),
        (["ns2", "reno"], Flavour::Ns2, Variant::Reno),
        (["ns2", "old-tahoe"], Flavour::Ns2, Variant::OldTahoe),
        (["paper", "reno"], Flavour::Paper, Variant::Reno),
    ] {
        let mut set = json!([["tcp.flavour", word], ["tcp.variant", name]]);
        if flavour == Flavour::Paper {
            set.as_array_mut().unwrap().push(json!(["tcp.rto.fixed", "1 s"]));
        }
        let point = load(&set).unwrap();
        let got = *point.setup.only_bulk_tcp().unwrap().config.tcp().unwrap();
        let usual = TcpConfig { rfc: got.rfc, ..TcpConfig::new(flavour, variant, 400) };
        let rto = if flavour == Flavour::Paper { got.rto } else { usual.rto };
        assert_eq!(got, TcpConfig { rto, ..usual }, "{word}, {name}");
    }
}
