//! Metrics that are ratios whose denominator differs from run to run.
//!
//! Over several runs such a metric is the sum of the numerators divided by the sum of the denominators, so that each
//! packet (frame, flow) counts once. The mean of the ratios would be biased: a run without packets has no ratio and
//! would be left out.

use serde::Serialize;

/// Numerator and denominator of a ratio, as names of metrics in rows.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub(crate) struct Ratio {
    /// Metric that is the numerator; `None`: the ratio of each run times its denominator.
    of: Option<&'static str>,
    /// Metrics whose sum is the denominator.
    over: &'static [&'static str],
}

impl Ratio {
    /// Numerator and denominator of `metric`; `None` if it is not a ratio or its denominator is constant.
    pub(crate) fn of(metric: &str) -> Option<Self> {
        let quotient = |of, over| Some(Self { of: Some(of), over });
        let mean = |over| Some(Self { of: None, over });
        match metric {
            "energy_per_packet" => quotient("packet_transmissions", &["segments_delivered"]),
            "completion_time_s" => {
                quotient("completion_time_sum_s", &["flows_completed", "flows_unfinished"])
            }
            "segment_loss_rate" => mean(&["segments_with_fate"]),
            "rtt_mean_s" => mean(&["rtt_samples"]),
            "one_way_delay_mean_s" => mean(&["segments_received"]),
            "frame_error_rate" => quotient("frame_errors", &["frame_transmissions"]),
            "bit_error_rate" => quotient("bit_errors", &["bits_sent"]),
            "residual_frame_error_rate" => {
                quotient("frames_given_up", &["frames_delivered", "frames_given_up"])
            }
            "frame_transmissions_per_frame" => quotient("frame_transmissions", &["frames_begun"]),
            "hol_delay_mean_s" => mean(&["frames_delivered"]),
            "queueing_delay_mean_s" => mean(&["packets_transmitted"]),
            "retransmissions_per_frame" | "initial_frame_error_rate" => mean(&["cell_frames"]),
            "uplink_initial_frame_error_rate" => mean(&["uplink_frames"]),
            "uplink_queueing_delay_mean_s" => mean(&["uplink_packets_sent"]),
            "retransmissions_per_piece" => mean(&["cell_frames_delivered"]),
            "below_levels_share" => mean(&["cell_frames_sent"]),
            "rlc_retransmissions_per_packet" | "bearer_rlc_retransmissions_per_packet" => {
                mean(&["bearer_packets"])
            }
            "uplink_bearer_rlc_retransmissions_per_packet" => mean(&["uplink_bearer_packets"]),
            _ if metric.starts_with("bearer_delay_") => mean(&["bearer_delays"]),
            _ if metric.starts_with("uplink_bearer_delay_") => mean(&["uplink_bearer_delays"]),
            _ if metric.starts_with("delay_") => mean(&["bearer_delays"]),
            _ if metric.starts_with("uplink_delay_") => mean(&["uplink_bearer_delays"]),
            "mpdus_per_ampdu" | "window_limited_share" => mean(&["wlan_ppdus"]),
            "uplink_mpdus_per_ampdu" => mean(&["wlan_uplink_ppdus"]),
            "stations_per_ppdu" => mean(&["wlan_shared_ppdus"]),
            "uplink_stations_per_ppdu" => mean(&["wlan_uplink_shared_ppdus"]),
            "mpdu_error_rate" => mean(&["wlan_uncollided"]),
            "uplink_mpdu_error_rate" => mean(&["wlan_uplink_uncollided"]),
            "retries_per_mpdu" => mean(&["wlan_mpdus"]),
            "uplink_retries_per_mpdu" => mean(&["wlan_uplink_mpdus"]),
            "collision_probability" => mean(&["wlan_ppdus", "wlan_uplink_ppdus"]),
            "mcs_mean" => mean(&["wlan_mpdus_sent"]),
            "uplink_mcs_mean" => mean(&["wlan_uplink_mpdus_sent"]),
            "block_ack_stall_s" => mean(&["wlan_arrivals"]),
            "station_queueing_delay_mean_s" => mean(&["wlan_transmissions"]),
            "station_uplink_queueing_delay_mean_s" => mean(&["wlan_uplink_transmissions"]),
            "wlan_link_mpdus_per_ampdu" | "wlan_link_window_limited_share" => mean(&["wlan_link_ppdus"]),
            "wlan_link_collision_probability" => mean(&["wlan_link_all_ppdus"]),
            "wlan_link_mpdu_share" => mean(&["wlan_link_all_mpdus"]),
            "wlan_link_uplink_mpdu_share" => mean(&["wlan_link_all_uplink_mpdus"]),
            "wlan_link_reordering_delay_s" => mean(&["wlan_link_arrivals"]),
            "wlan_link_uplink_reordering_delay_s" => mean(&["wlan_link_uplink_arrivals"]),
            _ if metric.starts_with("modulation_share_") => mean(&["cell_frames_sent"]),
            _ => None,
        }
    }

