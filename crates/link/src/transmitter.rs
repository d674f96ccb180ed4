//! How long packets take to send.

use crate::occupancy::{Occupancy, UnderWay};
use crossfade_core::SimTime;

/// Sends packets one after the other, perhaps at a speed that changes.
pub trait Service: Send {
    /// When it takes the next packet from the queue, if it is ready at `ready`; [`SimTime::MAX`] if never.
    /// `was_idle`: it had nothing to send before.
    fn next_start(&mut self, ready: SimTime, was_idle: bool) -> SimTime;

    /// When a packet of `bytes`, taken at `start`, has been sent; [`SimTime::MAX`] if never.
    fn serve(&mut self, start: SimTime, bytes: u32) -> SimTime;

    /// The propagation delay of what has been sent at `now`.
    fn delay(&mut self, _now: SimTime) -> SimTime {
        SimTime::ZERO
    }

    /// What packets take of its time at `now`, where the packet that it took last is `under_way`.
    fn occupancy(&self, now: SimTime, under_way: Option<UnderWay>) -> Occupancy;
}

/// A transmitter of constant rate.
pub struct Transmitter {
    rate_bps: Option<f64>,
    /// Nearly all packets of a link have one size: the last division is kept.
    last: (u32, SimTime),
}

impl Transmitter {
    /// Sends at `rate_bps` bit/s; `None` takes no time.
    pub fn new(rate_bps: Option<f64>) -> Self {
        Self { rate_bps, last: (0, SimTime::ZERO) }
    }

    /// How long `bytes` take.
    #[inline]
    pub(crate) fn time_for(&mut self, bytes: u32) -> SimTime {
        let Some(rate_bps) = self.rate_bps else { return SimTime::ZERO };
        if self.last.0 != bytes {
            self.last = (bytes, SimTime::to_transmit(bytes, rate_bps));
        }
        self.last.1
    }

    /// What packets take, where one is sent since `start`.
    pub(crate) fn occupied(&self, now: SimTime, start: Option<SimTime>) -> Occupancy {
        let under_way = start.map_or(SimTime::ZERO, |start| now.saturating_sub(start));
        self.rate_bps.map_or(Occupancy::None, |rate_bps| Occupancy::Packets { rate_bps, under_way })
    }
}

impl Service for Transmitter {
    fn next_start(&mut self, ready: SimTime, _was_idle: bool) -> SimTime {
        ready
    }

    fn serve(&mut self, start: SimTime, bytes: u32) -> SimTime {
        start + self.time_for(bytes)
    }

    fn occupancy(&self, now: SimTime, under_way: Option<UnderWay>) -> Occupancy {
        self.occupied(now, under_way.map(|packet| packet.start))
    }
}
