//! Transmitter that sends in grants.

use super::delay::Delays;
use super::direction::{Can, Capacities, Direction, Grant, SlotCapacity};
use crate::occupancy::{Occupancy, UnderWay};
use crate::transmitter::Service;
use crossfade_core::SimTime;
use std::sync::Arc;

/// Transmitter that sends when bytes are granted. A large packet takes several grants and leaves with the last; small
/// packets share one. A grant is lost if no packet waits, and so is the rest of a grant when the queue becomes empty.
pub(super) struct GrantService {
    direction: Arc<Direction>,
    delays: Delays,
    slot: Arc<SlotCapacity>,
    /// Index of the next grant in the slot.
    next: usize,
    /// Time of the grant in use, and its remaining bytes.
    at: SimTime,
    left: u64,
}

impl GrantService {
    pub(super) fn new(direction: Arc<Direction>) -> Self {
        let (slot, delays) = (direction.slot(0), Delays::new(Arc::clone(&direction.slots)));
        Self { direction, delays, slot, next: 0, at: SimTime::ZERO, left: 0 }
    }

    fn grants(&self) -> &[Grant] {
        if let Can::Granted(grants) = &self.slot.can { grants } else { &[] }
    }

    /// Next grant and its time; `None` if none comes within [`Direction::PATIENCE`] slots.
    fn look_ahead(&mut self) -> Option<(SimTime, Grant)> {
        let last = self.slot.number + Direction::PATIENCE;
        loop {
            if let Some(grant) = self.grants().get(self.next) {
                return Some((self.direction.slots.time(self.slot.number, grant.into), *grant));
            }
            if self.slot.number == last {
                return None;
            }
            (self.slot, self.next) = (self.direction.slot(self.slot.number + 1), 0);
        }
    }

    /// Advances to the first grant after `now` that is not used.
    fn pass(&mut self, now: SimTime) {
        let (number, into) = self.direction.slots.locate(now);
        if number > self.slot.number {
            (self.slot, self.next) = (self.direction.slot(number), 0);
        }
        if number == self.slot.number {
            self.next = self.next.max(self.grants().partition_point(|grant| grant.into <= into));
        }
    }
}

impl Service for GrantService {
    fn next_start(&mut self, ready: SimTime, was_idle: bool) -> SimTime {
        if ready == SimTime::MAX {
            return SimTime::MAX;
        }
        if was_idle {
            // A packet that arrives at the time of a grant cannot use it.
            self.left = 0;
            self.pass(ready);
        }
        if self.left > 0 { self.at } else { self.look_ahead().map_or(SimTime::MAX, |(time, _)| time) }
    }

    fn serve(&mut self, _start: SimTime, bytes: u32) -> SimTime {
        let mut bytes = u64::from(bytes);
        loop {
            let taken = bytes.min(self.left);
            bytes -= taken;
            self.left -= taken;
            if bytes == 0 {
                return self.at;
            }
            let Some((time, grant)) = self.look_ahead() else { return SimTime::MAX };
            self.next += 1;
            (self.at, self.left) = (time, grant.bytes);
        }
    }

    fn delay(&mut self, now: SimTime) -> SimTime {
        if now == SimTime::MAX { SimTime::ZERO } else { self.delays.at(now) }
    }

    fn occupancy(&self, now: SimTime, under_way: Option<UnderWay>) -> Occupancy {
        Occupancy::of_capacity(Capacities(Arc::clone(&self.direction)), now, under_way)
    }
}
