//! The event-driven simulation engine.
//!
//! The engine owns the clock: links and endpoints get the time as an argument and return the time of their next event.
//! [`simulate`] runs any number of flows over links and fabrics to the end; [`Engine`] runs step by step and takes
//! packets from outside; [`run`] simulates one flow over one hop.

#![cfg_attr(not(test), warn(clippy::disallowed_methods))]

mod capture;
mod datagrams;
mod direct;
mod direction;
mod doubts;
mod engine;
mod error;
mod event_loop;
mod flow;
mod forwarding;
mod guests;
mod hosts;
mod late;
mod late_receivers;
mod layout;
mod line;
mod link_summary;
mod medium;
mod network;
mod one_hop;
mod outside;
mod packets;
mod path;
mod path_link;
mod routing;
mod shortcuts;
mod state;
mod statistics;
mod topology;
mod wakeup;
mod watch;
mod workload;

pub use capture::{Capture, Entering};
pub use engine::{Engine, simulate};
pub use error::{Interrupted, NetworkError, SimulationError};
pub use link_summary::LinkSummary;
pub use medium::{AnyLink, Medium, NamedMedium};
pub use network::{
    Arrivals, CongestionFactory, FlowConfig, FlowPath, Network, STALL, SenderGate, Source, StopRule, Tcp,
};
pub use one_hop::{OneHop, RunStatistics, run, run_with_congestion_control};
pub use shortcuts::Shortcuts;
pub use statistics::{
    ArrivalStatistics, Completion, FlowSnapshot, FlowStatistics, NetworkStatistics, Snapshot,
};
pub use topology::{Leg, Passage, Route, Topology};
pub use workload::{Distribution, Gaps, OnOff, whole_segments};
