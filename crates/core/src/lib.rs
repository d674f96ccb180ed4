//! What every other Crossfade crate stands on: integer time, units of the field, named random streams, a
//! deterministic event queue, observers, histograms of delays, and estimates with confidence intervals.
//!
//! Nothing here knows a channel, a protocol or an engine.

#![cfg_attr(not(test), warn(clippy::disallowed_methods))]

mod counters;
mod decibels;
mod estimate;
mod event_queue;
mod excerpt;
mod histogram;
mod incomplete;
mod interval;
mod observer;
mod out_of_range;
mod pooled;
mod random;
mod square;
mod student;
#[cfg(any(test, feature = "testing"))]
pub mod testing;
mod time;
pub mod units;

pub use counters::Counter;
pub use decibels::{from_db, to_db};
pub use estimate::{Estimate, MethodKind, jain_fairness, of_ratio};
pub use event_queue::EventQueue;
pub use excerpt::excerpt;
pub use histogram::{DelayHistogram, read_number, write_number};
pub use incomplete::{chi_square_survival, incomplete_beta};
pub use interval::{Events, MetricKind};
pub use observer::{EventKind, EventRecord, Observer, TcpSnapshot};
pub use out_of_range::OutOfRange;
pub use pooled::{RunTimes, pooled_quantile};
pub use random::{RunSeed, Stream};
pub use square::square;
pub use student::student_t_quantile;
pub use time::SimTime;
