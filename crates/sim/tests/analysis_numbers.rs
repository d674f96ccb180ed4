//! The simulated flavour `paper` against numbers of the paper's exact analysis.
//!
//! The numbers come from an independent implementation of the semi-Markov analysis ("Throughput analysis of TCP on
//! channels with memory", with the corrections that the documentation lists), not from this simulator. `W_max` is 24
//! and K is 3 unless a test says otherwise; `T_o` is 100 packet times.

use crossfade_channel::{Clock, Iid, LossProcess, Lossless, MarkovLoss, TwoStateMarkov};
use crossfade_core::testing::long_or;
use crossfade_core::{Estimate, MethodKind, RunSeed, SimTime};
use crossfade_link::HopConfig;
use crossfade_sim::{OneHop, SenderGate, StopRule, run};
use crossfade_transport::{Flavour, RtoConfig, TcpConfig, Variant};
use std::sync::atomic::AtomicBool;

const SLOT: SimTime = SimTime::from_millis(8);
const RUNS: u64 = 10;

#[derive(Clone, Copy)]
enum Channel {
    Iid,
    Fading { fd_t: f64 },
}
use Channel::{Fading, Iid as Independent};

const SLOW: Channel = Fading { fd_t: 0.01 };

/// Slots of a run. Intervals of the usual form are 1.4 times as wide as those of the long form.
fn slots() -> u64 {
    long_or(200_000, 100_000)
}

/// Throughput in packets delivered per packet time, estimated over ten runs.
fn throughput(variant: Variant, w_max: u32, k: u32, channel: Channel, p_e: f64) -> Estimate {
    let one_run = |run_number| {
        let stream = RunSeed { seed: 1, run: run_number }.stream("channel.dl");
        let loss: Box<dyn LossProcess> = match channel {
            Independent => Box::new(Iid::new(p_e, stream).unwrap()),
            Fading { fd_t } => {
                let chain = TwoStateMarkov::from_rayleigh(p_e, fd_t).unwrap();
                Box::new(MarkovLoss::new(&chain, Clock::Slot(SLOT), stream))
            }
        };
        let instant = |rate_bps, loss| HopConfig { rate_bps, delay: SimTime::ZERO, queue_limit: None, loss };
        let config = OneHop {
            tcp: TcpConfig {
                dupthresh: k,
                rto: RtoConfig::fixed(SLOT * 100),
                ..TcpConfig::new(Flavour::Paper, variant, w_max)
            },
            packet_size: 1000,
            ack_size: 40,
            sack_block_size: 8,
            gate: SenderGate::Slot,
            forward: instant(Some(1e6), loss),
            reverse: instant(None, Box::new(Lossless)),
            warmup: SLOT * 1000,
            stop: StopRule::At(SLOT * (1000 + slots())),
        };
        run(config, None, &AtomicBool::new(false)).unwrap().flow.segments_delivered as f64 / slots() as f64
    };
    let runs: Vec<f64> = (0..RUNS).map(one_run).collect();
    Estimate::from_runs(&runs, MethodKind::Simulation).unwrap()
}

/// Checks a simulated `value` against the analysis's number `printed`, which has three or four decimals: the difference
/// may be the confidence interval plus half a unit of the last decimal. Twenty comparisons at 95 % would fail once by
/// chance, so the margin is 1.5 intervals (99.6 %).
fn assert_agrees(what: &str, value: f64, ci95: f64, printed: f64) {
    let allowed = 1.5 * ci95 + 0.0005;
    assert!((value - printed).abs() <= allowed, "{what}: {value:.4} +- {ci95:.4} against {printed}");
}

fn assert_throughput(variant: Variant, channel: Channel, p_e: f64, printed: f64) {
    let ours = throughput(variant, 24, 3, channel, p_e);
    assert_agrees(&format!("{variant:?} at {p_e}"), ours.value, ours.ci95.unwrap(), printed);
}

fn assert_difference(what: &str, a: Estimate, b: Estimate, printed: f64) {
    let ci95 = a.ci95.unwrap().hypot(b.ci95.unwrap());
    assert_agrees(what, a.value - b.value, ci95, printed);
}

#[test]
fn throughput_at_named_points() {
    assert_throughput(Variant::Tahoe, SLOW, 0.0361, 0.9);
    assert_throughput(Variant::Reno, SLOW, 0.0050, 0.9);
    assert_throughput(Variant::Reno, SLOW, 0.003, 0.934);
    assert_throughput(Variant::Reno, SLOW, 0.01, 0.845);
}

#[test]
fn a_lower_duplicate_threshold_helps_independent_losses_only() {
    let gain = |channel, p_e| {
        (throughput(Variant::Tahoe, 24, 1, channel, p_e), throughput(Variant::Tahoe, 24, 3, channel, p_e))
    };
    for (channel, p_e, printed) in
        [(Independent, 0.03, 0.158), (Independent, 0.1, 0.260), (SLOW, 0.03, 0.0125), (SLOW, 0.1, 0.025)]
    {
        let (k1, k3) = gain(channel, p_e);
        assert_difference(&format!("K = 1 against 3 at {p_e}"), k1, k3, printed);
    }
}

#[test]
fn correlated_and_independent_losses_cross_where_the_analysis_says() {
    for (variant, w_max, p_e) in [
        (Variant::Reno, 6, 0.0195),
        (Variant::NewReno, 6, 0.0196),
        (Variant::Tahoe, 6, 0.017),
        (Variant::Reno, 24, 0.028),
    ] {
        let slow = throughput(variant, w_max, 3, SLOW, p_e);
        let independent = throughput(variant, w_max, 3, Independent, p_e);
        assert_difference(&format!("{variant:?}, W {w_max}, at the crossing {p_e}"), slow, independent, 0.0);
    }
}

#[test]
fn a_small_window_makes_tahoe_and_reno_alike_at_high_loss() {
    for (p_e, printed) in [(0.1, 0.031), (0.3, 0.012)] {
        let tahoe = throughput(Variant::Tahoe, 6, 3, SLOW, p_e);
        let reno = throughput(Variant::Reno, 6, 3, SLOW, p_e);
        assert_difference(&format!("Tahoe less Reno at {p_e}"), tahoe, reno, printed);
    }
}

#[test]
fn old_tahoe_is_far_below_the_rest() {
    for p_e in [0.003, 0.01, 0.03] {
        let old = throughput(Variant::OldTahoe, 24, 3, Independent, p_e);
        for variant in [Variant::Tahoe, Variant::Reno, Variant::NewReno] {
            let other = throughput(variant, 24, 3, Independent, p_e);
            assert!(other.value - old.value > 0.1, "{variant:?} {} at {p_e}: {}", other.value, old.value);
        }
    }
}
