//! What is seen of single runs: their events, and captures of their packets.

mod events;
mod link_events;
mod pcap;
mod reuse;

use crate::build::network;
use crate::experiment::Experiment;
use crate::methods::run_checked;
use crossfade_capture::IpVersion;
use crossfade_core::RunSeed;
use crossfade_scenario::{Point, ScenarioError};
use crossfade_sim::{CongestionFactory, Network, Source};
use crossfade_transport::TcpConfig;
use crossfade_transport::congestion::CongestionControl;
pub use reuse::{ReuseFacts, reuse};

use events::EventsCsv;
use pcap::Pcap;
use std::sync::Arc;
use std::sync::atomic::AtomicBool;

/// A run has some ten thousand events: those of more points would fill a memory, and no figure shows them.
const MOST_POINTS_WITH_EVENTS: usize = 20;

/// The events of run 0 of each point of `experiment`, in the order of its points, each as CSV; `None` if `cancel`
/// became true.
///
/// # Errors
/// The plan has more than 20 points.
pub fn events(experiment: &Experiment, cancel: &AtomicBool) -> Result<Option<Vec<String>>, ScenarioError> {
    of_points(experiment, |network| {
        let mut csv = EventsCsv::new();
        run_checked(network, &mut csv, (), cancel)?;
        Some(csv.into_text())
    })
}

/// The link events of run 0 of each point, in the order of points, each as CSV ([`crossfade_link::LinkEvent`]);
/// `None` if `cancel` became true.
///
/// # Errors
/// The plan has more than 20 points.
pub fn link_events(
    experiment: &Experiment,
    cancel: &AtomicBool,
) -> Result<Option<Vec<String>>, ScenarioError> {
    of_points(experiment, |network| link_events::link_events(network, cancel))
}

/// A text about run 0 of each point.
fn of_points(
    experiment: &Experiment,
    text: impl Fn(Network) -> Option<String>,
) -> Result<Option<Vec<String>>, ScenarioError> {
    let points = experiment.points.len();
    if points > MOST_POINTS_WITH_EVENTS {
        let problem =
            format!("events are written of at most {MOST_POINTS_WITH_EVENTS} points; the plan has {points}");
        return Err(ScenarioError::key("sweep", problem));
    }
    let seed = RunSeed { seed: experiment.seed, run: 0 };
    Ok(experiment.points.iter().map(|point| text(network(&point.setup, seed))).collect())
}

/// The same with the congestion control that `make` gives for the only connection, in place of its own.
///
/// # Errors
/// The plan has several points, or something else than one connection without end.
pub fn events_with_congestion_control(
    experiment: &Experiment,
    make: impl Fn(&TcpConfig) -> Box<dyn CongestionControl> + Send + Sync + 'static,
    cancel: &AtomicBool,
) -> Result<Option<String>, ScenarioError> {
    let point = only_point(experiment, "a congestion control of one's own")?;
    let Some(tcp) = point.setup.only_bulk_tcp() else {
        return Err(ScenarioError::key(
            "flows",
            "a congestion control is tried out on one connection without end",
        ));
    };
    let config = tcp.config;
    let factory: CongestionFactory = Arc::new(move || make(&config));
    let mut network = network(&point.setup, RunSeed { seed: experiment.seed, run: 0 });
    for flow in &mut network.flows {
        if let Source::Tcp(tcp) | Source::PacedTcp { tcp, .. } = &mut flow.source {
            tcp.congestion = Some(Arc::clone(&factory));
        }
    }
    let mut csv = EventsCsv::new();
    let finished = run_checked(network, &mut csv, (), cancel);
    Ok(finished.map(|_| csv.into_text()))
}

/// What the senders' network interfaces saw in run 0 of the only point of `experiment`, as a pcap file; `None` if
/// `cancel` became true.
///
/// # Errors
/// The plan has several points; packets or windows that TCP's headers have no room for.
pub fn pcap(
    experiment: &Experiment,
    ip: IpVersion,
    cancel: &AtomicBool,
) -> Result<Option<Vec<u8>>, ScenarioError> {
    let point = only_point(experiment, "a capture")?;
    let mut pcap = Pcap::new(&point.setup, ip)?;
    let seed = RunSeed { seed: experiment.seed, run: 0 };
    let finished = run_checked(network(&point.setup, seed), (), &mut pcap, cancel);
    Ok(finished.map(|_| pcap.into_bytes()))
}

/// What a radio that hears everything would have seen of the mesh in run 0 of the only point of `experiment`, as a pcap
/// file; `None` if `cancel` became true.
///
/// # Errors
/// The plan has several points; there is no mesh.
pub fn air_pcap(experiment: &Experiment, cancel: &AtomicBool) -> Result<Option<Vec<u8>>, ScenarioError> {
    let point = only_point(experiment, "a capture")?;
    let Some(mesh) = &point.setup.mesh else {
        return Err(ScenarioError::key("mesh", "missing; there is no air to capture"));
    };
    let seed = RunSeed { seed: experiment.seed, run: 0 };
    Ok(link_events::air(network(&point.setup, seed), mesh, cancel))
}

/// The only point of `experiment`, of which `what` shows one run.
fn only_point<'a>(experiment: &'a Experiment, what: &str) -> Result<&'a Point, ScenarioError> {
    match experiment.points.as_slice() {
        [point] => Ok(point),
        points => {
            let problem = format!("{what} shows one run; the plan has {} points", points.len());
            Err(ScenarioError::key("sweep", problem))
        }
    }
}
