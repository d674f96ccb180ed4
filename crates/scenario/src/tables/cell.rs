//! A cell: a slotted radio with many users, whose channels are predicted.

use super::adaptation::{CellFeedback, OuterLoop};
use super::base::{absent, json, positive_time};
use super::radio::{Radio, RadioSetup};
use crate::cell::{CellSetup, Recorded};
use crate::error::{ScenarioError, join};
use crate::files::Files;
use crate::quantity::{Frequency, Length, Retransmissions, Share, Span};
use crossfade_cell::{
    Allocation, ArqConfig, CellConfig, FrameSuccess, LevelRule, Levels, PredictedSinr, UserConfig,
};
use crossfade_channel::{DelayProfile, NamedProfile, ShadowingConfig, wiener_nmse};
use crossfade_core::SimTime;
use crossfade_link::QueueLimit;
use crossfade_phy::Modulation;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use std::sync::Arc;

/// A slotted downlink in place of the link: adaptive OFDM whose base station knows predictions of the channels of its
/// users, each of whom has a flow. A slot is then the cell's.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default)]
pub struct Cell {
    /// Where slot, symbols, bins, bin_width and carrier come from, unless they are given.
    #[schemars(extend("x-default" = "wip"))]
    #[serde(skip_serializing_if = "Option::is_none")]
    pub preset: Option<Preset>,

    /// The carrier frequency: with the speed of a user it makes the Doppler shift.
    #[schemars(extend("x-default" = "2 GHz; 3.5 GHz of nr-30k"))]
    #[serde(skip_serializing_if = "Option::is_none")]
    pub carrier: Option<Frequency>,

    /// How long a slot is. Channels are constant in it.
    #[schemars(extend("x-default" = "666667 ns (wip), 1 ms (lte), 500 us (nr-30k)"))]
    #[serde(skip_serializing_if = "Option::is_none")]
    pub slot: Option<Span>,

    /// Symbols with payload in a bin and slot: the length of a frame.
    #[schemars(range(min = 1, max = 100_000), extend("x-default" = "108 (wip), 120 (lte), 132 (nr-30k)"))]
    #[serde(skip_serializing_if = "Option::is_none")]
    pub symbols: Option<u32>,

    /// Into how many frequency bins the band is divided.
    #[schemars(range(min = 1, max = 1024), extend("x-default" = "25; 106 of nr-30k"))]
    #[serde(skip_serializing_if = "Option::is_none")]
    pub bins: Option<u32>,

    /// How wide a bin is. Channels are constant in it.
    #[schemars(extend("x-default" = "200 kHz (wip), 180 kHz (lte), 360 kHz (nr-30k)"))]
    #[serde(skip_serializing_if = "Option::is_none")]
    pub bin_width: Option<Frequency>,

    /// The paths of the channels and their powers.
    #[schemars(extend("x-default" = "typical-urban, without cell.delays_ns"))]
    #[serde(skip_serializing_if = "Option::is_none")]
    pub profile: Option<ProfileWord>,

    /// The root mean square delay spread of TDL-A, TDL-B and TDL-C.
    #[schemars(extend("x-default" = "100 ns, of these"))]
    #[serde(skip_serializing_if = "Option::is_none")]
    pub delay_spread: Option<Span>,

    /// The delays of a profile of one's own in nanoseconds, in order. Contradicts cell.profile.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub delays_ns: Option<Vec<f64>>,

    /// The powers at these delays in dB; what they add up to does not matter.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub powers_db: Option<Vec<f64>>,

    /// Log-normal shadowing along the way of a user.
    #[serde(skip_serializing_if = "Shadowing::is_absent")]
    pub shadowing: Shadowing,

    /// Whether users keep a bin or get them slot by slot.
    #[schemars(extend("x-default" = "scheduled"))]
    #[serde(skip_serializing_if = "Option::is_none")]
    pub allocation: Option<AllocationWord>,

    /// Who gets which bin, of allocation "scheduled".
    #[schemars(extend("x-default" = "best-bin"))]
    #[serde(skip_serializing_if = "Option::is_none")]
    pub scheduler: Option<SchedulerWord>,

