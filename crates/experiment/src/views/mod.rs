//! Views of single runs: sender events, link events, samples, captures of packets, and distributions behind means.

mod distributions;
mod events;
mod link_events;
mod opportunities;
mod pcap;
mod reuse;
mod samples;
mod sink;
mod wlan_air;

pub use reuse::{ReuseFacts, reuse};
pub use sink::Sink;

use crate::build::network;
use crate::experiment::Experiment;
use crate::methods::run_checked;
use crossfade_capture::{CaptureConfig, IpVersion, WHOLE_PACKETS};
use crossfade_core::RunSeed;
use crossfade_scenario::{Point, ScenarioError, Setup};
use crossfade_sim::{CongestionFactory, Network, Source};
use crossfade_transport::SenderConfig;
use crossfade_transport::congestion::CongestionControl;
use events::{EventsCsv, Lines};
use pcap::Pcap;
use sink::TextSink;
use std::sync::Arc;
use std::sync::atomic::AtomicBool;
pub(crate) use wlan_air::WlanAir;

/// Greatest number of points of a plan whose events are written. A run has some ten thousand events: those of more
/// points would fill the memory, and no figure shows them.
const MOST_POINTS_WITH_EVENTS: usize = 20;

/// Writes the sender events of run number `run` of each point of `experiment` as CSV, the header first, with samples
/// between them if the scenario has `run.sample`. `sink` takes the number of the point and some whole lines, in the
/// order of points. `None` once `cancel` is true.
///
/// # Errors
/// If the plan has more than 20 points.
pub fn events(
    experiment: &Experiment,
    run: u64,
    sink: &mut (dyn FnMut(usize, &str) + Send),
    cancel: &AtomicBool,
) -> Result<Option<()>, ScenarioError> {
    let has_info = has_info(experiment);
    of_points(experiment, run, sink, |setup, network, sink| match setup.sample {
        None => {
            let mut csv = EventsCsv::with_info(sink, Lines::Events, has_info);
            run_checked(network, Some(&mut csv), None, cancel)?;
            csv.finish();
            Some(())
        }
        Some(every) => {
            let csv = EventsCsv::with_info(sink, Lines::Both, has_info);
            samples::sampled(setup, network, every, csv, cancel)
        }
    })
}

/// Like [`events()`], but writes only samples of each flow and link, one every `run.sample`.
///
/// # Errors
/// If the plan has more than 20 points, or the scenario has no `run.sample`.
pub fn samples(
    experiment: &Experiment,
    run: u64,
    sink: &mut (dyn FnMut(usize, &str) + Send),
    cancel: &AtomicBool,
) -> Result<Option<()>, ScenarioError> {
    if experiment.points.at(0).setup.sample.is_none() {
        return Err(ScenarioError::key(
            "run.sample",
            "missing; the time between two samples, such as \"100 ms\"",
        ));
    }
    of_points(experiment, run, sink, |setup, network, sink| {
        let every = setup.sample?;
        samples::sampled(setup, network, every, EventsCsv::new(sink, Lines::Samples), cancel)
    })
}

/// True if a congestion control of one of the points reports its state: the events of all points then have a column for
/// it.
fn has_info(experiment: &Experiment) -> bool {
    let seed = RunSeed { seed: experiment.seed, run: 0 };
    let points = experiment.points.len() <= MOST_POINTS_WITH_EVENTS;
    points && experiment.points.iter().any(|point| network(&point.setup, seed).has_info())
}

/// Sender events of one run of `point` as CSV, the header first; `None` if cancelled.
#[cfg(all(target_os = "linux", feature = "live"))]
pub(crate) fn events_of_run(point: &Point, seed: RunSeed) -> Option<String> {
    let mut text = String::new();
    let mut sink = |lines: &str| text.push_str(lines);
    let mut csv = EventsCsv::new(&mut sink, Lines::Events);
    run_checked(network(&point.setup, seed), Some(&mut csv), None, &AtomicBool::new(false))?;
    csv.finish();
    Some(text)
}

/// Like [`events()`], but writes the events inside links ([`crossfade_link::LinkEvent`]).
///
/// # Errors
/// If the plan has more than 20 points.
pub fn link_events(
    experiment: &Experiment,
    run: u64,
    sink: &mut (dyn FnMut(usize, &str) + Send),
    cancel: &AtomicBool,
) -> Result<Option<()>, ScenarioError> {
    of_points(experiment, run, sink, |_, network, sink| link_events::link_events(network, sink, cancel))
}

