//! Keys of the interruptions of an NR cell's users, and of its propagation delay.

use super::base::{absent, json, positive_time, time};
use super::nr_stack::{Steps, stepped};
use crate::error::ScenarioError;
use crate::quantity::Span;
use crossfade_core::SimTime;
use crossfade_nr::{Blockage, Drx, Handover};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// Handover of users of an NR cell with an uplink, at regular times. Without this table there is none.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default)]
pub struct NrHandover {
    /// Time from one handover of a user to the next.
    #[schemars(extend("x-default" = "10 s, with nr.handover"))]
    #[serde(skip_serializing_if = "Option::is_none")]
    pub every: Option<Span>,

    /// Duration of a handover, in which nothing is sent to or from the user.
    #[schemars(extend("x-default" = "50 ms, with nr.handover"))]
    #[serde(skip_serializing_if = "Option::is_none")]
    pub interruption: Option<Span>,

    /// Handover mode: whether packets under way are retransmitted or lost.
    #[schemars(extend("x-default" = "lossless with RLC mode \"am\", seamless with \"um\"; with nr.handover"))]
    #[serde(skip_serializing_if = "Option::is_none")]
    pub mode: Option<NrHandoverMode>,
}

/// Fate of packets under way at a handover.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum NrHandoverMode {
    /// Packets without acknowledgement are forwarded to the new cell and retransmitted.
    Lossless,
    /// Packets sent in part are lost; waiting packets are forwarded to the new cell.
    Seamless,
}

/// Discontinuous reception (DRX) of users of an NR cell with an uplink. Without this table they always listen.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default)]
pub struct NrDrx {
    /// Period of DRX, from one on-duration to the next.
    #[schemars(extend("x-default" = "160 ms, with nr.drx"))]
    #[serde(skip_serializing_if = "Option::is_none")]
    pub cycle: Option<Span>,

    /// Duration for which a user listens at the start of each DRX cycle (on-duration).
    #[schemars(extend("x-default" = "10 ms, with nr.drx"))]
    #[serde(skip_serializing_if = "Option::is_none")]
    pub on: Option<Span>,

    /// Time for which a user goes on listening after a new block or a scheduling request.
    #[schemars(extend("x-default" = "100 ms, with nr.drx"))]
    #[serde(skip_serializing_if = "Option::is_none")]
    pub inactivity: Option<Span>,
}

/// Non-terrestrial network: a long propagation delay between base station and users. Without this table the delay is 0.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default)]
pub struct NrNtn {
    /// Round-trip propagation time between base station and user, at most 2 s.
    #[schemars(extend("x-default" = "25.77 ms, with nr.ntn"))]
    #[serde(skip_serializing_if = "Option::is_none")]
    pub round_trip: Option<Span>,

    /// Whether transport blocks are acknowledged. Otherwise each block is sent once, and its HARQ process is free at
    /// once.
    #[schemars(extend("x-default" = "true, with nr.ntn"))]
    #[serde(skip_serializing_if = "Option::is_none")]
    pub harq_feedback: Option<bool>,
}

/// Blockage of users of an NR cell by obstacles, at random times. Without this table there is none.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default)]
pub struct NrBlockage {
    /// Mean time from the end of a blockage of a user to the next, exponentially distributed.
    #[schemars(extend("x-default" = "5 s, with nr.blockage"))]
    #[serde(skip_serializing_if = "Option::is_none")]
    pub clear: Option<Span>,

    /// Mean duration of a blockage, exponentially distributed.
    #[schemars(extend("x-default" = "299 ms, with nr.blockage"))]
    #[serde(skip_serializing_if = "Option::is_none")]
    pub blocked: Option<Span>,

    /// Reduction of the user's SNR during a blockage, in dB.
    #[schemars(range(min = 0, max = 60), extend("x-default" = "15.8, with nr.blockage"))]
    #[serde(skip_serializing_if = "Option::is_none")]
    pub depth_db: Option<f64>,
}

absent!(NrHandover, NrDrx, NrNtn, NrBlockage);

/// Allowed DRX cycles in milliseconds (3GPP TS 38.331, information element DRX-Config).
const CYCLE: Steps = &[
    (10, 20, 10),
    (32, 40, 8),
    (60, 64, 4),
    (70, 80, 10),
    (128, 160, 32),
    (256, 320, 64),
    (512, 640, 128),
    (1024, 1280, 256),
    (2048, 2560, 512),
    (5120, 10_240, 5120),
];
const ON: Steps =
    &[(1, 6, 1), (8, 10, 2), (20, 60, 10), (80, 100, 20), (200, 600, 100), (800, 1200, 200), (1600, 1600, 1)];
const INACTIVITY: Steps = &[
    (0, 6, 1),
    (8, 10, 2),
    (20, 60, 10),
    (80, 100, 20),
    (200, 300, 100),
    (500, 750, 250),
    (1280, 2560, 640),
];

impl NrHandover {
    /// Fills in the defaults of handovers; `None` if the table is absent.
    pub(super) fn resolve(
        &mut self,
        is_acknowledged: bool,
        slot: SimTime,
    ) -> Result<Option<Handover>, ScenarioError> {
        if self.is_absent() {
            return Ok(None);
        }
        let every = *self.every.get_or_insert(Span::millis(10_000));
        let interruption = *self.interruption.get_or_insert(Span::millis(50));
        let usual = if is_acknowledged { NrHandoverMode::Lossless } else { NrHandoverMode::Seamless };
        Ok(Some(Handover {
            every: positive_time("nr.handover.every", every, slot)?,
            interruption: time("nr.handover.interruption", interruption, slot)?,
            is_lossless: *self.mode.get_or_insert(usual) == NrHandoverMode::Lossless,
        }))
    }
}

impl NrBlockage {
    /// Fills in the defaults of blockage; `None` if the table is absent. They are the measured effect of pedestrians on
    /// antennas of 7 degrees at 73.5 GHz (MacCartney, Rappaport and Rangan, GLOBECOM 2017), except for the frequency of
    /// blockages, which depends on the place.
    pub(super) fn resolve(&mut self, slot: SimTime) -> Result<Option<Blockage>, ScenarioError> {
        if self.is_absent() {
            return Ok(None);
        }
        let clear = *self.clear.get_or_insert(Span::millis(5000));
        let blocked = *self.blocked.get_or_insert(Span::millis(299));
        Ok(Some(Blockage {
            clear: positive_time("nr.blockage.clear", clear, slot)?,
            blocked: positive_time("nr.blockage.blocked", blocked, slot)?,
            depth_db: *self.depth_db.get_or_insert(15.8),
        }))
    }
}

impl NrDrx {
    /// Fills in the defaults of DRX; `None` if the table is absent.
    pub(super) fn resolve(&mut self, slot: SimTime) -> Result<Option<Drx>, ScenarioError> {
        if self.is_absent() {
            return Ok(None);
        }
        let cycle = *self.cycle.get_or_insert(Span::millis(160));
        let on = *self.on.get_or_insert(Span::millis(10));
        let inactivity = *self.inactivity.get_or_insert(Span::millis(100));
        Ok(Some(Drx {
            cycle: stepped("nr.drx.cycle", cycle, CYCLE, slot)?,
            on: stepped("nr.drx.on", on, ON, slot)?,
            inactivity: stepped("nr.drx.inactivity", inactivity, INACTIVITY, slot)?,
        }))
    }
}

impl NrNtn {
    /// Fills in the defaults of a non-terrestrial network; returns the one-way propagation delay, and true if blocks
    /// are acknowledged.
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
