//! An adversarial network for a connection, and the guarantees that the connection must keep on any network. Used by
//! the tests and by `fuzz/`.

use crossfade_core::{RunSeed, SimTime};
use crossfade_transport::{Ack, CongestionControlKind, Receiver, Segment, Sender, SenderConfig};

/// All congestion controls.
pub(crate) const RULES: [CongestionControlKind; 7] = [
    CongestionControlKind::Reno,
    CongestionControlKind::Cubic,
    CongestionControlKind::HighSpeed,
    CongestionControlKind::Dctcp,
    CongestionControlKind::Prague,
    CongestionControlKind::BbrV1,
    CongestionControlKind::BbrV3,
];

/// Time from which on the network waits no longer, about 9 years: timeouts must not exceed the range of times.
const LAST: SimTime = SimTime::from_nanos(u64::MAX >> 6);

/// Next action of the network or the application. Indices choose among the packets in flight.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Op {
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
    /// The application writes this number of segments, as far as its total allows.
    Write(u64),
}

/// Guarantees of a flavour beyond delivery in order and exactly once.
pub(crate) trait Promises: Default {
    /// Checks a segment that has just left the sender.
    fn on_sent(&mut self, _segment: &Segment) {}
    /// Checks the sender when it sends no further packet now.
    fn on_silence(&self, _sender: &Sender) {}
    /// Records a segment that has reached the receiver.
    fn on_arrival(&mut self, _segment: &Segment) {}
    /// Checks an acknowledgement that is about to reach the sender.
    fn on_ack(&mut self, _config: &SenderConfig, _ack: &Ack) {}
    /// Checks the sender after any action.
    fn check(&self, config: &SenderConfig, sender: &Sender);
}

/// A connection over the adversarial network: both ends, and the packets between them.
pub(crate) struct Play<P> {
    config: SenderConfig,
    pub(crate) sender: Sender,
    receiver: Receiver,
    pub(crate) now: SimTime,
    pub(crate) data: Vec<Segment>,
    acks: Vec<Ack>,
    /// Number of segments that the application has written so far.
    written: u64,
    /// Number of segments that the application writes in all.
    total: u64,
    delivered: u64,
    sent_up_to: u64,
    pub(crate) promises: P,
}

impl<P: Promises> Play<P> {
    /// Creates a connection whose application writes `config.segments` segments at first and `total` in all.
    pub(crate) fn new(config: impl Into<SenderConfig>, total: u64) -> Self {
        let config = config.into();
        let mut sender = Sender::new(config);
        sender.seed(|| RunSeed { seed: 1, run: 0 }.stream("congestion"));
        Self {
            config,
            sender,
            receiver: Receiver::new(config),
            now: SimTime::ZERO,
            data: Vec::new(),
            acks: Vec::new(),
            written: config.segments().expect("a limited source"),
            total,
            delivered: 0,
            sent_up_to: 0,
            promises: P::default(),
        }
    }

    pub(crate) fn step(&mut self, op: Op) {
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
                    self.acks.push(self.acks[i % self.acks.len()].clone());
                }
            }
            // Each wait may make the next timeout longer: the end of time is kept out of reach.
            Op::Wait(_) | Op::WaitForTimeout if self.now > LAST => {}
            Op::Wait(micros) => self.now += SimTime::from_micros(micros),
            Op::WaitForTimeout => self.wait_for_timeout(),
            Op::Write(segments) => self.write(segments),
        }
        self.check();
    }

    fn write(&mut self, segments: u64) {
        let segments = segments.min(self.total - self.written);
        self.written += segments;
        self.sender.write(segments);
    }

    pub(crate) fn poll(&mut self) {
        let mut left = 0;
        while let Some(segment) = self.sender.poll_transmit(self.now) {
            self.promises.on_sent(&segment);
            assert!(segment.seq < self.written, "segment {} was never written", segment.seq);
            assert!(
                segment.seq >= self.sender.snd_una(),
                "acknowledged segment {} is sent again",
                segment.seq
            );
            let window_end = self.sender.snd_una() + u64::from(self.config.w_max());
            assert!(segment.seq < window_end, "{} is beyond the window {window_end}", segment.seq);
            assert!(segment.seq <= self.sent_up_to, "{} leaves a gap", segment.seq);
            assert_eq!(segment.retransmission, segment.seq < self.sent_up_to);
            self.sent_up_to = self.sent_up_to.max(segment.seq + 1);
            self.data.push(segment);
            left += 1;
            assert!(left <= 2000, "it never ends");
            self.check();
        }
        self.promises.on_silence(&self.sender);
    }

    fn deliver(&mut self, segment: Segment, ce: bool) {
        let received = self.receiver.on_segment(self.now, &segment, ce);
        self.promises.on_arrival(&segment);
        self.delivered += received.delivered;
        assert_eq!(self.delivered, self.receiver.rcv_nxt(), "delivery is in order and exactly once");
        self.acks.extend(received.ack);
    }

    fn acknowledge(&mut self, ack: &Ack) {
        self.promises.on_ack(&self.config, ack);
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
        assert!(self.sender.snd_una() <= self.receiver.rcv_nxt());
        self.promises.check(&self.config, &self.sender);
    }

    /// Lets the network deliver everything from now on; all segments must arrive.
    pub(crate) fn finish(&mut self) {
        self.write(self.total);
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
        assert!(self.sender.is_done(), "{} segments were not delivered", self.total);
        assert_eq!(self.delivered, self.total);
    }
}

/// Removes and returns item number `i` modulo the number of items; `None` if there are none.
fn take<T>(items: &mut Vec<T>, i: usize) -> Option<T> {
    (!items.is_empty()).then(|| items.remove(i % items.len()))
}
