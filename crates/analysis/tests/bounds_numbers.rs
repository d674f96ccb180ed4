//! Tests of the bounds against results of an independent implementation of the same analysis, and properties of the
//! bounds of any model.
//!
//! `W_max` is 24, K is 3 and the timeout `T_o` is 100 slots unless stated otherwise.

use crossfade_analysis::{AnalysisError, Bounds, Model, bounds, paper_bounds};
use crossfade_channel::TwoStateMarkov;
use crossfade_transport::Variant;
use proptest::prelude::*;

const VARIANTS: [Variant; 4] = [Variant::OldTahoe, Variant::Tahoe, Variant::Reno, Variant::NewReno];
const LOSS_RATES: [f64; 5] = [0.001, 0.01, 0.03, 0.1, 0.3];
const IID: f64 = f64::INFINITY;

/// Model with a timeout of 100 slots over Rayleigh fading of normalised Doppler `fd_t`, or over independent losses if
/// `fd_t` is [`IID`].
fn model(variant: Variant, w_max: u32, dupthresh: u32, fd_t: f64, p_e: f64) -> Model {
    let channel = if fd_t == IID {
        TwoStateMarkov::iid(p_e).unwrap()
    } else {
        TwoStateMarkov::from_rayleigh(p_e, fd_t).unwrap()
    };
    Model { variant, w_max, dupthresh, timeout_slots: 100, backoff_max_slots: None, channel }
}

/// Upper bound on the throughput, to which the exact throughput is close.
fn throughput(variant: Variant, w_max: u32, dupthresh: u32, fd_t: f64, p_e: f64) -> f64 {
    bounds(&model(variant, w_max, dupthresh, fd_t, p_e)).unwrap().throughput_upper
}

fn assert_close(what: &str, ours: f64, expected: f64, allowed: f64) {
    assert!((ours - expected).abs() <= allowed, "{what}: {ours}, expected {expected}");
}

/// Zero of `f` between the loss rates `low` and `high`, by bisection of their logarithm.
fn root(f: impl Fn(f64) -> f64, mut low: f64, mut high: f64) -> f64 {
    assert!(f(low) * f(high) < 0.0, "no root between {low} and {high}");
    for _ in 0..40 {
        let middle = (low * high).sqrt();
        if f(low) * f(middle) > 0.0 { low = middle } else { high = middle }
    }
    low
}

fn relative_width(bounds: &Bounds) -> f64 {
    (bounds.throughput_upper - bounds.throughput_lower) / bounds.throughput_upper
}

/// All models of the test grid, each with its loss rate.
fn grid() -> Vec<(f64, Model)> {
    let mut points = vec![];
    for p_e in LOSS_RATES {
        for fd_t in [IID, 0.01, 0.08, 0.64] {
            for (w_max, k) in [(6, 1), (6, 3), (24, 1), (24, 3)] {
                points.extend(VARIANTS.map(|variant| (p_e, model(variant, w_max, k, fd_t, p_e))));
            }
        }
    }
    points
}

#[test]
fn tahoe_and_reno_reach_0_9_seven_times_apart() {
    for (variant, expected) in [(Variant::Tahoe, 0.0361), (Variant::Reno, 0.0050)] {
        let at = root(|p_e| throughput(variant, 24, 3, 0.01, p_e) - 0.9, 0.001, 0.1);
        assert_close(&format!("{variant:?}"), at, expected, 0.00005);
    }
}

#[test]
fn correlated_and_independent_losses_cross() {
    for (variant, w_max, expected, allowed) in [
        (Variant::Reno, 6, 0.0195, 0.00005),
        (Variant::NewReno, 6, 0.0196, 0.00005),
        (Variant::Reno, 24, 0.028, 0.0005),
        (Variant::Tahoe, 6, 0.017, 0.0005),
    ] {
        let slow_gains =
            |p_e| throughput(variant, w_max, 3, 0.01, p_e) - throughput(variant, w_max, 3, IID, p_e);
        let what = format!("{variant:?} W {w_max}");
        assert_close(&what, root(slow_gains, 0.003, 0.1), expected, allowed);
    }
}

