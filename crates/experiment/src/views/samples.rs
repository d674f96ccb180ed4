//! Periodic samples of a run: counts of each flow and link since the last sample.

use super::events::{EventsCsv, Sample};
use crate::networks::hop;
use crossfade_core::SimTime;
use crossfade_link::{LinkReport, Occupancy};
use crossfade_scenario::{HopSetup, Setup, TrafficSetup};
use crossfade_sim::{Engine, FlowStatistics, Network, Snapshot};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Mutex, PoisonError};

/// Number of engine events between two checks for cancellation.
const PORTION: u32 = 4096;

/// Writes the events of a run of `network`, the network of `setup`, and a sample of each flow and link every `every`,
/// in order of time; `None` once `cancel` is true. Flows that arrive during the run are not sampled.
pub(super) fn sampled(
    setup: &Setup,
    network: Network,
    every: SimTime,
    csv: EventsCsv<'_>,
    cancel: &AtomicBool,
) -> Option<()> {
    let csv = Mutex::new(csv);
    let mut observer = &csv;
    let mut engine = Engine::new(network, Some(&mut observer), None)
        .unwrap_or_else(|error| unreachable!("a checked network: {error}"));
    let names = engine.link_names().to_vec();
    let of = Sampled { headers: headers(setup), hops: names.iter().map(|name| hop(setup, name)).collect() };
    let (mut before, mut from) = (engine.snapshot(SimTime::ZERO), SimTime::ZERO);
    loop {
        let to = from.saturating_add(every);
        loop {
            let goes_on = engine.advance_some(to, PORTION);
            // The check comes also after an interval with fewer events.
            if cancel.load(Ordering::Relaxed) {
                return None;
            }
            if !goes_on {
                break;
            }
        }
        let is_over = engine.next_event().is_none();
        if is_over && engine.now() < to {
            break;
        }
        let now = engine.snapshot(to);
        let mut csv = csv.lock().unwrap_or_else(PoisonError::into_inner);
        of.write(&names, (from, &before), (to, &now), &mut csv);
        drop(csv);
        if is_over || to == SimTime::MAX {
            break;
        }
        (before, from) = (now, to);
    }
    drop(engine);
    csv.into_inner().unwrap_or_else(PoisonError::into_inner).finish();
    Some(())
}

/// Facts about flows and links that turn counts into rates.
struct Sampled<'a> {
    /// Header bytes of a packet of each flow.
    headers: Vec<u32>,
    /// Hop of each link in the scenario; `None` for other media.
    hops: Vec<Option<&'a HopSetup>>,
}

/// A time, and the counts of a run up to it.
type At<'a> = (SimTime, &'a Snapshot);

impl Sampled<'_> {
    fn write(&self, names: &[String], (from, before): At<'_>, (to, now): At<'_>, csv: &mut EventsCsv<'_>) {
        let (time_s, seconds) = (to.as_secs_f64(), (to - from).as_secs_f64());
        for (number, (flow, earlier)) in now.flows.iter().zip(&before.flows).enumerate() {
            let counts = flow.counts.since(&earlier.counts);
            let rtt_mean_s = counts.rtt_sum_s / counts.rtt_samples as f64;
            csv.sample(&Sample {
                time_s,
                flow: Some((number, flow.tcp)),
                goodput_bps: Some(self.data_bits(number, &counts) / seconds),
                rtt_mean_s: Some(rtt_mean_s).filter(|mean| mean.is_finite()),
                retransmissions: Some(counts.retransmissions),
                ..Sample::default()
            });
        }
        for (number, (link, earlier)) in now.links.iter().zip(&before.links).enumerate() {
            let counts = link.statistics.since(&earlier.statistics);
            let again = |report: &LinkReport| report.frames.as_ref().map(|frames| frames.retransmissions);
            csv.sample(&Sample {
                time_s,
                link: Some(&names[number]),
                goodput_bps: Some(counts.arrived_bytes as f64 * 8.0 / seconds),
                queue_packets: link.waiting,
                capacity_bps: self.capacity_bps(number, link, earlier),
                retransmissions: again(link).zip(again(earlier)).map(|(now, before)| now - before),
                ..Sample::default()
            });
        }
    }

    /// Application data of a flow that arrived for the first time, in bits.
    fn data_bits(&self, flow: usize, counts: &FlowStatistics) -> f64 {
        let headers = self.headers.get(flow).copied().unwrap_or_default();
        (counts.bytes_delivered - counts.segments_delivered * u64::from(headers)) as f64 * 8.0
    }

    /// Mean capacity of a link between two reports in bit/s, with the overhead of its frames; `None` without a rate.
    fn capacity_bps(&self, link: usize, now: &LinkReport, before: &LinkReport) -> Option<f64> {
        match &now.occupancy {
            Occupancy::Capacity { capacity, .. } => {
                let seconds = (now.at - before.at).as_secs_f64();
                Some(capacity.capacity_bits(before.at, now.at) / seconds)
            }
            _ => self.hops[link].and_then(HopSetup::rate_bps),
        }
    }
}

/// Header bytes of a packet of each flow that exists from the start.
fn headers(setup: &Setup) -> Vec<u32> {
    let lasting = setup.flows.iter().filter(|flow| !matches!(flow.traffic, TrafficSetup::Arrivals { .. }));
    let each = |flow: &crossfade_scenario::FlowSetup| {
        let headers = flow.tcp().map_or(0, |tcp| flow.packet_size - tcp.mss);
        std::iter::repeat_n(headers, flow.count as usize)
    };
    lasting.flat_map(each).collect()
}
