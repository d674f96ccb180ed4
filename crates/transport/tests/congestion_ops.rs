//! Every congestion control and every recovery keeps its promises whatever happens: one sequence of
//! operations drives them all.

mod audit;

use audit::Audited;
use crossfade_core::{RunSeed, SimTime};
use crossfade_transport::congestion::{
    AckCounting, AckSample, BbrV1, BbrV3, CongestionControl, Cubic, Dctcp, HighSpeed, LinuxCubic, LinuxReno,
    Prague, Reno, RenoRule, Rounding, SlowStart,
};
use crossfade_transport::{
    Ack, AckOutcome, BbrConfig, Flavour, Pacing, RateReduction, Receiver, RfcConfig, RtoConfig, RtoRule,
    Segment, Sender, TcpConfig, Variant,
};
use proptest::prelude::*;

/// What happens next. Numbers are taken modulo what is possible.
#[derive(Clone, Copy, Debug)]
enum Op {
    /// Up to so many segments leave.
    Sent(u64),
    /// So many of the oldest segments under way arrive, and the acknowledgements come back.
    Acked(u64),
    /// One in the middle arrives.
    Sacked(u64),
    /// One is lost.
    Lost(u64),
    /// The oldest arrives with a congestion mark.
    Marked,
    /// So many nanoseconds pass.
    TimePasses(u64),
    /// Time passes until the retransmission timer expires.
    Timeout,
    /// The same, and then everything under way arrives after all.
    Spurious,
}

fn ops() -> impl Strategy<Value = Vec<Op>> {
    let span = prop_oneof![8 => 0u64..200_000_000, 1 => any::<u64>()];
    let op = prop_oneof![
        6 => (1u64..50).prop_map(Op::Sent),
        6 => (1u64..20).prop_map(Op::Acked),
        1 => any::<u64>().prop_map(Op::Acked),
        2 => any::<u64>().prop_map(Op::Sacked),
        1 => any::<u64>().prop_map(Op::Lost),
        1 => Just(Op::Marked),
        3 => span.prop_map(Op::TimePasses),
        1 => Just(Op::Timeout),
        1 => Just(Op::Spurious),
    ];
    prop::collection::vec(op, 0..300)
}

/// A congestion control, and what it promises beyond what all do.
#[derive(Clone, Copy, Debug)]
struct Control {
    make: fn(f64, f64) -> Box<dyn CongestionControl>,
    /// A window that is not in use does not grow.
    validates: bool,
    /// A spurious reduction is undone.
    undoes: bool,
    /// The least threshold that a reduction leaves.
    least_ssthresh: f64,
    /// The window to which a mark may raise a smaller one.
    least_marked: f64,
    /// Growth that acknowledgements allowed earlier may come with a later one: CUBIC's, which counts an acknowledgement once, is
    /// that of Reno's estimate, which counts segments, as soon as that is the larger (RFC 9438 section 4.3).
    catches_up: bool,
}

/// A rule of an RFC.
const fn rfc(make: fn(f64, f64) -> Box<dyn CongestionControl>) -> Control {
    Control { make, validates: true, undoes: true, least_ssthresh: 2.0, least_marked: 1.0, catches_up: false }
}

/// CUBIC.
const fn cubic(make: fn(f64, f64) -> Box<dyn CongestionControl>) -> Control {
    Control { catches_up: true, ..rfc(make) }
}

type Make = fn(f64, f64) -> Box<dyn CongestionControl>;

const CONTROLS: [Control; 9] = [
    rfc(|cwnd, ssthresh| Box::new(Reno::new(cwnd, ssthresh))),
    rfc(|cwnd, ssthresh| Box::new(Reno::new(cwnd, ssthresh).with_counting(AckCounting::PerAck))),
    rfc(|cwnd, ssthresh| Box::new(Reno::new(cwnd, ssthresh).with_slow_start(SlowStart::hystart()))),
    cubic(|cwnd, ssthresh| Box::new(Cubic::new(cwnd, ssthresh))),
    cubic(|cwnd, ssthresh| {
        let cubic = Cubic::new(cwnd, ssthresh).with_slow_start(SlowStart::standard(f64::INFINITY));
        Box::new(cubic.with_counting(AckCounting::PerSegment).without_fast_convergence())
    }),
    cubic(|cwnd, ssthresh| Box::new(Cubic::new(cwnd, ssthresh).with_c(1e6))),
    // A mark is a loss to it: two segments at the least.
    Control { least_marked: 2.0, ..rfc(|cwnd, ssthresh| Box::new(HighSpeed::new(cwnd, ssthresh))) },
    Control {
        make: |cwnd, ssthresh| Box::new(RenoRule::new(cwnd, ssthresh, 1e15, Rounding::Up)),
        validates: false,
        undoes: false,
        least_ssthresh: 1.0,
        least_marked: 2.0,
        catches_up: false,
    },
    Control {
        make: |cwnd, ssthresh| Box::new(RenoRule::new(cwnd, ssthresh, f64::INFINITY, Rounding::Down)),
        validates: false,
        undoes: false,
        least_ssthresh: 2.0,
        least_marked: 1.0,
        catches_up: false,
    },
];

