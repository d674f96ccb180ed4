//! Fate of each packet of a flow.

use super::headers::{FlowKey, Packet};

/// Fate of a packet.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Fate {
    /// The packet arrived.
    Arrived,
    /// The packet did not arrive.
    Lost,
    /// The capture does not say.
    Unknown,
}

/// A packet that was sent.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Observed {
    /// Time at which it was sent, in nanoseconds since the first.
    pub sent_ns: i64,
    /// Bytes of the IP packet.
    pub bytes: u32,
    /// Fate.
    pub fate: Fate,
    /// Time at which its arrival was seen (of both ends), or the acknowledgement that it triggered (of the sender
    /// alone); none of a packet of which this cannot be told.
    pub seen_ns: Option<i64>,
}

/// Clocks by which a record was made.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Vantage {
    /// The sender's: a delay is a round trip.
    Sender,
    /// The receiver's, and what timestamps tell of the sender's: a delay is a round trip.
    Receiver,
    /// Captures of both ends: delays are one way, with the offset of the two clocks.
    BothEnds,
}

/// All packets of a flow, in the order of sending.
#[derive(Clone, Debug, PartialEq)]
pub struct FlowRecord {
    /// Key of the flow.
    pub flow: FlowKey,
    /// Clocks of the times.
    pub vantage: Vantage,
    /// The packets.
    pub packets: Vec<Observed>,
    /// Whether there were more than [`MOST_PACKETS`](super::MOST_PACKETS).
    pub is_cut: bool,
    /// Whether packets were larger than a segment: the interface cut or joined them.
    pub offloads: bool,
    /// Tick of the clock that tells when packets were sent, where it is a coarse one.
    pub tick_ns: i64,
    /// How long one acknowledgement in ten waited on the reverse path, at least, in nanoseconds: times are then those of
    /// the receiver's clock; 0 where none waited long, or nothing tells.
    pub held_ns: i64,
    /// Captures of both ends: when packets of the other direction were sent, by the receiver's clock, and how long
    /// they took to the sender; the shortest of each second.
    pub reverse: Vec<(i64, i64)>,
    /// Whether the sender's SYN is one of Linux.
    pub is_of_linux: bool,
    /// Other flows between the same hosts whose packets are among these.
    pub beside: Vec<FlowKey>,
}

impl FlowRecord {
    /// A record of the sender alone that has no packets yet.
    pub(super) fn of_sender(flow: FlowKey) -> Self {
        Self {
            flow,
            vantage: Vantage::Sender,
            packets: Vec::new(),
            is_cut: false,
            offloads: false,
            tick_ns: 0,
            held_ns: 0,
            reverse: Vec::new(),
            is_of_linux: false,
            beside: Vec::new(),
        }
    }
}

/// A packet as one end has it.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Seen {
    pub(super) time_ns: i64,
    pub(super) packet: Packet,
}
