//! Scenarios: the schema of the file, and the way from a file to a plan, from the plan to rows, from rows
//! to results.
//!
//! ```text
//! text + overrides ── Plan::load ──> Plan ── execute ──> Rows ── summarise ──> PointResults
//!        document, schema, sweep, resolve    schedule, simulate                  warnings
//! ```
//!
//! Nothing here reads or writes files; a store of rows by key lies with the caller, and is how work is
//! resumed.

mod document;
mod error;
mod events;
mod execute;
mod identity;
mod plan;
mod quantity;
mod range;
mod resolve;
mod scenario;
mod schedule;
mod schema;
mod simulate;
mod summarise;
mod sweep;
mod warnings;

pub use document::parse_value;
pub use error::ScenarioError;
pub use execute::execute;
pub use identity::RESULTS_VERSION;
pub use plan::{Overrides, Plan, Point, Row};
pub use quantity::{PacketLimit, Rate, Share, Size, Span};
pub use resolve::{HopSetup, LossModel, Setup, StopRule};
pub use scenario::{
    Channel, ChannelModel, Clock, Flavour, Gate, Link, Method, Queue, Reverse, Rto, Run, Scenario, Tcp,
    Variant,
};
pub use schedule::Progress;
pub use schema::{explain, schema};
pub use simulate::{METRICS, events, events_with_congestion_control};
pub use summarise::{FlowResult, LinkResult, Metric, PointResult, summarise};
