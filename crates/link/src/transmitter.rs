//! Transmitters: how long packets take to send.

use crate::occupancy::{Occupancy, UnderWay};
use crossfade_core::SimTime;

/// A transmitter that sends packets one after the other, at a rate that may change.
pub trait Service: Send {
    /// Time at which the transmitter takes the next packet from the queue, if it is ready at `ready`; [`SimTime::MAX`]
    /// if never. `was_idle` says whether it had no packet before.
    fn next_start(&mut self, ready: SimTime, was_idle: bool) -> SimTime;

    /// Time at which a packet of `bytes`, taken at `start`, has been sent; [`SimTime::MAX`] if never.
    fn serve(&mut self, start: SimTime, bytes: u32) -> SimTime;

    /// Propagation delay of a packet that has been sent at `now`.
    fn delay(&mut self, _now: SimTime) -> SimTime {
        SimTime::ZERO
    }

    /// Occupancy at `now`, where the packet that was taken last is `under_way`.
    fn occupancy(&self, now: SimTime, under_way: Option<UnderWay>) -> Occupancy;
}

/// A transmitter of constant rate.
pub struct Transmitter {
    rate_bps: Option<f64>,
    /// Length and transmission time of the last packet: most packets of a link have one size, which saves the division.
    last: (u32, SimTime),
}

impl Transmitter {
    /// Creates a transmitter of `rate_bps` bit/s; `None`: sending takes no time.
    pub fn new(rate_bps: Option<f64>) -> Self {
        Self { rate_bps, last: (0, SimTime::ZERO) }
    }

    /// Transmission time of `bytes`.
    #[inline]
    pub(crate) fn time_for(&mut self, bytes: u32) -> SimTime {
        let Some(rate_bps) = self.rate_bps else { return SimTime::ZERO };
        if self.last.0 != bytes {
            self.last = (bytes, SimTime::to_transmit(bytes, rate_bps));
        }
        self.last.1
    }

    /// Occupancy at `now`, where a packet is in transmission since `start`.
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
