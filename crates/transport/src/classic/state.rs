//! Windows, sequence numbers and timers of a sender, which loss recovery reads and changes.

use super::rto::{RetransmissionTimeout, RetransmissionTimer};
use crate::config::{Flavour, TcpConfig};
use crate::congestion::{AckSample, CongestionControl};
use crossfade_core::SimTime;
use std::collections::VecDeque;

/// Windows, sequence numbers and timers of a sender, with the names of RFC 9293. Sequence numbers count segments.
pub struct SendState {
    /// Oldest segment not yet acknowledged (the paper's A).
    pub snd_una: u64,
    /// Next segment to send in order.
    pub snd_nxt: u64,
    /// One past the highest segment ever sent.
    pub snd_max: u64,
    /// Number of segments that the application has written.
    pub available: u64,
    /// Receiver window in segments.
    pub w_max: u64,
    /// Number of duplicate acknowledgements that trigger a fast retransmit.
    pub dupthresh: u32,
    /// True if each duplicate acknowledgement below `dupthresh` lets a new segment leave (limited transmit, RFC 3042).
    pub limited_transmit: bool,
    /// Number of duplicate acknowledgements since the last acknowledgement of new data.
    pub dupacks: u32,
    /// Segment to retransmit before any other segment is sent; `None` if there is none.
    pub retransmit: Option<u64>,
    /// Congestion control, which sets the window.
    pub congestion: Box<dyn CongestionControl>,
    /// Length of the retransmission timeout, with its estimator and back-off.
    pub rto: RetransmissionTimeout,
    /// Expiry times of the retransmission timer, or of the timers of single segments.
    pub timer: RetransmissionTimer,
    /// Segment whose RTT is being measured, and its sending time; `None` if none is measured.
    timed: Option<(u64, SimTime)>,
    /// Segments below this number may not be timed: they were timed already, or were retransmitted (Karn and Partridge
    /// 1987).
    timed_up_to: u64,
    /// Sum of the RTT samples, in seconds.
    pub rtt_sum_s: f64,
    /// Number of RTT samples.
    pub rtt_samples: u64,
}

impl SendState {
    /// Creates the state of a new connection, with the window that `congestion` sets.
    pub fn new(config: &TcpConfig, congestion: Box<dyn CongestionControl>) -> Self {
        let timer = match config.flavour {
            Flavour::Paper => RetransmissionTimer::Segments(VecDeque::new()),
            Flavour::Ns2 | Flavour::Rfc => RetransmissionTimer::Flow(None),
        };
        Self {
            snd_una: 0,
            snd_nxt: 0,
            snd_max: 0,
            available: config.segments.unwrap_or(u64::MAX),
            w_max: u64::from(config.w_max),
            dupthresh: config.dupthresh,
            limited_transmit: config.limited_transmit,
            dupacks: 0,
            retransmit: None,
            congestion,
            rto: RetransmissionTimeout::new(config.rto),
            timer,
            timed: None,
            timed_up_to: 0,
            rtt_sum_s: 0.0,
            rtt_samples: 0,
        }
    }

    /// Number of segments sent and not acknowledged, counted from the last go-back-N restart.
    pub fn flight_size(&self) -> u64 {
        self.snd_nxt - self.snd_una
    }

    /// Congestion window plus `inflation`, at most the receiver window; in segments.
    pub fn window(&self, inflation: u64) -> f64 {
        (self.congestion.cwnd() + inflation as f64).min(self.w_max as f64)
    }

    /// Takes the next segment in order, if the application has one and at most `usable` segments beyond `snd_una` would
    /// be in flight.
    pub fn next_in_order(&mut self, usable: u64) -> Option<u64> {
        let seq = self.snd_nxt;
        if seq < self.available && seq - self.snd_una < usable {
            self.snd_nxt += 1;
            Some(seq)
        } else {
            None
        }
    }

    /// Records that segment `seq` was sent at `now`.
    pub fn on_sent(&mut self, seq: u64, now: SimTime) {
        if self.snd_una == self.snd_max {
            // Nothing was in flight: a timer left from earlier segments does not apply to this one.
            self.timer.clear();
        }
        self.timer.on_sent(seq - self.snd_una, now + self.rto.current());
        if seq >= self.snd_max {
            self.snd_max = seq + 1;
            if self.timed.is_none() && seq >= self.timed_up_to {
                self.timed = Some((seq, now));
                self.timed_up_to = seq + 1;
            }
        }
    }

    /// Processes a cumulative acknowledgement of new data up to `next_expected`: advances the window and, if the
    /// segment being timed is covered, takes an RTT sample and ends the back-off. Returns the number of segments newly
    /// covered.
    pub fn on_new_ack(&mut self, next_expected: u64, now: SimTime) -> u64 {
        let acked = next_expected - self.snd_una;
        self.retransmit = None;
        self.snd_una = next_expected;
        // After a timeout the receiver may hold more than was retransmitted.
        self.snd_nxt = self.snd_nxt.max(next_expected);
        self.timer.on_acked(acked);
        match self.timed {
            Some((seq, sent)) if next_expected > seq => {
                self.timed = None;
                self.rto.end_backoff();
                self.rto.on_sample(sent, now);
                self.rtt_sum_s += (now - sent).as_secs_f64();
                self.rtt_samples += 1;
            }
            _ => {}
        }
        acked
    }

    /// Passes an acknowledgement of `acked` new segments to congestion control, without an RTT sample.
    pub fn grow_window(&mut self, now: SimTime, acked: u64) {
        let (next_expected, snd_max) = (self.snd_una, self.snd_max);
        let sample = AckSample { now, acked, rtt: None, next_expected, snd_max, cwnd_limited: true };
        self.congestion.on_ack(&sample);
    }

    /// Restarts the flow's timer, or stops it if nothing is in flight.
    pub fn restart_timer(&mut self, now: SimTime) {
        if self.snd_una < self.snd_max {
            self.timer.restart(now + self.rto.current());
        } else {
            self.timer.clear();
        }
    }

    /// Discards the current RTT measurement, which a retransmission makes ambiguous (Karn and Partridge 1987).
    pub fn stop_timing(&mut self) {
        self.timed = None;
    }

    /// Restarts from the oldest unacknowledged segment (go-back-N).
    pub fn go_back(&mut self) {
        self.retransmit = None;
        self.snd_nxt = self.snd_una;
    }
}
