//! Channel of a user: constant, fading or recorded.

use crate::blockage::Blockage;
use crate::config::{NrConfig, NrUser};
use crate::stack_config::Way;
use crossfade_cell::{CellError, SinrTrace};
use crossfade_channel::{FrequencyResponse, PredictedFading, TravelledShadowing, simd::Simd};
use crossfade_core::{RunSeed, SimTime, Stream, from_db};
use rand::RngExt;
use std::sync::Arc;

/// Blockage of one user from slot to slot; each time with and without a blocker is drawn.
#[derive(Clone)]
struct Blocker {
    config: Blockage,
    slot_time: SimTime,
    stream: Stream,
    is_blocked: bool,
    /// First slot in which the blockage begins or ends.
    until: u64,
}

impl Blocker {
    /// Blockage that starts with a line of sight.
    fn new(config: Blockage, slot_time: SimTime, stream: Stream) -> Self {
        let mut blocker = Self { config, slot_time, stream, is_blocked: false, until: 0 };
        blocker.until = blocker.lasts(config.clear);
        blocker
    }

    /// Draws an exponential time in whole slots, at least one.
    fn lasts(&mut self, mean: SimTime) -> u64 {
        let draw: f64 = self.stream.random();
        let time_s = -mean.as_secs_f64() * libm::log1p(-draw);
        (time_s / self.slot_time.as_secs_f64()).ceil().max(1.0) as u64
    }

    /// Linear factor on the SNR in `slot`. Slots must not decrease from call to call.
    fn gain(&mut self, slot: u64) -> f64 {
        while slot >= self.until {
            self.is_blocked = !self.is_blocked;
            let mean = if self.is_blocked { self.config.blocked } else { self.config.clear };
            self.until += self.lasts(mean);
        }
        if self.is_blocked { from_db(-self.config.depth_db) } else { 1.0 }
    }
}

/// Channel of a user: SNR of each group of resource blocks in a slot.
#[derive(Clone)]
pub(crate) struct Channel {
    kind: Kind,
    blocker: Option<Blocker>,
    /// Mean SNR, linear.
    mean: f64,
    slot: Option<u64>,
    /// SNR of the current slot, linear: one value for all groups, or one per group.
    ratios: Vec<f64>,
    powers: Vec<f32>,
}

#[derive(Clone)]
#[expect(clippy::large_enum_variant, reason = "one a user, and read for every slot")]
enum Kind {
    Constant,
    Fading {
        fading: PredictedFading,
        shadowing: Option<TravelledShadowing>,
        metres_a_slot: f64,
        groups: usize,
    },
    Recorded {
        trace: SinrTrace,
        slot_time: SimTime,
    },
}

impl Channel {
    /// Channel of user `number`. Its random streams are named `channel.nr.N`, `shadowing.nr.N` and `blockage.nr.N`.
    /// With TDD both directions have one channel; with FDD the uplink has its own fading, `channel.nr.up.N`, with equal
    /// shadowing and blockage.
    pub(crate) fn new(
        number: usize,
        config: &NrConfig,
        response: Option<&Arc<FrequencyResponse>>,
        seed: RunSeed,
        simd: Simd,
    ) -> Result<Self, CellError> {
        let NrUser { mean_snr_db, speed_mps, fd_t, trace, .. } = &config.users[number];
        let stream = |of: &str| {
            let is_apart = config.way != Way::Down && config.duplex.is_frequency() && of != "shadowing";
            seed.stream(&format!("{of}.nr.{}{number}", if is_apart { "up." } else { "" }))
        };
        let kind = match (trace, &config.profile, response) {
            (Some(trace), ..) => Kind::Recorded { trace: trace.clone(), slot_time: config.numerology.slot() },
            (None, Some(profile), Some(response)) => {
                let streams = [stream("channel"), stream("prediction")];
                let shadowing =
                    config.shadowing.map(|config| TravelledShadowing::new(config, stream("shadowing")));
                Kind::Fading {
                    fading: PredictedFading::new(profile, Arc::clone(response), *fd_t, 0.0, streams, simd)?,
                    shadowing: shadowing.transpose()?,
                    metres_a_slot: speed_mps * config.numerology.slot().as_secs_f64(),
                    groups: config.groups(),
                }
            }
            _ => Kind::Constant,
        };
        let powers = vec![0.0; response.map_or(0, |response| response.padded())];
        let slot_time = config.numerology.slot();
        let blockage = config.blockage.filter(|_| !matches!(kind, Kind::Recorded { .. }));
        let blocker = blockage
            .map(|config| Blocker::new(config, slot_time, seed.stream(&format!("blockage.nr.{number}"))));
        Ok(Self {
            kind,
            blocker,
            mean: from_db(*mean_snr_db),
            slot: None,
            ratios: vec![from_db(*mean_snr_db)],
            powers,
        })
    }

