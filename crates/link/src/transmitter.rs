//! Transmitters, which determine the transmission times of packets.

use crate::occupancy::{Occupancy, UnderWay};
use crossfade_core::SimTime;

/// Transmitter that sends packets one after the other, at a constant or changing rate.
pub trait Service: Send {
    /// Time at which the transmitter takes the next packet from the queue, if it can from `ready` on; [`SimTime::MAX`]
    /// if never. `was_idle`: it had no packet before.
    fn next_start(&mut self, ready: SimTime, was_idle: bool) -> SimTime;

    /// Time at which the transmission of a packet of `bytes`, taken at `start`, ends; [`SimTime::MAX`] if never.
    fn serve(&mut self, start: SimTime, bytes: u32) -> SimTime;

    /// Propagation delay of a packet whose transmission ends at `now`.
    fn delay(&mut self, _now: SimTime) -> SimTime {
        SimTime::ZERO
    }

    /// Occupancy of the transmitter at `now`; `under_way`: the packet taken last, if it is not sent yet.
    fn occupancy(&self, now: SimTime, under_way: Option<UnderWay>) -> Occupancy;
}

/// Transmitter of constant rate.
pub struct Transmitter {
    rate_bps: Option<f64>,
    /// Length in bytes and transmission time of the last packet, which saves a division since most packets of a link
    /// have one size.
    last: (u32, SimTime),
}

impl Transmitter {
    /// Creates a transmitter of `rate_bps` bit/s; `None`: transmission takes no time.
    pub fn new(rate_bps: Option<f64>) -> Self {
        Self { rate_bps, last: (0, SimTime::ZERO) }
    }

    /// Transmission time of a packet of `bytes`.
    #[inline]
    pub(crate) fn time_for(&mut self, bytes: u32) -> SimTime {
        let Some(rate_bps) = self.rate_bps else { return SimTime::ZERO };
        if self.last.0 != bytes {
            self.last = (bytes, SimTime::to_transmit(bytes, rate_bps));
        }
        self.last.1
    }

    /// Occupancy at `now`; `start`: beginning of a transmission that has not ended.
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
