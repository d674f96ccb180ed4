//! Keys of the physical layer of a link with frames: table `phy`.

use super::base::{absent, json};
use super::channel::{Channel, ChannelModel, refuse};
use super::combining::{PhyCombining, refuse_combining};
use super::error_rate_curve::error_rate_curve;
use super::frames::FrameSetup;
use crate::error::ScenarioError;
use crate::files::Files;
use crate::quantity::{FileName, Rate, SymbolRate};
use crossfade_channel::{Motion, RayleighFading};
use crossfade_core::SimTime;
use crossfade_link::{Policy, RadioConfig};
use crossfade_phy::{self as phy, ErrorRateCurve, PhyConfig, PhyError, SchemeChoice, Snr, SwitchingTable};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use std::sync::Arc;

/// Physical layer of the link, with channel.model = "block-rayleigh": transmit scheme and receiver.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default)]
pub struct Phy {
    /// Constellation of the symbols.
    #[schemars(extend("x-default" = "qpsk"))]
    #[serde(skip_serializing_if = "Option::is_none")]
    pub modulation: Option<Modulation>,

    /// Space-time scheme: how symbols map to antennas.
    #[schemars(extend("x-default" = "none: required without phy.policy"))]
    #[serde(skip_serializing_if = "Option::is_none")]
    pub scheme: Option<Scheme>,

    /// Detector of symbols that interfere with each other.
    #[schemars(extend("x-default" = "linear with scheme siso, simo, alamouti or stbc-half; mmse-osic with others"))]
    #[serde(skip_serializing_if = "Option::is_none")]
    pub detector: Option<Detector>,

    /// Symbol rate: channel uses per second. link.rate follows: symbol_rate x bits per symbol x symbols per channel
    /// use. Padding of a frame's last block takes no time.
    #[schemars(extend("x-default" = "the symbol rate that gives link.rate; one of the two is required"))]
    #[serde(skip_serializing_if = "Option::is_none")]
    pub symbol_rate: Option<SymbolRate>,

    /// Transmit power of the codes with four transmit antennas.
    #[schemars(extend("x-default" = "equal"))]
    #[serde(skip_serializing_if = "Option::is_none")]
    pub stbc_power: Option<StbcPower>,

    /// Combining of the receptions of a retransmitted frame. Needs link.framing.header = "readable" and a
    /// link.arq.protocol that retransmits.
    #[serde(skip_serializing_if = "PhyCombining::is_absent")]
    pub combining: PhyCombining,

    /// Channel estimation of the receiver.
    #[serde(skip_serializing_if = "Estimation::is_absent")]
    pub estimation: Estimation,

    /// File of switch levels of scheme, detector and modulation. Each frame uses those for the SNR at its start, which
    /// the sender knows. Columns: axis (channel.snr_db), from, to, phy.scheme, and optionally phy.detector and
    /// phy.modulation, as written by `crossfade best --switching --csv`. link.rate is that of the fastest entry. Copies
    /// of a frame are combined where scheme, detector and modulation agree.
    #[schemars(extend("x-default" = "none: every frame uses phy.scheme"))]
    #[serde(skip_serializing_if = "Option::is_none")]
    pub policy: Option<FileName>,

    /// Fidelity: detection of every symbol, or frames drawn from a table.
    #[schemars(extend("x-default" = "symbol"))]
    #[serde(skip_serializing_if = "Option::is_none")]
    pub fidelity: Option<PhyFidelity>,

    /// Table of residual errors for fidelity = "table". It is CSV with the columns snr_db (rho), transmissions (1, 2,
    /// ...) and residual, the frame error rate after that many transmissions, with combining if there is any. Of the
    /// columns scheme, detector, correlation, stbc_power, combining, combining_stage and frame_bits, those that differ
    /// from line to line select the lines; others are ignored. `crossfade phy --csv` writes such a table.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub table: Option<FileName>,
}

