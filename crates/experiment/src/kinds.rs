//! Statistical kinds of metrics (mean, count, rate, share, quantile), which decide how their intervals are estimated.

use crate::metrics::{COMPLETION, INDEPENDENT, POOLED, UNFINISHED};
use crate::ratios::Ratio;
use crossfade_core::{DelayHistogram, Estimate, Events, MethodKind, MetricKind, RunTimes, pooled_quantile};
use std::iter::repeat;

/// Kind of a metric. For a rate also the metric that counts its events, and the metrics whose sum is the number of
/// chances; an empty list means slots.
fn kind_of(metric: &str) -> (MetricKind, &'static str, &'static [&'static str]) {
    let kind = match metric {
        "bit_error_rate" => return (MetricKind::Rate, "bit_errors", &["bits_sent"]),
        "frame_error_rate" => return (MetricKind::Rate, "frame_errors", &["frame_transmissions"]),
        "residual_frame_error_rate" => {
            return (MetricKind::Rate, "frames_given_up", &["frames_delivered", "frames_given_up"]);
        }
        "timeouts"
        | "spurious_timeouts"
        | "spurious_timeouts_detected"
        | "fast_retransmits"
        | "spurious_fast_retransmits"
        | "spurious_losses"
        | "tail_loss_probes"
        | "ecn_reductions"
        | "retransmissions"
        | "frame_errors"
        | "bit_errors"
        | "frames_given_up"
        | "packets_lost"
        | "queue_drops"
        | "ecn_marks"
        | "rts_losses"
        | "data_losses"
        | "rts_drops"
        | "data_drops"
        | "interface_drops"
        | "duplicates"
        | "flows_unfinished"
        | "mpdus_given_up"
        | "deferrals"
        | "rlc_status_pdus"
        | "radio_link_failures"
        | "pdcp_discards"
        | "bearer_queue_drops"
        | "bearer_ecn_marks"
        | "bearer_pdcp_discards"
        | "bearer_rlc_status_pdus"
        | "uplink_bearer_queue_drops"
        | "uplink_bearer_pdcp_discards"
        | "scheduling_requests" => MetricKind::Count,
        "timeouts_per_slot" => return (MetricKind::Rate, "timeouts", &[]),
        "fast_retransmits_per_slot" => return (MetricKind::Rate, "fast_retransmits", &[]),
        "jain_fairness"
        | "link_utilisation"
        | "segment_loss_rate"
        | "outage_share"
        | "transmit_share"
        | "receive_share"
        | "busy_share"
        | "below_levels_share"
        | "initial_frame_error_rate"
        | "uplink_initial_frame_error_rate"
        | "late_share"
        | "airtime_share"
        | "jain_airtime"
        | "mpdu_error_rate"
        | "uplink_mpdu_error_rate"
        | "collision_probability"
        | "window_limited_share" => MetricKind::Share,
        _ if metric.starts_with("modulation_share_") => MetricKind::Share,
        _ if ["_p50_s", "_p95_s", "_p99_s"].iter().any(|end| metric.ends_with(end)) => MetricKind::Quantile,
        _ => MetricKind::Mean,
    };
    (kind, "", &[])
}

/// True if a metric is a share, which is at most 1.
pub(crate) fn is_share(metric: &str) -> bool {
    let (kind, _, out_of) = kind_of(metric);
    matches!(kind, MetricKind::Share) || !out_of.is_empty()
}

/// Metrics of the runs of one point by one method.
pub trait Runs {
    /// Value of the metric `name` in each run; NaN where it is undefined.
    fn column(&self, name: &str) -> Vec<f64>;

    /// Distribution `name` of each run; `None` for a run without one.
    fn distributions(&self, name: &str) -> Vec<Option<DelayHistogram>>;
}

/// The values of a column that are not NaN.
fn defined(column: Vec<f64>) -> Vec<f64> {
    column.into_iter().filter(|value| !value.is_nan()).collect()
}

/// Estimate of the metric `key` from the runs of a point, with its intervals. The mean is known to lie between `least`
/// and `most` ([`Support::range`](crate::Support::range)). `None` if no run defines the metric.
pub fn estimate(key: &str, runs: &impl Runs, [least, most]: [f64; 2]) -> Option<Estimate> {
    let (part, metric) = key.rsplit_once('.').map_or(("", key), |(part, metric)| (part, metric));
    let of_part = |name: &str| if part.is_empty() { name.to_owned() } else { format!("{part}.{name}") };
    if let Some((_, of, p)) = POOLED.iter().find(|(name, ..)| *name == metric) {
        let ended = runs.distributions(&of_part(of));
        let unended = if *of == COMPLETION { runs.distributions(&of_part(UNFINISHED)) } else { Vec::new() };
        let unended = unended.into_iter().chain(repeat(None));
        let times = ended.into_iter().zip(unended).map(|(ended, unended)| RunTimes {
            ended: ended.unwrap_or_default(),
            unended: unended.unwrap_or_default(),
        });
        return pooled_quantile(&times.collect::<Vec<_>>(), *p);
    }
    let column = |name: &str| runs.column(&of_part(name));
    let total = |name: &str| -> f64 { defined(column(name)).iter().sum() };
    let own = runs.column(key);
    let [smallest, largest] = [
        own.iter().copied().fold(f64::INFINITY, f64::min),
        own.iter().copied().fold(f64::NEG_INFINITY, f64::max),
    ];
    let ratio = Ratio::of(metric).and_then(|ratio| ratio.values(&own, column));
    let values = ratio.unwrap_or_else(|| defined(own));
    let frames_are_trials = matches!(metric, "frame_error_rate" | "residual_frame_error_rate");
    // Most metrics of the list are not those of this network.
    if values.is_empty() && !frames_are_trials {
        return None;
    }
    let (kind, count, out_of) = kind_of(metric);
    // If no segment was lost, the bound follows from the number of segments instead of the number of runs.
    let segments = if metric == "segment_loss_rate" { total("segments_with_fate") } else { 0.0 };
    let is_lossless = segments > 0.0 && values.iter().all(|rate| *rate == 0.0);
    let kind = if is_lossless { MetricKind::Rate } else { kind };
    let events = match kind {
        MetricKind::Rate if is_lossless => Some(Events { events: 0.0, chances: segments }),
        MetricKind::Count => Some(Events { events: values.iter().sum(), chances: values.len() as f64 }),
        MetricKind::Rate => {
            let events = total(count);
            let chances: f64 = if out_of.is_empty() {
                // Number of slots: transmissions divided by transmissions per slot, whose mean is over the same runs.
                total("segments_sent") / total("transmissions_per_slot") * values.len() as f64
            } else {
                out_of.iter().map(|name| total(name)).sum()
            };
            (chances > 0.0).then_some(Events { events, chances })
        }
        _ => None,
    };
    if let Some(trials) = events
        && frames_are_trials
        && !defined(runs.column(INDEPENDENT)).is_empty()
    {
        return Estimate::of_trials(trials, values.len() as u64, MethodKind::Simulation);
    }
    let found = Estimate::of(kind, &values, events, MethodKind::Simulation)?;
    // No metric is negative, and no share above 1 (impossible.rs refuses a run in which one is).
    let most = if is_share(metric) { 1.0 } else { most.max(largest) };
    let found = found.within(least.min(smallest), most);
    let is_bound = metric == "completion_time_s" && total("flows_unfinished") > 0.0;
    Some(if is_bound { found.as_lower_bound() } else { found })
}

/// Estimate of the share of frames that the metric `count` counts, from the runs of a point by method phy.
pub(crate) fn share_of_frames(count: &str, runs: &impl Runs) -> Option<Estimate> {
    let (lost, frames) = (defined(runs.column(count)), defined(runs.column("frame_transmissions")));
    let trials = Events { events: lost.iter().sum(), chances: frames.iter().sum() };
    let shares: Vec<f64> = lost.iter().zip(&frames).map(|(lost, frames)| lost / frames).collect();
    if shares.is_empty() {
        return None;
    }
    if defined(runs.column(INDEPENDENT)).is_empty() {
        let found = Estimate::of(MetricKind::Rate, &shares, Some(trials), MethodKind::Simulation)?;
        return Some(found.within(0.0, 1.0));
    }
    Estimate::of_trials(trials, shares.len() as u64, MethodKind::Simulation)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crossfade_core::SimTime;

    /// Range of a metric whose mean has no known bounds but 0.
    const OPEN: [f64; 2] = [0.0, f64::INFINITY];

    /// Runs of a test: columns of metrics and distributions, by name.
    struct Held<'a> {
        runs: usize,
        columns: &'a [(&'a str, &'a [f64])],
        distributions: &'a [(&'a str, &'a [Option<u64>])],
    }

    impl Runs for Held<'_> {
        fn column(&self, name: &str) -> Vec<f64> {
            let found = self.columns.iter().find(|(known, _)| *known == name);
            let value = |run| found.and_then(|(_, values)| values.get(run).or(values.first())).copied();
            (0..self.runs).map(|run| value(run).unwrap_or(f64::NAN)).collect()
        }

        fn distributions(&self, name: &str) -> Vec<Option<DelayHistogram>> {
            let found = self.distributions.iter().find(|(known, _)| *known == name);
            let one = |seconds: u64| {
                let mut histogram = DelayHistogram::default();
                histogram.record(SimTime::from_secs_f64(seconds as f64));
                histogram
            };
            let of = |run: usize| found.and_then(|(_, values)| values[run]).map(one);
            (0..self.runs).map(of).collect()
        }
    }

    /// Ten runs that have equal values of each column.
    fn runs<'a>(columns: &'a [(&'a str, &'a [f64])]) -> Held<'a> {
        Held { runs: 10, columns, distributions: &[] }
    }

    #[test]
    fn unfinished_flows_make_bounds() {
        // One flow a run; one of four was unfinished after 10 s.
        let held = Held {
            runs: 4,
            columns: &[
                ("completion_time_s", &[4.0, 6.0, 8.0, 10.0]),
                ("completion_time_sum_s", &[4.0, 6.0, 8.0, 10.0]),
                ("flows_completed", &[1.0, 1.0, 1.0, 0.0]),
                ("flows_unfinished", &[0.0, 0.0, 0.0, 1.0]),
            ],
            distributions: &[
                ("completion_time", &[Some(4), Some(6), Some(8), None]),
                ("unfinished_time", &[None, None, None, Some(10)]),
            ],
        };
        let mean = estimate("completion_time_s", &held, OPEN).unwrap();
        assert_eq!((mean.value, mean.ci95, mean.high, mean.n, mean.at_least), (7.0, None, None, 4, true));
        // Student: a variance of 20/3, t(0.975, 3) = 3.182446.
        let half = 3.182_446 * (20.0_f64 / 3.0 / 4.0).sqrt();
        assert!((mean.low.unwrap() - (7.0 - half)).abs() < 1e-5, "{mean:?}");
        let p95 = estimate("completion_time_p95_s", &held, OPEN).unwrap();
        assert!(p95.at_least && p95.value > 9.8 && p95.value <= 10.0 && p95.n == 4, "{p95:?}");
    }

    #[test]
    fn no_interval_reaches_where_no_metric_can() {
        let of = runs(&[]);
        assert!(estimate("goodput_bps", &of, OPEN).is_none());
        let held = Held {
            runs: 3,
            columns: &[("goodput_bps", &[0.0, 1e6, 9e6]), ("link_utilisation", &[0.1, 0.5, 0.99])],
            distributions: &[],
        };
        // Student's ends are -8.9e6 and 15.6e6, -0.58 and 1.64.
        let goodput = estimate("goodput_bps", &held, OPEN).unwrap();
        assert_eq!(goodput.low, Some(0.0));
        assert!(goodput.high.unwrap() > 15e6);
        let share = estimate("link_utilisation", &held, OPEN).unwrap();
        assert_eq!((share.low, share.high), (Some(0.0), Some(1.0)));
        // The link carries 10 Mbit/s; if a run carried more than the link can, the interval ends at that run.
        assert_eq!(estimate("goodput_bps", &held, [0.0, 1e7]).unwrap().high, Some(1e7));
        assert_eq!(estimate("goodput_bps", &held, [0.0, 8e6]).unwrap().high, Some(9e6));
        assert_eq!(estimate("goodput_bps", &held, [0.0, 1e7]).unwrap().ci95, goodput.ci95);
    }

    #[test]
    fn an_estimate_tells_over_how_many_runs_it_is() {
        let held =
            Held { runs: 4, columns: &[("rtt_p95_s", &[0.1, f64::NAN, 0.3, f64::NAN])], distributions: &[] };
        let found = estimate("rtt_p95_s", &held, OPEN).unwrap();
        assert_eq!((found.value, found.n), (0.2, 2));
    }

    #[test]
    fn a_rate_without_an_event_knows_out_of_how_many() {
        let of = runs(&[
            ("reverse.frame_error_rate", &[0.0]),
            ("reverse.frame_errors", &[0.0]),
            ("reverse.frame_transmissions", &[1e5]),
            // Bounds of another link do not apply.
            ("frame_errors", &[7.0]),
        ]);
        let rate = estimate("reverse.frame_error_rate", &of, OPEN).unwrap();
        assert_eq!((rate.value, rate.ci95, rate.low), (0.0, None, Some(0.0)));
        assert!((rate.high.unwrap() - 2.995_732_273_554e-6).abs() < 1e-15);
        let count = estimate("reverse.frame_errors", &of, OPEN).unwrap();
        assert!((count.high.unwrap() - 0.299_573_227).abs() < 1e-9);
    }

    #[test]
    fn slots_are_the_chances_of_rates_per_slot() {
        let of = runs(&[
            ("flow:a.timeouts_per_slot", &[0.0]),
            ("flow:a.timeouts", &[0.0]),
            ("flow:a.segments_sent", &[400.0]),
            ("flow:a.transmissions_per_slot", &[0.8]),
        ]);
        let rate = estimate("flow:a.timeouts_per_slot", &of, OPEN).unwrap();
        assert!((rate.high.unwrap() - 2.995_732_273_554 / 5000.0).abs() < 1e-12);
    }

    /// With no loss in ten runs of 1,000 segments, the upper bound of the loss rate is the rule of three: 3.0 in 10,000
    /// at 95 %.
    #[test]
    fn no_loss_of_many_segments_is_known_to_be_rare() {
        let none = [("segment_loss_rate", &[0.0][..]), ("segments_with_fate", &[1000.0])];
        let rate = estimate("segment_loss_rate", &runs(&none), OPEN).unwrap();
        assert_eq!((rate.value, rate.ci95, rate.low), (0.0, None, Some(0.0)));
        assert!((rate.high.unwrap() - 2.995_732_273_554e-4).abs() < 1e-13);
        // If the number of segments is unknown, the bound is that of a share in ten runs: 1 - 0.05^(1/10).
        let share = estimate("segment_loss_rate", &runs(&none[..1]), OPEN).unwrap();
        assert!((share.high.unwrap() - 0.258_866).abs() < 1e-5, "{share:?}");
    }

    #[test]
    fn without_counts_nothing_is_said_of_a_rate_of_zero() {
        let of = runs(&[("frame_error_rate", &[0.0])]);
        let rate = estimate("frame_error_rate", &of, OPEN).unwrap();
        assert_eq!((rate.ci95, rate.low, rate.high), (None, None, None));
    }
}
