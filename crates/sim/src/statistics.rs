//! What a run counted.

use crate::path::{LinkBooks, Occupancy};
use crossfade_core::{DelayHistogram, SimTime, jain_fairness};
use crossfade_link::LinkStatistics;
use crossfade_link::arq::ArqStatistics;

/// What was counted of one flow, or of several together, after the warm-up.
#[derive(Clone, Debug, PartialEq, Default)]
pub struct FlowStatistics {
    /// First arrivals at the receiver, in or out of order.
    pub segments_delivered: u64,
    /// Segments given to the application, in order; of UDP, what arrived.
    pub segments_in_order: u64,
    /// All arrivals at the receiver.
    pub segments_received: u64,
    /// Transmissions, retransmissions included.
    pub segments_sent: u64,
    /// Transmissions of segments sent before.
    pub retransmissions: u64,
    /// Transmissions lost by the channels of the path.
    pub segments_lost: u64,
    /// Transmissions dropped by the queues of the path.
    pub queue_drops: u64,
    /// Transmissions that a queue of the path marked "congestion experienced" (RFC 3168), once they have
    /// left it.
    pub ecn_marks: u64,
    /// Expiries of the retransmission timer.
    pub timeouts: u64,
    /// Of these, the ones whose segment was not lost: a copy of it that was sent before has reached the
    /// receiver, or did so later. (Perhaps all its acknowledgements were lost.)
    pub spurious_timeouts: u64,
    /// The timeouts that the sender found to be spurious. Flavour `rfc` alone looks.
    pub spurious_timeouts_detected: u64,
    /// Fast retransmits, one for each recovery.
    pub fast_retransmits: u64,
    /// Of these, the ones that the sender found to be spurious.
    pub spurious_fast_retransmits: u64,
    /// Probes at the tail of a flight (RFC 8985 section 7).
    pub tail_loss_probes: u64,
    /// Reductions of the window that answered a congestion mark.
    pub ecn_reductions: u64,
    /// Acknowledgements sent.
    pub acks_sent: u64,
    /// Acknowledgements that reached the sender.
    pub acks_received: u64,
    /// Acknowledgements lost by the channels of the way back.
    pub acks_lost: u64,
    /// Acknowledgements dropped by the queues of the way back.
    pub ack_queue_drops: u64,
    /// The sum of the round trips that the sender measured, in seconds.
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
    /// When a segment last reached the receiver for the first time, counted from the start of the run.
    pub last_delivery: SimTime,
    /// The time from its start until all that the flow had to send was delivered; `None` if it never was.
    pub completion_time: Option<SimTime>,
}

impl FlowStatistics {
    /// Applies `f` to all counts, `g` to all sums and `h` to all distributions, pair by pair; times are
    /// those of `self`.
    fn zip(
        &self,
        other: &Self,
        f: impl Fn(u64, u64) -> u64,
        g: impl Fn(f64, f64) -> f64,
        h: impl Fn(Option<&DelayHistogram>, Option<&DelayHistogram>) -> Option<Box<DelayHistogram>>,
    ) -> Self {
        Self {
            segments_delivered: f(self.segments_delivered, other.segments_delivered),
            segments_in_order: f(self.segments_in_order, other.segments_in_order),
            segments_received: f(self.segments_received, other.segments_received),
            segments_sent: f(self.segments_sent, other.segments_sent),
            retransmissions: f(self.retransmissions, other.retransmissions),
            segments_lost: f(self.segments_lost, other.segments_lost),
            queue_drops: f(self.queue_drops, other.queue_drops),
            ecn_marks: f(self.ecn_marks, other.ecn_marks),
            timeouts: f(self.timeouts, other.timeouts),
            spurious_timeouts: f(self.spurious_timeouts, other.spurious_timeouts),
            spurious_timeouts_detected: f(self.spurious_timeouts_detected, other.spurious_timeouts_detected),
            fast_retransmits: f(self.fast_retransmits, other.fast_retransmits),
            spurious_fast_retransmits: f(self.spurious_fast_retransmits, other.spurious_fast_retransmits),
            tail_loss_probes: f(self.tail_loss_probes, other.tail_loss_probes),
            ecn_reductions: f(self.ecn_reductions, other.ecn_reductions),
            acks_sent: f(self.acks_sent, other.acks_sent),
            acks_received: f(self.acks_received, other.acks_received),
            acks_lost: f(self.acks_lost, other.acks_lost),
            ack_queue_drops: f(self.ack_queue_drops, other.ack_queue_drops),
            rtt_sum_s: g(self.rtt_sum_s, other.rtt_sum_s),
            rtt_samples: f(self.rtt_samples, other.rtt_samples),
            one_way_delay_sum_s: g(self.one_way_delay_sum_s, other.one_way_delay_sum_s),
            rtt: h(self.rtt.as_deref(), other.rtt.as_deref()),
            one_way_delay: h(self.one_way_delay.as_deref(), other.one_way_delay.as_deref()),
            ..*self
        }
    }

