//! A mesh: its construction, its metrics, and its facts for `check`: nodes, duration of an exchange, and goodput of a
//! window of one packet.

use super::doubts::percent;
use super::kind::NetworkKind;
use crate::memory::{FLOW, PACKET, Path, packets};
use crate::metric::{MetricOf, count};
use crate::parts::{LINK, MESH, NODE, Part};
use crossfade_core::{RunSeed, SimTime};
use crossfade_link::NodeStatistics;
use crossfade_mac::{Mac, Mesh, Reception, Routes};
use crossfade_scenario::{FlowSetup, MeshSetup, Scenario, ScenarioError, Setup};
use crossfade_sim::{Leg, Medium, NetworkStatistics, Topology};
use serde::Serialize;
use serde_json::{Value, json};

impl NetworkKind for MeshSetup {
    fn topology(&self, setup: &Setup, seed: RunSeed) -> Topology {
        let fabric = Mesh::new(self.config.clone(), seed).expect("checked as the scenario was resolved");
        let routes = setup.flows.iter().flat_map(|flow| &flow.ends).flat_map(|&[from, to]| {
            [(from, to), (to, from)].map(|(from, to)| vec![Leg { medium: 0, from, to }])
        });
        let routes = routes.collect();
        Topology { media: vec![Medium::Fabric(Box::new(fabric)).named(MESH)], routes }
    }

    fn parts(&self) -> Vec<Part> {
        let nodes = Part::numbered(NODE, self.config.positions.len());
        [Part::new(LINK, MESH)].into_iter().chain(nodes).collect()
    }

    fn facts(&self, setup: &Setup) -> (&'static str, Value) {
        ("mesh", json!(facts(self, setup)))
    }

    /// Bytes that the packets, the nodes with their queues, and the channels between all pairs of nodes take.
    fn memory(&self, setup: &Setup) -> f64 {
        let config = &self.config;
        let antennas = if let Mac::Nulling(nulling) = config.mac { nulling.antennas as f64 } else { 0.0 };
        let nodes = config.positions.len() as f64;
        let between = nodes * nodes * (PACKET + antennas * antennas * 16.0);
        packets(setup, &Path::default()) * PACKET + nodes * (FLOW + config.queue as f64 * PACKET) + between
    }

    fn warnings(&self, setup: &Setup) -> Vec<String> {
        setup.flows.iter().filter_map(|flow| shadowed_route(self, flow)).collect()
    }

    fn metrics_of_run(&self, _: &Setup, run: &NetworkStatistics) -> Vec<(String, f64)> {
        let Some((nodes, whole)) = nodes(run) else { return Vec::new() };
        METRICS.iter().flat_map(|metric| metric.values(NODE, &whole, &nodes)).collect()
    }

    fn unmet_assumption(&self, _: &Scenario, who: &str) -> Option<ScenarioError> {
        let nodes = self.config.positions.len();
        let problem = format!("{who} assumes one link in place of {nodes} nodes; use method simulation");
        Some(ScenarioError::key("mesh", problem))
    }
}

/// Facts about a mesh, for `check`.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub(super) struct MeshFacts {
    /// Number of nodes.
    nodes: usize,
    /// Position of each node, in metres.
    positions: Vec<[f64; 2]>,
    /// Range of reception in metres.
    range_m: f64,
    /// Range of interference in metres.
    interference_m: f64,
    /// Pairs of nodes that are hops on the routes of the flows.
    links: Vec<(usize, usize)>,
    /// Duration in seconds of an exchange for a data packet, from its first frame to the end of its ACK.
    exchange_s: f64,
    /// Duration in seconds of an exchange with the DIFS and mean backoff before it.
    slot_s: f64,
    /// Facts about each entry of the flows.
    flows: Vec<FlowFacts>,
}

