//! From what a scenario says to what the models need: defaults filled in, ranges and contradictions checked.
//!
//! Resolving writes each default into the scenario itself, so that a scenario which spells a default out
//! and one which leaves it away become the same, and have the same results.

mod channel;
mod flow;
mod frames;
mod queue;
mod rfc;
mod tcp;
mod trace;

pub use channel::LossModel;
pub use flow::{FlowSetup, TrafficSetup};
pub use frames::{FeedbackSetup, FrameSetup};
pub use queue::QueueModel;
pub use tcp::TcpSetup;
pub use trace::TraceSetup;

use crate::error::{ScenarioError, join};
use crate::files::Files;
use crate::quantity::{Rate, Span};
use crate::scenario::{Channel, ChannelModel, Link, Method, Queue, Reverse, Run, Scenario, Wired};
use crossfade_core::SimTime;
use crossfade_sim::{SenderGate, StopRule as End};
use frames::{Carrier, FrameKeys};
use serde_json::Value;

/// A scenario in the terms of the models. All times are absolute.
#[derive(Clone, Debug)]
pub struct Setup {
    /// The time to transmit a data packet.
    pub slot: SimTime,
    /// Bytes of a data packet on the wire.
    pub packet_size: u32,
    /// Who sends: at least one.
    pub flows: Vec<FlowSetup>,
    /// How senders meet the first link.
    pub gate: SenderGate,
    /// The wired segment before the wireless link, and on the way back.
    pub wired: Option<[HopSetup; 2]>,
    /// The wireless link, on the way of the data.
    pub forward: HopSetup,
    /// The wireless link, on the way of the acknowledgements.
    pub reverse: HopSetup,
    /// What happens before is not counted.
    pub warmup: SimTime,
    /// When a run ends.
    pub end: End,
}

impl Setup {
    /// The TCP of the only flow, if that is a connection without end.
    pub fn only_bulk_tcp(&self) -> Option<&TcpSetup> {
        match self.flows.as_slice() {
            [FlowSetup { count: 1, traffic: TrafficSetup::Tcp(tcp, None), .. }] => Some(tcp),
            _ => None,
        }
    }
}

/// One way between sender and receiver.
#[derive(Clone, Debug)]
pub struct HopSetup {
    /// Bit rate in bit/s, of a trace its mean; `None` takes no time to transmit.
    pub rate_bps: Option<f64>,
    /// Propagation delay.
    pub delay: SimTime,
    /// What waits, and what is dropped.
    pub queue: QueueModel,
    /// Which packets, or frames, are lost.
    pub loss: LossModel,
    /// How packets become frames, if they do.
    pub frames: Option<FrameSetup>,
    /// What its capacity follows, if that changes.
    pub trace: Option<TraceSetup>,
}

impl HopSetup {
    /// How long a packet of `bytes` takes that waits for nothing and loses nothing.
    pub fn transit(&self, bytes: u32) -> SimTime {
        let transmission = match (&self.frames, self.rate_bps) {
            (Some(frames), _) => frames.time_for(bytes),
            (None, Some(rate_bps)) => SimTime::to_transmit(bytes, rate_bps),
            (None, None) => SimTime::ZERO,
        };
        self.delay + transmission
    }

    /// For how long frames may be repeated; zero where they are not.
    pub(crate) fn longest_recovery(&self) -> SimTime {
        self.frames.map_or(SimTime::ZERO, |frames| frames.longest_recovery(self.loss.rate()))
    }

    /// The time in which a packet of `bytes` can follow another at best; `None` without a rate.
    pub(crate) fn shortest_transmission(&self, bytes: u32) -> Option<SimTime> {
        let bytes = self.frames.as_ref().map_or(bytes, |frames| frames.on_air_bytes(bytes));
        let peak_bps = self.trace.as_ref().map(|trace| trace.schedule.peak_rate_bps());
        peak_bps.or(self.rate_bps).map(|rate_bps| SimTime::to_transmit(bytes, rate_bps))
    }
}

