//! A base station's knowledge of a user's channel from reports.

use crate::feedback::FeedbackConfig;
use crate::user_channel::UserChannel;

/// The last report of a user that has reached the base station.
pub(crate) struct Reports {
    config: FeedbackConfig,
    /// A copy of the channel that stays at the slot of the last report, some slots behind the one that frames meet.
    channel: UserChannel,
    slot: Option<u64>,
    /// The reported ratio of each bin.
    ratios: Vec<f32>,
}

impl Reports {
    /// No report has come yet.
    pub(crate) fn new(config: FeedbackConfig, channel: UserChannel, bins: usize) -> Self {
        Self { config, channel, slot: None, ratios: vec![0.0; bins] }
    }

    /// Moves to the report that is known in `slot`.
    pub(crate) fn go(&mut self, slot: u64) {
        let known = self.config.known(slot);
        if self.slot == Some(known) {
            return;
        }
        self.slot = Some(known);
        self.channel.go(known);
        for (bin, told) in self.ratios.iter_mut().enumerate() {
            let ratio = self.channel.mean() * self.channel.predicted_power(bin);
            *told = self.config.quantiser.map_or(ratio, |quantiser| quantiser.told(ratio)) as f32;
        }
    }

    /// The reported ratio of each bin.
    pub(crate) fn ratios(&self) -> &[f32] {
        &self.ratios
    }

    /// The local mean where the report was made, in dB.
    pub(crate) fn mean_db(&self) -> f64 {
        self.channel.mean_db()
    }
}
