//! One run of a point on the kernel's TCP in real time: from its setup to its metrics.

use super::kernel::{KernelTcp, end};
use super::report::LiveReport;
use super::session::{Ended, Options, Session};
use super::watch::Sample;
use crate::methods::metrics_of;
use crate::metrics::Metrics;
use crossfade_core::{RunSeed, SimTime};
use crossfade_live::TcpSample;
use crossfade_scenario::{End, FlowSetup, Point, ScenarioError, Setup};
use crossfade_sim::{FlowStatistics, NetworkStatistics};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread::sleep;
use std::time::Duration;

/// Time between two checks whether the run is over.
const LOOK: Duration = Duration::from_millis(5);

/// Metrics that only a simulation knows. Quantiles of the round trip are among them: samples of the kernel's smoothed
/// RTT give only its mean.
const UNKNOWN: [&str; 6] = [
    "spurious_timeouts",
    "spurious_fast_retransmits",
    "ecn_reductions",
    "rtt_p50_s",
    "rtt_p95_s",
    "rtt_p99_s",
];

/// Reason why a point cannot be run live; `None` if it can.
pub(crate) fn refusal(point: &Point) -> Option<ScenarioError> {
    KernelTcp::of(&point.setup).err()
}

/// Makes one run of a point in real time; `None` once `cancel` is true.
pub(crate) fn run(
    point: &Point,
    seed: RunSeed,
    cancel: &AtomicBool,
) -> Option<Result<Metrics, ScenarioError>> {
    let options = Options { bulk: true, data_only: true, watch: true, ..Options::default() };
    let session = Session::new(Arc::new(point.clone()), seed, options)
        .and_then(|mut session| session.start().map(|()| session));
    let mut session = match session {
        Ok(session) => session,
        Err(error) => return Some(Err(error)),
    };
    let warm = session.wait_for_end(cancel)?;
    Some(session.end().map(|(ended, _)| metrics(&point.setup, &ended, &warm)))
}

/// Counters at the end of the warm-up, which metrics subtract.
#[derive(Default)]
struct Warm {
    /// Bytes delivered by each built-in transfer.
    bytes: Vec<u64>,
    samples: Vec<Sample>,
}

impl Session {
    /// Waits until the run is over; returns the counters at the end of the warm-up, and `None` once `cancel` is true.
    fn wait_for_end(&self, cancel: &AtomicBool) -> Option<Warm> {
        let setup = &self.point().setup;
        let mut warm = Warm { bytes: vec![0; self.delivered().len()], samples: Vec::new() };
        let mut is_warm = setup.warmup == SimTime::ZERO;
        loop {
            if cancel.load(Ordering::Relaxed) {
                return None;
            }
            let now = self.elapsed();
            if !is_warm && now >= setup.warmup {
                warm = Warm { bytes: self.delivered(), samples: self.latest() };
                is_warm = true;
            }
            let is_over = match setup.end {
                End::At(_) => now >= end(setup),
                End::Delivered(segments) => {
                    let bytes: u64 = self.delivered().iter().sum::<u64>() - warm.bytes.iter().sum::<u64>();
                    let mss = setup.flows[0].tcp().map_or(1, |tcp| tcp.mss);
                    is_warm && bytes >= segments * u64::from(mss)
                }
            };
            if is_over || !self.is_running() || (is_warm && self.is_finished()) {
                return Some(warm);
            }
            sleep(LOOK);
        }
    }
}

/// All metrics of a live run.
fn metrics(setup: &Setup, ended: &Ended, warm: &Warm) -> Metrics {
    let statistics = statistics(setup, ended, warm);
    let mut metrics = metrics_of(setup, &statistics);
    // The kernel's counters are those of the host; they are a flow's own if it is the only connection.
    let of_host =
        ["spurious_timeouts_detected", "fast_retransmits", "fast_retransmits_per_slot", "tail_loss_probes"];
    let unknown = UNKNOWN.iter().chain(if ended.bulk.len() > 1 { &of_host[..] } else { &[] });
    for name in unknown {
        metrics.retain(|key, _| key != name && !key.ends_with(&format!(".{name}")));
    }
    let LiveReport { directions: [forward, reverse], .. } = &ended.report;
    let worse = |a: Option<f64>, b: Option<f64>| a.into_iter().chain(b).fold(0.0, f64::max);
    metrics.extend(
        [
            ("lateness_p50_s", worse(forward.lateness_p50_s, reverse.lateness_p50_s)),
            ("lateness_p99_s", worse(forward.lateness_p99_s, reverse.lateness_p99_s)),
            ("late_share", forward.late_share.max(reverse.late_share)),
            ("ring_drops", (forward.ring_drops + reverse.ring_drops) as f64),
        ]
        .map(|(name, value)| (name.to_owned(), value)),
    );
    metrics
}

