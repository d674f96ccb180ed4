//! Keys of the retransmission timeout of a TCP sender.

use super::base::{json, positive_time};
use crate::error::ScenarioError;
use crate::quantity::Span;
use crossfade_core::SimTime;
use crossfade_transport::{RtoConfig, RtoRule};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// Retransmission timeout of a TCP sender.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default)]
pub struct Rto {
    /// Fixed timeout of every segment, at least a slot. Required for flavour "paper"; contradicts min, initial and
    /// granularity.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub fixed: Option<Span>,

    /// Least value of an estimated timeout.
    #[schemars(extend("x-default" = "200 ms for flavour \"ns2\"; 1 s for flavour \"rfc\" (200 ms with profile \"linux\")"))]
    #[serde(skip_serializing_if = "Option::is_none")]
    pub min: Option<Span>,

    /// Timeout before the first RTT is measured.
    #[schemars(extend("x-default" = "3 s for flavour \"ns2\"; 1 s for flavour \"rfc\""))]
    #[serde(skip_serializing_if = "Option::is_none")]
    pub initial: Option<Span>,

    /// Tick of the clock that measures RTTs; four RTT deviations count as at least this.
    #[schemars(extend("x-default" = "10 ms for flavour \"ns2\"; 1 ms for flavour \"rfc\" (200 ms with profile \"linux\")"))]
    #[serde(skip_serializing_if = "Option::is_none")]
    pub granularity: Option<Span>,

    /// Largest retransmission timeout after backoff. Not taken with a fixed timeout that does not back off.
    #[schemars(extend("x-default" = "60 s, or tcp.rto.fixed if that is longer"))]
    #[serde(skip_serializing_if = "Option::is_none")]
    pub max: Option<Span>,

    /// Exponential backoff: whether each timeout doubles the next.
    #[schemars(extend("x-default" = "false for flavour \"paper\"; true for the others"))]
    #[serde(skip_serializing_if = "Option::is_none")]
    pub backoff: Option<bool>,
}

impl Rto {
    /// Fills in the defaults of the retransmission timeout. `usual` holds the defaults of min, initial and granularity
    /// in ms; it is `None` for flavour "paper", which allows only a fixed timeout.
    pub(super) fn resolve(
        &mut self,
        usual: Option<[u64; 3]>,
        slot: SimTime,
    ) -> Result<RtoConfig, ScenarioError> {
        let backoff = *self.backoff.get_or_insert(usual.is_some());
        let estimated = [("min", self.min), ("initial", self.initial), ("granularity", self.granularity)];
        let estimated =
            estimated.into_iter().find_map(|(name, given)| given.map(|_| format!("tcp.rto.{name}")));
        match (self.fixed, estimated, usual) {
            (Some(_), Some(key), _) => {
                let reason = "the timeout is either fixed or estimated";
                Err(ScenarioError::contradiction(&key, "tcp.rto.fixed", reason))
            }
            (Some(fixed), None, _) => self.resolve_fixed(fixed, backoff, slot),
            (None, _, Some(usual)) => self.resolve_estimated(usual.map(Span::millis), backoff, slot),
            (None, Some(key), None) => {
                let reason = "flavour \"paper\" takes tcp.rto.fixed alone";
                Err(ScenarioError::contradiction(&key, "tcp.flavour", reason))
            }
            (None, None, None) => {
                Err(ScenarioError::missing("tcp.rto.fixed", "the timeout, such as \"100 slots\""))
            }
        }
    }

    fn resolve_fixed(
        &mut self,
        fixed: Span,
        backoff: bool,
        slot: SimTime,
    ) -> Result<RtoConfig, ScenarioError> {
        let timeout = positive_time("tcp.rto.fixed", fixed, slot)?;
        if timeout < slot {
            let problem = format!("must be at least a slot ({slot})");
            return Err(ScenarioError::value("tcp.rto.fixed", &json(fixed), problem));
        }
        if !backoff {
            if self.max.is_some() {
                let reason = "a fixed timeout that does not back off has no other maximum";
                return Err(ScenarioError::contradiction("tcp.rto.max", "tcp.rto.fixed", reason));
            }
            return Ok(RtoConfig { rule: RtoRule::Fixed(timeout), backoff, max: timeout });
        }
        let default = if timeout > SimTime::from_millis(60_000) { fixed } else { Span::millis(60_000) };
        let max = self.resolve_max(default, ("tcp.rto.fixed", timeout), slot)?;
        Ok(RtoConfig { rule: RtoRule::Fixed(timeout), backoff, max })
    }

    fn resolve_estimated(
        &mut self,
        [min, initial, granularity]: [Span; 3],
        backoff: bool,
        slot: SimTime,
    ) -> Result<RtoConfig, ScenarioError> {
        let min = positive_time("tcp.rto.min", *self.min.get_or_insert(min), slot)?;
        let initial = positive_time("tcp.rto.initial", *self.initial.get_or_insert(initial), slot)?;
        let granularity = *self.granularity.get_or_insert(granularity);
        let granularity = positive_time("tcp.rto.granularity", granularity, slot)?;
        let longest = [("tcp.rto.min", min), ("tcp.rto.initial", initial)];
        let mut max = SimTime::ZERO;
        for limit in longest {
            max = self.resolve_max(Span::millis(60_000), limit, slot)?;
        }
        Ok(RtoConfig { rule: RtoRule::Estimated { min, initial, granularity }, backoff, max })
    }

    /// Longest timeout after backoff, which must not be shorter than the value of the key called `limit`.
    fn resolve_max(
        &mut self,
        default: Span,
        (limit, shortest): (&str, SimTime),
        slot: SimTime,
    ) -> Result<SimTime, ScenarioError> {
        let max = *self.max.get_or_insert(default);
        let time = positive_time("tcp.rto.max", max, slot)?;
        if time < shortest {
            let problem = format!("must be at least {limit} ({shortest})");
            return Err(ScenarioError::value("tcp.rto.max", &json(max), problem));
        }
        Ok(time)
    }
}
