//! What a connection with QUIC's recovery is told at the start.

use crossfade_core::SimTime;

/// What RFC 9002 and RFC 9000 section 13.2 leave to the implementer. The default is what they recommend.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct QuicConfig {
    /// A packet is lost once so many numbers behind one that was acknowledged (RFC 9002 section 6.1.1); at least 1.
    pub packet_threshold: u64,
    /// Or once it left so many round trips before now, and before one that was acknowledged (section 6.1.2); at least 1.
    pub time_threshold: f64,
    /// Losses in a row are persistent congestion from so many probe timeouts on (section 7.6.1); at least 1.
    pub persistent_threshold: u32,
    /// The round trip before the first is measured (section 6.2.2).
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

impl Default for QuicConfig {
    fn default() -> Self {
        Self {
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
