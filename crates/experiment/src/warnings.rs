//! Warnings: reasons to doubt a result of a valid scenario.

use crate::methods::solver;
use crate::metrics::DIED;
use crate::networks::{self, percent};
use crate::parts::{FLOW, Part};
use crate::row::Row;
use crossfade_channel::LossConfig;
use crossfade_core::{Estimate, MethodKind, SimTime};
use crossfade_scenario::{End, FlowSetup, Method, Point, Setup, StopRule, TrafficSetup};
use crossfade_transport::{RtoRule, SenderConfig, Variant};

/// Warnings about a point of a plan before any run.
pub(crate) fn of_plan(methods: &[Method], point: &Point) -> Vec<String> {
    let refusals = methods.iter().filter_map(|&method| refusal(point, method));
    let of_live = methods.contains(&Method::Live).then(|| estimated_timeout(&point.setup)).flatten();
    of_setup(&point.setup).into_iter().chain(of_live).chain(refusals).collect()
}

/// Warning that the kernel, which has no constant timeout, takes `rto.fixed` as its least timeout.
fn estimated_timeout(setup: &Setup) -> Option<String> {
    let fixed = setup.flows.iter().find_map(|flow| match flow.tcp()?.config.tcp()?.rto.rule {
        RtoRule::Fixed(timeout) => Some((tcp_key(flow, "rto.fixed"), timeout)),
        RtoRule::Estimated { .. } => None,
    });
    fixed.map(|(key, timeout)| {
        format!(
            "{key} ({timeout}): method live has it as the kernel's least timeout, which adds its round trip"
        )
    })
}

/// Warning that `method` gives no result at `point`; `None` if it can solve it.
fn refusal(point: &Point, method: Method) -> Option<String> {
    solver(method).refusal(point).map(|error| missing(method, &error.to_string()))
}

/// Text of the warning that `method` has no result for the reason `why`.
pub(crate) fn missing(method: Method, why: &str) -> String {
    format!("no {}: {why}", method.name())
}

/// Warning that the analysis takes a fitted Markov chain for the channel, with the distances of its run lengths.
pub(crate) fn fitted(method: Method, good_runs: f64, bad_runs: f64) -> String {
    format!(
        "{} takes a chain fitted to the channel, whose run lengths differ: by up to {} in P[good run >= k] and {} \
         in P[bad run >= k]",
        method.name(),
        percent(good_runs),
        percent(bad_runs)
    )
}

/// Warning that a flow was added by an override and is not named in the scenario's file: possibly a misspelt name.
pub(crate) fn new_flow(name: &str, first: &Point) -> String {
    let others = first.setup.flows.iter().map(|flow| flow.name.as_str());
    let others: Vec<&str> = others.filter(|other| *other != name).collect();
    let beside = if others.is_empty() { "no other flow".to_owned() } else { others.join(", ") };
    format!("flows.{name} is a new flow: the scenario itself does not name it (beside it there is {beside})")
}

/// Warnings that a scenario raises before any run.
pub(crate) fn of_setup(setup: &Setup) -> Vec<String> {
    let of_flow = |flow| {
        [
            early_timeout(setup, flow).or_else(|| slow_recovery(setup, flow)),
            narrow_window(flow),
            short_record(setup, flow),
        ]
    };
    let of_flows = setup.flows.iter().flat_map(of_flow);
    of_flows.flatten().chain(networks::of(setup).warnings(setup)).collect()
}

/// All warnings about the result of a point by a random method, whose rows are `rows`.
pub(crate) fn of_runs(stop: &StopRule, point: &Point, method: Method, rows: &[&Row]) -> Vec<String> {
    if method == Method::Phy {
        // Method phy uses only the physical layer of the scenario, so warnings about the rest do not apply.
        return unfinished(stop, rows).into_iter().collect();
    }
    let mut warnings = of_setup(&point.setup);
    if method == Method::Live {
        warnings.extend(estimated_timeout(&point.setup));
    }
    warnings.extend(died(&point.setup, rows));
    warnings.extend(unfinished_flows(rows));
    warnings.extend(networks::of(&point.setup).warnings_of_runs(&point.setup, rows));
    warnings.extend(networks::of_network_runs(&point.setup, rows));
    warnings.extend(unfinished(stop, rows));
    warnings.extend(rare_timeouts(stop, rows));
    warnings.extend(equal_runs(&point.setup, rows));
    warnings
}

