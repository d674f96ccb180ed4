//! What a base station knows of a user from its reports.

use crate::feedback::FeedbackConfig;
use crate::user_channel::UserChannel;

/// The last report of a user that has come.
pub(crate) struct Reports {
    config: FeedbackConfig,
    /// Channel in which the report was made: behind the channel that frames meet.
    channel: UserChannel,
    slot: Option<u64>,
    /// The reported ratio of each bin.
    ratios: Vec<f32>,
}

impl Reports {
    /// None has come.
    pub(crate) fn new(config: FeedbackConfig, channel: UserChannel, bins: usize) -> Self {
        Self { config, channel, slot: None, ratios: vec![0.0; bins] }
    }

    /// Goes to what is known in `slot`.
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

    /// The ratio of each bin.
    pub(crate) fn ratios(&self) -> &[f32] {
        &self.ratios
    }

    /// The local mean where the report was made, in dB.
    pub(crate) fn mean_db(&self) -> f64 {
        self.channel.mean_db()
    }
}
