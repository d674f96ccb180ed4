//! Directions of metrics: whether a higher or a lower value is better.

use serde::Serialize;

/// Direction in which a metric improves.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub(crate) enum Direction {
    /// Higher values are better.
    Higher,
    /// Lower values are better.
    Lower,
}

impl Direction {
    /// Direction of a published metric; `None` if neither direction is better for every user.
    pub(crate) fn of(metric: &str) -> Option<Self> {
        match metric {
            "goodput_bps"
            | "ip_goodput_bps"
            | "link_goodput_bps"
            | "throughput_per_slot"
            | "throughput_lower"
            | "throughput_upper"
            | "segments_delivered"
            | "effective_rate_bps"
            | "link_capacity_bps"
            | "frames_delivered"
            | "rlp_throughput_bps"
            | "flows_completed"
            | "jain_fairness"
            | "exchanges_mean"
            | "packets_delivered"
            | "user_goodput_bps"
            | "user_goodput_p05_bps"
            | "uplink_goodput_bps"
            | "station_goodput_bps"
            | "station_uplink_goodput_bps"
            | "wlan_link_goodput_bps"
            | "wlan_link_uplink_goodput_bps"
            | "jain_airtime" => Some(Self::Higher),
            "transmissions_per_slot"
            | "segments_sent"
            | "spurious_timeouts_detected"
            | "fast_retransmits"
            | "fast_retransmits_per_slot"
            | "tail_loss_probes"
            | "ecn_reductions"
            | "ecn_marks"
            | "cycle_mean_slots"
            | "cycle_deviation_slots"
            | "bits_sent"
            | "frame_transmissions"
            | "link_utilisation"
            | "states"
            | "rts_sent"
            | "data_sent"
            | "packets_forwarded"
            | "nulls_spent"
            | "deferrals"
            | "transmit_share"
            | "receive_share"
            | "busy_share"
            | "bins_per_slot"
            | "uplink_bins_per_slot"
            | "rlc_status_pdus"
            | "bearer_rlc_status_pdus"
            | "bearer_ecn_marks"
            | "scheduling_requests"
            | "airtime_share"
            | "mpdus_per_ampdu"
            | "uplink_mpdus_per_ampdu"
            | "stations_per_ppdu"
            | "uplink_stations_per_ppdu"
            | "mcs_mean"
            | "uplink_mcs_mean"
            | "window_limited_share"
            | "wlan_link_airtime_share"
            | "wlan_link_mpdus"
            | "wlan_link_mpdu_share"
            | "wlan_link_uplink_mpdu_share"
            | "wlan_link_mpdus_per_ampdu"
            | "wlan_link_window_limited_share" => None,
            _ if metric.starts_with("modulation_share_") => None,
            // Losses, delays, errors, transmissions in vain.
            _ => Some(Self::Lower),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::metrics::METRICS;

    #[test]
    fn what_is_better_the_less_there_is_of_it() {
        let lower: Vec<&str> = METRICS
            .iter()
            .map(|metric| metric.name)
            .filter(|name| Direction::of(name) == Some(Direction::Lower))
            .collect();
        // A metric that is new must be looked at, and then stands here or in one of the lists above.
        let bad = [
            "energy",
            "retransmissions",
            "loss",
            "timeout",
            "spurious",
            "error",
            "given_up",
            "per_frame",
            "delay",
            "lost",
            "rtt",
            "completion_time",
            "unfinished",
            "queue_mean",
            "drops",
            "late",
            "duplicates",
            "per_piece",
            "below_levels",
            "outage",
            "idle_wait",
            "retries",
            "collision",
            "stall",
            "link_failures",
            "discards",
        ];
        for name in lower {
            let is_known = bad.iter().any(|word| name.contains(word));
            assert!(
                is_known,
                "less of {name} is taken for better: if so, name it here, else in `Direction::of`"
            );
        }
    }
}
