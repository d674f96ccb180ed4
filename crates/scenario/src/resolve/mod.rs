//! From what a scenario says to what the models need: defaults filled in, ranges and contradictions checked.
//!
//! Resolving writes each default into the scenario itself, so that a scenario which spells a default out
//! and one which leaves it away become the same, and have the same results.

mod channel;
mod tcp;

pub use channel::LossModel;

use crate::error::ScenarioError;
use crate::quantity::{PacketLimit, Span};
use crate::scenario::{Link, Method, Queue, Reverse, Run, Scenario};
use crossfade_core::SimTime;
use crossfade_sim::{SenderGate, StopRule as End};
use crossfade_transport::TcpConfig;
use serde_json::Value;

/// A scenario in the terms of the models. All times are absolute.
#[derive(Clone, Debug)]
pub struct Setup {
    /// The time to transmit a data packet.
    pub slot: SimTime,
    /// Both ends of the connection.
    pub tcp: TcpConfig,
    /// How the sender meets its link.
    pub gate: SenderGate,
    /// Bytes of application data in a segment.
    pub mss: u32,
    /// Bytes of a data packet on the wire.
    pub packet_size: u32,
    /// Bytes of an acknowledgement on the wire, without SACK blocks.
    pub ack_size: u32,
    /// Bytes that each SACK block adds to an acknowledgement.
    pub sack_block_size: u32,
    /// The way of the data.
    pub forward: HopSetup,
    /// The way of the acknowledgements.
    pub reverse: HopSetup,
    /// What happens before is not counted.
    pub warmup: SimTime,
    /// When a run ends.
    pub end: End,
}

/// One way between sender and receiver.
#[derive(Clone, Debug)]
pub struct HopSetup {
    /// Bit rate in bit/s; `None` takes no time to transmit.
    pub rate_bps: Option<f64>,
    /// Propagation delay.
    pub delay: SimTime,
    /// How many packets the queue holds; `None` is without limit.
    pub queue_limit: Option<u32>,
    /// Which packets are lost.
    pub loss: LossModel,
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

/// RFC 2018 section 3: an acknowledgement has room for four blocks.
const MOST_SACK_BLOCKS: u32 = 4;

/// Fills in the defaults of `scenario` and gives its model objects.
///
/// # Errors
/// What is missing, out of range or contradictory.
pub(crate) fn resolve(scenario: &mut Scenario) -> Result<Setup, ScenarioError> {
    check_methods(scenario)?;
    let link = &scenario.link;
    let rate =
        link.rate.ok_or_else(|| ScenarioError::missing("link.rate", "a bit rate such as \"1.5 Mbit/s\""))?;
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
    let tcp = scenario.tcp.resolve(packet_size.0, slot)?;
    let forward = scenario.link.resolve(&mut scenario.channel, slot)?;
    // Sizes are below 64 KiB each.
    let longest_ack = tcp.ack_size + MOST_SACK_BLOCKS * tcp.sack_block_size;
    let reverse = scenario.reverse.resolve(longest_ack, slot)?;
    let (warmup, end) = scenario.run.resolve(slot)?;
    if matches!(end, End::Delivered(_)) {
        refuse_endless(&forward, &reverse)?;
    }
    Ok(Setup {
        slot,
        tcp: tcp.config,
        gate: tcp.gate,
        mss: tcp.mss,
        packet_size: packet_size.0,
        ack_size: tcp.ack_size,
        sack_block_size: tcp.sack_block_size,
        forward,
        reverse,
        warmup,
        end,
    })
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
        channel: &mut crate::scenario::Channel,
        slot: SimTime,
    ) -> Result<HopSetup, ScenarioError> {
        Ok(HopSetup {
            rate_bps: self.rate.map(|rate| rate.0),
            delay: time("link.delay", *self.delay.get_or_insert(Span::ZERO), slot)?,
            queue_limit: self.queue.resolve(),
            loss: channel.resolve("channel", slot)?,
        })
    }
}

impl Reverse {
    fn resolve(&mut self, longest_ack: u32, slot: SimTime) -> Result<HopSetup, ScenarioError> {
        if let Some(rate) = self.rate
            && SimTime::to_transmit(longest_ack, rate.0) > LONGEST_SLOT
        {
            let problem = "too slow: an acknowledgement would take more than 1 h";
            return Err(ScenarioError::value("reverse.rate", &json(rate), problem));
        }
        self.channel.model.get_or_insert(crate::scenario::ChannelModel::None);
        Ok(HopSetup {
            rate_bps: self.rate.map(|rate| rate.0),
            delay: time("reverse.delay", *self.delay.get_or_insert(Span::ZERO), slot)?,
            queue_limit: self.queue.resolve(),
            loss: self.channel.resolve("reverse.channel", slot)?,
        })
    }
}

impl Queue {
    fn resolve(&mut self) -> Option<u32> {
        self.limit.get_or_insert(PacketLimit(None)).0
    }
}

/// A run that waits for segments would never end on a channel that lets none through.
fn refuse_endless(forward: &HopSetup, reverse: &HopSetup) -> Result<(), ScenarioError> {
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
