//! Keys of the uplink of an NR cell, and of radio link control (RLC) in both directions.

use super::base::{absent, json, positive_time, time};
use super::queue::Queue;
use crate::error::{ScenarioError, join};
use crate::quantity::{Bytes, Limit, Room, Size, Span};
use crossfade_core::SimTime;
use crossfade_nr::rlc::{RlcConfig, RlcMode};
use crossfade_nr::{Grants, McsTable, UplinkConfig};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// Uplink of an NR cell, with RLC and PDCP in both directions. Without this table ACKs take the links of `reverse`.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default)]
pub struct NrUplink {
    /// Source of uplink grants: requests of users, every slot, or a fixed period.
    #[schemars(extend("x-default" = "requested, with nr.uplink"))]
    #[serde(skip_serializing_if = "Option::is_none")]
    pub grants: Option<NrGrants>,

    /// Period of a user's scheduling request occasions, in whole slots. TS 38.331 has 1, 2, 4, 5, 8, 10, 16, 20, 40,
    /// 80, 160, 320 and 640 slots.
    #[schemars(extend("x-default" = "20 ms, with nr.uplink"))]
    #[serde(skip_serializing_if = "Option::is_none")]
    pub sr_period: Option<Span>,

    /// Least time between two scheduling requests of a user (`sr-ProhibitTimer`). It is 0, 1, 2, 4, 8, 16, 32, 64 or
    /// 128 ms.
    #[schemars(extend("x-default" = "0 s, with nr.uplink"))]
    #[serde(skip_serializing_if = "Option::is_none")]
    pub sr_prohibit: Option<Span>,

    /// Size in bytes of the grant for a scheduling request, and of a proactive grant.
    #[schemars(extend("x-default" = "512 B, with nr.uplink"))]
    #[serde(skip_serializing_if = "Option::is_none")]
    pub sr_grant: Option<Size>,

    /// Period of buffer status reports while data wait (`periodicBSR-Timer`). It is 1, 5, 10, 16, 20, 32, 40, 64, 80,
    /// 128, 160, 320, 640, 1280 or 2560 ms.
    #[schemars(extend("x-default" = "10 ms, with nr.uplink"))]
    #[serde(skip_serializing_if = "Option::is_none")]
    pub bsr_period: Option<Span>,

    /// Time without a grant after which a buffer status report is repeated (`retxBSR-Timer`). It is 10, 20, 40, 80 and
    /// so on by doubling up to 10240 ms.
    #[schemars(extend("x-default" = "80 ms, with nr.uplink"))]
    #[serde(skip_serializing_if = "Option::is_none")]
    pub bsr_retransmission: Option<Span>,

    /// Period of configured grants, in whole slots.
    #[schemars(extend("x-default" = "10 ms, with grants \"configured\""))]
    #[serde(skip_serializing_if = "Option::is_none")]
    pub configured_period: Option<Span>,

    /// Least size of a configured grant in bytes.
    #[schemars(extend("x-default" = "512 B, with grants \"configured\""))]
    #[serde(skip_serializing_if = "Option::is_none")]
    pub configured_grant: Option<Size>,

    /// Least number of slots from a grant to its transmission. The transmission waits for an uplink slot.
    #[schemars(range(min = 0, max = 32), extend("x-default" = "4, with nr.uplink"))]
    #[serde(skip_serializing_if = "Option::is_none")]
    pub k2: Option<u32>,

    /// Processing time of the base station for a request, a report or a block, in whole slots.
    #[schemars(extend("x-default" = "4 slots, with nr.uplink"))]
    #[serde(skip_serializing_if = "Option::is_none")]
    pub processing: Option<Span>,

    /// Number of OFDM symbols with data in an uplink slot.
    #[schemars(range(min = 1, max = 14), extend("x-default" = "13, with nr.uplink"))]
    #[serde(skip_serializing_if = "Option::is_none")]
    pub symbols: Option<u32>,

    /// Number of spatial layers of the uplink.
    #[schemars(range(min = 1, max = 4), extend("x-default" = "1, with nr.uplink"))]
    #[serde(skip_serializing_if = "Option::is_none")]
    pub layers: Option<u32>,