/// Those whose windows follow marks, rates or the kernel: what all promise is all that is asked of them.
const OTHERS: [Make; 9] = [
    |cwnd, ssthresh| Box::new(LinuxReno::new(cwnd, ssthresh)),
    |cwnd, ssthresh| Box::new(LinuxCubic::new(cwnd, ssthresh, true)),
    |cwnd, ssthresh| Box::new(Dctcp::new(cwnd, ssthresh)),
    |cwnd, ssthresh| Box::new(Prague::new(cwnd, ssthresh)),
    |cwnd, _| Box::new(BbrV1::new(cwnd, BbrConfig::default(), None)),
    |cwnd, _| Box::new(BbrV1::new(cwnd, BbrConfig { policer: false, ..BbrConfig::default() }, Some(2))),
    |cwnd, _| Box::new(BbrV3::new(cwnd, BbrConfig::default(), None)),
    |cwnd, _| Box::new(BbrV3::new(cwnd, BbrConfig::linux_v3(), None)),
    |cwnd, _| {
        let ecn_max_rtt = Some(SimTime::ZERO);
        Box::new(BbrV3::new(cwnd, BbrConfig { ecn_max_rtt, ..BbrConfig::linux_v3() }, None))
    },
];

fn control() -> impl Strategy<Value = Control> {
    prop::sample::select(CONTROLS.to_vec())
}

fn any_control() -> impl Strategy<Value = Make> {
    let makes = CONTROLS.iter().map(|control| control.make).chain(OTHERS);
    prop::sample::select(makes.collect::<Vec<_>>())
}

/// What the flow of [`RuleAlone`] is doing about losses.
#[derive(Clone, Copy, Debug, PartialEq)]
enum Phase {
    Open,
    /// Repairs what was lost; the window does not grow.
    Recovery {
        until: u64,
    },
    /// Starts over after a timeout; what was under way says nothing of new losses.
    Loss {
        until: u64,
    },
}

/// The simplest flow that tells a rule what happened: no segments, only counts.
struct RuleAlone {
    rule: Box<dyn CongestionControl>,
    control: Control,
    now: SimTime,
    snd_una: u64,
    snd_max: u64,
    sacked: u64,
    phase: Phase,
    /// Nothing new was acknowledged since the last timeout.
    timed_out: bool,
    /// Marks count again from here on.
    marks_from: u64,
    /// Windows, segments under way and phase before the last reduction, if that can be undone.
    before: Option<((f64, f64), u64, Phase)>,
    /// Growth that was allowed and not made since the window last fell.
    unused: f64,
}

impl RuleAlone {
    fn new(control: Control, cwnd: f64, ssthresh: f64) -> Self {
        Self {
            rule: (control.make)(cwnd, ssthresh),
            control,
            now: SimTime::ZERO,
            snd_una: 0,
            snd_max: 0,
            sacked: 0,
            phase: Phase::Open,
            timed_out: false,
            marks_from: 0,
            before: None,
            unused: 0.0,
        }
    }

    fn flight_size(&self) -> u64 {
        self.snd_max - self.snd_una
    }

    fn windows(&self) -> (f64, f64) {
        (self.rule.cwnd(), self.rule.ssthresh())
    }

