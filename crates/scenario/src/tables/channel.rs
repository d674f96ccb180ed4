//! Keys of a channel: which packets or frames are lost.

use super::antennas::Antennas;
use super::base::{json, time};
use super::error_rate::{BlockSizesWord, CopiesWord, FadingWord, GrayModulation};
use super::tagged::{Tag, foreign, given, refuse_foreign, tag, taken_by};
use crate::error::{ScenarioError, join};
use crate::files::Files;
use crate::quantity::{FileName, Frequency, Share, Span, Speed};
use crossfade_channel::{
    self as channel, ChannelError, CorrelatedShadowing, DropList, FiniteStateChannel, LossConfig,
    RayleighFading, TraceFormat, TwoStateMarkov, p_e_from_fading_margin_db,
};
use crossfade_core::{OutOfRange, SimTime};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// Channel: which packets, or frames, are lost.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default)]
#[schemars(transform = taken_by::<ChannelModel>)]
pub struct Channel {
    /// Loss process of the channel.
    #[schemars(extend("x-default" = "none for reverse.channel, and beside a table of link.trace; otherwise required"))]
    #[serde(skip_serializing_if = "Option::is_none")]
    pub model: Option<ChannelModel>,

    /// Average loss probability of packets (the papers' P_E), or of frames on links with frames.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub p_e: Option<Share>,

    /// Fading margin in dB: mean signal power over the reception threshold. An alternative to p_e: in Rayleigh fading
    /// p_e = 1 - exp(-1/F), F = 10^(fading_margin_db/10).
    #[schemars(range(min = -20, max = 120))]
    #[serde(skip_serializing_if = "Option::is_none")]
    pub fading_margin_db: Option<f64>,

    /// Normalised Doppler frequency f_d T: Doppler frequency times the step of the channel. Small values mean slow
    /// fading with long bursts of losses. The model markov maps it by the Rayleigh equations.
    #[schemars(extend("exclusiveMinimum" = 0, "maximum" = 100))]
    #[serde(skip_serializing_if = "Option::is_none")]
    pub fd_t: Option<f64>,

    /// Speed of the receiver, such as "3 km/h"; with carrier an alternative to fd_t. f_d = speed * carrier / c, over
    /// a step of the channel.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub speed: Option<Speed>,

    /// Carrier frequency, such as "2 GHz". Needs speed.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub carrier: Option<Frequency>,

    /// Steps of the channel in a block of quasi-static fading. An alternative to fd_t. Gains stay for a block, and are
    /// independent from block to block.
    #[schemars(range(min = 1, max = 1000000000))]
    #[serde(skip_serializing_if = "Option::is_none")]
    pub block_length: Option<u32>,

    /// Mean length of a burst of losses, in steps of the channel; with p_e.
    #[schemars(range(min = 1, max = 1e12))]
    #[serde(skip_serializing_if = "Option::is_none")]
    pub mean_burst: Option<f64>,

    /// Transition probability from good to good; with p_bb.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub p_gg: Option<Share>,

    /// Transition probability from bad to bad; with p_gg.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub p_bb: Option<Share>,

    /// Transition probabilities of the chain: a row for each state, a column for each next state.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub transitions: Option<Vec<Vec<Share>>>,

    /// Loss probability in each state of the model finite-state.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub state_p_e: Option<Vec<Share>>,

    /// Indices of the lost transmissions, from 0, in rising order; retransmissions count. On links with frames they
    /// count frames, including idle ones.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub drops: Option<Vec<u64>>,

    /// File of recorded losses of packets. It holds a digit per packet (0 delivered, 1 lost), or indices of lost
    /// packets from 0. Packet n of the file is step n of the channel; after its last packet it begins again.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub file: Option<FileName>,

    /// Format of the file of losses.
    #[schemars(extend("x-default" = "auto, with model \"trace\""))]
    #[serde(skip_serializing_if = "Option::is_none")]
    pub format: Option<LossFormat>,