/// When there are enough runs of a point.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum StopRule {
    /// After so many.
    Runs(u64),
    /// When the 95 % interval of `goodput_bps` is at most `relative` of its value on either side, after at
    /// least 10 runs.
    Precision {
        /// The half-width of the interval over the value.
        relative: f64,
        /// Give up after so many.
        max_runs: u64,
    },
}

/// Times of a scenario end here: far enough for any experiment, and sums of many of them fit [`SimTime`].
const LONGEST: SimTime = SimTime::from_millis(100 * 24 * 3600 * 1000);

/// A packet takes at most this long to transmit, so that a queue of the largest window still fits
/// [`SimTime`].
const LONGEST_SLOT: SimTime = SimTime::from_millis(3600 * 1000);

/// Fills in the defaults of `scenario` and gives its model objects.
///
/// # Errors
/// What is missing, out of range or contradictory.
pub(crate) fn resolve(scenario: &mut Scenario, files: &Files<'_>) -> Result<Setup, ScenarioError> {
    check_methods(scenario)?;
    let trace = scenario.link.trace.resolve("link.trace", files)?;
    let link = &scenario.link;
    let rate = match (&trace, link.rate) {
        (Some(trace), None) => Rate(trace.mean_rate_bps),
        (Some(trace), Some(_)) => {
            return Err(ScenarioError::contradiction("link.rate", &trace.key, "the trace has the rates"));
        }
        (None, Some(rate)) => rate,
        (None, None) => {
            return Err(ScenarioError::missing("link.rate", "a bit rate such as \"1.5 Mbit/s\""));
        }
    };
    let packet_size = link
        .packet_size
        .ok_or_else(|| ScenarioError::missing("link.packet_size", "a size such as \"1400 B\""))?;
    if packet_size.0 == 0 {
        return Err(ScenarioError::key("link.packet_size = \"0 B\"", "must be at least 1 B"));
    }
    let slot = SimTime::to_transmit(packet_size.0, rate.0);
    if slot > LONGEST_SLOT {
        return Err(ScenarioError::value(
            "link.rate",
            &json(rate),
            "too slow: a packet would take more than 1 h",
        ));
    }
    let flows = resolve_flows(scenario, packet_size.0, slot)?;
    let forward = scenario.link.resolve(&mut scenario.channel, trace, packet_size.0, slot, files)?;
    let longest_ack = flows.iter().filter_map(FlowSetup::tcp).map(TcpSetup::longest_ack).max().unwrap_or(0);
    let reverse = scenario.reverse.resolve(longest_ack, packet_size.0, slot, files)?;
    let wired = scenario.wired.resolve(packet_size.0.max(longest_ack), slot)?;
    let (warmup, end) = scenario.run.resolve(slot)?;
    if matches!(end, End::Delivered(_)) {
        refuse_endless(&flows, &forward, &reverse)?;
    }
    let gate = flows[0].tcp().map_or(SenderGate::Queue, |tcp| tcp.gate);
    Ok(Setup { slot, packet_size: packet_size.0, flows, gate, wired, forward, reverse, warmup, end })
}

/// More flows than this take more memory than a laptop has.
const MOST_FLOWS: u32 = 100_000;