    /// Of how many bins, spread evenly, best-bin chooses.
    #[schemars(range(min = 1, max = 1024), extend("x-default" = "cell.bins, of best-bin"))]
    #[serde(skip_serializing_if = "Option::is_none")]
    pub candidates: Option<u32>,

    /// Over which time proportional-fair looks at what users had.
    #[schemars(extend("x-default" = "100 slots, of proportional-fair"))]
    #[serde(skip_serializing_if = "Option::is_none")]
    pub window: Option<Span>,

    /// From which predicted signal-to-noise ratio on which modulation is used.
    #[serde(skip_serializing_if = "LevelKeys::is_absent")]
    pub levels: LevelKeys,

    /// What the base station knows of the channels.
    #[serde(skip_serializing_if = "Prediction::is_absent")]
    pub prediction: Prediction,

    /// How late and in which steps the base station learns what users predict; without it, at once and exactly.
    #[serde(skip_serializing_if = "CellFeedback::is_absent")]
    pub feedback: CellFeedback,

    /// How it corrects what it learns by what becomes of frames; without it, not at all.
    #[serde(skip_serializing_if = "OuterLoop::is_absent")]
    pub outer_loop: OuterLoop,

    /// How frames are repeated.
    #[serde(skip_serializing_if = "CellArq::is_absent")]
    pub arq: CellArq,

    /// The radio of users whose flow says nothing else.
    #[serde(skip_serializing_if = "Radio::is_absent")]
    pub radio: Radio,
}

/// Log-normal shadowing: a first-order autoregressive process sampled in distance.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default)]
pub struct Shadowing {
    /// The standard deviation in dB; 0 is none.
    #[schemars(range(min = 0, max = 40), extend("x-default" = "4"))]
    #[serde(skip_serializing_if = "Option::is_none")]
    pub sigma_db: Option<f64>,

    /// The correlation of neighbouring samples.
    #[schemars(range(min = 0, max = 1), extend("x-default" = "0.74"))]
    #[serde(skip_serializing_if = "Option::is_none")]
    pub pole: Option<f64>,

    /// How far apart samples are.
    #[schemars(extend("x-default" = "2 m"))]
    #[serde(skip_serializing_if = "Option::is_none")]
    pub spacing: Option<Length>,

    /// What lies between samples.
    #[schemars(extend("x-default" = "linear"))]
    #[serde(skip_serializing_if = "Option::is_none")]
    pub interpolation: Option<Interpolation>,
}

/// From which predicted signal-to-noise ratio on which modulation is used: levels that are best for an error of the
/// predictions, unless a target or levels are given.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default)]
pub struct LevelKeys {
    /// The normalised mean square error of predictions that the levels are made for.
    #[schemars(range(min = 0, max = 1), extend("x-default" = "the error of the predictions"))]
    #[serde(skip_serializing_if = "Option::is_none")]
    pub target_nmse: Option<f64>,

    /// The share of frames that may fail, instead of the most expected bits.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub target_fer: Option<Share>,

    /// The levels of 2 to 8 bits a symbol in dB, or of 1 to 8. Contradicts the others.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub custom_db: Option<Vec<f64>>,

    /// The constellation of 3 bits a symbol.
    #[schemars(extend("x-default" = "star"))]
    #[serde(skip_serializing_if = "Option::is_none")]
    pub eight: Option<Eight>,
}

/// What the base station knows of the channels.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default)]
pub struct Prediction {
    /// The normalised mean square error of the predicted complex gain, below 1.
    #[schemars(range(min = 0, max = 1), extend("x-default" = "0, or what the horizon allows"))]
    #[serde(skip_serializing_if = "Option::is_none")]
    pub nmse: Option<f64>,

    /// How far ahead channels are predicted, from 32 slots each observed with the mean signal-to-noise ratio. Without
    /// an nmse it makes the error, of each user for itself.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub horizon: Option<Span>,

    /// Whether the predicted signal-to-noise ratio has the error's power added, which makes it right in the mean.
    #[schemars(extend("x-default" = "unbiased"))]
    #[serde(skip_serializing_if = "Option::is_none")]
    pub sinr: Option<SinrWord>,
}

