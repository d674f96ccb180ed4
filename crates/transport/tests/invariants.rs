//! Guarantees of TCP in every flavour and variant, on a network that loses, delays, reorders and duplicates packets.

#[path = "adversary/tcp.rs"]
mod tcp;

use crate::adversary::{Play, RULES};
use crate::ops::ops;
use crossfade_core::SimTime;
use crossfade_transport::{
    BbrConfig, Flavour, Pacing, RateReduction, ReductionBound, RfcConfig, RtoConfig, RtoRule, Rules,
    TcpConfig, Variant,
};
use proptest::prelude::*;
use tcp::Tcp;

/// Number of segments that the application has written at first, and at the end.
const SEGMENTS: [u64; 2] = [60, 80];

/// Random combinations of the options that the RFCs leave open.
fn rfc_config() -> impl Strategy<Value = RfcConfig> {
    let rate_reduction = prop_oneof![
        Just(RateReduction::Immediate),
        Just(RateReduction::Rfc6937(ReductionBound::Conservative)),
        Just(RateReduction::Rfc6937(ReductionBound::SlowStart)),
        Just(RateReduction::Rfc9937),
    ];
    let delayed_ack = prop::option::of((1u64..500).prop_map(SimTime::from_millis));
    let ratio = 0.1..4.0_f64;
    let pacing = prop::option::of(
        (ratio.clone(), ratio, prop::option::of(1u64..5))
            .prop_map(|(slow_start_ratio, ratio, quantum)| Pacing { slow_start_ratio, ratio, quantum }),
    );
    let rule = prop::sample::select(RULES.to_vec());
    let options = (any::<[bool; 12]>(), any::<[bool; 8]>(), 0u32..20, pacing, rule);
    (rate_reduction, delayed_ack, options).prop_map(
        |(rate_reduction, delayed_ack, (on, linux, quick_acks, pacing, congestion_control))| {
            let rules = |i: usize| if linux[i] { Rules::Linux } else { Rules::Rfc };
            let ms = SimTime::from_millis;
            let [timestamps, d_sack, keep_sack_after_timeout, rescue_retransmission, ..] = on;
            let [
                ..,
                rack,
                tail_loss_probe,
                impatient,
                f_rto,
                eifel,
                ecn,
                restart_after_idle,
                cwnd_validation,
            ] = on;
            RfcConfig {
                congestion_control,
                windows: rules(0),
                hystart: linux[4],
                timestamps,
                delayed_ack,
                quick_acks,
                growth_acks: linux[5].then_some(1448),
                push_acks: linux[5],
                sack_compression: linux[5].then_some(ms(1)),
                handshake_rtt: linux[6].then_some(ms(20)),
                rtt_estimator: rules(1),
                timer_rules: rules(2),
                rack_rules: rules(3),
                prr_without_sack: linux[7],
                d_sack,
                keep_sack_after_timeout,
                rescue_retransmission,
                rate_reduction,
                rack,
                tail_loss_probe,
                impatient,
                f_rto,
                eifel,
                ecn,
                accurate_ecn: ecn && linux[0],
                accurate_ecn_option: (ecn && linux[0] && linux[1]).then_some(1448),
                restart_after_idle,
                cwnd_validation,
                pacing,
                bbr: if linux[2] { BbrConfig::linux_v3() } else { BbrConfig::default() },
            }
        },
    )
}

fn config() -> impl Strategy<Value = TcpConfig> {
    let flavour = prop_oneof![1 => Just(Flavour::Paper), 1 => Just(Flavour::Ns2), 4 => Just(Flavour::Rfc)];
    let variant = prop_oneof![
        Just(Variant::OldTahoe),
        Just(Variant::Tahoe),
        Just(Variant::Reno),
        Just(Variant::NewReno),
        Just(Variant::Sack),
        Just(Variant::Sack)
    ];
    let ms = SimTime::from_millis;
    let rule = prop_oneof![
        (1u64..2000).prop_map(move |t| RtoRule::Fixed(ms(t))),
        (1u64..2000, 1u64..4000, 1u64..500).prop_map(move |(min, initial, granularity)| {
            RtoRule::Estimated { min: ms(min), initial: ms(initial), granularity: ms(granularity) }
        }),
    ];
    (
        flavour,
        variant,
        1u32..40,
        1u32..10,
        1u32..64,
        1u32..5,
        any::<bool>(),
        rule,
        any::<bool>(),
        rfc_config(),
    )
        .prop_map(
            move |(
                flavour,
                variant,
                w_max,
                initial_window,
                ssthresh,
                dupthresh,
                limited_transmit,
                rule,
                backoff,
                rfc,
            )| {
                TcpConfig {
                    initial_window: f64::from(initial_window),
                    initial_ssthresh: f64::from(ssthresh),
                    dupthresh,
                    limited_transmit,
                    segments: Some(SEGMENTS[0]),
                    rfc,
                    rto: RtoConfig { rule, backoff, max: ms(60_000) },
                    ..TcpConfig::new(flavour, variant, w_max)
                }
            },
        )
}

proptest! {
    #[test]
    fn no_network_breaks_tcp(config in config(), ops in ops()) {
        let mut play = Play::<Tcp>::new(config, SEGMENTS[1]);
        play.poll();
        for op in ops {
            play.step(op);
        }
        play.finish();
    }
}
