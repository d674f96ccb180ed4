//! Flavour `quic` keeps its promises whatever the network does: loses, delays, reorders, marks, repeats.

use crossfade_core::{RunSeed, SimTime};
use crossfade_transport::{
    Ack, Flavour, Pacing, QuicConfig, Receiver, RfcConfig, RtoConfig, RtoRule, Segment, Sender, TcpConfig,
    Variant, WindowRule,
};
use proptest::prelude::*;
use std::collections::BTreeSet;

/// How much the application writes.
const SEGMENTS: u64 = 80;

/// What the network does next. Indices choose among what is under way.
#[derive(Clone, Copy, Debug)]
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
    /// The application writes so much more.
    Write(u64),
}

fn ops() -> impl Strategy<Value = Vec<Op>> {
    let op = prop_oneof![
        4 => Just(Op::Poll),
        5 => any::<usize>().prop_map(Op::DeliverData),
        1 => any::<usize>().prop_map(Op::MarkData),
        1 => any::<usize>().prop_map(Op::RepeatData),
        1 => Just(Op::DelayedAck),
        1 => any::<usize>().prop_map(Op::LoseData),
        4 => any::<usize>().prop_map(Op::DeliverAck),
        1 => any::<usize>().prop_map(Op::LoseAck),
        1 => any::<usize>().prop_map(Op::RepeatAck),
        2 => (0u64..50_000).prop_map(Op::Wait),
        1 => Just(Op::WaitForTimeout),
        1 => (1u64..8).prop_map(Op::Write),
    ];
    prop::collection::vec(op, 0..400)
}

