//! One direction of a satellite link as a [`Link`].

use super::config::{DirectionConfig, DirectionName, SatelliteConfig};
use super::delay::Delays;
use super::direction::{Capacities, Direction};
use super::fluid::FluidService;
use super::grants::GrantService;
use super::losses::SatelliteLoss;
use super::slots::Slots;
use crate::link::Link;
use crate::queue::QueueConfig;
use crossfade_core::{OutOfRange, RunSeed, SimTime, Stream};
use std::sync::Arc;

/// One direction of a satellite link in a run. Both directions have equal slots if they are created with the same
/// shared configuration and seed.
pub struct Satellite {
    direction: Arc<Direction>,
    config: DirectionConfig,
}

impl Satellite {
    /// Creates the direction called `name`.
    ///
    /// # Errors
    /// If a parameter is outside its range.
    pub fn new(
        shared: SatelliteConfig,
        name: DirectionName,
        config: DirectionConfig,
        seed: RunSeed,
    ) -> Result<Self, OutOfRange> {
        shared.check()?;
        config.check()?;
        let slots = Arc::new(Slots::new(shared, seed));
        let direction = Arc::new(Direction::new(slots, name, config.clone(), seed));
        Ok(Self { direction, config })
    }

    /// Capacity of the direction as a function of time.
    pub fn capacities(&self) -> Capacities {
        Capacities(Arc::clone(&self.direction))
    }

    /// One-way delay of a packet that is sent at `now`, including spikes.
    pub fn delay(&self, now: SimTime) -> SimTime {
        Delays::new(Arc::clone(&self.direction.slots)).at(now)
    }

    /// Mean rate in bit/s of the slot at `now`, outside outages and obstructions.
    pub fn slot_rate_bps(&self, now: SimTime) -> f64 {
        self.direction.slot_rate_bps(self.direction.slots.locate(now).0)
    }

    /// Time of the first slot boundary after `now`.
    pub fn next_boundary(&self, now: SimTime) -> SimTime {
        let slots = &self.direction.slots;
        slots.time(slots.locate(now).0 + 1, SimTime::ZERO)
    }

    /// Builds the link, with `queue` before it and an additional `delay` behind it; `draws` is the random stream of the
    /// queue, `losses` that of losses.
    ///
    /// # Errors
    /// If a parameter of the queue is outside its range.
    pub fn link(
        self,
        queue: QueueConfig,
        draws: Stream,
        delay: SimTime,
        losses: Stream,
    ) -> Result<Box<dyn Link + Send>, OutOfRange> {
        let delays = Delays::new(Arc::clone(&self.direction.slots));
        let loss = SatelliteLoss::new(delays, &self.config, losses);
        if self.config.grant == SimTime::ZERO {
            queue.before(draws, FluidService::new(self.direction), delay, Box::new(loss))
        } else {
            queue.before(draws, GrantService::new(self.direction), delay, Box::new(loss))
        }
    }
}
