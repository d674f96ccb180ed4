//! Keys of hybrid ARQ in an NR cell.

use super::base::{absent, json, positive_time};
use crate::error::ScenarioError;
use crate::quantity::{Share, Span};
use crossfade_core::SimTime;
use crossfade_nr::{Combining, HarqConfig};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// Hybrid ARQ of transport blocks: stop-and-wait processes of each user, whose copies are combined.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default)]
pub struct NrHarq {
    /// Number of HARQ processes of a user.
    #[schemars(range(min = 1, max = 32), extend("x-default" = "16"))]
    #[serde(skip_serializing_if = "Option::is_none")]
    pub processes: Option<u32>,

    /// Largest number of transmissions of a transport block, the first included.
    #[schemars(range(min = 1, max = 16), extend("x-default" = "4"))]
    #[serde(skip_serializing_if = "Option::is_none")]
    pub transmissions: Option<u32>,

    /// Least number of slots from a block to its acknowledgement (`dl-DataToUL-ACK`). The acknowledgement waits for an
    /// uplink slot.
    #[schemars(range(min = 1, max = 15), extend("x-default" = "4"))]
    #[serde(skip_serializing_if = "Option::is_none")]
    pub k1: Option<u32>,

    /// Least time from an acknowledgement to the next transmission of its HARQ process. It counts in whole slots.
    #[schemars(extend("x-default" = "4 slots"))]
    #[serde(skip_serializing_if = "Option::is_none")]
    pub processing: Option<Span>,

    /// Content of retransmissions: other bits of the code word, or the same bits.
    #[schemars(extend("x-default" = "incremental-redundancy"))]
    #[serde(skip_serializing_if = "Option::is_none")]
    pub combining: Option<NrCombining>,

    /// Whether users keep only a part of a code word (limited-buffer rate matching, TS 38.212).
    #[schemars(extend("x-default" = "false"))]
    #[serde(skip_serializing_if = "Option::is_none")]
    pub limited_buffer: Option<bool>,

    /// Probability that a negative acknowledgement is read as positive. The block is then lost.
    #[schemars(extend("x-default" = "0.001"))]
    #[serde(skip_serializing_if = "Option::is_none")]
    pub nack_to_ack: Option<Share>,

    /// Probability that a positive acknowledgement is missed or read as negative. The block is then retransmitted in
    /// vain.
    #[schemars(extend("x-default" = "0.01"))]
    #[serde(skip_serializing_if = "Option::is_none")]
    pub ack_to_nack: Option<Share>,
}

absent!(NrHarq);

/// Content of the copies of a transport block, which the receiver combines.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum NrCombining {
    /// Redundancy versions 0, 2, 3, 1 in turn: retransmissions carry other bits.
    IncrementalRedundancy,
    /// Redundancy version 0 each time: retransmissions carry the same bits.
    Chase,
}

impl NrHarq {
    /// Fills in the defaults of hybrid ARQ, and returns its model.
    pub(super) fn resolve(&mut self, slot: SimTime) -> Result<HarqConfig, ScenarioError> {
        let processing = *self.processing.get_or_insert(Span::exactly(slot * 4));
        let processing_slots =
            positive_time("nr.harq.processing", processing, slot)?.as_nanos().div_ceil(slot.as_nanos());
        if processing_slots > 1000 {
            let problem = "must be at most 1000 slots";
            return Err(ScenarioError::value("nr.harq.processing", &json(processing), problem));
        }
        // The default stays absent, so that rows of older results files keep their keys.
        self.limited_buffer = self.limited_buffer.filter(|is_limited| *is_limited);
        Ok(HarqConfig {
            processes: *self.processes.get_or_insert(16),
            transmissions: *self.transmissions.get_or_insert(4),
            k1: u64::from(*self.k1.get_or_insert(4)),
            processing_slots,
            combining: match *self.combining.get_or_insert(NrCombining::IncrementalRedundancy) {
                NrCombining::IncrementalRedundancy => Combining::IncrementalRedundancy,
                NrCombining::Chase => Combining::Chase,
            },
            has_limited_buffer: self.limited_buffer == Some(true),
            has_feedback: true,
            nack_to_ack: self.nack_to_ack.get_or_insert(Share(0.001)).0,
            ack_to_nack: self.ack_to_nack.get_or_insert(Share(0.01)).0,
        })
    }
}