/// Facts about an entry of flows between nodes, for `check`.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub(super) struct FlowFacts {
    /// Name of the flows; empty if the scenario names no flow.
    name: String,
    /// Nodes at which the flows begin and end; for several pairs that with the longest route.
    ends: [u32; 2],
    /// Number of hops of the route there and back.
    round_trip_hops: u32,
    /// Mean round trip in seconds of a packet that is alone in the mesh; `None` for datagrams.
    round_trip_s: Option<f64>,
    /// Throughput in bit/s of whole packets with a window of one packet; `None` for datagrams.
    window_1_bps: Option<f64>,
}

fn facts(mesh: &MeshSetup, setup: &Setup) -> MeshFacts {
    let flows = setup.flows.iter().filter_map(|flow| {
        let hops = |ends: &&[u32; 2]| mesh.round_trip_hops(**ends);
        let &ends = flow.ends.iter().max_by_key(hops)?;
        let round_trip_s = flow.tcp().map(|tcp| mesh.round_trip(ends, setup.packet_size, tcp.ack_size));
        let round_trip_s = round_trip_s.map(SimTime::as_secs_f64);
        Some(FlowFacts {
            name: flow.name.clone(),
            ends,
            round_trip_hops: mesh.round_trip_hops(ends)?,
            round_trip_s,
            window_1_bps: round_trip_s.map(|round_trip_s| f64::from(setup.packet_size) * 8.0 / round_trip_s),
        })
    });
    MeshFacts {
        nodes: mesh.config.positions.len(),
        positions: mesh.config.positions.iter().map(|place| [place.x_m, place.y_m]).collect(),
        range_m: mesh.config.range_m,
        interference_m: mesh.config.interference_m,
        links: links(setup, mesh),
        exchange_s: mesh.timing.exchange(setup.packet_size).as_secs_f64(),
        slot_s: mesh.slot(setup.packet_size).as_secs_f64(),
        flows: flows.collect(),
    }
}

/// Pairs of nodes that are hops on the routes of the flows, each once regardless of its direction.
pub(crate) fn links(setup: &Setup, mesh: &MeshSetup) -> Vec<(usize, usize)> {
    let ends = setup.flows.iter().flat_map(|flow| &flow.ends);
    let both_ways = ends.flat_map(|&[from, to]| [(from, to), (to, from)]);
    // Routes exist for all flows of a valid scenario.
    let routes = both_ways.filter_map(|(from, to)| mesh.routes.links(from as usize, to as usize).ok());
    let mut links: Vec<(usize, usize)> = routes.flatten().map(|(a, b)| (a.min(b), a.max(b))).collect();
    links.sort_unstable();
    links.dedup();
    links
}

/// Share of frames that a link must pass so that a route discovery takes it for usable.
const PASSES: f64 = 0.1;

/// Warning that shadowing lets frames through beyond the range, so that a route discovery would find other routes.
fn shadowed_route(mesh: &MeshSetup, flow: &FlowSetup) -> Option<String> {
    if matches!(mesh.config.reception, Reception::Range) {
        return None;
    }
    let discovered = mesh.config.discovered_routes(PASSES);
    flow.ends.iter().find_map(|&[from, to]| {
        let hops = |routes: &Routes| routes.hops(from as usize, to as usize).ok();
        let (taken, found) = (hops(&mesh.routes)?, hops(&discovered)?);
        (found != taken).then(|| format!(
            "from node {from} to node {to} packets take {taken} hops, but mesh.shadowing_db lets frames through \
             beyond mesh.range: a route discovery that takes a link for usable which passes {} of the frames would \
             find {found} hops",
            percent(PASSES)
        ))
    })
}

/// Counts of one node of a mesh, or of all nodes together.
pub(crate) struct NodesMeasured {
    counts: NodeStatistics,
    /// Measured time in seconds.
    seconds: f64,
}

impl NodesMeasured {
    /// Duration `of` as a share of the measured time of all counted nodes.
    fn share(&self, of: SimTime) -> f64 {
        let NodeStatistics { transmit, receive, busy, idle, .. } = self.counts;
        of.as_secs_f64() / (transmit + receive + busy + idle).as_secs_f64()
    }
}

