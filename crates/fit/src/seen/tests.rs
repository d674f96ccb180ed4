//! Tests of changing rates in records in which few packets wait.

use crate::model::{Fit, Model, Verdict};
use crate::record::{Fate, Packet, Record};
use crossfade_core::{RunSeed, Stream};
use rand::RngExt;

const BYTES: f64 = 1500.0;

fn stream(seed: u64) -> Stream {
    RunSeed { seed, run: 0 }.stream("record")
}

/// Record of pairs of packets every 50 ms over two rates (bit/s) in turn, 3 s each, seen one way or by one
/// acknowledgement per pair; one pair in 120 has another directly behind it.
fn pairs_at_fixed_times(levels: [f64; 2], is_round_trip: bool) -> Record {
    let (mut free_at, mut packets) = (0.0_f64, Vec::new());
    for pair in 0..1200 {
        let sent_s = f64::from(pair) * 50e-3;
        let level = levels[((sent_s + 1e-9) / 3.0) as usize % 2];
        for number in 0..if pair % 120 == 60 { 4 } else { 2 } {
            free_at = free_at.max(sent_s) + 8.0 * BYTES / level;
            let seen_s = (!is_round_trip || number % 2 == 1).then_some(free_at + 40e-3);
            packets.push(Packet { sent_s, bytes: BYTES, seen_s, fate: Fate::Arrived });
        }
    }
    Record::new(packets, is_round_trip).unwrap()
}

/// Pairs identify a changing rate by the gap in each pair. If too few pairs have another behind them to show the base
/// delay, the rate is bounded, and no constant rate is identified.
#[test]
fn pairs_show_levels_or_bound_the_rate() {
    for (levels, is_round_trip) in [([10e6, 20e6], false), ([10e6, 20e6], true), ([10e6, 14e6], false)] {
        let mean = 0.5 * (levels[0] + levels[1]);
        let fit = Fit::new(&pairs_at_fixed_times(levels, is_round_trip), 1);
        assert_eq!((fit.model, fit.rate.verdict), (Model::M2, Verdict::Identified), "{levels:?}");
        assert!((fit.rate.value / mean - 1.0).abs() < 0.01, "{:?}", fit.rate);
        let delay_s = if is_round_trip { 40e-3 } else { 80e-3 };
        assert!((fit.delay.value - delay_s).abs() < 1e-6, "{:?}", fit.delay);
    }
    let fit = Fit::new(&pairs_at_fixed_times([10e6, 14e6], true), 1);
    assert_eq!(fit.rate.verdict, Verdict::Bounded);
    assert!((fit.rate.low..fit.rate.high).contains(&12e6), "{:?}", fit.rate);
    // A constant rate does not pass for a changing one.
    let fit = Fit::new(&pairs_at_fixed_times([12e6, 12e6], true), 1);
    assert_eq!((fit.model, fit.rate.verdict), (Model::M0, Verdict::Identified));
    assert!((fit.rate.value / 12e6 - 1.0).abs() < 1e-3, "{:?}", fit.rate);
}

/// A constant rate that half of a record contradicts is not identified: trains of one to three packets at random times,
/// 300 a minute, with jitter, over two rates in turn of 6 s, of which too few packets wait in a window to show its
/// rate.
#[test]
fn a_constant_rate_that_half_of_a_record_contradicts_is_bounded() {
    let record = |levels: [f64; 2], seed: u64| {
        let mut random = stream(seed);
        let (mut free_at, mut sent_s, mut packets) = (0.0_f64, 0.0_f64, Vec::new());
        while sent_s < 60.0 {
            let level = levels[(sent_s / 6.0) as usize % 2];
            for _ in 0..random.random_range(1..=3) {
                free_at = free_at.max(sent_s) + 8.0 * BYTES / level;
                let late_s = 0.1e-3 * random.random::<f64>();
                packets.push(Packet {
                    sent_s,
                    bytes: BYTES,
                    seen_s: Some(free_at + 40e-3 + late_s),
                    fate: Fate::Arrived,
                });
            }
            sent_s += random.random_range(0.1..0.3);
        }
        Fit::new(&Record::new(packets, true).unwrap(), seed)
    };
    for seed in 0..10 {
        let fit = record([8e6, 16e6], 700 + seed);
        let is_right = fit.rate.verdict == Verdict::Bounded || (fit.rate.low..fit.rate.high).contains(&12e6);
        assert!(is_right && fit.rate.low < 12e6, "{seed}: {:?}", fit.rate);
        let fit = record([12e6, 12e6], 800 + seed);
        assert_eq!((fit.model, fit.rate.verdict), (Model::M0, Verdict::Identified), "{seed}: {:?}", fit.rate);
        assert!((fit.rate.value / 12e6 - 1.0).abs() < 0.02, "{seed}: {:?}", fit.rate);
    }
}