    /// Antennas of transmitter and receiver.
    #[serde(skip_serializing_if = "Antennas::is_absent")]
    pub antennas: Antennas,

    /// SNR rho in dB: power at one receive antenna, of all transmit antennas, over the noise.
    #[schemars(range(min = -50, max = 60))]
    #[serde(skip_serializing_if = "Option::is_none")]
    pub snr_db: Option<f64>,

    /// SNR as Es/N0 in dB: energy of an information symbol at one receive antenna over N0.
    #[schemars(range(min = -50, max = 60))]
    #[serde(skip_serializing_if = "Option::is_none")]
    pub es_n0_db: Option<f64>,

    /// SNR as Eb/N0 in dB: energy of a bit at one receive antenna over N0.
    #[schemars(range(min = -50, max = 60))]
    #[serde(skip_serializing_if = "Option::is_none")]
    pub eb_n0_db: Option<f64>,

    /// Standard deviation of log-normal shadowing in dB, with snr_db as its median. Needs decorrelation.
    #[schemars(range(min = 0, max = 40), extend("x-default" = "none: no shadowing"))]
    #[serde(skip_serializing_if = "Option::is_none")]
    pub shadowing_db: Option<f64>,

    /// Decorrelation time of the shadowing. Its correlation is exp(-t / decorrelation) (Gudmundson 1991).
    #[schemars(extend("x-default" = "none: required with shadowing_db"))]
    #[serde(skip_serializing_if = "Option::is_none")]
    pub decorrelation: Option<Span>,

    /// File of error rates over SNR: CSV with the columns snr_db and error_rate. It may also have mode, bytes and
    /// transmissions (the attempt). Between rows the logarithm of the rate is interpolated; below the first SNR every
    /// block fails, beyond the last the last rate holds.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub table: Option<FileName>,

    /// Modulation and coding: selects the lines of the table by its column mode.
    #[schemars(extend("x-default" = "the only mode of channel.table; required if it has several"))]
    #[serde(skip_serializing_if = "Option::is_none")]
    pub mode: Option<String>,

    /// Error rate of a block whose size is missing in the table.
    #[schemars(extend("x-default" = "scaled, with model \"error-rate-table\""))]
    #[serde(skip_serializing_if = "Option::is_none")]
    pub block_sizes: Option<BlockSizesWord>,

    /// Fading of the SNR.
    #[schemars(extend("x-default" = "rayleigh with fd_t, otherwise none"))]
    #[serde(skip_serializing_if = "Option::is_none")]
    pub fading: Option<FadingWord>,

    /// Number of parts of a step with gains of their own. The effective SNR of a block is that of the parts' mean
    /// mutual information.
    #[schemars(range(min = 1, max = 64), extend("x-default" = "1, with model \"error-rate-table\""))]
    #[serde(skip_serializing_if = "Option::is_none")]
    pub parts: Option<u32>,

    /// Constellation of the mode, for its mutual information.
    #[schemars(extend("x-default" = "none: required with parts"))]
    #[serde(skip_serializing_if = "Option::is_none")]
    pub modulation: Option<GrayModulation>,

    /// Combining of the receptions of a retransmitted frame. Needs a link with frames.
    #[schemars(extend("x-default" = "none, with model \"error-rate-table\""))]
    #[serde(skip_serializing_if = "Option::is_none")]
    pub combining: Option<CopiesWord>,

    /// Clock of a channel with memory: each packet time, or each transmission. On links with frames it is the frame
    /// time. With "transmission" a burst of losses waits for the sender, which reverses the conclusion about
    /// correlated losses.
    #[schemars(extend("x-default" = "slot; frame on links with frames"))]
    #[serde(skip_serializing_if = "Option::is_none")]
    pub clock: Option<Clock>,
}

