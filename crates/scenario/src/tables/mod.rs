//! All keys of a scenario file, each with its unit, default and meaning.
//!
//! The doc comment of a key is what `crossfade explain KEY` prints, and the JSON Schema for editors is generated from
//! these structs: these files are the reference. A key that is absent is `None`; resolving a scenario fills in the
//! defaults.

#![allow(clippy::doc_markdown, reason = "the comments are printed as they stand")]

pub(crate) mod adaptation;
pub(crate) mod aggregation;
pub(crate) mod antennas;
pub(crate) mod arq;
pub(crate) mod base;
pub(crate) mod bbr;
pub(crate) mod cell;
pub(crate) mod channel;
pub(crate) mod combining;
pub(crate) mod congestion;
pub(crate) mod error_rate;
pub(crate) mod error_rate_curve;
pub(crate) mod error_rate_loss;
pub(crate) mod figure;
pub(crate) mod flow;
pub(crate) mod frames;
pub(crate) mod jitter;
pub(crate) mod link;
pub(crate) mod mesh;
pub(crate) mod method;
mod nr;
mod nr_bearer;
mod nr_block;
mod nr_five_qi;
mod nr_harq;
mod nr_interruptions;
mod nr_link_adaptation;
mod nr_preset;
mod nr_stack;
pub(crate) mod orbit;
pub(crate) mod pacing;
pub(crate) mod phy;
pub(crate) mod policer;
pub(crate) mod prediction;
pub(crate) mod propagation;
pub(crate) mod queue;
pub(crate) mod quic;
mod radio;
pub(crate) mod rfc;
pub(crate) mod rto;
pub(crate) mod run;
pub(crate) mod satellite;
mod scheduler;
pub(crate) mod shaper;
pub(crate) mod tagged;
pub(crate) mod tcp;
pub(crate) mod trace;
mod uplink;
mod wlan;
mod wlan_air;
mod wlan_emlsr;
mod wlan_links;
mod wlan_ofdma;
mod wlan_preset;
mod wlan_stations;
mod wlan_words;

pub use adaptation::{CellFeedback, OuterLoop};
pub use aggregation::Aggregation;
pub use antennas::{Antennas, Correlation, Spread};
pub use arq::{
    Arq, ArqProtocol, Delivery, Feedback, FeedbackSetup, NaksPerRound, Persistence, Reading, TimerCheck,
    TimerClock,
};
pub(crate) use base::{LONGEST_SLOT, json};
pub use cell::{AllocationWord, Cell, CellArq, CellModel, Preset, Recorded};
pub use channel::{Channel, ChannelModel, Clock, DopplerSetup, LossFormat};
pub use combining::PhyCombining;
pub use congestion::{Congestion, ControlName};
pub(crate) use figure::Figure;
pub use flow::{
    Distribution, Flow, FlowSetup, Gaps, Shape, Traffic, TrafficSetup, WlanCategoryWord, WlanDirection,
};
pub use frames::{FrameHeader, FrameSetup, Framing, Headers, Packing};
pub use jitter::Jitter;
pub(crate) use link::Varying;
pub use link::{Link, Reverse, Wired};
pub use mesh::{
    Arrangement, MacWord, Mesh, MeshSetup, OverloadWord, ReceptionWord, Retries, RoutingWord, Rule,
};
pub use method::Method;
pub use nr::{Nr, NrEffectiveSinr, NrFidelity, NrModel, NrPreset, NrPriority, NrProfile, NrScheduler};
pub use nr_bearer::NrBearer;
pub use nr_block::{NrBlock, NrBlockChannel, NrDecoder};
pub(crate) use nr_five_qi::five_qi;
pub use nr_harq::{NrCombining, NrHarq};
pub use nr_interruptions::{NrBlockage, NrDrx, NrHandover, NrHandoverMode, NrNtn};
pub use nr_link_adaptation::{NrFeedback, NrOuterLoop};
pub use nr_stack::{NrGrants, NrRlc, NrRlcMode, NrUplink};
pub use orbit::OrbitTable;
pub use phy::{Estimation, Phy, PhyFidelity};
pub use policer::Policer;
pub use prediction::{Eight, LevelKeys, Prediction, SinrWord};
pub use propagation::{Interpolation, ProfileWord, Shadowing};
pub use queue::{Discipline, Queue};
pub(crate) use queue::{Packets, USUAL_LIMIT};
pub use quic::Quic;
pub use radio::Radio;
pub use rfc::{Profile, RateReduction, Rfc, Rules};
pub use rto::Rto;
pub use run::Run;
pub use satellite::{DataWay, ProfileName, Satellite, SatelliteSetup, SpikeTable, UplinkTable};
pub use scheduler::SchedulerWord;
pub use shaper::{Shaper, ShaperSetup};
pub use tcp::{Flavour, Gate, Tcp, TcpSetup, Variant};
pub use trace::{Between, Budget, DelaySetup, DelaysEnd, Modcod, Trace, TraceSetup};
pub use uplink::Uplink;
pub use wlan::{Wlan, WlanModel};
pub use wlan_air::{WlanAccessPoint, WlanAmpdu, WlanCategory, WlanEdca, WlanNeighbours, WlanQueues};
pub use wlan_emlsr::WlanEmlsr;
pub use wlan_links::WlanLink;
pub use wlan_ofdma::{WlanMuAck, WlanOfdma};
pub use wlan_stations::WlanStations;
pub use wlan_words::{
    WlanAsks, WlanBand, WlanForm, WlanMultiLink, WlanPreset, WlanProfile, WlanRate, WlanStandard,
};

