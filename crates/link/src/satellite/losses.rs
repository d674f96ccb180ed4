//! Losses on a satellite link that are not due to congestion.

use super::config::DirectionConfig;
use super::delay::Delays;
use crossfade_channel::LossProcess;
use crossfade_core::{SimTime, Stream};
use rand::RngExt;

/// Loss process of a satellite link, with a higher loss probability for packets that would arrive during an outage.
///
/// Each transmission takes one random number, for any probability.
pub(super) struct SatelliteLoss {
    delays: Delays,
    loss: f64,
    outage_loss: f64,
    stream: Stream,
    /// Number of random numbers drawn so far, and the last one.
    drawn: u64,
    number: f64,
}

impl SatelliteLoss {
    pub(super) fn new(delays: Delays, config: &DirectionConfig, stream: Stream) -> Self {
        let DirectionConfig { loss, outage_loss, .. } = *config;
        Self { delays, loss, outage_loss, stream, drawn: 0, number: 0.0 }
    }
}

impl LossProcess for SatelliteLoss {
    fn lost(&mut self, now: SimTime, transmission: u64) -> bool {
        while self.drawn <= transmission {
            self.number = self.stream.random();
            self.drawn += 1;
        }
        let arrives_in_outage = self.outage_loss > 0.0 && {
            let delay = self.delays.at(now);
            self.delays.is_out(now.saturating_add(delay))
        };
        let survives_outage = if arrives_in_outage { 1.0 - self.outage_loss } else { 1.0 };
        self.number < 1.0 - (1.0 - self.loss) * survives_outage
    }

    fn is_lossless(&self) -> bool {
        self.loss == 0.0 && self.outage_loss == 0.0
    }
}
