//! Every flavour and variant keeps TCP's promises whatever the network does: loses, delays, reorders,
//! repeats.

use crossfade_core::SimTime;
use crossfade_transport::{
    Ack, Flavour, Receiver, RfcConfig, RtoConfig, RtoRule, Segment, Sender, TcpConfig, Variant,
};
use proptest::prelude::*;

/// What the network does next. Indices choose among what is under way.
#[derive(Clone, Debug)]
enum Op {
    Poll,
    DeliverData(usize),
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
        1 => any::<usize>().prop_map(Op::LoseData),
        4 => any::<usize>().prop_map(Op::DeliverAck),
        1 => any::<usize>().prop_map(Op::LoseAck),
        1 => any::<usize>().prop_map(Op::RepeatAck),
        2 => (0u64..50_000).prop_map(Op::Wait),
        1 => Just(Op::WaitForTimeout),
    ];
    prop::collection::vec(op, 0..400)
}

fn config() -> impl Strategy<Value = TcpConfig> {
    let flavour = prop_oneof![Just(Flavour::Paper), Just(Flavour::Ns2), Just(Flavour::Rfc)];
    let variant = prop_oneof![
        Just(Variant::OldTahoe),
        Just(Variant::Tahoe),
        Just(Variant::Reno),
        Just(Variant::NewReno),
        Just(Variant::Sack)
    ];
    let ms = SimTime::from_millis;
    let rule = prop_oneof![
        (1u64..2000).prop_map(move |t| RtoRule::Fixed(ms(t))),
        (1u64..2000, 1u64..4000, 1u64..500).prop_map(move |(min, initial, granularity)| {
            RtoRule::Estimated { min: ms(min), initial: ms(initial), granularity: ms(granularity) }
        }),
    ];
    (flavour, variant, 1u32..40, 1u32..10, 1u32..64, 1u32..5, any::<bool>(), rule, any::<bool>()).prop_map(
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
                rfc: RfcConfig::default(),
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
                    self.deliver(segment);
                }
            }
            Op::LoseData(i) => drop(take(&mut self.data, i)),
            Op::DeliverAck(i) => {
                if let Some(ack) = take(&mut self.acks, i) {
                    self.sender.on_ack(self.now, &ack);
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

    fn deliver(&mut self, segment: Segment) {
        let received = self.receiver.on_segment(self.now, &segment, false);
        self.delivered += received.delivered;
        assert_eq!(self.delivered, self.receiver.rcv_nxt(), "delivery is in order and exactly once");
        self.acks.extend(received.ack);
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
    }

    /// The network behaves from now on: everything must arrive.
    fn finish(&mut self) {
        for _ in 0..10_000 {
            self.poll();
            if let Some(segment) = take(&mut self.data, 0) {
                self.deliver(segment);
            } else if let Some(ack) = take(&mut self.acks, 0) {
                self.sender.on_ack(self.now, &ack);
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
