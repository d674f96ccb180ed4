//! Counts of the flows and links of a simulated run, alone and together, from which metrics follow.

use crate::networks::hop;
use crate::parts::PATH;
use crossfade_core::{DelayHistogram, RunTimes, SimTime, jain_fairness, pooled_quantile};
use crossfade_link::arq::ArqStatistics;
use crossfade_scenario::{FlowSetup, HopSetup, Setup, TrafficSetup};
use crossfade_sim::{FlowStatistics, LinkSummary, NetworkStatistics};

/// Counts of the flows of each entry of the scenario, in order.
pub(crate) fn flows<'a>(setup: &'a Setup, run: &NetworkStatistics) -> Vec<(&'a FlowSetup, FlowTotals)> {
    let (mut flows, mut arrivals) = (run.flows.iter(), run.arrivals.iter());
    let group = |flow: &'a FlowSetup| {
        let knows_losses = flow.tcp().is_some_and(|tcp| tcp.config.quic().is_some());
        let mut totals = FlowTotals { knows_losses, ..FlowTotals::default() };
        if let TrafficSetup::Arrivals { tcp, .. } = &flow.traffic {
            let group = arrivals.next().expect("one for each entry");
            totals.add(&group.total, flow.packet_size - tcp.mss);
            totals.have_ends = true;
            totals.longest_observation = run.end.saturating_sub(flow.start.max(setup.warmup));
            totals.completion_times.extend(group.completions.iter().map(|flow| flow.completion_time));
            totals.unfinished_times.extend(group.unfinished.iter().map(|start| run.end - *start));
            return (flow, totals);
        }
        let headers = flow.tcp().map_or(0, |tcp| flow.packet_size - tcp.mss);
        for statistics in flows.by_ref().take(flow.count as usize) {
            totals.add(statistics, headers);
            if matches!(flow.traffic, TrafficSetup::Tcp(_, None) | TrafficSetup::PacedTcp(..)) {
                totals.add_bulk(setup, statistics, headers, run.duration);
            }
            if matches!(flow.traffic, TrafficSetup::Tcp(_, Some(_))) {
                totals.add_end(statistics, run.end);
            }
        }
        (flow, totals)
    };
    setup.flows.iter().map(group).collect()
}

/// Counts of several flows together, such as those of one entry.
#[derive(Default)]
pub(crate) struct FlowTotals {
    pub(crate) total: FlowStatistics,
    /// Application data that arrived for the first time, without headers, in bits.
    pub(crate) goodput_bits: f64,
    /// True if some of the flows have an end.
    have_ends: bool,
    /// Completion times of the flows that reached their end.
    pub(crate) completion_times: Vec<SimTime>,
    /// Durations of the unfinished flows, from their start to the end of the run.
    pub(crate) unfinished_times: Vec<SimTime>,
    /// Longest completion time that could have been observed by the end of the run.
    pub(crate) longest_observation: SimTime,
    /// Application data, in bits, of each bulk flow that was active in all of the measured time.
    shares: Vec<f64>,
    /// True if a bulk flow delivered nothing in the last half of the measured time.
    pub(crate) died: bool,
    /// True if the sender of at least one flow detects spurious losses (QUIC's recovery does).
    knows_losses: bool,
}

impl FlowTotals {
    /// Adds the counts of one flow; `headers` is the number of bytes of a packet that are not data.
    fn add(&mut self, flow: &FlowStatistics, headers: u32) {
        self.total.add(flow);
        self.goodput_bits += data_bits(flow, headers);
    }

    fn add_bulk(&mut self, setup: &Setup, flow: &FlowStatistics, headers: u32, duration: SimTime) {
        if flow.start <= setup.warmup {
            self.shares.push(data_bits(flow, headers));
        }
        // Nothing was delivered in the last half of the measured time.
        let half = setup.warmup + SimTime::from_nanos(duration.as_nanos() / 2);
        self.died |= flow.last_delivery < half.max(flow.start);
    }

