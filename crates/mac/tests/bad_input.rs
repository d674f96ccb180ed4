//! Invalid mesh configurations are refused with one line of text each.

use crate::common::{chain, nulling, star};
use crossfade_core::{RunSeed, SimTime};
use crossfade_link::{Fabric, Parcel, Push};
use crossfade_mac::{DcfConfig, Mac, Mesh, MeshConfig, NullingConfig, Position, Routing};

fn refused(config: MeshConfig) -> String {
    let error = Mesh::new(config, RunSeed { seed: 1, run: 0 }).err().expect("refused").to_string();
    assert!(!error.contains('\n'));
    error
}

#[test]
fn every_refusal_names_what_is_wrong() {
    let plain = || chain(3, 250.0, Mac::Plain);
    let arrays = |nulling| chain(3, 250.0, Mac::Nulling(nulling));
    let one_antenna = "antennas = 1: must be between 2 and 8 for nulling: one antenna has no null to spend";
    let usual = nulling(2);
    let place = Position { x_m: 200.0, y_m: 0.0 };
    for (config, message) in [
        (arrays(nulling(1)), one_antenna),
        (arrays(nulling(0)), &one_antenna.replace("= 1", "= 0")),
        (chain(3, 200.0, Mac::Plain), "interference = 200 m: must be at least range, 250 m"),
        (chain(3, f64::NAN, Mac::Plain), "interference = NaN m: must be at least range, 250 m"),
        (MeshConfig { range_m: 0.0, ..plain() }, "range = 0: must be above 0"),
        (MeshConfig { queue: 0, ..plain() }, "queue = 0: must be between 1 and 100000 packets"),
        (
            MeshConfig { positions: vec![place, Position::default(), place], ..plain() },
            "nodes 0 and 2 are both at (200, 0) m: every node must have a place of its own",
        ),
        (
            MeshConfig { range_m: 150.0, ..plain() },
            "route 0: nodes 0 and 1 are 200 m apart, beyond range = 150 m",
        ),
        (
            MeshConfig { dcf: DcfConfig { rts: false, ..DcfConfig::default() }, ..arrays(usual) },
            "rts = false: must be true for nulling, which learns from RTS and CTS",
        ),
        (
            arrays(NullingConfig { estimation_error_db: Some(f64::NAN), ..usual }),
            "estimation_error_db = NaN: must be between -200 and 20",
        ),
        (
            arrays(NullingConfig { coherence_time: Some(SimTime::ZERO), ..usual }),
            "coherence_time = 0 s: must be at least 1 us",
        ),
    ] {
        assert_eq!(refused(config), message);
    }
    let crowd = MeshConfig { mac: Mac::Nulling(nulling(8)), ..star(500, true) };
    assert_eq!(refused(crowd), "antennas = 8: must be fewer where 125250 pairs of nodes hear each other");
}

#[test]
fn a_route_that_is_none_is_told_and_loses_its_packets() {
    let config = MeshConfig { routing: Routing::ShortestPath, range_m: 150.0, ..chain(3, 150.0, Mac::Plain) };
    let mut mesh = Mesh::new(config, RunSeed { seed: 1, run: 0 }).unwrap();
    assert_eq!(
        mesh.routes().hops(0, 3).unwrap_err().to_string(),
        "no route from node 0 to node 3: no chain of nodes within range joins them"
    );
    assert_eq!(mesh.push(SimTime::ZERO, 0, 3, Parcel::default()), Push::Lost);
    assert_eq!(mesh.next_event(), None);
}
