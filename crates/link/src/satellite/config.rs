//! Configuration of satellite links, with closed forms of their capacity and delay.

use super::gate::Gate;
use super::orbit::Orbit;
use crossfade_core::{OutOfRange, SimTime};

/// Parameters that both directions of a satellite link share.
#[derive(Clone, Debug, PartialEq)]
pub struct SatelliteConfig {
    /// Duration of a satellite slot, for which satellite and rate are assigned.
    pub slot: SimTime,
    /// Time of the first slot boundary, at most one slot after the start; `None`: drawn uniformly over a slot.
    pub offset: Option<SimTime>,
    /// Outage and ramp of the capacity around a slot boundary.
    pub gate: Gate,
    /// Probability that the satellite changes at a slot boundary; not used with an [`Orbit`], which determines the
    /// satellites.
    pub handover: f64,
    /// Mean additional duration of an outage at which the satellite changes: exponential, at most a quarter of the
    /// slot.
    pub longer_outage: SimTime,
    /// One-way propagation delay, without spikes.
    pub base_delay: BaseDelay,
    /// Delay spike around a slot boundary.
    pub spike: Spike,
    /// Share of time in which an obstruction blocks the path between terminal and satellite.
    pub obstructed: f64,
    /// Mean duration of an obstruction, if no slot boundary ends it.
    pub obstruction: SimTime,
}

/// One-way propagation delay in a slot, equal in both directions.
#[derive(Clone, Debug, PartialEq)]
pub enum BaseDelay {
    /// Uniform between these two delays, drawn anew when the satellite changes.
    Uniform([SimTime; 2]),
    /// Delay through the satellites of a shell, over a terminal and a gateway.
    Orbit(Box<Orbit>),
}

/// Delay spike: time added to the one-way delay, from the beginning of the outage before a slot boundary until `after`
/// the boundary.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Spike {
    /// Least height of a spike.
    pub least: SimTime,
    /// Mean of the exponential part above the least height.
    pub beyond: SimTime,
    /// Greatest height of a spike, at which it is cut.
    pub most: SimTime,
    /// Time from the slot boundary to the end of the spike.
    pub after: SimTime,
}

impl Spike {
    /// No spikes: all heights are zero.
    pub const NONE: Self =
        Self { least: SimTime::ZERO, beyond: SimTime::ZERO, most: SimTime::ZERO, after: SimTime::ZERO };
}

/// Direction of a satellite link. The random numbers of the two directions are independent, except for those of the
/// shared slots.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum DirectionName {
    /// Direction from the gateway to the terminal.
    Down,
    /// Direction from the terminal to the gateway.
    Up,
}

impl DirectionName {
    /// The opposite direction.
    #[must_use]
    pub fn other(self) -> Self {
        match self {
            Self::Down => Self::Up,
            Self::Up => Self::Down,
        }
    }

    /// Name of the direction's random stream.
    pub(super) fn stream(self) -> &'static str {
        match self {
            Self::Down => "satellite.down",
            Self::Up => "satellite.up",
        }
    }
}

/// Parameters of one direction of a satellite link.
#[derive(Clone, Debug, PartialEq)]
pub struct DirectionConfig {
    /// Mean rate in bit/s outside outages and obstructions.
    pub rate_bps: f64,
    /// Standard deviation of the natural logarithm of a slot's rate.
    pub spread_between: f64,
    /// Correlation of the logarithms of the rates of neighbouring slots.
    pub slot_correlation: f64,
    /// Standard deviation of the natural logarithm of a step's rate, relative to the rate of its slot; a step lasts 100
    /// ms.
    pub spread_within: f64,
    /// Correlation of the logarithms of the rates of neighbouring steps within a slot.
    pub step_correlation: f64,
    /// Time between two grants, each of which allows a burst to be sent at once; zero for a continuous stream of bits.
    pub grant: SimTime,
    /// Share of each grant that comes half a grant period later.
    pub half_grant: f64,
    /// Standard deviation of the natural logarithm of a grant's size relative to the rate; sizes are independent and
    /// have mean 1.
    pub grant_spread: f64,
    /// Probability that a grant comes at another phase than the one before: half of these moves last, after the other
    /// half grants return to the earlier phase.
    pub grant_moves: f64,
    /// Probability that a packet is lost.
    pub loss: f64,
    /// Probability that a packet that would arrive during an outage is lost because of it.
    pub outage_loss: f64,
}

