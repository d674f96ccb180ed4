//! Guarantees of every loss recovery with every congestion control.

use super::audit::Audited;
use super::controls::{Make, any_control};
use super::operations::{Op, ops};
use crossfade_core::{RunSeed, SimTime};
use crossfade_transport::congestion::CongestionControl;
use crossfade_transport::{
    Ack, AckOutcome, Flavour, Pacing, QuicConfig, RateReduction, Receiver, RfcConfig, RtoConfig, Segment,
    Sender, SenderConfig, TcpConfig, Variant,
};
use proptest::prelude::*;

const SEGMENTS: u64 = 400;

/// A sender, a receiver, and the data segments between them. Acknowledgements arrive at once.
struct Connection {
    config: SenderConfig,
    own_window: bool,
    sender: Sender,
    receiver: Receiver,
    now: SimTime,
    under_way: Vec<Segment>,
    delivered: u64,
    /// Window in segments before the recovery in progress; `None` outside recovery.
    in_recovery: Option<f64>,
}

impl Connection {
    fn new(config: SenderConfig, make: Make, seed: u64) -> Self {
        let [cwnd, ssthresh] = config.initial_windows();
        let congestion = Box::new(Audited::new(make(cwnd, ssthresh)));
        // A window of its own is not held by recovery.
        let own_window = congestion.needs().own_window;
        let mut sender = Sender::with_congestion_control(config, congestion);
        sender.seed(|| RunSeed { seed, run: 0 }.stream("congestion"));
        Self {
            config,
            own_window,
            sender,
            receiver: Receiver::new(config),
            now: SimTime::ZERO,
            under_way: Vec::new(),
            delivered: 0,
            in_recovery: None,
        }
    }

    fn step(&mut self, op: Op) {
        match op {
            Op::Sent(segments) => self.send(segments),
            Op::Acked(segments) => {
                for _ in 0..segments.min(self.under_way.len() as u64) {
                    self.deliver(0, false);
                }
            }
            Op::Sacked(at) => self.deliver(at, false),
            Op::Lost(at) => drop(take(&mut self.under_way, at)),
            Op::Marked => self.deliver(0, true),
            Op::TimePasses(nanos) => {
                // The end of time is kept out of reach of a timeout, which is some round trips; 36 years are
                // enough.
                let rest = SimTime::from_nanos(u64::MAX / 16).saturating_sub(self.now);
                self.pass(SimTime::from_nanos(nanos).min(rest));
            }
            Op::Timeout => self.expire(),
            Op::Spurious => {
                self.expire();
                self.send(1);
                for _ in 0..self.under_way.len() {
                    self.deliver(0, false);
                }
            }
        }
        self.check();
    }

    fn send(&mut self, segments: u64) {
        for _ in 0..segments {
            let Some(segment) = self.sender.poll_transmit(self.now) else { break };
            assert!(segment.seq < SEGMENTS, "segment {} was never written", segment.seq);
            assert!(
                segment.seq >= self.sender.snd_una(),
                "acknowledged segment {} is sent again",
                segment.seq
            );
            self.under_way.push(segment);
            self.check();
        }
    }

    fn deliver(&mut self, at: u64, ce: bool) {
        let Some(segment) = take(&mut self.under_way, at) else { return };
        let received = self.receiver.on_segment(self.now, &segment, ce && segment.ecn_capable);
        self.delivered += received.delivered;
        if let Some(ack) = received.ack {
            self.acknowledge(&ack);
        }
    }

    fn acknowledge(&mut self, ack: &Ack) {
        let before = self.sender.snapshot().cwnd;
        match self.sender.on_ack(self.now, ack) {
            AckOutcome::FastRetransmit => self.in_recovery = Some(before),
            AckOutcome::RecoveryEnd => self.in_recovery = None,
            AckOutcome::New | AckOutcome::Duplicate | AckOutcome::Stale => {}
        }
    }

    /// Advances the clock by `span`; timers that expire within it are handled late, at its end.
    fn pass(&mut self, span: SimTime) {
        self.now += span;
        if let Some(ack) = self.receiver.on_timeout(self.now) {
            self.acknowledge(&ack);
        }
        if self.sender.next_timeout().is_some_and(|deadline| deadline <= self.now) {
            self.expire();
        }
    }

    fn expire(&mut self) {
        if let Some(deadline) = self.sender.next_timeout() {
            self.now = self.now.max(deadline);
            self.sender.on_timeout(self.now);
            self.in_recovery = None;
        }
    }

