//! Tests of scenarios with a satellite link: profiles, both directions, orbits, and refused combinations.

use crossfade_core::SimTime;
use crossfade_link::QueueLimit;
use crossfade_link::satellite::{DirectionName, Profile};
use crossfade_scenario::{HopSetup, LinksSetup, Overrides, Plan, Point};
use serde_json::{Value, json};

const GOOD: &str = r#"
    schema = 2
    run = { duration = "150 s" }
    link = { packet_size = "1500 B", satellite = { profile = "starlink-leocc-2025" } }
    tcp = { variant = "sack", w_max = 4000 }
"#;

fn load(set: &Value) -> Result<Point, String> {
    let overrides: Overrides = serde_json::from_value(json!({ "set": set })).unwrap();
    let plan = Plan::load(GOOD, "test.toml", &overrides).map_err(|error| error.to_string())?;
    Ok(Point::clone(&plan.points.at(0)))
}

fn hops(point: &Point) -> [&HopSetup; 2] {
    let LinksSetup { forward, around, .. } = point.setup.links().unwrap();
    [forward, &around.reverse]
}

#[test]
fn a_profile_is_both_directions_and_their_queues() {
    let point = load(&json!([])).unwrap();
    let [data, acks] = hops(&point).map(|hop| hop.satellite().unwrap());
    let Profile { shared, down, up, .. } = Profile::starlink_leocc_2025();
    assert_eq!((data.name, acks.name), (DirectionName::Down, DirectionName::Up));
    assert_eq!((&data.shared, &data.direction, &acks.direction), (&shared, &down, &up));
    assert_eq!(data.shared, acks.shared);
    // 200 ms down and 400 ms up, at what the boundaries leave of the rates.
    for (hop, seconds) in hops(&point).into_iter().zip([0.2, 0.4]) {
        let bytes = hop.rate_bps().unwrap() * seconds / 8.0;
        assert_eq!(hop.queue().limit(), Some(QueueLimit::Bytes(bytes as u64)));
        // The mean of the delays, and half of the time between two grants, a little more as grants move.
        let wait_s = hop.satellite().unwrap().closed_forms.idle_wait_s;
        assert!((wait_s - 0.002 * (1.0 + (1.0 - 0.85 * 0.7) / 12.0)).abs() < 1e-12, "{wait_s}");
        assert_eq!(hop.transit(1500), SimTime::from_micros(8900) + SimTime::from_secs_f64(wait_s));
    }
}

#[test]
fn data_can_go_up() {
    let up = load(&json!([["link.satellite.data", "up"], ["reverse.queue.limit", "50 packets"]])).unwrap();
    let [data, acks] = hops(&up);
    assert_eq!(data.satellite().unwrap().name, DirectionName::Up);
    assert_eq!(acks.satellite().unwrap().direction, Profile::starlink_leocc_2025().down);
    assert_eq!(acks.queue().limit(), Some(QueueLimit::Packets(50)));
}

#[test]
fn a_key_stands_in_the_place_of_what_the_profile_says() {
    let set =
        json!([["link.satellite", { "offset": "8.76 s", "rate": "50 Mbit/s", "uplink": { "loss": "1 %" } }]]);
    let point = load(&set).unwrap();
    let [data, acks] = hops(&point).map(|hop| hop.satellite().unwrap());
    assert_eq!(data.shared.offset, Some(SimTime::from_millis(8760)));
    assert_eq!((data.direction.rate_bps, data.direction.loss), (50e6, 1e-4));
    assert_eq!((acks.direction.rate_bps, acks.direction.loss), (16e6, 0.01));
    // What the profile says, said again, is the same run; and so is the profile that is usual.
    let again = json!([["link.satellite", { "outage": "0.077 s", "uplink": { "grant": "8 ms" } }]]);
    let usual = load(&json!([])).unwrap();
    assert_eq!(load(&again).unwrap().id, usual.id);
    assert_eq!(load(&json!([["link.satellite", { "data": "down", "profile": null }]])).unwrap().id, usual.id);
    assert_ne!(point.id, usual.id);
}

