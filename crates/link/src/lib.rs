//! Links: queueing, transmission, delay and loss of packets between two hosts.
//!
//! A [`Link`] takes packets ([`Parcel`]), which come out later or are lost. A [`Hop`] has a drop-tail queue and knows a
//! packet's fate at once; a [`QueuedLink`] has any [`QueueDiscipline`]: [`DropTail`], [`Red`], [`CoDel`], [`FqCoDel`],
//! [`Pie`], [`DualPi2`]. [`LinkConfig`] builds either. The module [`arq`] has links that send packets as frames and
//! retransmit lost frames ([`RadioConfig`] is their physical layer), [`trace`] links whose capacity follows a recording
//! or a table, [`satellite`] links whose satellite and rate change at slot boundaries. A [`Decorator`] changes the
//! packets of a link ([`Decorated`]): before the link an [`Aggregator`] releases packets together and a [`Policer`]
//! drops some, behind it [`Jitter`] delays each packet at random. [`Series`] joins links one after the other.

#![cfg_attr(not(test), warn(clippy::disallowed_methods))]

mod aggregation;
pub mod arq;
mod config;
mod decorated;
mod error_rate_frames;
mod event;
mod fabric;
mod frames;
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
pub use frames::{FrameCopies, Frames};
pub use hop::{Hop, HopConfig};
pub use jitter::{Jitter, JitterConfig, Spikes};
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