    /// Adds the duration of a flow that has an end, in a run that ended at `end`.
    fn add_end(&mut self, flow: &FlowStatistics, end: SimTime) {
        self.have_ends = true;
        let time = end.saturating_sub(flow.start);
        match flow.completion_time {
            Some(time) => self.completion_times.push(time),
            None if time > SimTime::ZERO => self.unfinished_times.push(time),
            // The flow had not begun when the run ended.
            None => {}
        }
        self.longest_observation = self.longest_observation.max(time);
    }

    pub(crate) fn join(&mut self, other: &Self) {
        self.total.add(&other.total);
        self.goodput_bits += other.goodput_bits;
        self.have_ends |= other.have_ends;
        self.completion_times.extend(&other.completion_times);
        self.unfinished_times.extend(&other.unfinished_times);
        self.longest_observation = self.longest_observation.max(other.longest_observation);
        self.shares.extend(&other.shares);
        self.died |= other.died;
        self.knows_losses |= other.knows_losses;
    }

    /// Number of spurious losses (packets declared lost that had arrived); NaN if no sender detects them.
    pub(crate) fn spurious_losses(&self) -> f64 {
        if self.knows_losses { self.total.spurious_losses as f64 } else { f64::NAN }
    }

    /// Share of lost or dropped segments among those whose fate is known at the end of the run; NaN without such
    /// segments.
    pub(crate) fn segment_loss_rate(&self) -> f64 {
        let lost = self.total.segments_lost + self.total.queue_drops;
        lost as f64 / self.segments_with_fate() as f64
    }

    /// Number of segments that were lost, dropped or received by the end of the run.
    pub(crate) fn segments_with_fate(&self) -> u64 {
        self.total.segments_lost + self.total.queue_drops + self.total.segments_received
    }

    /// Number of segments sent on the wireless link, without those that a queue dropped or still holds.
    pub(crate) fn transmitted(&self) -> f64 {
        self.total.segments_transmitted as f64
    }

    /// Jain's index of the goodputs of the bulk flows that were active in all of the measured time; NaN for fewer than
    /// two.
    pub(crate) fn jain_fairness(&self) -> f64 {
        let shares = Some(&self.shares).filter(|shares| shares.len() > 1);
        shares.and_then(|shares| jain_fairness(shares)).unwrap_or(f64::NAN)
    }

    /// Number of transmissions of the flows' segments on the wireless link; with frames, transmissions of frames per
    /// frame.
    pub(crate) fn packet_transmissions(&self, scale: &Scale) -> f64 {
        self.transmitted() * scale.transmissions_per_packet
    }

    /// Returns `value` if some of the flows have an end, NaN otherwise.
    pub(crate) fn of_ends(&self, value: f64) -> f64 {
        if self.have_ends { value } else { f64::NAN }
    }

    /// Sum of the completion times in seconds; an unfinished flow counts with its duration so far.
    pub(crate) fn completion_sum_s(&self) -> f64 {
        self.completion_times.iter().chain(&self.unfinished_times).map(|time| time.as_secs_f64()).sum()
    }

    /// Mean completion time in seconds, unfinished flows with their duration so far; NaN without flows that have an
    /// end.
    pub(crate) fn completion_mean_s(&self) -> f64 {
        self.completion_sum_s() / (self.completion_times.len() + self.unfinished_times.len()) as f64
    }

    /// Quantile `p` of the completion times in seconds; NaN without flows that have an end, or if too many are
    /// unfinished.
    pub(crate) fn completion_quantile_s(&self, p: f64) -> f64 {
        let mut run = RunTimes::default();
        self.completion_times.iter().for_each(|time| run.ended.record(*time));
        self.unfinished_times.iter().for_each(|time| run.unended.record(*time));
        let found = pooled_quantile(&[run], p).filter(|found| !found.at_least);
        found.map_or(f64::NAN, |found| found.value)
    }
}

/// Application data of a flow that reached the receiver for the first time, in bits, without `headers` bytes a segment.
fn data_bits(flow: &FlowStatistics, headers: u32) -> f64 {
    (flow.bytes_delivered - flow.segments_delivered * u64::from(headers)) as f64 * 8.0
}

