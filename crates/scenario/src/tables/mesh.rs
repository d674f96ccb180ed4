//! Keys of a mesh of 802.11 stations that share the air: table `mesh`.

mod setup;
mod topology;

pub use setup::MeshSetup;

use super::base::{absent, json, positive_time};
use crate::error::ScenarioError;
use crate::files::Files;
use crate::quantity::{FileName, Length, Limit, Rate, Room, Span};
use crossfade_channel::{LogNormalShadowing, PathLoss};
use crossfade_core::{RunSeed, SimTime};
use crossfade_link::QueueLimit;
use crossfade_mac::{
    DcfConfig, Knowledge, Mac, Mesh as Fabric, MeshConfig, MeshError, NullingConfig, NullingRule, Overload,
    Reception,
};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// Mesh of 802.11 stations that share the air, in place of the link. Flows go from node to node; data and ACKs share
/// the medium. A slot of the scenario is then an exchange of a data packet with the mean backoff before it.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default)]
pub struct Mesh {
    /// Arrangement of the nodes.
    #[schemars(extend("x-default" = "none: required without mesh.file"))]
    #[serde(skip_serializing_if = "Option::is_none")]
    pub topology: Option<Arrangement>,

    /// File of node positions: CSV with the columns node,x_m,y_m, nodes numbered from 0. Contradicts mesh.topology.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub file: Option<FileName>,

    /// Number of hops of a chain; its nodes are 0 to hops. Required for topology "chain".
    #[schemars(range(min = 1, max = 1023))]
    #[serde(skip_serializing_if = "Option::is_none")]
    pub hops: Option<u32>,

    /// Number of rows of a grid. Node 0 is a corner; nodes are numbered along the rows. Required for topology "grid".
    #[schemars(range(min = 1, max = 1024))]
    #[serde(skip_serializing_if = "Option::is_none")]
    pub rows: Option<u32>,

    /// Number of nodes in each row of a grid. Required for topology "grid".
    #[schemars(range(min = 1, max = 1024))]
    #[serde(skip_serializing_if = "Option::is_none")]
    pub columns: Option<u32>,

    /// Number of stations around node 0. Required for topology "star".
    #[schemars(range(min = 1, max = 1023))]
    #[serde(skip_serializing_if = "Option::is_none")]
    pub stations: Option<u32>,

    /// Number of nodes of a random placement. Required for topology "random".
    #[schemars(range(min = 1, max = 1024))]
    #[serde(skip_serializing_if = "Option::is_none")]
    pub nodes: Option<u32>,

    /// Index of the random placement, which is the same in every run.
    #[schemars(extend("x-default" = "1, with topology \"random\""))]
    #[serde(skip_serializing_if = "Option::is_none")]
    pub placement: Option<u64>,

    /// Distance of neighbours in a chain or grid, and radius of a star. In a random placement, the side of the square
    /// over the square root of the number of nodes.
    #[schemars(extend("x-default" = "200 m, without mesh.file"))]
    #[serde(skip_serializing_if = "Option::is_none")]
    pub spacing: Option<Length>,

    /// Largest distance at which a frame can be received.
    #[schemars(extend("x-default" = "250 m"))]
    #[serde(skip_serializing_if = "Option::is_none")]
    pub range: Option<Length>,

    /// Largest distance at which a frame is sensed and interferes; at least the range.
    #[schemars(extend("x-default" = "mesh.range"))]
    #[serde(skip_serializing_if = "Option::is_none")]
    pub interference: Option<Length>,

    /// Routing of packets between nodes.
    #[schemars(extend("x-default" = "chain with topology \"chain\"; shortest-path with others"))]
    #[serde(skip_serializing_if = "Option::is_none")]
    pub routing: Option<RoutingWord>,

    /// Nodes of each static route, in order; packets take it in both directions. Needs routing "static".
    #[serde(skip_serializing_if = "Option::is_none")]
    pub routes: Option<Vec<Vec<u32>>>,

    /// Reception model of frames.
    #[schemars(extend("x-default" = "range"))]
    #[serde(skip_serializing_if = "Option::is_none")]
    pub reception: Option<ReceptionWord>,

    /// Path loss exponent: power falls with this power of the distance. Needs reception "sinr".
    #[schemars(range(min = 1, max = 8), extend("x-default" = "2, with reception \"sinr\""))]
    #[serde(skip_serializing_if = "Option::is_none")]
    pub path_loss_exponent: Option<f64>,

