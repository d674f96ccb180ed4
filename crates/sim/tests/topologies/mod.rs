//! Shared helpers of the tests of topologies: media of any kind and routes through them.

use crossfade_channel::{Iid, LossProcess, Lossless};
use crossfade_core::{RunSeed, SimTime};
use crossfade_link::HopConfig;
use crossfade_sim::{
    AnyLink, FlowConfig, FlowPath, Network, NetworkStatistics, Source, StopRule, Tcp, Topology, simulate,
};
use crossfade_transport::{Flavour, RtoConfig, TcpConfig, Variant};
use std::sync::atomic::AtomicBool;

pub(crate) const MS: SimTime = SimTime::from_millis(1);

/// TCP source with SACK and a receiver window of 20 segments, which sends `segments` segments.
pub(crate) fn tcp(segments: Option<u64>) -> Source {
    let config = TcpConfig {
        initial_window: 1.0,
        segments,
        rto: RtoConfig::estimated(MS * 200, MS * 1000, MS),
        ..TcpConfig::new(Flavour::Rfc, Variant::Sack, 20)
    };
    Source::Tcp(Tcp { config: config.into(), congestion: None })
}

pub(crate) fn flow(source: Source, path: FlowPath) -> FlowConfig {
    FlowConfig { name: String::new(), source, path, start: SimTime::ZERO }
}

/// Loss process with independent losses of probability `p_e`, with random stream `name`.
pub(crate) fn iid(p_e: f64, name: &str) -> Box<dyn LossProcess> {
    Box::new(Iid::new(p_e, RunSeed { seed: 7, run: 0 }.stream(name)).unwrap())
}

/// Network of `flows` over `topology`, without warm-up.
pub(crate) fn network(topology: Topology, flows: Vec<FlowConfig>, stop: StopRule) -> Network {
    let seed = RunSeed { seed: 7, run: 0 };
    Network { measures_delays: true, ..Network::new(flows, topology, stop, seed) }
}

pub(crate) fn run(network: Network) -> NetworkStatistics {
    simulate(network, None, None, &AtomicBool::new(false)).unwrap()
}

/// Link with drop-tail queue, without losses and without a queue limit.
pub(crate) fn hop(rate_bps: Option<f64>, delay: SimTime) -> AnyLink {
    HopConfig { rate_bps, delay, queue_limit: None, loss: Box::new(Lossless) }.into()
}
