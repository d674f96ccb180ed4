//! One run of a point by simulation: from its setup to its metrics.

use crate::error::ScenarioError;
use crate::events::EventsCsv;
use crate::metrics::{DIED, LINKS, flow_key, link_key};
use crate::network::network;
use crate::pcap::Pcap;
use crate::plan::{Plan, Point};
use crate::resolve::{FlowSetup, Setup, TrafficSetup};
use crossfade_capture::IpVersion;
use crossfade_core::{DelayHistogram, Observer, RunSeed, SimTime, jain_fairness};
use crossfade_link::arq::ArqStatistics;
use crossfade_sim::{
    Capture, CongestionFactory, FlowStatistics, LinkReport, Network, NetworkStatistics, SimulationError,
    Source, simulate as run,
};
use crossfade_transport::TcpConfig;
use crossfade_transport::congestion::CongestionControl;
use std::collections::BTreeMap;
use std::sync::Arc;
use std::sync::atomic::AtomicBool;

/// Metrics by name.
pub(crate) type Metrics = BTreeMap<String, f64>;

/// Simulates `setup` in the run of `seed`; `None` if `cancel` became true.
pub(crate) fn simulate(setup: &Setup, seed: RunSeed, cancel: &AtomicBool) -> Option<Metrics> {
    let statistics = run_checked(network(setup, seed), (), (), cancel)?;
    Some(metrics(setup, &statistics))
}

/// A run has some ten thousand events: those of more points would fill a memory, and no figure shows them.
const MOST_POINTS_WITH_EVENTS: usize = 20;

/// The events of run 0 of each point of `plan`, in the order of its points, each as CSV; `None` if `cancel`
/// became true.
///
/// # Errors
/// The plan has more than 20 points.
pub fn events(plan: &Plan, cancel: &AtomicBool) -> Result<Option<Vec<String>>, ScenarioError> {
    let points = plan.points.len();
    if points > MOST_POINTS_WITH_EVENTS {
        let problem =
            format!("events are written of at most {MOST_POINTS_WITH_EVENTS} points; the plan has {points}");
        return Err(ScenarioError::key("sweep", problem));
    }
    let seed = RunSeed { seed: plan.seed, run: 0 };
    let of_point = |point: &Point| {
        let mut csv = EventsCsv::new();
        run_checked(network(&point.setup, seed), &mut csv, (), cancel)?;
        Some(csv.into_text())
    };
    Ok(plan.points.iter().map(of_point).collect())
}

/// The same with the congestion control that `make` gives for the only connection, in place of its own.
///
/// # Errors
/// The plan has several points, or something else than one connection without end.
pub fn events_with_congestion_control(
    plan: &Plan,
    make: impl Fn(&TcpConfig) -> Box<dyn CongestionControl> + Send + Sync + 'static,
    cancel: &AtomicBool,
) -> Result<Option<String>, ScenarioError> {
    let point = only_point(plan, "a congestion control of one's own")?;
    let Some(tcp) = point.setup.only_bulk_tcp() else {
        return Err(ScenarioError::key(
            "flows",
            "a congestion control is tried out on one connection without end",
        ));
    };
    let config = tcp.config;
    let factory: CongestionFactory = Arc::new(move || make(&config));
    let mut network = network(&point.setup, RunSeed { seed: plan.seed, run: 0 });
    for flow in &mut network.flows {
        if let Source::Tcp(tcp) = &mut flow.source {
            tcp.congestion = Some(Arc::clone(&factory));
        }
    }
    let mut csv = EventsCsv::new();
    let finished = run_checked(network, &mut csv, (), cancel);
    Ok(finished.map(|_| csv.into_text()))
}

