//! One flow over one bottleneck: packets of 1500 bytes wait in a drop-tail queue and are sent at a rate;
//! acknowledgements arrive after the rest of the RTT, optionally held back and released together.

#![allow(dead_code, unreachable_pub, reason = "each test file uses its part")]

use crossfade_core::{RunSeed, SimTime, Stream};
use crossfade_transport::congestion::{CongestionControl, ControlInfo};
use crossfade_transport::{
    Ack, Flavour, Receiver, RfcConfig, RtoConfig, Segment, Sender, TcpConfig, Variant,
};
use rand::RngExt;
use std::cmp::Reverse;
use std::collections::{BinaryHeap, HashMap, VecDeque};

pub const fn ms(time: u64) -> SimTime {
    SimTime::from_millis(time)
}

/// Rate of 10 Mbit/s in packets of 1500 bytes per second.
pub const P10: f64 = 10e6 / 12_000.0;

/// Configuration of the path between the two hosts.
#[derive(Clone, Copy)]
pub struct Conditions {
    /// Rate of the bottleneck in packets per second.
    pub rate: f64,
    /// RTT including one packet's transmission.
    pub rtt: SimTime,
    /// Capacity of the queue in packets; one more is dropped.
    pub queue: usize,
    /// Probability of a packet's loss before the queue.
    pub loss: f64,
    /// Interval at whose multiples acknowledgements are released; `None`: at once.
    pub ack_gap: Option<SimTime>,
    pub ack_loss: f64,
    /// Token bucket before the queue, which drops packets: rate in packets per second, and size in packets; `None`: no
    /// bucket.
    pub bucket: Option<(f64, f64)>,
    /// Receiver window in segments.
    pub w_max: u32,
    pub segments: Option<u64>,
    /// Run number, which selects the random numbers.
    pub run: u64,
}

impl Conditions {
    pub fn p10() -> Self {
        Self {
            rate: P10,
            rtt: ms(40),
            queue: 10_000,
            loss: 0.0,
            ack_gap: None,
            ack_loss: 0.0,
            bucket: None,
            w_max: 10_000,
            segments: None,
            run: 0,
        }
    }
}

/// Configuration of a sender as in Linux, whose packets are all acknowledged.
pub fn linux(conditions: &Conditions) -> TcpConfig {
    TcpConfig {
        initial_window: 10.0,
        initial_ssthresh: f64::INFINITY,
        segments: conditions.segments,
        rfc: RfcConfig { delayed_ack: None, handshake_rtt: Some(conditions.rtt), ..RfcConfig::linux() },
        rto: RtoConfig::estimated(ms(200), ms(1000), ms(200)),
        ..TcpConfig::new(Flavour::Rfc, Variant::Sack, conditions.w_max)
    }
}

/// State of the connection after an acknowledgement.
#[derive(Clone, Debug)]
pub struct Row {
    pub now: SimTime,
    pub info: ControlInfo,
    pub cwnd: u64,
    pub queue: usize,
    /// RTT sample of the acknowledgement.
    pub rtt: SimTime,
    pub pipe: u64,
    pub delivered: u64,
    /// Number of packets sent so far.
    pub sent: u64,
    /// Number of packets dropped so far for lack of room or tokens.
    pub dropped: u64,
}

impl Row {
    pub fn seconds(&self) -> f64 {
        self.now.as_secs_f64()
    }
}

#[derive(Clone)]
enum Event {
    /// The packet in transmission has left the bottleneck.
    Sent,
    Arrival(Segment),
    Ack(Ack),
    Timer,
    AckTimer,
}

pub struct Path {
    pub conditions: Conditions,
    pub sender: Sender,
    receiver: Receiver,
    pub now: SimTime,
    events: BinaryHeap<Reverse<(SimTime, u64)>>,
    pending: HashMap<u64, Event>,
    next_id: u64,
    queue: VecDeque<Segment>,
    /// Number of tokens in the bucket, and the time of that count.
    tokens: (f64, SimTime),
    random: Stream,
    pub delivered: u64,
    pub sent: u64,
    pub dropped: u64,
    pub rows: Vec<Row>,
    keeps_rows: bool,
}

impl Path {
    pub fn new(conditions: Conditions, config: &TcpConfig, rule: Box<dyn CongestionControl>) -> Self {
        let mut sender = Sender::with_congestion_control(config, rule);
        let seed = RunSeed { seed: 1, run: conditions.run };
        sender.seed(|| seed.stream("congestion.flow"));
        Self {
            conditions,
            sender,
            receiver: Receiver::new(config),
            now: SimTime::ZERO,
            events: BinaryHeap::new(),
            pending: HashMap::new(),
            next_id: 0,
            queue: VecDeque::new(),
            tokens: (conditions.bucket.map_or(0.0, |(_, burst)| burst), SimTime::ZERO),
            random: seed.stream("path"),
            delivered: 0,
            sent: 0,
            dropped: 0,
            rows: Vec::new(),
            keeps_rows: true,
        }
    }

