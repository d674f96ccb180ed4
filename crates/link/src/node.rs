//! What is counted of the nodes of a shared medium.

use crossfade_core::{SimTime, counters};

/// What happened at one node. The four spans add up to the time that has passed.
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
    /// Packets that came out here.
    pub packets_delivered: u64,
    /// DATA frames that came a second time; acknowledged and forgotten.
    pub duplicates: u64,
    /// Packets that found the queue full.
    pub queue_drops: u64,
    /// Packets given up after too many RTS without a CTS.
    pub rts_drops: u64,
    /// Packets given up after too many DATA frames without an ACK.
    pub data_drops: u64,
    /// Packets given up that the next node has nonetheless: only the answers were lost.
    pub forwarded_after_all: u64,
    /// Nulls that this node made, one for each neighbour and exchange.
    pub nulls_spent: u64,
    /// Times that it put off a call for the sake of an exchange nearby.
    pub deferrals: u64,
    /// The bytes of the packets that came out here.
    pub delivered_bytes: u64,
    /// Exchanges that this node called and that succeeded, and what they lasted.
    pub exchange_time: SimTime,
    /// Time spent sending.
    pub transmit: SimTime,
    /// Time locked on a frame.
    pub receive: SimTime,
    /// Time in which something else was on the air.
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

/// The mean number of exchanges under way that were to succeed, in `duration`: the spatial reuse that was reached.
pub fn mean_exchanges(nodes: &[NodeStatistics], duration: SimTime) -> f64 {
    let time: SimTime = nodes.iter().map(|node| node.exchange_time).sum();
    time.as_secs_f64() / duration.as_secs_f64()
}
