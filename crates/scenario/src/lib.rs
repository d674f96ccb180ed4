//! Scenarios: the schema of the file, and the way from a file to a plan in the terms of the models.
//!
//! ```text
//! text + overrides ── document, schema, sweep ──> tables ── resolve ──> setup, identity: a Plan of points
//! ```
//!
//! Nothing here runs, and nothing reads or writes files: those that a scenario names are read by the caller.

mod cell;
mod digest;
mod document;
mod error;
mod files;
mod identity;
mod mesh;
mod plan;
mod quantity;
mod radio_quantity;
mod range;
mod resolve;
mod schema;
mod setup;
mod stop;
mod sweep;
mod tables;

pub use cell::CellSetup;
pub use document::parse_value;
pub use error::ScenarioError;
pub use files::ReadFile;
pub use identity::RESULTS_VERSION;
pub use mesh::MeshSetup;
pub use plan::{Overrides, Plan, Point};
pub use quantity::{
    Bytes, FileName, FrameSpan, Frames, FromNode, Length, Limit, Rate, Retransmissions, Share, Size, Span,
    Window, WindowLimit,
};
pub use radio_quantity::{Frequency, PerUser, PerUserExpects, Speed};
pub use schema::{explain, schema};
pub use setup::{Carrier, FrameErrors, HopSetup, Setup};
pub use stop::{End, StopRule};
pub use tables::{
    AllocationWord, Antennas, Arq, ArqProtocol, Arrangement, Budget, Cell, CellArq, Channel, ChannelModel,
    Clock, Correlation, Delivery, Discipline, Distribution, Eight, Estimation, Feedback, FeedbackSetup,
    Flavour, Flow, FlowSetup, FrameHeader, FrameSetup, Framing, Gaps, Gate, Headers, Interpolation,
    LevelKeys, Link, LossFormat, MacWord, Mesh, Method, Modcod, NaksPerRound, OverloadWord, Packing,
    Persistence, Phy, PhyCombining, PhyFidelity, Prediction, Preset, Profile, ProfileWord, Queue, Radio,
    RateReduction, Reading, ReceptionWord, Retries, Reverse, Rfc, RoutingWord, Rto, Rule, Rules, Run,
    Scenario, SchedulerWord, Shadowing, Shape, Shaper, ShaperSetup, SinrWord, Spread, Tcp, TcpSetup,
    TimerCheck, TimerClock, Trace, TraceSetup, Traffic, TrafficSetup, Variant, Wired,
};
