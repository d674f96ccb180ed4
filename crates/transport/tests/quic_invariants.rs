//! Guarantees of flavour `quic` on a network that loses, delays, reorders, marks and duplicates packets.

#[path = "adversary/quic.rs"]
mod quic;

use crate::adversary::{Play, RULES};
use crate::ops::ops;
use crossfade_core::SimTime;
use crossfade_transport::{BbrConfig, Pacing, QuicConfig};
use proptest::prelude::*;
use quic::Numbers;

/// Number of segments that the application writes.
const SEGMENTS: u64 = 80;

fn config() -> impl Strategy<Value = QuicConfig> {
    let rule = prop::sample::select(&RULES[..]);
    let pacing =
        prop::option::of((0.5..4.0_f64, prop::option::of(1u64..5)).prop_map(|(ratio, quantum)| Pacing {
            slow_start_ratio: ratio,
            ratio,
            quantum,
        }));
    let numbers = (1u64..6, 1.0..3.0_f64, 1u32..5, 1u32..3, any::<bool>());
    let answers = (0u64..50, 1u32..5, 1u32..12);
    let windows = (1u32..40, 1u32..12, 2u32..64);
    (rule, pacing, numbers, answers, windows, any::<[bool; 4]>()).prop_map(
        |(
            congestion_control,
            pacing,
            numbers,
            answers,
            (w_max, initial_window, ssthresh),
            [ecn, hystart, handshake, linux],
        )| {
            let (packet_threshold, time_threshold, persistent_threshold, probes, undo) = numbers;
            let (max_ack_delay, ack_eliciting_threshold, ack_ranges) = answers;
            let ms = SimTime::from_millis;
            QuicConfig {
                initial_window: f64::from(initial_window),
                initial_ssthresh: f64::from(ssthresh),
                segments: Some(SEGMENTS / 2),
                congestion_control,
                hystart,
                pacing,
                bbr: if linux { BbrConfig::linux_v3() } else { BbrConfig::default() },
                ecn,
                handshake_rtt: handshake.then_some(ms(20)),
                packet_threshold,
                time_threshold,
                persistent_threshold,
                initial_rtt: ms(333),
                probes,
                undo,
                max_ack_delay: ms(max_ack_delay),
                ack_eliciting_threshold,
                ack_ranges,
                ..QuicConfig::new(w_max)
            }
        },
    )
}

proptest! {
    #[test]
    fn no_network_breaks_quic(config in config(), ops in ops()) {
        let mut play = Play::<Numbers>::new(config, SEGMENTS);
        play.poll();
        for op in ops {
            play.step(op);
        }
        play.finish();
    }
}

/// The packets sent depend only on configuration and actions: a repeated sequence gives equal packets.
#[test]
fn what_is_sent_depends_on_nothing_else() {
    let mut runner = proptest::test_runner::TestRunner::deterministic();
    for _ in 0..20 {
        let tree = (config(), ops()).new_tree(&mut runner).unwrap();
        let (config, ops) = proptest::strategy::ValueTree::current(&tree);
        let sent = || {
            let mut play = Play::<Numbers>::new(config, SEGMENTS);
            for op in &ops {
                play.step(*op);
            }
            (play.promises.sent, play.now, play.sender.statistics(), play.data, play.sender.snapshot())
        };
        assert_eq!(sent(), sent());
    }
}
