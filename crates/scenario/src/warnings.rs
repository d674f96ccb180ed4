//! What makes a result doubtful though nothing is wrong with the scenario.

use crate::metrics::DIED;
use crate::plan::{Plan, Point};
use crate::resolve::{FlowSetup, HopSetup, LossModel, QueueModel, Setup, StopRule as PlanStop, TraceSetup};
use crate::row::Row;
use crate::scenario::Method;
use crate::schedule::{PRECISION_METRIC, precision_metric};
use crossfade_channel::Clock;
use crossfade_core::{Estimate, Method as Source, SimTime};
use crossfade_link::{FqCoDelConfig, QueueLimit, RedConfig};
use crossfade_sim::{SenderGate, StopRule};
use crossfade_transport::{RtoRule, Variant};

/// Doubts that a point of a plan raises before anything runs.
pub(crate) fn of_plan(methods: &[Method], point: &Point) -> Vec<String> {
    let refusals = methods.iter().filter_map(|&method| refusal(point, method));
    of_setup(&point.setup).into_iter().chain(refusals).collect()
}

/// The result of `method` at `point` is missing.
fn refusal(point: &Point, method: Method) -> Option<String> {
    point.refusal(method).map(|error| missing(method, &error.to_string()))
}

/// A method that has no result, and why.
pub(crate) fn missing(method: Method, why: &str) -> String {
    format!("no {}: {why}", method.name())
}

/// A chain stands for a channel that is none.
pub(crate) fn fitted(method: Method, good_runs: f64, bad_runs: f64) -> String {
    format!(
        "{} takes a chain fitted to the channel, whose run lengths differ: by up to {} in P[good run >= k] and {} \
         in P[bad run >= k]",
        method.name(),
        percent(good_runs),
        percent(bad_runs)
    )
}

/// Doubts that the scenario raises before anything runs.
pub(crate) fn of_setup(setup: &Setup) -> Vec<String> {
    let of_flow =
        |flow| [early_timeout(setup, flow).or_else(|| slow_recovery(setup, flow)), narrow_window(flow)];
    let of_flows = setup.flows.iter().flat_map(of_flow);
    let of_way = |(link, channel, hop)| {
        [
            hasty_link(link, hop),
            short_trace(setup, hop),
            short_record(setup, channel, hop),
            open_record(channel, hop),
        ]
    };
    let ways = [("link", "channel", &setup.forward), ("reverse", "reverse.channel", &setup.reverse)];
    let of_ways = ways.into_iter().flat_map(of_way);
    of_flows.chain([short_queue(setup)]).chain(of_ways).flatten().collect()
}

/// All doubts about the result of a point that stands on simulated `rows`.
pub(crate) fn of_simulation(plan: &Plan, point: &Point, rows: &[&Row]) -> Vec<String> {
    let mut warnings = of_setup(&point.setup);
    let Setup { forward, reverse, .. } = &point.setup;
    let doubts = [
        died(rows),
        without_effect("channel", &forward.loss, "frame_error_rate", rows),
        without_effect("reverse.channel", &reverse.loss, "reverse.frame_error_rate", rows),
        unfinished(plan.stop, rows),
        equal_runs(&point.setup, rows),
    ];
    warnings.extend(doubts.into_iter().flatten());
    warnings
}

/// The round trip of a flow's segment and its acknowledgement that wait for nothing.
pub(crate) fn round_trip(setup: &Setup, flow: &FlowSetup) -> SimTime {
    let ack_size = flow.tcp().map_or(0, |tcp| tcp.ack_size);
    let wireless = setup.forward.transit(setup.packet_size) + setup.reverse.transit(ack_size);
    let wired = setup
        .wired
        .as_ref()
        .map_or(SimTime::ZERO, |[there, back]| there.transit(setup.packet_size) + back.transit(ack_size));
    wireless + wired + flow.access_delay * 2
}

/// The key of a flow's TCP.
fn tcp_key(flow: &FlowSetup, key: &str) -> String {
    if flow.name.is_empty() { format!("tcp.{key}") } else { format!("flows.{}.tcp.{key}", flow.name) }
}

