//! What makes a result doubtful though nothing is wrong with the scenario.

use crate::metrics::DIED;
use crate::plan::{Plan, Point};
use crate::resolve::{FlowSetup, HopSetup, LossModel, QueueModel, Setup, StopRule};
use crate::row::Row;
use crate::scenario::Method;
use crate::schedule::{PRECISION_METRIC, precision_metric};
use crossfade_core::{Estimate, Method as Source, SimTime};
use crossfade_link::{FqCoDelConfig, QueueLimit, RedConfig};
use crossfade_sim::SenderGate;
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
    let of_flow = |flow| [early_timeout(setup, flow), narrow_window(flow)];
    let of_flows = setup.flows.iter().flat_map(of_flow);
    of_flows.chain([short_queue(setup)]).flatten().collect()
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
    ];
    warnings.extend(doubts.into_iter().flatten());
    warnings
}

/// The round trip of a flow's segment and its acknowledgement that wait for nothing.
pub(crate) fn round_trip(setup: &Setup, flow: &FlowSetup) -> SimTime {
    let ack_size = flow.tcp().map_or(0, |tcp| tcp.ack_size);
    let over = |hop: &HopSetup, bytes| {
        hop.delay + hop.rate_bps.map_or(SimTime::ZERO, |rate| SimTime::to_transmit(bytes, rate))
    };
    let wireless = over(&setup.forward, setup.packet_size) + over(&setup.reverse, ack_size);
    let wired = setup
        .wired
        .as_ref()
        .map_or(SimTime::ZERO, |[there, back]| over(there, setup.packet_size) + over(back, ack_size));
    wireless + wired + flow.access_delay * 2
}

/// The key of a flow's TCP.
fn tcp_key(flow: &FlowSetup, key: &str) -> String {
    if flow.name.is_empty() { format!("tcp.{key}") } else { format!("flows.{}.tcp.{key}", flow.name) }
}

fn early_timeout(setup: &Setup, flow: &FlowSetup) -> Option<String> {
    let (key, shortest) = match flow.tcp()?.config.rto.rule {
        RtoRule::Fixed(timeout) => ("fixed", timeout),
        RtoRule::Estimated { min, initial, .. } if initial < min => ("initial", initial),
        RtoRule::Estimated { min, .. } => ("min", min),
    };
    let key = tcp_key(flow, &format!("rto.{key}"));
    let delay = round_trip(setup, flow);
    (shortest <= delay).then(|| {
        format!(
            "{key} ({shortest}) is at or below the ACK delay ({delay}, the round trip without \
             queueing): segments may time out that were not lost"
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

/// `rate` names the metric that counts the losses of the channel `key`.
fn without_effect(key: &str, loss: &LossModel, rate: &str, rows: &[&Row]) -> Option<String> {
    let lossless = |row: &&Row| row.metrics.get(rate).is_some_and(|rate| rate == 0.0);
    (loss.may_lose() && !rows.is_empty() && rows.iter().all(lossless)).then(|| {
        let runs = if rows.len() == 1 { "the run".to_owned() } else { format!("any of {} runs", rows.len()) };
        format!("{key} had no effect on the outcome: nothing was lost in {runs}")
    })
}

fn unfinished(stop: StopRule, rows: &[&Row]) -> Option<String> {
    let done = rows.len() as u64;
    match stop {
        StopRule::Runs(runs) => (done < runs).then(|| format!("interrupted after {done} of {runs} runs")),
        StopRule::Precision { relative, max_runs } => {
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
