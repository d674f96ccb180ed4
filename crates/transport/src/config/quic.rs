//! Configuration of a QUIC connection.

use super::bbr::BbrConfig;
use super::rfc::{CongestionControlKind, Pacing};
use crossfade_core::SimTime;

/// Configuration of a QUIC sender and receiver over one stream (RFC 9002), with the choices that RFC 9002 and RFC 9000
/// section 13.2 leave to the implementer. Windows count packets.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct QuicConfig {
    /// Flow-control credit of the stream, in packets; at least 1.
    pub w_max: u32,
    /// Initial congestion window in packets; at least 1.
    pub initial_window: f64,
    /// Initial slow-start threshold in packets.
    pub initial_ssthresh: f64,
    /// Number of packets of data that the application sends; `None`: unlimited.
    pub segments: Option<u64>,
    /// Congestion control that sets the window; ignored if the sender is constructed with one.
    pub congestion_control: CongestionControlKind,
    /// True if slow start ends when the RTT grows: HyStart++ (RFC 9406).
    pub hystart: bool,
    /// Pacing of packets over the RTT; `None`: no pacing. A congestion control that sets a rate is always paced.
    pub pacing: Option<Pacing>,
    /// Options of BBR, used if it is the congestion control.
    pub bbr: BbrConfig,
    /// True if routers may mark packets instead of dropping them (RFC 9000 section 13.4).
    pub ecn: bool,
    /// RTT of the handshake, the first RTT sample; `None`: it is not measured.
    pub handshake_rtt: Option<SimTime>,
    /// Reordering threshold in packets: a packet this many numbers below an acknowledged one is lost (RFC 9002 section
    /// 6.1.1); at least 1.
    pub packet_threshold: u64,
    /// Reordering threshold in RTTs: a packet sent this long ago, and before an acknowledged one, is lost (RFC 9002
    /// section 6.1.2); at least 1.
    pub time_threshold: f64,
    /// Duration of persistent congestion, in probe timeouts (RFC 9002 section 7.6.1); at least 1.
    pub persistent_threshold: u32,
    /// RTT assumed before the first sample (RFC 9002 section 6.2.2).
    pub initial_rtt: SimTime,
    /// Number of packets that a probe timeout sends (RFC 9002 section 6.2.4): one or two.
    pub probes: u32,
    /// True if a reduction of the window is undone once all the packets that caused it have arrived. RFC 9002 has no
    /// such rule; RFC 9438 section 4.9 has.
    pub undo: bool,
    /// Longest time that the receiver delays an acknowledgement (RFC 9000 section 13.2.1).
    pub max_ack_delay: SimTime,
    /// Number of packets that one acknowledgement answers (RFC 9000 section 13.2.2); at least 1.
    pub ack_eliciting_threshold: u32,
    /// Maximum number of packet ranges, the latest ones, that the receiver remembers and reports (RFC 9000 section
    /// 13.2.3); at least 1.
    pub ack_ranges: u32,
}

impl QuicConfig {
    /// Creates a configuration with the defaults recommended by RFC 9002 and RFC 9000, and a credit of `w_max` packets:
    /// Reno with an initial window of ten packets, no pacing, unlimited data.
    pub fn new(w_max: u32) -> Self {
        Self {
            w_max,
            initial_window: f64::from(w_max).min(10.0),
            initial_ssthresh: f64::from(w_max),
            segments: None,
            congestion_control: CongestionControlKind::Reno,
            hystart: false,
            pacing: None,
            bbr: BbrConfig::default(),
            ecn: false,
            handshake_rtt: None,
            packet_threshold: 3,
            time_threshold: 9.0 / 8.0,
            persistent_threshold: 3,
            initial_rtt: SimTime::from_millis(333),
            probes: 2,
            undo: false,
            max_ack_delay: SimTime::from_millis(25),
            ack_eliciting_threshold: 2,
            ack_ranges: 32,
        }
    }
}