/// Constellation of the symbols, of unit energy.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub enum Modulation {
    /// BPSK with 1 bit per symbol.
    #[serde(rename = "bpsk")]
    Bpsk,
    /// QPSK with 2 bits per symbol.
    #[serde(rename = "qpsk")]
    Qpsk,
    /// 8 points on two rings, 3 bits per symbol.
    #[serde(rename = "8-star")]
    Star8,
    /// 8-PSK, 8 points on a circle, 3 bits per symbol.
    #[serde(rename = "8-psk")]
    Psk8,
    /// 4 x 2 points, 3 bits per symbol.
    #[serde(rename = "8-rect")]
    Rect8,
    /// 16-QAM with 4 bits per symbol.
    #[serde(rename = "16-qam")]
    Qam16,
    /// 32-QAM: 6 x 6 points without corners, 5 bits per symbol.
    #[serde(rename = "32-cross")]
    Cross32,
    /// 64-QAM with 6 bits per symbol.
    #[serde(rename = "64-qam")]
    Qam64,
    /// 128-QAM: 12 x 12 points without corners, 7 bits per symbol.
    #[serde(rename = "128-cross")]
    Cross128,
    /// 256-QAM with 8 bits per symbol.
    #[serde(rename = "256-qam")]
    Qam256,
}

/// Space-time scheme: how symbols map to antennas.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub enum Scheme {
    /// Single antenna at both ends.
    #[serde(rename = "siso")]
    Siso,
    /// One transmit antenna, and maximal-ratio combining of up to 8 receive antennas.
    #[serde(rename = "simo")]
    Simo,
    /// Space-time code of Alamouti: two transmit antennas, rate 1.
    #[serde(rename = "alamouti")]
    Alamouti,
    /// Orthogonal space-time code C_8,4: four transmit antennas, rate 1/2.
    #[serde(rename = "stbc-half")]
    StbcHalf,
    /// Quasi-orthogonal space-time code C_4,4: four transmit antennas, rate 1.
    #[serde(rename = "stbc-1")]
    Stbc1,
    /// Two Alamouti codes side by side: four transmit antennas, rate 2.
    #[serde(rename = "stbc-2")]
    Stbc2,
    /// Spatial multiplexing: an independent stream from each of 2 to 8 antennas, received by at least as many.
    #[serde(rename = "blast")]
    Blast,
}

/// Detector of symbols that interfere with each other. Schemes without such interference use the matched filter with
/// every detector.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Detector {
    /// Maximum likelihood over all candidates, at most 2^16.
    Ml,
    /// Minimum mean square error with ordered successive interference cancellation.
    MmseOsic,
    /// Linear minimum mean square error detection.
    Mmse,
    /// Zero-forcing detection.
    Zf,
    /// Maximum likelihood detection by a sphere decoder.
    Sphere,
    /// Matched filter, for orthogonal schemes only.
    Linear,
}

/// Transmit power of the codes with four transmit antennas.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum StbcPower {
    /// Transmit power equal to that of every other scheme.
    Equal,
    /// Twice the transmit power of other schemes (3 dB more), as equations 12 to 16 of "TCP performance over wireless
    /// MIMO channels with ARQ and packet combining" print it.
    Printed,
}

/// Channel estimation of the receiver.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default)]
pub struct Estimation {
    /// Normalised mean square error of the estimated gains. The receiver uses the estimates as if they were the
    /// channel.
    #[schemars(range(min = 0), extend("exclusiveMaximum" = 1, "x-default" = "0, with channel.model \"block-rayleigh\": the receiver knows the gains"))]
    #[serde(skip_serializing_if = "Option::is_none")]
    pub nmse: Option<f64>,
}

/// Fidelity of the simulation of a frame.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum PhyFidelity {
    /// Every symbol is detected.
    Symbol,
    /// Frames fail with the probabilities of an error-rate table.
    Table,
}

absent!(Phy, Estimation);

/// Resolved physical layers of a link: one, or several with a policy that switches between them.
pub(crate) struct Layers {
    /// Only physical layer, or the fastest one of the policy.
    pub(crate) usual: PhyConfig,
    /// Switching policy and the physical layer of each of its ranges; `None` for a single physical layer.
    policy: Option<(Arc<SwitchingTable>, Vec<PhyConfig>)>,
}