/// How frames of a cell are repeated.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default)]
pub struct CellArq {
    /// So long after a frame was sent it can be sent again.
    #[schemars(extend("x-default" = "3 slots"))]
    #[serde(skip_serializing_if = "Option::is_none")]
    pub delay: Option<Span>,

    /// After so many repetitions bits are given up, and their packets lost.
    #[schemars(extend("x-default" = "infinity"))]
    #[serde(skip_serializing_if = "Option::is_none")]
    pub max_retransmissions: Option<Retransmissions>,

    /// Whether a frame is sent in two when the modulation has to go down; otherwise it is repeated as it was.
    #[schemars(extend("x-default" = "true"))]
    #[serde(skip_serializing_if = "Option::is_none")]
    pub split: Option<bool>,
}

absent!(Cell, Shadowing, LevelKeys, Prediction, CellArq);

/// A system that a cell is like.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Preset {
    /// The Wireless IP proposal of 2003: 1500 slots a second, 25 bins of 200 kHz.
    Wip,
    /// 5 MHz of LTE: subframes of 1 ms, resource blocks of 180 kHz, three symbols of control.
    Lte,
    /// 40 MHz of 5G NR at a subcarrier spacing of 30 kHz: slots of 500 us, resource blocks of 360 kHz.
    #[serde(rename = "nr-30k")]
    Nr30k,
}

/// A power delay profile.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub enum ProfileWord {
    /// Typical urban of the Wireless IP proposal, ten paths up to 2.2 us.
    #[serde(rename = "typical-urban")]
    TypicalUrban,
    /// Extended Pedestrian A (3GPP TS 36.104).
    #[serde(rename = "EPA")]
    Epa,
    /// Extended Vehicular A.
    #[serde(rename = "EVA")]
    Eva,
    /// Extended Typical Urban.
    #[serde(rename = "ETU")]
    Etu,
    /// Tapped delay line A (3GPP TR 38.901), scaled by cell.delay_spread.
    #[serde(rename = "TDL-A")]
    TdlA,
    /// Tapped delay line B.
    #[serde(rename = "TDL-B")]
    TdlB,
    /// Tapped delay line C.
    #[serde(rename = "TDL-C")]
    TdlC,
}

/// Whether users keep a bin.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum AllocationWord {
    /// Each user has one bin for good.
    Static,
    /// Bins are given slot by slot.
    Scheduled,
}

/// Who gets which bin.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum SchedulerWord {
    /// Each user the one that is predicted to be best, users choosing in turns: one bin a user and slot.
    BestBin,
    /// All bins go to the users with something to send, in turns.
    RoundRobin,
    /// Each bin goes to the user with the highest predicted ratio in it.
    MaxSinr,
    /// Each bin goes to the user whose predicted rate in it is highest relative to what the user had.
    ProportionalFair,
}

/// What lies between samples of shadowing.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Interpolation {
    /// A line, in dB.
    Linear,
    /// A sample holds until the next.
    Hold,
}

/// The constellation of 3 bits a symbol.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Eight {
    /// Two rings of four points.
    Star,
    /// 4 x 2 points.
    Rectangular,
}

/// What is taken for the signal-to-noise ratio.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum SinrWord {
    /// Right in the mean.
    Unbiased,
    /// The predicted gain as it stands: too low by the power of its error.
    Raw,
}

/// Slots from which a predictor knows the channel.
const OBSERVATIONS: usize = 32;

impl Cell {
    /// Fills in what the preset says, and gives the slot.
    pub(crate) fn resolve_slot(&mut self) -> Result<SimTime, ScenarioError> {
        let preset = *self.preset.get_or_insert(Preset::Wip);
        let (slot, symbols, bins, bin_width, carrier) = match preset {
            Preset::Wip => (SimTime::from_nanos(666_667), 108, 25, 200e3, 2e9),
            Preset::Lte => (SimTime::from_millis(1), 120, 25, 180e3, 2e9),
            Preset::Nr30k => (SimTime::from_micros(500), 132, 106, 360e3, 3.5e9),
        };
        self.symbols.get_or_insert(symbols);
        self.bins.get_or_insert(bins);
        self.bin_width.get_or_insert(Frequency(bin_width));
        self.carrier.get_or_insert(Frequency(carrier));
        let given = *self.slot.get_or_insert(Span::exactly(slot));
        let slot = positive_time("cell.slot", given, slot)?;
        if (SimTime::from_micros(10)..=SimTime::from_millis(100)).contains(&slot) {
            Ok(slot)
        } else {
            Err(ScenarioError::value("cell.slot", &json(given), "must be between 10 us and 100 ms"))
        }
    }

