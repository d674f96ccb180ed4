//! Capacity of one direction of a satellite link, computed slot by slot.

use super::config::{DirectionConfig, DirectionName, SatelliteConfig};
use super::gate::{self, Levels};
use super::slots::{Draws, Numbered, Slot, Slots};
use crate::occupancy::Capacity;
use crossfade_core::{RunSeed, SimTime};
use std::sync::{Arc, Mutex, PoisonError};

/// Capacity of one direction over time, computed slot by slot.
#[derive(Debug)]
pub(super) struct Direction {
    pub(super) slots: Arc<Slots>,
    config: DirectionConfig,
    rates: Numbered,
    steps: Numbered,
    phases: Numbered,
    cycles: Numbered,
    /// Total bits of all slots before each slot number, up to the greatest number needed so far.
    totals: Mutex<Vec<f64>>,
    /// Capacities of the slots used last.
    recent: Mutex<Vec<Arc<SlotCapacity>>>,
}

/// Capacity of one direction in one slot.
#[derive(Debug)]
pub(super) struct SlotCapacity {
    pub(super) number: u64,
    pub(super) can: Can,
    /// Total bits of the slot.
    bits: f64,
}

/// Distribution of a slot's capacity over time.
#[derive(Debug)]
pub(super) enum Can {
    /// Grants, in order of time.
    Granted(Vec<Grant>),
    /// Continuous stream of bits: pieces of constant rate, from the beginning of the slot on.
    Flowing(Vec<Piece>),
}

/// Grant: a number of bytes that may be sent at once.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Grant {
    /// Time of the grant, from the beginning of the slot.
    pub(super) into: SimTime,
    pub(super) bytes: u64,
    /// Bytes of all earlier grants of the slot.
    pub(super) bytes_before: u64,
}

impl Grant {
    /// Bytes of all grants of the slot up to and including this one.
    pub(super) fn bytes_by(self) -> u64 {
        self.bytes_before + self.bytes
    }
}

/// Part of a slot with a constant rate.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Piece {
    /// Beginning of the piece, from the beginning of the slot.
    pub(super) from: SimTime,
    /// Bits of the slot before the piece.
    pub(super) bits_before: f64,
    pub(super) rate_bps: f64,
}

impl Direction {
    /// Number of slots that are kept: those of packets in transit, and of the times between which capacity is measured.
    const RECENT: usize = 4;

    pub(super) fn new(
        slots: Arc<Slots>,
        name: DirectionName,
        config: DirectionConfig,
        seed: RunSeed,
    ) -> Self {
        let numbered = |of: &str| Numbered::new(seed.stream(&format!("{}.{of}", name.stream())));
        Self {
            slots,
            config,
            rates: numbered("rates"),
            steps: numbered("steps"),
            phases: numbered("phases"),
            cycles: numbered("cycles"),
            totals: Mutex::new(vec![0.0]),
            recent: Mutex::new(Vec::new()),
        }
    }

    /// Mean rate of a slot in bit/s outside outages and obstructions: lognormal, of mean
    /// [`rate_bps`](DirectionConfig::rate_bps).
    pub(super) fn slot_rate_bps(&self, slot: u64) -> f64 {
        let DirectionConfig { rate_bps, spread_between: spread, slot_correlation: correlation, .. } =
            self.config;
        let z = if correlation == 0.0 {
            self.rates.normal(slot)
        } else {
            self.rates.autoregressive(0, correlation).nth(slot as usize).unwrap_or(0.0)
        };
        rate_bps * libm::exp(spread * z - spread * spread / 2.0)
    }

    /// Rate of each step of a slot in bit/s; 0 for obstructed steps.
    fn step_rates(&self, slot: &Slot) -> Vec<f64> {
        let steps = self.slots.steps();
        let mean = if slot.is_uncovered { 0.0 } else { self.slot_rate_bps(slot.number) };
        let DirectionConfig { spread_within: spread, step_correlation, .. } = self.config;
        let rate = |y: f64| mean * libm::exp(spread * y - spread * spread / 2.0);
        let rates = self.steps.autoregressive(slot.number * steps, step_correlation).map(rate);
        let mut rates: Vec<f64> = rates.take(steps as usize).collect();
        for (rate, _) in rates.iter_mut().zip(&slot.obstructed).filter(|(_, obstructed)| **obstructed) {
            *rate = 0.0;
        }
        rates
    }