impl Layers {
    /// Rate of the slowest physical layer, if `rate` is that of the fastest.
    pub(super) fn slowest(&self, rate: Rate) -> Rate {
        let chosen = self.policy.iter().flat_map(|(_, layers)| layers);
        let bits = chosen.map(PhyConfig::bits_per_use).fold(self.usual.bits_per_use(), f64::min);
        Rate(rate.0 * bits / self.usual.bits_per_use())
    }
}

/// Converts the word of a scenario to the model's value of this name.
pub(super) fn word<T>(
    word: impl Serialize,
    named: fn(&str) -> Result<T, PhyError>,
) -> Result<T, ScenarioError> {
    named(json(word).as_str().unwrap_or_default()).map_err(|error| refuse_phy(&error))
}

impl Phy {
    /// Fills in the defaults of the physical layer of `channel`, and the link rate that it determines; `None` if the
    /// channel has no physical layer. Frames are resolved later.
    pub(crate) fn resolve(
        &mut self,
        channel: &mut Channel,
        rate: &mut Option<Rate>,
        files: &Files<'_>,
    ) -> Result<Option<Layers>, ScenarioError> {
        if channel.model != Some(ChannelModel::BlockRayleigh) {
            return if self.is_absent() {
                Ok(None)
            } else {
                Err(ScenarioError::key("phy", "needs channel.model = \"block-rayleigh\""))
            };
        }
        channel.refuse_foreign_keys("channel", ChannelModel::BlockRayleigh)?;
        let modulation = word(*self.modulation.get_or_insert(Modulation::Qpsk), phy::Modulation::named)?;
        let combining = self.combining.resolve()?;
        let layers = if let Some(FileName(name)) = self.policy.clone() {
            self.refuse_beside_policy(channel)?;
            let table = files.switching("phy.policy", &name)?;
            let mut layer = |choice: &SchemeChoice| {
                let modulation = choice.modulation.unwrap_or(modulation);
                self.layer(channel, choice.scheme, choice.detector, modulation, combining)
            };
            let layers = table.choices().iter().map(&mut layer).collect::<Result<Vec<_>, _>>()?;
            let fastest = layers
                .iter()
                .copied()
                .reduce(|one, other| if other.bits_per_use() > one.bits_per_use() { other } else { one });
            let usual = fastest.ok_or_else(|| ScenarioError::key("phy.policy", "has no lines"))?;
            Layers { usual, policy: Some((table, layers)) }
        } else {
            let scheme = self.scheme.ok_or_else(|| {
                let words = phy::Scheme::ALL.map(phy::Scheme::name).join(", ");
                ScenarioError::missing("phy.scheme", &format!("one of {words}"))
            })?;
            let scheme = word(scheme, phy::Scheme::named)?;
            let usual = if scheme.is_orthogonal() { Detector::Linear } else { Detector::MmseOsic };
            let detector = word(*self.detector.get_or_insert(usual), phy::Detector::named)?;
            Layers {
                usual: self.layer(channel, scheme, Some(detector), modulation, combining)?,
                policy: None,
            }
        };
        self.resolve_rate(&layers.usual, rate)?;
        Ok(Some(layers))
    }

    /// Error if keys are given that the switching policy determines, or whose values depend on the scheme.
    fn refuse_beside_policy(&self, channel: &Channel) -> Result<(), ScenarioError> {
        for (key, is_given, reason) in [
            ("phy.scheme", self.scheme.is_some(), "the policy chooses it"),
            ("phy.detector", self.detector.is_some(), "the policy chooses it"),
            (
                "channel.es_n0_db",
                channel.es_n0_db.is_some(),
                "it differs from scheme to scheme; use channel.snr_db",
            ),
            (
                "channel.eb_n0_db",
                channel.eb_n0_db.is_some(),
                "it differs from scheme to scheme; use channel.snr_db",
            ),
        ] {
            if is_given {
                return Err(ScenarioError::contradiction(key, "phy.policy", reason));
            }
        }
        Ok(())
    }