fn resolve_flows(
    scenario: &mut Scenario,
    packet_size: u32,
    slot: SimTime,
) -> Result<Vec<FlowSetup>, ScenarioError> {
    let link = &scenario.link;
    // A hop of whole packets at a constant rate: a sender can wait for its slots.
    let one_hop = scenario.wired.is_absent() && link.frame_size.is_none() && link.trace.is_absent();
    if scenario.flows.is_empty() {
        let tcp = scenario.tcp.resolve(packet_size, slot, one_hop)?;
        return Ok(vec![FlowSetup::bulk(tcp)]);
    }
    let alone = one_hop && scenario.flows.len() == 1;
    let mut flows = Vec::new();
    for (name, flow) in &mut scenario.flows {
        if name.is_empty() || !name.chars().all(|c| c.is_ascii_alphanumeric() || c == '-' || c == '_') {
            let problem = "a flow's name has letters, digits, - and _";
            return Err(ScenarioError::key(format!("flows.{name:?}"), problem));
        }
        flows.push(flow.resolve(name, &scenario.tcp, packet_size, slot, alone)?);
    }
    let total = flows.iter().fold(0_u32, |sum, flow| sum.saturating_add(flow.count));
    if total > MOST_FLOWS {
        let problem = format!("{total} flows are too many; at most {MOST_FLOWS} are allowed");
        return Err(ScenarioError::key("flows", problem));
    }
    Ok(flows)
}

const AVAILABLE: &str =
    "available: analysis, analysis:bounds, analysis:paper-bounds, formula, formula:square-root, simulation";

fn check_methods(scenario: &mut Scenario) -> Result<(), ScenarioError> {
    let methods = scenario.methods.get_or_insert_with(|| vec![Method::Simulation]);
    if methods.is_empty() {
        return Err(ScenarioError::key("methods = []", format!("must name at least one; {AVAILABLE}")));
    }
    if let Some(other) = methods.iter().find(|&&method| method == Method::Live) {
        return Err(ScenarioError::value("methods", &json(other), format!("not available yet; {AVAILABLE}")));
    }
    for method in methods.iter_mut().filter(|method| **method == Method::Analysis) {
        *method = Method::AnalysisExact;
    }
    let mut seen = Vec::new();
    methods.retain(|method| {
        !seen.contains(method) && {
            seen.push(*method);
            true
        }
    });
    match &scenario.title {
        Some(title) if title.contains(char::is_control) => {
            Err(ScenarioError::value("title", &json(title), "must be one line"))
        }
        _ => Ok(()),
    }
}

/// Long enough that the start of a connection does not show, short enough for a first look: milliseconds a
/// run.
const DEFAULT_DURATION: Span = Span::slots(100_000.0);

impl Run {
    fn resolve(&mut self, slot: SimTime) -> Result<(SimTime, End), ScenarioError> {
        let warmup = time("run.warmup", *self.warmup.get_or_insert(Span::ZERO), slot)?;
        match (self.duration, self.segments) {
            (Some(_), Some(_)) => {
                let reason = "a run ends at one of the two";
                Err(ScenarioError::contradiction("run.segments", "run.duration", reason))
            }
            (None, Some(segments)) => Ok((warmup, End::Delivered(segments))),
            (given, None) => {
                let duration = *self.duration.insert(given.unwrap_or(DEFAULT_DURATION));
                let end = time("run.duration", duration, slot)?;
                if end < slot {
                    let problem = format!("must be at least a slot ({slot})");
                    return Err(ScenarioError::value("run.duration", &json(duration), problem));
                }
                if warmup >= end {
                    let problem = format!("must be shorter than run.duration ({duration})");
                    return Err(ScenarioError::value("run.warmup", &json(self.warmup), problem));
                }
                Ok((warmup, End::At(end)))
            }
        }
    }

    /// Fills in the defaults of the stop rule and the seed.
    pub(crate) fn resolve_stop(&mut self) -> Result<(StopRule, u64), ScenarioError> {
        let seed = *self.seed.get_or_insert(1);
        let Some(precision) = self.precision else {
            if self.max_runs.is_some() {
                return Err(ScenarioError::key("run.max_runs", "needs run.precision"));
            }
            return Ok((StopRule::Runs(*self.runs.get_or_insert(10)), seed));
        };
        if self.runs.is_some() {
            let reason = "give one of the two (run.max_runs limits run.precision)";
            return Err(ScenarioError::contradiction("run.runs", "run.precision", reason));
        }
        if precision.0 == 0.0 || precision.0 == 1.0 {
            let problem = "must be above 0 and below 1, such as \"1 %\"";
            return Err(ScenarioError::value("run.precision", &json(precision), problem));
        }
        let max_runs = *self.max_runs.get_or_insert(1000);
        Ok((StopRule::Precision { relative: precision.0, max_runs }, seed))
    }
}

