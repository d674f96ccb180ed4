//! Benchmark of a flow of flavour `rfc`, sender and receiver alone: time per delivered segment over windows of 100 to
//! 10,000 segments, which must not depend on the window.
//!
//! `cargo bench -p crossfade-transport --bench large_window`. The path is a first-in-first-out queue that loses one
//! transmission in a hundred, alone or in bursts of 30.

use crossfade_core::SimTime;
use crossfade_transport::congestion::{AckSample, CongestionControl};
use crossfade_transport::{Ack, Flavour, Receiver, RfcConfig, Segment, Sender, TcpConfig, Variant};
use std::collections::VecDeque;
use std::time::Instant;

/// Congestion control with a constant window, in segments, so that only the scoreboard is measured.
struct Constant(f64);

impl CongestionControl for Constant {
    fn cwnd(&self) -> f64 {
        self.0
    }

    fn ssthresh(&self) -> f64 {
        self.0
    }

    fn on_ack(&mut self, _ack: &AckSample) {}

    fn on_loss(&mut self, _now: SimTime, _window: f64) {}

    fn on_timeout(&mut self, _now: SimTime, _window: f64) {}

    fn set_cwnd(&mut self, _cwnd: f64) {}
}

fn config(rack: bool) -> TcpConfig {
    TcpConfig {
        initial_ssthresh: f64::INFINITY,
        rfc: RfcConfig { rack, tail_loss_probe: rack, ..RfcConfig::default() },
        ..TcpConfig::new(Flavour::Rfc, Variant::Sack, 1_000_000)
    }
}

/// True for one transmission in a hundred, in bursts of `burst`, at pseudo-random places that no window can be in step
/// with.
fn is_lost(transmission: u64, burst: u64) -> bool {
    // Knuth's multiplicative hash.
    let hash = (transmission / burst).wrapping_mul(0x9E37_79B9_7F4A_7C15) >> 32;
    hash.is_multiple_of(100)
}

/// Takes the next item of `queue` that has arrived by `now`.
fn due<T>(queue: &mut VecDeque<(SimTime, T)>, now: SimTime) -> Option<T> {
    queue.front().is_some_and(|(at, _)| *at <= now).then(|| queue.pop_front())?.map(|(_, item)| item)
}

/// Delivers `segments` segments in a window of `window`, with losses in bursts of `burst`, and returns the nanoseconds
/// per segment.
fn run(window: u64, burst: u64, rack: bool, segments: u64) -> f64 {
    let config = config(rack);
    let mut sender = Sender::with_congestion_control(config, Box::new(Constant(window as f64)));
    let mut receiver = Receiver::new(config);
    let mut data: VecDeque<(SimTime, Segment)> = VecDeque::new();
    let mut acks: VecDeque<(SimTime, Ack)> = VecDeque::new();
    let (spacing, delay) = (SimTime::from_micros(1), SimTime::from_micros(window));
    let (mut now, mut transmissions) = (SimTime::ZERO, 0);
    let start = Instant::now();
    while receiver.rcv_nxt() < segments {
        now += spacing;
        // One segment leaves for each that arrives: the rate of the path.
        if let Some(segment) = sender.poll_transmit(now) {
            transmissions += 1;
            if !is_lost(transmissions, burst) {
                data.push_back((now + delay, segment));
            }
        }
        while let Some(segment) = due(&mut data, now) {
            acks.extend(receiver.on_segment(now, &segment, false).ack.map(|ack| (now, ack)));
        }
        while let Some((_, ack)) = acks.pop_front() {
            sender.on_ack(now, &ack);
        }
        if receiver.next_timeout().is_some_and(|at| at <= now) {
            acks.extend(receiver.on_timeout(now).map(|ack| (now, ack)));
        }
        if sender.next_timeout().is_some_and(|at| at <= now) {
            sender.on_timeout(now);
        }
    }
    start.elapsed().as_nanos() as f64 / segments as f64
}

fn main() {
    for rack in [false, true] {
        for burst in [1, 30] {
            for window in [100, 1000, 10_000] {
                let nanos = run(window, burst, rack, 1_000_000);
                let rule = if rack { "rack" } else { "dupthresh" };
                println!("{rule:9} losses of {burst:2}, window {window:6}: {nanos:6.1} ns a segment");
            }
        }
    }
}
