//! Measurements from a log or a capture, and helpers to read JSON.

use super::log_error::LogError;
use super::observed::{FlowRecord, Observed};
use crossfade_core::Carried;
use serde_json::Value;

/// Fates of packets from a log of another tool.
#[derive(Clone, Debug, PartialEq)]
#[expect(clippy::struct_excessive_bools, reason = "independent properties of a log")]
pub struct PacketLog {
    /// Name of the tool and the flow, for the user.
    pub flow: String,
    /// Packets in order of sending.
    pub packets: Vec<Observed>,
    /// True if delays are round trips, false if one-way.
    pub is_round_trip: bool,
    /// True for probes, which never queue behind each other and so show no rate of the link.
    pub are_probes: bool,
    /// True if the log has the sizes of packets; otherwise they are assumed.
    pub has_sizes: bool,
    /// True if the log ends early, or was too long to be read to the end.
    pub is_cut: bool,
    /// Resolution of the log's times in nanoseconds; 0 if fine.
    pub tick_ns: i64,
    /// Time at which the first packet was sent, in seconds of the clock that the logs of both directions share; 0 if
    /// unknown.
    pub starts_s: f64,
}

/// Bytes carried by a flow per interval of time, with losses and round trips where known.
#[derive(Clone, Debug, PartialEq)]
pub struct StretchLog {
    /// Name of the tool and the flow, for the user.
    pub flow: String,
    /// True for UDP, false for TCP or QUIC.
    pub is_udp: bool,
    /// Bytes of a full packet on the wire, headers included.
    pub packet_bytes: f64,
    /// Number of parallel flows whose sum was measured.
    pub flows: f64,
    /// Share of all packets that were lost; `None` if the log does not have it.
    pub lost_share: Option<f64>,
    /// Shortest round trip in seconds; `None` if the log does not have it.
    pub least_rtt_s: Option<f64>,
    /// Intervals in order of time.
    pub stretches: Vec<Carried>,
    /// True if the log ends early, or was too long to be read to the end.
    pub is_cut: bool,
}

/// Measurements from a log of another tool.
#[derive(Clone, Debug, PartialEq)]
pub enum Told {
    /// Fate of each packet.
    Packets(PacketLog),
    /// Bytes carried per interval of time.
    Stretches(StretchLog),
}

/// Measurements of a flow from a capture at one end.
#[derive(Clone, Debug, PartialEq)]
pub enum FlowTold {
    /// Fate of each packet.
    Packets(FlowRecord),
    /// Bytes carried per interval of time, of encrypted QUIC.
    Stretches(StretchLog),
}

/// Parses an object of JSON that begins at `line` of the log.
pub(super) fn parsed(line: usize, text: &[u8]) -> Result<Value, LogError> {
    serde_json::from_slice(text).map_err(|error| {
        // serde_json counts the lines of the object.
        let problem = error.to_string();
        let problem = problem.split(" at line ").next().unwrap_or_default();
        LogError::at(line + error.line().saturating_sub(1), format!("not JSON: {problem}"))
    })
}

/// Number in a JSON value, also if it is written as a string; `None` for anything else.
pub(super) fn number(value: &Value) -> Option<f64> {
    value.as_f64().or_else(|| value.as_str()?.parse().ok())
}