    /// Values, one per run, whose mean is the quotient over all runs. `own` has the metric's value in each run, and
    /// `column` gives other metrics of the rows, NaN where a run lacks one. `None` if no run has the denominator, as in
    /// rows of earlier versions.
    pub(crate) fn values(&self, own: &[f64], column: impl Fn(&str) -> Vec<f64>) -> Option<Vec<f64>> {
        let parts: Vec<Vec<f64>> = self.over.iter().map(|name| column(name)).collect();
        let over = (0..own.len()).map(|run| parts.iter().map(|part| part[run]).sum::<f64>());
        let of: Vec<f64> = match self.of {
            Some(name) => column(name),
            None => own.to_vec(),
        };
        let pairs: Vec<(f64, f64)> = of
            .into_iter()
            .zip(over)
            .map(|(of, over)| (if over == 0.0 && self.of.is_none() { 0.0 } else { of }, over))
            .filter(|(of, over)| of.is_finite() && over.is_finite())
            .collect();
        if pairs.is_empty() {
            return None;
        }
        let are_equal = pairs.iter().all(|(_, over)| *over == pairs[0].1 && *over > 0.0);
        let (of, over): (Vec<f64>, Vec<f64>) = match self.of {
            // With equal denominators the values are the ratios themselves, to the last digit.
            None if are_equal => return Some(pairs.into_iter().map(|(of, _)| of).collect()),
            None => pairs.into_iter().map(|(of, over)| (of * over, over)).unzip(),
            Some(_) => pairs.into_iter().unzip(),
        };
        Some(crossfade_core::of_ratio(&of, &over))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::metric::MetricInfo;
    use crate::metrics::{KEPT, METRICS};
    use crate::networks;

    fn columns<'a>(named: &'a [(&'a str, [f64; 3])]) -> impl Fn(&str) -> Vec<f64> + 'a {
        |name| named.iter().find(|(known, _)| *known == name).map_or(vec![f64::NAN; 3], |(_, x)| x.to_vec())
    }

    #[test]
    fn a_run_that_delivered_nothing_counts_with_its_transmissions() {
        // 10, 30 and 20 transmissions for 10, 10 and 0 packets: the quotient is 60 / 20.
        let of = columns(&[
            ("packet_transmissions", [10.0, 30.0, 20.0]),
            ("segments_delivered", [10.0, 10.0, 0.0]),
        ]);
        let ratio = Ratio::of("energy_per_packet").unwrap();
        let values = ratio.values(&[1.0, 3.0, f64::NAN], of).unwrap();
        assert!((values.iter().sum::<f64>() / 3.0 - 3.0).abs() < 1e-12, "{values:?}");
    }

    #[test]
    fn a_mean_counts_what_it_is_over() {
        // With 1, 3 and 0 round trips the mean is (0.1 + 3 * 0.2) / 4.
        let of = columns(&[("rtt_samples", [1.0, 3.0, 0.0])]);
        let ratio = Ratio::of("rtt_mean_s").unwrap();
        let values = ratio.values(&[0.1, 0.2, f64::NAN], of).unwrap();
        assert!((values.iter().sum::<f64>() / 3.0 - 0.175).abs() < 1e-12, "{values:?}");
        let equal = columns(&[("rtt_samples", [7.0; 3])]);
        assert_eq!(ratio.values(&[0.1, 0.2, 0.3], equal), Some(vec![0.1, 0.2, 0.3]));
        // Rows of earlier versions lack the denominator.
        assert_eq!(ratio.values(&[0.1, 0.2, 0.3], columns(&[])), None);
    }

    #[test]
    fn every_part_of_a_ratio_is_a_metric_of_rows() {
        let kept = || KEPT.iter().map(|metric| &metric.info).chain(networks::kept());
        let all = || -> Vec<&MetricInfo> { METRICS.iter().copied().chain(kept()).collect() };
        for ratio in all().iter().filter_map(|metric| Ratio::of(metric.name)) {
            for name in ratio.of.iter().chain(ratio.over) {
                assert!(all().iter().any(|metric| metric.name == *name), "{name}");
            }
        }
    }
}
