//! The engine with one flow over one hop each way, against closed forms and against the counts of an observer.

use crossfade_channel::{Clock, DropList, Iid, LossProcess, Lossless, MarkovLoss, TwoStateMarkov};
use crossfade_core::{EventKind, EventRecord, Observer, RunSeed, SimTime};
use crossfade_link::{HopConfig, QueueLimit};
use crossfade_sim::{Interrupted, OneHop, RunStatistics, SenderGate, StopRule, run};
use crossfade_transport::{Flavour, RtoConfig, RtoRule, TcpConfig, Variant};
use proptest::prelude::*;
use std::sync::atomic::AtomicBool;

const MS: SimTime = SimTime::from_millis(1);

fn ns2_tcp(variant: Variant, w_max: u32) -> TcpConfig {
    TcpConfig::new(Flavour::Ns2, variant, w_max)
}

/// A connection over 10 Mbit/s and 20 ms each way: 1000-byte packets take 0.8 ms, acknowledgements 0.032 ms, so the RTT
/// without queues is 40.832 ms.
fn over_wan(tcp: TcpConfig, loss: Box<dyn LossProcess>, stop: StopRule) -> OneHop {
    let hop = |loss| HopConfig { rate_bps: Some(10e6), delay: MS * 20, queue_limit: None, loss };
    OneHop {
        tcp,
        packet_size: 1000,
        ack_size: 40,
        sack_block_size: 8,
        gate: SenderGate::Queue,
        forward: hop(loss),
        reverse: hop(Box::new(Lossless)),
        warmup: MS * 10_000,
        stop,
    }
}

fn simulate(config: OneHop) -> RunStatistics {
    run(config, None, &AtomicBool::new(false)).unwrap()
}

fn stream(run: u64) -> crossfade_core::Stream {
    RunSeed { seed: 7, run }.stream("channel.dl")
}

#[test]
fn a_window_below_the_bandwidth_delay_product_is_sent_once_a_round_trip() {
    for w_max in [1, 4, 40] {
        let stop = StopRule::At(MS * 110_000);
        let statistics = simulate(over_wan(ns2_tcp(Variant::Reno, w_max), Box::new(Lossless), stop));
        let expected = f64::from(w_max) * 100.0 / 0.040832;
        let delivered = statistics.flow.segments_delivered as f64;
        assert!(
            (delivered - expected).abs() <= f64::from(w_max),
            "W {w_max}: {delivered} against {expected}"
        );
        let rtt = statistics.flow.rtt_sum_s / statistics.flow.rtt_samples as f64;
        assert!(rtt < 0.040832 + 0.0008 * f64::from(w_max), "W {w_max}: {rtt}");
        assert_eq!(
            statistics.flow.retransmissions + statistics.flow.timeouts + statistics.flow.segments_lost,
            0
        );
    }
}

#[test]
fn a_window_above_it_fills_the_link_and_waits_in_the_queue() {
    let w_max = 64;
    let stop = StopRule::At(MS * 110_000);
    let statistics = simulate(over_wan(ns2_tcp(Variant::Tahoe, w_max), Box::new(Lossless), stop));
    assert!((statistics.flow.segments_delivered as f64 - 100.0 / 0.0008).abs() <= 1.0);
    // 64 segments go round in 64 * 0.8 ms; what exceeds the empty round trip is spent in the queue.
    let queue = statistics.forward.counts.waiting_s / statistics.duration.as_secs_f64();
    let expected = (64.0 * 0.0008 - 0.040832) / 0.0008;
    assert!((queue - expected).abs() < 0.01, "{queue} packets against {expected}");
    let rtt = statistics.flow.rtt_sum_s / statistics.flow.rtt_samples as f64;
    assert!((rtt - 64.0 * 0.0008).abs() < 1e-6, "{rtt}");
}

#[test]
fn a_full_queue_drops_and_tcp_recovers() {
    let mut config = over_wan(ns2_tcp(Variant::NewReno, 500), Box::new(Lossless), StopRule::At(MS * 110_000));
    config.forward.queue_limit = Some(QueueLimit::Packets(60));
    let statistics = simulate(config);
    assert!(statistics.flow.queue_drops > 0);
    let utilisation = statistics.flow.segments_delivered as f64 * 0.0008 / 100.0;
    // A queue of more than a bandwidth-delay product (51 packets) keeps the link busy while the window is
    // halved.
    assert!(utilisation > 0.97, "{utilisation}");
}

#[test]
fn the_channel_loses_what_it_says() {
    let stop = StopRule::Delivered(200_000);
    let p_e = 0.02;
    let iid = Box::new(Iid::new(p_e, stream(0)).unwrap());
    let statistics = simulate(over_wan(ns2_tcp(Variant::Sack, 20), iid, stop));
    let rate = statistics.flow.segments_lost as f64 / statistics.flow.segments_sent as f64;
    let standard_error = (p_e * (1.0 - p_e) / statistics.flow.segments_sent as f64).sqrt();
    assert!((rate - p_e).abs() < 4.0 * standard_error, "{rate}");
}

#[test]
fn the_warm_up_is_not_counted() {
    let drops = || Box::new(DropList::new(vec![3]).unwrap());
    let mut config = over_wan(ns2_tcp(Variant::Reno, 20), drops(), StopRule::At(MS * 20_000));
    assert_eq!(simulate(config).flow.segments_lost, 0);
    config = over_wan(ns2_tcp(Variant::Reno, 20), drops(), StopRule::At(MS * 20_000));
    config.warmup = SimTime::ZERO;
    let statistics = simulate(config);
    assert_eq!((statistics.flow.segments_lost, statistics.flow.retransmissions), (1, 1));
    assert_eq!(statistics.duration, MS * 20_000);
}

