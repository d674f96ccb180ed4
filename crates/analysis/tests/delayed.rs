//! Tests of the analysis with delayed acknowledgements: against the analysis without delay, and against simulation.

use crate::common::{Run, VARIANTS, assert_noise, channel, is_taken, most_off, poisson, z};
use crossfade_analysis::{Delayed, Model, exact, exact_delayed};
use crossfade_channel::TwoStateMarkov;

const LIMIT: usize = 200_000;

/// Without ACK delay, the exact and the delayed analysis agree. They share nothing but the model: one follows cycles,
/// the other every state of sender and receiver.
#[test]
fn without_delay_it_is_the_exact_analysis() {
    for variant in VARIANTS {
        for (w_max, dupthresh, backoff_max_slots) in
            [(1, 1, None), (3, 2, None), (4, 1, Some(40)), (5, 3, None), (6, 1, None), (6, 2, Some(77))]
        {
            for (p_gg, p_bb) in [(0.999, 0.75), (0.99, 0.2), (0.9, 0.9), (0.7, 0.3), (0.3, 0.2), (0.5, 0.99)]
            {
                let channel = TwoStateMarkov::new(p_gg, p_bb).unwrap();
                let timeout_slots = 2 * w_max + 7;
                let model = Model { variant, w_max, dupthresh, timeout_slots, backoff_max_slots, channel };
                let cycles = exact(&model, 1e-9).unwrap();
                let whole = exact_delayed(&model, 0, LIMIT).unwrap();
                for (cycles, whole) in [
                    (cycles.solution.throughput_per_slot, whole.solution.throughput_per_slot),
                    (cycles.solution.transmissions_per_slot, whole.solution.transmissions_per_slot),
                    (cycles.timeouts_per_slot, whole.timeouts_per_slot),
                    (cycles.fast_retransmits_per_slot, whole.fast_retransmits_per_slot),
                ] {
                    assert!((cycles - whole).abs() < 2e-9, "{model:?}: {cycles} {whole}");
                }
            }
        }
    }
}

#[test]
fn few_losses_leave_the_window_over_the_round_trip() {
    let channel = TwoStateMarkov::new(1.0 - 1e-8, 0.5).unwrap();
    for variant in VARIANTS {
        for (w_max, ack_delay_slots) in [(1, 1), (3, 1), (4, 5), (2, 20)] {
            let (dupthresh, timeout_slots, backoff_max_slots) = (3, 60, None);
            let model = Model { variant, w_max, dupthresh, timeout_slots, backoff_max_slots, channel };
            let throughput =
                exact_delayed(&model, ack_delay_slots, LIMIT).unwrap().solution.throughput_per_slot;
            let expected = f64::min(1.0, f64::from(w_max) / f64::from(ack_delay_slots + 1));
            assert!(
                (throughput - expected).abs() < 1e-5,
                "{model:?}, {ack_delay_slots}: {throughput} {expected}"
            );
        }
    }
}

/// The usual form takes each ninth model, with all its runs.
#[test]
fn simulated_connections_agree() {
    const RUNS: u64 = 10;
    const SLOTS: u64 = 8000;
    // 45 models, four variants, four figures.
    const COMPARISONS: f64 = 720.0;
    let mut deviations = [const { Vec::new() }; 4];
    let mut seed = 8000;
    for fd_t in [None, Some(0.01), Some(0.08)] {
        for p_e in [0.01, 0.1, 0.3] {
            // With K = 1 duplicates of a spurious retransmission are taken for losses, until a real one ends
            // that: where losses are rare it takes millions of slots to see the mean.
            let lowest = if p_e < 0.1 { 2 } else { 1 };
            for (w_max, dupthresh, ack_delay_slots, backoff_max_slots) in [
                (4, lowest, 1, None),
                (6, 2, 2, None),
                (6, 3, 4, Some(800)),
                (5, 3, 1, None),
                (4, 2, 12, None),
            ] {
                for variant in VARIANTS {
                    let channel = channel(fd_t, p_e);
                    let model =
                        Model { variant, w_max, dupthresh, timeout_slots: 100, backoff_max_slots, channel };
                    seed += 1;
                    if !is_taken(seed) {
                        continue;
                    }
                    let solved = exact_delayed(&model, ack_delay_slots, LIMIT).unwrap();
                    let Delayed { solution, timeouts_per_slot, fast_retransmits_per_slot, .. } = solved;
                    let a_run = |number| {
                        let warmup_slots = 500 + 41 * number;
                        Run { seed, number, warmup_slots, slots: SLOTS, ack_delay_slots }
                    };
                    let runs: Vec<[f64; 4]> = (0..RUNS).map(|number| a_run(number).rates(&model)).collect();
                    let poisson = |rate| poisson(rate, (RUNS * SLOTS) as f64);
                    let idle = 100.0 * poisson(timeouts_per_slot);
                    let figures = [
                        (solution.throughput_per_slot, idle),
                        (solution.transmissions_per_slot, idle),
                        (timeouts_per_slot, poisson(timeouts_per_slot)),
                        (fast_retransmits_per_slot, poisson(fast_retransmits_per_slot)),
                    ];
                    for (figure, (expected, least)) in figures.into_iter().enumerate() {
                        let values: Vec<f64> = runs.iter().map(|run| run[figure]).collect();
                        // Timeout after timeout is a clock: all runs may count the same number.
                        let off = z(&values, least.max(0.5 / SLOTS as f64), expected);
                        assert!(
                            off.abs() < most_off(COMPARISONS),
                            "figure {figure}: {off}, {model:?}: {values:?} {expected}"
                        );
                        if expected * ((RUNS * SLOTS) as f64) > 10.0 {
                            deviations[figure].push(off);
                        }
                    }
                }
            }
        }
    }
    assert_noise("delayed", &deviations);
}
