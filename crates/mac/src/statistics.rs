//! What is counted of a mesh.

use crossfade_core::SimTime;

/// What a node does, as its radio sees it. At any time it is exactly one of these.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default)]
pub enum Activity {
    /// Nothing is on the air that it would not ignore.
    #[default]
    Idle,
    /// Something is on the air, but it has not locked on it.
    Busy,
    /// It has locked on a frame, for itself or others.
    Receive,
    /// It sends.
    Transmit,
}

/// What happened at one node. The four spans add up to the time that has passed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default)]
pub struct NodeStatistics {
    /// RTS frames sent.
    pub rts_sent: u64,
    /// Of these, the ones without a CTS in answer.
    pub rts_losses: u64,
    /// CTS frames sent.
    pub cts_sent: u64,
    /// DATA frames sent.
    pub data_sent: u64,
    /// Of these, the ones without an ACK in answer.
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
    /// Of those given up, the ones that the next node has nonetheless: only the answers were lost.
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
    /// The rest.
    pub idle: SimTime,
}

impl NodeStatistics {
    /// Adds a span of one activity.
    pub(crate) fn spend(&mut self, activity: Activity, span: SimTime) {
        *match activity {
            Activity::Idle => &mut self.idle,
            Activity::Busy => &mut self.busy,
            Activity::Receive => &mut self.receive,
            Activity::Transmit => &mut self.transmit,
        } += span;
    }

    /// What was counted since the statistics of this node were `earlier`: after a warm-up.
    #[must_use]
    pub fn since(&self, earlier: &Self) -> Self {
        Self {
            rts_sent: self.rts_sent - earlier.rts_sent,
            rts_losses: self.rts_losses - earlier.rts_losses,
            cts_sent: self.cts_sent - earlier.cts_sent,
            data_sent: self.data_sent - earlier.data_sent,
            data_losses: self.data_losses - earlier.data_losses,
            acks_sent: self.acks_sent - earlier.acks_sent,
            packets_forwarded: self.packets_forwarded - earlier.packets_forwarded,
            packets_delivered: self.packets_delivered - earlier.packets_delivered,
            duplicates: self.duplicates - earlier.duplicates,
            queue_drops: self.queue_drops - earlier.queue_drops,
            rts_drops: self.rts_drops - earlier.rts_drops,
            data_drops: self.data_drops - earlier.data_drops,
            forwarded_after_all: self.forwarded_after_all - earlier.forwarded_after_all,
            nulls_spent: self.nulls_spent - earlier.nulls_spent,
            deferrals: self.deferrals - earlier.deferrals,
            delivered_bytes: self.delivered_bytes - earlier.delivered_bytes,
            exchange_time: self.exchange_time - earlier.exchange_time,
            transmit: self.transmit - earlier.transmit,
            receive: self.receive - earlier.receive,
            busy: self.busy - earlier.busy,
            idle: self.idle - earlier.idle,
        }
    }
}

/// What happened in a mesh.
#[derive(Clone, Debug, PartialEq, Eq, Default)]
pub struct MeshReport {
    /// How much time has passed.
    pub elapsed: SimTime,
    /// Each node.
    pub nodes: Vec<NodeStatistics>,
}

impl MeshReport {
    /// What happened since the report was `earlier`: after a warm-up.
    #[must_use]
    pub fn since(&self, earlier: &Self) -> Self {
        let nodes = self.nodes.iter().zip(&earlier.nodes).map(|(now, then)| now.since(then)).collect();
        Self { elapsed: self.elapsed - earlier.elapsed, nodes }
    }

    /// The mean number of exchanges under way that were to succeed: the reuse that was reached.
    pub fn mean_exchanges(&self) -> f64 {
        let time: SimTime = self.nodes.iter().map(|node| node.exchange_time).sum();
        time.as_secs_f64() / self.elapsed.as_secs_f64()
    }
}
