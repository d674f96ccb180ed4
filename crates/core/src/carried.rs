//! Traffic of a flow in a time interval: a file of its own, since `capture` reads it and `fit` explains it.

/// Bytes, packets, losses and RTT of one flow in one time interval, as iperf3 and `ss` report them.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Carried {
    /// Beginning of the interval in seconds.
    pub from_s: f64,
    /// End of the interval in seconds.
    pub to_s: f64,
    /// Bytes on the wire in the interval.
    pub bytes: f64,
    /// Number of packets in the interval.
    pub packets: f64,
    /// Number of packets lost in the interval; for TCP, of retransmitted packets. `None` if the source does not report
    /// losses.
    pub lost: Option<f64>,
    /// Smoothed RTT in seconds at the end of the interval; `None` if the source does not report an RTT.
    pub rtt_s: Option<f64>,
    /// True if the flow was application-limited in the interval.
    pub is_limited: bool,
}
