//! Neighbouring network, modelled only as a contender for the channel.

use super::config::Neighbours;
use crossfade_core::{SimTime, Stream};
use rand::RngExt;

/// Maximum number of aggregates that wait for the channel.
const MOST_WAITING: u32 = 1000;

/// Neighbouring network whose aggregates arrive as a Poisson process, or without end.
pub(super) struct Neighbour {
    pub(super) aggregate: SimTime,
    /// Mean time between arrivals of aggregates in seconds; `None` for an endless backlog.
    gap_s: Option<f64>,
    waiting: u32,
    next: SimTime,
    stream: Stream,
}

impl Neighbour {
    pub(super) fn new(config: Neighbours, stream: Stream) -> Self {
        let Neighbours { count, busy, aggregate } = config;
        let gap_s = (busy < 1.0).then(|| aggregate.as_secs_f64() * count as f64 / busy);
        let mut new = Self { aggregate, gap_s, waiting: 0, next: SimTime::ZERO, stream };
        if gap_s.is_some() {
            new.next = new.gap();
        } else {
            (new.waiting, new.next) = (1, SimTime::MAX);
        }
        new
    }

    fn gap(&mut self) -> SimTime {
        let uniform: f64 = self.stream.random();
        SimTime::from_secs_f64(-libm::log1p(-uniform) * self.gap_s.unwrap_or(0.0))
    }

    /// Arrival time of the next aggregate if none waits; `None` while one waits.
    pub(super) fn next_event(&self) -> Option<SimTime> {
        (self.waiting == 0).then_some(self.next)
    }

    pub(super) fn has_work(&self) -> bool {
        self.waiting > 0
    }

    /// Adds the aggregates that have arrived by `now`.
    pub(super) fn come(&mut self, now: SimTime) {
        while self.next <= now {
            self.waiting = (self.waiting + 1).min(MOST_WAITING);
            self.next = self.next.saturating_add(self.gap());
        }
    }

    /// Removes an aggregate that was sent.
    pub(super) fn sent(&mut self) {
        if self.gap_s.is_some() {
            self.waiting -= 1;
        }
    }
}
