//! Tests of the exact analysis against simulated connections, which share no code with it.
//!
//! The environment variable `CROSSFADE_EXACT_SLOTS` multiplies the length of every run. The usual form takes each ninth
//! model with all its runs: a model whose figure is as far off as the long form would notice fails if it is among them,
//! and an error in all models fails if it moves their mean deviation by three times what the long form notices.

use crate::common::{Cycles, Run, VARIANTS, assert_noise, channel, is_taken, most_off, poisson, z};
use crossfade_analysis::{Exact, Model, exact};
use crossfade_core::testing::long_or;

const RUNS: u64 = 10;
/// Upper bound of the number of comparisons in a test, for the false-alarm rate.
const COMPARISONS: f64 = 1000.0;
const WARMUP: u64 = 500;
const T_O: u32 = 100;
const LOSS_RATES: [f64; 5] = [0.001, 0.01, 0.03, 0.1, 0.3];

/// Simulation run whose warm-up differs by its number, because timeouts may stay in phase with the slots for long under
/// heavy loss.
fn a_run(seed: u64, number: u64, slots: u64) -> Run {
    Run { seed, number, warmup_slots: WARMUP + 41 * number, slots, ack_delay_slots: 0 }
}

/// Compares all simulated rates of a model with the exact ones, whose error of 1e-6 (1e-5 in the usual form) is far below
/// the noise.
fn compare(model: &Model, slots: u64, seed: u64, deviations: &mut [Vec<f64>; 4]) {
    let ours = exact(model, long_or(1e-6, 1e-5)).unwrap();
    let Exact { solution, timeouts_per_slot, fast_retransmits_per_slot, .. } = ours;
    let runs: Vec<[f64; 4]> = (0..RUNS).map(|number| a_run(seed, number, slots).rates(model)).collect();
    // Where a timer keeps step, runs are equal, and each as far from the mean as a part of an event.
    let half_an_event = 0.5 / slots as f64;
    let poisson = |rate| poisson(rate, (RUNS * slots) as f64).max(half_an_event);
    let idle = f64::from(model.timeout_slots) * poisson(timeouts_per_slot);
    let figures = [
        (solution.throughput_per_slot, idle),
        (solution.transmissions_per_slot, idle),
        (timeouts_per_slot, poisson(timeouts_per_slot)),
        (fast_retransmits_per_slot, poisson(fast_retransmits_per_slot)),
    ];
    for (figure, (expected, least)) in figures.into_iter().enumerate() {
        let values: Vec<f64> = runs.iter().map(|run| run[figure]).collect();
        let off = z(&values, least, expected);
        assert!(
            off.abs() < most_off(COMPARISONS),
            "figure {figure}: {off} standard errors, {model:?}: {values:?} {expected}"
        );
        // What never happens has nothing to compare.
        if expected > 0.0 {
            deviations[figure].push(off);
        }
    }
}

fn check_family(what: &str, fd_t: Option<f64>, first_seed: u64) {
    let longer = std::env::var("CROSSFADE_EXACT_SLOTS").map_or(1, |factor| factor.parse().unwrap());
    let mut deviations = [const { Vec::new() }; 4];
    let mut seed = first_seed;
    for p_e in LOSS_RATES {
        let channel = channel(fd_t, p_e);
        let slots = if p_e < 0.01 { 50_000 } else { 10_000 } * longer;
        for (w_max, dupthresh) in [(6, 1), (6, 3), (24, 1), (24, 3)] {
            for variant in VARIANTS {
                let timeout_slots = T_O;
                let model =
                    Model { variant, w_max, dupthresh, timeout_slots, backoff_max_slots: None, channel };
                // Every point has its own channel, or a rare one would be in all of them.
                seed += 1;
                if is_taken(seed) {
                    compare(&model, slots, seed, &mut deviations);
                }
            }
        }
    }
    assert_noise(what, &deviations);
}

#[test]
fn independent_losses() {
    check_family("iid", None, 1000);
}

#[test]
fn slow_fading() {
    check_family("fd_t 0.01", Some(0.01), 2000);
}

#[test]
fn medium_fading() {
    check_family("fd_t 0.08", Some(0.08), 3000);
}

