//! Simulation of one TCP connection over one hop each way: the experiment of the paper and of the golden traces of
//! ns-2, as the simplest network of [`crate::simulate`].

use crate::engine::simulate;
use crate::error::{Interrupted, SimulationError};
use crate::link_summary::LinkSummary;
use crate::network::{CongestionFactory, FlowConfig, FlowPath, Network, SenderGate, Source, StopRule, Tcp};
use crate::statistics::{FlowStatistics, NetworkStatistics};
use crate::topology::Topology;
use crossfade_core::{Observer, RunSeed, SimTime};
use crossfade_link::HopConfig;
use crossfade_transport::TcpConfig;
use std::sync::atomic::AtomicBool;

/// Configuration of a simulation of one TCP connection over one hop in each direction.
pub struct OneHop {
    /// Configuration of both ends of the connection.
    pub tcp: TcpConfig,
    /// Bytes of a data packet on the wire.
    pub packet_size: u32,
    /// Bytes of an acknowledgement on the wire, without SACK blocks.
    pub ack_size: u32,
    /// Bytes that each SACK block adds to an acknowledgement.
    pub sack_block_size: u32,
    /// Rule by which the sender hands segments to the link: its whole window at once, or one segment per packet time.
    pub gate: SenderGate,
    /// Hop that carries the data.
    pub forward: HopConfig,
    /// Hop that carries the acknowledgements.
    pub reverse: HopConfig,
    /// Warm-up: events before this time are simulated but not counted.
    pub warmup: SimTime,
    /// Condition that ends the run.
    pub stop: StopRule,
}

/// Statistics of a connection over one hop each way, after the warm-up.
#[derive(Clone, Debug, PartialEq)]
pub struct RunStatistics {
    /// Duration of the measured period.
    pub duration: SimTime,
    /// Statistics of the connection.
    pub flow: FlowStatistics,
    /// Statistics of the link that carries the data.
    pub forward: LinkSummary,
    /// Statistics of the link that carries the acknowledgements.
    pub reverse: LinkSummary,
    /// True if the run was given up after [`crate::STALL`] consecutive transmissions without a delivery.
    pub stalled: bool,
}

impl From<OneHop> for Network {
    fn from(config: OneHop) -> Self {
        let OneHop { tcp, packet_size, ack_size, sack_block_size, gate, forward, reverse, warmup, stop } =
            config;
        let path = FlowPath { packet_size, ack_size, sack_block_size, ..FlowPath::default() };
        let source = Source::Tcp(Tcp { config: tcp.into(), congestion: None });
        let flows = vec![FlowConfig { name: String::new(), source, path, start: SimTime::ZERO }];
        let topology = Topology::path(vec![forward.into()], vec![reverse.into()]);
        // The seed is arbitrary: the workload draws no random numbers.
        Self { gate, warmup, ..Self::new(flows, topology, stop, RunSeed { seed: 0, run: 0 }) }
    }
}

/// Runs `config` to its end.
///
/// # Errors
/// [`Interrupted`] once `cancel` is true.
pub fn run(
    config: OneHop,
    observer: Option<&mut (dyn Observer + Send)>,
    cancel: &AtomicBool,
) -> Result<RunStatistics, Interrupted> {
    run_network(config.into(), observer, cancel)
}

/// Like [`run`], with the given congestion control instead of Reno.
///
/// # Errors
/// [`Interrupted`] once `cancel` is true.
pub fn run_with_congestion_control(
    config: OneHop,
    congestion: CongestionFactory,
    observer: Option<&mut (dyn Observer + Send)>,
    cancel: &AtomicBool,
) -> Result<RunStatistics, Interrupted> {
    let tcp = Tcp { config: config.tcp.into(), congestion: Some(congestion) };
    let mut network = Network::from(config);
    network.flows[0].source = Source::Tcp(tcp);
    run_network(network, observer, cancel)
}

fn run_network(
    network: Network,
    observer: Option<&mut (dyn Observer + Send)>,
    cancel: &AtomicBool,
) -> Result<RunStatistics, Interrupted> {
    match simulate(network, observer, None, cancel) {
        Ok(NetworkStatistics { duration, mut flows, mut links, stalled, .. }) => {
            let (flow, forward, reverse) = (flows.remove(0), links.remove(0), links.remove(0));
            Ok(RunStatistics { duration, flow, forward, reverse, stalled })
        }
        Err(SimulationError::Interrupted(interrupted)) => Err(interrupted),
        Err(SimulationError::Network(error)) => unreachable!("one flow over one hop: {error}"),
    }
}