/// Closed forms of the capacity of one direction, computed without a run.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct ClosedForms {
    /// Mean capacity in bit/s.
    pub capacity_bps: f64,
    /// Share of time without capacity: outages at slot boundaries and obstructions.
    pub outage_share: f64,
    /// Mean time in seconds for which a byte waits for a grant on an idle link, outside outages and obstructions.
    pub idle_wait_s: f64,
    /// Longest time in seconds without a grant, around an outage of usual duration and without obstruction: the grants
    /// before and after it may have different phases.
    pub longest_gap_s: f64,
}

impl SatelliteConfig {
    /// Time between two changes of the rate within a slot.
    pub const STEP: SimTime = SimTime::from_millis(100);

    /// Greatest additional duration of an outage: a quarter of a slot.
    pub(super) fn longest_extension(&self) -> SimTime {
        SimTime::from_nanos(self.slot.as_nanos() / 4)
    }

    /// Checks the parameters that both directions share.
    ///
    /// # Errors
    /// If the slot is shorter than 1 s or than four times outage and ramp, an offset or a share is outside its range,
    /// or delays are not in order.
    pub fn check(&self) -> Result<(), OutOfRange> {
        let least = SimTime::from_millis(1000);
        OutOfRange::unless(self.slot >= least, "slot", self.slot, "at least 1 s")?;
        let Gate { outage, ramp } = self.gate;
        let fits = outage.saturating_add(ramp).saturating_mul(4) <= self.slot;
        for (name, time) in [("outage", outage), ("ramp", ramp)] {
            let allowed = "so short that outage and ramp are a quarter of the slot at most";
            OutOfRange::unless(fits, name, time, allowed)?;
        }
        if let Some(offset) = self.offset {
            OutOfRange::unless(offset <= self.slot, "offset", offset, "at most the slot")?;
        }
        share("handover", self.handover)?;
        OutOfRange::unless(
            (0.0..=0.95).contains(&self.obstructed),
            "obstructed",
            self.obstructed,
            "between 0 and 0.95",
        )?;
        let lasts = self.obstructed == 0.0 || self.obstruction >= Self::STEP;
        OutOfRange::unless(lasts, "obstruction", self.obstruction, "at least 100 ms")?;
        let Spike { least, beyond, most, after } = self.spike;
        OutOfRange::unless(least <= most, "spike.least", least, "at most spike.most")?;
        let fits = beyond == SimTime::ZERO || least < most;
        OutOfRange::unless(fits, "spike.beyond", beyond, "0 s where spike.most is spike.least")?;
        OutOfRange::unless(
            after.saturating_mul(4) <= self.slot,
            "spike.after",
            after,
            "at most a quarter of the slot",
        )?;
        if let BaseDelay::Uniform([least, most]) = &self.base_delay {
            OutOfRange::unless(least <= most, "base_delay", least, "at most the second delay")?;
        }
        Ok(())
    }

    /// Probability that the satellite changes at a slot boundary; for an orbit, the share of boundaries in its first
    /// hour.
    fn handover_share(&self) -> f64 {
        match &self.base_delay {
            BaseDelay::Uniform(_) => self.handover,
            BaseDelay::Orbit(orbit) => orbit.handover_share(self.slot),
        }
    }

