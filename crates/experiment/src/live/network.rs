//! The network of a scenario between the two hosts of a live run.

use crate::build::{network, routes};
use crate::networks;
use crossfade_core::{RunSeed, SimTime};
use crossfade_link::{Decorator, Departure, Fabric, Link, LinkEvent, LinkReport, Parcel, Port, Push, Series};
use crossfade_live::{Between, LiveLink};
use crossfade_scenario::{FlowSetup, ScenarioError, Setup, TrafficSetup};
use crossfade_sim::{Engine, LinkSummary, Medium, NamedMedium, Network, Passage, StopRule, Topology};
use std::collections::BTreeSet;
use std::sync::{Arc, Mutex, PoisonError};

/// Network between the hosts of a live run, and its links with their reports.
pub(super) struct LiveNetwork {
    /// Media between the hosts: the first host sends the data of the scenario, the second acknowledges it.
    pub(super) between: Between,
    pub(super) links: Vec<WatchedLink>,
}

/// Reports of a link, which the pump requests and which are kept for the statistics of the run.
pub(super) struct WatchedLink {
    name: String,
    reports: Arc<Mutex<Vec<LinkReport>>>,
}

impl LiveNetwork {
    /// Creates the links of `setup` for the run of `seed`, with the same random streams as in a simulation.
    ///
    /// If the two directions share no link, each direction is driven on its own. The engine drives the whole network if
    /// it has other media than links, or if simulated flows share links with packets from outside.
    pub(super) fn new(setup: &Setup, seed: RunSeed) -> Result<Self, ScenarioError> {
        if setup.flows.iter().any(|flow| flow.custom_control.is_some()) {
            let problem = "live: a class in Python is too slow for real time; use method simulation";
            return Err(ScenarioError::key("tcp.congestion", problem));
        }
        if setup.flows.iter().any(|flow| matches!(flow.traffic, TrafficSetup::Outside)) {
            return Self::of_engine(whole(setup, seed));
        }
        let topology = networks::of(setup).topology(setup, seed);
        let used: Vec<usize> = topology.routes[..2].iter().flatten().map(|leg| leg.medium).collect();
        let is_links = used.iter().all(|&at| matches!(topology.media[at].medium, Medium::Link(_)));
        if is_links && used.iter().collect::<BTreeSet<_>>().len() == used.len() {
            Ok(Self::of_links(topology))
        } else {
            Self::of_engine(whole(setup, seed))
        }
    }

    fn of_links(topology: Topology) -> Self {
        let mut media: Vec<Option<NamedMedium>> = topology.media.into_iter().map(Some).collect();
        let mut links = Vec::new();
        let mut way = |route: usize| -> LiveLink {
            let mut series: Vec<LiveLink> = Vec::new();
            for leg in &topology.routes[route] {
                let NamedMedium { name, medium, .. } = media[leg.medium].take().expect("a link of one way");
                let Medium::Link(link) = medium else { unreachable!("links alone") };
                let (link, watched) = watched(name, Box::new(link));
                series.push(link);
                links.push(watched);
            }
            if series.len() == 1 { series.remove(0) } else { Box::new(Series::new(series)) }
        };
        let between = Between::Links([way(Topology::DATA), way(Topology::ACKS)]);
        Self { between, links }
    }

    fn of_engine(network: Network) -> Result<Self, ScenarioError> {
        let mut engine = Engine::new(network, None, None)
            .map_err(|error| ScenarioError::key("live", error.to_string()))?;
        let names = engine.link_names().to_vec();
        let first = engine.snapshot(SimTime::ZERO).links;
        let links: Vec<WatchedLink> =
            names.into_iter().zip(first).map(|(name, report)| WatchedLink::new(name, report)).collect();
        let reports = links.iter().map(|link| Arc::clone(&link.reports)).collect();
        Ok(Self { between: Between::Shared(Box::new(WatchedNetwork { engine, reports })), links })
    }

    /// Media with their names, one per pump, for a replay of the journal.
    pub(super) fn lanes(self) -> Vec<(&'static str, Box<dyn Fabric + Send>)> {
        use crossfade_link::PointToPoint;
        match self.between {
            Between::Links([forward, reverse]) => {
                vec![
                    ("forward", Box::new(PointToPoint(forward))),
                    ("reverse", Box::new(PointToPoint(reverse))),
                ]
            }
            Between::Shared(fabric) => vec![("shared", fabric)],
        }
    }
}

