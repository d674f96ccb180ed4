//! Statistics of a run, at its end or in progress.

use crate::link_summary::LinkSummary;
use crossfade_core::{DelayHistogram, SimTime, TcpSnapshot, counters, jain_fairness};
use crossfade_link::LinkReport;

/// Statistics of one flow, or of several together, after the warm-up.
///
/// The fields that every packet touches come first: a thousand flows exceed the cache.
#[derive(Clone, Debug, PartialEq, Default)]
#[repr(C)]
pub struct FlowStatistics {
    /// Number of segments that arrived at the receiver for the first time, in or out of order.
    pub segments_delivered: u64,
    /// Bytes on the wire of segments that arrived at the receiver for the first time.
    pub bytes_delivered: u64,
    /// Number of segments given to the application in order; for UDP, number of datagrams that arrived.
    pub segments_in_order: u64,
    /// Number of segments that arrived at the receiver, including duplicates.
    pub segments_received: u64,
    /// Number of transmissions of data packets, including retransmissions.
    pub segments_sent: u64,
    /// Number of acknowledgements sent.
    pub acks_sent: u64,
    /// Number of acknowledgements that reached the sender.
    pub acks_received: u64,
    /// Time, from the start of the run, at which new data last arrived at the receiver.
    pub last_delivery: SimTime,
    /// Number of retransmissions of segments.
    pub retransmissions: u64,
    /// Number of transmissions lost by the channels of the path.
    pub segments_lost: u64,
    /// Number of transmissions dropped by the queues of the path.
    pub queue_drops: u64,
    /// Number of transmissions that the last link of the route has completed or an earlier link has lost. Packets that
    /// were dropped, wait, or are still before the last link do not count. A mesh completes a transmission when the
    /// packet comes out or is lost.
    pub segments_transmitted: u64,
    /// Number of transmissions that a queue of the path marked "congestion experienced" (RFC 3168), counted as they
    /// leave it.
    pub ecn_marks: u64,
    /// Number of expiries of the retransmission timer.
    pub timeouts: u64,
    /// Number of timeouts whose segment was not lost: a copy sent before the timeout has reached the receiver, or did
    /// so later, even if all its acknowledgements were lost.
    pub spurious_timeouts: u64,
    /// Number of timeouts that the sender detected to be spurious; only flavour `rfc` detects them.
    pub spurious_timeouts_detected: u64,
    /// Number of fast retransmits: one for each fast recovery that an acknowledgement or the reordering timer begins.
    pub fast_retransmits: u64,
    /// Number of fast retransmits that the sender found to be spurious.
    pub spurious_fast_retransmits: u64,
    /// Number of tail loss probes sent (RFC 8985 section 7).
    pub tail_loss_probes: u64,
    /// Number of window reductions that answered a congestion mark.
    pub ecn_reductions: u64,
    /// Number of packets declared lost by the sender and acknowledged later; only flavour `quic` detects them.
    pub spurious_losses: u64,
    /// Number of acknowledgements lost by the channels of the reverse path.
    pub acks_lost: u64,
    /// Number of acknowledgements dropped by the queues of the reverse path.
    pub ack_queue_drops: u64,
    /// Sum of the sender's RTT samples in seconds; with n samples its relative rounding error is below n 1.2e-16.
    pub rtt_sum_s: f64,
    /// Number of the sender's RTT samples.
    pub rtt_samples: u64,
    /// Sum of one-way delays over all arrivals at the receiver, in seconds.
    pub one_way_delay_sum_s: f64,
    /// Histogram of the RTT samples; `None` unless [`crate::Network::measures_delays`] is set.
    pub rtt: Option<Box<DelayHistogram>>,
    /// Histogram of the one-way delays; `None` unless [`crate::Network::measures_delays`] is set.
    pub one_way_delay: Option<Box<DelayHistogram>>,
    /// Start time of the flow, from the start of the run.
    pub start: SimTime,
    /// Time from the start of the flow until all its data was delivered; `None` if not all was delivered.
    pub completion_time: Option<SimTime>,
}

