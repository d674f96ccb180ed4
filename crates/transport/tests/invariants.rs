//! Every flavour and variant keeps TCP's promises whatever the network does: loses, delays, reorders,
//! repeats.

use crossfade_core::SimTime;
use crossfade_transport::{
    Ack, BbrConfig, Flavour, Pacing, RateReduction, Receiver, ReductionBound, RfcConfig, RtoConfig, RtoRule,
    Rules, Segment, Sender, TcpConfig, Variant, WindowRule,
};
use proptest::prelude::*;

/// What the network does next. Indices choose among what is under way.
#[derive(Clone, Debug)]
enum Op {
    Poll,
    DeliverData(usize),
    MarkData(usize),
    RepeatData(usize),
    DelayedAck,
    LoseData(usize),
    DeliverAck(usize),
    LoseAck(usize),
    RepeatAck(usize),
    Wait(u64),
    WaitForTimeout,
}

fn ops() -> impl Strategy<Value = Vec<Op>> {
    let op = prop_oneof![
        4 => Just(Op::Poll),
        4 => any::<usize>().prop_map(Op::DeliverData),
        1 => any::<usize>().prop_map(Op::MarkData),
        1 => any::<usize>().prop_map(Op::RepeatData),
        1 => Just(Op::DelayedAck),
        1 => any::<usize>().prop_map(Op::LoseData),
        4 => any::<usize>().prop_map(Op::DeliverAck),
        1 => any::<usize>().prop_map(Op::LoseAck),
        1 => any::<usize>().prop_map(Op::RepeatAck),
        2 => (0u64..50_000).prop_map(Op::Wait),
        1 => Just(Op::WaitForTimeout),
    ];
    prop::collection::vec(op, 0..400)
}

/// Every combination of what the RFCs leave open.
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
    let options = (any::<[bool; 12]>(), any::<[bool; 8]>(), 0u32..20, pacing);
    (rate_reduction, delayed_ack, options).prop_map(
        |(rate_reduction, delayed_ack, (on, linux, quick_acks, pacing))| {
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
                window_rule: match quick_acks % 4 {
                    0 => WindowRule::BbrV1,
                    1 => WindowRule::BbrV3,
                    2 if linux[0] => WindowRule::Prague,
                    3 if linux[0] => WindowRule::Dctcp,
                    _ if linux[4] => WindowRule::Cubic,
                    _ => WindowRule::Reno,
                },
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
                    flavour,
                    variant,
                    w_max,
                    initial_window: f64::from(initial_window),
                    initial_ssthresh: f64::from(ssthresh),
                    dupthresh,
                    limited_transmit,
                    rto: RtoConfig { rule, backoff, max: ms(60_000) },
                    segments: Some(60),
                    rfc,
                }
            },
        )
}

/// A connection and everything that is between its ends.
struct Play {
    config: TcpConfig,
    sender: Sender,
    receiver: Receiver,
    now: SimTime,
    data: Vec<Segment>,
    acks: Vec<Ack>,
    delivered: u64,
    sent_up_to: u64,
}

impl Play {
    fn new(config: TcpConfig) -> Self {
        Self {
            config,
            sender: Sender::new(&config),
            receiver: Receiver::new(&config),
            now: SimTime::ZERO,
            data: Vec::new(),
            acks: Vec::new(),
            delivered: 0,
            sent_up_to: 0,
        }
    }

    fn step(&mut self, op: &Op) {
        match *op {
            Op::Poll => self.poll(),
            Op::DeliverData(i) => {
                if let Some(segment) = take(&mut self.data, i) {
                    self.deliver(segment, false);
                }
            }
            Op::MarkData(i) => {
                if let Some(segment) = take(&mut self.data, i) {
                    self.deliver(segment, segment.ecn_capable);
                }
            }
            Op::RepeatData(i) => {
                if !self.data.is_empty() {
                    self.data.push(self.data[i % self.data.len()]);
                }
            }
            Op::DelayedAck => self.acks.extend(self.receiver.on_timeout(self.now)),
            Op::LoseData(i) => drop(take(&mut self.data, i)),
            Op::DeliverAck(i) => {
                if let Some(ack) = take(&mut self.acks, i) {
                    self.acknowledge(&ack);
                }
            }
            Op::LoseAck(i) => drop(take(&mut self.acks, i)),
            Op::RepeatAck(i) => {
                if !self.acks.is_empty() {
                    self.acks.push(self.acks[i % self.acks.len()]);
                }
            }
            Op::Wait(micros) => self.now += SimTime::from_micros(micros),
            Op::WaitForTimeout => self.wait_for_timeout(),
        }
        self.check();
    }

