//! Statistics of the nodes of a shared medium.

use crossfade_core::{SimTime, counters};

/// Statistics of one node of a mesh. The last four fields are times that add up to the time since the start.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default)]
pub struct NodeStatistics {
    /// RTS frames sent.
    pub rts_sent: u64,
    /// RTS frames without a CTS in answer.
    pub rts_losses: u64,
    /// CTS frames sent.
    pub cts_sent: u64,
    /// DATA frames sent.
    pub data_sent: u64,
    /// DATA frames without an ACK in answer.
    pub data_losses: u64,
    /// ACK frames sent.
    pub acks_sent: u64,
    /// Packets that the next node has acknowledged.
    pub packets_forwarded: u64,
    /// Packets that were delivered at this node.
    pub packets_delivered: u64,
    /// DATA frames received a second time, which are acknowledged and discarded.
    pub duplicates: u64,
    /// Packets that found the queue full.
    pub queue_drops: u64,
    /// Packets given up after too many RTS without a CTS.
    pub rts_drops: u64,
    /// Packets given up after too many DATA frames without an ACK.
    pub data_drops: u64,
    /// Packets given up although the next node has them, because only the ACKs were lost.
    pub forwarded_after_all: u64,
    /// Nulls that this node formed, one for each neighbour and exchange.
    pub nulls_spent: u64,
    /// Deferrals because of an exchange nearby.
    pub deferrals: u64,
    /// Bytes of the packets that were delivered at this node.
    pub delivered_bytes: u64,
    /// Total duration of successful exchanges that this node began.
    pub exchange_time: SimTime,
    /// Time spent sending.
    pub transmit: SimTime,
    /// Time locked on a frame.
    pub receive: SimTime,
    /// Time in which the node sensed the medium busy.
    pub busy: SimTime,
    /// Time in which the node did none of these.
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

/// Mean number of simultaneous successful exchanges over `duration`: the spatial reuse.
pub fn mean_exchanges(nodes: &[NodeStatistics], duration: SimTime) -> f64 {
    let time: SimTime = nodes.iter().map(|node| node.exchange_time).sum();
    time.as_secs_f64() / duration.as_secs_f64()
}