    /// What was counted since `earlier`.
    pub(crate) fn since(&self, earlier: &Self) -> Self {
        self.zip(
            earlier,
            |a, b| a - b,
            |a, b| a - b,
            |a, b| a.map(|a| Box::new(b.map_or_else(|| a.clone(), |b| a.since(b)))),
        )
    }

    /// Adds what was counted of another flow.
    pub fn add(&mut self, other: &Self) {
        *self = self.zip(
            other,
            |a, b| a + b,
            |a, b| a + b,
            |a, b| {
                let mut sum = a.or(b)?.clone();
                if let (Some(_), Some(b)) = (a, b) {
                    sum.merge(b);
                }
                Some(Box::new(sum))
            },
        );
    }

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
    /// Those of them that delivered everything, in the order in which they did.
    pub completions: Vec<Completion>,
    /// All flows together, also those that began in the warm-up; its times mean nothing.
    pub total: FlowStatistics,
}

/// What was counted of one link after the warm-up.
#[derive(Clone, Debug, PartialEq)]
pub struct LinkReport {
    /// What the link counted.
    pub counts: LinkStatistics,
    /// What it counted of its frames, if it sends packets as frames.
    pub arq: Option<ArqStatistics>,
    /// The mean number of packets in the queue (Little's law).
    pub queue_mean_packets: f64,
    /// The share of the time in which the link was sending packets, or frames with a payload; `None` without
    /// a rate.
    pub utilisation: Option<f64>,
}

impl LinkReport {
    /// The report of what a link did from `warm` to `end`.
    pub(crate) fn new(end: &LinkBooks, warm: &LinkBooks, occupancy: &Occupancy, duration: SimTime) -> Self {
        let counts = end.counts.since(&warm.counts);
        let arq = end.arq.as_ref().zip(warm.arq.as_ref()).map(|(end, warm)| end.since(warm));
        let taken_bits = counts.transmitted_bytes as f64 * 8.0;
        let seconds = duration.as_secs_f64();
        let utilisation = match occupancy {
            Occupancy::None => None,
            // Counted are packets that the link has taken; some of them are yet to be sent.
            Occupancy::Packets(rate_bps) => Some(
                (taken_bits / rate_bps + warm.to_send.as_secs_f64() - end.to_send.as_secs_f64()) / seconds,
            ),
            // A frame, or a packet, is counted whole as it begins.
            Occupancy::Frames(frame_time) => arq.as_ref().and_then(|arq| {
                let frames = (arq.frames + arq.retransmissions) as f64;
                share(frames * frame_time.as_secs_f64(), seconds)
            }),
            Occupancy::Schedule(schedule) => share(taken_bits, schedule.capacity_bits(warm.at, end.at)),
        };
        Self { queue_mean_packets: counts.queue_mean_packets(duration), utilisation, counts, arq }
    }
}

/// A share of what there is, if there is anything.
fn share(part: f64, whole: f64) -> Option<f64> {
    (whole > 0.0).then(|| (part / whole).min(1.0))
}

/// What was counted after the warm-up.
#[derive(Clone, Debug, PartialEq, Default)]
pub struct NetworkStatistics {
    /// The time that was measured.
    pub duration: SimTime,
    /// Of each flow of [`crate::Network::flows`].
    pub flows: Vec<FlowStatistics>,
    /// Of each of [`crate::Network::arrivals`].
    pub arrivals: Vec<ArrivalStatistics>,
    /// Of each link that the data took.
    pub forward: Vec<LinkReport>,
    /// Of each link that the acknowledgements took.
    pub reverse: Vec<LinkReport>,
    /// Nothing was delivered any more in a run of [`crate::STALL`] transmissions, and the run was given up.
    pub stalled: bool,
}

impl NetworkStatistics {
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