    /// Physical layer of one scheme, detector and modulation.
    fn layer(
        &mut self,
        channel: &mut Channel,
        scheme: phy::Scheme,
        detector: Option<phy::Detector>,
        modulation: phy::Modulation,
        combining: Option<phy::Combining>,
    ) -> Result<PhyConfig, ScenarioError> {
        let usual = if scheme.is_orthogonal() { phy::Detector::Linear } else { phy::Detector::MmseOsic };
        let usual = PhyConfig::new(scheme, detector.unwrap_or(usual));
        let antennas = &mut channel.antennas;
        let config = PhyConfig {
            modulation,
            n_t: *antennas.n_t.get_or_insert(usual.n_t as u32) as usize,
            n_r: *antennas.n_r.get_or_insert(usual.n_r as u32) as usize,
            stbc_power: match self.stbc_power.get_or_insert(StbcPower::Equal) {
                StbcPower::Equal => phy::StbcPower::Equal,
                StbcPower::Printed => phy::StbcPower::Printed,
            },
            nmse: *self.estimation.nmse.get_or_insert(0.0),
            combining,
            ..usual
        };
        config.check().map_err(|error| refuse_phy(&error))?;
        Ok(config)
    }

    /// Computes `link.rate` from the symbol rate, or the symbol rate from `link.rate`.
    fn resolve_rate(&mut self, config: &PhyConfig, rate: &mut Option<Rate>) -> Result<(), ScenarioError> {
        let bits = config.bits_per_use();
        match (self.symbol_rate, *rate) {
            (Some(SymbolRate(symbols)), None) => *rate = Some(Rate(symbols * bits)),
            (None, Some(Rate(rate))) => self.symbol_rate = Some(SymbolRate(rate / bits)),
            (None, None) => {
                let problem = "missing; a symbol rate such as \"8 kBd\" (or link.rate)";
                return Err(ScenarioError::key("phy.symbol_rate", problem));
            }
            (Some(symbol_rate), Some(given)) => {
                let follows = symbol_rate.0 * bits;
                if (given.0 - follows).abs() > 1e-9 * follows {
                    let problem = format!(
                        "phy.symbol_rate = \"{symbol_rate}\" makes it {follows} bit/s ({bits} bits a channel use): \
                         give one of the two"
                    );
                    return Err(ScenarioError::value("link.rate", &json(given), problem));
                }
                *rate = Some(Rate(follows));
            }
        }
        Ok(())
    }

    /// Resolves the radio that sends `frames`.
    pub(super) fn resolve_radio(
        &mut self,
        layers: Layers,
        channel: &mut Channel,
        frames: &FrameSetup,
        slot: SimTime,
        files: &Files<'_>,
    ) -> Result<RadioConfig, ScenarioError> {
        let of_frames = |config: &PhyConfig| PhyConfig { frame_bits: frames.frame_size * 8, ..*config };
        let Layers { usual, policy } = layers;
        let phy = of_frames(&usual);
        let policy = policy.map(|(table, all)| {
            let layer = |config| {
                let slower = usual.bits_per_use() / PhyConfig::bits_per_use(config);
                (of_frames(config), SimTime::from_secs_f64(frames.frame_time.as_secs_f64() * slower))
            };
            Policy { table, layers: all.iter().map(layer).collect() }
        });
        let shadowing = channel.resolve_shadowing("channel", slot, frames.frame_time)?;
        let snr_db = rho_db(&phy, channel)?;
        let correlation = channel.antennas.resolve_correlation("channel.antennas")?;
        let memory = (channel.fd_t, channel.block_length);
        let mut clock = || channel.resolve_clock("channel", slot, Some(frames.frame_time));
        let motion = match memory {
            (None, Some(length)) => Motion::Blocks { length: length.into(), clock: clock()? },
            (None, None) => {
                if let Some(clock) = channel.clock {
                    let problem = "needs channel.fd_t or channel.block_length: without them nothing moves";
                    return Err(ScenarioError::value("channel.clock", &json(clock), problem));
                }
                Motion::Independent
            }
            (Some(fd_t), _) => {
                RayleighFading::new(fd_t).map_err(|error| refuse("channel", &error))?;
                Motion::Moving { fd_t, clock: clock()? }
            }
        };
        if phy.combining.is_some() {
            refuse_combining(frames, "phy.combining")?;
        }
        let mut radio = RadioConfig { phy, policy, correlation, motion, snr_db, shadowing, table: None };
        radio.table = self.resolve_table(&radio, channel, files)?;
        radio.check().map_err(|error| refuse_phy(&error))?;
        Ok(radio)
    }

