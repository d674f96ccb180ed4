//! Reports of live runs: packets, delays and lateness of each direction.

use crossfade_core::{DelayHistogram, SimTime};
use crossfade_live::{EmulationReport, Machine, PumpReport};
use serde::Serialize;

/// Report of one direction of a live run. Times are in seconds; quantiles are `None` if no packet arrived.
#[derive(Clone, Debug, Serialize)]
pub struct Direction {
    /// Name of the direction: `forward`, from the far host, which has the data, to the near one; or `reverse`.
    pub name: &'static str,
    /// Number of packets that the sending host sent.
    pub packets: u64,
    /// Number of packets that came out at the other host.
    pub arrived: u64,
    /// Bytes of the packets that came out at the other host.
    pub arrived_bytes: u64,
    /// Number of packets that the channel lost.
    pub lost: u64,
    /// Number of packets that the queue dropped, or that were dropped because too many were inside.
    pub dropped: u64,
    /// Number of packets marked "congestion experienced"; of both directions together if they share a medium.
    pub marked: u64,
    /// Number of packets still inside the link at the end.
    pub left: u64,
    /// Number of packets that the kernel dropped before the link received them.
    pub ring_drops: u64,
    /// Number of packets that came out of the link but were refused by the other host.
    pub undeliverable: u64,
    /// Median transit time from one host to the other, in seconds.
    pub transit_p50_s: Option<f64>,
    /// 95th percentile of the transit time over packets, in seconds.
    pub transit_p95_s: Option<f64>,
    /// Mean queueing delay in seconds; `None` if no packet was sent.
    pub queueing_delay_mean_s: Option<f64>,
    /// Median lateness in seconds: time from a packet's departure by the link to its handover.
    pub lateness_p50_s: Option<f64>,
    /// 99th percentile of the lateness over packets, in seconds.
    pub lateness_p99_s: Option<f64>,
    /// 99.9th percentile of the lateness over packets, in seconds.
    pub lateness_p999_s: Option<f64>,
    /// Share of packets handed over later than [`LiveReport::late_s`] after their departure.
    pub late_share: f64,
    /// Share of one processor's time that the direction took.
    pub cpu_share: f64,
    /// Share of frames with payload that the channel lost; `None` for a link without frames.
    pub frame_error_rate: Option<f64>,
    /// Mean number of transmissions of a frame with payload; `None` for a link without frames.
    pub frame_transmissions_per_frame: Option<f64>,
}

/// Report of one built-in transfer.
#[derive(Clone, Debug, Serialize)]
pub struct FlowReport {
    /// Name of the flow in the scenario; empty if the scenario names no flow.
    pub name: String,
    /// Congestion control of the flow's socket, read back from the kernel; empty if there was no socket.
    pub congestion: String,
    /// Bytes that the receiving program read.
    pub bytes: u64,
}

/// Report of a live run: both directions, the machine's load, and doubts.
#[derive(Clone, Debug, Serialize)]
pub struct LiveReport {
    /// Duration of the run in seconds.
    pub duration_s: f64,
    /// Reports of the directions: `forward`, then `reverse`.
    pub directions: [Direction; 2],
    /// Lateness in seconds above which a packet counts as late: half of the link's packet or frame time, at least 0.1
    /// ms.
    pub late_s: f64,
    /// Load average of the machine at the end of the run.
    pub load: f64,
    /// Number of processors of the machine.
    pub processors: usize,
    /// Share of processor time that the hypervisor gave to other machines during the run.
    pub stolen: f64,
    /// Reasons to doubt the run, one sentence each.
    pub flags: Vec<String>,
    /// Congestion controls of the sockets that sent data, read back from the kernel.
    pub congestion: Vec<String>,
    /// Reports of the built-in transfers; empty if a user's program ran.
    pub flows: Vec<FlowReport>,
}

/// Share of late packets above which a run is doubtful.
const MOST_LATE: f64 = 0.01;
/// Share of stolen processor time above which a run is doubtful.
const MOST_STOLEN: f64 = 0.02;

impl LiveReport {
    pub(super) fn new(
        report: &EmulationReport,
        late: SimTime,
        began: &Machine,
        congestion: Vec<String>,
        flows: Vec<FlowReport>,
    ) -> Self {
        let now = Machine::now();
        let directions = [direction("forward", &report.forward), direction("reverse", &report.reverse)];
        let late_s = late.as_secs_f64();
        let mut flags = Vec::new();
        for way in &directions {
            if way.late_share > MOST_LATE {
                let share = 100.0 * way.late_share;
                let late = late_s * 1e3;
                flags.push(format!("{}: {share:.1} % of packets were more than {late:.2} ms late", way.name));
            }
            if way.ring_drops > 0 {
                flags.push(format!(
                    "{}: {} packets were dropped before the link saw them",
                    way.name, way.ring_drops
                ));
            }
            if way.undeliverable > 0 {
                flags.push(format!(
                    "{}: {} packets were not taken by the other host",
                    way.name, way.undeliverable
                ));
            }
        }
        let stolen = now.stolen_since(began);
        if stolen > MOST_STOLEN {
            flags.push(format!("{:.1} % of processor time was stolen by the hypervisor", 100.0 * stolen));
        }
        Self {
            duration_s: report.forward.duration.as_secs_f64(),
            directions,
            late_s,
            load: now.load,
            processors: now.processors,
            stolen,
            flags,
            congestion,
            flows,
        }
    }
}

fn direction(name: &'static str, report: &PumpReport) -> Direction {
    let PumpReport { link, lateness, arq, .. } = report;
    let quantile = |of: &DelayHistogram, p| of.quantile(p).map(SimTime::as_secs_f64);
    let delivered = lateness.count();
    Direction {
        name,
        packets: report.packets,
        arrived: delivered,
        arrived_bytes: report.arrived_bytes,
        lost: report.lost,
        dropped: report.dropped + report.refused,
        marked: link.ecn_marks,
        left: report.left,
        ring_drops: report.ring_drops,
        undeliverable: report.undeliverable,
        transit_p50_s: quantile(&report.transit, 0.5),
        transit_p95_s: quantile(&report.transit, 0.95),
        queueing_delay_mean_s: (link.transmissions > 0)
            .then(|| link.queueing_delay_s / link.transmissions as f64),
        lateness_p50_s: quantile(lateness, 0.5),
        lateness_p99_s: quantile(lateness, 0.99),
        lateness_p999_s: quantile(lateness, 0.999),
        late_share: report.late as f64 / delivered.max(1) as f64,
        cpu_share: if report.duration == SimTime::ZERO {
            0.0
        } else {
            report.cpu.as_secs_f64() / report.duration.as_secs_f64()
        },
        frame_error_rate: arq.as_ref().map(crossfade_link::arq::ArqStatistics::frame_error_rate),
        frame_transmissions_per_frame: arq
            .as_ref()
            .map(crossfade_link::arq::ArqStatistics::frame_transmissions_per_frame),
    }
}