#[test]
fn fast_fading() {
    check_family("fd_t 0.64", Some(0.64), 4000);
}

#[test]
fn backoff() {
    let mut deviations = [const { Vec::new() }; 4];
    let mut seed = 5000;
    for fd_t in [0.01, 0.08] {
        for p_e in [0.01, 0.03, 0.1, 0.3] {
            let channel = channel(Some(fd_t), p_e);
            for (w_max, longest) in [(6, 800), (24, 250)] {
                for variant in VARIANTS {
                    let backoff_max_slots = Some(longest);
                    let (dupthresh, timeout_slots) = (3, T_O);
                    let model =
                        Model { variant, w_max, dupthresh, timeout_slots, backoff_max_slots, channel };
                    seed += 1;
                    if is_taken(seed) {
                        compare(&model, 100_000, seed, &mut deviations);
                    }
                }
            }
        }
    }
    assert_noise("back-off", &deviations);
}

/// Simulated against exact mean and variance of the duration of a cycle, and the window at its first loss: the mean of
/// its floor, and the shares of 1 and `W_max`.
#[test]
fn cycles_and_the_windows_at_their_first_loss() {
    let mut deviations = [const { Vec::new() }; 5];
    let mut seed = 6000;
    for (fd_t, backoff_max_slots) in
        [(None, None), (Some(0.01), None), (Some(0.08), None), (Some(0.08), Some(800))]
    {
        for (p_e, w_max, dupthresh) in [(0.01, 24, 3), (0.1, 6, 1), (0.1, 24, 3), (0.3, 24, 1)] {
            for variant in VARIANTS {
                let channel = channel(fd_t, p_e);
                let model =
                    Model { variant, w_max, dupthresh, timeout_slots: T_O, backoff_max_slots, channel };
                seed += 1;
                if is_taken(seed) {
                    compare_cycles(&model, seed, &mut deviations);
                }
            }
        }
    }
    assert_noise("cycles", &deviations);
}

fn compare_cycles(model: &Model, seed: u64, deviations: &mut [Vec<f64>; 5]) {
    let Exact { mean_cycle_slots, cycle_slots_variance, loss_windows, .. } = exact(model, 1e-6).unwrap();
    // As many cycles from each run, or long ones would be missing at its end.
    let cycles = 150;
    let slots = (2.0 * mean_cycle_slots * cycles as f64) as u64;
    let runs: Vec<[f64; 5]> = (0..RUNS)
        .map(|number| {
            let run = a_run(seed, number, slots);
            let mut seen = Cycles::new(model.variant, run.warmup_slots);
            run.simulate(model, Some(&mut seen));
            let mean = |values: &mut dyn Iterator<Item = f64>| values.sum::<f64>() / cycles as f64;
            let slots = seen.slots[..cycles].iter().map(|slots| *slots as f64);
            let floors = &seen.floors[..cycles];
            [
                mean(&mut slots.clone()),
                mean(&mut slots.map(|slots| (slots - mean_cycle_slots).powi(2))),
                mean(&mut floors.iter().map(|floor| f64::from(*floor))),
                mean(&mut floors.iter().map(|floor| f64::from(u8::from(*floor == 1)))),
                mean(&mut floors.iter().map(|floor| f64::from(u8::from(*floor == model.w_max)))),
            ]
        })
        .collect();
    let share = |floor: u32| loss_windows[floor as usize - 1];
    let expected = [
        mean_cycle_slots,
        cycle_slots_variance,
        (1..=model.w_max).map(|floor| share(floor) * f64::from(floor)).sum(),
        share(1),
        share(model.w_max),
    ];
    for (figure, expected) in expected.into_iter().enumerate() {
        let values: Vec<f64> = runs.iter().map(|run| run[figure]).collect();
        let least = if figure < 3 { 0.0 } else { poisson(expected, (RUNS * cycles as u64) as f64) };
        let off = z(&values, least, expected);
        assert!(
            off.abs() < most_off(COMPARISONS),
            "figure {figure}: {off} standard errors, {model:?}: {values:?} {expected}"
        );
        // What happens a few times in all is not normal.
        if figure < 3 || expected * (RUNS * cycles as u64) as f64 > 10.0 {
            deviations[figure].push(off);
        }
    }
}
