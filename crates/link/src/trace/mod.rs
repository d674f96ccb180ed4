//! Links whose capacity follows a record or a table.
//!
//! [`OpportunityTrace`] is the common format of cellular traces: times at which a number of bytes may leave.
//! [`RateTable`] has rate, delay and loss over time; [`LinkBudget`] computes one from the attenuation of a path.
//! [`DelaySeries`] is the propagation delay over time, recorded beside a capacity; [`SendRecord`] has the times at
//! which packets were sent over a path. [`formats`] reads and writes the recordings of other tools. [`TraceLinkConfig`]
//! builds a [`QueuedLink`](crate::QueuedLink) that follows a trace or a table, behind any queue.

mod budget;
mod config;
mod delays;
pub mod error;
pub mod formats;
mod opportunity;
mod rate_table;
mod schedule;
mod sends;
mod sinr;
#[cfg(test)]
mod tests;

pub use budget::{AttenuationTable, DVB_S2, LinkBudget, Modcod};
pub use config::TraceLinkConfig;
pub use delays::{DelaySeries, DelayedService, Interpolation};
pub use error::TraceError;
pub use opportunity::{OpportunityService, OpportunityTrace};
pub use rate_table::{RateRow, RateService, RateTable, TableLoss};
pub use schedule::Schedule;
pub use sends::{RecordedSend, SendRecord};
pub use sinr::SinrTrace;