    /// Standard deviation of log-normal shadowing in dB, drawn for each frame and receiver. Needs reception "sinr".
    #[schemars(range(min = 0, max = 30), extend("x-default" = "4, with reception \"sinr\""))]
    #[serde(skip_serializing_if = "Option::is_none")]
    pub shadowing_db: Option<f64>,

    /// Least SINR in dB, at its worst during a frame, at which the frame is received.
    #[schemars(range(min = -20, max = 60), extend("x-default" = "10"))]
    #[serde(skip_serializing_if = "Option::is_none")]
    pub sinr_threshold_db: Option<f64>,

    /// MAC of the nodes: plain 802.11, or with interference nulling.
    #[schemars(extend("x-default" = "plain"))]
    #[serde(skip_serializing_if = "Option::is_none")]
    pub mac: Option<MacWord>,

    /// Number of antennas of every node; all but one can null. Mac "plain" uses one of them.
    #[schemars(range(min = 1, max = 8), extend("x-default" = "2; 1 with mac \"plain\""))]
    #[serde(skip_serializing_if = "Option::is_none")]
    pub antennas: Option<u32>,

    /// Nulling rule: which neighbours in an exchange a node nulls. Not taken by mac "plain".
    #[schemars(extend("x-default" = "full; none with mac \"plain\""))]
    #[serde(skip_serializing_if = "Option::is_none")]
    pub rule: Option<Rule>,

    /// Behaviour of a node that would have to null as many signals as it has antennas. Not taken by mac "plain".
    #[schemars(extend("x-default" = "defer; none with mac \"plain\""))]
    #[serde(skip_serializing_if = "Option::is_none")]
    pub overload: Option<OverloadWord>,

    /// Whether a node starts from the antenna weights of its last exchange. Otherwise it starts from its first antenna
    /// alone. Not taken by mac "plain".
    #[schemars(extend("x-default" = "false; none with mac \"plain\""))]
    #[serde(skip_serializing_if = "Option::is_none")]
    pub sticky: Option<bool>,

    /// Power of the channel estimation error over the mean channel power, in dB. Not taken by mac "plain".
    #[schemars(range(min = -200, max = 20), extend("x-default" = "none: estimates are exact"))]
    #[serde(skip_serializing_if = "Option::is_none")]
    pub estimation_error_db: Option<f64>,

    /// Coherence time: how long a channel stays constant. Not taken by mac "plain".
    #[schemars(extend("x-default" = "none: channels stay constant for the whole run"))]
    #[serde(skip_serializing_if = "Option::is_none")]
    pub coherence_time: Option<Span>,

    /// Bit rate of DATA frames.
    #[schemars(extend("x-default" = "11 Mbit/s"))]
    #[serde(skip_serializing_if = "Option::is_none")]
    pub data_rate: Option<Rate>,

    /// Bit rate of RTS, CTS and ACK.
    #[schemars(extend("x-default" = "1 Mbit/s"))]
    #[serde(skip_serializing_if = "Option::is_none")]
    pub basic_rate: Option<Rate>,

    /// Whether an RTS/CTS exchange precedes DATA. Nulling learns the channels from it.
    #[schemars(extend("x-default" = "true"))]
    #[serde(skip_serializing_if = "Option::is_none")]
    pub rts: Option<bool>,

    /// Retry limits after which a packet is dropped.
    pub retries: Retries,

    /// Queue limit of a node in packets, besides the one being sent.
    #[schemars(extend("x-default" = "25 packets"))]
    #[serde(skip_serializing_if = "Option::is_none")]
    pub queue: Option<Limit>,

    /// Least contention window, in backoff slots. The first backoff is drawn from 0 to this number of backoff slots,
    /// and each failure doubles the window.
    #[schemars(range(min = 1, max = 65535), extend("x-default" = "31"))]
    #[serde(skip_serializing_if = "Option::is_none")]
    pub cw_min: Option<u32>,

    /// Largest contention window, in backoff slots.
    #[schemars(range(min = 1, max = 65535), extend("x-default" = "1023"))]
    #[serde(skip_serializing_if = "Option::is_none")]
    pub cw_max: Option<u32>,

    /// Duration of a backoff slot.
    #[schemars(extend("x-default" = "20 us"))]
    #[serde(skip_serializing_if = "Option::is_none")]
    pub backoff_slot: Option<Span>,

    /// SIFS: time between the frames of one exchange.
    #[schemars(extend("x-default" = "10 us"))]
    #[serde(skip_serializing_if = "Option::is_none")]
    pub sifs: Option<Span>,

