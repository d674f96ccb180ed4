//! Shared helpers of the tests of whole networks.

use crossfade_core::{RunSeed, SimTime, Stream};
use crossfade_sim::{
    AnyLink, FlowConfig, FlowPath, Network, NetworkStatistics, StopRule, Topology, simulate,
};
use crossfade_transport::{Flavour, RfcConfig, RtoConfig, TcpConfig, Variant};
use std::sync::atomic::AtomicBool;

pub(crate) const MS: SimTime = SimTime::from_millis(1);

pub(crate) fn tcp(flavour: Flavour, variant: Variant, w_max: u32, segments: Option<u64>) -> TcpConfig {
    TcpConfig {
        initial_window: 1.0,
        limited_transmit: true,
        segments,
        rfc: RfcConfig { delayed_ack: None, ..RfcConfig::default() },
        rto: RtoConfig::estimated(MS * 200, MS * 3000, MS * 10),
        ..TcpConfig::new(flavour, variant, w_max)
    }
}

/// Path with 1000-byte packets and these access delays of sender and receiver.
pub(crate) fn path(sender_access: SimTime, receiver_access: SimTime) -> FlowPath {
    FlowPath { sender_access, receiver_access, ..FlowPath::default() }
}

pub(crate) fn run_network(network: impl Into<Network>) -> NetworkStatistics {
    simulate(network.into(), None, None, &AtomicBool::new(false)).unwrap()
}

pub(crate) fn stream(name: &str, seed: u64) -> Stream {
    RunSeed { seed, run: 0 }.stream(name)
}

/// Network of flows over these links, with histograms of delays and without warm-up.
pub(crate) fn network_of(
    flows: Vec<FlowConfig>,
    forward: Vec<AnyLink>,
    reverse: Vec<AnyLink>,
    stop: StopRule,
) -> Network {
    let (topology, seed) = (Topology::path(forward, reverse), RunSeed { seed: 1, run: 0 });
    Network { measures_delays: true, ..Network::new(flows, topology, stop, seed) }
}
