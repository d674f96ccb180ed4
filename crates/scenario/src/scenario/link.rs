//! Links and their queues.

use super::{Arq, Channel, Framing, Headers, Trace};
use crate::quantity::{Limit, Rate, Share, Size, Span};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// The link that carries the data packets. A slot is packet_size / rate; with a trace, packet_size over the
/// mean rate.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default)]
pub struct Link {
    /// Bit rate. Required without a trace.
    #[schemars(extend("x-default" = "none: required without link.trace"))]
    #[serde(skip_serializing_if = "Option::is_none")]
    pub rate: Option<Rate>,

    /// Bytes of a data packet on the wire, headers included.
    #[schemars(extend("x-required" = true))]
    #[serde(skip_serializing_if = "Option::is_none")]
    pub packet_size: Option<Size>,

    /// Propagation delay, one way.
    #[schemars(extend("default" = "0 s"))]
    #[serde(skip_serializing_if = "Option::is_none")]
    pub delay: Option<Span>,

    /// The packets that wait for the link.
    pub queue: Queue,

    /// Bytes of a frame on the air, with its overhead: packets travel as frames of this size.
    #[schemars(extend("x-default" = "none: packets are not cut"))]
    #[serde(skip_serializing_if = "Option::is_none")]
    pub frame_size: Option<Size>,

    /// How packets become frames. With frame_size.
    #[serde(skip_serializing_if = "Framing::is_absent")]
    pub framing: Framing,

    /// What the headers of packets become on this link. With frame_size.
    #[serde(skip_serializing_if = "Headers::is_absent")]
    pub headers: Headers,

    /// Who repeats lost frames. With frame_size.
    #[serde(skip_serializing_if = "Arq::is_absent")]
    pub arq: Arq,

    /// What the capacity of the link follows, in place of a rate.
    #[serde(skip_serializing_if = "Trace::is_absent")]
    pub trace: Trace,
}

/// The packets that wait for a link.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default)]
pub struct Queue {
    /// How much may wait beside the packet being sent, in packets or bytes; what comes then is dropped.
    #[schemars(extend("x-default" = "unlimited; 10240 packets for \"fq-codel\". Required for red and codel"))]
    #[serde(skip_serializing_if = "Option::is_none")]
    pub limit: Option<Limit>,

    /// Which packet goes next, and which are dropped or marked before the queue is full.
    #[schemars(extend("x-default" = "drop-tail"))]
    #[serde(skip_serializing_if = "Option::is_none")]
    pub discipline: Option<Discipline>,

    /// Mark packets that allow it instead of dropping them (RFC 3168). Taken by red, codel and fq-codel.
    #[schemars(extend("x-default" = "true for red, codel and fq-codel"))]
    #[serde(skip_serializing_if = "Option::is_none")]
    pub ecn: Option<bool>,

    /// The average queue below which RED marks nothing, in packets.
    #[schemars(extend("exclusiveMinimum" = 0, "maximum" = 1e9, "x-default" = "5, of red"))]
    #[serde(skip_serializing_if = "Option::is_none")]
    pub min_th: Option<f64>,

    /// The average queue at which RED marks with probability max_p, in packets.
    #[schemars(extend("exclusiveMinimum" = 0, "maximum" = 1e9, "x-default" = "15, of red"))]
    #[serde(skip_serializing_if = "Option::is_none")]
    pub max_th: Option<f64>,

    /// The probability of a mark as the average reaches max_th.
    #[schemars(extend("x-default" = "0.1, of red"))]
    #[serde(skip_serializing_if = "Option::is_none")]
    pub max_p: Option<Share>,

    /// The weight of the present queue in RED's average.
    #[schemars(extend("x-default" = "0.002, of red"))]
    #[serde(skip_serializing_if = "Option::is_none")]
    pub w_q: Option<Share>,

    /// Between max_th and twice that RED's probability grows to 1 instead of jumping.
    #[schemars(extend("x-default" = "true, of red"))]
    #[serde(skip_serializing_if = "Option::is_none")]
    pub gentle: Option<bool>,

    /// How long a packet may wait in a queue that stands (RFC 8289).
    #[schemars(extend("x-default" = "5 ms, of codel and fq-codel"))]
    #[serde(skip_serializing_if = "Option::is_none")]
    pub target: Option<Span>,

    /// How long packets must have waited longer before one is dropped; about the longest round trip (RFC
    /// 8289).
    #[schemars(extend("x-default" = "100 ms, of codel and fq-codel"))]
    #[serde(skip_serializing_if = "Option::is_none")]
    pub interval: Option<Span>,

    /// How many bytes a flow may send before it is the next one's turn (RFC 8290).
    #[schemars(extend("x-default" = "1514 B, of fq-codel"))]
    #[serde(skip_serializing_if = "Option::is_none")]
    pub quantum: Option<Size>,
}

/// A queue discipline.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Discipline {
    /// First in, first out; what finds the queue full is dropped.
    DropTail,
    /// Random early detection (Floyd and Jacobson 1993).
    Red,
    /// Controlled delay (RFC 8289).
    Codel,
    /// A queue for each flow under controlled delay, served in turn (RFC 8290).
    FqCodel,
}

/// A wired segment between the sender and the wireless link, the same both ways.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default)]
pub struct Wired {
    /// Bit rate.
    #[schemars(extend("x-default" = "none: packets take no time to transmit"))]
    #[serde(skip_serializing_if = "Option::is_none")]
    pub rate: Option<Rate>,

    /// Propagation delay, one way.
    #[schemars(extend("x-default" = "0 s"))]
    #[serde(skip_serializing_if = "Option::is_none")]
    pub one_way_delay: Option<Span>,

    /// Propagation delay there and back; another way to give one_way_delay.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub rtt: Option<Span>,

    /// What waits for the wired segment on the way of the data. On the way back nothing is dropped.
    #[serde(skip_serializing_if = "Queue::is_absent")]
    pub queue: Queue,
}

impl Wired {
    /// Whether there is no such segment.
    pub fn is_absent(&self) -> bool {
        *self == Self::default()
    }
}

impl Queue {
    /// Whether nothing is said of the queue.
    pub fn is_absent(&self) -> bool {
        *self == Self::default()
    }
}

/// The link that carries the acknowledgements.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default)]
pub struct Reverse {
    /// Bit rate.
    #[schemars(extend("x-default" = "none: acknowledgements take no time to transmit"))]
    #[serde(skip_serializing_if = "Option::is_none")]
    pub rate: Option<Rate>,

    /// Propagation delay, one way.
    #[schemars(extend("default" = "0 s"))]
    #[serde(skip_serializing_if = "Option::is_none")]
    pub delay: Option<Span>,

    /// The acknowledgements that wait for the link.
    pub queue: Queue,

    /// Bytes of a frame on the air, with its overhead: acknowledgements travel as frames of this size.
    #[schemars(extend("x-default" = "none: packets are not cut"))]
    #[serde(skip_serializing_if = "Option::is_none")]
    pub frame_size: Option<Size>,

    /// How packets become frames. With frame_size.
    #[serde(skip_serializing_if = "Framing::is_absent")]
    pub framing: Framing,

    /// What the headers of packets become on this link. With frame_size.
    #[serde(skip_serializing_if = "Headers::is_absent")]
    pub headers: Headers,

    /// Who repeats lost frames. With frame_size.
    #[serde(skip_serializing_if = "Arq::is_absent")]
    pub arq: Arq,

    /// What the capacity of the link follows, in place of a rate.
    #[serde(skip_serializing_if = "Trace::is_absent")]
    pub trace: Trace,

    /// Which acknowledgements are lost.
    pub channel: Channel,
}
