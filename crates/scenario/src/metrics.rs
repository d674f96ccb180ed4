//! The names of metrics, and their units.
//!
//! In a row a metric of the whole has its own name, that of a link is `LINK.NAME` and that of a flow
//! `flow:FLOW.NAME`.

/// The published metrics of the whole, in the order of tables.
pub const METRICS: [(&str, &str); 49] = [
    // Application data given to the application once and in order.
    ("goodput_bps", "bit/s"),
    // Whole packets that reached the receiver for the first time.
    ("ip_goodput_bps", "bit/s"),
    // Whole packets that came through the link, TCP's retransmissions included.
    ("link_goodput_bps", "bit/s"),
    // Segments that reached the receiver for the first time, per slot: the papers' throughput.
    ("throughput_per_slot", "packets/slot"),
    // Bounds on it, by analysis.
    ("throughput_lower", "packets/slot"),
    ("throughput_upper", "packets/slot"),
    ("transmissions_per_slot", "transmissions/slot"),
    ("energy_per_packet", "transmissions/packet"),
    ("segments_delivered", "segments"),
    ("segments_sent", "segments"),
    ("retransmissions", "segments"),
    ("timeouts", "1"),
    // Timeouts whose segment was not lost but late (or only its acknowledgements were lost), and those that
    // the sender found to be so.
    ("spurious_timeouts", "1"),
    ("spurious_timeouts_detected", "1"),
    ("fast_retransmits", "1"),
    ("spurious_fast_retransmits", "1"),
    ("tail_loss_probes", "1"),
    ("ecn_reductions", "1"),
    ("timeouts_per_slot", "1/slot"),
    ("fast_retransmits_per_slot", "1/slot"),
    // A cycle of the analysis: from a timeout, a completed recovery or Tahoe's fast retransmit to the next.
    ("cycle_mean_slots", "slots"),
    ("cycle_deviation_slots", "slots"),
    // Of the packets that were put on the link, or of its frames with payload, the share that the channel
    // lost.
    ("frame_error_rate", "1"),
    // Of the payloads of frames whose fate is known, the share that the link protocol gave up.
    ("residual_frame_error_rate", "1"),
    ("frame_transmissions_per_frame", "transmissions/frame"),
    // The payloads of frames that the link protocol passed up: paper 004 calls it RLP throughput.
    ("rlp_throughput_bps", "bit/s"),
    // How long received payloads waited for earlier ones (head-of-line blocking).
    ("hol_delay_mean_s", "s"),
    ("hol_delay_p50_s", "s"),
    ("hol_delay_p95_s", "s"),
    ("hol_delay_p99_s", "s"),
    // Packets of which the link protocol gave up a frame.
    ("packets_lost", "packets"),
    ("rtt_mean_s", "s"),
    ("rtt_p50_s", "s"),
    ("rtt_p95_s", "s"),
    ("rtt_p99_s", "s"),
    // From the sender's network interface to the receiver, lost packets left out.
    ("one_way_delay_mean_s", "s"),
    ("one_way_delay_p50_s", "s"),
    ("one_way_delay_p95_s", "s"),
    ("one_way_delay_p99_s", "s"),
    // Of flows that have an end: from the start until all is delivered.
    ("completion_time_s", "s"),
    ("completion_time_p95_s", "s"),
    ("flows_completed", "1"),
    // Of the goodputs of bulk flows that were there all the time; 1 is equal shares (Jain, Chiu, Hawe 1984).
    ("jain_fairness", "1"),
    ("queue_mean_packets", "packets"),
    ("queue_drops", "packets"),
    ("ecn_marks", "packets"),
    ("link_utilisation", "1"),
    // What an exact solution may be off by, and how many states it took.
    ("truncation_error", "packets/slot"),
    ("states", "1"),
];

/// What describes a link; the wireless link on the way of the data is described by the metrics of the whole.
pub(crate) const LINK_METRICS: [(&str, &str); 18] = [
    ("link_goodput_bps", "bit/s"),
    ("frame_error_rate", "1"),
    ("residual_frame_error_rate", "1"),
    ("frame_transmissions_per_frame", "transmissions/frame"),
    ("rlp_throughput_bps", "bit/s"),
    ("hol_delay_mean_s", "s"),
    ("hol_delay_p50_s", "s"),
    ("hol_delay_p95_s", "s"),
    ("hol_delay_p99_s", "s"),
    ("packets_lost", "packets"),
    ("queue_mean_packets", "packets"),
    ("queue_drops", "packets"),
    ("ecn_marks", "packets"),
    ("link_utilisation", "1"),
    ("queueing_delay_mean_s", "s"),
    ("queueing_delay_p50_s", "s"),
    ("queueing_delay_p95_s", "s"),
    ("queueing_delay_p99_s", "s"),
];

/// The unit of every metric, of the whole and of links.
pub(crate) fn units() -> serde_json::Map<String, serde_json::Value> {
    METRICS.iter().chain(&LINK_METRICS).map(|&(name, unit)| (name.to_owned(), unit.into())).collect()
}

/// The links of a scenario, as results name them, in the order in which packets take them.
pub(crate) const LINKS: [&str; 4] = ["wired", "forward", "reverse", "wired_reverse"];

/// 1 if a connection was dead at the end of the run: kept with a row, for the warning.
pub(crate) const DIED: &str = "died";

/// The key of a link's metric in a row.
pub(crate) fn link_key(link: &str, metric: &str) -> String {
    // The metrics of the wireless link are those of the whole, but for two that only links have.
    if link == "forward" && METRICS.iter().any(|(name, _)| *name == metric) {
        return metric.to_owned();
    }
    format!("{link}.{metric}")
}

/// The key of a flow's metric in a row.
pub(crate) fn flow_key(flow: &str, metric: &str) -> String {
    format!("flow:{flow}.{metric}")
}