    /// MCS table of the uplink by number, as in nr.mcs_table.
    #[schemars(range(min = 1, max = 4), extend("x-default" = "that of nr.mcs_table, with nr.uplink"))]
    #[serde(skip_serializing_if = "Option::is_none")]
    pub mcs_table: Option<u32>,

    /// Mean uplink SNR of a user less its mean downlink SNR, in dB.
    #[schemars(range(min = -60, max = 60), extend("x-default" = "0, with nr.uplink"))]
    #[serde(skip_serializing_if = "Option::is_none")]
    pub snr_offset_db: Option<f64>,

    /// Queue limit of each user on the uplink, in packets or bytes. Contradicts nr.uplink.queue.
    #[schemars(extend("x-default" = "unlimited, with nr.uplink"))]
    #[serde(skip_serializing_if = "Option::is_none")]
    pub limit: Option<Limit>,

    /// Queue of each user on the uplink, in place of nr.uplink.limit.
    #[serde(skip_serializing_if = "Queue::is_absent")]
    pub queue: Queue,
}

/// Source of uplink grants in an NR cell.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum NrGrants {
    /// Users ask for grants by scheduling requests and buffer status reports.
    Requested,
    /// Every user has a grant in every uplink slot.
    Proactive,
    /// Every user has a grant at a fixed period, without a request (configured grant).
    Configured,
}

/// Radio link control (RLC) of an NR cell with an uplink, equal in both directions.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default)]
pub struct NrRlc {
    /// RLC mode: acknowledged (`am`) or unacknowledged (`um`).
    #[schemars(extend("x-default" = "am, with nr.uplink"))]
    #[serde(skip_serializing_if = "Option::is_none")]
    pub mode: Option<NrRlcMode>,

    /// Number of bits of an RLC sequence number. It is 12 or 18 (am), 6 or 12 (um).
    #[schemars(extend("x-default" = "18 with mode \"am\", 12 with mode \"um\"; with nr.uplink"))]
    #[serde(skip_serializing_if = "Option::is_none")]
    pub sn_bits: Option<u32>,

    /// Number of PDUs after which the sender polls for a status report (`pollPDU`).
    #[schemars(extend("x-default" = "16, with mode \"am\""))]
    #[serde(skip_serializing_if = "Option::is_none")]
    pub poll_pdu: Option<u32>,

    /// Number of bytes after which the sender polls for a status report (`pollByte`).
    #[schemars(extend("x-default" = "infinity, with mode \"am\""))]
    #[serde(skip_serializing_if = "Option::is_none")]
    pub poll_byte: Option<Bytes>,

    /// Time without a status report after which the sender polls again (`t-PollRetransmit`).
    #[schemars(extend("x-default" = "100 ms, with mode \"am\""))]
    #[serde(skip_serializing_if = "Option::is_none")]
    pub t_poll_retransmit: Option<Span>,

    /// Longest wait of the receiver for a missing PDU (`t-Reassembly`). Then it reports the gap (am) or gives the PDU
    /// up (um).
    #[schemars(extend("x-default" = "50 ms, with nr.uplink"))]
    #[serde(skip_serializing_if = "Option::is_none")]
    pub t_reassembly: Option<Span>,

    /// Least time between two status reports of a receiver (`t-StatusProhibit`).
    #[schemars(extend("x-default" = "10 ms, with mode \"am\""))]
    #[serde(skip_serializing_if = "Option::is_none")]
    pub t_status_prohibit: Option<Span>,

    /// Number of retransmissions of a packet at which the radio link fails (`maxRetxThreshold`).
    #[schemars(extend("x-default" = "32, with mode \"am\""))]
    #[serde(skip_serializing_if = "Option::is_none")]
    pub max_retransmissions: Option<u32>,
}

/// RLC mode.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum NrRlcMode {
    /// Acknowledged: segments are retransmitted until they arrive.
    Am,
    /// Unacknowledged: packets that hybrid ARQ gives up are lost.
    Um,
}

absent!(NrUplink, NrRlc);

