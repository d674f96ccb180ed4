//! Keys of packet combining: joint use of the receptions of a retransmitted frame.

use super::base::{absent, json};
use super::frames::FrameSetup;
use crate::error::{ScenarioError, join};
use crossfade_link::arq::{ArqProtocol, FrameHeader};
use crossfade_phy as phy;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// Combining of the receptions of a frame.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default)]
#[schemars(rename = "PhyCombining")]
pub struct PhyCombining {
    /// Stage of the receiver at which receptions are combined.
    #[schemars(extend("x-default" = "none; stacked if another key of phy.combining is given"))]
    #[serde(skip_serializing_if = "Option::is_none")]
    pub stage: Option<Stage>,

    /// Weights of the receptions, at the stages posthoc and joint.
    #[schemars(extend("x-default" = "maximal-ratio, with stage \"posthoc\" or \"joint\""))]
    #[serde(skip_serializing_if = "Option::is_none")]
    pub weights: Option<Weights>,

    /// Condition under which a frame is accepted.
    #[schemars(extend("x-default" = "combined, with phy.combining.stage"))]
    #[serde(skip_serializing_if = "Option::is_none")]
    pub accept: Option<Accept>,
}

/// Stage of the receiver at which receptions are combined.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum Stage {
    /// No combining: each reception is decided by itself.
    None,
    /// After detection: the estimates of each reception are combined.
    Posthoc,
    /// Inside detection with cancellation: each decision uses all receptions and is cancelled in all.
    Joint,
    /// Receptions are stacked into one system of equations; optimal, and without weights.
    Stacked,
}

/// Weights of the receptions.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Weights {
    /// Equal weights of all receptions.
    EqualGain,
    /// Weights proportional to the SNR.
    MaximalRatio,
}

/// Condition under which a frame is accepted.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum Accept {
    /// The combination of all receptions passes its checksum.
    Combined,
    /// The combination passes its checksum, or the last reception alone does.
    Either,
}

absent!(PhyCombining);

impl PhyCombining {
    /// Fills in the defaults of packet combining, and returns its model; `None` without combining.
    pub(super) fn resolve(&mut self) -> Result<Option<phy::Combining>, ScenarioError> {
        let usual = if self.is_absent() { Stage::None } else { Stage::Stacked };
        let stage = *self.stage.get_or_insert(usual);
        let foreign = |key: &str, takes: &str| {
            let word = format!("phy.combining.stage = {}", json(stage));
            Err(ScenarioError::contradiction(&join("phy.combining", key), &word, takes))
        };
        let weighs = matches!(stage, Stage::Posthoc | Stage::Joint);
        if self.weights.is_some() && !weighs {
            return foreign("weights", "only posthoc and joint weigh receptions");
        }
        let stage = match stage {
            Stage::None if self.accept.is_some() => return foreign("accept", "nothing is combined"),
            Stage::None => return Ok(None),
            Stage::Posthoc => phy::Stage::Posthoc,
            Stage::Joint => phy::Stage::Joint,
            Stage::Stacked => phy::Stage::Stacked,
        };
        if weighs {
            self.weights.get_or_insert(Weights::MaximalRatio);
        }
        let weights = match self.weights {
            Some(Weights::EqualGain) => phy::Weights::EqualGain,
            Some(Weights::MaximalRatio) | None => phy::Weights::MaximalRatio,
        };
        let accept = match self.accept.get_or_insert(Accept::Combined) {
            Accept::Combined => phy::Accept::Combined,
            Accept::Either => phy::Accept::Either,
        };
        Ok(Some(phy::Combining { stage, weights, accept }))
    }
}

/// Refuses combining on links without readable headers or retransmissions.
pub(super) fn refuse_combining(frames: &FrameSetup, key: &str) -> Result<(), ScenarioError> {
    if frames.header == FrameHeader::Lost {
        let problem = format!(
            "must be \"readable\" with {key}: the receiver must know which frame a spoiled copy belongs to"
        );
        return Err(ScenarioError::value("link.framing.header", &json("lost"), problem));
    }
    if frames.protocol == ArqProtocol::None {
        let problem = format!("must be one that retransmits frames, with {key}: there is one copy of each");
        return Err(ScenarioError::value("link.arq.protocol", &json("none"), problem));
    }
    Ok(())
}
