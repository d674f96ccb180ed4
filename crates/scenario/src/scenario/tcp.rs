//! TCP.

use crate::quantity::{Size, Span};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// The TCP sender and its receiver.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default)]
pub struct Tcp {
    /// Whose rules the sender follows.
    #[schemars(extend("default" = "paper"))]
    #[serde(skip_serializing_if = "Option::is_none")]
    pub flavour: Option<Flavour>,

    /// How the sender recovers from losses.
    #[schemars(extend("x-required" = true))]
    #[serde(skip_serializing_if = "Option::is_none")]
    pub variant: Option<Variant>,

    /// The receiver's window in segments.
    #[schemars(range(min = 1, max = 1_000_000), extend("x-required" = true))]
    #[serde(skip_serializing_if = "Option::is_none")]
    pub w_max: Option<u32>,

    /// How many duplicate acknowledgements trigger a fast retransmit (the papers' K).
    #[schemars(range(min = 1, max = 1_000_000), extend("default" = 3))]
    #[serde(skip_serializing_if = "Option::is_none")]
    pub dupthresh: Option<u32>,

    /// The congestion window at the start, in segments; at most w_max.
    #[schemars(range(min = 1, max = 1_000_000), extend("x-default" = "1; 10 for flavour \"rfc\" (RFC 6928)"))]
    #[serde(skip_serializing_if = "Option::is_none")]
    pub initial_window: Option<f64>,

    /// The slow-start threshold at the start, in segments.
    #[schemars(range(min = 1, max = 1_000_000), extend("x-default" = "tcp.w_max"))]
    #[serde(skip_serializing_if = "Option::is_none")]
    pub initial_ssthresh: Option<f64>,

    /// Send a new segment on each of the first duplicate acknowledgements (RFC 3042).
    #[schemars(extend("x-default" = "true, but false for flavour \"paper\" and variant \"old-tahoe\""))]
    #[serde(skip_serializing_if = "Option::is_none")]
    pub limited_transmit: Option<bool>,

    /// Bytes of application data in a segment: link.packet_size less tcp.headers.
    #[schemars(extend("x-default" = "link.packet_size - tcp.headers"))]
    #[serde(skip_serializing_if = "Option::is_none")]
    pub mss: Option<Size>,

    /// Bytes of headers in a data packet.
    #[schemars(extend("x-default" = "40 B; 0 B for flavour \"ns2\"; 52 B for flavour \"rfc\" with timestamps"))]
    #[serde(skip_serializing_if = "Option::is_none")]
    pub headers: Option<Size>,

    /// Bytes of an acknowledgement on the wire, without SACK blocks.
    #[schemars(extend("x-default" = "40 B; 52 B for flavour \"rfc\" with timestamps"))]
    #[serde(skip_serializing_if = "Option::is_none")]
    pub ack_size: Option<Size>,

    /// Bytes that each SACK block adds to an acknowledgement.
    #[schemars(extend("default" = "8 B"))]
    #[serde(skip_serializing_if = "Option::is_none")]
    pub sack_block_size: Option<Size>,

    /// Whether the sender waits for an idle link or fills the link's queue.
    #[schemars(extend("x-default" = "slot for flavour \"paper\"; queue for the others"))]
    #[serde(skip_serializing_if = "Option::is_none")]
    pub gate: Option<Gate>,

    /// The retransmission timeout: either fixed, or estimated from min, initial and granularity.
    pub rto: Rto,

    /// What the RFCs leave open. Taken by flavour "rfc".
    #[serde(skip_serializing_if = "Rfc::is_absent")]
    pub rfc: Rfc,
}

/// Whose rules a sender follows.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum Flavour {
    /// The idealised sender of Zorzi, Chockalingam and Rao (IEEE JSAC 18(7), 2000).
    Paper,
    /// The agents of ns-2.35, row by row.
    Ns2,
    /// TCP as the RFCs specify it; what they leave open is in tcp.rfc.
    Rfc,
}

/// How a sender recovers from losses.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum Variant {
    /// Timeouts only.
    #[serde(rename = "old-tahoe")]
    OldTahoe,
    /// Fast retransmit, then slow start from one segment.
    Tahoe,
    /// Fast recovery of a single loss.
    Reno,
    /// Fast recovery that answers partial acknowledgements.
    NewReno,
    /// Recovery driven by selective acknowledgements.
    Sack,
    /// The same with CUBIC's window (RFC 9438). Taken by flavour "rfc".
    Cubic,
}

/// How a sender meets its link.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum Gate {
    /// One packet a slot, nothing queued: the sender waits until the link is idle.
    Slot,
    /// Whatever the window allows goes into the link's queue at once.
    Queue,
}

/// The retransmission timeout.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default)]
pub struct Rto {
    /// The same timeout for every segment, at least a slot. Required for flavour "paper"; contradicts min,
    /// initial and granularity.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub fixed: Option<Span>,

    /// An estimated timeout is never less than this.
    #[schemars(extend("x-default" = "200 ms for flavour \"ns2\"; 1 s for flavour \"rfc\" (200 ms with profile \"linux\")"))]
    #[serde(skip_serializing_if = "Option::is_none")]
    pub min: Option<Span>,

    /// The timeout before the first round trip is measured.
    #[schemars(extend("x-default" = "3 s for flavour \"ns2\"; 1 s for flavour \"rfc\""))]
    #[serde(skip_serializing_if = "Option::is_none")]
    pub initial: Option<Span>,

    /// The tick of the clock that measures round trips; four deviations of the round trip count as at least this.
    #[schemars(extend("x-default" = "10 ms for flavour \"ns2\"; 1 ms for flavour \"rfc\" (200 ms with profile \"linux\")"))]
    #[serde(skip_serializing_if = "Option::is_none")]
    pub granularity: Option<Span>,