tag! {
    /// Loss process of a channel.
    #[serde(rename_all = "kebab-case")]
    pub enum ChannelModel: Channel by model {
        /// No losses.
        None [],
        /// Independent losses: each packet is lost with probability p_e.
        Iid [p_e],
        /// Two-state Markov chain: {p_e or fading_margin_db, fd_t}, {p_e, mean_burst} or {p_gg, p_bb}.
        Markov [p_e, fading_margin_db, fd_t, speed, carrier, mean_burst, p_gg, p_bb, clock]
            "{p_e or fading_margin_db, fd_t or speed and carrier}, {p_e, mean_burst} or {p_gg, p_bb}, and clock",
        /// Finite-state Markov channel (Wang and Moayeri 1995): transitions between states that lose with
        /// probability state_p_e each.
        FiniteState [transitions, state_p_e, clock] "transitions, state_p_e and clock",
        /// Sampled Rayleigh fading (Jakes spectrum) with a threshold: {p_e or fading_margin_db, fd_t}.
        Rayleigh [p_e, fading_margin_db, fd_t, speed, carrier, clock]
            "{p_e or fading_margin_db, fd_t or speed and carrier}, and clock",
        /// Losses of the transmissions listed in drops.
        DropList [drops],
        /// Recorded losses: a packet is lost if the record in the file lost its counterpart; file, and clock.
        Trace [file, format, clock] "file, format and clock",
        /// Losses of blocks (a packet, or a frame of a link with frames) with the probability that an error-rate table
        /// gives at their SNR, which is constant or fades.
        ErrorRateTable [table, mode, block_sizes, fading, parts, modulation, combining, snr_db, shadowing_db,
            decorrelation, fd_t, speed, carrier, clock]
            "table and snr_db, mode, block_sizes, fading, fd_t (or speed and carrier) with clock, shadowing_db with \
             decorrelation, parts with modulation, and combining",
        /// Flat Rayleigh fading between antennas, constant during a frame, under the physical layer of the table phy:
        /// snr_db (or es_n0_db, or eb_n0_db), antennas; with fd_t gains move from frame to frame (Jakes spectrum), with
        /// block_length they stay for a block of frames, otherwise each transmission has gains of its own; shadowing_db
        /// and decorrelation move the ratio itself. Needs link.frame_size.
        BlockRayleigh [antennas, snr_db, es_n0_db, eb_n0_db, shadowing_db, decorrelation, fd_t, speed, carrier, block_length,
            clock]
            "snr_db (or es_n0_db, or eb_n0_db), antennas, shadowing_db with decorrelation, and fd_t (or speed and carrier, \
             or block_length) with clock",
    }
}

/// Format of a file of losses.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum LossFormat {
    /// Format detected from the text; a text that fits both formats is an error.
    Auto,
    /// One digit per packet: 0 delivered, 1 lost.
    Bits,
    /// Indices of the lost packets, from 0; a line "# packets N" gives their total.
    Lost,
}

/// Clock that advances a channel with memory.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum Clock {
    /// One step of the channel per packet time. Not on links with frames.
    Slot,
    /// One step of the channel per frame time. On links with frames only.
    Frame,
    /// One step of the channel per transmission.
    Transmission,
}

/// Pairs of keys that exclude each other in a Markov or Rayleigh channel.
const EXCLUSIVE: [(&str, &str); 16] = [
    ("block_length", "fd_t"),
    ("block_length", "speed"),
    ("fading_margin_db", "p_e"),
    ("mean_burst", "fd_t"),
    ("mean_burst", "fading_margin_db"),
    ("p_gg", "p_e"),
    ("p_gg", "fading_margin_db"),
    ("p_gg", "fd_t"),
    ("p_gg", "mean_burst"),
    ("p_bb", "p_e"),
    ("p_bb", "fading_margin_db"),
    ("p_bb", "fd_t"),
    ("p_bb", "mean_burst"),
    ("mean_burst", "speed"),
    ("p_gg", "speed"),
    ("p_bb", "speed"),
];

/// Speed of light in a vacuum, in m/s.
const LIGHT: f64 = 299_792_458.0;

/// Relative difference below which the Doppler frequencies from speed and from fd_t count as equal, to allow for
/// rounding.
const ROUNDED: f64 = 1e-3;

