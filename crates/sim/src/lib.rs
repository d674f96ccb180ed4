//! The event-driven simulation engine.
//!
//! It owns the clock: links and endpoints are told the time, and say when they want to be asked again.

pub mod golden;
mod one_hop;

pub use one_hop::{
    Interrupted, OneHop, RunStatistics, STALL, SenderGate, StopRule, run, run_with_congestion_control,
};
