//! Configuration of a TCP connection; QUIC has its own.

mod bbr;
mod quic;
mod rfc;
mod sender;

pub use bbr::{BbrConfig, BbrProfile, FullPipeRule};
pub use quic::QuicConfig;
pub use rfc::{CongestionControlKind, Pacing, RateReduction, ReductionBound, RfcConfig, Rules};
pub use sender::SenderConfig;

use crossfade_core::SimTime;

/// Set of rules that a TCP connection follows.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Flavour {
    /// The idealised sender of Zorzi, Chockalingam and Rao, "Throughput analysis of TCP on channels with
    /// memory" (IEEE JSAC 18(7), 2000): a timer per segment, and nothing but the retransmission is sent in
    /// recovery.
    Paper,
    /// TCP agents of ns-2.35, reproduced event by event.
    Ns2,
    /// TCP as the RFCs specify it; [`RfcConfig`] selects among the options that they leave open.
    Rfc,
}

/// Loss recovery of a TCP connection.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Variant {
    /// Recovery by timeouts only, without fast retransmit.
    OldTahoe,
    /// Recovery by fast retransmit, then slow start from one segment.
    Tahoe,
    /// Recovery by fast retransmit and fast recovery, which ends with the first new acknowledgement.
    Reno,
    /// Recovery by fast retransmit and fast recovery, in which each partial acknowledgement repairs a further loss.
    NewReno,
    /// Recovery driven by selective acknowledgements (SACK).
    Sack,
}

/// Rule for the length of the retransmission timeout.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum RtoRule {
    /// A constant timeout for every segment.
    Fixed(SimTime),
    /// Timeout estimated from RTT samples, in ticks of a coarse clock (Jacobson 1988; RFC 6298 section 2).
    Estimated {
        /// Minimum timeout.
        min: SimTime,
        /// Timeout before the first RTT sample.
        initial: SimTime,
        /// Clock tick in which RTTs are measured.
        granularity: SimTime,
    },
}

/// Configuration of the retransmission timeout.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct RtoConfig {
    /// Rule for the timeout before back-off.
    pub rule: RtoRule,
    /// True if each timeout doubles the next one (exponential back-off, Karn and Partridge 1987).
    pub backoff: bool,
    /// Longest timeout that back-off reaches.
    pub max: SimTime,
}

impl RtoConfig {
    /// Creates the configuration of a constant timeout for every segment, without back-off.
    pub const fn fixed(timeout: SimTime) -> Self {
        Self { rule: RtoRule::Fixed(timeout), backoff: false, max: timeout }
    }

    /// Creates the configuration of a timeout estimated from RTT samples, doubled up to a minute, the smallest upper
    /// bound that RFC 6298 allows (rule 2.5).
    pub const fn estimated(min: SimTime, initial: SimTime, granularity: SimTime) -> Self {
        let rule = RtoRule::Estimated { min, initial, granularity };
        Self { rule, backoff: true, max: SimTime::from_millis(60_000) }
    }
}

/// Configuration of a TCP sender and its receiver. Windows and sequence numbers count segments of one MSS.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct TcpConfig {
    /// Set of rules that the connection follows.
    pub flavour: Flavour,
    /// Loss recovery of the sender.
    pub variant: Variant,
    /// Receiver window in segments; at least 1.
    pub w_max: u32,
    /// Congestion window at the start, in segments; at least 1.
    pub initial_window: f64,
    /// Slow-start threshold at the start, in segments.
    pub initial_ssthresh: f64,
    /// Number of duplicate acknowledgements that trigger a fast retransmit (the papers' K); at least 1.
    pub dupthresh: u32,
    /// True if each of the first duplicate acknowledgements lets a new segment leave (limited transmit, RFC 3042).
    pub limited_transmit: bool,
    /// Configuration of the retransmission timeout.
    pub rto: RtoConfig,
    /// Number of segments that the application sends; `None`: unlimited.
    pub segments: Option<u64>,
    /// Options of flavour `rfc`; the other flavours ignore them.
    pub rfc: RfcConfig,
}

impl TcpConfig {
    /// Creates a configuration with the defaults of a scenario: unlimited data, three duplicates for a fast retransmit,
    /// a slow-start threshold of the whole window, and the usual values of the flavour. `paper` and `ns2` start with
    /// one segment and use the timeouts of ns-2 (for the paper's, in slots, see [`RtoConfig::fixed`]); `rfc` starts
    /// with ten segments (RFC 6928) and the timeouts of RFC 6298.
    pub fn new(flavour: Flavour, variant: Variant, w_max: u32) -> Self {
        let ms = SimTime::from_millis;
        let (initial_window, rto) = match flavour {
            Flavour::Paper | Flavour::Ns2 => (1.0, RtoConfig::estimated(ms(200), ms(3000), ms(10))),
            Flavour::Rfc => (10.0, RtoConfig::estimated(ms(1000), ms(1000), ms(1))),
        };
        Self {
            flavour,
            variant,
            w_max,
            initial_window: f64::from(w_max).min(initial_window),
            initial_ssthresh: f64::from(w_max),
            dupthresh: 3,
            limited_transmit: flavour != Flavour::Paper && variant != Variant::OldTahoe,
            rto,
            segments: None,
            rfc: RfcConfig::default(),
        }
    }
}
