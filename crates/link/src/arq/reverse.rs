//! The way back for acknowledgements and requests.

use super::{ArqError, ArqStatistics, Feedback};
use crate::transmitter::Transmitter;
use crossfade_channel::{LossProcess, Lossless};
use crossfade_core::SimTime;
use std::collections::VecDeque;

/// The channel from the receiver to the sender, used by this link alone.
pub struct ReverseConfig {
    /// Bit rate in bit/s; `None` takes no time to transmit.
    pub rate_bps: Option<f64>,
    /// Bytes of one acknowledgement or request on the air.
    pub feedback_size: u32,
    /// Propagation delay, and whatever else passes until the sender reacts.
    pub delay: SimTime,
    /// Which are lost.
    pub loss: Box<dyn LossProcess>,
}

impl ReverseConfig {
    /// No loss, no time but `delay`.
    pub fn ideal(delay: SimTime) -> Self {
        Self { rate_bps: None, feedback_size: 0, delay, loss: Box::new(Lossless) }
    }

    pub(super) fn check(&self) -> Result<(), ArqError> {
        let Some(rate_bps) = self.rate_bps else { return Ok(()) };
        let is_rate = rate_bps > 0.0 && rate_bps.is_finite();
        ArqError::unless(is_rate, "reverse.rate_bps", format!("{rate_bps:?}"), "above 0 and finite")?;
        let size = self.feedback_size;
        ArqError::unless(size >= 1, "reverse.feedback_size", size, "at least 1 byte where there is a rate")
    }
}

/// The reverse channel at work: first in, first out.
pub(super) struct ReverseChannel {
    transmitter: Transmitter,
    feedback_size: u32,
    delay: SimTime,
    loss: Box<dyn LossProcess>,
    free_at: SimTime,
    on_the_way: VecDeque<(SimTime, Feedback)>,
    sent: u64,
}

impl ReverseChannel {
    pub(super) fn new(config: ReverseConfig) -> Self {
        Self {
            transmitter: Transmitter::new(config.rate_bps),
            feedback_size: config.feedback_size,
            delay: config.delay,
            loss: config.loss,
            free_at: SimTime::ZERO,
            on_the_way: VecDeque::new(),
            sent: 0,
        }
    }

    pub(super) fn send(&mut self, now: SimTime, feedback: Feedback, statistics: &mut ArqStatistics) {
        let start = self.free_at.max(now);
        self.free_at = start + self.transmitter.time_for(self.feedback_size);
        statistics.feedback_sent += 1;
        self.sent += 1;
        if self.loss.lost(start, self.sent - 1) {
            statistics.feedback_lost += 1;
        } else {
            self.on_the_way.push_back((self.free_at + self.delay, feedback));
        }
    }

    /// When the next reaches the sender; [`SimTime::MAX`] if none is on the way.
    #[inline]
    pub(super) fn next_arrival(&self) -> SimTime {
        self.on_the_way.front().map_or(SimTime::MAX, |(at, _)| *at)
    }

    pub(super) fn receive(&mut self) -> Option<Feedback> {
        self.on_the_way.pop_front().map(|(_, feedback)| feedback)
    }
}
