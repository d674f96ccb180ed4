//! Propagation delay as a function of time, and packets in flight during an outage.

use super::slots::{Slot, Slots};
use crossfade_core::SimTime;
use std::sync::Arc;

/// Delays as a function of time; keeps the slot used last, since successive times mostly lie in one slot.
#[derive(Clone, Debug)]
pub(super) struct Delays {
    slots: Arc<Slots>,
    slot: Slot,
}

impl Delays {
    pub(super) fn new(slots: Arc<Slots>) -> Self {
        let slot = slots.slot(0);
        Self { slots, slot }
    }

    fn look_at(&mut self, number: u64) {
        if self.slot.number != number {
            self.slot = self.slots.slot(number);
        }
    }

    /// One-way delay of a packet whose transmission ends at `now`.
    pub(super) fn at(&mut self, now: SimTime) -> SimTime {
        let (number, into) = self.slots.locate(now);
        self.look_at(number);
        let config = &self.slots.config;
        let [begins, ends] = self.slot.spikes;
        let spike = if into < config.spike.after {
            begins
        } else if into >= config.slot.saturating_sub(config.gate.outage) {
            ends
        } else {
            SimTime::ZERO
        };
        self.slot.base_delay + spike
    }

    /// True if `now` lies in an outage at a slot boundary.
    pub(super) fn is_out(&mut self, now: SimTime) -> bool {
        let (number, into) = self.slots.locate(now);
        self.look_at(number);
        into < self.slot.longer
            || into >= self.slots.config.slot.saturating_sub(self.slots.config.gate.outage)
    }
}
