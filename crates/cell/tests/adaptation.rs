//! Tests of link adaptation in a cell: delayed, periodic and quantised channel reports, and the outer loop.

use crossfade_cell::{
    Allocation, ArqConfig, Cell, CellConfig, FeedbackConfig, FrameSuccess, LevelRule, Levels,
    OuterLoopConfig, PredictedSinr, Quantiser, SinrTrace, UserConfig,
};
use crossfade_channel::{DelayProfile, NamedProfile};
use crossfade_core::{RunSeed, SimTime};
use crossfade_link::arq::ArqStatistics;
use crossfade_link::{Departure, Fabric, LinkEvent, LinkReport, Parcel, UserStatistics};
use crossfade_phy::Modulation;
use rand::RngExt;
use std::fmt::Write as _;
use std::sync::Arc;

const MS: SimTime = SimTime::from_millis(1);

/// Switching levels for perfect predictions.
fn levels() -> Arc<Levels> {
    let success = FrameSuccess::new(108, Modulation::Star8);
    let rule = LevelRule::Optimal { target_nmse: 0.0 };
    Arc::new(Levels::new(rule, PredictedSinr::Unbiased, success).unwrap())
}

/// Cell of one user, two bins and slots of 1 ms. The SINR is given by `trace`, or by fading at 10 m/s.
fn config(trace: Option<&str>) -> CellConfig {
    let trace = trace.map(|text| text.parse::<SinrTrace>().unwrap());
    let mean_snr_db = trace.as_ref().map_or(18.0, SinrTrace::mean_db);
    CellConfig {
        slot: MS,
        symbols: 108,
        bins: 2,
        bin_width_hz: 200e3,
        profile: DelayProfile::named(NamedProfile::TypicalUrban).unwrap(),
        shadowing: None,
        users: vec![UserConfig {
            mean_snr_db,
            speed_mps: 10.0,
            fd_t: 0.06,
            nmse: 0.0,
            levels: levels(),
            trace,
        }],
        allocation: Allocation::Static,
        feedback: None,
        outer_loop: None,
        arq: ArqConfig::default(),
        queue: None,
        uplink: None,
    }
}

/// Simulates `slots` slots with a user that always has data; returns its departures with their times, the frame events
/// and the report.
fn saturate(config: CellConfig, slots: u64) -> (Vec<(SimTime, Departure)>, Vec<LinkEvent>, LinkReport) {
    let mut cell = Cell::new(config, RunSeed { seed: 1, run: 0 }).unwrap();
    cell.trace(true);
    (0..40).for_each(|id| _ = cell.push(SimTime::ZERO, 0, 1, Parcel::new(id, 0, 1500)));
    let (mut left, mut next, end) = (Vec::new(), 40, MS * slots);
    while let Some(now) = cell.next_event().filter(|now| *now < end) {
        while let Some((_, departure)) = cell.advance(now) {
            left.push((now, departure));
            _ = cell.push(now, 0, 1, Parcel::new(next, 0, 1500));
            next += 1;
        }
    }
    let events = std::iter::from_fn(|| cell.next_trace()).collect();
    (left, events, cell.report(end))
}

/// Number of new frames of the only user, and the share of them that failed.
fn initial(report: &LinkReport) -> (f64, f64) {
    let UserStatistics { first_errors, arq: ArqStatistics { frames, .. }, .. } = report.users[0];
    (frames as f64, first_errors as f64 / frames as f64)
}

#[test]
fn the_outer_loop_meets_its_target_whatever_is_known_of_the_channel() {
    // Ratios without memory, of which reports of steps of 2 dB come 4 ms late.
    let mut stream = RunSeed { seed: 5, run: 0 }.stream("ratios");
    let text = (0..5000).fold(String::new(), |mut text, row| {
        let _ = writeln!(text, "{} {}", f64::from(row) / 1000.0, 14.0 + 10.0 * stream.random::<f64>());
        text
    });
    let quantiser = Some(Quantiser { lowest_db: -6.0, step_db: 2.0, bits: 5 });
    let feedback = Some(FeedbackConfig { period_slots: 1, delay_slots: 4, quantiser });
    let slots = 40_000;
    let mut bare = config(Some(&text));
    bare.feedback = feedback;
    bare.users[0].trace = bare.users[0].trace.take().map(|trace| trace.repeating(MS * 5000).unwrap());
    let (_, without) = initial(&saturate(bare.clone(), slots).2);
    for target in [0.01, 0.1, 0.3] {
        assert!((without - target).abs() > 0.05, "{without}: there is nothing to correct");
        let outer = OuterLoopConfig::with_target(target, 0.5, 20.0);
        let config = CellConfig { outer_loop: Some(outer), ..bare.clone() };
        let (frames, failed) = initial(&saturate(config, slots).2);
        // The offset is the sum of all steps and keeps within its limit: the mean step is 0 but for as much.
        let off = outer.limit_db / frames / (outer.step_up_db + outer.step_down_db);
        assert!((failed - target).abs() < off && off < 0.0014, "{target}: {failed}");
    }
}

