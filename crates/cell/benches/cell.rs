//! Benchmark of channel gains and of whole cells: `cargo bench -p crossfade-cell`.

use crossfade_cell::{
    Allocation, ArqConfig, Cell, CellConfig, FrameSuccess, LevelRule, Levels, PredictedSinr, UserConfig,
};
use crossfade_channel::simd::Simd;
use crossfade_channel::{DelayProfile, FrequencyResponse, NamedProfile, PredictedFading, ShadowingConfig};
use crossfade_core::{RunSeed, SimTime};
use crossfade_link::{Fabric, Parcel};
use crossfade_phy::Modulation;
use std::hint::black_box;
use std::sync::Arc;

/// Processor time that this process has used, in seconds.
fn cpu_s() -> f64 {
    let text = std::fs::read_to_string("/proc/self/schedstat").unwrap_or_default();
    text.split(' ').next().and_then(|ns| ns.parse::<f64>().ok()).map_or(f64::NAN, |ns| ns * 1e-9)
}

fn config(users: usize, allocation: Allocation, nmse: f64, target_nmse: f64) -> CellConfig {
    let success = FrameSuccess::new(108, Modulation::Star8);
    let levels = Levels::new(LevelRule::Optimal { target_nmse }, PredictedSinr::Unbiased, success).unwrap();
    CellConfig {
        slot: SimTime::from_nanos(666_667),
        symbols: 108,
        bins: 25,
        bin_width_hz: 200e3,
        profile: DelayProfile::named(NamedProfile::TypicalUrban).unwrap(),
        shadowing: Some(ShadowingConfig { std_db: 4.0, pole: 0.74, spacing_m: 2.0, hold: false }),
        users: vec![
            UserConfig {
                mean_snr_db: 16.0,
                speed_mps: 75.0 / 3.6,
                fd_t: 0.0926,
                nmse,
                levels: Arc::new(levels),
                trace: None,
            };
            users
        ],
        allocation,
        feedback: None,
        outer_loop: None,
        arq: ArqConfig::default(),
        queue: None,
        uplink: None,
    }
}

/// Cell of preset `nr-30k` (slots of 0.5 ms, 106 resource blocks) with twenty users at 3 km/h and 3.5 GHz.
fn nr_30k() -> CellConfig {
    let mut config = config(20, Allocation::ProportionalFair { window_slots: 100.0 }, 0.1, 0.1);
    (config.slot, config.symbols, config.bins, config.bin_width_hz) =
        (SimTime::from_micros(500), 132, 106, 360e3);
    for user in &mut config.users {
        (user.speed_mps, user.fd_t) = (3.0 / 3.6, 0.00486);
    }
    config
}

/// Simulates a cell with backlogged users for `seconds` of simulated time; returns the CPU time in seconds and the
/// report.
fn saturate(config: CellConfig, seconds: u64, run: u64) -> (f64, crossfade_link::LinkReport) {
    let users = config.users.len() as u32;
    let mut cell = Cell::new(config, RunSeed { seed: 1, run }).unwrap();
    let end = SimTime::from_secs_f64(seconds as f64);
    let begin = cpu_s();
    for packet in 0..20 {
        for user in 1..=users {
            cell.push(SimTime::ZERO, 0, user, Parcel::new(packet, 0, 1500));
        }
    }
    while let Some(now) = cell.next_event().filter(|now| *now < end) {
        while let Some((port, departure)) = cell.advance(now) {
            cell.push(now, 0, port, departure.parcel());
        }
    }
    ((cpu_s() - begin), cell.report(end))
}

fn main() {
    let simd = Simd::chosen().unwrap();
    let profile = DelayProfile::named(NamedProfile::TypicalUrban).unwrap();
    let response = Arc::new(FrequencyResponse::new(&profile, 25, 2e5, simd));
    for nmse in [0.0, 0.1] {
        let streams = ["a", "b"].map(|name| RunSeed { seed: 1, run: 0 }.stream(name));
        let mut fading =
            PredictedFading::new(&profile, Arc::clone(&response), 0.0926, nmse, streams, simd).unwrap();
        let mut powers = [0.0; 32];
        let slots = 300_000;
        let begin = cpu_s();
        for slot in 0..slots {
            fading.go(slot);
            fading.predicted_powers(&mut powers);
            black_box(&powers);
        }
        let ns = (cpu_s() - begin) * 1e9 / (slots * 25) as f64;
        println!("gains of 25 bins, NMSE {nmse}: {ns:.2} ns a gain ({})", simd.name());
    }
    for (what, users, allocation, seconds) in [
        ("1 user, static bin", 1, Allocation::Static, 400),
        ("1 user, best of 25 bins", 1, Allocation::BestBin { candidates: 25 }, 400),
        (
            "20 users, 25 bins, proportional fair",
            20,
            Allocation::ProportionalFair { window_slots: 100.0 },
            40,
        ),
        ("20 users, 25 bins, round robin", 20, Allocation::RoundRobin, 40),
    ] {
        let (cpu, report) = saturate(config(users, allocation, 0.1, 0.1), seconds, 0);
        let kbps = report.statistics.arrived_bytes as f64 * 8e-3 / seconds as f64;
        println!("{what}: {:.0} simulated s a CPU s, {kbps:.0} kbit/s", seconds as f64 / cpu);
    }
    let (cpu, report) = saturate(nr_30k(), 5, 0);
    let kbps = report.statistics.arrived_bytes as f64 * 8e-3 / 5.0;
    println!(
        "20 users, 106 bins, nr-30k, proportional fair: {:.0} simulated s a CPU s, {kbps:.0} kbit/s",
        5.0 / cpu
    );
    if std::env::args().any(|argument| argument == "--reference") {
        reference();
    }
}

/// Prints goodput and retransmissions of the cell of Alfredsson, Brunstrom and Sternad (2007), over 10 channels of 200
/// s each.
fn reference() {
    for nmse in [0.0, 0.025, 0.05, 0.1, 0.2] {
        for allocation in [Allocation::Static, Allocation::BestBin { candidates: 25 }] {
            for target in [0.0, 0.1] {
                let (mut kbps, mut failures, mut frames, mut before, mut pieces) = (0.0, 0, 0, 0, 0);
                let mut by_bits = [0; 8];
                for run in 0..10 {
                    let (_, report) = saturate(config(1, allocation, nmse, target), 200, run);
                    kbps += report.statistics.arrived_bytes as f64 * 8e-3 / 2000.0;
                    let user = &report.users[0];
                    failures += user.arq.frame_errors;
                    frames += user.arq.frames;
                    before += user.failures_before;
                    pieces += user.arq.frames_delivered;
                    for (sum, count) in by_bits.iter_mut().zip(user.frames_by_bits) {
                        *sum += count;
                    }
                }
                let total: u64 = by_bits.iter().sum();
                let shares = by_bits.map(|count| format!("{:.1}", 100.0 * count as f64 / total as f64));
                println!(
                    "NMSE {nmse} {allocation:?} levels {target}: {kbps:.1} kbit/s, {:.3} failures a frame, {:.3} a \
                     piece, shares {}",
                    failures as f64 / frames as f64,
                    before as f64 / pieces as f64,
                    shares.join(" ")
                );
            }
        }
    }
}
