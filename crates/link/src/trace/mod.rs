//! Links whose capacity follows a record or a table.
//!
//! [`OpportunityTrace`] is the common format of cellular traces: when how many bytes may leave. [`RateTable`]
//! says what rate, delay and loss hold from when on; [`LinkBudget`] makes one from the attenuation of a path.
//! A [`TraceLink`] follows either, behind any queue; [`TraceLinkConfig`] builds it.

mod budget;
mod config;
mod error;
mod link;
mod opportunity;
mod rate_table;

pub use budget::{AttenuationTable, DVB_S2, LinkBudget, Modcod};
pub use config::{Schedule, TraceLinkConfig};
pub use error::TraceError;
pub use link::{Service, TraceLink};
pub use opportunity::{OpportunityService, OpportunityTrace};
pub use rate_table::{RateRow, RateService, RateTable, TableLoss};
