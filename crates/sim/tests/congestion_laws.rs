//! Window rules in whole connections against closed forms: the average window at a given loss rate.
//!
//! The link takes any number of packets; a round trip is 100 ms.

use crossfade_channel::{DropList, Iid, LossProcess, Lossless};
use crossfade_core::{Estimate, Method, RunSeed, SimTime};
use crossfade_link::HopConfig;
use crossfade_sim::{CongestionFactory, OneHop, SenderGate, StopRule, run_with_congestion_control};
use crossfade_transport::congestion::{Cubic, Reno};
use crossfade_transport::{Flavour, RfcConfig, RtoConfig, RtoRule, TcpConfig, Variant};
use std::sync::Arc;
use std::sync::atomic::AtomicBool;

const RTT_S: f64 = 0.1;

/// Segments delivered per round trip from `warmup_s` to `end_s`, every segment acknowledged.
fn average_window(
    congestion: CongestionFactory,
    loss: Box<dyn LossProcess>,
    warmup_s: u64,
    end_s: u64,
) -> f64 {
    let ms = SimTime::from_millis;
    let hop = |loss| HopConfig { rate_bps: None, delay: ms(50), queue_limit: None, loss };
    let rule = RtoRule::Estimated { min: ms(1000), initial: ms(1000), granularity: ms(1) };
    let tcp = TcpConfig {
        flavour: Flavour::Rfc,
        variant: Variant::Sack,
        w_max: 1_000_000,
        initial_window: 10.0,
        initial_ssthresh: 10.0,
        dupthresh: 3,
        limited_transmit: true,
        rto: RtoConfig { rule, backoff: true, max: ms(60_000) },
        segments: None,
        rfc: RfcConfig { delayed_ack: None, ..RfcConfig::default() },
    };
    let config = OneHop {
        tcp,
        packet_size: 1500,
        ack_size: 40,
        sack_block_size: 8,
        gate: SenderGate::Queue,
        forward: hop(loss),
        reverse: hop(Box::new(Lossless)),
        warmup: ms(1000 * warmup_s),
        stop: StopRule::At(ms(1000 * end_s)),
    };
    let run = run_with_congestion_control(config, congestion, (), &AtomicBool::new(false)).unwrap();
    assert!(run.timeouts == 0, "{} timeouts", run.timeouts);
    run.segments_in_order as f64 / run.duration.as_secs_f64() * RTT_S
}

/// The square-root law at low loss: 1.3098 / sqrt(p) (Ott, Kemperman and Mathis 1996; derived in the tests of the
/// crate `transport`). A recovery takes a round trip, which the law does not know.
#[test]
fn reno_follows_the_square_root_law_at_low_loss() {
    let p = 1e-4_f64;
    let runs: Vec<f64> = (0..10)
        .map(|run| {
            let iid = Iid::new(p, RunSeed { seed: 1, run }.stream("channel.dl")).unwrap();
            average_window(Arc::new(|| Box::new(Reno::new(10.0, 10.0))), Box::new(iid), 100, 2100)
        })
        .collect();
    let estimate = Estimate::from_runs(&runs, Method::Simulation).unwrap();
    let law = 1.3098 / p.sqrt();
    assert!(estimate.is_within(0.04), "{estimate:?} says too little");
    assert!((estimate.value - law).abs() <= estimate.ci95.unwrap(), "{estimate:?}, expected {law}");
}

/// A loss every 10^4 transmissions, from the window at which the formula has its losses.
#[test]
fn cubic_follows_its_response_function() {
    let average = 1.054 * (RTT_S * 1e4).powf(0.75); // RFC 9438 figure 7
    let w_max = average * 4.0 / 3.7;
    let drops = DropList::new((0..60).map(|i| 1000 + 10_000 * i).collect()).unwrap();
    let congestion: CongestionFactory =
        Arc::new(move || Box::new(Cubic::new(w_max, 1.0).without_fast_convergence()));
    let found = average_window(congestion, Box::new(drops), 10, 250);
    // A recovery takes one of the 53 round trips between losses, and its window is whole segments.
    assert!((found / average - 1.0).abs() < 0.02, "{found}, expected {average}");
}
