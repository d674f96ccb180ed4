//! Configuration of BBR.

use crossfade_core::SimTime;

/// Options of BBR. By default version 1 follows Linux, and version 3 follows the draft.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct BbrConfig {
    /// Bytes of data per segment, needed because two bounds are in bit/s.
    pub mss: u32,
    /// Limit of the window's allowance for aggregated acknowledgements, as time at the estimated bandwidth; `None`: no
    /// limit.
    pub extra_acked_cap: Option<SimTime>,
    /// Version 1: whether it detects token-bucket policers.
    pub policer: bool,
    /// Version 3: source, the draft or Linux.
    pub profile: BbrProfile,
    /// Version 3: criterion for a full pipe.
    pub full_pipe: FullPipeRule,
    /// Version 3: pacing gain in Drain.
    pub drain_gain: f64,
    /// Version 3 of Linux: largest minimum RTT at which ECN marks count, for queues that mark early and often; 0: no
    /// limit; `None`: no ECN.
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

/// Criterion for a full pipe: the rate that is checked for three rounds with less than a quarter of growth.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum FullPipeRule {
    /// Rate of the first acknowledgement of each round (draft-ietf-ccwg-bbr-06 section 5.3.1.2).
    Draft,
    /// Rate of every acknowledgement; rounds without growth are counted.
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
    /// Version 3 as in Linux.
    pub fn linux_v3() -> Self {
        Self {
            profile: BbrProfile::Linux,
            full_pipe: FullPipeRule::Linux,
            drain_gain: 88.0 / 256.0,
            ..Self::default()
        }
    }
}
