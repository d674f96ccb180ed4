//! Resolution of pacing: whether a sender spreads its segments over the RTT.

use super::base::json;
use crate::error::ScenarioError;
use crossfade_transport as transport;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// Pacing: what spreads segments over the RTT.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum Pacing {
    /// No pacing: what the window allows leaves at once.
    Off,
    /// Pacing by a timer of the sender.
    Internal,
}

/// Keys of pacing in the table `tcp`.
pub(super) struct Keys<'a> {
    pub(super) pacing: &'a mut Option<Pacing>,
    pub(super) ss_ratio: &'a mut Option<f64>,
    pub(super) ca_ratio: &'a mut Option<f64>,
    pub(super) tso_segments: Option<u32>,
}

impl Keys<'_> {
    /// Error if any key of pacing is given, with `problem` as the reason.
    pub(super) fn refuse(&self, problem: &str) -> Result<(), ScenarioError> {
        let said = [
            ("pacing", self.pacing.map(json)),
            ("pacing_ss_ratio", self.ss_ratio.map(json)),
            ("pacing_ca_ratio", self.ca_ratio.map(json)),
            ("tso_segments", self.tso_segments.map(json)),
        ];
        match said.into_iter().find_map(|(key, value)| Some((key, value?))) {
            Some((key, value)) => Err(ScenarioError::value(format!("tcp.{key}"), &value, problem)),
            None => Ok(()),
        }
    }

    /// Fills in the defaults of pacing. A congestion control that `sets_rate` always paces. A key with the usual value
    /// stays absent. QUIC is paced by default, at the example rate of RFC 9002 section 7.7.
    pub(super) fn resolve(
        self,
        sets_rate: bool,
        is_quic: bool,
    ) -> Result<Option<transport::Pacing>, ScenarioError> {
        if sets_rate {
            if *self.pacing == Some(Pacing::Off) {
                let problem = "tcp.congestion sets a rate, which needs \"internal\"";
                return Err(ScenarioError::value("tcp.pacing", &json(Pacing::Off), problem));
            }
            *self.pacing = None;
            let ratios = Keys { pacing: &mut None, tso_segments: None, ..self };
            ratios.refuse("tcp.congestion sets the rate itself")?;
            let quantum = self.tso_segments.map(u64::from);
            return Ok(Some(transport::Pacing { quantum, ..transport::Pacing::default() }));
        }
        let usual = if is_quic { Pacing::Internal } else { Pacing::Off };
        let pacing = self.pacing.unwrap_or(usual);
        // A key with the usual value stays absent.
        self.pacing.take_if(|given| *given == usual);
        if pacing == Pacing::Off {
            let others = Keys { pacing: &mut None, ..self };
            return others.refuse("needs tcp.pacing = \"internal\"").map(|()| None);
        }
        let usual = if is_quic {
            transport::Pacing { slow_start_ratio: 1.25, ratio: 1.25, quantum: None }
        } else {
            transport::Pacing::default()
        };
        Ok(Some(transport::Pacing {
            slow_start_ratio: *self.ss_ratio.get_or_insert(usual.slow_start_ratio),
            ratio: *self.ca_ratio.get_or_insert(usual.ratio),
            quantum: self.tso_segments.map(u64::from),
        }))
    }
}