impl Link {
    fn resolve(
        &mut self,
        channel: &mut Channel,
        trace: Option<TraceSetup>,
        packet_size: u32,
        slot: SimTime,
        files: &Files<'_>,
    ) -> Result<HopSetup, ScenarioError> {
        let Self { rate, delay, queue, frame_size, framing, headers, arq, .. } = self;
        let hop = HopKeys {
            table: "link",
            channel_table: "channel",
            rate: *rate,
            delay,
            queue,
            frames: FrameKeys { frame_size: *frame_size, framing, headers, arq },
            channel,
        };
        hop.resolve(trace, [packet_size, packet_size], slot, files)
    }
}

impl Reverse {
    fn resolve(
        &mut self,
        longest_ack: u32,
        packet_size: u32,
        slot: SimTime,
        files: &Files<'_>,
    ) -> Result<HopSetup, ScenarioError> {
        let trace = self.trace.resolve("reverse.trace", files)?;
        if let (Some(trace), Some(_)) = (&trace, self.rate) {
            return Err(ScenarioError::contradiction("reverse.rate", &trace.key, "the trace has the rates"));
        }
        if let Some(rate) = self.rate
            && SimTime::to_transmit(longest_ack, rate.0) > LONGEST_SLOT
        {
            let problem = "too slow: an acknowledgement would take more than 1 h";
            return Err(ScenarioError::value("reverse.rate", &json(rate), problem));
        }
        self.channel.model.get_or_insert(ChannelModel::None);
        let Self { rate, delay, queue, frame_size, framing, headers, arq, channel, .. } = self;
        let hop = HopKeys {
            table: "reverse",
            channel_table: "reverse.channel",
            rate: *rate,
            delay,
            queue,
            frames: FrameKeys { frame_size: *frame_size, framing, headers, arq },
            channel,
        };
        hop.resolve(trace, [longest_ack, packet_size], slot, files)
    }
}

/// The keys that the links of both ways have.
struct HopKeys<'a> {
    table: &'a str,
    channel_table: &'a str,
    rate: Option<Rate>,
    delay: &'a mut Option<Span>,
    queue: &'a mut Queue,
    frames: FrameKeys<'a>,
    channel: &'a mut Channel,
}

impl HopKeys<'_> {
    /// Fills in the defaults of a link whose queue is to hold packets of `packet_size`, where the largest that
    /// it carries are of `largest`.
    fn resolve(
        self,
        trace: Option<TraceSetup>,
        [largest_packet, packet_size]: [u32; 2],
        slot: SimTime,
        files: &Files<'_>,
    ) -> Result<HopSetup, ScenarioError> {
        let key = |name: &str| join(self.table, name);
        if let (Some(trace), true) = (&trace, self.frames.frame_size.is_some()) {
            let reason = "frames need a constant rate";
            return Err(ScenarioError::contradiction(&key("frame_size"), &trace.key, reason));
        }
        let rate_bps = trace.as_ref().map(|trace| trace.mean_rate_bps).or(self.rate.map(|rate| rate.0));
        let delay = time(&key("delay"), *self.delay.get_or_insert(Span::ZERO), slot)?;
        let carrier = Carrier { table: self.table, rate: self.rate, delay, largest_packet, slot };
        let frames = self.frames.resolve(&carrier)?;
        let queue = self.queue.resolve(&key("queue"), rate_bps, packet_size, slot)?;
        if frames.is_some() && !matches!(queue, QueueModel::DropTail(_)) {
            let reason = "the queue of a link with frames is drop-tail";
            return Err(ScenarioError::contradiction(&key("queue.discipline"), &key("frame_size"), reason));
        }
        let loss = match trace.as_ref().and_then(TraceSetup::table) {
            None => {
                let frame_time = frames.map(|frames| frames.frame_time);
                self.channel.resolve(self.channel_table, slot, frame_time, files)?
            }
            Some(table) => {
                if *self.channel.model.get_or_insert(ChannelModel::None) != ChannelModel::None {
                    let (model, trace) = (join(self.channel_table, "model"), key("trace"));
                    return Err(ScenarioError::contradiction(&model, &trace, "the table has the losses"));
                }
                self.channel.resolve(self.channel_table, slot, None, files)?;
                LossModel::Table(table.clone())
            }
        };
        Ok(HopSetup { rate_bps, delay, queue, loss, frames, trace })
    }
}

