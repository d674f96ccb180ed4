//! Statistics of the nodes of a shared medium.

use crossfade_core::{SimTime, counters};

/// Statistics of one node of a mesh. The last four fields are times, which add up to the time since the start.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default)]
pub struct NodeStatistics {
    /// Number of RTS frames transmitted.
    pub rts_sent: u64,
    /// Number of RTS frames that no CTS answered.
    pub rts_losses: u64,
    /// Number of CTS frames transmitted.
    pub cts_sent: u64,
    /// Number of DATA frames transmitted.
    pub data_sent: u64,
    /// Number of DATA frames that no ACK answered.
    pub data_losses: u64,
    /// Number of ACK frames transmitted.
    pub acks_sent: u64,
    /// Number of packets that the next node has acknowledged.
    pub packets_forwarded: u64,
    /// Number of packets delivered at this node.
    pub packets_delivered: u64,
    /// Number of DATA frames received again, which the node acknowledges and discards.
    pub duplicates: u64,
    /// Number of packets dropped because the queue was full.
    pub queue_drops: u64,
    /// Number of packets given up after too many RTS frames without a CTS.
    pub rts_drops: u64,
    /// Number of packets given up after too many DATA frames without an ACK.
    pub data_drops: u64,
    /// Number of packets given up although the next node has received them, because only the ACKs were lost.
    pub forwarded_after_all: u64,
    /// Number of nulls that this node formed, one for each neighbour and exchange.
    pub nulls_spent: u64,
    /// Number of times that this node deferred to an exchange nearby.
    pub deferrals: u64,
    /// Bytes of the packets that were delivered at this node.
    pub delivered_bytes: u64,
    /// Total duration of successful exchanges that this node began.
    pub exchange_time: SimTime,
    /// Time spent transmitting.
    pub transmit: SimTime,
    /// Time spent receiving: locked on a frame.
    pub receive: SimTime,
    /// Time in which the node sensed a busy medium, but neither transmitted nor received.
    pub busy: SimTime,
    /// Time in which the node neither transmitted nor received nor sensed a busy medium.
    pub idle: SimTime,
}

counters!(NodeStatistics {
    rts_sent,
    rts_losses,
    cts_sent,
    data_sent,
    data_losses,
    acks_sent,
    packets_forwarded,
    packets_delivered,
    duplicates,
    queue_drops,
    rts_drops,
    data_drops,
    forwarded_after_all,
    nulls_spent,
    deferrals,
    delivered_bytes,
    exchange_time,
    transmit,
    receive,
    busy,
    idle
});

/// Mean number of simultaneous successful exchanges over `duration`, a measure of spatial reuse.
pub fn mean_exchanges(nodes: &[NodeStatistics], duration: SimTime) -> f64 {
    let time: SimTime = nodes.iter().map(|node| node.exchange_time).sum();
    time.as_secs_f64() / duration.as_secs_f64()
}
