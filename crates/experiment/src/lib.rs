//! Experiments: model objects of a plan, methods that solve its points, rows of runs, and results.
//!
//! ```text
//! Experiment ── execute: schedule, methods, build ──> Rows ── summarise ──> PointResults
//!                                                              warnings
//! ```
//!
//! This crate reads and writes no files. The caller keeps rows by key and passes them back to resume work.

#![cfg_attr(not(test), warn(clippy::disallowed_methods))]

mod build;
mod closed_forms;
mod directions;
mod execute;
mod experiment;
mod handle;
mod impossible;
mod kinds;
mod known;
#[cfg(all(target_os = "linux", feature = "live"))]
pub mod live;
#[cfg(not(all(target_os = "linux", feature = "live")))]
#[path = "no_live.rs"]
mod live;
mod memory;
mod methods;
mod metric;
mod metrics;
mod networks;
mod opportunity_log;
mod parts;
mod ratios;
mod row;
mod schedule;
mod solver;
mod statistics;
mod summarise;
mod support;
mod survey;
mod views;
mod warnings;

pub use build::network;
pub use crossfade_capture::{CaptureConfig, IpVersion};
pub use execute::{MOST_JOBS, execute, execute_rest, make};
pub use experiment::{Experiment, USUAL_METRIC};
pub use handle::ExecutionHandle;
pub use impossible::ImpossibleResult;
pub use kinds::{Runs, estimate};
pub use known::{Known, PointNumbers};
pub use methods::{BlockFacts, CountedBlocks, Look, MethodInfo, methods, nr_error_table};
pub use metric::MetricInfo;
pub use metrics::{MAIN_METRICS, MAIN_METRICS_OF_SECONDS, METRICS};
pub use parts::{FLOW, LINK, LINKS, LinkName, NODE, PARTS, Part, PartKind, STATION, USER, WLAN_LINK};
pub use row::{MetricNames, NameSets, Row, RowMetrics, distribution};
pub use schedule::{Missing, Progress, Schedule, Shard, Task};
pub use summarise::{Found, Metric, PartResult, PointResult, results_of_groups, summarise, summarise_groups};
pub use support::Support;
pub use views::{
    ReuseFacts, Sink, air_pcap, delays, events, events_with_congestion_control, link_events, opportunities,
    pcap, reuse, samples, transfers,
};
