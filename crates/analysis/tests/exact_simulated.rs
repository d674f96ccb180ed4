//! The exact analysis against simulated connections, which share no code with it.
//!
//! `CROSSFADE_EXACT_SLOTS` makes every run so many times longer.

use crossfade_analysis::{Exact, Model, exact};
use crossfade_channel::{Clock, LossProcess, Lossless, MarkovLoss, TwoStateMarkov};
use crossfade_core::{RunSeed, SimTime};
use crossfade_link::HopConfig;
use crossfade_sim::{OneHop, SenderGate, StopRule, run};
use crossfade_transport::{Flavour, RfcConfig, RtoConfig, RtoRule, TcpConfig, Variant};
use std::sync::atomic::AtomicBool;

const SLOT: SimTime = SimTime::from_millis(8);
const RUNS: u64 = 10;
const WARMUP: u64 = 500;
const T_O: u32 = 100;
const VARIANTS: [Variant; 4] = [Variant::OldTahoe, Variant::Tahoe, Variant::Reno, Variant::NewReno];
const LOSS_RATES: [f64; 5] = [0.001, 0.01, 0.03, 0.1, 0.3];

/// New packets, transmissions, timeouts and fast retransmits of one run, per slot.
fn simulate(model: &Model, slots: u64, seed: u64, run_number: u64) -> [f64; 4] {
    let stream = RunSeed { seed, run: run_number }.stream("channel.dl");
    let loss = Box::new(MarkovLoss::new(&model.channel, Clock::Slot(SLOT), stream));
    let instant = |rate_bps, loss: Box<dyn LossProcess>| HopConfig {
        rate_bps,
        delay: SimTime::ZERO,
        queue_limit: None,
        loss,
    };
    let longest = model.backoff_max_slots.unwrap_or(model.timeout_slots);
    // Under heavy loss timeouts keep step with the slots for long: the runs are counted from different phases on.
    let warmup = WARMUP + 41 * run_number;
    let config = OneHop {
        tcp: TcpConfig {
            flavour: Flavour::Paper,
            variant: model.variant,
            w_max: model.w_max,
            initial_window: 1.0,
            initial_ssthresh: f64::from(model.w_max),
            dupthresh: model.dupthresh,
            limited_transmit: false,
            rto: RtoConfig {
                rule: RtoRule::Fixed(SLOT * u64::from(model.timeout_slots)),
                backoff: model.backoff_max_slots.is_some(),
                max: SLOT * u64::from(longest),
            },
            segments: None,
            rfc: RfcConfig::default(),
        },
        packet_size: 1000,
        ack_size: 40,
        sack_block_size: 8,
        gate: SenderGate::Slot,
        forward: instant(Some(1e6), loss),
        reverse: instant(None, Box::new(Lossless)),
        warmup: SLOT * warmup,
        stop: StopRule::At(SLOT * (warmup + slots)),
    };
    let statistics = run(config, (), &AtomicBool::new(false)).unwrap();
    let counts = [
        statistics.segments_delivered,
        statistics.segments_sent,
        statistics.timeouts,
        statistics.fast_retransmits,
    ];
    counts.map(|count| count as f64 / slots as f64)
}

/// How many standard errors the mean of the runs is off. `least`: that of few events, which ten runs show badly.
fn z(runs: &[f64], least: f64, expected: f64) -> f64 {
    let n = runs.len() as f64;
    let mean = runs.iter().sum::<f64>() / n;
    let variance = runs.iter().map(|value| (value - mean).powi(2)).sum::<f64>() / (n - 1.0);
    (mean - expected) / (variance / n).sqrt().max(least).max(1e-12)
}

/// Compares all figures; the exact ones are right to 1e-8, far within the noise.
fn compare(model: &Model, slots: u64, seed: u64, deviations: &mut [Vec<f64>; 4]) {
    let ours = exact(model, 1e-6).unwrap();
    let Exact { solution, timeouts_per_slot, fast_retransmits_per_slot, .. } = ours;
    let runs: Vec<[f64; 4]> = (0..RUNS).map(|number| simulate(model, slots, seed, number)).collect();
    let all_slots = (RUNS * slots) as f64;
    let poisson = |rate: f64| if rate * all_slots < 30.0 { (rate / all_slots).sqrt() } else { 0.0 };
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
        assert!(off.abs() < 6.0, "figure {figure}: {off} standard errors, {model:?}: {values:?} {expected}");
        // What never happens has nothing to compare.
        if expected > 0.0 {
            deviations[figure].push(off);
        }
    }
}

/// Ten runs give Student's t with 9 degrees of freedom: the mean of its square is 9/7.
fn assert_noise(what: &str, deviations: &[Vec<f64>; 4]) {
    for (figure, z) in deviations.iter().enumerate() {
        let n = z.len() as f64;
        let mean = z.iter().sum::<f64>() / n;
        let square = z.iter().map(|z| z * z).sum::<f64>() / n * 7.0 / 9.0;
        let worst = z.iter().fold(0.0, |worst: f64, z| worst.max(z.abs()));
        println!(
            "{what}, figure {figure}: {n} points, mean {mean:.3}, mean square {square:.3}, worst {worst:.2}"
        );
        // The square of t has a standard deviation of 2.3: 0.2 for the mean of 80 of them.
        assert!((0.5..1.6).contains(&square), "{what}, figure {figure}: mean square {square}");
        assert!(mean.abs() < 4.0 * (9.0 / 7.0 / n).sqrt(), "{what}, figure {figure}: mean {mean}");
    }
}

fn check_family(what: &str, fd_t: Option<f64>, first_seed: u64) {
    let longer = std::env::var("CROSSFADE_EXACT_SLOTS").map_or(1, |factor| factor.parse().unwrap());
    let mut deviations = [const { Vec::new() }; 4];
    let mut seed = first_seed;
    for p_e in LOSS_RATES {
        let channel = match fd_t {
            None => TwoStateMarkov::iid(p_e).unwrap(),
            Some(fd_t) => TwoStateMarkov::from_rayleigh(p_e, fd_t).unwrap(),
        };
        let slots = if p_e < 0.01 { 50_000 } else { 10_000 } * longer;
        for (w_max, dupthresh) in [(6, 1), (6, 3), (24, 1), (24, 3)] {
            for variant in VARIANTS {
                let timeout_slots = T_O;
                let model =
                    Model { variant, w_max, dupthresh, timeout_slots, backoff_max_slots: None, channel };
                // Every point has its own channel, or a rare one would be in all of them.
                seed += 1;
                compare(&model, slots, seed, &mut deviations);
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
            let channel = TwoStateMarkov::from_rayleigh(p_e, fd_t).unwrap();
            for (w_max, longest) in [(6, 800), (24, 250)] {
                for variant in VARIANTS {
                    let backoff_max_slots = Some(longest);
                    let (dupthresh, timeout_slots) = (3, T_O);
                    let model =
                        Model { variant, w_max, dupthresh, timeout_slots, backoff_max_slots, channel };
                    seed += 1;
                    compare(&model, 200_000, seed, &mut deviations);
                }
            }
        }
    }
    assert_noise("back-off", &deviations);
}
