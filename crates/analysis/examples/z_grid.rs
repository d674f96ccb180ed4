//! Compares the exact analysis with simulation over the whole grid of models: the distribution of z (deviation in
//! standard errors) for each quantity.
//!
//! `cargo run --release -p crossfade-analysis --example z_grid [-- FACTOR]`; FACTOR multiplies the length of every run
//! and is 1 by default.

#[path = "../tests/common/mod.rs"]
mod common;

use common::{Run, VARIANTS, channel, poisson, z};
use crossfade_analysis::{Exact, Model, exact};
use crossfade_transport::Variant;

const RUNS: u64 = 10;
const FIGURES: [&str; 4] = ["throughput", "transmissions", "timeouts", "fast retransmits"];

fn main() {
    let factor = std::env::args().nth(1).map_or(1, |factor| factor.parse().expect("a whole number"));
    let (plain, backed_off) = (grid(), backoff_grid());
    report("constant timeout", &plain, factor, 10_000);
    report("back-off", &backed_off, factor, 20_000);
}

fn grid() -> Vec<(String, Model)> {
    let mut points = Vec::new();
    for fd_t in [None, Some(0.01), Some(0.08), Some(0.64)] {
        for p_e in [0.001, 0.003, 0.01, 0.03, 0.1, 0.3] {
            for (w_max, dupthresh) in [6, 24].into_iter().flat_map(|w_max| [1, 2, 3].map(|k| (w_max, k))) {
                points.extend(VARIANTS.map(|variant| point(variant, w_max, dupthresh, None, fd_t, p_e)));
            }
        }
    }
    points
}

/// Models with back-off of the timeout: to 64 timeouts, to a maximum off the powers of two, and to a maximum that is
/// hardly ever reached.
fn backoff_grid() -> Vec<(String, Model)> {
    let mut points = Vec::new();
    for fd_t in [None, Some(0.01), Some(0.08)] {
        for p_e in [0.01, 0.1, 0.3] {
            for (w_max, longest) in [(6, 6400), (24, 6400), (24, 250), (6, 1_000_000)] {
                points.extend(VARIANTS.map(|variant| point(variant, w_max, 3, Some(longest), fd_t, p_e)));
            }
        }
    }
    points
}

fn point(
    variant: Variant,
    w_max: u32,
    dupthresh: u32,
    backoff_max_slots: Option<u32>,
    fd_t: Option<f64>,
    p_e: f64,
) -> (String, Model) {
    let channel_name = fd_t.map_or("iid".to_string(), |fd_t| format!("fd_t {fd_t}"));
    let name = format!("{variant:?}, W_max {w_max}, K {dupthresh}, {channel_name}, P_E {p_e}");
    let name = backoff_max_slots.map_or(name.clone(), |longest| format!("{name}, back-off to {longest}"));
    let channel = channel(fd_t, p_e);
    (name, Model { variant, w_max, dupthresh, timeout_slots: 100, backoff_max_slots, channel })
}

/// Deviations z in standard errors of one model, for each quantity; `None` for events that are too few to have a
/// distribution.
fn compare(model: &Model, slots: u64, seed: u64) -> [Option<f64>; 4] {
    let accuracy = if model.variant == Variant::OldTahoe { 1e-6 } else { 1e-7 };
    let Exact { solution, timeouts_per_slot, fast_retransmits_per_slot, .. } =
        exact(model, accuracy).expect("it fits");
    let expected = [
        solution.throughput_per_slot,
        solution.transmissions_per_slot,
        timeouts_per_slot,
        fast_retransmits_per_slot,
    ];
    let runs: Vec<[f64; 4]> = (0..RUNS)
        .map(|number| {
            // Under heavy loss timeouts stay in phase with the slots for long: the warm-up differs between runs.
            let warmup_slots = 2000 + 41 * number;
            Run { seed, number, warmup_slots, slots, ack_delay_slots: 0 }.rates(model)
        })
        .collect();
    let all_slots = (RUNS * slots) as f64;
    let idle = f64::from(model.timeout_slots) * poisson(timeouts_per_slot, all_slots);
    let least =
        [idle, idle, poisson(timeouts_per_slot, all_slots), poisson(fast_retransmits_per_slot, all_slots)];
    [0, 1, 2, 3].map(|figure| {
        let values: Vec<f64> = runs.iter().map(|run| run[figure]).collect();
        let few = figure > 1 && expected[figure] * all_slots < 10.0;
        (!few).then(|| z(&values, least[figure], expected[figure]))
    })
}

fn report(what: &str, points: &[(String, Model)], factor: u64, base_slots: u64) {
    println!("\n{what}: {} points, {RUNS} runs each; Student's t with {} degrees", points.len(), RUNS - 1);
    println!(
        "| figure | points | mean | mean square (1.286) | in 95 % (0.95) | beyond 3.25 (0.01) | worst |"
    );
    println!("|---|---|---|---|---|---|---|");
    let mut all = [const { Vec::new() }; 4];
    for (seed, (name, model)) in (7000..).zip(points) {
        let slots = factor * if model.channel.p_e() < 0.01 { 5 * base_slots } else { base_slots };
        for (all, z) in all.iter_mut().zip(compare(model, slots, seed)) {
            all.extend(z.map(|z| (z, name.clone())));
        }
    }
    for (figure, z) in FIGURES.iter().zip(&mut all) {
        z.sort_by(|a, b| b.0.abs().total_cmp(&a.0.abs()));
        let n = z.len() as f64;
        let mean = z.iter().map(|(z, _)| z).sum::<f64>() / n;
        let square = z.iter().map(|(z, _)| z * z).sum::<f64>() / n;
        // Student's t with 9 degrees: 2.262 holds 95 %, 3.250 holds 99 %.
        let share = |limit: f64| z.iter().filter(|(z, _)| z.abs() > limit).count() as f64 / n;
        println!(
            "| {figure} | {n} | {mean:+.3} | {square:.3} | {:.3} | {:.4} | {:+.2} |",
            1.0 - share(2.262),
            share(3.250),
            z[0].0
        );
    }
    for (figure, z) in FIGURES.iter().zip(&all).take(2) {
        println!("{figure}, the tails:");
        for (z, name) in z.iter().take(6) {
            println!("  {z:+.2} at {name}");
        }
    }
}
