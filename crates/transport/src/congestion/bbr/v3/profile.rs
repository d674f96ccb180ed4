//! Parameters in which BBR version 3 of Linux (branch v3 of google/bbr, 2023) differs from the draft.

use crate::config::{BbrConfig, BbrProfile, FullPipeRule};
use crate::congestion::bbr::bounds::LossRules;

/// Parameters of BBR version 3, by its source: the draft or Linux.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Profile {
    /// True if whole segments, targets and phases follow the kernel rather than the draft.
    pub(super) is_linux: bool,
    /// Pacing gain of Startup.
    pub(super) startup_gain: f64,
    /// Pacing gain of Drain.
    pub(super) drain_gain: f64,
    /// Pacing gain of DOWN.
    pub(super) down_gain: f64,
    /// Loss thresholds and reductions.
    pub(super) losses: LossRules,
    /// True if growth of the delivery rate is checked at every acknowledgement, not only at the first of a round.
    pub(super) looks_always: bool,
    /// Maximum length of Drain in rounds; `None`: no limit.
    pub(super) drain_rounds: Option<u64>,
    /// Length in rounds of the filter for aggregated acknowledgements, or of one of its two buckets in Linux.
    pub(super) aggregation_rounds: u64,
}

impl Profile {
    pub(super) fn new(config: &BbrConfig) -> Self {
        let (drain_gain, looks_always) = (config.drain_gain, config.full_pipe == FullPipeRule::Linux);
        match config.profile {
            BbrProfile::Draft => Self {
                is_linux: false,
                // 4 ln 2 (section 5.6.2).
                startup_gain: 2.77,
                drain_gain,
                down_gain: 0.9,
                losses: LossRules::DRAFT,
                looks_always,
                drain_rounds: Some(3),
                aggregation_rounds: 10,
            },
            BbrProfile::Linux => Self {
                is_linux: true,
                startup_gain: 710.0 / 256.0,
                drain_gain,
                down_gain: 232.0 / 256.0,
                losses: LossRules::LINUX,
                looks_always,
                drain_rounds: None,
                aggregation_rounds: 5,
            },
        }
    }

    /// Rounds a window up to whole segments for Linux; the draft's windows stay unrounded.
    pub(super) fn up(self, segments: f64) -> f64 {
        if self.is_linux { segments.ceil() } else { segments }
    }
}
