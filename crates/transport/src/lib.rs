//! TCP endpoints without IO.
//!
//! Time is an argument and packets are return values, so the same machines run under the event queue of a simulation,
//! in a test that plays the network by hand, and against real time.

mod config;

pub use config::{Flavour, RtoConfig, RtoRule, TcpConfig, Variant};