#[test]
fn a_transfer_ends_when_its_last_segment_is_delivered() {
    let mut config = over_wan(
        TcpConfig { segments: Some(10), ..ns2_tcp(Variant::Reno, 20) },
        Box::new(Lossless),
        StopRule::Delivered(10),
    );
    config.warmup = SimTime::ZERO;
    let statistics = simulate(config);
    // Windows of 1, 2, 4 and 3: three round trips of 40.832 ms, then 20 ms and three packets.
    assert_eq!(statistics.flow.segments_in_order, 10);
    assert_eq!(statistics.duration, SimTime::from_micros(3 * 40_832 + 20_000 + 3 * 800));
}

#[test]
fn a_dead_channel_ends_the_run() {
    let config = over_wan(
        ns2_tcp(Variant::Reno, 20),
        Box::new(Iid::new(1.0, stream(0)).unwrap()),
        StopRule::Delivered(10),
    );
    let statistics = simulate(config);
    assert!(statistics.stalled);
    assert_eq!(statistics.flow.segments_delivered, 0);
}

#[test]
fn a_cancelled_run_says_so() {
    let config = over_wan(ns2_tcp(Variant::Reno, 20), Box::new(Lossless), StopRule::Delivered(u64::MAX));
    assert_eq!(run(config, None, &AtomicBool::new(true)), Err(Interrupted));
}

/// Observer that counts events and checks their order in time.
#[derive(Default)]
struct Counts {
    last: SimTime,
    sent: u64,
    lost: u64,
    dropped: u64,
    received: u64,
    timeouts: u64,
    fast_retransmits: u64,
}

impl Observer for Counts {
    fn record(&mut self, event: &EventRecord) {
        assert!(event.time >= self.last, "events come in order of time");
        assert!(event.tcp.cwnd >= 1.0);
        self.last = event.time;
        match event.kind {
            EventKind::Send => self.sent += 1,
            EventKind::Lost => self.lost += 1,
            EventKind::QueueDrop => self.dropped += 1,
            EventKind::Receive => self.received += 1,
            EventKind::Timeout => self.timeouts += 1,
            EventKind::FastRetransmit => self.fast_retransmits += 1,
            _ => {}
        }
    }
}

proptest! {
    /// Every transmission is lost, dropped, received or still in the network; an observer changes nothing; a finite
    /// transfer over a channel with losses in both directions completes.
    #[test]
    fn what_is_counted_adds_up(
        variant in prop::sample::select(vec![Variant::OldTahoe, Variant::Tahoe, Variant::Reno, Variant::NewReno, Variant::Sack]),
        paper in any::<bool>(), slot_gate in any::<bool>(), w_max in 1u32..50,
        p_e in 0.0f64..0.4, ack_p_e in 0.0f64..0.4, mean_burst in 1.7f64..8.0,
        delay_us in 0u64..30_000, queue_limit in prop::option::of(0usize..30), seed in 0u64..1000,
    ) {
        let segments = 200;
        let config = || {
            let mut tcp = TcpConfig { segments: Some(segments), ..ns2_tcp(variant, w_max) };
            if paper {
                tcp.flavour = Flavour::Paper;
                tcp.rto = RtoConfig { rule: RtoRule::Fixed(MS * 300), backoff: true, max: MS * 60_000 };
            }
            let chain = TwoStateMarkov::from_burst(p_e, mean_burst).unwrap();
            let loss = MarkovLoss::new(&chain, Clock::Slot(SimTime::from_micros(800)), stream(seed));
            let mut config = over_wan(tcp, Box::new(loss), StopRule::Delivered(segments));
            config.gate = if slot_gate { SenderGate::Slot } else { SenderGate::Queue };
            config.forward.delay = SimTime::from_micros(delay_us);
            config.forward.queue_limit = queue_limit.map(QueueLimit::Packets);
            config.reverse.loss = Box::new(Iid::new(ack_p_e, stream(seed + 1)).unwrap());
            config.warmup = SimTime::ZERO;
            config
        };
        let statistics = simulate(config());
        prop_assert!(!statistics.stalled);
        prop_assert_eq!(statistics.flow.segments_in_order, segments);
        prop_assert_eq!(statistics.flow.segments_delivered, segments);
        let mut counts = Counts::default();
        let observed = run(config(), Some(&mut counts), &AtomicBool::new(false)).unwrap();
        prop_assert_eq!(&observed, &statistics);
        prop_assert_eq!(counts.sent, statistics.flow.segments_sent);
        prop_assert_eq!(counts.lost, statistics.flow.segments_lost);
        prop_assert_eq!(counts.dropped, statistics.flow.queue_drops);
        prop_assert_eq!(counts.timeouts, statistics.flow.timeouts);
        prop_assert_eq!(counts.fast_retransmits, statistics.flow.fast_retransmits);
        prop_assert!(statistics.flow.acks_sent == counts.received);
        prop_assert!(statistics.flow.acks_lost + statistics.flow.ack_queue_drops <= statistics.flow.acks_sent);
        prop_assert!(counts.received + counts.lost + counts.dropped <= counts.sent);
        prop_assert!(counts.received >= segments);
        prop_assert!(counts.sent - statistics.flow.retransmissions >= segments);
    }
}