    /// Fills in the defaults of a cell whose users are those of flows with these radios, each with the key of its table
    /// and how many there are.
    pub(crate) fn resolve(
        &mut self,
        slot: SimTime,
        radios: &mut [(String, &mut Radio, usize)],
        queue: Option<QueueLimit>,
        files: &Files<'_>,
    ) -> Result<CellSetup, ScenarioError> {
        let profile = self.resolve_profile(slot)?;
        let shadowing = self.shadowing.resolve()?;
        let allocation = self.resolve_allocation(slot)?;
        let horizon =
            self.prediction.horizon.map(|horizon| positive_time("cell.prediction.horizon", horizon, slot));
        let horizon_slots =
            horizon.transpose()?.map(|horizon| horizon.as_nanos() as f64 / slot.as_nanos() as f64);
        if let Some(nmse) = self.prediction.nmse.filter(|nmse| *nmse >= 1.0) {
            let problem = "must be at least 0 and below 1";
            return Err(ScenarioError::value("cell.prediction.nmse", &json(nmse), problem));
        }
        let is_prediction_given =
            horizon_slots.is_some() || self.prediction.nmse.is_some_and(|nmse| nmse > 0.0);
        if horizon_slots.is_none() {
            self.prediction.nmse.get_or_insert(0.0);
        }
        let carrier_hz = self.carrier.map_or(0.0, |carrier| carrier.0);
        let symbols = self.symbols.unwrap_or_default();
        let feedback = self.feedback.resolve(slot)?;
        let outer_loop = self.outer_loop.resolve(self.levels.target_fer)?;
        let mut levels = self.resolve_levels(symbols)?;
        let (mut users, mut recorded) = (Vec::new(), Vec::new());
        self.radio.check("cell.radio")?;
        for (table, radio, count) in radios {
            let radio = radio.resolve(table, &self.radio, slot, files)?;
            if let RadioSetup::Recorded { key, trace } = &radio {
                let (columns, bins) = (trace.columns(), self.bins.unwrap_or_default());
                if columns != 1 && columns != bins as usize {
                    let problem =
                        format!("{columns} ratios on a line: must be 1, or {bins}, the bins of the cell");
                    return Err(ScenarioError::key(key.clone(), problem));
                }
                recorded.push(Recorded { key: key.clone(), lasts: trace.lasts(), repeats: trace.repeats() });
            }
            for i in 0..*count {
                users.push(match &radio {
                    RadioSetup::Recorded { trace, .. } => UserConfig {
                        mean_snr_db: trace.mean_db(),
                        speed_mps: 0.0,
                        fd_t: 0.0,
                        nmse: 0.0,
                        levels: levels.of(0.0)?,
                        trace: Some(trace.clone()),
                    },
                    RadioSetup::Modelled(modelled) => {
                        let (mean_snr_db, speed_mps, fd_t) =
                            modelled.user(table, i, *count, carrier_hz, slot)?;
                        let snr = 10_f64.powf(mean_snr_db / 10.0);
                        let nmse = self.prediction.nmse.unwrap_or_else(|| {
                            wiener_nmse(fd_t, horizon_slots.unwrap_or(0.0), snr, OBSERVATIONS).min(0.999)
                        });
                        let levels = levels.of(nmse)?;
                        UserConfig { mean_snr_db, speed_mps, fd_t, nmse, levels, trace: None }
                    }
                });
            }
        }
        let config = CellConfig {
            slot,
            symbols,
            bins: self.bins.unwrap_or_default() as usize,
            bin_width_hz: self.bin_width.map_or(0.0, |width| width.0),
            profile,
            shadowing,
            users,
            allocation,
            feedback,
            outer_loop,
            arq: self.arq.resolve(slot)?,
            queue,
        };
        config.check().map_err(|error| named("cell", &error))?;
        Ok(CellSetup { config, horizon_slots, is_prediction_given, recorded })
    }

