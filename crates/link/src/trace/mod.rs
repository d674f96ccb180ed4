//! Links whose capacity follows a record or a table.
//!
//! [`OpportunityTrace`] is the common format of cellular traces: when how many bytes may leave. [`RateTable`]
//! says what rate, delay and loss hold from when on; [`LinkBudget`] makes one from the attenuation of a path. A
//! [`DelaySeries`] is the propagation delay over time, recorded beside a capacity; a [`SendRecord`]
//! is when packets were sent over a path. [`formats`] reads and writes the recordings of other tools.
//! [`TraceLinkConfig`] builds a [`QueuedLink`](crate::QueuedLink) that follows either, behind any queue.

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