fn config() -> impl Strategy<Value = TcpConfig> {
    let rule = prop::sample::select(vec![
        WindowRule::Reno,
        WindowRule::Cubic,
        WindowRule::HighSpeed,
        WindowRule::Dctcp,
        WindowRule::Prague,
        WindowRule::BbrV1,
        WindowRule::BbrV3,
    ]);
    let pacing =
        prop::option::of((0.5..4.0_f64, prop::option::of(1u64..5)).prop_map(|(ratio, quantum)| Pacing {
            slow_start_ratio: ratio,
            ratio,
            quantum,
        }));
    let numbers = (1u64..6, 1.0..3.0_f64, 1u32..5, 1u32..3, any::<bool>());
    let answers = (0u64..50, 1u32..5, 1u32..12);
    let windows = (1u32..40, 1u32..12, 2u32..64);
    (rule, pacing, numbers, answers, windows, any::<[bool; 3]>()).prop_map(
        |(
            window_rule,
            pacing,
            numbers,
            answers,
            (w_max, initial_window, ssthresh),
            [ecn, hystart, handshake],
        )| {
            let (packet_threshold, time_threshold, persistent_threshold, probes, undo) = numbers;
            let (max_ack_delay, ack_eliciting_threshold, ack_ranges) = answers;
            let ms = SimTime::from_millis;
            let quic = QuicConfig {
                packet_threshold,
                time_threshold,
                persistent_threshold,
                initial_rtt: ms(333),
                probes,
                undo,
                max_ack_delay: ms(max_ack_delay),
                ack_eliciting_threshold,
                ack_ranges,
            };
            let handshake_rtt = handshake.then_some(ms(20));
            TcpConfig {
                flavour: Flavour::Quic,
                variant: Variant::Sack,
                w_max,
                initial_window: f64::from(initial_window),
                initial_ssthresh: f64::from(ssthresh),
                dupthresh: 3,
                limited_transmit: false,
                rto: RtoConfig { rule: RtoRule::Fixed(ms(1000)), backoff: false, max: ms(1000) },
                segments: Some(SEGMENTS / 2),
                rfc: RfcConfig {
                    window_rule,
                    pacing,
                    ecn,
                    hystart,
                    handshake_rtt,
                    quic,
                    ..RfcConfig::default()
                },
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
    written: u64,
    delivered: u64,
    /// Packets sent; those that have reached the receiver, and of them those that an acknowledgement has told of.
    numbers: u64,
    arrived: BTreeSet<u64>,
    acknowledged: BTreeSet<u64>,
    sent_up_to: u64,
}

impl Play {
    fn new(config: TcpConfig) -> Self {
        let mut sender = Sender::new(&config);
        sender.seed(|| RunSeed { seed: 1, run: 0 }.stream("congestion"));
        Self {
            config,
            sender,
            receiver: Receiver::new(&config),
            now: SimTime::ZERO,
            data: Vec::new(),
            acks: Vec::new(),
            written: SEGMENTS / 2,
            delivered: 0,
            numbers: 0,
            arrived: BTreeSet::new(),
            acknowledged: BTreeSet::new(),
            sent_up_to: 0,
        }
    }

    fn step(&mut self, op: Op) {
        match op {
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
            Op::RepeatData(i) if !self.data.is_empty() => self.data.push(self.data[i % self.data.len()]),
            Op::DelayedAck => self.acks.extend(self.receiver.on_timeout(self.now)),
            Op::LoseData(i) => drop(take(&mut self.data, i)),
            Op::DeliverAck(i) => {
                if let Some(ack) = take(&mut self.acks, i) {
                    self.acknowledge(&ack);
                }
            }
            Op::LoseAck(i) => drop(take(&mut self.acks, i)),
            Op::RepeatAck(i) if !self.acks.is_empty() => {
                self.acks.push(self.acks[i % self.acks.len()].clone());
            }
            Op::RepeatData(_) | Op::RepeatAck(_) => {}
            Op::Wait(micros) => self.now += SimTime::from_micros(micros),
            Op::WaitForTimeout => self.wait_for_timeout(),
            Op::Write(segments) => self.write(segments),
        }
        self.check();
    }

    fn write(&mut self, segments: u64) {
        let segments = segments.min(SEGMENTS - self.written);
        self.written += segments;
        self.sender.write(segments);
    }

    fn poll(&mut self) {
        let mut left = 0;
        while let Some(packet) = self.sender.poll_transmit(self.now) {
            assert_eq!(packet.number, self.numbers, "numbers rise by one and are never used again");
            self.numbers += 1;
            assert!(packet.seq < self.written, "segment {} was never written", packet.seq);
            assert!(packet.seq >= self.sender.snd_una(), "segment {} is known to have arrived", packet.seq);
            let credit = self.sender.snd_una() + u64::from(self.config.w_max);
            assert!(packet.seq < credit, "{} is beyond the credit {credit}", packet.seq);
            assert!(packet.seq <= self.sent_up_to, "{} leaves a gap", packet.seq);
            assert_eq!(packet.retransmission, packet.seq < self.sent_up_to);
            self.sent_up_to = self.sent_up_to.max(packet.seq + 1);
            self.data.push(packet);
            left += 1;
            assert!(left <= 2000, "it never ends");
            self.check();
        }
        // Whoever has something in flight, or to send, waits for a timer.
        let is_idle = self.sender.is_done() || self.sender.next_timeout().is_some();
        assert!(is_idle, "no timer runs, and {} of {} have arrived", self.sender.snd_una(), self.written);
    }

    fn deliver(&mut self, packet: Segment, ce: bool) {
        let received = self.receiver.on_segment(self.now, &packet, ce);
        self.arrived.insert(packet.number);
        self.delivered += received.delivered;
        assert_eq!(self.delivered, self.receiver.rcv_nxt(), "delivery is in order and exactly once");
        self.acks.extend(received.ack);
    }

    fn acknowledge(&mut self, ack: &Ack) {
        let frame = ack.frame.as_ref().expect("an ACK frame");
        assert!(frame.ranges.len() <= self.config.rfc.quic.ack_ranges as usize);
        let reported = frame.ranges.iter().flat_map(|range| range.start..range.end);
        for number in reported {
            assert!(self.arrived.contains(&number), "{number} has not arrived");
            self.acknowledged.insert(number);
        }
        let before = self.sender.snd_una();
        self.sender.on_ack(self.now, ack);
        assert!(self.sender.snd_una() >= before, "the oldest segment goes back");
    }

    fn wait_for_timeout(&mut self) {
        if let Some(deadline) = self.sender.next_timeout() {
            self.now = self.now.max(deadline);
            self.sender.on_timeout(self.now);
        }
    }

    fn check(&self) {
        let snapshot = self.sender.snapshot();
        let is_own = matches!(self.config.rfc.window_rule, WindowRule::BbrV1 | WindowRule::BbrV3);
        let least = if is_own { 1.0 } else { self.config.initial_window.min(2.0) };
        assert!(snapshot.cwnd >= least && snapshot.cwnd.is_finite(), "cwnd {}", snapshot.cwnd);
        assert!(snapshot.ssthresh >= 2.0 && snapshot.backoff >= 1);
        assert!(self.sender.snd_una() <= self.receiver.rcv_nxt());
        // Whatever was sent is acknowledged, lost, or in flight.
        assert!(
            self.sender.pipe() + self.acknowledged.len() as u64 <= self.numbers,
            "more in flight than was sent"
        );
        let counts = self.sender.statistics();
        assert!(counts.spurious_losses <= self.acknowledged.len() as u64);
        assert!(counts.spurious_fast_retransmits <= counts.fast_retransmits);
    }

    /// The network behaves from now on: everything must arrive.
    fn finish(&mut self) {
        self.write(SEGMENTS);
        for _ in 0..20_000 {
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
        assert!(self.sender.is_done(), "{SEGMENTS} segments were not delivered");
        assert_eq!(self.delivered, SEGMENTS);
    }
}

/// Takes an item out of the middle: the oldest first for small `i`.
fn take<T>(items: &mut Vec<T>, i: usize) -> Option<T> {
    (!items.is_empty()).then(|| items.remove(i % items.len()))
}

proptest! {
    #[test]
    fn no_network_breaks_quic(config in config(), ops in ops()) {
        let mut play = Play::new(config);
        play.poll();
        for op in ops {
            play.step(op);
        }
        play.finish();
    }
}

/// The same sequence gives the same packets.
#[test]
fn what_is_sent_depends_on_nothing_else() {
    let mut runner = proptest::test_runner::TestRunner::deterministic();
    for _ in 0..20 {
        let tree = (config(), ops()).new_tree(&mut runner).unwrap();
        let (config, ops) = proptest::strategy::ValueTree::current(&tree);
        let sent = || {
            let mut play = Play::new(config);
            for op in &ops {
                play.step(*op);
            }
            (play.numbers, play.now, play.sender.statistics(), play.data, play.sender.snapshot())
        };
        assert_eq!(sent(), sent());
    }
}
