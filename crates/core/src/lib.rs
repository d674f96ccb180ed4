//! What every other Crossfade crate stands on: integer time, units of the field, named random streams, a
//! deterministic event queue, observers, histograms of delays, and estimates with confidence intervals.
//!
//! Nothing here knows a channel, a protocol or an engine.

mod estimate;
mod event_queue;
mod histogram;
mod observer;
mod random;
mod time;
pub mod units;

pub use estimate::{Estimate, Method, jain_fairness, student_t_quantile};
pub use event_queue::EventQueue;
pub use histogram::DelayHistogram;
pub use observer::{EventKind, EventRecord, Observer, TcpSnapshot};
pub use random::{RunSeed, Stream};
pub use time::SimTime;
