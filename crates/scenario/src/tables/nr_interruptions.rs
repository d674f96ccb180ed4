//! What interrupts the users of an NR cell, and long ways to it.

use super::base::{absent, json, positive_time, time};
use crate::error::ScenarioError;
use crate::quantity::Span;
use crossfade_core::SimTime;
use crossfade_nr::{Drx, Handover};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// Handover of users of an NR cell with an uplink, at regular times. Without this table there is none.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default)]
pub struct NrHandover {
    /// Time from one handover of a user to the next.
    #[schemars(extend("x-default" = "10 s, with handover"))]
    #[serde(skip_serializing_if = "Option::is_none")]
    pub every: Option<Span>,

    /// Time in which nothing is sent to or from the user.
    #[schemars(extend("x-default" = "50 ms, with handover"))]
    #[serde(skip_serializing_if = "Option::is_none")]
    pub interruption: Option<Span>,

    /// Whether packets under way are retransmitted (`lossless`) or lost (`seamless`).
    #[schemars(extend("x-default" = "lossless (am), seamless (um), with handover"))]
    #[serde(skip_serializing_if = "Option::is_none")]
    pub mode: Option<NrHandoverMode>,
}

/// What becomes of packets under way at a handover.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum NrHandoverMode {
    /// What was not confirmed is forwarded and retransmitted.
    Lossless,
    /// What was begun is lost; what waits is forwarded.
    Seamless,
}

/// Discontinuous reception (DRX) of users of an NR cell with an uplink. Without this table they always listen.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default)]
pub struct NrDrx {
    /// Time from one on-duration to the next.
    #[schemars(extend("x-default" = "160 ms, with drx"))]
    #[serde(skip_serializing_if = "Option::is_none")]
    pub cycle: Option<Span>,

    /// Time that a user listens in each cycle.
    #[schemars(extend("x-default" = "10 ms, with drx"))]
    #[serde(skip_serializing_if = "Option::is_none")]
    pub on: Option<Span>,

    /// Time that a user listens after a new block or a scheduling request.
    #[schemars(extend("x-default" = "100 ms, with drx"))]
    #[serde(skip_serializing_if = "Option::is_none")]
    pub inactivity: Option<Span>,
}

/// Non-terrestrial network: a long way between base station and users. Without this table it takes no time.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default)]
pub struct NrNtn {
    /// Time from the base station to a user and back.
    #[schemars(extend("x-default" = "25.77 ms, with ntn"))]
    #[serde(skip_serializing_if = "Option::is_none")]
    pub round_trip: Option<Span>,

    /// Whether blocks are acknowledged. Otherwise each is sent once, and its process is free at once.
    #[schemars(extend("x-default" = "true, with ntn"))]
    #[serde(skip_serializing_if = "Option::is_none")]
    pub harq_feedback: Option<bool>,
}

absent!(NrHandover, NrDrx, NrNtn);

impl NrHandover {
    /// Fills in the defaults; `None` where nothing is said.
    pub(super) fn resolve(
        &mut self,
        is_acknowledged: bool,
        slot: SimTime,
    ) -> Result<Option<Handover>, ScenarioError> {
        if self.is_absent() {
            return Ok(None);
        }
        let ms = |count| Span::exactly(SimTime::from_millis(count));
        let every = *self.every.get_or_insert(ms(10_000));
        let interruption = *self.interruption.get_or_insert(ms(50));
        let usual = if is_acknowledged { NrHandoverMode::Lossless } else { NrHandoverMode::Seamless };
        Ok(Some(Handover {
            every: positive_time("nr.handover.every", every, slot)?,
            interruption: time("nr.handover.interruption", interruption, slot)?,
            is_lossless: *self.mode.get_or_insert(usual) == NrHandoverMode::Lossless,
        }))
    }
}

impl NrDrx {
    /// Fills in the defaults; `None` where nothing is said.
    pub(super) fn resolve(&mut self, slot: SimTime) -> Result<Option<Drx>, ScenarioError> {
        if self.is_absent() {
            return Ok(None);
        }
        let ms = |count| Span::exactly(SimTime::from_millis(count));
        let cycle = *self.cycle.get_or_insert(ms(160));
        let on = *self.on.get_or_insert(ms(10));
        let inactivity = *self.inactivity.get_or_insert(ms(100));
        Ok(Some(Drx {
            cycle: positive_time("nr.drx.cycle", cycle, slot)?,
            on: positive_time("nr.drx.on", on, slot)?,
            inactivity: time("nr.drx.inactivity", inactivity, slot)?,
        }))
    }
}

impl NrNtn {
    /// Fills in the defaults: one way, and whether blocks are acknowledged.
    pub(super) fn resolve(&mut self, slot: SimTime) -> Result<(SimTime, bool), ScenarioError> {
        if self.is_absent() {
            return Ok((SimTime::ZERO, true));
        }
        let round_trip = *self.round_trip.get_or_insert(Span::exactly(SimTime::from_micros(25_770)));
        let whole = time("nr.ntn.round_trip", round_trip, slot)?;
        if whole > SimTime::from_millis(2000) {
            return Err(ScenarioError::value("nr.ntn.round_trip", &json(round_trip), "must be at most 2 s"));
        }
        Ok((SimTime::from_nanos(whole.as_nanos() / 2), *self.harq_feedback.get_or_insert(true)))
    }
}