/// Rate of change of a fading channel.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct DopplerSetup {
    /// Normalised Doppler frequency f_d T, with the step T of the channel.
    pub fd_t: f64,
    /// Doppler frequency f_d in Hz.
    pub frequency_hz: f64,
    /// Speed in m/s and carrier frequency in Hz that determine the Doppler frequency; `None` if fd_t is given.
    pub speed_and_carrier: Option<(f64, f64)>,
}

impl Channel {
    /// Fills in the defaults of the channel in the table called `table`.
    ///
    /// The channel's time steps are slots, or frame times on a link with frames; `bytes` is the usual size of its
    /// packets or frames.
    pub(crate) fn resolve(
        &mut self,
        table: &str,
        (slot, bytes): (SimTime, u32),
        frame_time: Option<SimTime>,
        files: &Files<'_>,
    ) -> Result<LossConfig, ScenarioError> {
        let model = self.model.ok_or_else(|| {
            ScenarioError::missing(
                &join(table, "model"),
                "one of none, iid, markov, finite-state, rayleigh, drop-list, trace, error-rate-table, block-rayleigh",
            )
        })?;
        self.refuse_foreign_keys(table, model)?;
        match model {
            ChannelModel::None => Ok(LossConfig::Lossless),
            ChannelModel::Iid => match self.p_e {
                Some(Share(p_e)) => Ok(LossConfig::Iid { p_e }),
                None => Err(self.incomplete(table, model)),
            },
            ChannelModel::Markov => {
                let chain = self.chain(table)?;
                Ok(LossConfig::Markov { chain, clock: self.resolve_clock(table, slot, frame_time)? })
            }
            ChannelModel::FiniteState => {
                let (Some(transitions), Some(state_p_e)) = (&self.transitions, &self.state_p_e) else {
                    return Err(self.incomplete(table, model));
                };
                let plain = |shares: &Vec<Share>| shares.iter().map(|share| share.0).collect();
                let channel =
                    FiniteStateChannel::new(transitions.iter().map(plain).collect(), plain(state_p_e))
                        .map_err(|error| refuse(table, &error))?;
                Ok(LossConfig::FiniteState { channel, clock: self.resolve_clock(table, slot, frame_time)? })
            }
            ChannelModel::Rayleigh => {
                let (p_e, fd_t) = self.fading(table)?.ok_or_else(|| self.incomplete(table, model))?;
                RayleighFading::new(fd_t).map_err(|error| refuse(table, &error))?;
                let clock = self.resolve_clock(table, slot, frame_time)?;
                Ok(LossConfig::Rayleigh { p_e, fd_t, clock })
            }
            ChannelModel::DropList => {
                let drops = self.drops.as_ref().ok_or_else(|| self.incomplete(table, model))?;
                if drops.is_empty() {
                    let problem = "must name a transmission; model \"none\" loses nothing";
                    return Err(ScenarioError::value(join(table, "drops"), &json(drops), problem));
                }
                DropList::new(drops.clone()).map(LossConfig::DropList).map_err(|error| refuse(table, &error))
            }
            ChannelModel::BlockRayleigh => {
                let problem =
                    "is a channel of frames: it needs link.frame_size, and stands in the table channel";
                Err(ScenarioError::value(join(table, "model"), &json(model), problem))
            }
            ChannelModel::ErrorRateTable => {
                let loss = self.resolve_error_rate(table, bytes, slot, frame_time, files)?;
                Ok(LossConfig::ErrorRate(Box::new(loss)))
            }
            ChannelModel::Trace => {
                let Some(FileName(name)) = self.file.clone() else {
                    return Err(self.incomplete(table, model));
                };
                let format = match self.format.get_or_insert(LossFormat::Auto) {
                    LossFormat::Auto => TraceFormat::Auto,
                    LossFormat::Bits => TraceFormat::Bits,
                    LossFormat::Lost => TraceFormat::Lost,
                };
                let losses = files.losses(&join(table, "file"), &name, format)?;
                Ok(LossConfig::Trace { losses, clock: self.resolve_clock(table, slot, frame_time)? })
            }
        }
    }

