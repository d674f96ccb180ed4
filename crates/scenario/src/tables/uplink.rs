//! Keys of the uplink of a cell, which has TTIs of its own.

use super::base::{absent, json, time};
use super::queue::USUAL_LIMIT;
use super::scheduler::SchedulerWord;
use crate::error::ScenarioError;
use crate::quantity::{Limit, Room, Span};
use crossfade_cell::{Allocation, TddPattern, UplinkConfig};
use crossfade_core::SimTime;
use crossfade_link::QueueLimit;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// Uplink of the cell itself, in place of `reverse`. ACKs wait at their user for a grant, and take bins of uplink
/// TTIs (time division duplex). Channels, modulations, retransmissions and outer loop are those of the downlink.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default)]
pub struct Uplink {
    /// TDD pattern that repeats: `D` for a downlink and `U` for an uplink TTI. It has 2 to 80 letters with both.
    #[schemars(extend("x-default" = "none: the cell has no uplink"))]
    #[serde(skip_serializing_if = "Option::is_none")]
    pub pattern: Option<String>,

    /// Time from a packet's arrival at its user to its first possible uplink TTI. It covers scheduling request and
    /// grant. The default of 4 TTIs is LTE's time from grant to transmission (TS 36.213 section 8.0).
    #[schemars(extend("x-default" = "4 slots, with cell.uplink.pattern"))]
    #[serde(skip_serializing_if = "Option::is_none")]
    pub grant_delay: Option<Span>,

    /// Uplink SNR less downlink SNR of a bin, in dB: a user has less power.
    #[schemars(range(min = -60, max = 60), extend("x-default" = "0, with cell.uplink.pattern"))]
    #[serde(skip_serializing_if = "Option::is_none")]
    pub snr_offset_db: Option<f64>,

    /// Scheduler of the uplink. If it differs from the cell's, best-bin has all bins as candidates, and
    /// proportional-fair a window of 100 slots.
    #[schemars(extend("x-default" = "the value of cell.scheduler"))]
    #[serde(skip_serializing_if = "Option::is_none")]
    pub scheduler: Option<SchedulerWord>,

    /// Queue limit of each user in packets or bytes; `"unlimited"` has no limit.
    #[schemars(extend("x-default" = "1000 packets, with cell.uplink.pattern"))]
    #[serde(skip_serializing_if = "Option::is_none")]
    pub queue_limit: Option<Limit>,
}

absent!(Uplink);

impl Uplink {
    /// Fills in the defaults of the uplink; the default scheduler is that of the cell, which has `bins` bins and this
    /// allocation.
    pub(super) fn resolve(
        &mut self,
        slot: SimTime,
        bins: usize,
        (allocation, scheduler): (Allocation, Option<SchedulerWord>),
    ) -> Result<Option<UplinkConfig>, ScenarioError> {
        if self.is_absent() {
            return Ok(None);
        }
        let Some(pattern) = &self.pattern else {
            return Err(ScenarioError::missing("cell.uplink.pattern", "the slots, such as \"DDDU\""));
        };
        let parsed = pattern.parse::<TddPattern>();
        let pattern = parsed.map_err(|error| {
            ScenarioError::value("cell.uplink.pattern", &json(pattern), error.to_string())
        })?;
        let grant_delay = *self.grant_delay.get_or_insert(Span::exactly(slot * 4));
        let grant_delay = time("cell.uplink.grant_delay", grant_delay, slot)?;
        let usual_room = Limit(Room::Of(QueueLimit::Packets(USUAL_LIMIT)));
        let room = *self.queue_limit.get_or_insert(usual_room);
        if matches!(room.0, Room::Time(_) | Room::Products(_)) {
            let problem = "must be packets, bytes or \"unlimited\": a cell has no rate of its own";
            return Err(ScenarioError::value("cell.uplink.queue_limit", &json(room), problem));
        }
        self.scheduler = self.scheduler.or(scheduler);
        let allocation = match self.scheduler.filter(|_| self.scheduler != scheduler) {
            None => allocation,
            Some(SchedulerWord::BestBin) => Allocation::BestBin { candidates: bins },
            Some(SchedulerWord::RoundRobin) => Allocation::RoundRobin,
            Some(SchedulerWord::MaxSinr) => Allocation::MaxSinr,
            Some(SchedulerWord::ProportionalFair) => Allocation::ProportionalFair { window_slots: 100.0 },
        };
        Ok(Some(UplinkConfig {
            pattern,
            grant_delay,
            snr_offset_db: *self.snr_offset_db.get_or_insert(0.0),
            allocation,
            queue: room.0.limit(),
        }))
    }
}