    fn resolve_table(
        &mut self,
        radio: &RadioConfig,
        channel: &Channel,
        files: &Files<'_>,
    ) -> Result<Option<Arc<ErrorRateCurve>>, ScenarioError> {
        let fidelity = *self.fidelity.get_or_insert(PhyFidelity::Symbol);
        let curves = match (fidelity, &self.table) {
            (PhyFidelity::Symbol, None) => return Ok(None),
            (PhyFidelity::Symbol, Some(_)) => {
                return Err(ScenarioError::key("phy.table", "needs phy.fidelity = \"table\""));
            }
            (PhyFidelity::Table, None) => {
                return Err(ScenarioError::missing("phy.table", "a file, with phy.fidelity = \"table\""));
            }
            (PhyFidelity::Table, Some(FileName(name))) => files.error_rates("phy.table", name)?,
        };
        for (key, is_given, reason) in [
            (
                channel.block_length.map_or("channel.fd_t", |_| "channel.block_length"),
                radio.motion != Motion::Independent,
                "a table knows frames that fade independently",
            ),
            (
                "channel.shadowing_db",
                radio.shadowing.is_some(),
                "a table knows frames that fade independently",
            ),
            ("phy.policy", radio.policy.is_some(), "a table is of one scheme"),
        ] {
            if is_given {
                return Err(ScenarioError::contradiction("phy.fidelity", key, reason));
            }
        }
        let table = error_rate_curve(&curves, &radio.phy, channel.antennas.correlation)?;
        table
            .residual(radio.snr_db, 1)
            .map_err(|error| ScenarioError::key("phy.table", error.to_string()))?;
        Ok(Some(table))
    }
}

/// SNR of the channel as rho in dB (per receive antenna), from whichever of its keys is given.
fn rho_db(config: &PhyConfig, channel: &Channel) -> Result<f64, ScenarioError> {
    let given = [channel.snr_db, channel.es_n0_db, channel.eb_n0_db];
    if given == [None; 3] {
        let problem = "a signal-to-noise ratio in dB (or es_n0_db, or eb_n0_db)";
        return Err(ScenarioError::missing("channel.snr_db", problem));
    }
    let [rho, symbol, bit] = given;
    let snr = Snr::given(rho, symbol, bit).map_err(|error| refuse_phy(&error))?;
    Ok(snr.rho_db(config.scheme, config.n_t, config.stbc_power, config.modulation))
}

/// Error of the physical layer's model as an error of the scenario key that it concerns.
fn refuse_phy(error: &PhyError) -> ScenarioError {
    let message = error.to_string();
    let key = match error {
        PhyError::OutOfRange { parameter: "nmse", .. } => "phy.estimation",
        PhyError::OutOfRange { parameter: "frame_bits", .. } => "link.frame_size",
        PhyError::OutOfRange { .. } | PhyError::TwoRatios { .. } => "channel",
        PhyError::Antennas { .. } => "channel.antennas",
        PhyError::TooManyCandidates { .. } | PhyError::NotOrthogonal { .. } => "phy.detector",
        PhyError::Combining { .. } => "phy.combining",
        PhyError::Channel(crossfade_channel::ChannelError::Simd { .. }) => "environment",
        PhyError::Channel(error) => return refuse("channel.antennas", error),
        PhyError::Unknown { .. } => "phy",
    };
    ScenarioError::key(key, message)
}