    /// Replaces speed and carrier by the equivalent `fd_t`, for a channel with this time step. Returns the rate of
    /// change of its gains; `None` if they do not change.
    pub(super) fn settle_speed(
        &mut self,
        table: &str,
        step: SimTime,
    ) -> Result<Option<DopplerSetup>, ScenarioError> {
        let moves = [
            ChannelModel::Markov,
            ChannelModel::Rayleigh,
            ChannelModel::ErrorRateTable,
            ChannelModel::BlockRayleigh,
        ];
        let Some(model) = self.model.filter(|model| moves.contains(model)) else { return Ok(None) };
        self.refuse_foreign_keys(table, model)?;
        self.refuse_exclusive(table)?;
        let step_s = step.as_secs_f64();
        let speed_and_carrier = match (self.speed, self.carrier) {
            (None, None) => None,
            (Some(Speed(speed)), Some(Frequency(carrier))) => Some((speed, carrier)),
            (Some(speed), None) => {
                let problem = format!("needs {}, such as \"2 GHz\"", join(table, "carrier"));
                return Err(ScenarioError::value(join(table, "speed"), &json(speed), problem));
            }
            (None, Some(carrier)) => {
                let problem = format!("needs {}, such as \"3 km/h\"", join(table, "speed"));
                return Err(ScenarioError::value(join(table, "carrier"), &json(carrier), problem));
            }
        };
        if let Some((speed, carrier)) = speed_and_carrier {
            let follows = speed * carrier / LIGHT * step_s;
            if let Some(fd_t) = self.fd_t.filter(|fd_t| (fd_t - follows).abs() > ROUNDED * follows) {
                let problem = format!(
                    "but {} and {} say {follows:.4e}, in steps of {step}: give one of the two",
                    join(table, "speed"),
                    join(table, "carrier")
                );
                return Err(ScenarioError::value(join(table, "fd_t"), &json(fd_t), problem));
            }
            if follows > 100.0 {
                let problem = format!("too fast: fd_t would be {follows:.4e}, and must be at most 100");
                return Err(ScenarioError::value(join(table, "speed"), &json(self.speed), problem));
            }
            self.fd_t.get_or_insert(follows);
            (self.speed, self.carrier) = (None, None);
        }
        let doppler = |fd_t| DopplerSetup { fd_t, frequency_hz: fd_t / step_s, speed_and_carrier };
        Ok(self.fd_t.map(doppler))
    }

    fn refuse_exclusive(&self, table: &str) -> Result<(), ScenarioError> {
        let given = given(self);
        let given = |key: &str| given.iter().any(|given| given == key);
        match EXCLUSIVE.into_iter().find(|(a, b)| given(a) && given(b)) {
            None => Ok(()),
            Some((a, b)) => {
                let blocks = a == "block_length";
                let model = if blocks { ChannelModel::BlockRayleigh } else { ChannelModel::Markov };
                let reason = format!("a channel takes {}", model.takes());
                Err(ScenarioError::contradiction(&join(table, a), &join(table, b), reason))
            }
        }
    }

    pub(super) fn refuse_foreign_keys(&self, table: &str, model: ChannelModel) -> Result<(), ScenarioError> {
        match foreign(self, model) {
            Some(key) if model == ChannelModel::DropList && self.drops.is_some() => {
                let reason = format!("model {} takes {}", json(model), model.takes());
                Err(ScenarioError::contradiction(&join(table, "drops"), &join(table, &key), reason))
            }
            _ => refuse_foreign(table, self, model),
        }
    }

    pub(super) fn incomplete(&self, table: &str, model: ChannelModel) -> ScenarioError {
        let given: Vec<_> = given(self).into_iter().filter(|key| key != "model").collect();
        let given = if given.is_empty() { "nothing".to_owned() } else { given.join(", ") };
        let takes = model.takes();
        ScenarioError::key(table, format!("incomplete; model {} takes {takes}; given: {given}", json(model)))
    }