    /// Duration of preamble and PLCP header before every frame.
    #[schemars(extend("x-default" = "192 us"))]
    #[serde(skip_serializing_if = "Option::is_none")]
    pub preamble: Option<Span>,

    /// Whether stations wait for EIFS instead of DIFS after a frame that they could not decode.
    #[schemars(extend("x-default" = "true"))]
    #[serde(skip_serializing_if = "Option::is_none")]
    pub eifs: Option<bool>,
}

/// Retry limits after which a packet is dropped.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default)]
pub struct Retries {
    /// Largest number of attempts at an RTS, or at DATA sent without one.
    #[schemars(range(min = 1, max = 255), extend("x-default" = "7"))]
    #[serde(skip_serializing_if = "Option::is_none")]
    pub short: Option<u32>,

    /// Largest number of attempts at DATA after an RTS.
    #[schemars(range(min = 1, max = 255), extend("x-default" = "4"))]
    #[serde(skip_serializing_if = "Option::is_none")]
    pub long: Option<u32>,
}

/// Arrangement of the nodes of a mesh.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum Arrangement {
    /// Nodes on a line at equal distances.
    Chain,
    /// Nodes in rows and columns at equal distances.
    Grid,
    /// Stations on a circle around node 0.
    Star,
    /// Nodes at random places in a square, uniformly distributed.
    Random,
}

/// Routing of packets between nodes.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum RoutingWord {
    /// Each node of a chain forwards to the next, even where it could reach farther.
    Chain,
    /// Routes over the fewest hops within the range.
    ShortestPath,
    /// Routes listed in mesh.routes.
    Static,
}

/// Reception model of frames in a mesh.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum ReceptionWord {
    /// Power is 1 up to the interference range and 0 beyond, without noise, as in Jindal and Sahoo.
    Range,
    /// Power falls with distance, varies per frame, and competes with noise.
    Sinr,
}

/// MAC of the nodes of a mesh.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum MacWord {
    /// 802.11 with one antenna per node.
    Plain,
    /// Antenna arrays that null the neighbours in other exchanges, known from the RTS and CTS overheard.
    Nulling,
    /// Like nulling, but nodes know every exchange within the interference range at once and without a frame.
    NullingGenie,
}

/// Nulling rule: which neighbours in an exchange a node nulls.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum Rule {
    /// A node nulls all known neighbours in an exchange.
    Full,
    /// Senders null the nodes of overheard CTS, receivers those of overheard RTS, as in Jindal and Sahoo.
    Paper,
}

/// Behaviour of a node that would have to null too many signals.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum OverloadWord {
    /// The node waits until one of the exchanges is over.
    Defer,
    /// The node sends with the weights that let the least of the signals' power through.
    LeastSquares,
}

absent!(Mesh);

impl Mesh {
    /// Fills in the defaults of the mesh, and returns the resolved mesh.
    pub(crate) fn resolve(&mut self, files: &Files<'_>) -> Result<MeshSetup, ScenarioError> {
        let positions = self.positions(files)?;
        let routing = self.resolve_routing(positions.len())?;
        let range_m = self.range.get_or_insert(Length(250.0)).0;
        let interference_m = self.interference.get_or_insert(Length(range_m)).0;
        let config = MeshConfig {
            positions,
            routing,
            range_m,
            interference_m,
            reception: self.resolve_reception()?,
            sinr_threshold_db: *self.sinr_threshold_db.get_or_insert(10.0),
            dcf: self.resolve_dcf()?,
            mac: self.resolve_mac()?,
            queue: self.resolve_queue()?,
        };
        // Errors of the fabric do not depend on the seed.
        let fabric = Fabric::new(config.clone(), RunSeed { seed: 0, run: 0 }).map_err(refused)?;
        Ok(MeshSetup { timing: *fabric.timing(), routes: fabric.routes().clone(), config })
    }

    fn resolve_reception(&mut self) -> Result<Reception, ScenarioError> {
        if *self.reception.get_or_insert(ReceptionWord::Range) == ReceptionWord::Range {
            // In a sweep over receptions these keys are present at all points.
            (self.path_loss_exponent, self.shadowing_db) = (None, None);
            return Ok(Reception::Range);
        }
        let ns2 = PathLoss::ns2();
        let exponent = *self.path_loss_exponent.get_or_insert(ns2.exponent());
        let shadowing_db = *self.shadowing_db.get_or_insert(4.0);
        let path_loss = PathLoss::new(exponent, 1.0, 914e6)
            .map_err(|error| ScenarioError::key("mesh.path_loss_exponent", error.to_string()))?;
        let shadowing = LogNormalShadowing::new(shadowing_db)
            .map_err(|error| ScenarioError::key("mesh.shadowing_db", error.to_string()))?;
        Ok(Reception::Sinr { path_loss, shadowing })
    }

