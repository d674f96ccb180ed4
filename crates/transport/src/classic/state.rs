//! The sender's variables that loss recovery reads and changes.

use super::rto::{RetransmissionTimeout, RetransmissionTimer};
use crate::config::{Flavour, TcpConfig};
use crate::congestion::{AckSample, CongestionControl};
use crossfade_core::SimTime;
use std::collections::VecDeque;

/// Windows, sequence numbers and timers of a sender. RFC 9293's names; sequence numbers count segments.
pub struct SendState {
    /// The oldest segment not yet acknowledged (the paper's A).
    pub snd_una: u64,
    /// The next segment to send in order.
    pub snd_nxt: u64,
    /// One past the highest segment ever sent.
    pub snd_max: u64,
    /// How many segments the application has.
    pub available: u64,
    /// The receiver's window.
    pub w_max: u64,
    /// Duplicate acknowledgements that trigger a fast retransmit.
    pub dupthresh: u32,
    /// Whether the first duplicate acknowledgements send new segments (RFC 3042).
    pub limited_transmit: bool,
    /// Duplicate acknowledgements since the last new one.
    pub dupacks: u32,
    /// A segment to repeat before anything else.
    pub retransmit: Option<u64>,
    /// How large the window is.
    pub congestion: Box<dyn CongestionControl>,
    /// How long to wait.
    pub rto: RetransmissionTimeout,
    /// Until when to wait.
    pub timer: RetransmissionTimer,
    /// The segment whose round trip is being measured, and when it was sent.
    timed: Option<(u64, SimTime)>,
    /// Below this nothing may be timed any more: it was, or it was sent twice (Karn and Partridge 1987).
    timed_up_to: u64,
    /// The sum of the round trips measured, in seconds.
    pub rtt_sum_s: f64,
    /// The number of round trips measured.
    pub rtt_samples: u64,
}

impl SendState {
    /// A connection that has sent nothing, and whose window is that of `congestion`.
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

    /// Segments sent and not acknowledged, in the current pass over the window.
    pub fn flight_size(&self) -> u64 {
        self.snd_nxt - self.snd_una
    }

    /// The congestion window, inflated by `inflation` segments, within the receiver's.
    pub fn window(&self, inflation: u64) -> f64 {
        (self.congestion.cwnd() + inflation as f64).min(self.w_max as f64)
    }

    /// Takes the next segment in order if `usable` segments beyond `snd_una` may be under way and there is
    /// one.
    pub fn next_in_order(&mut self, usable: u64) -> Option<u64> {
        let seq = self.snd_nxt;
        if seq < self.available && seq - self.snd_una < usable {
            self.snd_nxt += 1;
            Some(seq)
        } else {
            None
        }
    }

    /// Segment `seq` leaves at `now`.
    pub fn on_sent(&mut self, seq: u64, now: SimTime) {
        if self.snd_una == self.snd_max {
            // Nothing was under way: a timer left over from before says nothing of this segment.
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

    /// `next_expected` acknowledges new data: advances the window, measures the round trip, ends the back-off.
    /// Returns how many segments it covers.
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

    /// Tells the congestion control of an acknowledgement that measures nothing else.
    pub fn grow_window(&mut self, now: SimTime, acked: u64) {
        let (next_expected, snd_max) = (self.snd_una, self.snd_max);
        let sample = AckSample { now, acked, rtt: None, next_expected, snd_max, cwnd_limited: true };
        self.congestion.on_ack(&sample);
    }

    /// Restarts the timer of the flow, or stops it if nothing is under way.
    pub fn restart_timer(&mut self, now: SimTime) {
        if self.snd_una < self.snd_max {
            self.timer.restart(now + self.rto.current());
        } else {
            self.timer.clear();
        }
    }

    /// A segment will be retransmitted: the round trip being measured would be ambiguous (Karn and Partridge
    /// 1987).
    pub fn stop_timing(&mut self) {
        self.timed = None;
    }

    /// Starts over from the oldest segment not acknowledged.
    pub fn go_back(&mut self) {
        self.retransmit = None;
        self.snd_nxt = self.snd_una;
    }
}