/// The shortest timeout that a flow's TCP may use, and its key.
fn shortest_timeout(flow: &FlowSetup) -> Option<(String, SimTime)> {
    let (key, shortest) = match flow.tcp()?.config.rto.rule {
        RtoRule::Fixed(timeout) => ("fixed", timeout),
        RtoRule::Estimated { min, initial, .. } if initial < min => ("initial", initial),
        RtoRule::Estimated { min, .. } => ("min", min),
    };
    Some((tcp_key(flow, &format!("rto.{key}")), shortest))
}

fn early_timeout(setup: &Setup, flow: &FlowSetup) -> Option<String> {
    let (key, shortest) = shortest_timeout(flow)?;
    let delay = round_trip(setup, flow);
    (shortest <= delay).then(|| {
        format!(
            "{key} ({shortest}) is at or below the ACK delay ({delay}, the round trip without \
             queueing): segments may time out that were not lost"
        )
    })
}

/// The link may take so long to repeat a lost frame that TCP repeats its segment too (RFC 3366 section 2).
fn slow_recovery(setup: &Setup, flow: &FlowSetup) -> Option<String> {
    let (key, shortest) = shortest_timeout(flow)?;
    let (link, recovery) = [("link", &setup.forward), ("reverse", &setup.reverse)]
        .map(|(link, hop)| (link, hop.longest_recovery()))
        .into_iter()
        .max_by_key(|(_, recovery)| *recovery)?;
    let longest = round_trip(setup, flow).saturating_add(recovery);
    (recovery > SimTime::ZERO && shortest <= longest).then(|| {
        format!(
            "{key} ({shortest}) is at or below the time in which {link}.arq may still repeat a lost frame \
             ({longest} with the round trip): segments may time out that were not lost"
        )
    })
}

/// A link repeats what has not had the time to be acknowledged.
fn hasty_link(link: &str, hop: &HopSetup) -> Option<String> {
    let frames = hop.frames.as_ref()?;
    let (key, patience) = frames.patience()?;
    let answer = frames.answer_time(hop.delay);
    (patience < answer).then(|| {
        format!(
            "{link}.arq.{key} ({patience}) is below the time in which an answer can come ({answer}): frames may \
             be repeated that were not lost"
        )
    })
}

/// A run outlasts the trace of a link.
fn short_trace(setup: &Setup, hop: &HopSetup) -> Option<String> {
    let (TraceSetup { schedule, key, .. }, StopRule::At(end)) = (hop.trace.as_ref()?, setup.end) else {
        return None;
    };
    let lasts = schedule.lasts();
    let consequence =
        if schedule.repeats() { "it begins again" } else { "what holds then holds for the rest" };
    (lasts > SimTime::ZERO && lasts < end)
        .then(|| format!("{key} lasts {lasts} and a run {end}: {consequence}"))
}

/// A run outlasts the recorded losses of a channel.
fn short_record(setup: &Setup, key: &str, hop: &HopSetup) -> Option<String> {
    let (LossModel::Trace { losses, clock }, StopRule::At(end)) = (&hop.loss, setup.end) else {
        return None;
    };
    let step = match clock {
        Clock::Slot(step) => *step,
        // The most that there can be.
        Clock::Transmission => hop.frames.map_or(setup.slot, |frames| frames.frame_time),
    };
    let (packets, steps) = (losses.trace.packets(), end / step);
    (packets < steps).then(|| {
        format!("{key}.file holds {packets} packets and a run has up to {steps}: the record begins again")
    })
}

/// How long a record is, it does not say.
fn open_record(key: &str, hop: &HopSetup) -> Option<String> {
    let LossModel::Trace { losses, .. } = &hop.loss else { return None };
    losses.packets_assumed.then(|| {
        format!(
            "{key}.file does not say how many packets there were: it is taken to end with its last loss (add a \
             line \"# packets N\")"
        )
    })
}

