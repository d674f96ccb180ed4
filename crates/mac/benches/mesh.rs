//! Speed of the simulation of meshes.
//!
//! `cargo bench -p crossfade-mac --bench mesh` prints simulated seconds per second of TCP over 8 hops; then nanoseconds
//! per frame and radio that it reaches, in grids of 9 to 100 nodes with a flow along every row, and in stars of 10 to
//! 100 saturated stations. Times are processor time, the shortest of five measurements.

#[path = "../tests/common/mod.rs"]
mod common;

use common::{chain, nulling, run, saturate, star};
use crossfade_core::{RunSeed, SimTime};
use crossfade_mac::{Knowledge, Mac, MeshConfig, NullingConfig, Position, Routing, Topology};
use std::time::Instant;

const SEED: RunSeed = RunSeed { seed: 1, run: 0 };

/// Processor time of this thread in seconds; where the system does not provide it, wall-clock time since `start`.
fn spent(start: Instant) -> f64 {
    let told = std::fs::read_to_string("/proc/thread-self/schedstat").ok();
    let nanos = told.and_then(|text| text.split(' ').next()?.parse::<f64>().ok());
    nanos.map_or_else(|| start.elapsed().as_secs_f64(), |nanos| nanos / 1e9)
}

/// Shortest processor time of `work` over five measurements, in seconds.
fn time(mut work: impl FnMut()) -> f64 {
    let start = Instant::now();
    let go = |_| {
        let before = spent(start);
        work();
        spent(start) - before
    };
    (0..5).map(go).fold(f64::INFINITY, f64::min)
}

fn per_neighbour(name: &str, config: &MeshConfig, flows: &[(u32, u32)], seconds: u64) {
    let (duration, mut reached) = (SimTime::from_millis(1000 * seconds), 0);
    let taken = time(|| {
        let report = saturate(config.clone(), flows, 1000, SEED, SimTime::ZERO, duration);
        let within = |a: Position, b: Position| a.distance_m(b) <= config.interference_m;
        let neighbours = |a: usize| {
            config.positions.iter().filter(|&&b| within(config.positions[a], b)).count() as u64 - 1
        };
        let frames =
            report.nodes.iter().map(|node| node.rts_sent + node.cts_sent + node.data_sent + node.acks_sent);
        reached = frames.enumerate().map(|(node, frames)| frames * neighbours(node)).sum();
    });
    println!("{name},{},{:.1}", config.positions.len(), taken * 1e9 / reached as f64);
}

fn main() {
    let overheard = nulling(2);
    let perfect = NullingConfig { knowledge: Knowledge::Perfect, ..overheard };
    println!("mac,simulated_s_per_s");
    for (name, mac, window) in [
        ("plain", Mac::Plain, 3),
        ("nulling", Mac::Nulling(overheard), 4),
        ("nulling-genie", Mac::Nulling(perfect), 4),
    ] {
        let duration = SimTime::from_millis(60_000);
        let taken = time(|| {
            run(chain(8, 250.0, mac), window, SEED, SimTime::ZERO, duration);
        });
        println!("{name},{:.0}", duration.as_secs_f64() / taken);
    }
    println!("topology,nodes,ns_per_frame_and_neighbour");
    for mac in [Mac::Plain, Mac::Nulling(overheard)] {
        let name = if mac == Mac::Plain { "plain" } else { "nulling" };
        for side in [3, 5, 7, 10] {
            let mut stream = SEED.stream("mac.topology");
            let grid = Topology::Grid { rows: side, columns: side, spacing_m: 200.0 };
            let config = MeshConfig {
                positions: grid.positions(&mut stream).unwrap(),
                routing: Routing::ShortestPath,
                ..chain(1, 250.0, mac)
            };
            let flows: Vec<(u32, u32)> =
                (0..side as u32).map(|row| (row * side as u32, (row + 1) * side as u32 - 1)).collect();
            per_neighbour(&format!("grid {name}"), &config, &flows, 5);
        }
        for stations in [9, 30, 99] {
            let flows: Vec<(u32, u32)> = (1..=stations as u32).map(|node| (node, 0)).collect();
            per_neighbour(&format!("star {name}"), &MeshConfig { mac, ..star(stations, true) }, &flows, 10);
        }
    }
}