    /// Keeps no rows of the run, which saves memory.
    pub fn quiet(self) -> Self {
        Self { keeps_rows: false, ..self }
    }

    /// Number of packets in the queue, including the one in transmission.
    pub fn queued(&self) -> usize {
        self.queue.len()
    }

    fn schedule(&mut self, at: SimTime, event: Event) {
        self.pending.insert(self.next_id, event);
        self.events.push(Reverse((at, self.next_id)));
        self.next_id += 1;
    }

    fn transmission(&self) -> SimTime {
        SimTime::from_secs_f64(1.0 / self.conditions.rate)
    }

    /// Takes a token, if there is a bucket; returns false if the packet must be dropped.
    fn conforms(&mut self) -> bool {
        let Some((rate, burst)) = self.conditions.bucket else { return true };
        let (tokens, since) = self.tokens;
        let tokens = (tokens + rate * (self.now - since).as_secs_f64()).min(burst);
        let conforms = tokens >= 1.0;
        self.tokens = (if conforms { tokens - 1.0 } else { tokens }, self.now);
        conforms
    }

    fn transmit(&mut self) {
        while let Some(segment) = self.sender.poll_transmit(self.now) {
            self.sent += 1;
            if self.random.random::<f64>() < self.conditions.loss {
                continue;
            }
            if !self.conforms() || self.queue.len() > self.conditions.queue {
                self.dropped += 1;
                continue;
            }
            self.queue.push_back(segment);
            if self.queue.len() == 1 {
                self.schedule(self.now + self.transmission(), Event::Sent);
            }
        }
        if let Some(at) = self.sender.next_timeout() {
            self.schedule(at.max(self.now), Event::Timer);
        }
    }

    /// Simulates until `end`; returns the number of packets that arrived for the first time meanwhile.
    pub fn run_until(&mut self, end: SimTime) -> u64 {
        let before = self.delivered;
        self.transmit();
        while let Some(&Reverse((at, id))) = self.events.peek() {
            if at > end {
                break;
            }
            self.events.pop();
            let event = self.pending.remove(&id).expect("each event once");
            self.now = at;
            self.handle(event);
        }
        self.now = end;
        self.delivered - before
    }

    fn handle(&mut self, event: Event) {
        match event {
            Event::Sent => {
                let segment = self.queue.pop_front().expect("one is being sent");
                if !self.queue.is_empty() {
                    self.schedule(self.now + self.transmission(), Event::Sent);
                }
                // All of the rest of the round trip lies behind the queue.
                self.schedule(self.now, Event::Arrival(segment));
            }
            Event::Arrival(segment) => {
                let received = self.receiver.on_segment(self.now, &segment, false);
                self.delivered += u64::from(received.is_new);
                if let Some(ack) = received.ack {
                    self.send_ack(ack);
                }
                if let Some(at) = self.receiver.next_timeout() {
                    self.schedule(at, Event::AckTimer);
                }
            }
            Event::AckTimer => {
                if let Some(ack) = self.receiver.on_timeout(self.now) {
                    self.send_ack(ack);
                }
            }
            Event::Ack(ack) => {
                self.sender.on_ack(self.now, &ack);
                if self.keeps_rows {
                    self.rows.push(Row {
                        now: self.now,
                        info: self.sender.info(),
                        cwnd: self.sender.snapshot().cwnd as u64,
                        queue: self.queue.len(),
                        rtt: self.now - ack.timestamp_echo.unwrap_or(self.now),
                        pipe: self.sender.pipe(),
                        delivered: self.delivered,
                        sent: self.sent,
                        dropped: self.dropped,
                    });
                }
                self.transmit();
            }
            Event::Timer => {
                if self.sender.next_timeout().is_some_and(|at| at <= self.now) {
                    self.sender.on_timeout(self.now);
                    self.transmit();
                }
            }
        }
    }

    fn send_ack(&mut self, ack: Ack) {
        if self.random.random::<f64>() < self.conditions.ack_loss {
            return;
        }
        let at = self.now + self.conditions.rtt.saturating_sub(self.transmission());
        let at = self.conditions.ack_gap.map_or(at, |gap| gap * at.as_nanos().div_ceil(gap.as_nanos()));
        self.schedule(at, Event::Ack(ack));
    }

    /// Share of the link's rate that delivered packets use between `from` and `to`.
    pub fn utilisation(&mut self, from: SimTime, to: SimTime) -> f64 {
        self.run_until(from);
        let delivered = self.run_until(to);
        delivered as f64 / (self.conditions.rate * (to - from).as_secs_f64())
    }
}