/// What the senders' network interfaces saw in run 0 of the only point of `plan`, as a pcap file; `None` if
/// `cancel` became true.
///
/// # Errors
/// The plan has several points; packets or windows that TCP's headers have no room for.
pub fn pcap(plan: &Plan, ip: IpVersion, cancel: &AtomicBool) -> Result<Option<Vec<u8>>, ScenarioError> {
    let point = only_point(plan, "a capture")?;
    let mut pcap = Pcap::new(&point.setup, ip)?;
    let seed = RunSeed { seed: plan.seed, run: 0 };
    let finished = run_checked(network(&point.setup, seed), (), &mut pcap, cancel);
    Ok(finished.map(|_| pcap.into_bytes()))
}

/// Runs a network that resolving has checked; `None` if `cancel` became true.
fn run_checked<O: Observer, C: Capture>(
    network: Network,
    observer: O,
    capture: C,
    cancel: &AtomicBool,
) -> Option<NetworkStatistics> {
    match run(network, observer, capture, cancel) {
        Ok(statistics) => Some(statistics),
        Err(SimulationError::Interrupted(_)) => None,
        Err(error) => unreachable!("a checked network: {error}"),
    }
}

/// The only point of `plan`, of which `what` shows one run.
fn only_point<'a>(plan: &'a Plan, what: &str) -> Result<&'a Point, ScenarioError> {
    match plan.points.as_slice() {
        [point] => Ok(point),
        points => {
            let problem = format!("{what} shows one run; the plan has {} points", points.len());
            Err(ScenarioError::key("sweep", problem))
        }
    }
}

/// The metrics that follow from packets delivered once and transmissions, each per slot.
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

/// All metrics of a run; 0/0 is none: a run without deliveries has no energy per packet.
fn metrics(setup: &Setup, run: &NetworkStatistics) -> Metrics {
    let mut metrics = Metrics::new();
    let mut insert = |key: String, value: f64| {
        if value.is_finite() {
            metrics.insert(key, value);
        }
    };
    let groups = groups(setup, run);
    let mut whole = Books::default();
    for (_, books) in &groups {
        whole.join(books);
    }
    whole.metrics(setup, run.duration).into_iter().for_each(|(name, value)| insert(name.to_owned(), value));
    for (flow, books) in groups.iter().filter(|(flow, _)| !flow.name.is_empty()) {
        for (name, value) in books.metrics(setup, run.duration) {
            insert(flow_key(&flow.name, name), value);
        }
    }
    for (name, report) in links(run) {
        for (metric, value) in link_metrics(report, run.duration) {
            insert(link_key(name, metric), value);
        }
        if let (Some(arq), Some(payload)) = (&report.arq, payload(setup, name)) {
            for (metric, value) in frame_metrics(report, arq, payload, run.duration) {
                insert(link_key(name, metric), value);
            }
        }
    }
    insert(DIED.to_owned(), f64::from(u8::from(run.stalled || whole.died)));
    metrics
}

/// The links that there are, by name.
fn links(run: &NetworkStatistics) -> Vec<(&'static str, &LinkReport)> {
    let [wired, forward, reverse, wired_reverse] = LINKS;
    match (run.forward.as_slice(), run.reverse.as_slice()) {
        ([first], [back]) => vec![(forward, first), (reverse, back)],
        ([before, last], [back, after]) => {
            vec![(wired, before), (forward, last), (reverse, back), (wired_reverse, after)]
        }
        _ => unreachable!("a path has one link or two"),
    }
}

