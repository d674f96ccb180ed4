//! Of which kind each metric is, and the estimate of its mean that follows from it.

use crate::metrics::{INDEPENDENT, POOLED, run_quantile};
use crossfade_core::{Estimate, Events, MethodKind, MetricKind, RunQuantiles, pooled_quantile};

/// The kind of a metric; for a rate the count of events and those whose sum they are out of, none for slots.
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
        | "deferrals" => MetricKind::Count,
        "timeouts_per_slot" => return (MetricKind::Rate, "timeouts", &[]),
        "fast_retransmits_per_slot" => return (MetricKind::Rate, "fast_retransmits", &[]),
        "jain_fairness"
        | "link_utilisation"
        | "segment_loss_rate"
        | "transmit_share"
        | "receive_share"
        | "busy_share"
        | "below_levels_share"
        | "initial_frame_error_rate" => MetricKind::Share,
        _ if metric.starts_with("modulation_share_") => MetricKind::Share,
        _ if ["_p50_s", "_p95_s", "_p99_s"].iter().any(|end| metric.ends_with(end)) => MetricKind::Quantile,
        _ => MetricKind::Mean,
    };
    (kind, "", &[])
}

/// Whether a metric is a share of something: 1 at most.
pub(crate) fn is_share(metric: &str) -> bool {
    let (kind, _, out_of) = kind_of(metric);
    matches!(kind, MetricKind::Share) || !out_of.is_empty()
}

/// The estimate of the metric `key` of a row from the runs of a point, in which `values` finds the values of
/// a metric: without those of runs in which it is undefined.
pub fn estimate(key: &str, mut values: impl FnMut(&str) -> Vec<f64>) -> Option<Estimate> {
    let (part, metric) = key.rsplit_once('.').map_or(("", key), |(part, metric)| (part, metric));
    let of_part = |name: &str| if part.is_empty() { name.to_owned() } else { format!("{part}.{name}") };
    if let Some((_, of, p)) = POOLED.iter().find(|(name, ..)| *name == metric) {
        return pooled_quantile(&run_quantiles(of, |name| values(&of_part(name))), *p);
    }
    let runs = values(key);
    let mut total = |name: &str| -> f64 { values(&of_part(name)).iter().sum() };
    let (kind, count, out_of) = kind_of(metric);
    let events = match kind {
        MetricKind::Count => Some(Events { events: runs.iter().sum(), chances: runs.len() as f64 }),
        MetricKind::Rate => {
            let events = total(count);
            let chances: f64 = if out_of.is_empty() {
                // Slots: transmissions over transmissions per slot, which is a mean over the same runs.
                total("segments_sent") / total("transmissions_per_slot") * runs.len() as f64
            } else {
                out_of.iter().map(|name| total(name)).sum()
            };
            (chances > 0.0).then_some(Events { events, chances })
        }
        _ => None,
    };
    let frames_are_trials = matches!(metric, "frame_error_rate" | "residual_frame_error_rate");
    if let Some(trials) = events
        && frames_are_trials
        && !values(INDEPENDENT).is_empty()
    {
        return Estimate::of_trials(trials, runs.len() as u64, MethodKind::Simulation);
    }
    Estimate::of(kind, &runs, events, MethodKind::Simulation)
}

/// What each run has kept of a distribution; nothing where some run lacks a part of it.
fn run_quantiles(of: &str, mut values: impl FnMut(&str) -> Vec<f64>) -> Vec<RunQuantiles> {
    let counts = values(&format!("{of}_samples"));
    let columns: Vec<Vec<f64>> =
        (0..RunQuantiles::SHARES.len()).map(|i| values(&run_quantile(of, i))).collect();
    if columns.iter().any(|column| column.len() != counts.len()) {
        return Vec::new();
    }
    let run = |(run, &count): (usize, &f64)| RunQuantiles {
        count,
        quantiles: std::array::from_fn(|i| columns[i][run]),
    };
    counts.iter().enumerate().map(run).collect()
}

/// The estimate of the share of frames that `count` counts, from the runs of a point by method phy, in which
/// `values` finds the values of a metric.
pub(crate) fn share_of_frames(count: &str, values: impl Fn(&str) -> Vec<f64>) -> Option<Estimate> {
    let (lost, frames) = (values(count), values("frame_transmissions"));
    let trials = Events { events: lost.iter().sum(), chances: frames.iter().sum() };
    let shares: Vec<f64> = lost.iter().zip(&frames).map(|(lost, frames)| lost / frames).collect();
    if shares.is_empty() {
        return None;
    }
    if values(INDEPENDENT).is_empty() {
        return Estimate::of(MetricKind::Rate, &shares, Some(trials), MethodKind::Simulation);
    }
    Estimate::of_trials(trials, shares.len() as u64, MethodKind::Simulation)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Ten runs with the same values.
    fn runs(values: &'static [(&'static str, f64)]) -> impl Fn(&str) -> Vec<f64> {
        move |name| {
            values.iter().filter(|(known, _)| *known == name).flat_map(|(_, value)| [*value; 10]).collect()
        }
    }

    #[test]
    fn a_rate_without_an_event_knows_out_of_how_many() {
        let of = runs(&[
            ("reverse.frame_error_rate", 0.0),
            ("reverse.frame_errors", 0.0),
            ("reverse.frame_transmissions", 1e5),
            // Of another link.
            ("frame_errors", 7.0),
        ]);
        let rate = estimate("reverse.frame_error_rate", &of).unwrap();
        assert_eq!((rate.value, rate.ci95, rate.low), (0.0, None, Some(0.0)));
        assert!((rate.high.unwrap() - 2.995_732_273_554e-6).abs() < 1e-15);
        let count = estimate("reverse.frame_errors", &of).unwrap();
        assert!((count.high.unwrap() - 0.299_573_227).abs() < 1e-9);
    }

    #[test]
    fn slots_are_the_chances_of_rates_per_slot() {
        let of = runs(&[
            ("flow:a.timeouts_per_slot", 0.0),
            ("flow:a.timeouts", 0.0),
            ("flow:a.segments_sent", 400.0),
            ("flow:a.transmissions_per_slot", 0.8),
        ]);
        let rate = estimate("flow:a.timeouts_per_slot", of).unwrap();
        assert!((rate.high.unwrap() - 2.995_732_273_554 / 5000.0).abs() < 1e-12);
    }

    #[test]
    fn without_counts_nothing_is_said_of_a_rate_of_zero() {
        let of = runs(&[("frame_error_rate", 0.0)]);
        let rate = estimate("frame_error_rate", of).unwrap();
        assert_eq!((rate.ci95, rate.low, rate.high), (None, None, None));
    }
}
