//! Scenarios: the schema of the file, and the way from a file to a plan, from the plan to rows, from rows
//! to results.
//!
//! ```text
//! text + overrides ── Plan::load ──> Plan ── execute ──> Rows ── summarise ──> PointResults
//!        document, schema, sweep, resolve    schedule, simulate, analyse         warnings
//! ```
//!
//! Nothing here reads or writes files: those that a scenario names are read by the caller. A store of rows by
//! key lies with the caller too, and is how work is resumed.

mod analyse;
mod document;
mod error;
mod events;
mod execute;
mod files;
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
pub use files::{ReadFile, RecordedLosses};
pub use identity::RESULTS_VERSION;
pub use metrics::METRICS;
pub use plan::{Overrides, Plan, Point};
pub use quantity::{Bytes, FrameSpan, Frames, Limit, Rate, Retransmissions, Share, Size, Span};
pub use resolve::{
    FeedbackSetup, FlowSetup, FrameSetup, HopSetup, LossModel, QueueModel, Setup, StopRule, TcpSetup,
    TraceSetup, TrafficSetup,
};
pub use row::{MetricNames, NameSets, Row, RowMetrics};
pub use scenario::{
    Arq, ArqProtocol, Budget, Channel, ChannelModel, Clock, Delivery, Discipline, Feedback, Flavour, Flow,
    FrameHeader, Framing, Gate, Headers, Link, LossFormat, Method, Modcod, NaksPerRound, Packing,
    Persistence, Profile, Queue, RateReduction, Reading, Reverse, Rfc, Rto, Run, Scenario, Shape, Tcp,
    TimerCheck, TimerClock, Trace, Traffic, Variant, Wired,
};
pub use schedule::{Progress, Schedule, Shard, Task};
pub use schema::{explain, schema};
pub use simulate::{events, events_with_congestion_control, pcap};
pub use summarise::{FlowResult, LinkResult, Metric, PointResult, summarise};