    /// Closed forms of `direction` in the long run; for an orbit without gaps in its coverage, those of its first hour.
    pub fn closed_forms(&self, direction: &DirectionConfig) -> ClosedForms {
        let slot_s = self.slot.as_secs_f64();
        // The mean of an exponential variable that is cut at the longest extension.
        let (mean, cut) = (self.longer_outage.as_secs_f64(), self.longest_extension().as_secs_f64());
        let extension_s = if mean > 0.0 { -mean * libm::expm1(-cut / mean) } else { 0.0 };
        let longer_s = self.handover_share() * extension_s;
        let open = 1.0 - self.obstructed;
        let lost_s = self.gate.lost(SimTime::ZERO).as_secs_f64() + longer_s;
        let closed_s = self.gate.outage.as_secs_f64() + longer_s;
        let grant_s = direction.grant.as_secs_f64();
        let halves = if direction.half_grant > 0.0 { 2.0 } else { 1.0 };
        let apart_s = grant_s / halves;
        // Grants of successive periods are one period apart, plus or minus the difference of two uniform
        // phases if one of them has moved. A random byte meets a gap with a probability proportional to its length.
        let moved = direction.moved_share();
        let longest_s = if moved > 0.0 { 2.0 * apart_s } else { apart_s };
        ClosedForms {
            capacity_bps: direction.rate_bps * (1.0 - lost_s / slot_s) * open,
            outage_share: 1.0 - (1.0 - closed_s / slot_s) * open,
            idle_wait_s: apart_s / 2.0 * (1.0 + moved / (6.0 * halves)),
            longest_gap_s: self.gate.outage.as_secs_f64() + 2.0 * longest_s,
        }
    }

    /// Mean one-way propagation delay, without spikes.
    pub fn mean_delay(&self) -> SimTime {
        match &self.base_delay {
            BaseDelay::Uniform([least, most]) => {
                SimTime::from_nanos(least.as_nanos().midpoint(most.as_nanos()))
            }
            BaseDelay::Orbit(orbit) => orbit.mean_delay(self.slot),
        }
    }
}

impl DirectionConfig {
    /// Probability that a grant has another phase than the one before.
    fn moved_share(&self) -> f64 {
        1.0 - (1.0 - self.grant_moves / 2.0) * (1.0 - self.grant_moves)
    }

    /// Checks the parameters of one direction.
    ///
    /// # Errors
    /// If a rate, a spread, a correlation or a probability is outside its range, or the time between grants is longer
    /// than 1 s.
    pub fn check(&self) -> Result<(), OutOfRange> {
        let rate = self.rate_bps;
        OutOfRange::unless((1e3..=1e12).contains(&rate), "rate", rate, "between 1 kbit/s and 1 Tbit/s")?;
        for (name, spread) in [
            ("spread_between_slots", self.spread_between),
            ("spread_within_slots", self.spread_within),
            ("grant_spread", self.grant_spread),
        ] {
            OutOfRange::unless((0.0..=2.0).contains(&spread), name, spread, "between 0 and 2")?;
        }
        for (name, correlation) in
            [("slot_correlation", self.slot_correlation), ("step_correlation", self.step_correlation)]
        {
            OutOfRange::unless(
                (0.0..1.0).contains(&correlation),
                name,
                correlation,
                "at least 0 and below 1",
            )?;
        }
        let grant = self.grant;
        let is_none_or_long = grant == SimTime::ZERO || grant >= SimTime::from_micros(100);
        let is_short = grant <= SimTime::from_millis(1000);
        OutOfRange::unless(is_none_or_long && is_short, "grant", grant, "0 s, or between 100 us and 1 s")?;
        let half = self.half_grant;
        OutOfRange::unless((0.0..=0.5).contains(&half), "half_grant", half, "between 0 and 0.5")?;
        share("grant_moves", self.grant_moves)?;
        share("loss", self.loss)?;
        share("outage_loss", self.outage_loss)
    }
}

fn share(name: &'static str, value: f64) -> Result<(), OutOfRange> {
    OutOfRange::unless((0.0..=1.0).contains(&value), name, value, "between 0 and 1")
}
