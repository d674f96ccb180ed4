//! Content of a log, and helpers to read its JSON.

use super::log_error::LogError;
use super::observed::{FlowRecord, Observed};
use crossfade_core::Carried;
use serde_json::Value;

/// Packets of which a log says what became.
#[derive(Clone, Debug, PartialEq)]
#[expect(clippy::struct_excessive_bools, reason = "independent properties of a log")]
pub struct PacketLog {
    /// Logged event.
    pub flow: String,
    /// The packets, in the order of sending.
    pub packets: Vec<Observed>,
    /// Whether delays are round trips.
    pub is_round_trip: bool,
    /// Whether they are probes, which never wait for one another: they say nothing of a rate.
    pub are_probes: bool,
    /// Whether the log has the sizes of packets.
    pub has_sizes: bool,
    /// Whether the log ends early, or was read in part.
    pub is_cut: bool,
    /// Resolution of its times, unless known to be below a transmission time.
    pub tick_ns: i64,
    /// Time at which the first packet was sent, in seconds of the clock that logs of both directions share; 0 where
    /// there is none.
    pub starts_s: f64,
}

/// Stretches of time of a flow.
#[derive(Clone, Debug, PartialEq)]
pub struct StretchLog {
    /// Logged event.
    pub flow: String,
    /// UDP; otherwise TCP.
    pub is_udp: bool,
    /// Bytes of a full packet on the wire.
    pub packet_bytes: f64,
    /// Flows side by side.
    pub flows: f64,
    /// The share of packets that were lost in all.
    pub lost_share: Option<f64>,
    /// The shortest round trip, if the log has it.
    pub least_rtt_s: Option<f64>,
    /// The stretches.
    pub stretches: Vec<Carried>,
    /// Whether the log ends early, or was read in part.
    pub is_cut: bool,
}

/// Content of a log.
#[derive(Clone, Debug, PartialEq)]
pub enum Told {
    /// Packet by packet.
    Packets(PacketLog),
    /// Log in intervals of time.
    Stretches(StretchLog),
}

/// Content of a capture at one end about a flow.
#[derive(Clone, Debug, PartialEq)]
pub enum FlowTold {
    /// Packet by packet.
    Packets(FlowRecord),
    /// Log in intervals of time.
    Stretches(StretchLog),
}

/// An object of JSON.
pub(super) fn parsed(line: usize, text: &[u8]) -> Result<Value, LogError> {
    serde_json::from_slice(text).map_err(|error| {
        // serde_json counts the lines of the object.
        let problem = error.to_string();
        let problem = problem.split(" at line ").next().unwrap_or_default();
        LogError::at(line + error.line().saturating_sub(1), format!("not JSON: {problem}"))
    })
}

/// A number, also as text.
pub(super) fn number(value: &Value) -> Option<f64> {
    value.as_f64().or_else(|| value.as_str()?.parse().ok())
}
