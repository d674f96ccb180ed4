//! Metrics of any network, each in one row: name, unit, title, definition, and its computation from a run.
//!
//! In a row of results the key of a metric of the whole network is its name. The key of a metric of a part has the
//! part's prefix (`crates/experiment/src/parts.rs`): `reverse.NAME` for a link, `flow:FLOW.NAME` for a flow.

use crate::metric::{MetricInfo, Whose, count};
use crate::networks;
use crate::parts::{FLOW, LINK};
use crate::row::{NameSets, RowMetrics};
use crate::statistics::{FlowTotals, LinkMeasured, Scale, quantile_s};
use crossfade_core::{DelayHistogram, SimTime};
use crossfade_scenario::Setup;
use std::collections::BTreeMap;
use std::ops::{Deref, DerefMut};
use std::sync::LazyLock;

/// Metrics and distributions of one run, by key.
#[derive(Clone, Debug, Default, PartialEq)]
pub(crate) struct Metrics {
    /// Values of the metrics by key in rows.
    values: BTreeMap<String, f64>,
    /// Distributions by key in rows; empty ones are left out.
    pub(crate) distributions: BTreeMap<String, DelayHistogram>,
}

impl Metrics {
    /// Packs metrics and distributions as a row keeps them; `sets` shares the names among rows.
    pub(crate) fn packed(self, sets: &mut NameSets) -> RowMetrics {
        RowMetrics::new(self.values, sets).with_distributions(&self.distributions)
    }
}

impl Deref for Metrics {
    type Target = BTreeMap<String, f64>;

    fn deref(&self) -> &Self::Target {
        &self.values
    }
}

impl DerefMut for Metrics {
    fn deref_mut(&mut self) -> &mut Self::Target {
        &mut self.values
    }
}

impl IntoIterator for Metrics {
    type Item = (String, f64);
    type IntoIter = std::collections::btree_map::IntoIter<String, f64>;

    fn into_iter(self) -> Self::IntoIter {
        self.values.into_iter()
    }
}

impl<const N: usize> From<[(String, f64); N]> for Metrics {
    fn from(values: [(String, f64); N]) -> Self {
        Self { values: values.into(), distributions: BTreeMap::new() }
    }
}

/// Description of a metric of flows, links or solutions, and its computation.
pub(crate) struct Metric {
    pub(crate) info: MetricInfo,
    of: Of,
}

