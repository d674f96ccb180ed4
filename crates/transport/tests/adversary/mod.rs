//! A network that does what it likes with a connection, and what the connection promises whatever it does. For the tests, and
//! for `fuzz/`.

use crossfade_core::SimTime;
use crossfade_transport::{Ack, Receiver, Segment, Sender, TcpConfig, WindowRule};

/// Every rule that there is.
pub(crate) const RULES: [WindowRule; 7] = [
    WindowRule::Reno,
    WindowRule::Cubic,
    WindowRule::HighSpeed,
    WindowRule::Dctcp,
    WindowRule::Prague,
    WindowRule::BbrV1,
    WindowRule::BbrV3,
];

/// Nobody waits any more from here on: 9 years.
const LAST: SimTime = SimTime::from_nanos(u64::MAX >> 6);

/// What the network does next. Indices choose among what is under way.
#[derive(Clone, Debug)]
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
}

/// A connection and everything that is between its ends.
pub(crate) struct Play {
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
    pub(crate) fn new(config: TcpConfig) -> Self {
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

    pub(crate) fn step(&mut self, op: &Op) {
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
                    self.acks.push(self.acks[i % self.acks.len()].clone());
                }
            }
            // Each wait may make the next timeout longer: the end of time is kept out of reach.
            Op::Wait(_) | Op::WaitForTimeout if self.now > LAST => {}
            Op::Wait(micros) => self.now += SimTime::from_micros(micros),
            Op::WaitForTimeout => self.wait_for_timeout(),
        }
        self.check();
    }

    pub(crate) fn poll(&mut self) {
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
    pub(crate) fn finish(&mut self) {
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
