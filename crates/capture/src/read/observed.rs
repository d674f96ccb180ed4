//! Packets of a captured flow and their fates.

use super::headers::{FlowKey, Packet};

/// Fate of a captured packet.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Fate {
    /// The packet arrived.
    Arrived,
    /// The packet did not arrive.
    Lost,
    /// The capture does not show if the packet arrived.
    Unknown,
}

/// Packet sent by a flow: time, size and fate.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Observed {
    /// Time at which the packet was sent, in nanoseconds since the first.
    pub sent_ns: i64,
    /// Length of the IP packet in bytes.
    pub bytes: u32,
    /// Fate of the packet.
    pub fate: Fate,
    /// Time, in nanoseconds since the first packet was sent, at which the packet arrived (captures of both ends), or at
    /// which the acknowledgement that it triggered arrived (capture of one end). `None` if the packet was lost, or if
    /// no acknowledgement belongs to it alone.
    pub seen_ns: Option<i64>,
}

/// Place of a capture, which decides if delays are round trips or one-way.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Vantage {
    /// Captured at the sender: delays are round trips.
    Sender,
    /// Captured at the receiver, with the times of sending from TCP timestamps: delays are round trips.
    Receiver,
    /// Captured at both ends: delays are one-way, plus the unknown offset of the two clocks.
    BothEnds,
}

/// Packets of a captured flow, in order of sending, with their fates.
#[derive(Clone, Debug, PartialEq)]
pub struct FlowRecord {
    /// Addresses, ports and protocol of the flow, in the direction of its data.
    pub flow: FlowKey,
    /// Place of the capture.
    pub vantage: Vantage,
    /// Packets in order of sending.
    pub packets: Vec<Observed>,
    /// True if the flow had more than [`MOST_PACKETS`](super::MOST_PACKETS) packets, of which the rest is missing.
    pub is_cut: bool,
    /// True if captured packets were larger than a segment, by segmentation offload or coalescing in the interface.
    pub offloads: bool,
    /// Tick, in nanoseconds, of the clock that dates transmissions; 0 if the clock is fine.
    pub tick_ns: i64,
    /// How long one acknowledgement in ten waited on the reverse path, at least, in nanoseconds: times are then those of
    /// the receiver's clock; 0 where none waited long, or nothing tells.
    pub held_ns: i64,
    /// Captures of both ends: when packets of the other direction were sent, by the receiver's clock, and how long
    /// they took to the sender; the shortest of each second.
    pub reverse: Vec<(i64, i64)>,
    /// True if the sender's SYN has its options in the order of Linux.
    pub is_of_linux: bool,
    /// Parallel flows between the same hosts, which shared the queue and whose packets are included.
    pub beside: Vec<FlowKey>,
}

impl FlowRecord {
    /// Empty record of a flow captured at the sender.
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

/// Packet captured at one end, with its capture time in nanoseconds.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Seen {
    pub(super) time_ns: i64,
    pub(super) packet: Packet,
}
