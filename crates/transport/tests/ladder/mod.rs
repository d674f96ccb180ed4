//! A sender on one side of a ladder diagram; the test is the network and the receiver.
//!
//! Times are in milliseconds since the last rung. Segments are numbered from 0, after those of the warm-up. The test
//! must take all segments that the sender may send before time goes on.

#![allow(dead_code, unused_macros, unreachable_pub, reason = "each test file uses its part")]

use crossfade_core::SimTime;
use crossfade_transport::congestion::{CongestionControl, Cubic, Reno, SlowStart};
use crossfade_transport::{
    Ack, AckOutcome, Expired, Flavour, RfcConfig, RtoConfig, SackBlock, SackBlocks, Segment, Sender,
    SenderStatistics, TcpConfig, Variant,
};
use std::ops::Range;

pub const fn ms(time: u64) -> SimTime {
    SimTime::from_millis(time)
}

/// Configuration for the packetdrill scripts: an initial window of ten segments, no timestamps, RTO at least 200 ms.
pub fn config(variant: Variant) -> TcpConfig {
    TcpConfig {
        initial_ssthresh: f64::INFINITY,
        segments: Some(0),
        rfc: RfcConfig { timestamps: false, ..RfcConfig::default() },
        rto: RtoConfig::estimated(ms(200), ms(1000), ms(1)),
        ..TcpConfig::new(Flavour::Rfc, variant, 1000)
    }
}

/// Configuration for the packetdrill scripts, with RACK and tail loss probes.
pub fn rack(variant: Variant) -> TcpConfig {
    let config = config(variant);
    TcpConfig { rfc: RfcConfig { rack: true, tail_loss_probe: true, ..config.rfc }, ..config }
}

/// Configuration `config` with timestamps.
pub fn with_timestamps(config: TcpConfig) -> TcpConfig {
    TcpConfig { rfc: RfcConfig { timestamps: true, ..config.rfc }, ..config }
}

/// Reno whose slow start counts all acknowledged segments, as in Linux.
pub fn byte_counting() -> Box<dyn CongestionControl> {
    Box::new(Reno::new(10.0, f64::INFINITY).with_slow_start(SlowStart::standard(f64::INFINITY)))
}

/// CUBIC, which a loss reduces to seven tenths of the window, as the scripts for Linux expect.
pub fn cubic() -> Box<dyn CongestionControl> {
    Box::new(Cubic::new(10.0, f64::INFINITY).with_slow_start(SlowStart::standard(8.0)))
}

pub struct Ladder {
    pub sender: Sender,
    now: SimTime,
    /// Number of segments sent in the warm-up.
    base: u64,
}

impl Ladder {
    pub fn new(config: &TcpConfig) -> Self {
        Self { sender: Sender::new(config), now: SimTime::ZERO, base: 0 }
    }

    pub fn with(config: &TcpConfig, congestion: Box<dyn CongestionControl>) -> Self {
        let sender = Sender::with_congestion_control(config, congestion);
        Self { sender, now: SimTime::ZERO, base: 0 }
    }

    /// Sends one segment and acknowledges it after `rtt` ms, so that the RTT is known (the scripts know it from the
    /// handshake).
    pub fn warm_up(mut self, rtt: u64) -> Self {
        self.write(1);
        let sent = self.poll();
        assert_eq!(sent.len(), 1);
        self.ack(rtt, 1, &[], Some(0), false);
        self.base = 1;
        self
    }

    pub fn write(&mut self, segments: u64) {
        self.sender.write(segments);
    }

    /// Advances time by `millis` ms; no timer may expire meanwhile.
    pub fn wait(&mut self, millis: u64) {
        assert_eq!(self.poll(), [], "taken by nobody");
        self.now += ms(millis);
        if let Some(deadline) = self.sender.next_timeout() {
            assert!(deadline >= self.now, "a timer expires at {deadline}, before {}", self.now);
        }
    }