    fn resolve_profile(&mut self, slot: SimTime) -> Result<DelayProfile, ScenarioError> {
        let (delays, powers) = match (&self.delays_ns, &self.powers_db) {
            (None, None) => return self.named_profile(slot),
            (Some(delays), Some(powers)) => (delays, powers),
            (Some(_), None) => {
                return Err(ScenarioError::missing(
                    "cell.powers_db",
                    "a list such as [0, -3, -6], one for each delay",
                ));
            }
            (None, Some(_)) => {
                return Err(ScenarioError::missing(
                    "cell.delays_ns",
                    "a list such as [0, 200, 600], one for each power",
                ));
            }
        };
        if self.profile.is_some() {
            let reason = "the lists are the profile";
            return Err(ScenarioError::contradiction("cell.profile", "cell.delays_ns", reason));
        }
        let seconds: Vec<f64> = delays.iter().map(|delay| delay * 1e-9).collect();
        DelayProfile::new(&seconds, powers).map_err(|error| named("cell", &error))
    }

    fn named_profile(&mut self, slot: SimTime) -> Result<DelayProfile, ScenarioError> {
        let word = *self.profile.get_or_insert(ProfileWord::TypicalUrban);
        let is_tdl = matches!(word, ProfileWord::TdlA | ProfileWord::TdlB | ProfileWord::TdlC);
        let spread_s = if is_tdl {
            let spread = *self.delay_spread.get_or_insert(Span::exactly(SimTime::from_nanos(100)));
            let time = super::base::time("cell.delay_spread", spread, slot)?;
            if time > SimTime::from_micros(10) {
                let problem = "must be at most 10 us";
                return Err(ScenarioError::value("cell.delay_spread", &json(spread), problem));
            }
            time.as_secs_f64()
        } else {
            // A sweep over the profiles has this key in all of its points.
            self.delay_spread = None;
            0.0
        };
        let name = match word {
            ProfileWord::TypicalUrban => NamedProfile::TypicalUrban,
            ProfileWord::Epa => NamedProfile::Epa,
            ProfileWord::Eva => NamedProfile::Eva,
            ProfileWord::Etu => NamedProfile::Etu,
            ProfileWord::TdlA => NamedProfile::TdlA(spread_s),
            ProfileWord::TdlB => NamedProfile::TdlB(spread_s),
            ProfileWord::TdlC => NamedProfile::TdlC(spread_s),
        };
        DelayProfile::named(name).map_err(|error| named("cell", &error))
    }

    fn resolve_allocation(&mut self, slot: SimTime) -> Result<Allocation, ScenarioError> {
        if *self.allocation.get_or_insert(AllocationWord::Scheduled) == AllocationWord::Static {
            // A sweep over the allocations has these keys in all of its points.
            (self.scheduler, self.candidates, self.window) = (None, None, None);
            return Ok(Allocation::Static);
        }
        let scheduler = *self.scheduler.get_or_insert(SchedulerWord::BestBin);
        if scheduler != SchedulerWord::BestBin {
            self.candidates = None;
        }
        if scheduler != SchedulerWord::ProportionalFair {
            self.window = None;
        }
        Ok(match scheduler {
            SchedulerWord::BestBin => {
                let all = self.bins.unwrap_or_default();
                Allocation::BestBin { candidates: *self.candidates.get_or_insert(all) as usize }
            }
            SchedulerWord::RoundRobin => Allocation::RoundRobin,
            SchedulerWord::MaxSinr => Allocation::MaxSinr,
            SchedulerWord::ProportionalFair => {
                let window = *self.window.get_or_insert(Span::exactly(slot * 100));
                let window = positive_time("cell.window", window, slot)?;
                Allocation::ProportionalFair {
                    window_slots: (window.as_nanos() as f64 / slot.as_nanos() as f64).max(1.0),
                }
            }
        })
    }