impl NrUplink {
    /// Fills in the defaults of an uplink whose table is present, and returns its model.
    pub(super) fn resolve(&mut self, slot: SimTime, mcs_table: u32) -> Result<UplinkConfig, ScenarioError> {
        let in_slots = |time: SimTime| time.as_nanos().div_ceil(slot.as_nanos());
        let ms = |count| Span::exactly(SimTime::from_millis(count));
        let grants = match *self.grants.get_or_insert(NrGrants::Requested) {
            NrGrants::Configured => {
                let period = *self.configured_period.get_or_insert(ms(10));
                let period = positive_time("nr.uplink.configured_period", period, slot)?;
                let bytes = self.configured_grant.get_or_insert(Size(512)).0;
                Grants::Configured { period_slots: in_slots(period), bytes }
            }
            other => {
                // In a sweep over grants these keys are present at all points.
                (self.configured_period, self.configured_grant) = (None, None);
                if other == NrGrants::Proactive { Grants::Proactive } else { Grants::Requested }
            }
        };
        let number = *self.mcs_table.get_or_insert(mcs_table);
        let table = McsTable::numbered(number).ok_or_else(|| {
            ScenarioError::value("nr.uplink.mcs_table", &json(number), "must be between 1 and 4")
        })?;
        if self.limit.is_some() && !self.queue.is_absent() {
            let reason = "the queue has a limit of its own";
            return Err(ScenarioError::contradiction("nr.uplink.limit", "nr.uplink.queue", reason));
        }
        let unlimited = Limit(Room::Unlimited);
        let room = if self.queue.is_absent() { *self.limit.get_or_insert(unlimited) } else { unlimited };
        if matches!(room.0, Room::Time(_) | Room::Products(_)) {
            let problem = "must be packets, bytes or \"unlimited\": a cell has no rate of its own";
            return Err(ScenarioError::value("nr.uplink.limit", &json(room), problem));
        }
        let period = *self.sr_period.get_or_insert(ms(20));
        let request_period = positive_time("nr.uplink.sr_period", period, slot)?;
        let request_period_slots = in_slots(request_period);
        let is_whole = request_period.as_nanos().is_multiple_of(slot.as_nanos());
        if !is_whole || !REQUEST_PERIODS.iter().any(|slots| u64::from(*slots) == request_period_slots) {
            let all = REQUEST_PERIODS.map(|slots| slots.to_string()).join(", ");
            let problem = format!("must be one of TS 38.331: {all} slots of {slot}");
            return Err(ScenarioError::value("nr.uplink.sr_period", &json(period), problem));
        }
        let prohibit = *self.sr_prohibit.get_or_insert(ms(0));
        let prohibit = stepped("nr.uplink.sr_prohibit", prohibit, REQUEST_PROHIBIT, slot)?;
        let processing = *self.processing.get_or_insert(Span::exactly(slot * 4));
        let report_period = *self.bsr_period.get_or_insert(ms(10));
        let report_again = *self.bsr_retransmission.get_or_insert(ms(80));
        Ok(UplinkConfig {
            grants,
            symbols: *self.symbols.get_or_insert(13),
            layers: *self.layers.get_or_insert(1),
            table,
            snr_offset_db: *self.snr_offset_db.get_or_insert(0.0),
            k2: u64::from(*self.k2.get_or_insert(4)),
            processing_slots: in_slots(time("nr.uplink.processing", processing, slot)?),
            request_period_slots,
            request_prohibit_slots: in_slots(prohibit),
            request_grant_bytes: self.sr_grant.get_or_insert(Size(512)).0,
            report_period: stepped("nr.uplink.bsr_period", report_period, REPORT_PERIOD, slot)?,
            report_again: stepped("nr.uplink.bsr_retransmission", report_again, REPORT_AGAIN, slot)?,
            queue: room.0.limit(),
            // Set later, from the packets of the flows.
            discipline: None,
        })
    }
}

/// Allowed values of a key: ranges of whole numbers (first, last), each with its step.
pub(super) type Steps = &'static [(u64, u64, u64)];

/// Allowed values of t-PollRetransmit in milliseconds (3GPP TS 38.331, information element RLC-Config).
const POLL_RETRANSMIT: Steps =
    &[(1, 4, 1), (5, 250, 5), (300, 500, 50), (800, 1000, 200), (2000, 4000, 2000)];
const REASSEMBLY: Steps = &[(0, 100, 5), (110, 200, 10)];
const STATUS_PROHIBIT: Steps =
    &[(0, 250, 5), (300, 500, 50), (800, 1000, 200), (1200, 1600, 400), (2000, 2400, 400)];
