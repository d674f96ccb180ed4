//! The last look at a run: values that no run can have are a bug of this program, and no result.

use crate::kinds::is_share;
use crate::metrics::Metrics;
use crossfade_core::RunSeed;
use crossfade_scenario::{HopSetup, Method, Setup};
use crossfade_sim::NetworkStatistics;
use thiserror::Error;

/// How far rounding may lead beyond what is possible.
const SLACK: f64 = 1.0 + 1e-6;

/// A value that cannot be.
#[derive(Clone, Debug, PartialEq, Error)]
#[error(
    "{metric} = {value} in run {run} of seed {seed} ({method}): must be {must}; that is a bug of crossfade and no \
     result, please report it with the scenario"
)]
pub struct ImpossibleResult {
    metric: String,
    value: f64,
    must: String,
    method: &'static str,
    seed: u64,
    run: u64,
}

/// What the metrics of a run may be.
pub(crate) struct Possible<'a> {
    pub(crate) method: Method,
    pub(crate) seed: RunSeed,
    /// The largest of some metrics, and what that is called.
    pub(crate) most: Vec<(&'a str, f64, &'a str)>,
}

impl Possible<'_> {
    /// # Errors
    /// The first value that is negative, not finite or larger than possible.
    pub(crate) fn check(&self, metrics: &Metrics) -> Result<(), ImpossibleResult> {
        metrics.iter().try_for_each(|(metric, &value)| {
            // The same of a flow or a link has the same limit.
            let name = metric.rsplit_once('.').map_or(metric.as_str(), |(_, name)| name);
            let most = self.most.iter().find(|(of, ..)| of == metric);
            let must = if !value.is_finite() {
                "finite".to_owned()
            } else if value < 0.0 {
                "at least 0".to_owned()
            } else if is_share(name) && value > SLACK {
                "at most 1".to_owned()
            } else if let Some((_, most, what)) = most.filter(|(_, most, _)| value > most * SLACK) {
                format!("at most {most}, {what}")
            } else {
                return Ok(());
            };
            let (method, RunSeed { seed, run }) = (self.method.name(), self.seed);
            Err(ImpossibleResult { metric: metric.clone(), value, must, method, seed, run })
        })
    }
}

/// What the rates of a simulated run may be: a link carries no more packets than follow one another in the time
/// from the start, before which nothing was under way.
pub(crate) fn most_of_run(setup: &Setup, run: &NetworkStatistics) -> Vec<(&'static str, f64, &'static str)> {
    const LINK: &str = "the capacity of the link";
    let most = |hop: &HopSetup| {
        let of_size = |bytes: u32| {
            let packets = (setup.warmup + run.duration).as_nanos() as f64 / packet_ns(hop, bytes)?;
            Some((packets + 1.0) * f64::from(bytes) * 8.0 / run.duration.as_secs_f64())
        };
        // Of packets of several sizes, as if all had the one that fares best.
        let sizes = setup.flows.iter().map(|flow| flow.packet_size).chain([setup.packet_size]);
        sizes.map(of_size).reduce(|one, other| Some(one?.max(other?)))?
    };
    let metrics = ["link_goodput_bps", "goodput_bps", "ip_goodput_bps"];
    let all = |most| metrics.map(|metric| (metric, most, LINK)).into();
    setup.links().and_then(|links| most(&links.forward)).map_or_else(Vec::new, all)
}

/// The time in which a packet of `bytes` follows another at best, in nanoseconds; `None` without a rate.
fn packet_ns(hop: &HopSetup, bytes: u32) -> Option<f64> {
    let Some(frames) = hop.frames() else {
        return hop.shortest_transmission(bytes).map(|time| time.as_nanos() as f64);
    };
    // Packets may share frames, and their headers be compressed.
    let share = f64::from(frames.segmentation.link_bytes(bytes)) / f64::from(frames.segmentation.payload);
    Some(share * frames.frame_time.as_nanos() as f64)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_cannot_be_is_named() {
        let most = vec![("goodput_bps", 1e6, "the capacity of the link")];
        let possible = Possible { method: Method::Simulation, seed: RunSeed { seed: 1, run: 7 }, most };
        let check = |metric: &str, value| possible.check(&Metrics::from([(metric.to_owned(), value)]));
        for (metric, value) in [
            ("goodput_bps", 1e6 * (1.0 + 1e-7)),
            ("link_utilisation", 1.0 + 1e-7),
            ("flow:a.goodput_bps", 2e6), // its share is in that of the whole
            ("queue_mean_packets", 0.0),
            ("rtt_mean_s", -0.0),
        ] {
            assert_eq!(check(metric, value), Ok(()), "{metric}");
        }
        for (metric, value, said) in [
            (
                "goodput_bps",
                1.1e6,
                "goodput_bps = 1100000 in run 7 of seed 1 (simulation): must be at most 1000000",
            ),
            ("wired.link_utilisation", 1.37, "wired.link_utilisation = 1.37 in run 7"),
            ("frame_error_rate", 1.01, "must be at most 1;"),
            ("flow:a.rtt_mean_s", -1e-9, "must be at least 0"),
            ("energy_per_packet", f64::INFINITY, "must be finite"),
            ("rtt_p95_s", f64::NAN, "must be finite"),
        ] {
            let error = check(metric, value).unwrap_err().to_string();
            assert!(error.contains(said) && error.contains("bug") && !error.contains('\n'), "{error}");
        }
    }
}