/// Warning that a run outlasts the recorded packets of a flow.
fn short_record(setup: &Setup, flow: &FlowSetup) -> Option<String> {
    let (TrafficSetup::Recorded(record), End::At(end)) = (&flow.traffic, setup.end) else { return None };
    let lasts = record.period().unwrap_or(record.last_time());
    let consequence =
        if record.period().is_some() { "it begins again" } else { "nothing is sent from there on" };
    let name = &flow.name;
    (flow.start.saturating_add(lasts) < end)
        .then(|| format!("flows.{name}.record lasts {lasts} and a run {end}: {consequence}"))
}

/// Full name of the key `key` of a flow's TCP table.
fn tcp_key(flow: &FlowSetup, key: &str) -> String {
    if flow.name.is_empty() { format!("tcp.{key}") } else { format!("flows.{}.tcp.{key}", flow.name) }
}

/// Shortest timeout that a flow's TCP may use, with its key; `None` for QUIC's recovery, which has no fixed least
/// timeout.
fn shortest_timeout(flow: &FlowSetup) -> Option<(String, SimTime)> {
    // QUIC's recovery has no shortest timeout.
    let (key, shortest) = match flow.tcp()?.config.tcp()?.rto.rule {
        RtoRule::Fixed(timeout) => ("fixed", timeout),
        RtoRule::Estimated { min, initial, .. } if initial < min => ("initial", initial),
        RtoRule::Estimated { min, .. } => ("min", min),
    };
    Some((tcp_key(flow, &format!("rto.{key}")), shortest))
}

fn early_timeout(setup: &Setup, flow: &FlowSetup) -> Option<String> {
    let (key, shortest) = shortest_timeout(flow)?;
    let delay = setup.round_trip(flow);
    (shortest <= delay).then(|| {
        format!(
            "{key} ({shortest}) is at or below the ACK delay ({delay}, the round trip without \
             queueing): segments may time out that were not lost"
        )
    })
}

/// Warning that the link may retransmit a lost frame for so long that TCP retransmits its segment too (RFC 3366 section
/// 2).
fn slow_recovery(setup: &Setup, flow: &FlowSetup) -> Option<String> {
    let (key, shortest) = shortest_timeout(flow)?;
    let links = setup.network.wireless_links();
    let (link, recovery) = links
        .iter()
        .map(|link| (link.table, link.hop.longest_recovery()))
        .max_by_key(|(_, recovery)| *recovery)?;
    let longest = setup.round_trip(flow).saturating_add(recovery);
    (recovery > SimTime::ZERO && shortest <= longest).then(|| {
        format!(
            "{key} ({shortest}) is at or below the time in which {link}.arq may still repeat a lost frame \
             ({longest} with the round trip): segments may time out that were not lost"
        )
    })
}

fn narrow_window(flow: &FlowSetup) -> Option<String> {
    let config = &flow.tcp()?.config;
    let (threshold, dupthresh) = match config {
        SenderConfig::Quic(quic) => ("quic.packet_threshold", quic.packet_threshold),
        SenderConfig::Tcp(tcp) if tcp.variant == Variant::OldTahoe => return None,
        SenderConfig::Tcp(tcp) => ("dupthresh", tcp.dupthresh.into()),
    };
    let w_max = u64::from(config.w_max());
    let [w_max_key, dupthresh_key] = ["w_max", threshold].map(|key| tcp_key(flow, key));
    (w_max <= dupthresh).then(|| {
        format!(
            "{w_max_key} ({w_max}) is not above {dupthresh_key} ({dupthresh}): \
             the window cannot trigger a fast retransmit"
        )
    })
}

/// Warnings of flows that delivered nothing in the last half of a run, by name if flows have names.
fn died(setup: &Setup, rows: &[&Row]) -> Vec<String> {
    let runs =
        |key: &str| rows.iter().filter(|row| row.metrics.get(key).is_some_and(|died| died > 0.0)).count();
    let told = |who: &str, dead: usize| {
        format!(
            "{who} died in {dead} of {} runs: nothing was delivered in the last half of the run",
            rows.len()
        )
    };
    let named: Vec<String> = setup
        .flows
        .iter()
        .filter(|flow| !flow.name.is_empty())
        .map(|flow| (&flow.name, runs(&Part::new(FLOW, &flow.name).key(DIED))))
        .filter(|(_, dead)| *dead > 0)
        .map(|(name, dead)| told(&format!("flow {name}"), dead))
        .collect();
    match runs(DIED) {
        0 => Vec::new(),
        dead if named.is_empty() => {
            vec![told(if setup.flows.len() == 1 { "the flow" } else { "a flow" }, dead)]
        }
        _ => named,
    }
}