// Times of the flow stay as they are when statistics are subtracted or added.
counters!(FlowStatistics {
    segments_delivered,
    bytes_delivered,
    segments_in_order,
    segments_received,
    segments_sent,
    retransmissions,
    segments_lost,
    queue_drops,
    segments_transmitted,
    ecn_marks,
    timeouts,
    spurious_timeouts,
    spurious_timeouts_detected,
    fast_retransmits,
    spurious_fast_retransmits,
    tail_loss_probes,
    ecn_reductions,
    spurious_losses,
    acks_sent,
    acks_received,
    acks_lost,
    ack_queue_drops,
    rtt_sum_s,
    rtt_samples,
    one_way_delay_sum_s,
    rtt,
    one_way_delay;
    start, last_delivery, completion_time
});

impl FlowStatistics {
    /// Number of data packets and acknowledgements of the flow in the network, from counts since the start of the run.
    pub(crate) fn in_flight(&self) -> u64 {
        self.segments_sent + self.acks_sent
            - (self.segments_received + self.segments_lost + self.queue_drops)
            - (self.acks_received + self.acks_lost + self.ack_queue_drops)
    }
}

/// Completion of a flow of [`crate::Arrivals`]: it has delivered all its data.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Completion {
    /// Start time of the flow, from the start of the run; after the warm-up.
    pub start: SimTime,
    /// Number of the flow's segments.
    pub segments: u64,
    /// Time from the flow's start until all its segments were delivered.
    pub completion_time: SimTime,
}

/// Statistics of the flows of one [`crate::Arrivals`] process.
#[derive(Clone, Debug, PartialEq, Default)]
pub struct ArrivalStatistics {
    /// Number of flows that began after the warm-up.
    pub started: u64,
    /// Flows begun after the warm-up that delivered all their data, in the order of completion.
    pub completions: Vec<Completion>,
    /// Start times of flows begun after the warm-up that had not completed at the end of the run, from the start of the
    /// run.
    pub unfinished: Vec<SimTime>,
    /// Statistics of all flows of the process together, including those that began in the warm-up; its times have no
    /// meaning.
    pub total: FlowStatistics,
}

/// Statistics of a network after the warm-up.
#[derive(Clone, Debug, PartialEq, Default)]
pub struct NetworkStatistics {
    /// Duration of the measured period, from the end of the warm-up to the end of the run.
    pub duration: SimTime,
    /// Time of the end of the run, from its start.
    pub end: SimTime,
    /// Statistics of each flow of [`crate::Network::flows`].
    pub flows: Vec<FlowStatistics>,
    /// Statistics of each process of [`crate::Network::arrivals`].
    pub arrivals: Vec<ArrivalStatistics>,
    /// Statistics of each link and fabric, in the order of [`crate::Topology::media`].
    pub links: Vec<LinkSummary>,
    /// True if the run was given up after [`crate::STALL`] consecutive transmissions without a delivery.
    pub stalled: bool,
}

impl NetworkStatistics {
    /// Statistics of the link or fabric called `name`; `None` if there is none.
    pub fn link(&self, name: &str) -> Option<&LinkSummary> {
        self.links.iter().find(|link| link.name == name)
    }

    /// Jain's fairness index of the segments that each of [`NetworkStatistics::flows`] delivered in order; `None`
    /// without deliveries.
    ///
    /// It is meaningful for flows that share the path all the time and send packets of one size; other flows would have
    /// unequal shares of a fair path.
    pub fn jain_fairness(&self) -> Option<f64> {
        let delivered: Vec<f64> = self.flows.iter().map(|flow| flow.segments_in_order as f64).collect();
        jain_fairness(&delivered)
    }
}

/// Statistics of a run in progress, since its start and including the warm-up.
#[derive(Clone, Debug)]
pub struct Snapshot {
    /// Snapshot of each flow of [`crate::Network::flows`].
    pub flows: Vec<FlowSnapshot>,
    /// Report of each link and fabric, in the order of [`crate::Engine::link_names`].
    pub links: Vec<LinkReport>,
}

/// Statistics and sender variables of one flow in a [`Snapshot`].
#[derive(Clone, Debug)]
pub struct FlowSnapshot {
    /// Statistics of the flow since the start of the run.
    pub counts: FlowStatistics,
    /// Variables of the flow's sender; zeros for UDP.
    pub tcp: TcpSnapshot,
}
