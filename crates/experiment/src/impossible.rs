//! Last check of a run: an impossible value is a bug of this program and never becomes a result.

use crate::kinds::is_share;
use crate::parts::PATH;
use crossfade_core::{RunSeed, SimTime};
use crossfade_link::{QueueConfig, QueueLimit};
use crossfade_scenario::{Carrier, FlowSetup, HopSetup, LinksSetup, Method, Setup};
use crossfade_sim::NetworkStatistics;
use std::collections::BTreeMap;
use thiserror::Error;

/// Factor by which a value may exceed its bound because of rounding.
const SLACK: f64 = 1.0 + 1e-6;

/// A run gave an impossible value of a metric, which is a bug of this program.
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

/// Bounds that the metrics of a run must keep.
pub(crate) struct Possible<'a> {
    pub(crate) method: Method,
    pub(crate) seed: RunSeed,
    /// Upper bounds of metrics: the metric, the bound, and the name of the bound.
    pub(crate) most: Vec<(&'a str, f64, &'a str)>,
}

impl Possible<'_> {
    /// Checks every metric of a run: it must be finite, at least 0, at most 1 if it is a share, and within its upper
    /// bound.
    ///
    /// # Errors
    /// The first value that violates a bound.
    pub(crate) fn check(&self, metrics: &BTreeMap<String, f64>) -> Result<(), ImpossibleResult> {
        metrics.iter().try_for_each(|(metric, &value)| {
            // A metric of a flow or a link is a share if the metric of the whole network is one.
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

/// Upper bounds of the metrics of a simulated run: a link carries no more packets than fit into the time since the
/// start; in the measured time it sends no more bits and frames than fit, plus the one in transmission at its
/// beginning; and no more packets wait than the queue holds.
pub(crate) fn most_of_run(setup: &Setup, run: &NetworkStatistics) -> Vec<(&'static str, f64, &'static str)> {
    const LINK: &str = "the capacity of the link";
    let ns = |time: SimTime| time.as_nanos() as f64;
    // With packets of several sizes, the largest of the bounds of all sizes.
    let best = |of_size: &dyn Fn(u32) -> Option<f64>| {
        let sizes = setup.flows.iter().flat_map(FlowSetup::packet_sizes).copied().chain([setup.packet_size]);
        sizes.map(of_size).reduce(|one, other| Some(one?.max(other?)))?
    };
    let Some(LinksSetup { forward, .. }) = setup.links() else { return Vec::new() };
    let rate = |bytes: u32| {
        let packets = ns(setup.warmup + run.duration) / packet_ns(forward, bytes)?;
        Some((packets + 1.0) * f64::from(bytes) * 8.0 / run.duration.as_secs_f64())
    };
    let mut most = Vec::new();
    if let Some(rate) = best(&rate) {
        most.extend(["link_goodput_bps", "goodput_bps", "ip_goodput_bps"].map(|metric| (metric, rate, LINK)));
    }
    let bits = |bytes: u32| {
        let packets = ns(run.duration) / ns(forward.shortest_transmission(bytes)?);
        Some((packets + 1.0) * f64::from(bytes) * 8.0)
    };
    // Packets of a burst through a shaper, or at a recorded opportunity, take no time to transmit.
    let is_constant = matches!(forward.carrier, Carrier::Packets { .. });
    if let Some(bits) = best(&bits).filter(|_| is_constant) {
        most.push((BITS_SENT, bits, "the rate of the link times the time"));
    }
    // With a policy, frames last for different times.
    let frame_time = forward.frames().filter(|_| forward.radio().is_none()).map(|frames| frames.frame_time);
    if let Some(frame_time) = frame_time {
        let frames = ns(run.duration) / ns(frame_time) + 1.0;
        most.push(("frame_transmissions", frames, "the time over that of a frame"));
    }
    most.extend(most_of_queues(setup));
    most
}

/// Upper bounds of mean queue lengths and waiting times, for a run of any length.
pub(crate) fn most_of_queues(setup: &Setup) -> Vec<(&'static str, f64, &'static str)> {
    let Some(LinksSetup { forward, around, .. }) = setup.links() else { return Vec::new() };
    let wired = around.wired.iter().map(|[there, _]| ("wired.queue_mean_packets", there));
    let hops = [("queue_mean_packets", forward), ("reverse.queue_mean_packets", &around.reverse)];
    let held = wired.chain(hops).filter_map(|(metric, hop)| match hop.queue().limit() {
        Some(QueueLimit::Packets(limit)) => Some((metric, limit as f64, "what the queue holds")),
        _ => None,
    });
    let waited = longest_wait(setup, forward)
        .map(|wait| ("forward.queueing_delay_mean_s", wait, "the time that a full queue lasts"));
    held.chain(waited).collect()
}

/// Counts of a run that are not metrics but have bounds in [`most_of_run`].
pub(crate) fn facts(run: &NetworkStatistics) -> BTreeMap<String, f64> {
    let [_, forward, _, _] = PATH;
    let link = run.link(forward).into_iter();
    link.map(|link| (BITS_SENT.to_owned(), link.counts.transmitted_bytes as f64 * 8.0)).collect()
}

/// Name of the count of transmitted bits, which has a bound in [`most_of_run`].
const BITS_SENT: &str = "bits sent on the link";

/// Longest wait of a packet in seconds, in a first-in first-out queue before a link of whole packets; `None` for other
/// queues and links, and without a queue limit.
fn longest_wait(setup: &Setup, hop: &HopSetup) -> Option<f64> {
    let is_fifo = matches!(
        hop.queue(),
        QueueConfig::DropTail(_) | QueueConfig::CoDel(..) | QueueConfig::Red(_) | QueueConfig::Pie(_)
    );
    let Carrier::Packets { rate_bps: Some(rate_bps), .. } = &hop.carrier else { return None };
    let sizes = || setup.flows.iter().flat_map(FlowSetup::packet_sizes).copied().chain([setup.packet_size]);
    let seconds = |bytes| SimTime::to_transmit(bytes, *rate_bps).as_secs_f64();
    let largest = seconds(sizes().max()?);
    // Transmissions last whole nanoseconds.
    let rounding =
        sizes().map(|bytes| seconds(bytes) * rate_bps / (f64::from(bytes) * 8.0)).fold(1.0, f64::max);
    Some(match hop.queue().limit().filter(|_| is_fifo)? {
        QueueLimit::Packets(packets) => packets as f64 * largest,
        QueueLimit::Bytes(bytes) => bytes as f64 * 8.0 / rate_bps * rounding + largest,
    })
}

/// Shortest time between two packets of `bytes` bytes on `hop`, in nanoseconds; `None` for a link without a largest
/// rate.
pub(crate) fn packet_ns(hop: &HopSetup, bytes: u32) -> Option<f64> {
    // The rates of a satellite link have no upper bound.
    if hop.satellite().is_some() {
        return None;
    }
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
        let check = |metric: &str, value| possible.check(&BTreeMap::from([(metric.to_owned(), value)]));
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

    /// Setup of the only point of a scenario.
    fn setup_of(text: &str) -> Setup {
        let plan =
            crate::Experiment::load(text, "test.toml", &crossfade_scenario::Overrides::default()).unwrap();
        plan.points.at(0).setup.clone()
    }

    /// Upper bound of `metric` in a run of one minute at 1 Mbit/s with packets of 1500 bytes, of 12 ms each; `set` adds
    /// keys.
    fn most(set: &str, metric: &str) -> Option<f64> {
        let text = format!(
            "schema = 2\nrun.duration = \"60 s\"\nchannel.model = \"none\"\n[link]\nrate = \"1 Mbit/s\"\npacket_size = \"1500 B\"\n{set}"
        );
        let run =
            NetworkStatistics { duration: SimTime::from_millis(60_000), ..NetworkStatistics::default() };
        let most = most_of_run(&setup_of(&text), &run);
        most.iter().find(|(of, ..)| *of == metric).map(|(_, most, _)| *most)
    }

    #[test]
    fn a_link_sends_what_fits_into_the_time_and_holds_what_fits_into_its_queue() {
        let udp = "queue.limit = \"1000 packets\"\n[flows.f]\ntraffic = \"udp\"\nrate = \"2 Mbit/s\"";
        // 5000 packets fit, and one more was in transmission when the measured time began.
        assert_eq!(most(udp, BITS_SENT), Some(5001.0 * 12_000.0));
        assert_eq!(most(udp, "queue_mean_packets"), Some(1000.0));
        assert_eq!(most(udp, "forward.queueing_delay_mean_s"), Some(12.0));
        let bytes = udp.replace("1000 packets", "15 kB");
        assert_eq!(
            (most(&bytes, "queue_mean_packets"), most(&bytes, "forward.queueing_delay_mean_s")),
            (None, Some(0.132))
        );
        // Frames of 150 bytes last 1.2 ms.
        let frames = format!("frame_size = \"150 B\"\n{udp}");
        assert_eq!((most(&frames, "frame_transmissions"), most(&frames, BITS_SENT)), (Some(50_001.0), None));
        let fair = udp.replace("queue.limit", "queue.discipline = \"fq-codel\"\nqueue.limit");
        assert_eq!(
            (most(&fair, "queue_mean_packets"), most(&fair, "forward.queueing_delay_mean_s")),
            (Some(1000.0), None)
        );
    }

    #[test]
    fn a_transmission_lasts_whole_nanoseconds() {
        // 120 bytes last 1.37 ns at this rate, which is 2 ns for the link.
        let fast = |limit: &str| {
            let flow = "[flows.f]\ntraffic = \"udp\"\nrate = \"900 Gbit/s\"\npacket_size = \"120 B\"";
            let link = "rate = \"700 Gbit/s\"\npacket_size = \"120 B\"";
            let text = format!(
                "schema = 2\nrun.duration = \"1 ms\"\nchannel.model = \"none\"\n[link]\n{link}\nqueue.limit = \"{limit}\"\n{flow}"
            );
            let most = most_of_queues(&setup_of(&text));
            most.iter().find(|(of, ..)| *of == "forward.queueing_delay_mean_s").unwrap().1
        };
        assert!((fast("1000 packets") - 2e-6).abs() < 1e-15);
        assert!((fast("12 kB") - 202e-9).abs() < 1e-15);
    }
}
