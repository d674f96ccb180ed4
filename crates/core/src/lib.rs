//! Foundations of all other Crossfade crates: integer time, units of the field, named random streams, a
//! deterministic event queue, observers, histograms of delays, and estimates with confidence intervals.
//!
//! This crate knows no channel, protocol or engine.

#![cfg_attr(not(test), warn(clippy::disallowed_methods))]

mod carried;
mod counters;
mod crc;
mod estimate;
mod event_queue;
mod histogram;
mod incomplete;
mod interval;
mod observer;
mod pooled;
mod portable;
mod random;
mod refusal;
mod student;
#[cfg(any(test, feature = "testing"))]
pub mod testing;
mod time;
pub mod units;

pub use carried::Carried;
pub use counters::Counter;
pub use crc::crc32;
pub use estimate::{Estimate, MethodKind, jain_fairness, of_ratio};
pub use event_queue::EventQueue;
pub use histogram::{DelayHistogram, read_number, write_number};
pub use incomplete::{chi_square_survival, incomplete_beta};
pub use interval::{Events, MetricKind};
pub use observer::{EventKind, EventRecord, Observer, TcpSnapshot};
pub use pooled::{RunTimes, pooled_quantile};
pub use portable::{from_db, greatest_common_divisor, square, to_db};
pub use random::{RunSeed, Stream};
pub use refusal::{OutOfRange, excerpt};
pub use student::student_t_quantile;
pub use time::SimTime;
