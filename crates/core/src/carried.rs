//! What a flow carried in a stretch of time: a file of its own, since `capture` reads it of a log, `fit` explains it, and neither knows the other.

/// What was carried in a stretch of time, as iperf3 and `ss` tell it.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Carried {
    /// When it begins.
    pub from_s: f64,
    /// When it ends.
    pub to_s: f64,
    /// Bytes on the wire.
    pub bytes: f64,
    /// Packets.
    pub packets: f64,
    /// Packets that were lost, of TCP those that were retransmitted.
    pub lost: Option<f64>,
    /// The smoothed round trip at its end.
    pub rtt_s: Option<f64>,
    /// Whether the application had too little to send.
    pub is_limited: bool,
}