/// Warning that flows were unfinished at the end of runs, so that completion times are lower bounds.
fn unfinished_flows(rows: &[&Row]) -> Option<String> {
    let of = |name: &str| rows.iter().filter_map(|row| row.metrics.get(name)).collect::<Vec<f64>>();
    let unfinished = of("flows_unfinished");
    let [left, done]: [f64; 2] = [unfinished.iter().sum(), of("flows_completed").iter().sum()];
    let runs = unfinished.iter().filter(|left| **left > 0.0).count();
    (left > 0.0).then(|| {
        format!(
            "{left} of {} flows were unfinished when the run ended, in {runs} of {} runs: completion times are at least as \
             long as is said (a longer run.duration would tell)",
            left + done,
            rows.len()
        )
    })
}

/// Warning that all runs are equal, since a record is the same in every run: intervals of 0 then mean nothing.
fn equal_runs(setup: &Setup, rows: &[&Row]) -> Option<String> {
    let forward = setup.links().map(|links| &links.forward);
    let is_sent = setup.flows.iter().any(|flow| matches!(flow.traffic, TrafficSetup::Recorded(_)));
    let is_record = is_sent
        || forward
            .is_some_and(|hop| matches!(hop.loss(), Some(LossConfig::Trace { .. })) || hop.trace().is_some());
    let [first, others @ ..] = rows else { return None };
    let are_equal = !others.is_empty() && others.iter().all(|row| row.metrics == first.metrics);
    (is_record && are_equal).then(|| {
        format!("all {} runs are equal, nothing in them is random: intervals of 0 mean nothing", rows.len())
    })
}

/// Number of events in all runs together below which their rate is known to within a third at best.
const FEW_EVENTS: f64 = 10.0;

/// Warning that a stop rule on one metric's interval ended the runs while timeouts are too rare to be known.
fn rare_timeouts(stop: &StopRule, rows: &[&Row]) -> Option<String> {
    let StopRule::Precision { metric, .. } = stop else { return None };
    let sum = |name: &str| rows.iter().filter_map(|row| row.metrics.get(name)).sum::<f64>();
    let has_losses = sum("fast_retransmits") > 0.0;
    let timeouts = sum("timeouts");
    let is_rare = timeouts < FEW_EVENTS && (timeouts > 0.0 || has_losses);
    is_rare.then(|| {
        let seen = match timeouts {
            0.0 => "no timeout".to_owned(),
            1.0 => "1 timeout".to_owned(),
            some => format!("{some} timeouts"),
        };
        format!(
            "rare events: {seen} in {} runs, fewer than {FEW_EVENTS}: what timeouts cost is not in the interval of \
             {metric}, however narrow (run.count with run.metric = \"timeouts\" counts them)",
            rows.len()
        )
    })
}

fn unfinished(stop: &StopRule, rows: &[&Row]) -> Option<String> {
    let done = rows.len() as u64;
    let values: Vec<f64> = rows.iter().map(|row| row.of_stop(stop)).collect();
    if stop.is_met(&values) {
        return None;
    }
    match stop {
        StopRule::Runs(runs) => Some(format!("interrupted after {done} of {runs} runs")),
        StopRule::Precision { metric, relative, max_runs } => {
            let precision = percent(*relative);
            if done < *max_runs {
                return Some(format!(
                    "interrupted after {done} runs, before the precision of {precision} was reached"
                ));
            }
            let estimate = Estimate::from_runs(&values, MethodKind::Simulation)?;
            let reached = percent(estimate.ci95? / estimate.value.abs());
            Some(format!(
                "{metric} has not reached the precision of {precision} within {max_runs} runs: it is {reached}"
            ))
        }
        StopRule::Count { metric, count, max_runs } if done < *max_runs => {
            Some(format!("interrupted after {done} runs, before {metric} came to {count}"))
        }
        StopRule::Count { metric, count, max_runs } => {
            let sum: f64 = values.iter().filter(|value| value.is_finite()).sum();
            Some(format!("{metric} has not come to {count} within {max_runs} runs: it is {sum}"))
        }
    }
}