    fn step(&mut self, op: Op) {
        let before = self.rule.cwnd();
        match op {
            Op::Sent(segments) => {
                let window = (self.rule.cwnd() as u64).saturating_sub(self.flight_size());
                self.snd_max += segments.min(window);
            }
            Op::Acked(segments) if self.flight_size() > 0 => self.acked(1 + segments % self.flight_size()),
            Op::Sacked(_) if self.sacked + 1 < self.flight_size() => {
                self.sacked += 1;
                if self.sacked >= 3 {
                    self.lost();
                }
            }
            Op::Lost(_) if self.flight_size() > 0 => self.lost(),
            Op::Marked if self.flight_size() > 0 => self.marked(),
            Op::TimePasses(nanos) => {
                let idle = SimTime::from_nanos(nanos);
                self.now = self.now.saturating_add(idle);
                if self.flight_size() == 0 {
                    let before = self.windows();
                    self.rule.on_idle_end(self.now, idle);
                    assert_eq!(self.windows(), before, "the restart window is the sender's business");
                }
            }
            Op::Timeout if self.flight_size() > 0 => self.timeout(),
            Op::Spurious if self.flight_size() > 0 => self.spurious(),
            _ => {}
        }
        let (cwnd, ssthresh) = self.windows();
        if cwnd < before {
            self.unused = 0.0;
        }
        assert!(cwnd.is_finite() && cwnd >= 1.0, "cwnd {cwnd} after {op:?}");
        assert!(ssthresh >= 1.0, "ssthresh {ssthresh} after {op:?}");
    }

    fn acked(&mut self, segments: u64) {
        let cwnd_limited = self.flight_size() >= self.rule.cwnd() as u64;
        self.snd_una += segments;
        self.sacked = self.sacked.saturating_sub(segments);
        self.timed_out = false;
        match self.phase {
            Phase::Recovery { until } => {
                if self.snd_una >= until {
                    self.phase = Phase::Open;
                    self.rule.set_cwnd(self.rule.ssthresh());
                }
                return;
            }
            Phase::Loss { until } if self.snd_una >= until => self.phase = Phase::Open,
            Phase::Open | Phase::Loss { .. } => {}
        }
        let before = self.windows();
        self.rule.on_ack(&AckSample {
            now: self.now,
            acked: segments,
            // Any round trip will do, also an absurd one.
            rtt: Some(SimTime::from_nanos(self.now.as_nanos() / 3)),
            next_expected: self.snd_una,
            snd_max: self.snd_max,
            cwnd_limited,
        });
        let (cwnd, ssthresh) = self.windows();
        assert!(cwnd >= before.0, "an acknowledgement took the window from {} to {cwnd}", before.0);
        let unused = if self.control.catches_up { self.unused } else { 0.0 };
        assert!(cwnd <= before.0 + segments as f64 + unused, "no rule is faster than slow start");
        self.unused = (unused + segments as f64 - (cwnd - before.0)).max(0.0);
        assert!(ssthresh == before.1 || ssthresh == cwnd, "only the end of slow start sets a threshold");
        if self.control.validates && !cwnd_limited {
            assert_eq!(cwnd, before.0, "a window that was not in use grew");
        }
    }

    fn lost(&mut self) {
        if self.phase != Phase::Open {
            return;
        }
        let (now, flight_size, before) = (self.now, self.flight_size() as f64, self.windows());
        self.rule.on_loss(now, flight_size);
        self.check_reduction(before, 2.0);
        self.before = Some((before, self.flight_size(), self.phase));
        self.phase = Phase::Recovery { until: self.snd_max };
        self.marks_from = self.snd_max;
    }

    fn marked(&mut self) {
        if self.phase != Phase::Open || self.snd_una < self.marks_from {
            return;
        }
        let (now, flight_size, before) = (self.now, self.flight_size() as f64, self.windows());
        self.rule.on_ecn(now, flight_size);
        self.check_reduction(before, self.control.least_marked);
        self.before = None;
        self.marks_from = self.snd_max;
    }

    fn timeout(&mut self) {
        let before = self.windows();
        if self.timed_out {
            self.rule.set_cwnd(1.0);
            assert_eq!(self.rule.ssthresh(), before.1, "RFC 5681 section 3.1: held constant");
        } else {
            self.rule.on_timeout(self.now, self.flight_size() as f64);
            self.check_reduction(before, 1.0);
            self.before = Some((before, self.flight_size(), self.phase));
        }
        assert_eq!(self.rule.cwnd(), 1.0);
        self.timed_out = true;
        self.phase = Phase::Loss { until: self.snd_max };
        self.sacked = 0;
        self.marks_from = self.snd_max;
    }

    /// The reduction was wrong: all is as it was, and stays so.
    fn spurious(&mut self) {
        let before = self.before.take();
        let reduced = self.windows();
        self.rule.undo();
        match before {
            Some(((cwnd, ssthresh), flight_size, phase)) if self.control.undoes && reduced.0 < cwnd => {
                assert_eq!(self.rule.cwnd(), cwnd);
                // RFC 4015 section 3.2, `pipe_prev`.
                let range = ssthresh..=ssthresh.max(flight_size as f64);
                assert!(range.contains(&self.rule.ssthresh()), "{} not in {range:?}", self.rule.ssthresh());
                self.phase = phase;
            }
            _ => assert_eq!(self.windows(), reduced),
        }
        let restored = self.windows();
        self.rule.undo();
        assert_eq!(self.windows(), restored, "a reduction is undone once");
    }