use crate::error::ScenarioError;
use crate::stop::StopRule;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};
use std::collections::BTreeMap;

impl Scenario {
    /// True if method phy is the only simulating method, so that no transport is needed.
    pub(crate) fn is_phy_alone(&self) -> bool {
        let methods = self.methods.as_deref().unwrap_or_default();
        methods.contains(&Method::Phy) && methods.iter().all(|m| *m == Method::Phy || m.is_formula())
    }

    /// True if only frames are evaluated (by method phy, or by closed forms of the physical layer), without transport
    /// and packets.
    pub(crate) fn has_no_transport(&self) -> bool {
        let has_frames =
            self.channel.model == Some(ChannelModel::BlockRayleigh) || !self.nr.block.is_absent();
        let of_frames = has_frames && self.link.packet_size.is_none();
        let by_frames = self.is_phy_alone() || (self.is_by_formula() && of_frames);
        by_frames && self.tcp == Tcp::default() && self.flows.is_empty()
    }

    fn is_by_formula(&self) -> bool {
        self.methods
            .as_ref()
            .is_some_and(|methods| !methods.is_empty() && methods.iter().all(|m| m.is_formula()))
    }

    /// Fills in the defaults of the stop rule and the seed, and returns both.
    pub(crate) fn resolve_stop(&mut self) -> Result<(StopRule, u64), ScenarioError> {
        // Keys for the runs of method phy are no mistake if formulas replace it.
        let asks_for_frames = self.run.frame_errors.is_some() || self.run.max_frames.is_some();
        let counts_frames = self.is_phy_alone() || (self.is_by_formula() && asks_for_frames);
        self.run.resolve_stop(counts_frames)
    }
}

/// Scenario: what is simulated, for how long, and over which values.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default)]
pub struct Scenario {
    /// Version of the scenario format: 2. In a file of version 1, the default of tcp.flavour is "paper".
    #[schemars(range(min = 1, max = 2), extend("x-required" = true))]
    #[serde(skip_serializing_if = "Option::is_none")]
    pub schema: Option<u32>,

    /// Title of the scenario, one line. It has no influence on results.
    #[schemars(extend("x-plan" = true))]
    #[serde(skip_serializing_if = "Option::is_none")]
    pub title: Option<String>,

