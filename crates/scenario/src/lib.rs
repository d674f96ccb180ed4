//! Scenarios: the schema of the file, and the way from a file to a plan, from the plan to rows, from rows
//! to results.
//!
//! ```text
//! text + overrides ── Plan::load ──> Plan ── execute ──> Rows ── summarise ──> PointResults
//!        document, schema, sweep, resolve    schedule, simulate, analyse         warnings
//! ```
//!
//! Nothing here reads or writes files; a store of rows by key lies with the caller, and is how work is
//! resumed.

mod analyse;
mod document;
mod error;
mod events;
mod execute;
mod formula;
mod identity;
mod metrics;
mod network;
mod pcap;
mod plan;
mod quantity;
mod range;
mod resolve;
mod row;
mod scenario;
mod schedule;
mod schema;
mod simulate;
mod summarise;
mod sweep;
mod warnings;

pub use crossfade_capture::IpVersion;
pub use document::parse_value;
pub use error::ScenarioError;
pub use execute::{execute, make};
pub use identity::RESULTS_VERSION;
pub use metrics::METRICS;
pub use plan::{Overrides, Plan, Point};
pub use quantity::{Bytes, Limit, Rate, Share, Size, Span};
pub use resolve::{FlowSetup, HopSetup, LossModel, QueueModel, Setup, StopRule, TcpSetup, TrafficSetup};
pub use row::{MetricNames, NameSets, Row, RowMetrics};
pub use scenario::{
    Channel, ChannelModel, Clock, Discipline, Flavour, Flow, Gate, Link, Method, Profile, Queue,
    RateReduction, Reverse, Rfc, Rto, Run, Scenario, Shape, Tcp, Traffic, Variant, Wired,
};
pub use schedule::{Progress, Schedule, Shard, Task};
pub use schema::{explain, schema};
pub use simulate::{events, events_with_congestion_control, pcap};
pub use summarise::{FlowResult, LinkResult, Metric, PointResult, summarise};