/// Allowed values of t-Reordering in milliseconds (3GPP TS 38.331, PDCP-Config), without 0 ms, which would not restore
/// the order.
pub(super) const REORDERING: Steps =
    &[(1, 2, 1), (4, 5, 1), (8, 8, 1), (10, 20, 5), (30, 60, 10), (80, 300, 20), (500, 3000, 250)];
pub(super) const DISCARD: Steps =
    &[(10, 60, 10), (75, 75, 1), (100, 300, 50), (500, 750, 250), (1500, 1500, 1)];
/// Allowed values of `sr-ProhibitTimer` in milliseconds (3GPP TS 38.331, SchedulingRequestConfig), and 0 ms for an
/// absent timer.
const REQUEST_PROHIBIT: Steps =
    &[(0, 1, 1), (2, 2, 1), (4, 4, 1), (8, 8, 1), (16, 16, 1), (32, 32, 1), (64, 64, 1), (128, 128, 1)];
/// Allowed values of `periodicBSR-Timer` in milliseconds (3GPP TS 38.331, BSR-Config), without infinity.
const REPORT_PERIOD: Steps = &[
    (1, 1, 1),
    (5, 10, 5),
    (16, 20, 4),
    (32, 40, 8),
    (64, 80, 16),
    (128, 160, 32),
    (320, 640, 320),
    (1280, 2560, 1280),
];
const REPORT_AGAIN: Steps =
    &[(10, 20, 10), (40, 80, 40), (160, 320, 160), (640, 1280, 640), (2560, 5120, 2560), (10240, 10240, 1)];
/// Allowed periods of scheduling request occasions in slots (3GPP TS 38.331, SchedulingRequestResourceConfig).
const REQUEST_PERIODS: [u32; 13] = [1, 2, 4, 5, 8, 10, 16, 20, 40, 80, 160, 320, 640];
/// Allowed values of `pollByte` in kB (3GPP TS 38.331, RLC-Config).
const POLL_KILOBYTES: [u32; 43] = [
    1, 2, 5, 8, 10, 15, 25, 50, 75, 100, 125, 250, 375, 500, 750, 1000, 1250, 1500, 2000, 3000, 4000, 4500,
    5000, 5500, 6000, 6500, 7000, 7500, 8000, 9000, 10_000, 11_000, 12_000, 13_000, 14_000, 15_000, 16_000,
    17_000, 18_000, 20_000, 25_000, 30_000, 40_000,
];
const POLL_PDU: [u32; 23] = [
    4, 8, 16, 32, 64, 128, 256, 512, 1024, 2048, 4096, 6144, 8192, 12288, 16384, 20480, 24576, 28672, 32768,
    40960, 49152, 57344, 65536,
];
const RETRANSMISSIONS: [u32; 8] = [1, 2, 3, 4, 6, 8, 16, 32];

/// Absolute time of `span`, the value of `key`, if it is a whole number of milliseconds in these steps.
pub(super) fn stepped(key: &str, span: Span, steps: Steps, slot: SimTime) -> Result<SimTime, ScenarioError> {
    let time = time(key, span, slot)?;
    let millis = time.as_nanos() / 1_000_000;
    let is_one = |&(first, last, step): &(u64, u64, u64)| {
        (first..=last).contains(&millis) && (millis - first).is_multiple_of(step)
    };
    if time.as_nanos() % 1_000_000 == 0 && steps.iter().any(is_one) {
        return Ok(time);
    }
    let said = |&(first, last, step): &(u64, u64, u64)| match (last - first) / step {
        0 => first.to_string(),
        1 => format!("{first}, {last}"),
        _ => format!("{first} to {last} by {step}"),
    };
    let all: Vec<String> = steps.iter().map(said).collect();
    Err(ScenarioError::value(key, &json(span), format!("must be one of TS 38.331: {} ms", all.join(", "))))
}

fn one_of(key: &str, value: u32, values: &[u32]) -> Result<u32, ScenarioError> {
    if values.contains(&value) {
        return Ok(value);
    }
    let all: Vec<String> = values.iter().map(u32::to_string).collect();
    Err(ScenarioError::value(key, &json(value), format!("must be one of {}", all.join(", "))))
}