impl Wired {
    /// The segment on the way of the data and on the way back, if there is one.
    fn resolve(
        &mut self,
        longest_packet: u32,
        slot: SimTime,
    ) -> Result<Option<[HopSetup; 2]>, ScenarioError> {
        if self.is_absent() {
            return Ok(None);
        }
        if let Some(rate) = self.rate
            && SimTime::to_transmit(longest_packet, rate.0) > LONGEST_SLOT
        {
            let problem = "too slow: a packet would take more than 1 h";
            return Err(ScenarioError::value("wired.rate", &json(rate), problem));
        }
        let delay = match (self.one_way_delay, self.rtt) {
            (Some(_), Some(_)) => {
                let reason = "the round trip is twice the delay";
                return Err(ScenarioError::contradiction("wired.rtt", "wired.one_way_delay", reason));
            }
            (None, Some(rtt)) => SimTime::from_nanos(time("wired.rtt", rtt, slot)?.as_nanos() / 2),
            (one_way, None) => time("wired.one_way_delay", one_way.unwrap_or(Span::ZERO), slot)?,
        };
        // Two ways to say one thing are one run.
        (self.rtt, self.one_way_delay) = (None, Some(Span::exactly(delay)));
        let rate_bps = self.rate.map(|rate| rate.0);
        let queue = self.queue.resolve("wired.queue", rate_bps, longest_packet, slot)?;
        let hop =
            |queue| HopSetup { rate_bps, delay, queue, loss: LossModel::Lossless, frames: None, trace: None };
        Ok(Some([hop(queue), hop(QueueModel::DropTail(None))]))
    }
}

/// A run that waits for segments would never end on a channel that lets none through.
fn refuse_endless(flows: &[FlowSetup], forward: &HopSetup, reverse: &HopSetup) -> Result<(), ScenarioError> {
    if !flows.iter().any(|flow| matches!(flow.traffic, TrafficSetup::Tcp(_, None))) {
        let reason = "without a bulk flow the segments may never come; use run.duration";
        return Err(ScenarioError::contradiction("run.segments", "flows", reason));
    }
    for (key, hop) in [("channel", forward), ("reverse.channel", reverse)] {
        if hop.loss.ends_in_loss() {
            let reason =
                "in the long run this channel loses everything, so the run might never end; use run.duration";
            return Err(ScenarioError::contradiction("run.segments", key, reason));
        }
    }
    Ok(())
}

/// The absolute time of the span at `key`.
fn time(key: &str, span: Span, slot: SimTime) -> Result<SimTime, ScenarioError> {
    let time = span.0.resolve(slot);
    if time > LONGEST {
        return Err(ScenarioError::value(key, &json(span), "must be at most 100 days"));
    }
    Ok(time)
}

/// The same, and longer than nothing.
fn positive_time(key: &str, span: Span, slot: SimTime) -> Result<SimTime, ScenarioError> {
    match time(key, span, slot)? {
        SimTime::ZERO => Err(ScenarioError::value(key, &json(span), "must be longer than 0 s")),
        time => Ok(time),
    }
}

/// A value of the scenario as it stands in messages.
fn json(value: impl serde::Serialize) -> Value {
    serde_json::to_value(value).unwrap_or_default()
}