#[test]
fn a_lower_duplicate_threshold_helps_independent_losses() {
    for (fd_t, p_e, expected, allowed) in [
        (0.01, 0.03, 0.0125, 0.00005),
        (0.01, 0.1, 0.025, 0.0005),
        (IID, 0.03, 0.158, 0.0005),
        (IID, 0.1, 0.260, 0.0005),
    ] {
        let gain =
            throughput(Variant::Tahoe, 24, 1, fd_t, p_e) - throughput(Variant::Tahoe, 24, 3, fd_t, p_e);
        assert_close(&format!("fd_t {fd_t} at {p_e}"), gain, expected, allowed);
    }
}

#[test]
fn newreno_gains_on_tahoe_where_fading_is_quick() {
    for (fd_t, expected) in [(0.08, 0.079), (0.64, 0.104)] {
        let gain = |p_e| {
            throughput(Variant::NewReno, 24, 3, fd_t, p_e) - throughput(Variant::Tahoe, 24, 3, fd_t, p_e)
        };
        // Over the loss rates of the figures; in between the gain is a little larger.
        let most = [0.001, 0.003, 0.01, 0.03, 0.1, 0.3].map(gain).into_iter().fold(0.0, f64::max);
        assert_close(&format!("fd_t {fd_t}"), most, expected, 0.0005);
    }
}

#[test]
fn tight_bounds_are_at_most_6_9_percent_apart_and_printed_ones_24() {
    let (mut tight, mut printed) = (0.0_f64, 0.0_f64);
    for (p_e, model) in grid() {
        let (ours, paper) = (bounds(&model).unwrap(), paper_bounds(&model).unwrap());
        tight = tight.max(relative_width(&ours));
        printed = printed.max(relative_width(&paper));
        assert!(ours.throughput_lower >= paper.throughput_lower - 1e-12, "{model:?}");
        assert!(ours.throughput_upper <= paper.throughput_upper + 1e-12, "{model:?}");
        if p_e == 0.001 && model.variant == Variant::Tahoe && model.dupthresh == 3 {
            assert!((0.0019..0.0031).contains(&relative_width(&paper)), "{model:?}");
        }
        if model.variant != Variant::NewReno {
            // The printed counts differ in what is surely new only.
            assert_close("upper", paper.throughput_upper, ours.throughput_upper, 1e-12);
            assert_close("sent", paper.transmissions_per_slot, ours.transmissions_per_slot, 1e-12);
        }
    }
    assert_close("widest tight bounds", tight, 0.069, 0.0005);
    assert_close("widest printed bounds", printed, 0.24, 0.005);
}

#[test]
fn both_printed_newreno_chains_can_count_too_few_transmissions() {
    let too_few = |(_, model): &(f64, Model)| {
        let (exact, paper) = (bounds(model).unwrap(), paper_bounds(model).unwrap());
        let most = paper.transmissions_per_slot.max(paper.transmissions_per_slot_upper);
        1.0 - most / exact.transmissions_per_slot
    };
    let worst = grid().iter().filter(|(_, m)| m.variant == Variant::NewReno).map(too_few).fold(0.0, f64::max);
    assert_close("largest deficit", worst, 0.0034, 0.00005);
}

#[test]
fn extreme_channels_have_the_throughput_anyone_can_tell() {
    for variant in VARIANTS.into_iter().chain([Variant::Sack]) {
        for (w_max, dupthresh) in [(1, 1), (2, 1), (24, 3), (24, u32::MAX)] {
            let at = |channel| Model { channel, ..model(variant, w_max, dupthresh, IID, 0.5) };
            for (channel, throughput, transmissions) in [
                // Never lost; always lost, so that one packet a timeout is sent; rarely lost; rarely anything
                // else.
                (TwoStateMarkov::new(1.0, 0.5).unwrap(), 1.0, 1.0),
                (TwoStateMarkov::new(0.5, 1.0).unwrap(), 0.0, 0.01),
                (TwoStateMarkov::from_burst(1e-300, 2.0).unwrap(), 1.0, 1.0),
                (TwoStateMarkov::iid(1.0 - 1e-14).unwrap(), 0.0, 0.01),
            ] {
                for bounds in [bounds(&at(channel)).unwrap(), paper_bounds(&at(channel)).unwrap()] {
                    assert_close("lower", bounds.throughput_lower, throughput, 1e-12);
                    assert_close("upper", bounds.throughput_upper, throughput, 1e-12);
                    assert_close("sent", bounds.transmissions_per_slot, transmissions, 1e-12);
                    assert_close("sent", bounds.transmissions_per_slot_upper, transmissions, 1e-12);
                }
            }
        }
    }
}

