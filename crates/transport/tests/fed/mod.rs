//! BBR version 3 fed with samples that a test constructs.

#![allow(dead_code, unreachable_pub, reason = "each test file uses its part")]

use crossfade_core::SimTime;
use crossfade_transport::BbrConfig;
use crossfade_transport::congestion::{BbrV3, CongestionControl, LostSegment, RateSample};

pub const MS: SimTime = SimTime::from_millis(1);

/// Delivery rate in segments per second; with an RTT of 40 ms the bandwidth-delay product is 80 segments.
pub const RATE: f64 = 2000.0;

/// A BBR version 3 control, and the counts from which its samples are built.
pub struct Fed {
    pub control: BbrV3,
    pub now: SimTime,
    pub delivered: u64,
    pub lost: u64,
}

impl Fed {
    pub fn new(config: BbrConfig) -> Self {
        Self { control: BbrV3::new(10.0, config, Some(2)), now: SimTime::ZERO, delivered: 0, lost: 0 }
    }

    pub fn draft() -> Self {
        Self::new(BbrConfig { extra_acked_cap: Some(SimTime::ZERO), ..BbrConfig::default() })
    }

    pub fn linux() -> Self {
        Self::new(BbrConfig { extra_acked_cap: Some(SimTime::ZERO), ..BbrConfig::linux_v3() })
    }

    /// Creates the profile of Linux, in which marks count at any RTT.
    pub fn linux_with_ecn() -> Self {
        let (extra_acked_cap, ecn_max_rtt) = (Some(SimTime::ZERO), Some(SimTime::ZERO));
        Self::new(BbrConfig { extra_acked_cap, ecn_max_rtt, ..BbrConfig::linux_v3() })
    }

    pub fn state(&self) -> &'static str {
        self.control.info().state
    }

    /// Feeds a round of one acknowledgement of 80 segments, 40 ms after the last one; returns the state.
    pub fn round(&mut self, change: impl FnOnce(&mut RateSample)) -> &'static str {
        self.now += MS * 40;
        self.ack(80, change)
    }

    /// Feeds an acknowledgement of `newly` segments, the first of which left after the last acknowledgement; `change`
    /// edits the sample. Returns the state.
    pub fn ack(&mut self, newly: u64, change: impl FnOnce(&mut RateSample)) -> &'static str {
        let prior_delivered = self.delivered;
        self.delivered += newly;
        let mut sample = RateSample {
            now: self.now,
            delivered: self.delivered,
            prior_delivered: Some(prior_delivered),
            interval: MS * 40,
            rate: Some(RATE),
            // A little shorter each time: no ProbeRTT.
            rtt: Some(MS * 40 - SimTime::from_nanos(self.delivered)),
            srtt: Some(MS * 40),
            newly_acked: newly,
            lost: self.lost,
            tx_in_flight: 80,
            in_flight: 70,
            prior_in_flight: 70,
            departure: self.now,
            ..RateSample::default()
        };
        change(&mut sample);
        self.control.on_delivery(&sample);
        self.state()
    }

    /// Reports `count` losses, when `in_flight` segments were in flight as the last lost segment left.
    pub fn lose(&mut self, count: u64, in_flight: u64) {
        for lost in 1..=count {
            self.lost += 1;
            self.control.on_segment_lost(&LostSegment {
                now: self.now,
                tx_in_flight: in_flight,
                lost_since_sent: lost,
                ..LostSegment::default()
            });
        }
    }

    /// Feeds rounds until `state` begins; returns their number.
    pub fn until(&mut self, state: &str) -> u64 {
        let rounds = (1..200).find(|_| self.round(|_| {}) == state);
        rounds.unwrap_or_else(|| panic!("{} instead of {state}", self.state()))
    }
}