/// Computation of a metric from the counts of a run; NaN if undefined.
enum Of {
    /// A metric of each flow, and of all flows together.
    Flows(fn(&FlowTotals, &Scale) -> f64),
    /// A metric of each link; the value of the forward link, which carries the data, is that of the whole network.
    Link(fn(&LinkMeasured<'_>) -> f64),
    /// A metric of each link, but not of the whole network.
    LinkAlone(fn(&LinkMeasured<'_>) -> f64),
    /// A metric that only formulas, analysis or method phy give.
    Solution,
}

const fn metric(
    name: &'static str,
    unit: &'static str,
    words: &'static str,
    meaning: &'static str,
    of: Of,
) -> Metric {
    let whose = match of {
        Of::Flows(_) => Whose::EachAndAll(FLOW),
        Of::Link(_) => Whose::EachAndAll(LINK),
        Of::LinkAlone(_) => Whose::Each(LINK),
        Of::Solution => Whose::All,
    };
    Metric { info: MetricInfo { name, unit, words, meaning, whose }, of }
}

/// Metrics of the first columns in tables of a sweep whose runs are measured in packet times, in this order.
#[rustfmt::skip]
pub static MAIN_METRICS: [&str; 6] = [
    "throughput_per_slot", "throughput_lower", "throughput_upper", "goodput_bps", "timeouts_per_slot", "fast_retransmits_per_slot",
];

/// Metrics of the first columns in tables of a sweep whose runs are measured in seconds, in this order.
pub static MAIN_METRICS_OF_SECONDS: [&str; 6] =
    ["goodput_bps", "rtt_p95_s", "segment_loss_rate", "timeouts", "throughput_lower", "throughput_upper"];

/// The published metrics of any network, in the order of tables.
#[rustfmt::skip]
#[expect(clippy::redundant_closure_for_method_calls, reason = "the rows of a table look alike")]
pub(crate) static ANY_NETWORK: &[Metric] = &[
    metric("goodput_bps", "bit/s", "Goodput", "Application data that reached the receiver for the first time, per second of the measured time, without headers. Data that wait at the receiver for earlier data count when they arrive.", Of::Flows(|flows, scale| flows.goodput_bits / scale.seconds)),
    metric("ip_goodput_bps", "bit/s", "IP goodput", "Whole IP packets, headers included, that reached the receiver for the first time, per second.", Of::Flows(|flows, scale| count(flows.total.bytes_delivered) * 8.0 / scale.seconds)),
    metric("link_goodput_bps", "bit/s", "Link goodput", "Whole packets, headers included, that the link delivered, per second; retransmissions of TCP count each time.", Of::Link(|link| count(link.report.counts.arrived_bytes) * 8.0 / link.seconds)),
    metric("throughput_per_slot", "packets/slot", "Throughput", "Segments that reached the receiver for the first time, per slot: the papers' throughput. 1 is a link that is always busy with new packets.", Of::Flows(|flows, scale| count(flows.total.segments_delivered) / scale.slots)),
    metric("throughput_lower", "packets/slot", "Throughput, lower bound", "A lower bound on throughput_per_slot, by analysis.", Of::Solution),
    metric("throughput_upper", "packets/slot", "Throughput, upper bound", "An upper bound on throughput_per_slot, by analysis.", Of::Solution),
    metric("transmissions_per_slot", "transmissions/slot", "Transmissions per slot", "Data segments sent, retransmissions included, per slot.", Of::Flows(|flows, scale| count(flows.total.segments_sent) / scale.slots)),
    metric("energy_per_packet", "transmissions/packet", "Energy", "Transmissions on the wireless link for each segment delivered for the first time: the papers' energy. Packets do not count if a queue dropped them, or if they wait or are being sent as the run ends. On links with frames a packet counts as often as its frames were sent on average; in a mesh it counts when it is delivered or lost.", Of::Flows(|flows, scale| flows.packet_transmissions(scale) / count(flows.total.segments_delivered))),
    metric("segments_delivered", "segments", "Segments delivered", "Segments that reached the receiver for the first time.", Of::Flows(|flows, _| count(flows.total.segments_delivered))),
    metric("segments_sent", "segments", "Segments sent", "Data segments that left the senders, retransmissions included.", Of::Flows(|flows, _| count(flows.total.segments_sent))),
    metric("retransmissions", "segments", "Retransmissions", "Data segments that were retransmitted.", Of::Flows(|flows, _| count(flows.total.retransmissions))),
    metric("segment_loss_rate", "1", "Segment loss rate", "Share of the data segments lost by a channel or dropped by a queue. Segments that are still on the way at the end of the run are left out.", Of::Flows(|flows, _| flows.segment_loss_rate())),
    metric("timeouts", "1", "Timeouts", "Expiries of retransmission timers; in flavour quic, probe timeouts.", Of::Flows(|flows, _| count(flows.total.timeouts))),
    metric("spurious_timeouts", "1", "Spurious timeouts", "Timeouts whose segment was late, not lost, or of whose segment only the acknowledgements were lost.", Of::Flows(|flows, _| count(flows.total.spurious_timeouts))),
    metric("spurious_timeouts_detected", "1", "Spurious timeouts detected", "Timeouts that the sender itself found to be spurious (RFC 5682, RFC 3522).", Of::Flows(|flows, _| count(flows.total.spurious_timeouts_detected))),
    metric("fast_retransmits", "1", "Fast retransmits", "Number of fast recoveries begun by reports of acknowledgements or, under RACK and QUIC, also by the timer for segments that they report too late.", Of::Flows(|flows, _| count(flows.total.fast_retransmits))),
    metric("spurious_fast_retransmits", "1", "Spurious fast retransmits", "Fast retransmits of a segment that was not lost.", Of::Flows(|flows, _| count(flows.total.spurious_fast_retransmits))),
    metric("spurious_losses", "1", "Spurious losses", "Flavour quic: packets that the sender declared lost although they arrived: their acknowledgement came within three probe timeouts after that.", Of::Flows(|flows, _| flows.spurious_losses())),
    metric("tail_loss_probes", "1", "Tail loss probes", "Probes for losses at the tail of a flight (RFC 8985 section 7).", Of::Flows(|flows, _| count(flows.total.tail_loss_probes))),
    metric("ecn_reductions", "1", "ECN reductions", "Window reductions that congestion marks asked for (RFC 3168).", Of::Flows(|flows, _| count(flows.total.ecn_reductions))),
    metric("timeouts_per_slot", "1/slot", "Timeouts per slot", "Expiries of retransmission timers, per slot.", Of::Flows(|flows, scale| count(flows.total.timeouts) / scale.slots)),
    metric("fast_retransmits_per_slot", "1/slot", "Fast retransmits per slot", "Fast recoveries that began, per slot.", Of::Flows(|flows, scale| count(flows.total.fast_retransmits) / scale.slots)),
    metric("cycle_mean_slots", "slots", "Mean cycle", "By exact analysis: the mean time from a timeout, a completed recovery or Tahoe's fast retransmit to the next of them.", Of::Solution),
    metric("cycle_deviation_slots", "slots", "Cycle, deviation", "By exact analysis: the standard deviation of the cycle (see cycle_mean_slots).", Of::Solution),
    metric("frame_error_rate", "1", "Frame error rate", "Share of the packets sent on the link that the channel lost; on links with frames, of the frames with payload; by method phy, of first transmissions.", Of::Link(|link| link.frame_error_rate())),
    metric("bit_error_rate", "1", "Bit error rate", "By method phy: the share of bits that are decided wrongly, in the first transmission of each frame.", Of::Solution),
    metric("bit_errors", "1", "Bit errors", "By method phy: how many bits are decided wrongly, in the first transmission of each frame.", Of::Solution),
    metric("bits_sent", "1", "Bits sent", "By method phy: the number of bits in the first transmissions of frames, by which bit_errors is divided for bit_error_rate.", Of::Solution),
    metric("effective_rate_bps", "bit/s", "Effective rate", "By method phy: the rate of the link times the share of transmissions by which a frame is accepted, without overhead of frames: the throughput of a protocol that never waits and never retransmits needlessly.", Of::Solution),
    metric("link_capacity_bps", "bit/s", "Link capacity", "By analysis of a satellite link: long-run capacity in the direction of the data, less losses of time by boundaries and obstructions.", Of::Solution),
    metric("outage_share", "1", "Outage share", "By analysis of a satellite link: the share of time in which the direction of the data has no capacity.", Of::Solution),
    metric("idle_wait_s", "s", "Idle wait", "By analysis of a satellite link: mean wait of a packet for a grant on an idle link, away from boundaries and obstructions.", Of::Solution),
    metric("frame_errors", "1", "Frame errors", "Number of packets sent on the link that the channel lost; on links with frames, number of frames with payload. Each counts when its transmission ends.", Of::Link(|link| link.frame_errors())),
    metric("frame_transmissions", "1", "Frame transmissions", "Number of packets whose transmission on the link has ended; on links with frames, number of frames with payload, retransmissions included. frame_error_rate is frame_errors divided by this number.", Of::Link(|link| link.frame_transmissions())),
    metric("residual_frame_error_rate", "1", "Residual frame error rate", "Share of the payloads of frames with a known fate that the link protocol gave up.", Of::Link(|link| link.of_frames(|arq| arq.residual_frame_error_rate()))),
    metric("frames_given_up", "1", "Frames given up", "Number of payloads of frames that the link protocol gave up.", Of::Link(|link| link.of_frames(|arq| count(arq.frames_lost)))),
    metric("frames_delivered", "1", "Frames delivered", "Number of payloads of frames that the link protocol passed up.", Of::Link(|link| link.of_frames(|arq| count(arq.frames_delivered)))),
    metric("frame_transmissions_per_frame", "transmissions/frame", "Frame transmissions per frame", "Mean number of transmissions of a frame with payload.", Of::Link(|link| link.of_frames(|arq| arq.frame_transmissions_per_frame()))),
    metric("rlp_throughput_bps", "bit/s", "RLP throughput", "Payload of frames that the link protocol passed up, per second.", Of::Link(|link| link.payload_bits() / link.seconds)),
    metric("hol_delay_mean_s", "s", "Mean head-of-line delay", "Mean time for which received payloads of frames waited for earlier ones.", Of::Link(|link| link.of_frames(|arq| arq.head_of_line_delay_s / count(arq.frames_delivered)))),
    metric("hol_delay_p50_s", "s", "Head-of-line delay, median", "The median of the time that received payloads of frames waited for earlier ones.", Of::Link(|link| link.head_of_line_delay_s(0.5))),
    metric("hol_delay_p95_s", "s", "Head-of-line delay, 95th percentile", "The 95th percentile of the time that received payloads of frames waited for earlier ones.", Of::Link(|link| link.head_of_line_delay_s(0.95))),
    metric("hol_delay_p99_s", "s", "Head-of-line delay, 99th percentile", "The 99th percentile of the time that received payloads of frames waited for earlier ones. It is the quantile within one run, and so depends on the length of a run.", Of::Link(|link| link.head_of_line_delay_s(0.99))),
    metric("packets_lost", "packets", "Packets lost", "Packets of which the link protocol gave up a frame.", Of::Link(|link| link.of_frames(|_| count(link.report.counts.losses)))),
    metric("rtt_mean_s", "s", "Mean round-trip time", "Mean of the RTTs that the senders measured.", Of::Flows(|flows, _| flows.total.rtt_sum_s / count(flows.total.rtt_samples))),
    metric("rtt_p50_s", "s", "Round-trip time, median", "Median of the RTTs that the senders measured.", Of::Flows(|flows, _| quantile_s(flows.total.rtt.as_deref(), 0.5))),
    metric("rtt_p95_s", "s", "Round-trip time, 95th percentile", "95th percentile of the RTTs that the senders measured. It is the quantile within one run, and so depends on the length of a run; rtt_pooled_p95_s does not.", Of::Flows(|flows, _| quantile_s(flows.total.rtt.as_deref(), 0.95))),
    metric("rtt_p99_s", "s", "Round-trip time, 99th percentile", "99th percentile of the RTTs that the senders measured. It is the quantile within one run, and so depends on the length of a run; rtt_pooled_p99_s does not.", Of::Flows(|flows, _| quantile_s(flows.total.rtt.as_deref(), 0.99))),
    metric("rtt_pooled_p95_s", "s", "Round-trip time, 95th percentile of all runs together", "The 95th percentile of the round trips of all runs together, each counting once: that of one run as long as all of them. Within 1.6 %, from a histogram of each run.", Of::Flows(|flows, _| quantile_s(flows.total.rtt.as_deref(), 0.95))),
    metric("rtt_pooled_p99_s", "s", "Round-trip time, 99th percentile of all runs together", "The 99th percentile of the round trips of all runs together, each counting once: that of one run as long as all of them. Within 1.6 %, from a histogram of each run.", Of::Flows(|flows, _| quantile_s(flows.total.rtt.as_deref(), 0.99))),
    metric("one_way_delay_mean_s", "s", "Mean one-way delay", "Mean delay of packets from the sender's network interface to the receiver, without lost packets.", Of::Flows(|flows, _| flows.total.one_way_delay_sum_s / count(flows.total.segments_received))),
    metric("one_way_delay_p50_s", "s", "One-way delay, median", "The median of the delays from the sender's network interface to the receiver.", Of::Flows(|flows, _| quantile_s(flows.total.one_way_delay.as_deref(), 0.5))),
    metric("one_way_delay_p95_s", "s", "One-way delay, 95th percentile", "The 95th percentile of the delays from the sender's network interface to the receiver. It is the quantile within one run, and so depends on the length of a run; one_way_delay_pooled_p95_s does not.", Of::Flows(|flows, _| quantile_s(flows.total.one_way_delay.as_deref(), 0.95))),
    metric("one_way_delay_p99_s", "s", "One-way delay, 99th percentile", "The 99th percentile of the delays from the sender's network interface to the receiver. It is the quantile within one run, and so depends on the length of a run; one_way_delay_pooled_p99_s does not.", Of::Flows(|flows, _| quantile_s(flows.total.one_way_delay.as_deref(), 0.99))),
    metric("one_way_delay_pooled_p95_s", "s", "One-way delay, 95th percentile of all runs together", "The 95th percentile of the one-way delays of all runs together, each counting once: that of one run as long as all of them. Within 1.6 %, from a histogram of each run.", Of::Flows(|flows, _| quantile_s(flows.total.one_way_delay.as_deref(), 0.95))),
    metric("one_way_delay_pooled_p99_s", "s", "One-way delay, 99th percentile of all runs together", "The 99th percentile of the one-way delays of all runs together, each counting once: that of one run as long as all of them. Within 1.6 %, from a histogram of each run.", Of::Flows(|flows, _| quantile_s(flows.total.one_way_delay.as_deref(), 0.99))),
    metric("completion_time_s", "s", "Completion time", "Mean time of flows that have an end, from the start until all is delivered, with the handshake and the request where the flow has them. A flow that is unfinished at the end of the run counts with the time that it has had, and the mean is a lower bound.", Of::Flows(|flows, _| flows.completion_mean_s())),
    metric("completion_time_p95_s", "s", "Completion time, 95th percentile", "The 95th percentile of the completion times of all runs together, each counting once, within 1.6 %. A lower bound where more than 5 % of the flows are unfinished; with fewer by the estimate of Kaplan and Meier.", Of::Flows(|flows, _| flows.completion_quantile_s(0.95))),
    metric("flows_completed", "1", "Flows completed", "Number of flows of finite size that were complete when the run ended.", Of::Flows(|flows, _| flows.of_ends(count(flows.completion_times.len() as u64)))),
    metric("flows_unfinished", "1", "Flows unfinished", "Number of flows of finite size that had begun and were not complete when the run ended.", Of::Flows(|flows, _| flows.of_ends(count(flows.unfinished_times.len() as u64)))),
    metric("jain_fairness", "1", "Jain's index of fairness", "Jain's index of the goodputs of bulk flows that were there all the time: 1 is equal shares (Jain, Chiu and Hawe 1984). It depends on the length of a run: the longer, the closer to its limit.", Of::Flows(|flows, _| flows.jain_fairness())),
    metric("queue_mean_packets", "packets", "Mean queue", "Number of packets in the queue, averaged over the measured time. A packet leaves the queue when its transmission, or that of its first frame, begins.", Of::Link(|link| link.report.queue_mean_packets)),
    metric("queue_drops", "packets", "Packets dropped by the queue", "Packets that the queue dropped, because it was full or by its discipline.", Of::Link(|link| count(link.report.counts.queue_drops))),
    metric("ecn_marks", "packets", "ECN marks", "Packets that the queue marked instead of dropping them (RFC 3168).", Of::Link(|link| count(link.report.counts.ecn_marks))),
    metric("link_utilisation", "1", "Link utilisation", "The share of the time in which the link was sending.", Of::Link(|link| link.report.utilisation.unwrap_or(f64::NAN))),
    metric("truncation_error", "packets/slot", "Truncation error", "Largest error that truncating the chain leaves in an exact solution.", Of::Solution),
    metric("states", "1", "States of the chain", "Number of states of an exact solution.", Of::Solution),
    metric("lateness_p50_s", "s", "Lateness, median", "Live: median time by which packets were handed to their host later than the link's time; the worse of the two directions.", Of::Solution),
    metric("lateness_p99_s", "s", "Lateness, 99th percentile", "Live: 99th percentile of the time by which packets were handed to their host later than the link's time; the worse of the two directions.", Of::Solution),
    metric("late_share", "1", "Share of late packets", "Live: share of packets handed over more than half a packet time (and more than 0.1 ms) late, in the worse direction.", Of::Solution),
    metric("ring_drops", "packets", "Packets never seen", "Live: packets that the kernel dropped before the link saw them.", Of::Solution),
    metric("queueing_delay_mean_s", "s", "Mean queueing delay", "Mean time for which packets waited before their transmission. Packets that are dropped or still wait at the end are left out.", Of::LinkAlone(|link| link.report.counts.queueing_delay_s / count(link.report.counts.transmissions))),
    metric("queueing_delay_p50_s", "s", "Queueing delay, median", "Median of the time for which packets waited before their transmission.", Of::LinkAlone(|link| quantile_s(Some(&link.report.counts.queueing_delay), 0.5))),
    metric("queueing_delay_p95_s", "s", "Queueing delay, 95th percentile", "95th percentile of the time for which packets waited before their transmission.", Of::LinkAlone(|link| quantile_s(Some(&link.report.counts.queueing_delay), 0.95))),
    metric("queueing_delay_p99_s", "s", "Queueing delay, 99th percentile", "99th percentile of the time for which packets waited before their transmission. It is the quantile within one run, and so depends on the length of a run.", Of::LinkAlone(|link| quantile_s(Some(&link.report.counts.queueing_delay), 0.99))),
];

/// Metrics that rows keep beside the published ones, as numerators and denominators of their estimates.
#[rustfmt::skip]
#[expect(clippy::redundant_closure_for_method_calls, reason = "the rows of a table look alike")]
pub(crate) static KEPT: &[Metric] = &[
    metric("packet_transmissions", "1", "", "", Of::Flows(|flows, scale| flows.packet_transmissions(scale))),
    metric("segments_with_fate", "1", "", "", Of::Flows(|flows, _| count(flows.segments_with_fate()))),
    metric("segments_received", "1", "", "", Of::Flows(|flows, _| count(flows.total.segments_received))),
    metric("rtt_samples", "1", "", "", Of::Flows(|flows, _| count(flows.total.rtt_samples))),
    metric("completion_time_sum_s", "s", "", "", Of::Flows(|flows, _| flows.of_ends(flows.completion_sum_s()))),
    metric("longest_observation_s", "s", "", "", Of::Flows(|flows, _| flows.of_ends(flows.longest_observation.as_secs_f64()))),
    metric("frames_begun", "1", "", "", Of::Link(|link| link.of_frames(|arq| count(arq.frames)))),
    metric("packets_transmitted", "1", "", "", Of::LinkAlone(|link| count(link.report.counts.transmissions))),
];

/// All published metrics, in the order of tables: those of any network, then those of its kinds.
pub static METRICS: LazyLock<Vec<&'static MetricInfo>> =
    LazyLock::new(|| ANY_NETWORK.iter().map(|metric| &metric.info).chain(networks::metrics()).collect());

impl Metric {
    /// Value of the metric for a set of flows; `None` if it is not a metric of flows.
    pub(crate) fn of_flows(&self, flows: &FlowTotals, scale: &Scale) -> Option<f64> {
        if let Of::Flows(of) = self.of { Some(of(flows, scale)) } else { None }
    }

    /// Value of the metric for a link; `None` if it is not a metric of links.
    pub(crate) fn of_link(&self, link: &LinkMeasured<'_>) -> Option<f64> {
        if let Of::Link(of) | Of::LinkAlone(of) = self.of { Some(of(link)) } else { None }
    }
}

/// Units of all published metrics, by name.
pub(crate) fn units() -> serde_json::Map<String, serde_json::Value> {
    METRICS.iter().map(|metric| (metric.name.to_owned(), metric.unit.into())).collect()
}

/// Name of a kept metric, for a warning: 1 if a bulk flow delivered nothing in the last half of the run.
pub(crate) const DIED: &str = "died";

/// Metrics that follow from `throughput` (packets delivered for the first time) and `transmissions`, each per slot.
pub(crate) fn rates(setup: &Setup, mss: u32, throughput: f64, transmissions: f64) -> Metrics {
    let per_second = throughput / setup.slot.as_secs_f64();
    let bits = |bytes: u32| per_second * f64::from(bytes) * 8.0;
    [
        ("goodput_bps", bits(mss)),
        ("ip_goodput_bps", bits(setup.packet_size)),
        ("throughput_per_slot", throughput),
        ("transmissions_per_slot", transmissions),
        ("energy_per_packet", transmissions / throughput),
    ]
    .map(|(name, value)| (name.to_owned(), value))
    .into()
}

/// Prefix of the shares of cycles whose first loss finds a window of W segments; the floor of W follows.
pub(crate) const LOSS_WINDOW: &str = "loss_window.";

/// Metrics that are quantiles over the pooled values of all runs: metric, distribution, and level of the quantile.
pub(crate) const POOLED: [(&str, &str, f64); 5] = [
    ("rtt_pooled_p95_s", "rtt", 0.95),
    ("rtt_pooled_p99_s", "rtt", 0.99),
    ("one_way_delay_pooled_p95_s", "one_way_delay", 0.95),
    ("one_way_delay_pooled_p99_s", "one_way_delay", 0.99),
    ("completion_time_p95_s", COMPLETION, 0.95),
];

/// Name of the distribution of completion times of the flows that ended.
pub(crate) const COMPLETION: &str = "completion_time";
/// Name of the distribution of the durations of unfinished flows, from their start to the end of the run.
pub(crate) const UNFINISHED: &str = "unfinished_time";

/// Distributions of delays and durations of a set of flows, by name; empty ones are left out.
pub(crate) fn distributions(flows: &FlowTotals) -> impl Iterator<Item = (&'static str, DelayHistogram)> {
    let all = |times: &[SimTime]| {
        let mut histogram = DelayHistogram::default();
        for time in times {
            histogram.record(*time);
        }
        histogram
    };
    let delays = |delays: &Option<Box<DelayHistogram>>| delays.as_deref().cloned().unwrap_or_default();
    let found = [
        ("rtt", delays(&flows.total.rtt)),
        ("one_way_delay", delays(&flows.total.one_way_delay)),
        (COMPLETION, all(&flows.completion_times)),
        (UNFINISHED, all(&flows.unfinished_times)),
    ];
    found.into_iter().filter(|(_, histogram)| histogram.count() > 0)
}

/// Prefix of kept counts of method phy: frames not accepted after N transmissions; the number N follows.
pub(crate) const NOT_ACCEPTED: &str = "not_accepted.";

/// Prefix of kept counts of method phy: frames for which the combination of N receptions fails, even if one of the
/// receptions passed alone; the number N follows.
pub(crate) const COMBINED_ERRORS: &str = "combined_errors.";

/// Name of a kept metric of method phy: present, with value 1, if frames are independent trials.
pub(crate) const INDEPENDENT: &str = "independent_frames";

/// Names of kept metrics: distances of a fitted chain's distributions of good and bad run lengths from those of the
/// channel.
pub(crate) const FIT_DISTANCES: [&str; 2] = ["fit.good_runs", "fit.bad_runs"];
