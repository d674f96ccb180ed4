//! Throughput of saturated stations agrees with Bianchi's model with finite retries, and two stations collide exactly
//! if their backoffs end in one slot.

use crate::common::{saturate, star};
use crossfade_core::{RunSeed, SimTime};
use crossfade_link::{Fabric, LinkEvent, Parcel, Push};
use crossfade_mac::Mesh;
use crossfade_mac::bianchi::{Retries, saturation};

#[test]
fn a_star_has_the_throughput_of_bianchis_model() {
    for rts in [false, true] {
        for stations in [2, 5, 10, 20] {
            let config = star(stations, rts);
            let model = saturation(&config.dcf, stations, 2312, Retries::Finite).unwrap().throughput_bps;
            let flows: Vec<(u32, u32)> = (1..=stations as u32).map(|node| (node, 0)).collect();
            let (seed, second) = (RunSeed { seed: 1, run: 0 }, SimTime::from_millis(1000));
            let report = saturate(config, &flows, 2312, seed, second, second * 10);
            let simulated = report.nodes[0].delivered_bytes as f64 * 8.0 / report.elapsed.as_secs_f64();
            let off = simulated / model - 1.0;
            assert!(off.abs() < 0.03, "rts {rts}, {stations} stations: {simulated} against {model}, {off:+}");
        }
    }
}

/// Frames on the air and RTS losses of two stations that both have a packet at time zero.
fn two_calls(run: u64) -> (Vec<(u16, &'static str, SimTime)>, [u64; 2]) {
    let mut mesh = Mesh::new(star(2, true), RunSeed { seed: 1, run }).unwrap();
    mesh.trace(true);
    for node in [1, 2] {
        assert_eq!(mesh.push(SimTime::ZERO, node, 0, Parcel::new(0, 0, 1000)), Push::Accepted);
    }
    while let Some(now) = mesh.next_event().filter(|now| *now < SimTime::from_millis(2)) {
        while mesh.advance(now).is_some() {}
    }
    let mut frames = Vec::new();
    while let Some(event) = mesh.next_trace() {
        if let LinkEvent::Air { node, kind, at, .. } = event {
            frames.push((node, kind, at));
        }
    }
    let report = mesh.report(SimTime::from_millis(2));
    (frames, [report.nodes[1].rts_losses, report.nodes[2].rts_losses])
}

#[test]
fn two_counters_that_end_in_the_same_slot_collide() {
    let (mut same, runs) = (0, 2000);
    for run in 0..runs {
        let (frames, losses) = two_calls(run);
        let (first, second) = (frames[0], frames[1]);
        if first.2 == second.2 {
            same += 1;
            assert_eq!((first.1, second.1), ("rts", "rts"));
            assert_eq!(losses, [1, 1], "run {run}: nobody is answered");
        } else {
            // One slot apart suffices: the other station senses the RTS and defers.
            assert!(second.2 == first.2 + SimTime::from_micros(352 + 10) && second.1 == "cts");
            assert_eq!(losses, [0, 0], "run {run}");
        }
    }
    // One in 32: 62.5 of 2000, four standard deviations are 31.
    assert!((32..94).contains(&same), "{same} of {runs}");
}
