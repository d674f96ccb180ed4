//! Reverse path for acknowledgements and requests of an ARQ link.

use super::{ArqError, ArqStatistics, Feedback};
use crossfade_channel::{Iid, LossProcess};
use crossfade_core::{SimTime, Stream};
use std::collections::VecDeque;

/// Parameters of the reverse path for feedback from the receiver to the sender, which serves only this link.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct ReverseConfig {
    /// Bit rate in bit/s; `None`: transmission takes no time.
    pub rate_bps: Option<f64>,
    /// Length of an acknowledgement or request on the air, in bytes.
    pub feedback_size: u32,
    /// Propagation delay, plus any processing time until the sender reacts.
    pub delay: SimTime,
    /// Probability that an acknowledgement or request is lost, independently of others.
    pub loss: f64,
}

impl ReverseConfig {
    /// Creates a reverse path with only a `delay`: no loss, and no transmission time.
    pub fn ideal(delay: SimTime) -> Self {
        Self { rate_bps: None, feedback_size: 0, delay, loss: 0.0 }
    }

    fn transmission(&self) -> SimTime {
        self.rate_bps.map_or(SimTime::ZERO, |rate_bps| SimTime::to_transmit(self.feedback_size, rate_bps))
    }

    /// Time from the sending of an acknowledgement or request to its arrival at the sender of data, on an idle reverse
    /// path.
    pub fn time(&self) -> SimTime {
        self.delay.saturating_add(self.transmission())
    }

    pub(super) fn check(&self) -> Result<(), ArqError> {
        let loss = self.loss;
        let is_share = (0.0..=1.0).contains(&loss);
        ArqError::unless(is_share, "reverse.loss", format!("{loss:?}"), "between 0 and 1")?;
        let Some(rate_bps) = self.rate_bps else { return Ok(()) };
        let is_rate = rate_bps > 0.0 && rate_bps.is_finite();
        ArqError::unless(is_rate, "reverse.rate_bps", format!("{rate_bps:?}"), "above 0 and finite")?;
        let size = self.feedback_size;
        ArqError::unless(size >= 1, "reverse.feedback_size", size, "at least 1 byte where there is a rate")
    }
}

/// State of the reverse path, a first-in first-out queue with losses.
pub(super) struct ReverseChannel {
    transmission: SimTime,
    delay: SimTime,
    /// Loss process; `None`: no message is lost.
    loss: Option<Iid>,
    free_at: SimTime,
    on_the_way: VecDeque<(SimTime, Feedback)>,
    sent: u64,
}

impl ReverseChannel {
    /// Creates an idle reverse path. With a loss rate that [`ReverseConfig::check`] refuses, no message is lost.
    pub(super) fn new(config: &ReverseConfig, stream: Stream) -> Self {
        Self {
            transmission: config.transmission(),
            delay: config.delay,
            loss: Iid::new(config.loss, stream).ok().filter(|_| config.loss > 0.0),
            free_at: SimTime::ZERO,
            on_the_way: VecDeque::new(),
            sent: 0,
        }
    }

    #[inline]
    pub(super) fn send(&mut self, now: SimTime, feedback: Feedback, statistics: &mut ArqStatistics) {
        let start = self.free_at.max(now);
        self.free_at = start + self.transmission;
        statistics.feedback_sent += 1;
        self.sent += 1;
        if self.loss.as_mut().is_some_and(|loss| loss.lost(start, self.sent - 1)) {
            statistics.feedback_lost += 1;
        } else {
            self.on_the_way.push_back((self.free_at + self.delay, feedback));
        }
    }

    /// Time at which the next message reaches the sender; [`SimTime::MAX`] if none is in transit.
    #[inline]
    pub(super) fn next_arrival(&self) -> SimTime {
        self.on_the_way.front().map_or(SimTime::MAX, |(at, _)| *at)
    }

    #[inline]
    pub(super) fn receive(&mut self) -> Option<Feedback> {
        self.on_the_way.pop_front().map(|(_, feedback)| feedback)
    }
}