/// Network of a scenario for packets from outside. They take the routes of the flow with `traffic = "outside"`. Without
/// such a flow they take the routes of the first flow, and no flow is simulated.
pub(super) fn whole(setup: &Setup, seed: RunSeed) -> Network {
    let is_outside = |flow: &FlowSetup| matches!(flow.traffic, TrafficSetup::Outside);
    let number = setup.flows.iter().position(is_outside);
    let mut network = if number.is_some() {
        network(setup, seed)
    } else {
        let topology = networks::of(setup).topology(setup, seed);
        Network::new(Vec::new(), topology, StopRule::At(SimTime::MAX), seed)
    };
    let [data, acks] = routes(setup, number.unwrap_or(0));
    network.passages = vec![Passage { from: 0, to: 1, route: data }, Passage { from: 1, to: 0, route: acks }];
    network.stop = StopRule::At(SimTime::MAX);
    network
}

/// Keeps at most two reports: that at the end of the warm-up, and the last.
fn keep(reports: &Mutex<Vec<LinkReport>>, report: LinkReport) {
    let mut reports = reports.lock().unwrap_or_else(PoisonError::into_inner);
    if reports.len() == 2 {
        reports.remove(0);
    }
    reports.push(report);
}

impl WatchedLink {
    /// Creates a link with its first report, at time zero.
    fn new(name: String, first: LinkReport) -> Self {
        Self { name, reports: Arc::new(Mutex::new(vec![first])) }
    }

    /// Statistics of the link between its two kept reports; `None` before two reports.
    pub(super) fn summary(&self, warmup: SimTime) -> Option<LinkSummary> {
        let reports = self.reports.lock().unwrap_or_else(PoisonError::into_inner);
        match &reports[..] {
            [warm, .., end] => Some(LinkSummary::between(&self.name, warm, end, end.at - warmup)),
            _ => None,
        }
    }
}

/// Decorator of a link that keeps its reports, the first of them at time zero.
struct Watch(Arc<Mutex<Vec<LinkReport>>>);

fn watched(name: String, mut link: LiveLink) -> (LiveLink, WatchedLink) {
    let watched = WatchedLink::new(name, link.report(SimTime::ZERO));
    (Box::new(Watch(Arc::clone(&watched.reports)).around(link)), watched)
}

impl Decorator for Watch {
    fn report(&mut self, link: &mut impl Link, now: SimTime) -> LinkReport {
        let report = link.report(now);
        keep(&self.0, report.clone());
        report
    }
}

/// A network driven as a whole by the engine. It keeps the reports of its links whenever a report is requested.
struct WatchedNetwork {
    engine: Engine<'static>,
    reports: Vec<Arc<Mutex<Vec<LinkReport>>>>,
}

impl Fabric for WatchedNetwork {
    fn ports(&self) -> Port {
        self.engine.ports()
    }

    fn push(&mut self, now: SimTime, from: Port, to: Port, parcel: Parcel) -> Push {
        self.engine.push(now, from, to, parcel)
    }

    fn next_event(&self) -> Option<SimTime> {
        Fabric::next_event(&self.engine)
    }

    fn advance(&mut self, now: SimTime) -> Option<(Port, Departure)> {
        Fabric::advance(&mut self.engine, now)
    }

    fn prepare(&mut self) {
        Fabric::prepare(&mut self.engine);
    }

    fn report(&mut self, now: SimTime) -> LinkReport {
        for (kept, report) in self.reports.iter().zip(self.engine.snapshot(now).links) {
            keep(kept, report);
        }
        self.engine.report(now)
    }

    fn trace(&mut self, keep: bool) {
        self.engine.trace(keep);
    }

    fn next_trace(&mut self) -> Option<LinkEvent> {
        self.engine.next_trace()
    }
}

/// Port at the other end of a medium between two hosts; a damaged journal may name any port.
pub(super) fn opposite(port: Port) -> Port {
    Port::from(port == 0)
}