    pub(super) fn resolve_clock(
        &mut self,
        table: &str,
        slot: SimTime,
        frame_time: Option<SimTime>,
    ) -> Result<channel::Clock, ScenarioError> {
        let usual = if frame_time.is_some() { Clock::Frame } else { Clock::Slot };
        let refuse = |clock: Clock, problem: &str| {
            Err(ScenarioError::value(join(table, "clock"), &json(clock), problem))
        };
        match (*self.clock.get_or_insert(usual), frame_time) {
            (Clock::Transmission, _) => Ok(channel::Clock::Transmission),
            (Clock::Slot, None) => Ok(channel::Clock::Slot(slot)),
            (Clock::Frame, Some(frame_time)) => Ok(channel::Clock::Slot(frame_time)),
            (Clock::Slot, Some(_)) => {
                refuse(Clock::Slot, "must be frame or transmission on a link with frames")
            }
            (Clock::Frame, None) => {
                refuse(Clock::Frame, "must be slot or transmission on a link without frame_size")
            }
        }
    }

    /// Shadowing of the SNR from frame to frame; `None` without shadowing.
    pub(super) fn resolve_shadowing(
        &self,
        table: &str,
        slot: SimTime,
        frame_time: SimTime,
    ) -> Result<Option<CorrelatedShadowing>, ScenarioError> {
        let needs = |key: &str, other: &str| {
            ScenarioError::key(join(table, key), format!("needs {}", join(table, other)))
        };
        match (self.shadowing_db, self.decorrelation) {
            (None, None) => Ok(None),
            (Some(_), None) => Err(needs("shadowing_db", "decorrelation, such as \"5 s\"")),
            (None, Some(_)) => Err(needs("decorrelation", "shadowing_db")),
            (Some(std_db), Some(span)) => {
                let decorrelation = time(&join(table, "decorrelation"), span, slot)?;
                let shadowing = CorrelatedShadowing::new(std_db, decorrelation, frame_time);
                shadowing.map(Some).map_err(|error| refuse(table, &error))
            }
        }
    }

    /// Loss probability `p_e` and `fd_t` of a fading channel; `None` if it is not given by these.
    fn fading(&self, table: &str) -> Result<Option<(f64, f64)>, ScenarioError> {
        self.refuse_exclusive(table)?;
        let p_e = match self.fading_margin_db {
            Some(margin) => Some(p_e_from_fading_margin_db(margin).map_err(|error| refuse(table, &error))?),
            None => self.p_e.map(|share| share.0),
        };
        Ok(p_e.zip(self.fd_t))
    }

    fn chain(&self, table: &str) -> Result<TwoStateMarkov, ScenarioError> {
        let chain = match (self.fading(table)?, self.p_e, self.mean_burst, self.p_gg, self.p_bb) {
            (Some((p_e, fd_t)), ..) => TwoStateMarkov::from_rayleigh(p_e, fd_t),
            (_, Some(Share(p_e)), Some(burst), ..) => TwoStateMarkov::from_burst(p_e, burst),
            (.., Some(Share(p_gg)), Some(Share(p_bb))) => TwoStateMarkov::new(p_gg, p_bb),
            _ => return Err(self.incomplete(table, ChannelModel::Markov)),
        };
        chain.map_err(|error| refuse(table, &error))
    }
}

/// Error of the channel model as an error of the scenario key that it concerns.
pub(super) fn refuse(table: &str, error: &ChannelError) -> ScenarioError {
    match error {
        ChannelError::OutOfRange(OutOfRange { parameter, value, allowed }) => {
            let value = value.parse::<f64>().map_or_else(|_| json(value), json);
            ScenarioError::value(join(table, parameter), &value, format!("must be {allowed}"))
        }
        ChannelError::DropsNotIncreasing { position, drop, previous } => {
            let problem = format!("must be above the one before it, {previous}");
            ScenarioError::value(format!("{table}.drops[{position}]"), &json(drop), problem)
        }
        ChannelError::NeverChangesState | ChannelError::Angle { .. } | ChannelError::Simd { .. } => {
            ScenarioError::key(table, error.to_string())
        }
    }
}
