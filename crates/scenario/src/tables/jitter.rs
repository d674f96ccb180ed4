//! Keys of the random delay of packets behind a link.

use super::base::{absent, json, positive_time};
use crate::error::{ScenarioError, join};
use crate::quantity::{Rate, Share, Span};
use crossfade_core::SimTime;
use crossfade_link::{JitterConfig, Spikes};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// Random delay of each packet behind a link (RFC 8868 section 4.5): the magnitude of a Gaussian, bounded. Packets of
/// a flow stay in order.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default)]
pub struct Jitter {
    /// Standard deviation of the random Gaussian delay of a packet, such as "5 ms".
    #[serde(skip_serializing_if = "Option::is_none")]
    pub std: Option<Span>,

    /// Largest random delay of a packet, in multiples of std. Needs std.
    #[schemars(extend("x-default" = "3, with std"))]
    #[serde(skip_serializing_if = "Option::is_none")]
    pub n_std: Option<f64>,

    /// Bit rate at which packets of a flow leave after one that was delayed longer. At the rate of the link a delay
    /// never falls while the link is busy. Needs std.
    #[schemars(extend("x-default" = "none: packets follow a delayed one at once"))]
    #[serde(skip_serializing_if = "Option::is_none")]
    pub rate: Option<Rate>,

    /// Share of packets with a longer delay in addition, such as "7 %". Needs std.
    #[schemars(extend("x-default" = "none"))]
    #[serde(skip_serializing_if = "Option::is_none")]
    pub spike_share: Option<Share>,

    /// Mean number of steps of a longer delay, a Poisson number. Needs spike_share.
    #[schemars(extend("x-default" = "12, with spike_share"))]
    #[serde(skip_serializing_if = "Option::is_none")]
    pub spike_steps: Option<f64>,

    /// Length of a step of a longer delay. Needs spike_share.
    #[schemars(extend("x-default" = "7.5 ms, with spike_share"))]
    #[serde(skip_serializing_if = "Option::is_none")]
    pub spike_step: Option<Span>,
}

absent!(Jitter);

impl Jitter {
    /// Model of the jitter in the table called `table`; `None` if the table is absent.
    pub(crate) fn resolve(
        &mut self,
        table: &str,
        slot: SimTime,
    ) -> Result<Option<JitterConfig>, ScenarioError> {
        let Some(std) = self.std else {
            if self.is_absent() {
                return Ok(None);
            }
            let needs = "the standard deviation of the delays, such as \"5 ms\"";
            return Err(ScenarioError::missing(&join(table, "std"), needs));
        };
        let std = positive_time(&join(table, "std"), std, slot)?;
        let n_std = *self.n_std.get_or_insert(3.0);
        if !(n_std > 0.0 && n_std <= 100.0) {
            let problem = "must be above 0 and at most 100";
            return Err(ScenarioError::value(join(table, "n_std"), &json(n_std), problem));
        }
        let spikes = self.spikes(table, slot)?;
        Ok(Some(JitterConfig { std, n_std, rate_bps: self.rate.map(|rate| rate.0), spikes }))
    }

    /// Model of the longer delays that some packets have in addition; `None` without them.
    fn spikes(&mut self, table: &str, slot: SimTime) -> Result<Option<Spikes>, ScenarioError> {
        let Some(Share(share)) = self.spike_share else {
            if self.spike_steps.is_some() || self.spike_step.is_some() {
                let needs = "the share of packets that are delayed longer, such as \"7 %\"";
                return Err(ScenarioError::missing(&join(table, "spike_share"), needs));
            }
            return Ok(None);
        };
        let steps = *self.spike_steps.get_or_insert(12.0);
        if !(steps > 0.0 && steps <= 100.0) {
            let problem = "must be above 0 and at most 100";
            return Err(ScenarioError::value(join(table, "spike_steps"), &json(steps), problem));
        }
        let step = *self.spike_step.get_or_insert(Span::exactly(SimTime::from_micros(7_500)));
        Ok(Some(Spikes { share, steps, step: positive_time(&join(table, "spike_step"), step, slot)? }))
    }
}