fn link_metrics(report: &LinkReport, duration: SimTime) -> [(&'static str, f64); 10] {
    let counts = &report.counts;
    let count = |count: u64| count as f64;
    let queueing_delay_s = |p| quantile_s(Some(&counts.queueing_delay), p);
    [
        ("link_goodput_bps", count(counts.arrived_bytes) * 8.0 / duration.as_secs_f64()),
        ("frame_error_rate", count(counts.losses) / count(counts.transmissions)),
        ("queue_mean_packets", report.queue_mean_packets),
        ("queue_drops", count(counts.queue_drops)),
        ("ecn_marks", count(counts.ecn_marks)),
        ("link_utilisation", report.utilisation.unwrap_or(f64::NAN)),
        ("queueing_delay_mean_s", counts.waiting_s / count(counts.transmissions)),
        ("queueing_delay_p50_s", queueing_delay_s(0.5)),
        ("queueing_delay_p95_s", queueing_delay_s(0.95)),
        ("queueing_delay_p99_s", queueing_delay_s(0.99)),
    ]
}

/// Bytes of packets in a frame of the link called `name`, if it has frames.
fn payload(setup: &Setup, name: &str) -> Option<u32> {
    let [_, forward, reverse, _] = LINKS;
    let hop = if name == forward {
        &setup.forward
    } else if name == reverse {
        &setup.reverse
    } else {
        return None;
    };
    hop.frames.map(|frames| frames.segmentation.payload)
}

/// What a link with frames has to tell of them; its error rate takes the place of that of packets.
fn frame_metrics(
    report: &LinkReport,
    arq: &ArqStatistics,
    payload: u32,
    duration: SimTime,
) -> [(&'static str, f64); 9] {
    let bits = arq.frames_delivered as f64 * f64::from(payload) * 8.0;
    let delay = &arq.head_of_line_delay;
    let delay_s = |p| quantile_s(Some(delay), p);
    [
        ("frame_error_rate", arq.frame_error_rate()),
        ("residual_frame_error_rate", arq.residual_frame_error_rate()),
        ("frame_transmissions_per_frame", arq.frame_transmissions_per_frame()),
        ("rlp_throughput_bps", bits / duration.as_secs_f64()),
        ("hol_delay_mean_s", arq.head_of_line_delay_s / arq.frames_delivered as f64),
        ("hol_delay_p50_s", delay_s(0.5)),
        ("hol_delay_p95_s", delay_s(0.95)),
        ("hol_delay_p99_s", delay_s(0.99)),
        ("packets_lost", report.counts.losses as f64),
    ]
}

/// What the flows of each entry of the scenario did.
fn groups<'a>(setup: &'a Setup, run: &NetworkStatistics) -> Vec<(&'a FlowSetup, Books)> {
    let (mut flows, mut arrivals) = (run.flows.iter(), run.arrivals.iter());
    let group = |flow: &'a FlowSetup| {
        let mut books = Books::default();
        if let TrafficSetup::Arrivals { tcp, .. } = &flow.traffic {
            let group = arrivals.next().expect("one for each entry");
            books.add(&group.total, tcp.mss);
            let times = group.completions.iter().map(|flow| flow.completion_time.as_secs_f64());
            books.completion_times_s.extend(times);
            return (flow, books);
        }
        let mss = flow.tcp().map_or(setup.packet_size, |tcp| tcp.mss);
        for statistics in flows.by_ref().take(flow.count as usize) {
            books.add(statistics, mss);
            if matches!(flow.traffic, TrafficSetup::Tcp(_, None)) {
                books.add_bulk(setup, statistics, mss, run.duration);
            }
            books.completion_times_s.extend(statistics.completion_time.map(SimTime::as_secs_f64));
        }
        (flow, books)
    };
    setup.flows.iter().map(group).collect()
}

/// What several flows did together.
#[derive(Default)]
struct Books {
    total: FlowStatistics,
    /// Application data delivered, in bits.
    goodput_bits: f64,
    /// Of each flow that had an end and reached it.
    completion_times_s: Vec<f64>,
    /// Goodputs of the bulk flows that were there all the time.
    shares: Vec<f64>,
    /// A bulk flow came to a stop.
    died: bool,
}

impl Books {
    fn add(&mut self, flow: &FlowStatistics, mss: u32) {
        self.total.add(flow);
        self.goodput_bits += flow.segments_in_order as f64 * f64::from(mss) * 8.0;
    }

    fn add_bulk(&mut self, setup: &Setup, flow: &FlowStatistics, mss: u32, duration: SimTime) {
        if flow.start <= setup.warmup {
            self.shares.push(flow.segments_in_order as f64 * f64::from(mss));
        }
        // Nothing came in the last half of the measured time.
        let half = setup.warmup + SimTime::from_nanos(duration.as_nanos() / 2);
        self.died |= flow.last_delivery < half.max(flow.start);
    }

