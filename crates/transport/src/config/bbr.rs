//! What a sender with BBR is told at the start.

use crossfade_core::SimTime;

/// The choices of BBR. The default is what Linux does in version 1, and the draft's version 3.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct BbrConfig {
    /// Bytes of data in a segment: two bounds are in bit/s.
    pub mss: u32,
    /// How much of the excess of aggregated acknowledgements the window may add, in time at the estimated bandwidth; `None`
    /// has no bound.
    pub extra_acked_cap: Option<SimTime>,
    /// Version 1 looks for policers.
    pub policer: bool,
    /// Version 3: whose.
    pub profile: BbrProfile,
    /// Version 3: when a pipe is full.
    pub full_pipe: FullPipeRule,
    /// Version 3: the pacing gain of Drain.
    pub drain_gain: f64,
    /// Version 3 of Linux: queues mark early and often, and marks count where the shortest round trip is at most this; 0 has no
    /// limit. `None`: no ECN.
    pub ecn_max_rtt: Option<SimTime>,
}

/// Source of BBR version 3.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default)]
pub enum BbrProfile {
    /// draft-ietf-ccwg-bbr-06.
    #[default]
    Draft,
    /// Branch v3 of google/bbr, a Linux kernel.
    Linux,
}

/// What is compared when three rounds without a quarter more say that the pipe is full.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum FullPipeRule {
    /// The rate of the first acknowledgement of each round (draft-ietf-ccwg-bbr-06 section 5.3.1.2).
    Draft,
    /// The rate of every acknowledgement; rounds are counted.
    Linux,
}

impl Default for BbrConfig {
    fn default() -> Self {
        Self {
            mss: 1448,
            extra_acked_cap: Some(SimTime::from_millis(100)),
            policer: true,
            profile: BbrProfile::Draft,
            full_pipe: FullPipeRule::Draft,
            drain_gain: 0.5,
            ecn_max_rtt: None,
        }
    }
}

impl BbrConfig {
    /// Version 3 as Linux has it.
    pub fn linux_v3() -> Self {
        Self {
            profile: BbrProfile::Linux,
            full_pipe: FullPipeRule::Linux,
            drain_gain: 88.0 / 256.0,
            ..Self::default()
        }
    }
}
