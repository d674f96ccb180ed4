//! Slots of a satellite link, which both directions share.

use super::config::{BaseDelay, SatelliteConfig};
use super::orbit::Pass;
use crossfade_channel::complex_normal;
use crossfade_core::{RunSeed, SimTime, Stream};
use rand::RngExt;
use std::f64::consts::SQRT_2;

/// Random numbers of one slot, step or grant period: two uniform in [0, 1), and a standard normal one.
pub(super) struct Draws {
    pub(super) uniform: [f64; 2],
    pub(super) normal: f64,
}

/// Random stream whose draws are addressed by a number (of a slot, a step or a grant period), in any order.
#[derive(Clone, Debug)]
pub(super) struct Numbered(Stream);

impl Numbered {
    /// Number of draws of the stream reserved for each slot, step or grant period.
    const ROOM: u128 = 8;

    pub(super) fn new(stream: Stream) -> Self {
        Self(stream)
    }

    /// Stream positioned at the first draw of `number`.
    fn at(&self, number: u64) -> Stream {
        let mut stream = self.0.clone();
        stream.advance(u128::from(number) * Self::ROOM);
        stream
    }

    /// Draws for consecutive numbers, from `number` on.
    pub(super) fn from(&self, number: u64) -> impl FnMut() -> Draws + use<> {
        let mut stream = self.at(number);
        move || {
            let uniform = std::array::from_fn(|_| stream.random());
            let normal = complex_normal(&mut stream).re * SQRT_2;
            stream.advance(Self::ROOM - 4);
            Draws { uniform, normal }
        }
    }

    /// Four uniform random numbers in [0, 1) of the slot or step with this number.
    pub(super) fn uniform(&self, number: u64) -> [f64; 4] {
        let mut stream = self.at(number);
        std::array::from_fn(|_| stream.random())
    }

    /// Standard normal random number of the slot with this number; those of consecutive slots are independent.
    pub(super) fn normal(&self, number: u64) -> f64 {
        complex_normal(&mut self.at(number)).re * SQRT_2
    }

    /// Values of an autoregressive process of order 1 with unit variance, from the number `from` on, where it starts
    /// anew.
    pub(super) fn autoregressive(&self, from: u64, correlation: f64) -> impl Iterator<Item = f64> + use<> {
        let mut stream = self.at(from);
        let innovation = (1.0 - correlation * correlation).sqrt();
        let mut value = None;
        std::iter::repeat_with(move || {
            let normal = complex_normal(&mut stream).re * SQRT_2;
            stream.advance(Self::ROOM - 2);
            let next = value.map_or(normal, |value| correlation * value + innovation * normal);
            value = Some(next);
            next
        })
    }
}

/// State of a slot that both directions share.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Slot {
    /// Number of the satellite slot, from 0.
    pub(super) number: u64,
    /// Additional duration of the outage at the beginning of the slot, beyond the usual one.
    pub(super) longer: SimTime,
    /// One-way propagation delay in the slot, without spikes.
    pub(super) base_delay: SimTime,
    /// Heights of the delay spikes at the boundaries at its beginning and its end.
    pub(super) spikes: [SimTime; 2],
    /// For each step of the slot, true if the path is obstructed; empty if obstructions are off.
    pub(super) obstructed: Vec<bool>,
    /// True if no satellite is in sight.
    pub(super) is_uncovered: bool,
}

/// All slots of a run.
#[derive(Clone, Debug)]
pub(super) struct Slots {
    pub(super) config: SatelliteConfig,
    /// Time from the beginning of slot 0 to the beginning of the run.
    shift: SimTime,
    boundaries: Numbered,
    obstructions: Numbered,
    pass: Option<Pass>,
}

impl Slots {
    pub(super) fn new(config: SatelliteConfig, seed: RunSeed) -> Self {
        let numbered = |name: &str| Numbered::new(seed.stream(name));
        let offset = config.offset.unwrap_or_else(|| {
            let [share, ..] = numbered("satellite.offset").uniform(0);
            SimTime::from_secs_f64(config.slot.as_secs_f64() * share)
        });
        let pass = match &config.base_delay {
            BaseDelay::Uniform(_) => None,
            BaseDelay::Orbit(orbit) => Some(orbit.pass(seed)),
        };
        Self {
            shift: config.slot.saturating_sub(offset),
            boundaries: numbered("satellite.boundaries"),
            obstructions: numbered("satellite.obstructions"),
            pass,
            config,
        }
    }