    fn resolve_levels(&mut self, symbols: u32) -> Result<LevelsByError, ScenarioError> {
        let usual = self.prediction.nmse;
        let LevelKeys { target_nmse, target_fer, custom_db, eight } = &mut self.levels;
        let refuse = |key: &str| {
            let (one, other) = (join("cell.levels", key), "cell.levels.custom_db");
            Err(ScenarioError::contradiction(&one, other, "the levels are given"))
        };
        match custom_db {
            Some(_) if target_fer.is_some() => return refuse("target_fer"),
            Some(_) if target_nmse.is_some() => return refuse("target_nmse"),
            Some(_) => {}
            None => *target_nmse = target_nmse.or(usual),
        }
        let eight = match *eight.get_or_insert(Eight::Star) {
            Eight::Star => Modulation::Star8,
            Eight::Rectangular => Modulation::Rect8,
        };
        let kind = match *self.prediction.sinr.get_or_insert(SinrWord::Unbiased) {
            SinrWord::Unbiased => PredictedSinr::Unbiased,
            SinrWord::Raw => PredictedSinr::Raw,
        };
        let (keys, success) = (self.levels.clone(), FrameSuccess::new(symbols, eight));
        Ok(LevelsByError { keys, kind, success, made: Vec::new() })
    }
}

/// The levels of users: where nothing else is said, made for the error of their own predictions.
struct LevelsByError {
    keys: LevelKeys,
    kind: PredictedSinr,
    success: FrameSuccess,
    made: Vec<(f64, Arc<Levels>)>,
}

impl LevelsByError {
    fn of(&mut self, nmse: f64) -> Result<Arc<Levels>, ScenarioError> {
        let LevelKeys { target_nmse, target_fer, custom_db, .. } = &self.keys;
        let target_nmse = target_nmse.unwrap_or(nmse);
        if let Some((_, levels)) = self.made.iter().find(|(made_for, _)| *made_for == target_nmse) {
            return Ok(Arc::clone(levels));
        }
        let rule = match (custom_db, target_fer) {
            (Some(levels), _) => LevelRule::Custom(levels.clone()),
            (None, Some(target)) => LevelRule::TargetFer { target: target.0, target_nmse },
            (None, None) => LevelRule::Optimal { target_nmse },
        };
        let levels = Levels::new(rule, self.kind, self.success.clone()).map(Arc::new);
        let levels = levels.map_err(|error| named("cell", &error))?;
        self.made.push((target_nmse, Arc::clone(&levels)));
        Ok(levels)
    }
}

impl Shadowing {
    fn resolve(&mut self) -> Result<Option<ShadowingConfig>, ScenarioError> {
        let config = ShadowingConfig {
            std_db: *self.sigma_db.get_or_insert(4.0),
            pole: *self.pole.get_or_insert(0.74),
            spacing_m: self.spacing.get_or_insert(Length(2.0)).0,
            hold: *self.interpolation.get_or_insert(Interpolation::Linear) == Interpolation::Hold,
        };
        config.check().map_err(|error| named("cell.shadowing", &error))?;
        Ok((config.std_db > 0.0).then_some(config))
    }
}

impl CellArq {
    fn resolve(&mut self, slot: SimTime) -> Result<ArqConfig, ScenarioError> {
        let delay = *self.delay.get_or_insert(Span::exactly(slot * 3));
        let time = positive_time("cell.arq.delay", delay, slot)?;
        let delay_slots = time.as_nanos().div_ceil(slot.as_nanos());
        if delay_slots > 1000 {
            return Err(ScenarioError::value("cell.arq.delay", &json(delay), "must be at most 1000 slots"));
        }
        let max_retransmissions = self.max_retransmissions.get_or_insert(Retransmissions(None)).0;
        Ok(ArqConfig { delay_slots, max_retransmissions, split: *self.split.get_or_insert(true) })
    }
}

/// What a model refuses, "NAME = VALUE: must be so", with the table before the name.
fn named(table: &str, error: &impl std::fmt::Display) -> ScenarioError {
    let text = error.to_string();
    let (what, problem) = text.split_once(": ").unwrap_or((&text, "cannot be"));
    ScenarioError::key(join(table, what), problem)
}