    /// Copy of this channel for the other direction of TDD, with another mean SNR, before the first slot of both.
    pub(crate) fn of_other_way(&self, mean_snr_db: f64) -> Self {
        let mean = from_db(mean_snr_db);
        Self { mean, ratios: vec![mean], ..self.clone() }
    }

    /// SNR in `slot`, linear: one value for all groups, or one per group.
    pub(crate) fn at(&mut self, slot: u64) -> &[f64] {
        if self.slot == Some(slot) {
            return &self.ratios;
        }
        self.slot = Some(slot);
        let mut mean = self.mean;
        if let Some(blocker) = &mut self.blocker {
            mean *= blocker.gain(slot);
        }
        match &mut self.kind {
            Kind::Constant => self.ratios[0] = mean,
            Kind::Fading { fading, shadowing, metres_a_slot, groups } => {
                fading.go(slot);
                fading.predicted_powers(&mut self.powers);
                let shadow_db =
                    shadowing.as_mut().map_or(0.0, |shadowing| shadowing.db(slot as f64 * *metres_a_slot));
                let mean = if shadow_db == 0.0 { mean } else { mean * from_db(shadow_db) };
                self.ratios.clear();
                self.ratios.extend(self.powers[..*groups].iter().map(|power| mean * f64::from(*power)));
            }
            Kind::Recorded { trace, slot_time } => {
                self.ratios.clear();
                self.ratios.extend(
                    trace.at(slot_time.saturating_mul(slot)).iter().map(|power| mean * f64::from(*power)),
                );
            }
        }
        &self.ratios
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::cell_tests::{SEED, config};

    #[test]
    fn blockers_come_and_go_as_their_means_say() {
        let mut cell = config(20.0);
        let blockage =
            Blockage { clear: SimTime::from_millis(500), blocked: SimTime::from_millis(125), depth_db: 15.8 };
        cell.blockage = Some(blockage);
        let simd = Simd::chosen().unwrap();
        let [mut down, mut up] = [Way::Down, Way::Up { symbols: 13, k2: 4 }].map(|way| {
            let config = NrConfig { way, ..cell.clone() };
            Channel::new(0, &config, None, SEED, simd).unwrap()
        });
        let slots = 2_000_000_u64;
        let (mut blocked, mut begun, mut before) = (0_u64, 0_u64, false);
        for slot in 0..slots {
            let [ratio] = *down.at(slot) else { panic!("one of all groups") };
            assert_eq!(up.at(slot), [ratio], "blockers stand in both ways");
            let is_blocked = ratio < 50.0;
            let expected = if is_blocked { from_db(20.0) * from_db(-15.8) } else { from_db(20.0) };
            assert_eq!(ratio, expected);
            blocked += u64::from(is_blocked);
            begun += u64::from(is_blocked && !before);
            before = is_blocked;
        }
        // A fifth of the time, each 0.625 s; some 1600 blockages of which the mean is off by 2.5 % each standard error.
        let (share, each_s) = (blocked as f64 / slots as f64, slots as f64 * 5e-4 / begun as f64);
        assert!((share - 0.2).abs() < 0.02 && (each_s / 0.625 - 1.0).abs() < 0.1, "{share} {each_s}");
    }
}