/// Sum in seconds and number of round trips. The smoothed RTT of each sample counts for the segments acknowledged since
/// the sample before, as if each had measured it.
fn round_trips<'a>(samples: impl Iterator<Item = &'a Sample>) -> (f64, u64) {
    let (mut sum_s, mut count, mut before) = (0.0, 0, None);
    for TcpSample { bytes_acked, srtt_us, mss, .. } in samples.map(|sample| &sample.tcp) {
        let acked = (bytes_acked - before.unwrap_or(*bytes_acked)) / u64::from((*mss).max(1));
        before = Some(*bytes_acked);
        sum_s += f64::from(*srtt_us) / 1e6 * acked as f64;
        count += acked;
    }
    (sum_s, count)
}

/// Counts of a live run in the form of a simulated run's statistics.
fn statistics(setup: &Setup, ended: &Ended, warm: &Warm) -> NetworkStatistics {
    let mss = |flow: &FlowSetup| flow.tcp().map_or(1, |tcp| tcp.mss);
    let entries = setup.flows.iter().flat_map(|flow| {
        (0..flow.count).map(move |number| (flow, flow.start + flow.stagger * u64::from(number)))
    });
    let mut flows: Vec<FlowStatistics> = entries
        .zip(&ended.bulk)
        .zip(&warm.bytes)
        .map(|(((flow, start), bulk), before)| {
            let (bytes, mss) = (bulk.bytes - before, mss(flow));
            let segments = bytes / u64::from(mss);
            let of = |samples: &[Sample]| {
                let own = |sample: &&Sample| sample.host == 0 && sample.tcp.port == bulk.port;
                samples.iter().rev().find(own).map(|sample| sample.tcp.clone()).unwrap_or_default()
            };
            let (last, first) = (of(&ended.samples), of(&warm.samples));
            let measured = |sample: &&Sample| {
                sample.host == 0 && sample.tcp.port == bulk.port && sample.at >= setup.warmup
            };
            let (rtt_sum_s, rtt_samples) = round_trips(ended.samples.iter().filter(measured));
            FlowStatistics {
                bytes_delivered: bytes + segments * u64::from(flow.packet_size.saturating_sub(mss)),
                segments_delivered: segments,
                segments_in_order: segments,
                segments_received: segments,
                segments_sent: u64::from(last.data_segments_out - first.data_segments_out),
                retransmissions: u64::from(last.retransmissions - first.retransmissions),
                timeouts: u64::from(last.timeouts - first.timeouts),
                rtt_sum_s,
                rtt_samples,
                start,
                last_delivery: bulk.last_delivery,
                completion_time: bulk.completion_time,
                ..FlowStatistics::default()
            }
        })
        .collect();
    if let [flow] = &mut flows[..] {
        flow.spurious_timeouts_detected = ended.counters.spurious_timeouts;
        flow.fast_retransmits = ended.counters.recoveries;
        flow.tail_loss_probes = ended.counters.tail_loss_probes;
    }
    if let Some(flow) = flows.first_mut() {
        // Round trips of all flows together, which share the link.
        flow.segments_received = ended.forward.transit.count();
        flow.one_way_delay_sum_s = ended.forward.transit_sum_s;
        flow.one_way_delay = Some(Box::new(ended.forward.transit.clone()));
    }
    let duration = ended.forward.duration - setup.warmup;
    NetworkStatistics {
        duration,
        end: ended.forward.duration,
        flows,
        arrivals: Vec::new(),
        links: ended.links.iter().filter_map(|link| link.summary(setup.warmup)).collect(),
        stalled: false,
    }
}