    fn poll(&mut self) {
        while let Some(segment) = self.sender.poll_transmit(self.now) {
            assert!(segment.seq < 60, "segment {} was never written", segment.seq);
            assert!(
                segment.seq >= self.sender.snd_una(),
                "acknowledged segment {} is sent again",
                segment.seq
            );
            let window_end = self.sender.snd_una() + u64::from(self.config.w_max);
            assert!(segment.seq < window_end, "{} is beyond the window {window_end}", segment.seq);
            assert!(segment.seq <= self.sent_up_to, "{} leaves a gap", segment.seq);
            assert_eq!(segment.retransmission, segment.seq < self.sent_up_to);
            self.sent_up_to = self.sent_up_to.max(segment.seq + 1);
            self.data.push(segment);
            self.check();
        }
    }

    fn deliver(&mut self, segment: Segment, ce: bool) {
        let received = self.receiver.on_segment(self.now, &segment, ce);
        self.delivered += received.delivered;
        assert_eq!(self.delivered, self.receiver.rcv_nxt(), "delivery is in order and exactly once");
        self.acks.extend(received.ack);
    }

    fn acknowledge(&mut self, ack: &Ack) {
        let before = self.sender.snd_una();
        self.sender.on_ack(self.now, ack);
        assert!(self.sender.snd_una() >= before, "snd_una goes back");
    }

    fn wait_for_timeout(&mut self) {
        if let Some(deadline) = self.sender.next_timeout() {
            self.now = self.now.max(deadline);
            self.sender.on_timeout(self.now);
        }
    }

    fn check(&self) {
        let tcp = self.sender.snapshot();
        assert!(tcp.cwnd >= 1.0 && tcp.cwnd.is_finite(), "cwnd {}", tcp.cwnd);
        assert!(tcp.ssthresh >= 1.0, "ssthresh {}", tcp.ssthresh);
        assert!(tcp.backoff >= 1);
        assert!(tcp.flight_size <= u64::from(self.config.w_max), "flight size {}", tcp.flight_size);
        assert!(self.sender.snd_una() <= self.receiver.rcv_nxt());
        // RFC 6675 counts a segment twice while both its transmissions may be under way.
        assert!(self.sender.pipe() <= 2 * tcp.flight_size, "pipe {}", self.sender.pipe());
        assert!(tcp.flight_size == 0 || self.sender.next_timeout().is_some(), "no timer runs");
    }

    /// The network behaves from now on: everything must arrive.
    fn finish(&mut self) {
        for _ in 0..10_000 {
            self.poll();
            if let Some(segment) = take(&mut self.data, 0) {
                self.deliver(segment, false);
            } else if let Some(ack) = take(&mut self.acks, 0) {
                self.acknowledge(&ack);
            } else if self.sender.is_done() {
                break;
            } else {
                let deadline = self.sender.next_timeout().expect("nothing under way and no timer: deadlock");
                match self.receiver.next_timeout().filter(|at| *at <= deadline) {
                    Some(at) => {
                        self.now = self.now.max(at);
                        self.acks.extend(self.receiver.on_timeout(self.now));
                    }
                    None => self.wait_for_timeout(),
                }
            }
            self.check();
        }
        assert!(self.sender.is_done(), "60 segments were not delivered");
        assert_eq!(self.delivered, 60);
    }
}

/// Takes an item out of the middle: the oldest first for small `i`.
fn take<T>(items: &mut Vec<T>, i: usize) -> Option<T> {
    (!items.is_empty()).then(|| items.remove(i % items.len()))
}

proptest! {
    #[test]
    fn no_network_breaks_tcp(config in config(), ops in ops()) {
        let mut play = Play::new(config);
        play.poll();
        for op in &ops {
            play.step(op);
        }
        play.finish();
    }
}
