//! Keys of QUIC's loss recovery.

use super::base::{absent, json, positive_time, time};
use crate::error::ScenarioError;
use crate::quantity::Span;
use crossfade_core::SimTime;
use crossfade_transport::{CongestionControlKind, QuicConfig};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// Bound of an ACK's delay: `max_ack_delay` is below 2^14 ms (RFC 9000 section 18.2).
const LONGEST_ACK_DELAY: SimTime = SimTime::from_millis(1 << 14);

/// Options that RFC 9002 and RFC 9000 leave open. Taken by flavour "quic".
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default)]
pub struct Quic {
    /// Packet threshold of loss detection. A packet is lost if its number is this far below an acknowledged one (RFC
    /// 9002 section 6.1.1, which recommends no less than 3).
    #[schemars(range(min = 1, max = 1_000_000), extend("x-default" = "3"))]
    #[serde(skip_serializing_if = "Option::is_none")]
    pub packet_threshold: Option<u32>,

    /// Time threshold of loss detection in RTTs (RFC 9002 section 6.1.2). It runs from the departure of a packet, once
    /// a later packet is acknowledged.
    #[schemars(range(min = 1, max = 1000), extend("x-default" = "1.125"))]
    #[serde(skip_serializing_if = "Option::is_none")]
    pub time_threshold: Option<f64>,

    /// Persistent congestion threshold in probe timeouts between losses. If all packets sent over that time are lost,
    /// the window falls to two packets (RFC 9002 section 7.6).
    #[schemars(range(min = 1, max = 1000), extend("x-default" = "3"))]
    #[serde(skip_serializing_if = "Option::is_none")]
    pub persistent_threshold: Option<u32>,

    /// Number of packets per probe timeout, whatever the window (RFC 9002 section 6.2.4).
    #[schemars(range(min = 1, max = 2), extend("x-default" = "2"))]
    #[serde(skip_serializing_if = "Option::is_none")]
    pub probes: Option<u32>,

    /// Whether a window reduction is undone when its losses were spurious (RFC 9438 section 4.9). RFC 9002 has no
    /// such rule.
    #[schemars(extend("x-default" = "false"))]
    #[serde(skip_serializing_if = "Option::is_none")]
    pub undo: Option<bool>,

    /// Largest delay of an ACK at the receiver (RFC 9000 section 13.2.1). Every probe timeout includes it; 0 s
    /// acknowledges every packet at once.
    #[schemars(extend("x-default" = "25 ms"))]
    #[serde(skip_serializing_if = "Option::is_none")]
    pub max_ack_delay: Option<Span>,

    /// Number of packets in order per ACK (RFC 9000 section 13.2.2). A gap, a packet that fills it and a congestion
    /// mark are acknowledged at once.
    #[schemars(range(min = 1, max = 1000), extend("x-default" = "2"))]
    #[serde(skip_serializing_if = "Option::is_none")]
    pub ack_eliciting_threshold: Option<u32>,

    /// Number of packet ranges that the receiver keeps and reports, the latest ones. Older packets that come late are
    /// discarded (RFC 9000 section 13.2.3).
    #[schemars(range(min = 1, max = 256), extend("x-default" = "32"))]
    #[serde(skip_serializing_if = "Option::is_none")]
    pub ack_ranges: Option<u32>,

    /// Whether the handshake measures the first RTT: that of the path without queues.
    #[schemars(extend("x-default" = "true"))]
    #[serde(skip_serializing_if = "Option::is_none")]
    pub handshake: Option<bool>,

    /// Initial RTT, assumed before one is measured (RFC 9002 section 6.2.2).
    #[schemars(extend("x-default" = "333 ms"))]
    #[serde(skip_serializing_if = "Option::is_none")]
    pub initial_rtt: Option<Span>,

    /// Whether queues may mark packets instead of dropping them. ACKs count the marks (RFC 9000 section 13.4).
    #[schemars(extend("x-default" = "false; true for congestion \"dctcp\" and \"prague\""))]
    #[serde(skip_serializing_if = "Option::is_none")]
    pub ecn: Option<bool>,

    /// Whether slow start ends when RTTs grow: HyStart++ (RFC 9406), without a limit per ACK.
    #[schemars(extend("x-default" = "true for CUBIC, otherwise false"))]
    #[serde(skip_serializing_if = "Option::is_none")]
    pub hystart: Option<bool>,
}

absent!(Quic);

impl Quic {
    /// Fills in the defaults of QUIC's loss recovery; windows, pacing and BBR follow from other tables.
    pub(super) fn resolve(
        &mut self,
        congestion_control: CongestionControlKind,
        counts_marks: bool,
        slot: SimTime,
    ) -> Result<QuicConfig, ScenarioError> {
        let usual = QuicConfig::new(1);
        let ecn = *self.ecn.get_or_insert(counts_marks);
        self.handshake.get_or_insert(true);
        let initial_rtt = *self.initial_rtt.get_or_insert(Span::millis(333));
        let packet_threshold = *self.packet_threshold.get_or_insert(usual.packet_threshold as u32);
        let hystart = *self.hystart.get_or_insert(congestion_control == CongestionControlKind::Cubic);
        Ok(QuicConfig {
            congestion_control,
            hystart,
            ecn,
            packet_threshold: packet_threshold.into(),
            time_threshold: *self.time_threshold.get_or_insert(usual.time_threshold),
            persistent_threshold: *self.persistent_threshold.get_or_insert(usual.persistent_threshold),
            initial_rtt: positive_time("tcp.quic.initial_rtt", initial_rtt, slot)?,
            probes: *self.probes.get_or_insert(usual.probes),
            undo: *self.undo.get_or_insert(usual.undo),
            max_ack_delay: self.resolve_max_ack_delay(slot)?,
            ack_eliciting_threshold: *self
                .ack_eliciting_threshold
                .get_or_insert(usual.ack_eliciting_threshold),
            ack_ranges: *self.ack_ranges.get_or_insert(usual.ack_ranges),
            ..usual
        })
    }

    fn resolve_max_ack_delay(&mut self, slot: SimTime) -> Result<SimTime, ScenarioError> {
        let given = *self.max_ack_delay.get_or_insert(Span::millis(25));
        let delay = time("tcp.quic.max_ack_delay", given, slot)?;
        if delay >= LONGEST_ACK_DELAY {
            let problem = "must be below 16384 ms (RFC 9000 section 18.2)";
            return Err(ScenarioError::value("tcp.quic.max_ack_delay", &json(given), problem));
        }
        Ok(delay)
    }
}