#[test]
fn a_window_of_one_is_stop_and_wait() {
    // Every loss costs T_o slots, whatever the variant: a good slot comes after 1 + E[timeouts] T_o slots on
    // average.
    for p_e in LOSS_RATES {
        for variant in VARIANTS {
            let bounds = bounds(&model(variant, 1, 1, IID, p_e)).unwrap();
            let slots_per_packet = 1.0 + p_e / (1.0 - p_e) * 100.0;
            assert_close("lower", bounds.throughput_lower, 1.0 / slots_per_packet, 1e-12);
            assert_close("upper", bounds.throughput_upper, 1.0 / slots_per_packet, 1e-12);
        }
    }
}

#[test]
fn what_cannot_be_bounded_is_refused_in_one_line() {
    let good = model(Variant::Reno, 24, 3, IID, 0.1);
    let refusal = |model: Model| {
        let error = bounds(&model).unwrap_err();
        assert_eq!(paper_bounds(&model), Err(error.clone()));
        error.to_string()
    };
    assert_eq!(refusal(Model { w_max: 0, ..good }), "w_max = 0: must be at least 1");
    assert_eq!(
        refusal(Model { w_max: 257, timeout_slots: 1000, ..good }),
        "w_max = 257: must be at most 256 for bounds"
    );
    let expected = "timeout_slots = 1000000001: must be at most 1000000000 for bounds";
    assert_eq!(refusal(Model { timeout_slots: 1_000_000_001, ..good }), expected);
    assert!(bounds(&Model { timeout_slots: 1_000_000_000, ..good }).unwrap().throughput_upper < 1e-6);
    let backoff = Model { backoff_max_slots: Some(6400), ..good };
    assert_eq!(bounds(&backoff), Err(AnalysisError::BackoffNotBounded { backoff_max_slots: 6400 }));
    let expected = "backoff_max_slots = 6400: must not be set, the bounds assume a constant timeout";
    assert_eq!(refusal(backoff), expected);
}

/// Strategy for a probability, with occasional extreme values.
fn any_probability() -> impl Strategy<Value = f64> {
    let tiny = (-300.0..0.0).prop_map(|exponent| 10_f64.powf(exponent));
    prop_oneof![8 => 0.0..=1.0, 1 => Just(0.0), 1 => Just(1.0), 2 => tiny]
}

proptest! {
    #[test]
    fn any_model_has_ordered_bounds_or_an_error_of_one_line(
        p_gg in any_probability(), p_bb in any_probability(), variant in prop::sample::select(&VARIANTS[..]),
        w_max in 0_u32..40, dupthresh in 0_u32..6, timeout_slots in 0_u32..300,
    ) {
        let Ok(channel) = TwoStateMarkov::new(p_gg, p_bb) else { return Ok(()) };
        let model = Model { variant, w_max, dupthresh, timeout_slots, backoff_max_slots: None, channel };
        match bounds(&model) {
            Ok(Bounds { throughput_lower, throughput_upper, transmissions_per_slot, .. }) => {
                prop_assert!(0.0 <= throughput_lower && throughput_lower <= throughput_upper);
                prop_assert!(throughput_upper <= transmissions_per_slot + 1e-12);
                prop_assert!(transmissions_per_slot <= 1.0);
                let paper = paper_bounds(&model).unwrap();
                // NewReno's two chains are not proven to be ordered.
                let ordered = variant == Variant::NewReno || paper.throughput_lower <= paper.throughput_upper;
                prop_assert!(ordered, "{paper:?}");
                for figure in [paper.throughput_lower, paper.throughput_upper, paper.transmissions_per_slot] {
                    prop_assert!((0.0..=1.0).contains(&figure), "{paper:?}");
                }
            }
            Err(error) => {
                let expected = w_max == 0 || dupthresh == 0 || timeout_slots < 2 * w_max + 2;
                prop_assert!(expected && error.to_string().lines().count() == 1, "{error}");
                prop_assert_eq!(paper_bounds(&model), Err(error));
            }
        }
    }
}