    /// Methods that compute each point.
    #[schemars(extend("default" = ["simulation"], "x-plan" = true))]
    #[serde(skip_serializing_if = "Option::is_none")]
    pub methods: Option<Vec<Method>>,

    /// Duration and number of runs.
    pub run: Run,

    /// Channel: which data packets, or frames, are lost. Required unless a table in link.trace or link.satellite
    /// determines the losses.
    pub channel: Channel,

    /// Physical layer of the link, with channel.model = "block-rayleigh".
    #[serde(skip_serializing_if = "Phy::is_absent")]
    pub phy: Phy,

    /// Link that carries the data packets: a table, or "profile:NAME" for a shipped profile. A profile may also have
    /// channel, reverse and wired; keys of the scenario override it. `crossfade list --profiles` lists profiles.
    #[schemars(extend("x-required" = true))]
    pub link: Link,

    /// Link that carries the acknowledgements.
    pub reverse: Reverse,

    /// Wired segment between the sender and the wireless link, in both directions.
    #[serde(skip_serializing_if = "Wired::is_absent")]
    pub wired: Wired,

    /// Mesh of 802.11 stations that share the air, in place of the link. Contradicts channel, reverse, wired, and all
    /// link keys but packet_size.
    #[serde(skip_serializing_if = "Mesh::is_absent")]
    pub mesh: Mesh,

    /// Slotted downlink with many users, in place of the link. ACKs take the reverse link, one for each user.
    /// Contradicts channel, phy, mesh, and all link keys but packet_size and queue.limit.
    #[serde(skip_serializing_if = "Cell::is_absent")]
    pub cell: Cell,

    /// Downlink of a 5G NR cell, in place of the link. ACKs take the reverse link, one for each user. Contradicts
    /// channel, phy, mesh, cell, and all link keys but packet_size and queue.limit.
    #[serde(skip_serializing_if = "Nr::is_absent")]
    pub nr: Nr,

    /// Wi-Fi network in place of the links: an access point and its stations. Data and ACKs share the air. Contradicts
    /// channel, phy, mesh, cell, nr, reverse, and all link keys but packet_size.
    #[serde(skip_serializing_if = "Wlan::is_absent")]
    pub wlan: Wlan,

    /// TCP sender and receiver of every flow that has no keys of its own.
    #[schemars(extend("x-required" = true))]
    pub tcp: Tcp,

    /// Flows of the scenario, by name. Without this table there is one bulk flow. Names prefix metrics: goodput_bps
    /// of the flows called cubic is cubic.goodput_bps.
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    pub flows: BTreeMap<String, Flow>,

    /// Name of the alternative whose tables replace the scenario's own.
    #[schemars(extend("x-default" = "none: the alternatives are an axis of the sweep, in the order of the file"))]
    #[serde(skip_serializing_if = "Option::is_none")]
    pub alternative: Option<String>,

    /// Alternatives by name, such as radio technologies: tables that replace the scenario's. An alternative may have
    /// channel, phy, link, reverse, wired, mesh, cell, nr, wlan, tcp and flows; each replaces the whole table of that
    /// name. Keys that the command line sets or sweeps hold in all alternatives.
    #[serde(skip_serializing_if = "Map::is_empty")]
    pub alternatives: Map<String, Value>,

    /// Axes of the sweep: a dotted key and its values. Values come as a list, "a,b,c", "start:stop:step" (both ends
    /// included) or "log:start:stop:points". Keys joined by commas are zipped: their values are lists, one value per
    /// key. Axes are crossed; the first varies slowest. A table as a value is merged into the table of that name.
    #[schemars(extend("x-plan" = true))]
    #[serde(skip_serializing_if = "Map::is_empty")]
    pub sweep: Map<String, Value>,

    /// Figure drawn of the results unless options say otherwise. It has no influence on results.
    #[schemars(extend("x-plan" = true))]
    #[serde(skip_serializing_if = "Figure::is_absent")]
    pub figure: Figure,
}
