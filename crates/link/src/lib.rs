//! Links: what happens to a packet between two hosts.

mod hop;
mod limit;
mod link;
mod statistics;
#[cfg(test)]
mod testing;

pub use hop::{Hop, HopConfig};
pub use limit::{QueueLimit, QueueLimitError};
pub use link::{Departure, Link, Packet, Push};
pub use statistics::LinkStatistics;
