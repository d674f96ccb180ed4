//! Keys of the congestion control BBR.

use super::base::{absent, json, time};
use crate::error::ScenarioError;
use crate::quantity::Span;
use crossfade_core::SimTime;
use crossfade_transport::{self as transport, BbrConfig, CongestionControlKind};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// Options of the congestion control BBR. Taken by congestion "bbr-v1" and "bbr-v3".
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default)]
pub struct Bbr {
    /// Largest addition to the window for aggregated ACKs, as time at the estimated bandwidth. 0 s adds none.
    #[schemars(extend("x-default" = "100 ms; unlimited with congestion \"bbr-v3\" and profile \"draft-06\""))]
    #[serde(skip_serializing_if = "Option::is_none")]
    pub extra_acked_cap: Option<Span>,

    /// Policer detection of BBRv1. Two intervals with one loss in five deliveries or more and equal rates are taken
    /// for a token bucket.
    #[schemars(extend("x-default" = "true, with congestion \"bbr-v1\""))]
    #[serde(skip_serializing_if = "Option::is_none")]
    pub policer: Option<bool>,

    /// BBRv3 source: `draft-06` (IETF draft) or `linux-v3` (its authors' kernel branch).
    #[schemars(extend("x-default" = "draft-06, with congestion \"bbr-v3\""))]
    #[serde(skip_serializing_if = "Option::is_none")]
    pub profile: Option<Profile>,

    /// Rates that BBRv3 compares to detect a full pipe.
    #[schemars(extend("x-default" = "draft; linux with profile \"linux-v3\""))]
    #[serde(skip_serializing_if = "Option::is_none")]
    pub full_pipe: Option<FullPipe>,

    /// Pacing gain of BBRv3 in the state Drain.
    #[schemars(extend("exclusiveMinimum" = 0, "exclusiveMaximum" = 1, "x-default" = "0.5; 0.34375 (88/256) with profile \"linux-v3\""))]
    #[serde(skip_serializing_if = "Option::is_none")]
    pub drain_gain: Option<f64>,

    /// ECN response of BBRv3 in Linux, for routes whose queues mark early. The kernel's route feature is ecn_low.
    /// Segments carry ECT(1); marks are counted, lower the bound of inflight data once a round, and end Startup and
    /// probes when more than half of a round is marked.
    #[schemars(extend("x-default" = "false, with profile \"linux-v3\""))]
    #[serde(skip_serializing_if = "Option::is_none")]
    pub ecn: Option<bool>,

    /// Largest minimum RTT at which BBRv3 responds to marks; 0 s has no limit. Needs ecn.
    #[schemars(extend("x-default" = "5 ms, with tcp.bbr.ecn"))]
    #[serde(skip_serializing_if = "Option::is_none")]
    pub ecn_max_rtt: Option<Span>,
}

/// Source of the BBRv3 algorithm.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub enum Profile {
    /// BBRv3 of the IETF draft draft-ietf-ccwg-bbr-06.
    #[serde(rename = "draft-06")]
    Draft,
    /// BBRv3 of the Linux kernel branch v3 of google/bbr.
    #[serde(rename = "linux-v3")]
    Linux,
}

/// Rates that are compared to detect a full pipe, which is three rounds without 25 % more bandwidth.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum FullPipe {
    /// Compares the delivery rate of the first ACK in each round.
    Draft,
    /// Compares the delivery rates of all ACKs.
    Linux,
}

absent!(Bbr);

