//! The channel of a user: constant, fading, or recorded.

use crate::config::{NrConfig, NrUser};
use crate::stack_config::Way;
use crossfade_cell::{CellError, SinrTrace};
use crossfade_channel::{FrequencyResponse, PredictedFading, TravelledShadowing, simd::Simd};
use crossfade_core::{RunSeed, SimTime, from_db};
use std::sync::Arc;

/// A channel at a slot: the ratio of each group of resource blocks.
#[derive(Clone)]
pub(crate) struct Channel {
    kind: Kind,
    mean_snr_db: f64,
    slot: Option<u64>,
    /// No decibels: one of all groups, or each.
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
    /// Its streams are called `channel.nr.N` and `shadowing.nr.N`. Time division has the same channel both ways; with frequency division
    /// the uplink has its own, `channel.nr.up.N`, behind the same shadows.
    pub(crate) fn new(
        number: usize,
        config: &NrConfig,
        response: Option<&Arc<FrequencyResponse>>,
        seed: RunSeed,
        simd: Simd,
    ) -> Result<Self, CellError> {
        let NrUser { mean_snr_db, speed_mps, fd_t, trace } = &config.users[number];
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
        Ok(Self { kind, mean_snr_db: *mean_snr_db, slot: None, ratios: vec![from_db(*mean_snr_db)], powers })
    }

    /// The ratios in `slot`: one of all groups, or each.
    pub(crate) fn at(&mut self, slot: u64) -> &[f64] {
        if self.slot == Some(slot) {
            return &self.ratios;
        }
        self.slot = Some(slot);
        let mean = from_db(self.mean_snr_db);
        match &mut self.kind {
            Kind::Constant => {}
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