    /// Delivers an acknowledgement after `after` ms; `echo` is the sending time in ms of the transmission that it
    /// answers.
    pub fn ack(
        &mut self,
        after: u64,
        next: u64,
        sack: &[Range<u64>],
        echo: Option<u64>,
        ece: bool,
    ) -> AckOutcome {
        self.wait(after);
        let mut blocks = SackBlocks::default();
        for block in sack {
            blocks.push(SackBlock { start: block.start + self.base, end: block.end + self.base });
        }
        let (next_expected, timestamp_echo) = (next + self.base, echo.map(ms));
        self.sender
            .on_ack(self.now, &Ack { next_expected, sack: blocks, timestamp_echo, ece, ..Ack::default() })
    }

    /// Delivers an acknowledgement after `after` ms that advertises a window of `window` segments from `next` on.
    pub fn advertise(&mut self, after: u64, next: u64, window: u32) -> AckOutcome {
        self.wait(after);
        let next_expected = next + self.base;
        self.sender.on_ack(self.now, &Ack { next_expected, window: Some(window), ..Ack::default() })
    }

    pub fn poll(&mut self) -> Vec<Segment> {
        let base = self.base;
        std::iter::from_fn(|| self.sender.poll_transmit(self.now))
            .map(|segment| Segment { seq: segment.seq - base, ..segment })
            .collect()
    }

    /// Lets the next timer expire, which must happen exactly `after` ms after the last rung; returns the timer.
    pub fn expire(&mut self, after: u64) -> Option<Expired> {
        assert_eq!(self.poll(), [], "taken by nobody");
        self.now += ms(after);
        assert_eq!(self.sender.next_timeout(), Some(self.now), "the next timer");
        self.sender.on_timeout(self.now)
    }

    pub fn cwnd(&self) -> f64 {
        self.sender.snapshot().cwnd
    }

    pub fn ssthresh(&self) -> f64 {
        self.sender.snapshot().ssthresh
    }

    pub fn counts(&self) -> SenderStatistics {
        self.sender.statistics()
    }

    pub fn now(&self) -> SimTime {
        self.now
    }

    /// Advances time to the next timer, whichever it is, and lets it expire. Returns its time.
    pub fn wake(&mut self) -> SimTime {
        self.now = self.sender.next_timeout().unwrap();
        self.sender.on_timeout(self.now);
        self.now
    }

    pub fn now_ms(&self) -> u64 {
        self.now / ms(1)
    }
}

/// Checks the segments that leave now: after `send!(ladder, 0..3, 7..8)` these and no others must leave, in this order.
macro_rules! send {
    ($ladder:expr $(, $range:expr)*) => {{
        let expected: Vec<u64> = [$($range),*].into_iter().flat_map(|range: std::ops::Range<u64>| range).collect();
        let sent: Vec<u64> = $ladder.poll().iter().map(|segment| segment.seq).collect();
        assert_eq!(sent, expected, "at {} ms", $ladder.now_ms());
    }};
}

/// Delivers an acknowledgement: `ack!(ladder, +10, 3, sack 5..6, 8..9)` arrives 10 ms later, expects segment 3 next,
/// and has these SACK blocks. `echo 20` is the sending time in ms of the segment that it answers.
macro_rules! ack {
    ($ladder:expr, + $after:expr, $next:expr) => { $ladder.ack($after, $next, &[], None, false) };
    ($ladder:expr, + $after:expr, $next:expr, sack $($block:expr),+) => {
        $ladder.ack($after, $next, &[$($block),+], None, false)
    };
    ($ladder:expr, + $after:expr, $next:expr, echo $echo:expr) => {
        $ladder.ack($after, $next, &[], Some($echo), false)
    };
    ($ladder:expr, + $after:expr, $next:expr, echo $echo:expr, sack $($block:expr),+) => {
        $ladder.ack($after, $next, &[$($block),+], Some($echo), false)
    };
    ($ladder:expr, + $after:expr, $next:expr, ece) => { $ladder.ack($after, $next, &[], None, true) };
}

/// Lets a timer expire: `timer!(ladder, +25, Reordering)` must expire 25 ms later, and no other timer before.
macro_rules! timer {
    ($ladder:expr, + $after:expr, $which:ident) => {
        assert_eq!($ladder.expire($after), Some(crossfade_transport::Expired::$which))
    };
}