#[test]
fn an_orbit_has_the_delays_and_the_handovers() {
    let orbit = json!({ "terminal": [52.3, 8.0], "gateway": [50.3, 8.5], "phasing": 17 });
    let point = load(&json!([["link.satellite.orbit", orbit]])).unwrap();
    let data = hops(&point)[0].satellite().unwrap();
    assert_eq!(data.coverage, 1.0);
    // Two legs of 1.83 to 3.75 ms.
    assert!((3.6..7.6).contains(&(data.mean_delay.as_secs_f64() * 1e3)), "{}", data.mean_delay);
    let north = json!({ "terminal": [89.0, 0.0], "gateway": [89.0, 10.0] });
    let refused = load(&json!([["link.satellite.orbit", north]])).unwrap_err();
    let never = "link.satellite.orbit: no satellite stands over terminal and gateway at any time of an hour";
    assert_eq!(refused, never);
}

#[test]
fn what_contradicts_it_is_named() {
    let satellite = |keys: Value| json!([["link.satellite", keys]]);
    let orbit = json!({ "terminal": [52.3, 8.0], "gateway": [50.3, 8.5] });
    for (set, said) in [
        (json!([["link.rate", "1 Mbit/s"]]), "link.rate contradicts link.satellite"),
        (json!([["reverse.rate", "1 Mbit/s"]]), "reverse.rate contradicts link.satellite"),
        (json!([["link.frame_size", "100 B"]]), "link.frame_size contradicts link.satellite"),
        (json!([["channel", { "model": "iid", "p_e": 0.1 }]]), "channel.model contradicts link.satellite"),
        (
            json!([["reverse.channel", { "model": "iid", "p_e": 0.1 }]]),
            "reverse.channel.model contradicts link.satellite",
        ),
        (
            json!([["link.shaper", { "rate": "1 Mbit/s", "burst": "10 kB" }]]),
            "link.shaper contradicts link.satellite",
        ),
        (satellite(json!({ "profile": "oneweb" })), "link.satellite.profile = \"oneweb\": must be one of"),
        (satellite(json!({ "slot": "0.5 s" })), "link.satellite.slot = 0.5 s: must be at least 1 s"),
        (satellite(json!({ "slot": "100 slots" })), "link.satellite.slot = \"100 slots\": must be a time"),
        (satellite(json!({ "offset": "20 s" })), "link.satellite.offset = 20 s: must be at most the slot"),
        (satellite(json!({ "ramp": "9 s" })), "link.satellite.outage = 0.077 s: must be so short"),
        (
            satellite(json!({ "obstructed": 0.99 })),
            "link.satellite.obstructed = 0.99: must be between 0 and 0.95",
        ),
        (
            satellite(json!({ "obstructed": 0.1, "obstruction": "1 ms" })),
            "link.satellite.obstruction = 0.001 s",
        ),
        (satellite(json!({ "step_correlation": 1 })), "link.satellite.step_correlation = 1: must be"),
        (
            satellite(json!({ "uplink": { "half_grant": 0.6 } })),
            "link.satellite.uplink.half_grant = 0.6: must be",
        ),
        (
            satellite(json!({ "uplink": { "grant": "2 s" } })),
            "link.satellite.uplink.grant = 2 s: must be 0 s, or",
        ),
        (satellite(json!({ "base_delay": ["9 ms"] })), "link.satellite.base_delay"),
        (
            satellite(json!({ "base_delay": ["9 ms", "8 ms"] })),
            "link.satellite.base_delay = 0.009 s: must be",
        ),
        (satellite(json!({ "rate": "1 bit/s" })), "link.satellite.rate = 1: must be between 1 kbit/s and"),
        (satellite(json!({ "spike": { "after": "10 s" } })), "link.satellite.spike.after = 10 s: must be"),
        (
            satellite(json!({ "spike": { "least": "60 ms", "most": "20 ms" } })),
            "link.satellite.spike.least = 0.06 s: must be at most spike.most",
        ),
        (
            satellite(json!({ "spike": { "beyond": "10 ms", "most": "0 ms" } })),
            "link.satellite.spike.beyond = 0.01 s: must be 0 s where",
        ),
        (
            satellite(json!({ "orbit": { "planes": 2 } })),
            "link.satellite.orbit.terminal: missing; degrees north and east",
        ),
        (
            satellite(json!({ "orbit": { "terminal": [91, 0], "gateway": [0, 0] } })),
            "link.satellite.orbit.terminal = 91: must be a latitude",
        ),
        (satellite(json!({ "orbit": orbit, "handover": 0.1 })), "link.satellite.handover contradicts"),
        (
            satellite(json!({ "orbit": orbit, "base_delay": ["1 ms", "2 ms"] })),
            "link.satellite.base_delay contradicts",
        ),
    ] {
        let refused = load(&set).unwrap_err();
        assert!(refused.starts_with(said) && !refused.contains('\n'), "{set}: {refused}");
    }
}
