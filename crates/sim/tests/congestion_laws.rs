//! Congestion controls in whole connections against closed forms: the average window at a given loss rate.
//!
//! The link takes any number of packets at once; the RTT is 100 ms.

use crossfade_channel::{DropList, Iid, LossProcess, Lossless};
use crossfade_core::testing::{Runs, long_or};
use crossfade_core::{RunSeed, SimTime};
use crossfade_link::{HopConfig, QueueLimit};
use crossfade_sim::{
    CongestionFactory, OneHop, RunStatistics, SenderGate, StopRule, run_with_congestion_control,
};
use crossfade_transport::congestion::{Cubic, Reno, SlowStart};
use crossfade_transport::{Flavour, RfcConfig, TcpConfig, Variant};
use std::sync::Arc;
use std::sync::atomic::AtomicBool;

const RTT_S: f64 = 0.1;

fn ms(millis: u64) -> SimTime {
    SimTime::from_millis(millis)
}

/// One flow with an initial window of ten segments, measured from `warmup_s` to `end_s` seconds; every segment is
/// acknowledged.
fn connection(forward: HopConfig, warmup_s: u64, end_s: u64) -> OneHop {
    let tcp = TcpConfig {
        initial_ssthresh: f64::INFINITY,
        rfc: RfcConfig { delayed_ack: None, ..RfcConfig::default() },
        ..TcpConfig::new(Flavour::Rfc, Variant::Sack, 1_000_000)
    };
    OneHop {
        tcp,
        packet_size: 1500,
        ack_size: 40,
        sack_block_size: 8,
        gate: SenderGate::Queue,
        forward,
        reverse: HopConfig { rate_bps: None, delay: ms(50), queue_limit: None, loss: Box::new(Lossless) },
        warmup: ms(1000 * warmup_s),
        stop: StopRule::At(ms(1000 * end_s)),
    }
}

fn run(config: OneHop, congestion: CongestionFactory) -> RunStatistics {
    run_with_congestion_control(config, congestion, None, &AtomicBool::new(false)).unwrap()
}

/// Average window in segments: segments delivered per RTT from `warmup_s` to `end_s` over a link that takes any number
/// of packets at once.
fn average_window(
    congestion: CongestionFactory,
    loss: Box<dyn LossProcess>,
    warmup_s: u64,
    end_s: u64,
) -> f64 {
    let forward = HopConfig { rate_bps: None, delay: ms(50), queue_limit: None, loss };
    let run = run(connection(forward, warmup_s, end_s), congestion);
    run.flow.segments_in_order as f64 / run.duration.as_secs_f64() * RTT_S
}

/// At low loss Reno's average window follows the square-root law 1.3098 / sqrt(p) (Ott, Kemperman and Mathis 1996;
/// derived in the tests of the crate `transport`). A recovery takes a round trip, which the law does not include.
///
/// The usual form measures 600 s of each run: its interval is 5 % wide on either side, that of the 1000 s of the long
/// form 3.6 %. A window that is 15 % off always fails.
#[test]
fn reno_follows_the_square_root_law_at_low_loss() {
    let p = 1e-4_f64;
    let runs = Runs::of(24, |run| {
        let iid = Iid::new(p, RunSeed { seed: 1, run }.stream("channel.dl")).unwrap();
        average_window(Arc::new(|| Box::new(Reno::new(10.0, 10.0))), Box::new(iid), 100, long_or(1100, 700))
    });
    let law = 1.3098 / p.sqrt();
    // A recovery is one or two of the 76 round trips between losses. Now and then a retransmission is lost, too,
    // and waited for: once in 10,000 losses, of which a run has 130.
    runs.assert_mean_near(law, 0.02 * law, "average window of Reno, p = 0.0001");
}

/// CUBIC's average window follows its response function with a loss every 10^4 transmissions, from the window at which
/// the formula has its losses.
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

/// HyStart++ leaves slow start before most of the overshoot. With 10 Mbit/s, a bandwidth-delay product of 83 packets
/// and a queue of two or four products, standard slow start fills the queue and loses most of a window; HyStart++
/// notices the queue and grows slowly up to its end.
#[test]
fn hystart_leaves_slow_start_before_most_of_the_overshoot() {
    type Start = fn() -> SlowStart;
    let [standard, hystart]: [Start; 2] = [|| SlowStart::standard(1.0), SlowStart::hystart];
    let first_losses = |queue, cubic: bool, start: Start| {
        let queue_limit = Some(QueueLimit::Packets(queue));
        let forward =
            HopConfig { rate_bps: Some(10e6), delay: ms(50), queue_limit, loss: Box::new(Lossless) };
        let congestion: CongestionFactory = if cubic {
            Arc::new(move || Box::new(Cubic::new(10.0, f64::INFINITY).with_slow_start(start())))
        } else {
            Arc::new(move || Box::new(Reno::new(10.0, f64::INFINITY).with_slow_start(start())))
        };
        run(connection(forward, 0, 5), congestion).flow.queue_drops
    };
    for queue in [166, 332] {
        for cubic in [false, true] {
            let (with, without) = (first_losses(queue, cubic, hystart), first_losses(queue, cubic, standard));
            assert!(
                2 * with < without,
                "queue {queue}, cubic {cubic}: {with} drops, {without} without HyStart++"
            );
        }
    }
}
