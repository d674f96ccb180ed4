//! Transmitter with a changing rate and without grants.

use super::delay::Delays;
use super::direction::{Can, Capacities, Direction, SlotCapacity};
use crate::occupancy::{Occupancy, UnderWay};
use crate::transmitter::Service;
use crossfade_core::SimTime;
use std::sync::Arc;

/// Transmitter without grants, which sends packets at the momentary rate; a packet during whose transmission the rate
/// changes continues at the new rate.
pub(super) struct FluidService {
    direction: Arc<Direction>,
    delays: Delays,
    slot: Arc<SlotCapacity>,
}

impl FluidService {
    pub(super) fn new(direction: Arc<Direction>) -> Self {
        let (slot, delays) = (direction.slot(0), Delays::new(Arc::clone(&direction.slots)));
        Self { direction, delays, slot }
    }

    /// Rate at `now` in bit/s, and the time until which it holds.
    fn at(&mut self, now: SimTime) -> (f64, SimTime) {
        let slots = &self.direction.slots;
        let (number, into) = slots.locate(now);
        if self.slot.number != number {
            self.slot = self.direction.slot(number);
        }
        let Can::Flowing(pieces) = &self.slot.can else { return (0.0, SimTime::MAX) };
        let next = pieces.partition_point(|piece| piece.from <= into);
        let end = pieces.get(next).map_or(slots.config.slot, |piece| piece.from);
        (pieces[next - 1].rate_bps, slots.time(number, end))
    }

    /// First time from `now` on with a rate above 0; [`SimTime::MAX`] if none comes within [`Direction::PATIENCE`]
    /// slots.
    fn opens(&mut self, now: SimTime) -> SimTime {
        let patience = self.direction.slots.config.slot.saturating_mul(Direction::PATIENCE);
        let last = now.saturating_add(patience);
        let mut start = now;
        while start < last {
            let (rate_bps, end) = self.at(start);
            if rate_bps > 0.0 {
                return start;
            }
            start = end;
        }
        SimTime::MAX
    }
}

impl Service for FluidService {
    fn next_start(&mut self, ready: SimTime, _was_idle: bool) -> SimTime {
        self.opens(ready)
    }

    fn serve(&mut self, start: SimTime, bytes: u32) -> SimTime {
        let (mut now, mut bits) = (start, f64::from(bytes) * 8.0);
        loop {
            now = self.opens(now);
            if now == SimTime::MAX {
                return now;
            }
            let (rate_bps, end) = self.at(now);
            let left = SimTime::from_secs_f64(bits / rate_bps).max(SimTime::from_nanos(1));
            let finish = now.saturating_add(left);
            if finish <= end {
                return finish;
            }
            bits -= (end - now).as_secs_f64() * rate_bps;
            now = end;
        }
    }

    fn delay(&mut self, now: SimTime) -> SimTime {
        if now == SimTime::MAX { SimTime::ZERO } else { self.delays.at(now) }
    }

    fn occupancy(&self, now: SimTime, under_way: Option<UnderWay>) -> Occupancy {
        Occupancy::of_capacity(Capacities(Arc::clone(&self.direction)), now, under_way)
    }
}
