//! Knowledge of a user's channel at the base station from channel reports.

use crate::feedback::FeedbackConfig;
use crate::user_channel::UserChannel;

/// Latest report of a user's channel that has reached the base station.
pub(crate) struct Reports {
    config: FeedbackConfig,
    /// Copy of the user's channel at the slot of the latest report, some slots before the channel that frames meet.
    channel: UserChannel,
    slot: Option<u64>,
    /// Reported SNR of each bin (not in dB).
    ratios: Vec<f32>,
}

impl Reports {
    /// Creates the state before the first report.
    pub(crate) fn new(config: FeedbackConfig, channel: UserChannel, bins: usize) -> Self {
        Self { config, channel, slot: None, ratios: vec![0.0; bins] }
    }

    /// Advances to the report that the base station uses in `slot`.
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

    /// Reported SNR of each bin (not in dB).
    pub(crate) fn ratios(&self) -> &[f32] {
        &self.ratios
    }

    /// Local mean SNR in dB at the slot of the report.
    pub(crate) fn mean_db(&self) -> f64 {
        self.channel.mean_db()
    }
}