/// Counts of each node of a mesh, and of all nodes together; `None` for other networks.
fn nodes(run: &NetworkStatistics) -> Option<(Vec<NodesMeasured>, NodesMeasured)> {
    let nodes = &run.link(MESH)?.nodes;
    let seconds = run.duration.as_secs_f64();
    let mut whole = NodeStatistics::default();
    for node in nodes {
        whole.add(node);
    }
    let measured = |counts| NodesMeasured { counts, seconds };
    Some((nodes.iter().copied().map(measured).collect(), measured(whole)))
}

/// Published metrics of the nodes of a mesh, in the order of tables.
#[rustfmt::skip]
pub(super) static METRICS: &[MetricOf<NodesMeasured>] = &[
    MetricOf::each(NODE, "exchanges_mean", "1", "Mean exchanges at one time", "Mean number of successful exchanges under way at one time, which is the spatial reuse of a mesh; for a node, of the exchanges that it began.", |nodes| nodes.counts.exchange_time.as_secs_f64() / nodes.seconds),
    MetricOf::each(NODE, "rts_sent", "frames", "RTS sent", "RTS frames sent.", |nodes| count(nodes.counts.rts_sent)),
    MetricOf::each(NODE, "rts_losses", "frames", "RTS lost", "RTS frames without a CTS in answer.", |nodes| count(nodes.counts.rts_losses)),
    MetricOf::each(NODE, "data_sent", "frames", "DATA sent", "DATA frames sent.", |nodes| count(nodes.counts.data_sent)),
    MetricOf::each(NODE, "data_losses", "frames", "DATA lost", "DATA frames without an ACK in answer.", |nodes| count(nodes.counts.data_losses)),
    MetricOf::each(NODE, "packets_forwarded", "packets", "Packets forwarded", "Packets that the next node has acknowledged.", |nodes| count(nodes.counts.packets_forwarded)),
    MetricOf::each(NODE, "packets_delivered", "packets", "Packets delivered", "Packets that arrived at their destination node.", |nodes| count(nodes.counts.packets_delivered)),
    MetricOf::each(NODE, "duplicates", "frames", "Duplicates", "DATA frames that had arrived before.", |nodes| count(nodes.counts.duplicates)),
    MetricOf::each(NODE, "rts_drops", "packets", "Packets dropped for RTS", "Packets given up after too many RTS without a CTS.", |nodes| count(nodes.counts.rts_drops)),
    MetricOf::each(NODE, "data_drops", "packets", "Packets dropped for DATA", "Packets given up after too many DATA frames without an ACK.", |nodes| count(nodes.counts.data_drops)),
    MetricOf::each(NODE, "interface_drops", "packets", "Packets dropped at interfaces", "Packets that found the queue of a node full.", |nodes| count(nodes.counts.queue_drops)),
    MetricOf::each(NODE, "nulls_spent", "1", "Nulls spent", "Nulls made, one for each neighbour and exchange.", |nodes| count(nodes.counts.nulls_spent)),
    MetricOf::each(NODE, "deferrals", "1", "Deferrals", "Number of times that a node deferred an RTS because of an exchange nearby.", |nodes| count(nodes.counts.deferrals)),
    MetricOf::each(NODE, "transmit_share", "1", "Time sending", "Mean share of time for which a node was sending.", |nodes| nodes.share(nodes.counts.transmit)),
    MetricOf::each(NODE, "receive_share", "1", "Time receiving", "Mean share of time for which a node was locked on a frame.", |nodes| nodes.share(nodes.counts.receive)),
    MetricOf::each(NODE, "busy_share", "1", "Time of a busy medium", "Mean share of time for which a node neither sent nor received while another frame was on the air.", |nodes| nodes.share(nodes.counts.busy)),
];
