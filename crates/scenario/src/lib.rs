//! Scenarios: the schema of scenario files, and the resolution of a file into a plan in the terms of the models.
//!
//! ```text
//! text + overrides ── document, schema, sweep ──> tables ── resolve ──> setup, identity: a Plan of points
//! ```
//!
//! The crate runs no simulation and reads or writes no files: the caller reads the files that a scenario names.

#![cfg_attr(not(test), warn(clippy::disallowed_methods))]

mod alternatives;
mod document;
mod draws;
mod error;
mod files;
mod flows;
mod hop;
mod identity;
mod migrate;
mod networks;
mod per_user;
mod plan;
mod points;
mod profiles;
mod quantity;
mod range;
mod resolve;
mod schema;
mod setup;
mod stop;
mod sweep;
mod tables;

pub use document::parse_value;
pub use error::ScenarioError;
pub use files::ReadFile;
pub use hop::{Carrier, FrameErrors, HopSetup};
pub use identity::RESULTS_VERSION;
pub use networks::*;
pub use per_user::{PerUser, PerUserExpects};
pub use plan::{Overrides, Plan};
pub use points::{Point, Points};
pub use quantity::{
    Bytes, FileName, FrameSpan, FrameWindow, Frames, Frequency, FromNode, Length, Limit, PrioritisedRate,
    Rate, Retransmissions, Room, Share, Size, Span, Speed, Window, WindowLimit,
};
pub use schema::{explain, schema};
pub use setup::Setup;
pub use stop::{End, StopRule};
pub use tables::{
    Aggregation, AllocationWord, Antennas, Arq, ArqProtocol, Arrangement, Between, Budget, Cell, CellArq,
    CellFeedback, CellModel, Channel, ChannelModel, Clock, Congestion, ControlName, Correlation, DataWay,
    DelaySetup, DelaysEnd, Delivery, Discipline, Distribution, DopplerSetup, Eight, Estimation, Feedback,
    FeedbackSetup, Flavour, Flow, FlowSetup, FrameHeader, FrameSetup, Framing, Gaps, Gate, Headers,
    Interpolation, Jitter, LevelKeys, Link, LossFormat, MacWord, Mesh, MeshSetup, Method, Modcod,
    NaksPerRound, Nr, NrBearer, NrBlock, NrBlockChannel, NrBlockage, NrCombining, NrDecoder, NrDrx,
    NrEffectiveSinr, NrFeedback, NrFidelity, NrGrants, NrHandover, NrHandoverMode, NrHarq, NrModel, NrNtn,
    NrOuterLoop, NrPreset, NrPriority, NrProfile, NrRlc, NrRlcMode, NrScheduler, NrUplink, OrbitTable,
    OuterLoop, OverloadWord, Packing, Persistence, Phy, PhyCombining, PhyFidelity, Policer, Prediction,
    Preset, Profile, ProfileName, ProfileWord, Queue, Quic, Radio, RateReduction, Reading, ReceptionWord,
    Recorded, Retries, Reverse, Rfc, RoutingWord, Rto, Rule, Rules, Run, Satellite, SatelliteSetup, Scenario,
    SchedulerWord, Shadowing, Shape, Shaper, ShaperSetup, SinrWord, SpikeTable, Spread, Tcp, TcpSetup,
    TimerCheck, TimerClock, Trace, TraceSetup, Traffic, TrafficSetup, Uplink, UplinkTable, Variant, Wired,
    Wlan, WlanAccessPoint, WlanAmpdu, WlanAsks, WlanBand, WlanCategory, WlanCategoryWord, WlanDirection,
    WlanEdca, WlanEmlsr, WlanForm, WlanLink, WlanModel, WlanMuAck, WlanMultiLink, WlanNeighbours, WlanOfdma,
    WlanPreset, WlanProfile, WlanQueues, WlanRate, WlanStandard, WlanStations,
};