    fn make(&self, number: u64) -> SlotCapacity {
        let slot = self.slots.slot(number);
        let rates = self.step_rates(&slot);
        let SatelliteConfig { slot: length, gate, .. } = self.slots.config;
        let levels = gate.levels(length, slot.longer);
        if self.config.grant == SimTime::ZERO {
            let (pieces, bits) = pieces(&rates, &levels, length);
            return SlotCapacity { number, can: Can::Flowing(pieces), bits };
        }
        let [phase, ..] = self.phases.uniform(number);
        let (grants, bits) = self.grants(&rates, &levels, self.cycles(number, phase));
        SlotCapacity { number, can: Can::Granted(grants), bits }
    }

    /// Grant periods of a slot: for each, the phase of its grants as a share of the period, and their size relative to
    /// the rate.
    fn cycles(&self, slot: u64, phase: f64) -> impl Iterator<Item = (f64, f64)> + use<> {
        let DirectionConfig { grant, grant_spread: spread, grant_moves, .. } = self.config;
        let varies = spread > 0.0 || grant_moves > 0.0;
        let of_slot = self.slots.config.slot.as_nanos().div_ceil(grant.as_nanos().max(1));
        let mut draws = self.cycles.from(slot * of_slot);
        let mut home = phase;
        std::iter::repeat_with(move || {
            if !varies {
                return (phase, 1.0);
            }
            let Draws { uniform: [moves, there], normal } = draws();
            if moves < grant_moves / 2.0 {
                home = there;
            }
            let at = if moves < grant_moves { there } else { home };
            (at, libm::exp(spread * normal - spread * spread / 2.0))
        })
    }

    /// Grants of a slot with step rates `rates`, from its grant periods `cycles`, and their total bits.
    fn grants(
        &self,
        rates: &[f64],
        levels: &Levels,
        cycles: impl Iterator<Item = (f64, f64)>,
    ) -> (Vec<Grant>, f64) {
        let DirectionConfig { grant, half_grant, .. } = self.config;
        let half = SimTime::from_nanos(grant.as_nanos() / 2);
        let length = self.slots.config.slot;
        let mut grants = Vec::with_capacity((length / grant) as usize * 2 + 2);
        let (mut left_bits, mut bytes_before) = (0.0, 0);
        let mut add = |into: SimTime, share: f64| {
            if into >= length || share == 0.0 {
                return;
            }
            let rate = rates[(into / SatelliteConfig::STEP) as usize] * gate::level(levels, into);
            left_bits += rate * grant.as_secs_f64() * share;
            let bytes = (left_bits / 8.0) as u64;
            if bytes > 0 && rate > 0.0 {
                left_bits -= bytes as f64 * 8.0;
                grants.push(Grant { into, bytes, bytes_before });
                bytes_before += bytes;
            }
        };
        let mut start = SimTime::ZERO;
        for (phase, over) in cycles {
            if start >= length {
                break;
            }
            let first = SimTime::from_secs_f64(grant.as_secs_f64() * phase);
            if first >= half {
                // The delayed part, half a grant period later, wraps around to the beginning of the period.
                add(start + (first - half), half_grant * over);
                add(start + first, (1.0 - half_grant) * over);
            } else {
                add(start + first, (1.0 - half_grant) * over);
                add(start + first + half, half_grant * over);
            }
            start += grant;
        }
        (grants, bytes_before as f64 * 8.0)
    }