/// Divisors and factors that turn counts of flows into rates.
pub(crate) struct Scale {
    /// Measured time in seconds.
    pub(crate) seconds: f64,
    /// Measured time in slots (packet times).
    pub(crate) slots: f64,
    /// Mean number of transmissions of a frame on the wireless link; 1 without frames.
    pub(crate) transmissions_per_packet: f64,
}

impl Scale {
    pub(crate) fn new(setup: &Setup, duration: SimTime, links: &[(&str, LinkMeasured<'_>)]) -> Self {
        let [_, forward, _, _] = PATH;
        let wireless = links.iter().find(|(name, _)| *name == forward);
        let repeated = wireless.map(|(_, link)| link.of_frames(ArqStatistics::frame_transmissions_per_frame));
        Self {
            seconds: duration.as_secs_f64(),
            slots: duration.as_nanos() as f64 / setup.slot.as_nanos() as f64,
            transmissions_per_packet: repeated.filter(|times| times.is_finite()).unwrap_or(1.0),
        }
    }
}

/// Counts of a link in the measured time.
pub(crate) struct LinkMeasured<'a> {
    pub(crate) report: &'a LinkSummary,
    /// Payload bytes of a frame; `None` if the link sends whole packets.
    payload: Option<u32>,
    pub(crate) seconds: f64,
}

/// Counts of all links, by name, in the order in which packets take them.
pub(crate) fn links<'a>(setup: &Setup, run: &'a NetworkStatistics) -> Vec<(&'a str, LinkMeasured<'a>)> {
    let measured = |report: &'a LinkSummary| {
        let payload =
            hop(setup, &report.name).and_then(HopSetup::frames).map(|frames| frames.segmentation.payload);
        (report.name.as_str(), LinkMeasured { report, payload, seconds: run.duration.as_secs_f64() })
    };
    run.links.iter().map(measured).collect()
}

impl LinkMeasured<'_> {
    /// Value of a function of the link's ARQ counts; NaN for a link without frames.
    pub(crate) fn of_frames(&self, of: impl Fn(&ArqStatistics) -> f64) -> f64 {
        self.report.arq.as_ref().map_or(f64::NAN, of)
    }

    /// Number of frames that the channel lost; of packets for a link without frames.
    pub(crate) fn frame_errors(&self) -> f64 {
        let of_frames = self.of_frames(|arq| arq.frame_errors as f64);
        if of_frames.is_finite() { of_frames } else { self.report.counts.losses as f64 }
    }

    /// Number of frames transmitted, retransmissions included; of packets for a link without frames.
    pub(crate) fn frame_transmissions(&self) -> f64 {
        let of_frames = self.of_frames(|arq| (arq.frames + arq.retransmissions) as f64);
        if of_frames.is_finite() { of_frames } else { self.report.counts.transmissions as f64 }
    }

    /// Share of transmitted frames that the channel lost; of packets for a link without frames.
    pub(crate) fn frame_error_rate(&self) -> f64 {
        let of_frames = self.of_frames(ArqStatistics::frame_error_rate);
        let counts = &self.report.counts;
        if of_frames.is_finite() { of_frames } else { counts.losses as f64 / counts.transmissions as f64 }
    }

    /// Payload of the frames that the link protocol delivered, in bits; NaN without frames.
    pub(crate) fn payload_bits(&self) -> f64 {
        let bits = self.payload.map_or(f64::NAN, |bytes| f64::from(bytes) * 8.0);
        self.of_frames(|arq| arq.frames_delivered as f64 * bits)
    }

    pub(crate) fn head_of_line_delay_s(&self, p: f64) -> f64 {
        self.of_frames(|arq| quantile_s(Some(&arq.head_of_line_delay), p))
    }
}

/// Quantile `p` of a histogram of delays, in seconds; NaN without delays.
pub(crate) fn quantile_s(delays: Option<&DelayHistogram>, p: f64) -> f64 {
    let delays = delays.filter(|delays| delays.count() > 0);
    delays.and_then(|delays| delays.quantile(p)).map_or(f64::NAN, SimTime::as_secs_f64)
}
