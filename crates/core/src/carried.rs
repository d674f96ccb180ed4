//! What a flow carried in a time interval: a file of its own, since `capture` reads it and `fit` explains it.

/// Packets carried in an interval of time, as iperf3 and `ss` report them.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Carried {
    /// Beginning of the interval in seconds.
    pub from_s: f64,
    /// End of the interval in seconds.
    pub to_s: f64,
    /// Bytes on the wire.
    pub bytes: f64,
    /// Number of packets.
    pub packets: f64,
    /// Lost packets; for TCP, retransmitted ones.
    pub lost: Option<f64>,
    /// Smoothed RTT in seconds at the end of the interval.
    pub rtt_s: Option<f64>,
    /// Whether the flow was application-limited.
    pub is_limited: bool,
}