    /// Number of the slot at `now`, and the time since its beginning.
    pub(super) fn locate(&self, now: SimTime) -> (u64, SimTime) {
        let shifted = now.saturating_add(self.shift);
        (shifted / self.config.slot, shifted % self.config.slot)
    }

    /// Time in the run at the time `into` a slot; zero for times before the run.
    pub(super) fn time(&self, slot: u64, into: SimTime) -> SimTime {
        self.config.slot.saturating_mul(slot).saturating_add(into).saturating_sub(self.shift)
    }

    /// Number of steps of a slot, the last of which may be shorter.
    pub(super) fn steps(&self) -> u64 {
        self.config.slot.as_nanos().div_ceil(SatelliteConfig::STEP.as_nanos())
    }

    /// True if the slot has another satellite than the slot before.
    pub(super) fn is_handover(&self, slot: u64) -> bool {
        match &self.pass {
            _ if slot == 0 => true,
            None => self.boundaries.uniform(slot)[0] < self.config.handover,
            Some(pass) => pass.satellite(self.middle(slot)) != pass.satellite(self.middle(slot - 1)),
        }
    }

    /// Middle of the slot, the time for which its satellite is chosen.
    fn middle(&self, slot: u64) -> SimTime {
        self.time(slot, SimTime::from_nanos(self.config.slot.as_nanos() / 2))
    }

    /// One-way propagation delay of a slot; `None` if no satellite is in sight.
    fn base_delay(&self, slot: u64) -> Option<SimTime> {
        match (&self.config.base_delay, &self.pass) {
            (BaseDelay::Uniform([least, most]), _) => {
                let since = match self.config.handover {
                    0.0 => 0,
                    _ => (0..=slot).rev().find(|&earlier| self.is_handover(earlier)).unwrap_or(0),
                };
                let range = most.saturating_sub(*least).as_secs_f64();
                Some(*least + SimTime::from_secs_f64(range * self.boundaries.uniform(since)[1]))
            }
            (_, Some(pass)) => pass.delay(self.middle(slot)),
            (_, None) => None,
        }
    }

    /// Height of the delay spike at the beginning of a slot.
    fn spike(&self, slot: u64) -> SimTime {
        let spike = self.config.spike;
        let beyond = exponential(spike.beyond, self.boundaries.uniform(slot)[2]);
        spike.least.saturating_add(beyond).min(spike.most)
    }

    fn longer(&self, slot: u64) -> SimTime {
        if !self.is_handover(slot) {
            return SimTime::ZERO;
        }
        let longer = exponential(self.config.longer_outage, self.boundaries.uniform(slot)[3]);
        longer.min(self.config.longest_extension())
    }

    pub(super) fn slot(&self, number: u64) -> Slot {
        let base_delay = self.base_delay(number);
        Slot {
            number,
            longer: self.longer(number),
            base_delay: base_delay.unwrap_or_default(),
            spikes: [number, number + 1].map(|boundary| self.spike(boundary)),
            obstructed: self.obstructed(number),
            is_uncovered: base_delay.is_none(),
        }
    }

    /// For each step of slot `number`, true if the path is obstructed: a two-state chain that starts anew in each slot,
    /// from its stationary distribution, since another satellite is seen past other obstacles.
    fn obstructed(&self, number: u64) -> Vec<bool> {
        let (share, steps) = (self.config.obstructed, self.steps());
        if share == 0.0 {
            return Vec::new();
        }
        let ends = SatelliteConfig::STEP.as_secs_f64() / self.config.obstruction.as_secs_f64();
        let begins = ends * share / (1.0 - share);
        let mut is_obstructed = false;
        let chain = (0..steps).map(|step| {
            let [draw, ..] = self.obstructions.uniform(number * steps + step);
            is_obstructed = match (step, is_obstructed) {
                (0, _) => draw < share,
                (_, true) => draw >= ends,
                (_, false) => draw < begins,
            };
            is_obstructed
        });
        chain.collect()
    }
}

/// Exponential time with the given mean, from a uniform random number in [0, 1), by inversion.
fn exponential(mean: SimTime, uniform: f64) -> SimTime {
    SimTime::from_secs_f64(-mean.as_secs_f64() * libm::log1p(-uniform))
}
