//! What a connection with QUIC's recovery is told at the start.

use super::bbr::BbrConfig;
use super::rfc::{CongestionControlKind, Pacing};
use crossfade_core::SimTime;

/// A sender and a receiver of QUIC's recovery over one stream (RFC 9002), and what it and RFC 9000 section 13.2 leave to the
/// implementer. Windows count packets.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct QuicConfig {
    /// The stream's credit, in packets; at least 1.
    pub w_max: u32,
    /// Congestion window at the start; at least 1.
    pub initial_window: f64,
    /// Slow-start threshold at the start.
    pub initial_ssthresh: f64,
    /// How many packets of data the application has to send; `None` is a source that never runs dry.
    pub segments: Option<u64>,
    /// Which congestion control sets the window, unless one is given to the sender.
    pub congestion_control: CongestionControlKind,
    /// Leave slow start when round trips grow: HyStart++ (RFC 9406).
    pub hystart: bool,
    /// Spread packets over the round trip. A congestion control that sets a rate is paced in any case.
    pub pacing: Option<Pacing>,
    /// What BBR leaves open.
    pub bbr: BbrConfig,
    /// Packets may be marked instead of dropped (RFC 9000 section 13.4).
    pub ecn: bool,
    /// The round trip of the handshake, if it is measured.
    pub handshake_rtt: Option<SimTime>,
    /// A packet is lost once so many numbers behind one that was acknowledged (RFC 9002 section 6.1.1); at least 1.
    pub packet_threshold: u64,
    /// Or once it left so many round trips before now, and before one that was acknowledged (section 6.1.2); at least 1.
    pub time_threshold: f64,
    /// Losses in a row are persistent congestion from so many probe timeouts on (section 7.6.1); at least 1.
    pub persistent_threshold: u32,
    /// RTT assumed before the first sample (section 6.2.2).
    pub initial_rtt: SimTime,
    /// How many packets a probe timeout sends (section 6.2.4): one or two.
    pub probes: u32,
    /// A reduction is taken back when all the packets that caused it turn out to have arrived. RFC 9002 has no such rule;
    /// RFC 9438 section 4.9 has.
    pub undo: bool,
    /// How long the receiver may hold back an acknowledgement (RFC 9000 section 13.2.1).
    pub max_ack_delay: SimTime,
    /// Packets that the receiver answers with one acknowledgement (section 13.2.2); at least 1.
    pub ack_eliciting_threshold: u32,
    /// Ranges of packets that it remembers and reports, the latest (section 13.2.3); at least 1.
    pub ack_ranges: u32,
}

impl QuicConfig {
    /// What RFC 9002 and RFC 9000 recommend, with a credit of `w_max` packets: Reno from ten packets on, unpaced, without end.
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