    fn resolve_dcf(&mut self) -> Result<DcfConfig, ScenarioError> {
        let usual = DcfConfig::default();
        let span = |key: &str, span: &mut Option<Span>, usual: SimTime| {
            let key = format!("mesh.{key}");
            let span = *span.get_or_insert(Span::exactly(usual));
            // These keys determine the slot, so they cannot be given in slots.
            if span.is_slots() {
                return Err(ScenarioError::value(&key, &json(span), "must be a time such as \"20 us\""));
            }
            positive_time(&key, span, SimTime::ZERO)
        };
        Ok(DcfConfig {
            slot: span("backoff_slot", &mut self.backoff_slot, usual.slot)?,
            sifs: span("sifs", &mut self.sifs, usual.sifs)?,
            preamble: span("preamble", &mut self.preamble, usual.preamble)?,
            data_rate_bps: self.data_rate.get_or_insert(Rate(usual.data_rate_bps)).0,
            basic_rate_bps: self.basic_rate.get_or_insert(Rate(usual.basic_rate_bps)).0,
            rts: *self.rts.get_or_insert(usual.rts),
            cw_min: *self.cw_min.get_or_insert(usual.cw_min),
            cw_max: *self.cw_max.get_or_insert(usual.cw_max),
            short_retries: *self.retries.short.get_or_insert(usual.short_retries),
            long_retries: *self.retries.long.get_or_insert(usual.long_retries),
            eifs: *self.eifs.get_or_insert(usual.eifs),
        })
    }

    fn resolve_mac(&mut self) -> Result<Mac, ScenarioError> {
        let mac = *self.mac.get_or_insert(MacWord::Plain);
        if mac == MacWord::Plain {
            // In a sweep over MACs these keys are present at all points.
            (self.antennas, self.rule, self.overload, self.sticky) = (None, None, None, None);
            (self.estimation_error_db, self.coherence_time) = (None, None);
            return Ok(Mac::Plain);
        }
        let coherence_time = match self.coherence_time {
            None => None,
            Some(span) if span.is_slots() => {
                let problem = "must be a time such as \"10 ms\"";
                return Err(ScenarioError::value("mesh.coherence_time", &json(span), problem));
            }
            Some(span) => Some(positive_time("mesh.coherence_time", span, SimTime::ZERO)?),
        };
        Ok(Mac::Nulling(NullingConfig {
            antennas: *self.antennas.get_or_insert(2) as usize,
            rule: match self.rule.get_or_insert(Rule::Full) {
                Rule::Full => NullingRule::Full,
                Rule::Paper => NullingRule::Paper,
            },
            overload: match self.overload.get_or_insert(OverloadWord::Defer) {
                OverloadWord::Defer => Overload::Defer,
                OverloadWord::LeastSquares => Overload::LeastSquares,
            },
            knowledge: if mac == MacWord::Nulling { Knowledge::Overheard } else { Knowledge::Perfect },
            sticky: *self.sticky.get_or_insert(false),
            estimation_error_db: self.estimation_error_db,
            coherence_time,
        }))
    }

    fn resolve_queue(&mut self) -> Result<usize, ScenarioError> {
        let queue = *self.queue.get_or_insert(Limit(Room::Of(QueueLimit::Packets(25))));
        match queue.0 {
            Room::Of(QueueLimit::Packets(packets)) => Ok(packets),
            _ => Err(ScenarioError::value(
                "mesh.queue",
                &json(queue),
                "must be a number of packets such as \"25 packets\"",
            )),
        }
    }
}

/// Error of the mesh model as an error of the scenario key that it concerns.
pub(crate) fn refused(error: MeshError) -> ScenarioError {
    match error {
        MeshError::OutOfRange { parameter, value, allowed } => ScenarioError {
            key: format!("mesh.{}", if parameter == "slot" { "backoff_slot" } else { parameter }),
            value: Some(value),
            problem: format!("must be {allowed}"),
            at: None,
        },
        MeshError::HopTooLong { .. } | MeshError::ContradictingRoutes { .. } => {
            ScenarioError::key("mesh.routes", error.to_string())
        }
        error => ScenarioError::key("mesh", error.to_string()),
    }
}
