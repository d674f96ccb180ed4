//! Links: what happens to a packet between two hosts.
//!
//! Whatever lies between is a [`Link`]: packets are pushed in and come out later, or do not. A [`Hop`] has a
//! drop-tail queue and knows a packet's fate at once; a [`QueuedLink`] has any [`QueueDiscipline`]:
//! [`DropTail`], [`Red`], [`CoDel`], [`FqCoDel`]. [`LinkConfig`] builds either. [`arq`] holds the links that
//! send packets as frames and repeat lost ones, [`trace`] those whose capacity follows a record or a table.
//! [`AnyLinkConfig`] is any of them.

pub mod arq;
mod config;
mod hop;
mod limit;
mod link;
mod queue;
mod queued_link;
mod statistics;
#[cfg(test)]
mod testing;
pub mod trace;
mod transmitter;

pub use config::{AnyLinkConfig, LinkConfig, LinkError, Queue};
pub use hop::{Hop, HopConfig};
pub use limit::{QueueLimit, QueueLimitError};
pub use link::{Departure, Link, Packet, Push};
pub use queue::{
    CoDel, CoDelConfig, DropTail, FqCoDel, FqCoDelConfig, QueueDiscipline, QueueError, Red, RedConfig,
    Waiting,
};
pub use queued_link::QueuedLink;
pub use statistics::LinkStatistics;
pub use transmitter::{Service, Transmitter};
