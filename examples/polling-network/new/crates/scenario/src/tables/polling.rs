//! A polling medium.

use super::base::{absent, positive_time};
use crate::error::ScenarioError;
use crate::quantity::{Rate, Span};
use crossfade_core::SimTime;
use crossfade_link::QueueLimit;
use crossfade_mac::PollingConfig;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// Coordinator that polls its stations in turn, in place of the link. Each flow has a station, which sends its data
/// to the coordinator.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default)]
pub struct Polling {
    /// Bit rate of packets.
    #[schemars(extend("x-default" = "none: required"))]
    #[serde(skip_serializing_if = "Option::is_none")]
    pub rate: Option<Rate>,

    /// Duration of a poll, without the packet that it may carry.
    #[schemars(extend("x-default" = "50 us"))]
    #[serde(skip_serializing_if = "Option::is_none")]
    pub poll: Option<Span>,

    /// Duration of the acknowledgement that ends the visit to a station.
    #[schemars(extend("x-default" = "50 us"))]
    #[serde(skip_serializing_if = "Option::is_none")]
    pub ack: Option<Span>,
}

absent!(Polling);

impl Polling {
    /// The bit rate, and the time in which it sends a packet.
    pub(crate) fn slot(&self, packet_size: u32) -> Result<(f64, SimTime), ScenarioError> {
        let Some(rate) = self.rate else {
            return Err(ScenarioError::missing("polling.rate", "a bit rate such as \"10 Mbit/s\""));
        };
        Ok((rate.0, SimTime::to_transmit(packet_size, rate.0)))
    }

    /// Fills in the defaults.
    pub(crate) fn resolve(
        &mut self,
        stations: usize,
        (rate_bps, slot): (f64, SimTime),
        queue: Option<QueueLimit>,
    ) -> Result<PollingConfig, ScenarioError> {
        let usual = Span::exactly(SimTime::from_micros(50));
        let poll = positive_time("polling.poll", *self.poll.get_or_insert(usual), slot)?;
        let ack = positive_time("polling.ack", *self.ack.get_or_insert(usual), slot)?;
        let config = PollingConfig { stations, rate_bps, poll, ack, queue };
        config.check().map_err(|error| super::base::named("polling", &error))?;
        Ok(config)
    }
}
