//! Links: what happens to a packet between two hosts.
//!
//! Whatever lies between is a [`Link`]: packets ([`Parcel`]) are pushed in and come out later, or do not. A [`Hop`] has
//! a drop-tail queue and knows a packet's fate at once; a [`QueuedLink`] has any [`QueueDiscipline`]:
//! [`DropTail`], [`Red`], [`CoDel`], [`FqCoDel`], [`Pie`],
//! [`DualPi2`]. [`LinkConfig`] builds either. [`arq`] holds the links that
//! send packets as frames and repeat lost ones ([`RadioConfig`] is their physical layer), [`trace`] those whose
//! capacity follows a record or a table, [`satellite`] those that a scheduler sets anew at each boundary of slots. A
//! [`Decorator`] changes what passes a link ([`Decorated`]): before it an [`Aggregator`] has packets wait for one
//! another and a [`Policer`] drops some, behind it [`Jitter`] holds each back for a time of its own; [`Series`] is
//! links one after the other.

#![cfg_attr(not(test), warn(clippy::disallowed_methods))]

mod aggregation;
pub mod arq;
mod config;
mod decorated;
mod error_rate_frames;
mod event;
mod fabric;
mod hop;
mod jitter;
mod limit;
mod link;
mod node;
mod occupancy;
mod outside_class;
mod parcel;
mod policer;
mod ppdu;
mod queue;
mod queued_link;
mod radio;
mod report;
pub mod satellite;
mod series;
mod side_by_side;
mod station;
mod statistics;
#[cfg(test)]
mod testing;
mod token_bucket;
pub mod trace;
mod transmitter;
mod user;

pub use aggregation::{AggregationConfig, Aggregator};
pub use config::LinkConfig;
pub use decorated::{Decorated, Decorator};
pub use error_rate_frames::{ErrorRateCopies, ErrorRateFrames};
pub use event::{EventLog, LinkEvent, QueueChange, Verdict};
pub use fabric::{Fabric, PointToPoint, Port};
pub use hop::{Hop, HopConfig};
pub use jitter::{Jitter, JitterConfig};
pub use limit::{QueueLimit, QueueLimitError};
pub use link::{Departure, Link, Push};
pub use node::{NodeStatistics, mean_exchanges};
pub use occupancy::{Capacity, Occupancy, UnderWay};
pub use outside_class::OutsideClass;
pub use parcel::{Ecn, Parcel};
pub use policer::{Policer, PolicerConfig};
pub use ppdu::{
    EVERYBODY, Ppdu, PpduBlock, PpduContent, PpduFormat, PpduMpdu, PpduRate, PpduTrigger, PpduTriggered,
};
pub use queue::{
    ByteQueue, CoDel, CoDelConfig, DropTail, DualPi2, DualPi2Config, DualPi2Draw, DualPi2Rules, FqCoDel,
    FqCoDelConfig, Pie, PieConfig, Piece, QueueConfig, QueueDiscipline, Red, RedConfig, Waiting,
};
pub use queued_link::QueuedLink;
pub use radio::{Policy, RadioConfig, SymbolFrames, TableCopies, TableFrames, WholePackets};
pub use report::LinkReport;
pub use series::Series;
pub use side_by_side::SideBySide;
pub use station::StationStatistics;
pub use statistics::LinkStatistics;
pub use token_bucket::TokenBucket;
pub use transmitter::{Service, Transmitter};
pub use user::{BearerStatistics, MOST_BITS, UserStatistics};