    fn check_reduction(&self, before: (f64, f64), least: f64) {
        let (cwnd, ssthresh) = self.windows();
        assert!(cwnd <= before.0.max(least), "a reduction took the window from {} to {cwnd}", before.0);
        assert!(ssthresh >= self.control.least_ssthresh, "ssthresh {ssthresh}");
    }
}

const SEGMENTS: u64 = 400;

/// A sender, a receiver, and the segments between them. Acknowledgements arrive at once.
struct Connection {
    config: TcpConfig,
    own_window: bool,
    sender: Sender,
    receiver: Receiver,
    now: SimTime,
    under_way: Vec<Segment>,
    delivered: u64,
    /// The window before the recovery under way.
    in_recovery: Option<f64>,
}

impl Connection {
    fn new(config: TcpConfig, make: Make, seed: u64) -> Self {
        let congestion = Box::new(Audited::new(make(config.initial_window, config.initial_ssthresh)));
        // A window of its own is not held by recovery.
        let own_window = congestion.needs().own_window;
        let mut sender = Sender::with_congestion_control(&config, congestion);
        sender.seed(|| RunSeed { seed, run: 0 }.stream("congestion"));
        Self {
            config,
            own_window,
            sender,
            receiver: Receiver::new(&config),
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

    /// The clock goes on; timers that expire meanwhile do so late.
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
        if self.config.flavour != Flavour::Quic {
            assert!(tcp.flight_size <= u64::from(self.config.w_max), "flight size {}", tcp.flight_size);
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
            && self.config.flavour == Flavour::Rfc
            && self.config.variant == Variant::Sack
            && self.config.rfc.rate_reduction == RateReduction::Immediate
    }

    /// The network behaves from now on: everything must arrive.
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

/// Takes an item out of the middle: the oldest first for small `at`.
fn take<T>(items: &mut Vec<T>, at: u64) -> Option<T> {
    (!items.is_empty()).then(|| items.remove((at % items.len() as u64) as usize))
}

fn config() -> impl Strategy<Value = TcpConfig> {
    let ms = SimTime::from_millis;
    let flavour = prop_oneof![
        1 => Just(Flavour::Paper),
        1 => Just(Flavour::Ns2),
        4 => Just(Flavour::Rfc),
        3 => Just(Flavour::Quic),
    ];
    let variant = prop::sample::select(vec![
        Variant::OldTahoe,
        Variant::Tahoe,
        Variant::Reno,
        Variant::NewReno,
        Variant::Sack,
    ]);
    let rule = RtoRule::Estimated { min: ms(200), initial: ms(1000), granularity: ms(1) };
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
        move |(flavour, variant, w_max, initial_window, ssthresh, (ecn, accurate), rfc, pacing)| TcpConfig {
            flavour,
            variant,
            w_max,
            initial_window: f64::from(initial_window.min(w_max)),
            initial_ssthresh: f64::from(ssthresh),
            dupthresh: 3,
            limited_transmit: flavour == Flavour::Rfc,
            rto: RtoConfig { rule, backoff: true, max: ms(60_000) },
            segments: Some(SEGMENTS),
            rfc: RfcConfig { ecn, accurate_ecn: ecn && accurate, pacing, ..rfc },
        },
    )
}

proptest! {
    #[test]
    fn every_congestion_control_keeps_its_promises(
        control in control(),
        // From one segment to what no network holds.
        initial_window in prop_oneof![4 => 1.0..100.0_f64, 1 => 1.0..1e12_f64],
        initial_ssthresh in prop_oneof![2 => Just(f64::INFINITY), 2 => 2.0..1e4_f64, 1 => 2.0..1e12_f64],
        ops in ops(),
    ) {
        let mut flow = RuleAlone::new(control, initial_window, initial_ssthresh);
        for op in ops {
            flow.step(op);
        }
    }

    #[test]
    fn every_recovery_keeps_its_promises_with_every_congestion_control(
        config in config(),
        make in any_control(),
        seed in any::<u64>(),
        ops in ops(),
    ) {
        // The flavours without samples give every control its windows.
        prop_assume!(matches!(config.flavour, Flavour::Rfc | Flavour::Quic) || !make(1.0, 1.0).needs().own_window);
        let mut connection = Connection::new(config, make, seed);
        for op in ops {
            connection.step(op);
        }
        connection.finish();
    }
}
