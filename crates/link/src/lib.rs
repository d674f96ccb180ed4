//! Links: what happens to a packet between two hosts.

mod hop;

pub use hop::{Hop, HopConfig, Link, Push};