    /// The longest timeout. Not taken with a fixed timeout that does not back off.
    #[schemars(extend("x-default" = "60 s, or tcp.rto.fixed if that is longer"))]
    #[serde(skip_serializing_if = "Option::is_none")]
    pub max: Option<Span>,

    /// Whether a timeout doubles the next one.
    #[schemars(extend("x-default" = "false for flavour \"paper\"; true for the others"))]
    #[serde(skip_serializing_if = "Option::is_none")]
    pub backoff: Option<bool>,
}

/// What the RFCs leave open to a sender and its receiver.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default)]
pub struct Rfc {
    /// Where the other keys have their defaults from.
    #[schemars(extend("x-default" = "recommended"))]
    #[serde(skip_serializing_if = "Option::is_none")]
    pub profile: Option<Profile>,

    /// Timestamps on every segment and acknowledgement (RFC 7323).
    #[schemars(extend("x-default" = "true"))]
    #[serde(skip_serializing_if = "Option::is_none")]
    pub timestamps: Option<bool>,

    /// How long the receiver may hold back an acknowledgement (RFC 1122 section 4.2.3.2); 0 s acknowledges
    /// every segment at once.
    #[schemars(extend("x-default" = "200 ms; 40 ms with profile \"linux\""))]
    #[serde(skip_serializing_if = "Option::is_none")]
    pub delayed_ack: Option<Span>,

    /// The receiver reports duplicates and the sender uses the reports (RFC 2883).
    #[schemars(extend("x-default" = "true"))]
    #[serde(skip_serializing_if = "Option::is_none")]
    pub d_sack: Option<bool>,

    /// After a timeout the sender still believes what was reported (RFC 6675 section 5.1); otherwise it forgets
    /// (RFC 2018 section 8).
    #[schemars(extend("x-default" = "true"))]
    #[serde(skip_serializing_if = "Option::is_none")]
    pub keep_sack_after_timeout: Option<bool>,

    /// At the end of what is known to be lost, repeat the highest segment once (RFC 6675 section 4, rule 4).
    #[schemars(extend("x-default" = "true"))]
    #[serde(skip_serializing_if = "Option::is_none")]
    pub rescue_retransmission: Option<bool>,

    /// How recovery with SACK spreads its segments.
    #[schemars(extend("x-default" = "prr"))]
    #[serde(skip_serializing_if = "Option::is_none")]
    pub rate_reduction: Option<RateReduction>,

    /// Find losses by the time of transmission (RFC 8985). Needs SACK.
    #[schemars(extend("x-default" = "false; true with profile \"linux\" and SACK"))]
    #[serde(skip_serializing_if = "Option::is_none")]
    pub rack: Option<bool>,

    /// Probe for losses at the tail of a flight (RFC 8985 section 7). Needs rack.
    #[schemars(extend("x-default" = "as tcp.rfc.rack"))]
    #[serde(skip_serializing_if = "Option::is_none")]
    pub tail_loss_probe: Option<bool>,

    /// NewReno restarts its timer on the first partial acknowledgement only (RFC 6582 section 4).
    #[schemars(extend("x-default" = "true"))]
    #[serde(skip_serializing_if = "Option::is_none")]
    pub impatient: Option<bool>,

    /// Tell spurious timeouts by the acknowledgements after them (RFC 5682).
    #[schemars(extend("x-default" = "true"))]
    #[serde(skip_serializing_if = "Option::is_none")]
    pub f_rto: Option<bool>,

    /// Tell spurious retransmissions by their timestamps (RFC 3522). Needs timestamps.
    #[schemars(extend("x-default" = "as tcp.rfc.timestamps"))]
    #[serde(skip_serializing_if = "Option::is_none")]
    pub eifel: Option<bool>,

    /// Let queues mark data instead of dropping it (RFC 3168).
    #[schemars(extend("x-default" = "false"))]
    #[serde(skip_serializing_if = "Option::is_none")]
    pub ecn: Option<bool>,

    /// After an idle time of a retransmission timeout start from the initial window (RFC 5681 section 4.1).
    #[schemars(extend("x-default" = "true"))]
    #[serde(skip_serializing_if = "Option::is_none")]
    pub restart_after_idle: Option<bool>,

    /// The window grows only while it limits the sender (RFC 7661 section 4.3; RFC 9438 section 5.8).
    #[schemars(extend("x-default" = "true"))]
    #[serde(skip_serializing_if = "Option::is_none")]
    pub cwnd_validation: Option<bool>,

    /// Leave slow start when round trips grow (HyStart++, RFC 9406).
    #[schemars(extend("x-default" = "true for variant \"cubic\""))]
    #[serde(skip_serializing_if = "Option::is_none")]
    pub hystart: Option<bool>,
}

impl Rfc {
    /// Whether nothing is said of it.
    pub fn is_absent(&self) -> bool {
        *self == Self::default()
    }
}

/// Whose choices are the defaults.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum Profile {
    /// What the RFCs recommend.
    Recommended,
    /// What Linux does: RACK-TLP, acknowledgements delayed by 40 ms, a timeout of at least 200 ms.
    Linux,
}

/// How much is sent for each acknowledgement in fast recovery with SACK.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum RateReduction {
    /// Nothing until the pipe has drained to ssthresh (RFC 6675).
    Immediate,
    /// Proportional Rate Reduction, packet conservation (RFC 6937).
    PrrCrb,
    /// Proportional Rate Reduction, slow start (RFC 6937).
    PrrSsrb,
    /// Proportional Rate Reduction as it is now (RFC 9937).
    Prr,
}