    fn check(&self) {
        let tcp = self.sender.snapshot();
        assert!(tcp.cwnd >= 1.0 && tcp.cwnd.is_finite(), "cwnd {}", tcp.cwnd);
        assert!(tcp.ssthresh >= 1.0, "ssthresh {}", tcp.ssthresh);
        // QUIC's flight is of packets: a segment may be in any number of them.
        if self.config.tcp().is_some() {
            assert!(tcp.flight_size <= u64::from(self.config.w_max()), "flight size {}", tcp.flight_size);
            assert!(self.sender.pipe() <= 2 * tcp.flight_size, "more in the pipe than every segment twice");
        }
        assert!(self.sender.snd_una() <= self.receiver.rcv_nxt());
        assert_eq!(self.delivered, self.receiver.rcv_nxt(), "delivery is in order and exactly once");
        // Where nothing inflates the window and nothing spreads its reduction, it stays at ssthresh. Half of a
        // FlightSize beyond the window may be more than it was, though.
        if let Some(before) = self.in_recovery.filter(|_| self.holds_window_in_recovery()) {
            let most = before.max(tcp.ssthresh);
            assert!(tcp.cwnd <= most, "recovery took the window from {before} to {}", tcp.cwnd);
        }
    }

    fn holds_window_in_recovery(&self) -> bool {
        !self.own_window
            && self.config.tcp().is_some_and(|tcp| {
                tcp.flavour == Flavour::Rfc
                    && tcp.variant == Variant::Sack
                    && tcp.rfc.rate_reduction == RateReduction::Immediate
            })
    }

    /// Lets the network deliver everything from now on; all segments must arrive.
    fn finish(&mut self) {
        for _ in 0..20_000 {
            self.send(u64::MAX);
            if !self.under_way.is_empty() {
                self.deliver(0, false);
            } else if self.sender.is_done() {
                return;
            } else if let Some(due) = self.receiver.next_timeout() {
                self.pass(due.saturating_sub(self.now));
            } else {
                assert!(self.sender.next_timeout().is_some(), "nothing under way and no timer: deadlock");
                self.expire();
            }
            self.check();
        }
        panic!("{SEGMENTS} segments were not delivered");
    }
}

/// Removes and returns item number `at` modulo the number of items; `None` if there are none.
fn take<T>(items: &mut Vec<T>, at: u64) -> Option<T> {
    (!items.is_empty()).then(|| items.remove((at % items.len() as u64) as usize))
}

fn config() -> impl Strategy<Value = SenderConfig> {
    let ms = SimTime::from_millis;
    // None is QUIC.
    let flavour = prop_oneof![
        1 => Just(Some(Flavour::Paper)),
        1 => Just(Some(Flavour::Ns2)),
        4 => Just(Some(Flavour::Rfc)),
        3 => Just(None),
    ];
    let variant = prop::sample::select(vec![
        Variant::OldTahoe,
        Variant::Tahoe,
        Variant::Reno,
        Variant::NewReno,
        Variant::Sack,
    ]);
    let rfc = prop_oneof![
        Just(RfcConfig::default()),
        Just(RfcConfig::linux()),
        Just(RfcConfig { timestamps: false, delayed_ack: None, ..RfcConfig::default() }),
        Just(RfcConfig { rate_reduction: RateReduction::Immediate, ..RfcConfig::default() }),
    ];
    let pacing = prop::option::of(prop::option::of(1u64..5))
        .prop_map(|quantum| quantum.map(|quantum| Pacing { quantum, ..Pacing::default() }));
    let ecn = (any::<bool>(), any::<bool>());
    (flavour, variant, 1u32..100, 1u32..20, 1u32..100, ecn, rfc, pacing).prop_map(
        move |(flavour, variant, w_max, initial_window, ssthresh, (ecn, accurate), rfc, pacing)| {
            let initial_window = f64::from(initial_window.min(w_max));
            let (initial_ssthresh, segments) = (f64::from(ssthresh), Some(SEGMENTS));
            let Some(flavour) = flavour else {
                let usual = QuicConfig::new(w_max);
                let quic = QuicConfig { initial_window, initial_ssthresh, segments, ecn, pacing, ..usual };
                return quic.into();
            };
            let tcp = TcpConfig {
                initial_window,
                initial_ssthresh,
                limited_transmit: flavour == Flavour::Rfc,
                segments,
                rfc: RfcConfig { ecn, accurate_ecn: ecn && accurate, pacing, ..rfc },
                rto: RtoConfig::estimated(ms(200), ms(1000), ms(1)),
                ..TcpConfig::new(flavour, variant, w_max)
            };
            tcp.into()
        },
    )
}

proptest! {
    #[test]
    fn every_recovery_keeps_its_promises_with_every_congestion_control(
        config in config(),
        make in any_control(),
        seed in any::<u64>(),
        ops in ops(),
    ) {
        // The flavours without samples give every control its windows.
        prop_assume!(config.congestion_control().is_some() || !make(1.0, 1.0).needs().own_window);
        let mut connection = Connection::new(config, make, seed);
        for op in ops {
            connection.step(op);
        }
        connection.finish();
    }
}
