//! Simulated throughput of saturated stations around one sink, compared with two forms of Bianchi's model.
//!
//! `cargo run --release -p crossfade-mac --example star -- [seconds]`

#[path = "../tests/common/mod.rs"]
mod common;

use common::{saturate, star};
use crossfade_core::{RunSeed, SimTime};
use crossfade_mac::bianchi::{Retries, saturation};

fn main() {
    let seconds = std::env::args().nth(1).and_then(|text| text.parse().ok()).unwrap_or(60);
    println!("access,bytes,stations,simulated_bps,finite_percent,unlimited_percent");
    for rts in [false, true] {
        for bytes in [500, 1000, 2312] {
            for stations in [2, 3, 5, 8, 10, 15, 20] {
                let config = star(stations, rts);
                let dcf = config.dcf;
                let flows: Vec<(u32, u32)> = (1..=stations as u32).map(|node| (node, 0)).collect();
                let (seed, warmup) = (RunSeed { seed: 1, run: 0 }, SimTime::from_millis(1000));
                let report =
                    saturate(config, &flows, bytes, seed, warmup, SimTime::from_millis(1000 * seconds));
                let simulated = report.nodes[0].delivered_bytes as f64 * 8.0 / report.elapsed.as_secs_f64();
                let off = |retries| {
                    let model = saturation(&dcf, stations, bytes, retries).unwrap().throughput_bps;
                    100.0 * (simulated / model - 1.0)
                };
                println!(
                    "{},{bytes},{stations},{simulated:.0},{:+.2},{:+.2}",
                    if rts { "rts" } else { "basic" },
                    off(Retries::Finite),
                    off(Retries::Unlimited),
                );
            }
        }
    }
}
