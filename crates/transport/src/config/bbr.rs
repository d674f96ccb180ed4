//! Configuration of BBR, versions 1 and 3.

use crossfade_core::SimTime;

/// Options of BBR. By default version 1 follows Linux, and version 3 follows the draft.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct BbrConfig {
    /// Bytes of data per segment, needed because some of BBR's limits are in bytes or bit/s.
    pub mss: u32,
    /// Limit of the window's allowance for aggregated acknowledgements, as time at the estimated bandwidth; `None`: no
    /// limit.
    pub extra_acked_cap: Option<SimTime>,
    /// True if version 1 detects token-bucket policers.
    pub policer: bool,
    /// Source of version 3: the IETF draft or Linux.
    pub profile: BbrProfile,
    /// Criterion by which version 3 detects a full pipe.
    pub full_pipe: FullPipeRule,
    /// Pacing gain of version 3 in Drain: ratio of the pacing rate to the estimated bandwidth.
    pub drain_gain: f64,
    /// Largest minimum RTT at which version 3 of Linux reacts to ECN marks, for queues that mark early and often; 0: no
    /// limit; `None`: no reaction to marks.
    pub ecn_max_rtt: Option<SimTime>,
}

/// Source of BBR version 3: specification or implementation.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default)]
pub enum BbrProfile {
    /// IETF draft draft-ietf-ccwg-bbr-06.
    #[default]
    Draft,
    /// Branch v3 of google/bbr, the Linux kernel of BBR's authors.
    Linux,
}

/// Criterion for a full pipe: which delivery rates are compared. The pipe is full after three rounds in which the rate
/// has grown by less than a quarter.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum FullPipeRule {
    /// Rate of the first acknowledgement of each round (draft-ietf-ccwg-bbr-06 section 5.3.1.2).
    Draft,
    /// Rate of every acknowledgement: growth counts at once, missing growth once per round.
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
    /// Options of version 3 as in Linux (branch v3 of google/bbr).
    pub fn linux_v3() -> Self {
        Self {
            profile: BbrProfile::Linux,
            full_pipe: FullPipeRule::Linux,
            drain_gain: 88.0 / 256.0,
            ..Self::default()
        }
    }
}