#[test]
fn reports_serve_late_and_until_the_next() {
    // A stair of ratios that climbs 2 dB a slot for 12 slots and begins again.
    let ratio_db = |slot: u64| 3.0 + 2.0 * (slot % 12) as f64;
    let text = (0..240).fold(String::new(), |mut text, slot| {
        let _ = writeln!(text, "{},{}", slot as f64 / 1000.0, ratio_db(slot));
        text
    });
    let table = levels();
    for (period_slots, delay_slots, step_db) in
        [(1, 0, None), (1, 3, None), (4, 0, None), (5, 2, None), (4, 6, Some(5.0))]
    {
        let quantiser = step_db.map(|step_db| Quantiser { lowest_db: 0.0, step_db, bits: 3 });
        let feedback = Some(FeedbackConfig { period_slots, delay_slots, quantiser });
        // What is retransmitted keeps a modulation that could go up: here all is new.
        let arq = ArqConfig { max_retransmissions: Some(0), ..ArqConfig::default() };
        let (_, events, _) = saturate(CellConfig { feedback, arq, ..config(Some(&text)) }, 200);
        let mut frames = 0;
        for event in events {
            let LinkEvent::Frame { at, scheme, snr_db, .. } = event else { continue };
            let slot = at / MS;
            let known = slot.saturating_sub(delay_slots) / period_slots * period_slots;
            let told_db = match step_db {
                None => ratio_db(known),
                Some(step_db) => (ratio_db(known) / step_db).floor().min(7.0) * step_db,
            };
            let (bits, _) = Levels::choose(table.at(0.0), 10_f64.powf((told_db + 1e-5) / 10.0));
            assert_eq!(scheme, Some(Modulation::of_bits(bits).unwrap().name()), "slot {slot}");
            assert!((snr_db.unwrap() - ratio_db(slot)).abs() < 1e-4, "slot {slot}: {snr_db:?}");
            frames += 1;
        }
        assert!(frames > 190, "{frames}");
    }
}

#[test]
fn reports_of_each_slot_at_once_are_the_predictions() {
    for allocation in [Allocation::Static, Allocation::BestBin { candidates: 2 }] {
        let mut config = config(None);
        (config.allocation, config.users[0].nmse) = (allocation, 0.1);
        let (left, ..) = saturate(config.clone(), 6000);
        config.feedback = Some(FeedbackConfig { period_slots: 1, delay_slots: 0, quantiser: None });
        assert!(left.len() > 100 && saturate(config.clone(), 6000).0 == left);
        // A report of the past is worth less.
        config.feedback = Some(FeedbackConfig { period_slots: 10, delay_slots: 8, quantiser: None });
        let late = saturate(config, 6000).0.len();
        assert!((late as f64) < 0.9 * left.len() as f64, "{late} of {}", left.len());
    }
}

#[test]
fn a_recorded_channel_has_a_ratio_for_each_bin() {
    // The better bin of two changes from row to row.
    let text = "0,30,10\n0.1,10,30\n0.2,30,10\n";
    let config = CellConfig { allocation: Allocation::BestBin { candidates: 2 }, ..config(Some(text)) };
    let (_, events, _) = saturate(config.clone(), 300);
    let mut slots = 0;
    for event in events {
        let LinkEvent::Slot { at, bin, .. } = event else { continue };
        assert_eq!(u64::from(bin), u64::from((100..200).contains(&(at / MS))), "{at}");
        slots += 1;
    }
    assert!(slots > 290);
    let wrong = CellConfig { bins: 3, allocation: Allocation::Static, ..config };
    let error = Cell::new(wrong, RunSeed { seed: 1, run: 0 }).map(|_| ()).unwrap_err().to_string();
    assert_eq!(error, "trace = 2 ratios: must be a time and 1 or 3 ratios, the bins, on each line");
}
