//! A neighbouring network: it contends for the channel, and nothing else is known of it.

use super::config::Neighbours;
use crossfade_core::{SimTime, Stream};
use rand::RngExt;

/// More aggregates never wait for the channel.
const MOST_WAITING: u32 = 1000;

/// One network with aggregates that come at random, or without end.
pub(super) struct Neighbour {
    pub(super) aggregate: SimTime,
    /// The mean time from one to the next, in seconds; none is without end.
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

    /// Arrival time of the next aggregate at a neighbour without one; none while it has one.
    pub(super) fn next_event(&self) -> Option<SimTime> {
        (self.waiting == 0).then_some(self.next)
    }

    pub(super) fn has_work(&self) -> bool {
        self.waiting > 0
    }

    /// Counts what has come by `now`.
    pub(super) fn come(&mut self, now: SimTime) {
        while self.next <= now {
            self.waiting = (self.waiting + 1).min(MOST_WAITING);
            self.next = self.next.saturating_add(self.gap());
        }
    }

    /// One has been sent.
    pub(super) fn sent(&mut self) {
        if self.gap_s.is_some() {
            self.waiting -= 1;
        }
    }
}
