//! The event-driven simulation engine.
//!
//! It owns the clock: links and endpoints are told the time, and say when they want to be asked again.
//! [`simulate`] runs any number of flows over a path of links; [`run`] one flow over one hop.

mod capture;
mod doubts;
mod engine;
mod flow;
pub mod golden;
mod layout;
mod net;
mod network;
mod one_hop;
mod path;
mod statistics;
mod workload;

pub use capture::Capture;
pub use engine::{Interrupted, STALL, SimulationError, simulate};
pub use network::{
    Arrivals, Carriage, CongestionFactory, FlowConfig, Network, NetworkError, SenderGate, Source, StopRule,
    Tcp,
};
pub use one_hop::{OneHop, RunStatistics, run, run_with_congestion_control};
pub use statistics::{ArrivalStatistics, Completion, FlowStatistics, LinkReport, NetworkStatistics};
pub use workload::{Distribution, OnOff};
