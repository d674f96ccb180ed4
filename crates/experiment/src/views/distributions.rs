//! Distributions behind the means of a point, as CSV: each transfer, and quantiles of delays.

use super::sink::TextSink;
use crate::build::network;
use crate::experiment::Experiment;
use crate::methods::run_checked;
use crate::statistics::flows;
use crossfade_core::{DelayHistogram, RunSeed, SimTime};
use crossfade_scenario::{FlowSetup, Method, Point, Setup, TrafficSetup};
use crossfade_sim::NetworkStatistics;
use std::fmt::Write as _;
use std::sync::atomic::AtomicBool;

/// Header of the CSV of transfers: one line a transfer, in the order of flows in the scenario. Transfers of arriving
/// flows are in the order of their ends, followed by those unfinished at the end of the run, with the time since
/// their start.
pub(super) const TRANSFERS: &str = "run,flow,start_s,segments,completion_time_s,unfinished_s\n";
/// Header of the CSV of delays: one line a quantile; `share` of the delays of the run are no longer than `value_s`.
pub(super) const DELAYS: &str = "run,flow,delay,share,value_s\n";

/// Greatest number of runs of a point that are repeated for their distributions.
const MOST_RUNS: u64 = 100;

/// Number of equal steps in which the quantiles of a distribution are written; [`TAIL`] follows.
const STEPS: u32 = 100;
const TAIL: [f64; 3] = [0.995, 0.999, 1.0];

/// Writes the `lines` of each run that a plan makes of a point, each line after the number of its run; `None` once
/// `cancel` is true.
pub(super) fn of_runs(
    experiment: &Experiment,
    point: &Point,
    sink: &mut TextSink<'_>,
    header: &str,
    lines: impl Fn(&Setup, &NetworkStatistics, &mut dyn FnMut(&str)),
    cancel: &AtomicBool,
) -> Option<()> {
    sink(header);
    for run in 0..experiment.most_runs(Method::Simulation).min(MOST_RUNS) {
        let seed = RunSeed { seed: experiment.seed, run };
        let found = run_checked(network(&point.setup, seed), None, None, cancel)?;
        let mut text = String::new();
        lines(&point.setup, &found, &mut |line| {
            // Writing to a string cannot fail.
            let _ = writeln!(text, "{run},{line}");
        });
        sink(&text);
    }
    Some(())
}

/// Writes a line for each transfer that began in a run.
pub(super) fn transfers(setup: &Setup, run: &NetworkStatistics, write: &mut dyn FnMut(&str)) {
    let mut line = |flow: &FlowSetup, start: SimTime, segments: Option<u64>, time: Option<SimTime>| {
        let segments = segments.map_or(String::new(), |segments| segments.to_string());
        let begun = format!("{},{},{segments}", flow.name, start.as_secs_f64());
        let seen = run.end.saturating_sub(start);
        match time {
            Some(time) => write(&format!("{begun},{},", time.as_secs_f64())),
            None if seen > SimTime::ZERO => write(&format!("{begun},,{}", seen.as_secs_f64())),
            // The transfer had not begun when the run ended.
            None => {}
        }
    };
    let (mut flows, mut arrivals) = (run.flows.iter(), run.arrivals.iter());
    for flow in &setup.flows {
        if matches!(flow.traffic, TrafficSetup::Arrivals { .. }) {
            let Some(group) = arrivals.next() else { continue };
            for one in &group.completions {
                line(flow, one.start, Some(one.segments), Some(one.completion_time));
            }
            for start in &group.unfinished {
                line(flow, *start, None, None);
            }
            continue;
        }
        for one in flows.by_ref().take(flow.count as usize) {
            if matches!(flow.traffic, TrafficSetup::Tcp(_, Some(_))) {
                line(flow, one.start, Some(one.segments_delivered), one.completion_time);
            }
        }
    }
}

/// Writes the quantiles of RTTs and one-way delays of a run, for each entry of the scenario.
pub(super) fn delays(setup: &Setup, run: &NetworkStatistics, write: &mut dyn FnMut(&str)) {
    for (flow, found) in flows(setup, run) {
        let kept = [("rtt_s", &found.total.rtt), ("one_way_delay_s", &found.total.one_way_delay)];
        for (name, delays) in kept {
            let Some(delays) = delays.as_deref().filter(|delays| delays.count() > 0) else { continue };
            for share in shares() {
                write(&format!("{},{name},{share},{}", flow.name, value_s(delays, share)));
            }
        }
    }
}

fn shares() -> impl Iterator<Item = f64> {
    (0..STEPS).map(|step| f64::from(step) / f64::from(STEPS)).chain(TAIL)
}

fn value_s(delays: &DelayHistogram, share: f64) -> f64 {
    delays.quantile(share).map_or(f64::NAN, SimTime::as_secs_f64)
}