impl NrRlc {
    /// Fills in the defaults of a single bearer's RLC: the values of `usual` if its mode is equal, otherwise those of
    /// the mode.
    pub(super) fn resolve_of_bearer(
        &mut self,
        table: &str,
        usual: &RlcConfig,
        slot: SimTime,
    ) -> Result<RlcConfig, ScenarioError> {
        let usual_mode = match usual.mode {
            RlcMode::Acknowledged => NrRlcMode::Am,
            RlcMode::Unacknowledged => NrRlcMode::Um,
        };
        if *self.mode.get_or_insert(usual_mode) == usual_mode {
            self.sn_bits.get_or_insert(usual.sn_bits);
            self.t_reassembly.get_or_insert(Span::exactly(usual.reassembly));
            self.poll_pdu = self.poll_pdu.or(usual.poll_pdus);
            self.poll_byte = self.poll_byte.or(usual.poll_bytes.map(|bytes| Bytes(bytes as u32)));
            self.t_poll_retransmit.get_or_insert(Span::exactly(usual.poll_retransmit));
            self.t_status_prohibit.get_or_insert(Span::exactly(usual.status_prohibit));
            self.max_retransmissions.get_or_insert(usual.max_retransmissions);
        }
        self.resolve(table, slot)
    }

    /// Fills in the defaults of the RLC in the table called `table`.
    pub(super) fn resolve(&mut self, table: &str, slot: SimTime) -> Result<RlcConfig, ScenarioError> {
        let ms = |count| Span::exactly(SimTime::from_millis(count));
        let key = |name: &str| join(table, name);
        let word = *self.mode.get_or_insert(NrRlcMode::Am);
        let reassembly = *self.t_reassembly.get_or_insert(ms(50));
        let reassembly = stepped(&key("t_reassembly"), reassembly, REASSEMBLY, slot)?;
        let (usual_bits, bits, allowed) = match word {
            NrRlcMode::Am => (18, [12, 18], "must be 12 or 18 in acknowledged mode"),
            NrRlcMode::Um => (12, [6, 12], "must be 6 or 12 in unacknowledged mode"),
        };
        let sn_bits = *self.sn_bits.get_or_insert(usual_bits);
        if !bits.contains(&sn_bits) {
            return Err(ScenarioError::value(key("sn_bits"), &json(sn_bits), allowed));
        }
        let unacknowledged = RlcConfig {
            mode: RlcMode::Unacknowledged,
            sn_bits,
            poll_pdus: None,
            poll_bytes: None,
            poll_retransmit: SimTime::ZERO,
            reassembly,
            status_prohibit: SimTime::ZERO,
            max_retransmissions: 1,
        };
        if word == NrRlcMode::Um {
            // In a sweep over modes these keys are present at all points.
            (self.poll_pdu, self.poll_byte, self.t_poll_retransmit) = (None, None, None);
            (self.t_status_prohibit, self.max_retransmissions) = (None, None);
            return Ok(unacknowledged);
        }
        let poll_pdu = *self.poll_pdu.get_or_insert(16);
        let poll_retransmit = *self.t_poll_retransmit.get_or_insert(ms(100));
        let prohibit = *self.t_status_prohibit.get_or_insert(ms(10));
        let most = *self.max_retransmissions.get_or_insert(32);
        if let Some(Bytes(bytes)) = self.poll_byte
            && !(bytes % 1000 == 0 && POLL_KILOBYTES.contains(&(bytes / 1000)))
        {
            let all = POLL_KILOBYTES.map(|kilobytes| kilobytes.to_string()).join(", ");
            let problem = format!("must be one of TS 38.331: {all} kB");
            return Err(ScenarioError::value(key("poll_byte"), &json(self.poll_byte), problem));
        }
        Ok(RlcConfig {
            mode: RlcMode::Acknowledged,
            poll_pdus: Some(one_of(&key("poll_pdu"), poll_pdu, &POLL_PDU)?),
            poll_bytes: self.poll_byte.map(|bytes| u64::from(bytes.0)),
            poll_retransmit: stepped(&key("t_poll_retransmit"), poll_retransmit, POLL_RETRANSMIT, slot)?,
            status_prohibit: stepped(&key("t_status_prohibit"), prohibit, STATUS_PROHIBIT, slot)?,
            max_retransmissions: one_of(&key("max_retransmissions"), most, &RETRANSMISSIONS)?,
            ..unacknowledged
        })
    }
}