/// Like [`events()`], but writes each transfer of every run of each point (100 runs at most).
///
/// # Errors
/// If the plan has more than 20 points.
pub fn transfers(
    experiment: &Experiment,
    sink: &mut (dyn FnMut(usize, &str) + Send),
    cancel: &AtomicBool,
) -> Result<Option<()>, ScenarioError> {
    of_all_points(experiment, sink, |point, sink| {
        let header = distributions::TRANSFERS;
        distributions::of_runs(experiment, point, sink, header, distributions::transfers, cancel)
    })
}

/// Like [`events()`], but writes the distributions of RTTs and one-way delays in every run of each point (100 runs at
/// most).
///
/// # Errors
/// If the plan has more than 20 points.
pub fn delays(
    experiment: &Experiment,
    sink: &mut (dyn FnMut(usize, &str) + Send),
    cancel: &AtomicBool,
) -> Result<Option<()>, ScenarioError> {
    of_all_points(experiment, sink, |point, sink| {
        distributions::of_runs(experiment, point, sink, distributions::DELAYS, distributions::delays, cancel)
    })
}

/// Passes a text about one run of each point to the sink.
fn of_points(
    experiment: &Experiment,
    run: u64,
    sink: &mut (dyn FnMut(usize, &str) + Send),
    write: impl Fn(&Setup, Network, &mut TextSink<'_>) -> Option<()>,
) -> Result<Option<()>, ScenarioError> {
    let seed = seed_of(experiment, run)?;
    of_all_points(experiment, sink, |point, sink| {
        let point = experiment.points.at_run(point.index, run);
        write(&point.setup, network(&point.setup, seed), sink)
    })
}

/// Seed of the random streams of run number `run`.
///
/// # Errors
/// If parameters are drawn per run and the run has no draw.
fn seed_of(experiment: &Experiment, run: u64) -> Result<RunSeed, ScenarioError> {
    let runs = experiment.stop.most_runs();
    if experiment.points.may_have_draws() && run >= runs {
        let problem = format!("is not among the {runs} runs that take draws, counted from 0");
        return Err(ScenarioError::value("run", &run.into(), problem));
    }
    Ok(RunSeed { seed: experiment.seed, run })
}

/// Passes a text about each point of a plan to the sink.
///
/// # Errors
/// If the plan has more than 20 points.
fn of_all_points(
    experiment: &Experiment,
    sink: &mut (dyn FnMut(usize, &str) + Send),
    write: impl Fn(&Point, &mut TextSink<'_>) -> Option<()>,
) -> Result<Option<()>, ScenarioError> {
    let points = experiment.points.len();
    if points > MOST_POINTS_WITH_EVENTS {
        let problem =
            format!("events are written of at most {MOST_POINTS_WITH_EVENTS} points; the plan has {points}");
        return Err(ScenarioError::key("sweep", problem));
    }
    let mut of_point = |point: Arc<Point>| write(&point, &mut |text: &str| sink(point.index, text));
    Ok(experiment.points.iter().map(&mut of_point).collect())
}

/// Like [`events()`], but the only connection has the congestion control that `make` makes in place of its own;
/// `has_info` is true if that control reports its state.
///
/// # Errors
/// If the plan has several points, or other traffic than one endless connection.
pub fn events_with_congestion_control(
    experiment: &Experiment,
    make: impl Fn(&SenderConfig) -> Box<dyn CongestionControl> + Send + Sync + 'static,
    has_info: bool,
    cancel: &AtomicBool,
) -> Result<Option<String>, ScenarioError> {
    let (point, seed) = only_point(experiment, "a congestion control of your own", 0)?;
    let Some(tcp) = point.setup.only_bulk_tcp() else {
        return Err(ScenarioError::key(
            "flows",
            "a congestion control is tried out on one connection without end",
        ));
    };
    let config = tcp.config;
    let factory: CongestionFactory = Arc::new(move || make(&config));
    let mut network = network(&point.setup, seed);
    for flow in &mut network.flows {
        if let Source::Tcp(tcp) | Source::PacedTcp { tcp, .. } = &mut flow.source {
            tcp.congestion = Some(Arc::clone(&factory));
        }
    }
    let mut text = String::new();
    let mut sink = |lines: &str| text.push_str(lines);
    let mut csv = EventsCsv::with_info(&mut sink, Lines::Events, has_info);
    let finished = run_checked(network, Some(&mut csv), None, cancel);
    csv.finish();
    Ok(finished.map(|_| text))
}

/// Writes the packets at the senders' network interfaces in run number `run` of the only point of `experiment` to
/// `sink`, as a pcap file; `None` once `cancel` is true.
///
/// # Errors
/// If the plan has several points, or packets or windows for which TCP headers have no room.
pub fn pcap(
    experiment: &Experiment,
    run: u64,
    config: CaptureConfig,
    sink: &mut Sink<'_>,
    cancel: &AtomicBool,
) -> Result<Option<()>, ScenarioError> {
    let (point, seed) = only_point(experiment, "a capture", run)?;
    let mut sink = |bytes: &[u8]| sink(bytes);
    let mut pcap = Pcap::new(&point.setup, config, &mut sink)?;
    let finished = run_checked(network(&point.setup, seed), None, Some(&mut pcap), cancel);
    pcap.finish();
    Ok(finished.map(|_| ()))
}

/// Trace of the deliveries to flow `number`, counted from 0, in run number `run` of the only point of `experiment`: the
/// time of each 1500 bytes, in the format of [`OpportunityTrace`](crossfade_link::trace::OpportunityTrace). If packets
/// of the flow were always waiting, this is the capacity that the flow had. `None` once `cancel` is true.
///
/// # Errors
/// If the plan has several points or no such flow, or nothing was delivered.
pub fn opportunities(
    experiment: &Experiment,
    run: u64,
    number: u32,
    cancel: &AtomicBool,
) -> Result<Option<String>, ScenarioError> {
    let (point, seed) = only_point(experiment, "a trace of opportunities", run)?;
    let sizes = opportunities::packet_sizes(&point.setup);
    let Some(&bytes) = sizes.get(number as usize) else {
        let problem = format!("there is no number {number}: {} are simulated, counted from 0", sizes.len());
        return Err(ScenarioError::key("flows", problem));
    };
    let bytes = bytes.ok_or_else(|| {
        ScenarioError::key(
            "flows",
            format!("number {number} sends packets of several sizes, of which no trace is made"),
        )
    })?;
    let network = network(&point.setup, seed);
    match opportunities::opportunities(network, number, bytes, cancel) {
        Some(text) if text.is_empty() => {
            Err(ScenarioError::key("flows", format!("number {number} was not delivered 1500 bytes")))
        }
        found => Ok(found),
    }
}

/// Writes all frames of a mesh or a Wi-Fi network in run number `run` of the only point of `experiment` to `sink`, as a
/// pcap file of a monitor that hears every station; `None` once `cancel` is true. `snaplen` is the number of bytes kept
/// of a frame; without it frames of a mesh are cut after their headers, and those of a Wi-Fi network are whole.
///
/// # Errors
/// If the plan has several points or neither a mesh nor a Wi-Fi network, or packets or windows for which TCP headers
/// have no room.
pub fn air_pcap(
    experiment: &Experiment,
    run: u64,
    ip: IpVersion,
    snaplen: Option<u32>,
    sink: &mut Sink<'_>,
    cancel: &AtomicBool,
) -> Result<Option<()>, ScenarioError> {
    let (point, seed) = only_point(experiment, "a capture", run)?;
    let network = network(&point.setup, seed);
    if let Some(mesh) = point.setup.mesh() {
        return Ok(link_events::air(network, mesh, snaplen, cancel).map(|file| sink(&file)));
    }
    let mut sink = |bytes: &[u8]| sink(bytes);
    let config = CaptureConfig { ip, snaplen: snaplen.unwrap_or(WHOLE_PACKETS) };
    let mut air = WlanAir::new(&point.setup, config, &mut sink)?;
    let finished = run_checked(network, None, Some(&mut air), cancel);
    air.finish();
    Ok(finished.map(|_| ()))
}

/// The only point of `experiment`, with the parameters of run number `run`; `what` names the view in the error.
///
/// # Errors
/// If the plan has several points, or the run has no draw.
fn only_point(experiment: &Experiment, what: &str, run: u64) -> Result<(Arc<Point>, RunSeed), ScenarioError> {
    match experiment.points.len() {
        1 => {
            let seed = seed_of(experiment, run)?;
            Ok((experiment.points.at_run(0, run), seed))
        }
        points => {
            let problem = format!(
                "{what} shows one run of one point; the plan has {points} points (--point N takes one)"
            );
            Err(ScenarioError::key("sweep", problem))
        }
    }
}
