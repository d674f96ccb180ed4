//! The idea of BBR (draft-ietf-ccwg-bbr) in a hundred lines: send at the highest delivery rate seen in ten rounds, with a
//! window of two products of it and the shortest round trip. A sketch to begin from; `bbr-v1` and `bbr-v3` are built in.

use crossfade_control::{AckSample, Control, Info, Needs, RateSample, Start, Time};

/// Pacing gains of the rounds of a cycle: above 1 to probe for bandwidth, below 1 to drain the queue that the probe has
/// built.
const CYCLE: [f64; 8] = [1.25, 0.75, 1.0, 1.0, 1.0, 1.0, 1.0, 1.0];
/// Doubles the rate each round: 2 / ln 2.
const STARTUP: f64 = 2.885;
/// The rate is the highest of so many rounds.
const ROUNDS: usize = 10;

struct Sketch {
    cwnd: f64,
    /// The highest rate of each of the last rounds, in segments a second.
    rates: [f64; ROUNDS],
    round: usize,
    /// The round ends with a segment that left when so many had arrived.
    ends_at: u64,
    min_rtt: Option<Time>,
    /// The rate that the pipe was last seen to grow beyond, and for how many rounds it has not since.
    full: (f64, u32),
    /// Current round of the cycle, once the pipe is full.
    at: Option<usize>,
}

impl Sketch {
    fn bandwidth(&self) -> f64 {
        self.rates.iter().copied().fold(0.0, f64::max)
    }

    /// Bandwidth times delay, in segments.
    fn product(&self) -> Option<f64> {
        let rtt = self.min_rtt?.as_secs_f64();
        Some(self.bandwidth() * rtt).filter(|product| *product > 0.0)
    }

    fn gain(&self) -> f64 {
        self.at.map_or(STARTUP, |at| CYCLE[at])
    }

    /// A round trip is over.
    fn on_round(&mut self, sample: &RateSample) {
        self.ends_at = sample.delivered;
        let bandwidth = self.bandwidth();
        if let Some(at) = &mut self.at {
            *at = (*at + 1) % CYCLE.len();
        } else if bandwidth >= 1.25 * self.full.0 {
            self.full = (bandwidth, 0);
        } else if !sample.app_limited {
            self.full.1 += 1;
            // Three rounds without a quarter more: full. Then the queue of it is to go.
            self.at = (self.full.1 >= 3).then_some(1);
        }
        self.round = (self.round + 1) % ROUNDS;
        self.rates[self.round] = 0.0;
    }
}

impl Control for Sketch {
    fn start(start: &Start) -> Self {
        Self {
            cwnd: start.cwnd,
            rates: [0.0; ROUNDS],
            round: 0,
            ends_at: 0,
            min_rtt: None,
            full: (0.0, 0),
            at: None,
        }
    }

    fn needs(&self) -> Needs {
        Needs { samples: true, own_window: true, paced: true, ..Needs::default() }
    }

    fn cwnd(&self) -> f64 {
        self.cwnd
    }

    fn ssthresh(&self) -> f64 {
        f64::INFINITY
    }

    fn pacing_rate(&self) -> Option<f64> {
        let bandwidth = self.bandwidth();
        (bandwidth > 0.0).then_some(0.99 * self.gain() * bandwidth)
    }

    fn send_quantum(&self) -> Option<u64> {
        Some(2)
    }

    fn on_delivery(&mut self, sample: &RateSample) {
        if let Some(rtt) = sample.rtt.get() {
            self.min_rtt = Some(self.min_rtt.map_or(rtt, |least| least.min(rtt)));
        }
        if let Some(rate) = sample.rate.get() {
            // What the application held back tells nothing, unless it is more.
            if !sample.app_limited || rate > self.bandwidth() {
                self.rates[self.round] = self.rates[self.round].max(rate);
            }
        }
        if sample.prior_delivered.get().is_some_and(|prior| prior >= self.ends_at) {
            self.on_round(sample);
        }
        let grown = self.cwnd + sample.newly_acked as f64;
        self.cwnd = match (self.product(), self.at) {
            (Some(product), Some(_)) => grown.min(2.0 * product + 6.0),
            _ => grown,
        }
        .max(4.0);
    }

    fn on_ack(&mut self, _ack: &AckSample) {}

    fn on_loss(&mut self, _now: Time, _window: f64) {}

    fn on_timeout(&mut self, _now: Time, _window: f64) {}

    fn set_cwnd(&mut self, _cwnd: f64) {}

    fn info(&self, info: &mut Info) {
        info.word("state", if self.at.is_none() { "startup" } else { "cycle" });
        info.number("bandwidth", self.bandwidth());
        info.number("pacing_gain", self.gain());
    }
}

crossfade_control::export!(Sketch);