impl Bbr {
    /// Fills in the defaults if the congestion control is BBR, and returns its model.
    pub(crate) fn resolve(
        &mut self,
        control: CongestionControlKind,
        mss: u32,
        slot: SimTime,
    ) -> Result<BbrConfig, ScenarioError> {
        let is_first = match control {
            CongestionControlKind::BbrV1 => true,
            CongestionControlKind::BbrV3 => false,
            _ if self.is_absent() => return Ok(BbrConfig::default()),
            _ => {
                let problem = "needs tcp.congestion = \"bbr-v1\" or \"bbr-v3\"";
                return Err(ScenarioError::value("tcp.bbr", &json(&self), problem));
            }
        };
        if is_first {
            self.refuse_version_3()?;
            self.extra_acked_cap.get_or_insert(Span::millis(100));
            self.policer.get_or_insert(true);
        } else if self.policer.is_some() {
            let problem = "version 3 looks for none";
            return Err(ScenarioError::value("tcp.bbr.policer", &json(self.policer), problem));
        } else {
            self.resolve_version_3()?;
        }
        let ecn_max_rtt = self.resolve_ecn(slot)?;
        let cap = self.extra_acked_cap.map(|cap| time("tcp.bbr.extra_acked_cap", cap, slot)).transpose()?;
        let usual = match self.profile {
            Some(Profile::Linux) => BbrConfig::linux_v3(),
            Some(Profile::Draft) | None => BbrConfig::default(),
        };
        Ok(BbrConfig {
            mss,
            extra_acked_cap: cap,
            policer: self.policer == Some(true),
            full_pipe: match self.full_pipe {
                Some(FullPipe::Draft) => transport::FullPipeRule::Draft,
                Some(FullPipe::Linux) => transport::FullPipeRule::Linux,
                None => usual.full_pipe,
            },
            drain_gain: self.drain_gain.unwrap_or(usual.drain_gain),
            ecn_max_rtt,
            ..usual
        })
    }

    /// Largest minimum RTT at which BBRv3 responds to ECN marks; `None` if it ignores marks. In this case the keys stay
    /// absent, so that older rows keep their identity.
    fn resolve_ecn(&mut self, slot: SimTime) -> Result<Option<SimTime>, ScenarioError> {
        self.ecn.take_if(|given| !*given);
        if self.ecn.is_some() && self.profile != Some(Profile::Linux) {
            let problem = "needs tcp.bbr.profile = \"linux-v3\": the draft has none";
            return Err(ScenarioError::value("tcp.bbr.ecn", &json(true), problem));
        }
        match self.ecn_max_rtt {
            Some(given) if self.ecn.is_none() => {
                Err(ScenarioError::value("tcp.bbr.ecn_max_rtt", &json(given), "needs tcp.bbr.ecn = true"))
            }
            _ if self.ecn.is_none() => Ok(None),
            _ => {
                let most = *self.ecn_max_rtt.get_or_insert(Span::millis(5));
                time("tcp.bbr.ecn_max_rtt", most, slot).map(Some)
            }
        }
    }

    fn refuse_version_3(&self) -> Result<(), ScenarioError> {
        let given = [
            ("profile", self.profile.map(json)),
            ("full_pipe", self.full_pipe.map(json)),
            ("drain_gain", self.drain_gain.map(json)),
            ("ecn", self.ecn.map(json)),
            ("ecn_max_rtt", self.ecn_max_rtt.map(json)),
        ];
        match given.into_iter().find_map(|(key, value)| value.map(|value| (key, value))) {
            Some((key, value)) => {
                let problem = "needs tcp.congestion = \"bbr-v3\"";
                Err(ScenarioError::value(format!("tcp.bbr.{key}"), &value, problem))
            }
            None => Ok(()),
        }
    }

    /// Fills in the defaults of BBRv3. Default values stay absent, so that rows written before these keys existed keep
    /// their identity.
    fn resolve_version_3(&mut self) -> Result<(), ScenarioError> {
        self.profile.take_if(|given| *given == Profile::Draft);
        let is_linux = self.profile.is_some();
        let usual = if is_linux { BbrConfig::linux_v3() } else { BbrConfig::default() };
        let full_pipe = if is_linux { FullPipe::Linux } else { FullPipe::Draft };
        self.full_pipe.take_if(|given| *given == full_pipe);
        if let Some(gain) = self.drain_gain.filter(|gain| !(*gain > 0.0 && *gain < 1.0)) {
            return Err(ScenarioError::value(
                "tcp.bbr.drain_gain",
                &json(gain),
                "must be above 0 and below 1",
            ));
        }
        self.drain_gain.take_if(|given| *given == usual.drain_gain);
        if is_linux {
            self.extra_acked_cap.get_or_insert(Span::millis(100));
        }
        Ok(())
    }
}