    fn join(&mut self, other: &Self) {
        self.total.add(&other.total);
        self.goodput_bits += other.goodput_bits;
        self.completion_times_s.extend(&other.completion_times_s);
        self.shares.extend(&other.shares);
        self.died |= other.died;
    }

    fn metrics(&self, setup: &Setup, duration: SimTime) -> Vec<(&'static str, f64)> {
        let flow = &self.total;
        let seconds = duration.as_secs_f64();
        let slots = duration.as_nanos() as f64 / setup.slot.as_nanos() as f64;
        let count = |count: u64| count as f64;
        let ip_bits = count(flow.segments_delivered) * f64::from(setup.packet_size) * 8.0;
        let mut metrics = vec![
            ("goodput_bps", self.goodput_bits / seconds),
            ("ip_goodput_bps", ip_bits / seconds),
            ("throughput_per_slot", count(flow.segments_delivered) / slots),
            ("transmissions_per_slot", count(flow.segments_sent) / slots),
            ("energy_per_packet", count(flow.segments_sent) / count(flow.segments_delivered)),
            ("segments_delivered", count(flow.segments_delivered)),
            ("segments_sent", count(flow.segments_sent)),
            ("retransmissions", count(flow.retransmissions)),
            ("timeouts", count(flow.timeouts)),
            ("spurious_timeouts", count(flow.spurious_timeouts)),
            ("spurious_timeouts_detected", count(flow.spurious_timeouts_detected)),
            ("fast_retransmits", count(flow.fast_retransmits)),
            ("spurious_fast_retransmits", count(flow.spurious_fast_retransmits)),
            ("tail_loss_probes", count(flow.tail_loss_probes)),
            ("ecn_reductions", count(flow.ecn_reductions)),
            ("timeouts_per_slot", count(flow.timeouts) / slots),
            ("fast_retransmits_per_slot", count(flow.fast_retransmits) / slots),
            ("rtt_mean_s", flow.rtt_sum_s / count(flow.rtt_samples)),
            ("rtt_p50_s", quantile_s(flow.rtt.as_deref(), 0.5)),
            ("rtt_p95_s", quantile_s(flow.rtt.as_deref(), 0.95)),
            ("rtt_p99_s", quantile_s(flow.rtt.as_deref(), 0.99)),
            ("one_way_delay_mean_s", flow.one_way_delay_sum_s / count(flow.segments_received)),
            ("one_way_delay_p50_s", quantile_s(flow.one_way_delay.as_deref(), 0.5)),
            ("one_way_delay_p95_s", quantile_s(flow.one_way_delay.as_deref(), 0.95)),
            ("one_way_delay_p99_s", quantile_s(flow.one_way_delay.as_deref(), 0.99)),
        ];
        metrics.extend(completion(&self.completion_times_s));
        if self.shares.len() > 1 {
            metrics.push(("jain_fairness", jain_fairness(&self.shares).unwrap_or(f64::NAN)));
        }
        metrics
    }
}

/// The delay in seconds that a share `p` does not exceed; NaN of no delays.
fn quantile_s(delays: Option<&DelayHistogram>, p: f64) -> f64 {
    let delays = delays.filter(|delays| delays.count() > 0);
    delays.and_then(|delays| delays.quantile(p)).map_or(f64::NAN, SimTime::as_secs_f64)
}

/// Mean, 95th percentile and number of completion times, if there are any.
fn completion(times_s: &[f64]) -> Vec<(&'static str, f64)> {
    if times_s.is_empty() {
        return Vec::new();
    }
    let mut sorted = times_s.to_vec();
    sorted.sort_by(f64::total_cmp);
    let n = sorted.len();
    let rank = ((0.95 * n as f64).ceil() as usize).clamp(1, n);
    vec![
        ("completion_time_s", times_s.iter().sum::<f64>() / n as f64),
        ("completion_time_p95_s", sorted[rank - 1]),
        ("flows_completed", n as f64),
    ]
}