    /// Capacity of a slot, computed now or kept from before.
    pub(super) fn slot(&self, number: u64) -> Arc<SlotCapacity> {
        let mut recent = self.recent.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(slot) = recent.iter().find(|slot| slot.number == number) {
            return Arc::clone(slot);
        }
        let slot = Arc::new(self.make(number));
        if recent.len() == Self::RECENT {
            recent.remove(0);
        }
        recent.push(Arc::clone(&slot));
        slot
    }

    /// Total bits of all slots before `number`.
    fn bits_before(&self, number: u64) -> f64 {
        let mut totals = self.totals.lock().unwrap_or_else(PoisonError::into_inner);
        for slot in totals.len() as u64 - 1..number {
            let total = totals[slot as usize] + self.slot(slot).bits;
            totals.push(total);
        }
        totals[number as usize]
    }

    /// Total bits that can have been sent by `now`, from the beginning of slot 0 on.
    fn bits_by(&self, now: SimTime) -> f64 {
        let (number, into) = self.slots.locate(now);
        self.bits_before(number) + self.slot(number).bits_by(into)
    }

    /// Number of slots without capacity, half a day of 15 s slots, after which the search for capacity ends.
    pub(super) const PATIENCE: u64 = 2880;
}

impl SlotCapacity {
    /// Number of bits that can be sent in the slot up to the time `into` it.
    fn bits_by(&self, into: SimTime) -> f64 {
        match &self.can {
            Can::Granted(grants) => {
                let next = grants.partition_point(|grant| grant.into <= into);
                next.checked_sub(1).map_or(0.0, |last| grants[last].bytes_by() as f64 * 8.0)
            }
            Can::Flowing(pieces) => {
                let piece = &pieces[pieces.partition_point(|piece| piece.from <= into) - 1];
                piece.bits_before + (into - piece.from).as_secs_f64() * piece.rate_bps
            }
        }
    }
}

/// Pieces of constant rate in a slot, and their total bits.
fn pieces(rates: &[f64], levels: &Levels, length: SimTime) -> (Vec<Piece>, f64) {
    let steps = (0..rates.len() as u64).map(|step| SatelliteConfig::STEP * step);
    let mut starts: Vec<SimTime> =
        steps.chain(levels.iter().map(|(from, _)| *from)).filter(|from| *from < length).collect();
    starts.sort_unstable();
    starts.dedup();
    let mut bits_before = 0.0;
    let ends = starts[1..].iter().copied().chain([length]);
    let pieces = starts.iter().zip(ends).map(|(&from, end)| {
        let rate_bps = rates[(from / SatelliteConfig::STEP) as usize] * gate::level(levels, from);
        let piece = Piece { from, bits_before, rate_bps };
        bits_before += (end - from).as_secs_f64() * rate_bps;
        piece
    });
    let pieces = pieces.collect();
    (pieces, bits_before)
}

/// Capacity of a direction over time, against which utilisation is measured.
#[derive(Clone, Debug)]
pub struct Capacities(pub(super) Arc<Direction>);

impl Capacities {
    /// Number of bits that can be sent after `from` and until `to`.
    pub fn bits(&self, from: SimTime, to: SimTime) -> f64 {
        if to <= from { 0.0 } else { self.0.bits_by(to) - self.0.bits_by(from) }
    }

    /// Grants after `from` and until `to`, with their times and bytes; empty for a direction without grants.
    pub fn grants(&self, from: SimTime, to: SimTime) -> Vec<(SimTime, u64)> {
        let slots = &self.0.slots;
        let [(first, _), (last, _)] = [from, to].map(|time| slots.locate(time));
        let of_slot = |number: u64| {
            let slot = self.0.slot(number);
            let Can::Granted(grants) = &slot.can else { return Vec::new() };
            grants.iter().map(|grant| (slots.time(number, grant.into), grant.bytes)).collect()
        };
        let grants = (first..=last).flat_map(of_slot);
        grants.filter(|(time, _)| *time > from && *time <= to).collect()
    }
}

impl Capacity for Capacities {
    fn capacity_bits(&self, from: SimTime, to: SimTime) -> f64 {
        self.bits(from, to)
    }
}