fn short_queue(setup: &Setup) -> Option<String> {
    let limit = match &setup.forward.queue {
        QueueModel::DropTail(limit) => limit.filter(|_| setup.gate == SenderGate::Queue)?,
        QueueModel::Red(RedConfig { limit, .. })
        | QueueModel::CoDel(_, limit)
        | QueueModel::FqCoDel(FqCoDelConfig { limit, .. }) => *limit,
    };
    let packets = match limit {
        QueueLimit::Packets(packets) => packets as f64,
        QueueLimit::Bytes(bytes) => bytes as f64 / f64::from(setup.packet_size),
    };
    let longest = setup.flows.iter().map(|flow| round_trip(setup, flow)).max()?;
    let product = longest.as_nanos() as f64 / setup.slot.as_nanos() as f64;
    (packets < product / 2.0).then(|| {
        format!(
            "link.queue.limit ({limit}) is below half the bandwidth-delay product \
             ({product:.1} packets)"
        )
    })
}

fn narrow_window(flow: &FlowSetup) -> Option<String> {
    let config = &flow.tcp()?.config;
    let (w_max, dupthresh) = (config.w_max, config.dupthresh);
    let [w_max_key, dupthresh_key] = ["w_max", "dupthresh"].map(|key| tcp_key(flow, key));
    (w_max <= dupthresh && config.variant != Variant::OldTahoe).then(|| {
        format!(
            "{w_max_key} ({w_max}) is not above {dupthresh_key} ({dupthresh}): \
             the window cannot trigger a fast retransmit"
        )
    })
}

fn died(rows: &[&Row]) -> Option<String> {
    let dead = rows.iter().filter(|row| row.metrics.get(DIED).is_some_and(|died| died > 0.0)).count();
    (dead > 0).then(|| {
        format!(
            "a flow died in {dead} of {} runs: nothing was delivered in the last half of the run",
            rows.len()
        )
    })
}

/// A record is the same in every run: where nothing else is drawn, the runs say nothing of the spread.
fn equal_runs(setup: &Setup, rows: &[&Row]) -> Option<String> {
    let is_record = matches!(setup.forward.loss, LossModel::Trace { .. }) || setup.forward.trace.is_some();
    let [first, others @ ..] = rows else { return None };
    let are_equal = !others.is_empty() && others.iter().all(|row| row.metrics == first.metrics);
    (is_record && are_equal).then(|| {
        format!("all {} runs are equal, nothing in them is random: intervals of 0 mean nothing", rows.len())
    })
}

/// `rate` names the metric that counts the losses of the channel `key`.
fn without_effect(key: &str, loss: &LossModel, rate: &str, rows: &[&Row]) -> Option<String> {
    let lossless = |row: &&Row| row.metrics.get(rate).is_some_and(|rate| rate == 0.0);
    // Losses of a table come with its rates, which have an effect.
    let may_lose = loss.may_lose() && !matches!(loss, LossModel::Table(_));
    (may_lose && !rows.is_empty() && rows.iter().all(lossless)).then(|| {
        let runs = if rows.len() == 1 { "the run".to_owned() } else { format!("any of {} runs", rows.len()) };
        format!("{key} had no effect on the outcome: nothing was lost in {runs}")
    })
}

fn unfinished(stop: PlanStop, rows: &[&Row]) -> Option<String> {
    let done = rows.len() as u64;
    match stop {
        PlanStop::Runs(runs) => (done < runs).then(|| format!("interrupted after {done} of {runs} runs")),
        PlanStop::Precision { relative, max_runs } => {
            let values: Vec<f64> = rows.iter().map(|row| precision_metric(row)).collect();
            if stop.is_met(&values) {
                return None;
            }
            let precision = percent(relative);
            if done < max_runs {
                return Some(format!(
                    "interrupted after {done} runs, before the precision of {precision} was reached"
                ));
            }
            let estimate = Estimate::from_runs(&values, Source::Simulation)?;
            let reached = percent(estimate.ci95? / estimate.value.abs());
            Some(format!(
                "{PRECISION_METRIC} has not reached the precision of {precision} within {max_runs} runs: \
                 it is {reached}"
            ))
        }
    }
}

/// A share for people: four significant digits.
fn percent(share: f64) -> String {
    let rounded: f64 = format!("{:.3e}", 100.0 * share).parse().unwrap_or(f64::NAN);
    format!("{rounded} %")
}
