//! What a run counted, at its end or under way.

use crate::link_summary::LinkSummary;
use crossfade_core::{DelayHistogram, SimTime, TcpSnapshot, counters, jain_fairness};
use crossfade_link::LinkReport;

/// What was counted of one flow, or of several together, after the warm-up.
///
/// First stands what every packet touches: with a thousand flows that is memory, not cache.
#[derive(Clone, Debug, PartialEq, Default)]
#[repr(C)]
pub struct FlowStatistics {
    /// First arrivals at the receiver, in or out of order.
    pub segments_delivered: u64,
    /// Bytes on the wire of first arrivals at the receiver.
    pub bytes_delivered: u64,
    /// Segments given to the application, in order; of UDP, what arrived.
    pub segments_in_order: u64,
    /// All arrivals at the receiver.
    pub segments_received: u64,
    /// Transmissions, retransmissions included.
    pub segments_sent: u64,
    /// Acknowledgements sent.
    pub acks_sent: u64,
    /// Acknowledgements that reached the sender.
    pub acks_received: u64,
    /// When a segment last reached the receiver for the first time, counted from the start of the run.
    pub last_delivery: SimTime,
    /// Transmissions of segments sent before.
    pub retransmissions: u64,
    /// Transmissions lost by the channels of the path.
    pub segments_lost: u64,
    /// Transmissions dropped by the queues of the path.
    pub queue_drops: u64,
    /// Segments sent that the last link of the route has sent to their end, or an earlier one has lost: not those
    /// that were dropped, or that wait or are under way before that. A mesh has sent what has come out of it or is lost.
    pub segments_transmitted: u64,
    /// Transmissions that a queue of the path marked "congestion experienced" (RFC 3168), once they have
    /// left it.
    pub ecn_marks: u64,
    /// Expiries of the retransmission timer.
    pub timeouts: u64,
    /// Timeouts whose segment was not lost: a copy of it that was sent before has reached the
    /// receiver, or did so later. (Perhaps all its acknowledgements were lost.)
    pub spurious_timeouts: u64,
    /// The timeouts that the sender found to be spurious. Flavour `rfc` alone looks.
    pub spurious_timeouts_detected: u64,
    /// Fast retransmits, one for each fast recovery that begins, by an acknowledgement or by a timer for reordering.
    pub fast_retransmits: u64,
    /// Fast retransmits that the sender found to be spurious.
    pub spurious_fast_retransmits: u64,
    /// Probes at the tail of a flight (RFC 8985 section 7).
    pub tail_loss_probes: u64,
    /// Reductions of the window that answered a congestion mark.
    pub ecn_reductions: u64,
    /// Packets that the sender found lost and whose acknowledgement came after all. Flavour `quic` alone knows.
    pub spurious_losses: u64,
    /// Acknowledgements lost by the channels of the reverse path.
    pub acks_lost: u64,
    /// Acknowledgements dropped by the queues of the reverse path.
    pub ack_queue_drops: u64,
    /// The sum of the round trips that the sender measured, in seconds; of n it is off by n 1.2e-16 of it at the most.
    pub rtt_sum_s: f64,
    /// The number of round trips that the sender measured.
    pub rtt_samples: u64,
    /// The sum over all arrivals at the receiver of the time since they were sent, in seconds.
    pub one_way_delay_sum_s: f64,
    /// How the round trips were distributed, where [`crate::Network::measures_delays`] asks for it.
    pub rtt: Option<Box<DelayHistogram>>,
    /// How the times between sending and arrival were distributed, where it asks for it.
    pub one_way_delay: Option<Box<DelayHistogram>>,
    /// When the flow began, counted from the start of the run.
    pub start: SimTime,
    /// The time from its start until all that the flow had to send was delivered; `None` if it never was.
    pub completion_time: Option<SimTime>,
}

// Its times are those of the flow, whatever is subtracted or added.
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
    /// Data packets and acknowledgements between the hosts now, if nothing was subtracted.
    pub(crate) fn in_flight(&self) -> u64 {
        self.segments_sent + self.acks_sent
            - (self.segments_received + self.segments_lost + self.queue_drops)
            - (self.acks_received + self.acks_lost + self.ack_queue_drops)
    }
}

/// A flow of [`crate::Arrivals`] that delivered everything.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Completion {
    /// When it began, counted from the start of the run; after the warm-up.
    pub start: SimTime,
    /// How many segments it had.
    pub segments: u64,
    /// The time from its start until all of them were delivered.
    pub completion_time: SimTime,
}

/// What was counted of the flows of one [`crate::Arrivals`].
#[derive(Clone, Debug, PartialEq, Default)]
pub struct ArrivalStatistics {
    /// Flows that began after the warm-up.
    pub started: u64,
    /// Arrivals that delivered everything, in the order in which they did.
    pub completions: Vec<Completion>,
    /// When those of them began that had not delivered everything at the end of the run, counted from its start.
    pub unfinished: Vec<SimTime>,
    /// All flows together, also those that began in the warm-up; its times mean nothing.
    pub total: FlowStatistics,
}

/// What was counted after the warm-up.
#[derive(Clone, Debug, PartialEq, Default)]
pub struct NetworkStatistics {
    /// The time that was measured.
    pub duration: SimTime,
    /// When the run ended, counted from its start.
    pub end: SimTime,
    /// Statistics of each flow of [`crate::Network::flows`].
    pub flows: Vec<FlowStatistics>,
    /// Statistics of each of [`crate::Network::arrivals`].
    pub arrivals: Vec<ArrivalStatistics>,
    /// Statistics of each link and fabric, in the order of [`crate::Topology::media`].
    pub links: Vec<LinkSummary>,
    /// Nothing was delivered any more in a run of [`crate::STALL`] transmissions, and the run was given up.
    pub stalled: bool,
}

impl NetworkStatistics {
    /// What was counted of the link or fabric called `name`.
    pub fn link(&self, name: &str) -> Option<&LinkSummary> {
        self.links.iter().find(|link| link.name == name)
    }

    /// Jain's fairness index of the segments that each of [`NetworkStatistics::flows`] got through, in order:
    /// `None` where nothing was delivered.
    ///
    /// It is of those flows that share the path all the time and send packets of one size: others would be
    /// unequal however fair the path is.
    pub fn jain_fairness(&self) -> Option<f64> {
        let delivered: Vec<f64> = self.flows.iter().map(|flow| flow.segments_in_order as f64).collect();
        jain_fairness(&delivered)
    }
}

/// What was counted since the start of a run, its warm-up included.
#[derive(Clone, Debug)]
pub struct Snapshot {
    /// Snapshot of each flow of [`crate::Network::flows`].
    pub flows: Vec<FlowSnapshot>,
    /// Report of each link and fabric, in the order of [`crate::Engine::link_names`].
    pub links: Vec<LinkReport>,
}

/// Snapshot of a flow.
#[derive(Clone, Debug)]
pub struct FlowSnapshot {
    /// What was counted of it.
    pub counts: FlowStatistics,
    /// The variables of its sender; zeros of UDP.
    pub tcp: TcpSnapshot,
}
