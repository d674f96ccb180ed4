//! A mesh: stations of 802.11 that share the air.

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

/// Stations of 802.11 that share the air, in place of the link: flows go from node to node, data and
/// acknowledgements over the same medium. A slot is then a whole exchange for a data packet with the mean
/// wait before it.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default)]
pub struct Mesh {
    /// How the nodes stand.
    #[schemars(extend("x-default" = "none: required without mesh.file"))]
    #[serde(skip_serializing_if = "Option::is_none")]
    pub topology: Option<Arrangement>,

    /// Where the nodes stand: a CSV file with the columns node,x_m,y_m, nodes numbered from 0. Contradicts
    /// mesh.topology.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub file: Option<FileName>,

    /// How many hops a chain has; its nodes are 0 to hops. Required for chain.
    #[schemars(range(min = 1, max = 1023))]
    #[serde(skip_serializing_if = "Option::is_none")]
    pub hops: Option<u32>,

    /// How many lines a grid has; node 0 is a corner, nodes are numbered along the lines. Required for grid.
    #[schemars(range(min = 1, max = 1024))]
    #[serde(skip_serializing_if = "Option::is_none")]
    pub rows: Option<u32>,

    /// How many nodes each line of a grid has. Required for grid.
    #[schemars(range(min = 1, max = 1024))]
    #[serde(skip_serializing_if = "Option::is_none")]
    pub columns: Option<u32>,

    /// How many stations stand around node 0. Required for star.
    #[schemars(range(min = 1, max = 1023))]
    #[serde(skip_serializing_if = "Option::is_none")]
    pub stations: Option<u32>,

    /// How many nodes stand anywhere. Required for random.
    #[schemars(range(min = 1, max = 1024))]
    #[serde(skip_serializing_if = "Option::is_none")]
    pub nodes: Option<u32>,

    /// Which of all random placements it is: the same in every run.
    #[schemars(extend("x-default" = "1, of random"))]
    #[serde(skip_serializing_if = "Option::is_none")]
    pub placement: Option<u64>,

    /// Between neighbours of a chain or grid; the radius of a star; the side of the square of a random
    /// placement over the square root of the number of nodes.
    #[schemars(extend("x-default" = "200 m, without mesh.file"))]
    #[serde(skip_serializing_if = "Option::is_none")]
    pub spacing: Option<Length>,

    /// Up to here a frame can be understood.
    #[schemars(extend("x-default" = "250 m"))]
    #[serde(skip_serializing_if = "Option::is_none")]
    pub range: Option<Length>,

    /// Up to here a frame is sensed and interferes; at least the range.
    #[schemars(extend("x-default" = "mesh.range"))]
    #[serde(skip_serializing_if = "Option::is_none")]
    pub interference: Option<Length>,

    /// How packets find their way.
    #[schemars(extend("x-default" = "chain, of a chain; shortest-path of others"))]
    #[serde(skip_serializing_if = "Option::is_none")]
    pub routing: Option<RoutingWord>,

    /// The nodes of each static route, in order; packets take it both ways. With routing "static".
    #[serde(skip_serializing_if = "Option::is_none")]
    pub routes: Option<Vec<Vec<u32>>>,

    /// What becomes of a frame on its way.
    #[schemars(extend("x-default" = "range"))]
    #[serde(skip_serializing_if = "Option::is_none")]
    pub reception: Option<ReceptionWord>,

    /// The exponent with which power falls with distance. Of reception "sinr".
    #[schemars(range(min = 1, max = 8), extend("x-default" = "2, with reception \"sinr\""))]
    #[serde(skip_serializing_if = "Option::is_none")]
    pub path_loss_exponent: Option<f64>,

    /// The standard deviation of log-normal shadowing in dB, drawn anew for each frame and receiver. Of
    /// reception "sinr".
    #[schemars(range(min = 0, max = 30), extend("x-default" = "4, with reception \"sinr\""))]
    #[serde(skip_serializing_if = "Option::is_none")]
    pub shadowing_db: Option<f64>,

    /// A frame is understood if the worst ratio of its power to that of interference and noise is this.
    #[schemars(range(min = -20, max = 60), extend("x-default" = "10"))]
    #[serde(skip_serializing_if = "Option::is_none")]
    pub sinr_threshold_db: Option<f64>,

    /// Whether nodes null each other.
    #[schemars(extend("x-default" = "plain"))]
    #[serde(skip_serializing_if = "Option::is_none")]
    pub mac: Option<MacWord>,

    /// Antennas of every node; all but one can null. Plain uses one of them.
    #[schemars(range(min = 1, max = 8), extend("x-default" = "2; 1 for plain"))]
    #[serde(skip_serializing_if = "Option::is_none")]
    pub antennas: Option<u32>,

    /// Which of the engaged neighbours that it knows a node nulls. Not of plain.
    #[schemars(extend("x-default" = "full; none for plain"))]
    #[serde(skip_serializing_if = "Option::is_none")]
    pub rule: Option<Rule>,

    /// What a node does that would have to null as many signals as it has antennas. Not of plain.
    #[schemars(extend("x-default" = "defer; none for plain"))]
    #[serde(skip_serializing_if = "Option::is_none")]
    pub overload: Option<OverloadWord>,

    /// Start from the weights of the exchange before instead of the first antenna alone. Not of plain.
    #[schemars(extend("x-default" = "false; none for plain"))]
    #[serde(skip_serializing_if = "Option::is_none")]
    pub sticky: Option<bool>,

    /// The power of the error of each channel estimate over the mean power of the channel, in dB. Not of
    /// plain.
    #[schemars(range(min = -200, max = 20), extend("x-default" = "none: estimates are exact"))]
    #[serde(skip_serializing_if = "Option::is_none")]
    pub estimation_error_db: Option<f64>,

    /// How long a channel stays as it is. Not of plain.
    #[schemars(extend("x-default" = "none: the whole run"))]
    #[serde(skip_serializing_if = "Option::is_none")]
    pub coherence_time: Option<Span>,

    /// Bit rate of DATA.
    #[schemars(extend("x-default" = "11 Mbit/s"))]
    #[serde(skip_serializing_if = "Option::is_none")]
    pub data_rate: Option<Rate>,

    /// Bit rate of RTS, CTS and ACK.
    #[schemars(extend("x-default" = "1 Mbit/s"))]
    #[serde(skip_serializing_if = "Option::is_none")]
    pub basic_rate: Option<Rate>,

    /// Whether RTS and CTS go before DATA. Nulling learns from them.
    #[schemars(extend("x-default" = "true"))]
    #[serde(skip_serializing_if = "Option::is_none")]
    pub rts: Option<bool>,

    /// After how many attempts a packet is dropped.
    pub retries: Retries,

    /// Packets that wait at a node at most, besides the one being sent.
    #[schemars(extend("x-default" = "25 packets"))]
    #[serde(skip_serializing_if = "Option::is_none")]
    pub queue: Option<Limit>,

    /// The first backoff is drawn from 0 to so many slots of 802.11; each failure doubles the window.
    #[schemars(range(min = 1, max = 65535), extend("x-default" = "31"))]
    #[serde(skip_serializing_if = "Option::is_none")]
    pub cw_min: Option<u32>,

    /// The largest window of the backoff.
    #[schemars(range(min = 1, max = 65535), extend("x-default" = "1023"))]
    #[serde(skip_serializing_if = "Option::is_none")]
    pub cw_max: Option<u32>,

    /// The unit of the backoff.
    #[schemars(extend("x-default" = "20 us"))]
    #[serde(skip_serializing_if = "Option::is_none")]
    pub backoff_slot: Option<Span>,

    /// Between the frames of one exchange.
    #[schemars(extend("x-default" = "10 us"))]
    #[serde(skip_serializing_if = "Option::is_none")]
    pub sifs: Option<Span>,

    /// Preamble and PLCP header before every frame.
    #[schemars(extend("x-default" = "192 us"))]
    #[serde(skip_serializing_if = "Option::is_none")]
    pub preamble: Option<Span>,

    /// Whether stations wait for EIFS instead of DIFS after a frame that they did not understand.
    #[schemars(extend("x-default" = "true"))]
    #[serde(skip_serializing_if = "Option::is_none")]
    pub eifs: Option<bool>,
}

/// After how many attempts a packet is dropped.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default)]
pub struct Retries {
    /// Attempts at an RTS, or at DATA sent without one.
    #[schemars(range(min = 1, max = 255), extend("x-default" = "7"))]
    #[serde(skip_serializing_if = "Option::is_none")]
    pub short: Option<u32>,

    /// Attempts at DATA after an RTS.
    #[schemars(range(min = 1, max = 255), extend("x-default" = "4"))]
    #[serde(skip_serializing_if = "Option::is_none")]
    pub long: Option<u32>,
}

/// How nodes stand.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum Arrangement {
    /// On a line.
    Chain,
    /// In lines and columns.
    Grid,
    /// Around node 0.
    Star,
    /// Anywhere, uniformly, in a square.
    Random,
}

/// How packets find their way.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum RoutingWord {
    /// Each node of the chain hands them to the next, however far it could reach.
    Chain,
    /// Over the fewest hops within the range.
    ShortestPath,
    /// Along mesh.routes.
    Static,
}

/// What becomes of a frame on its way.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum ReceptionWord {
    /// Power 1 up to the interference range, none beyond, no noise: the paper's world.
    Range,
    /// Power falls with distance and varies with each frame, against noise.
    Sinr,
}

/// Whether nodes null each other.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum MacWord {
    /// 802.11 with one antenna.
    Plain,
    /// Antenna arrays that null the neighbours in other exchanges, known from the RTS and CTS overheard.
    Nulling,
    /// The same, with every exchange in the interference range known at once and without a frame.
    NullingGenie,
}

/// Which of the engaged neighbours that it knows a node nulls.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum Rule {
    /// All of them.
    Full,
    /// A sender those who have sent a CTS, a receiver those who have sent an RTS, as the paper says.
    Paper,
}

/// What a node does that would have to null too many.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum OverloadWord {
    /// Waits until one of the exchanges is over.
    Defer,
    /// Goes ahead with the weights through which least of their power comes.
    LeastSquares,
}

absent!(Mesh);

impl Mesh {
    /// Fills in the defaults.
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
        // What it refuses, it refuses whatever the seed.
        let fabric = Fabric::new(config.clone(), RunSeed { seed: 0, run: 0 }).map_err(refused)?;
        Ok(MeshSetup { timing: *fabric.timing(), routes: fabric.routes().clone(), config })
    }

    fn resolve_reception(&mut self) -> Result<Reception, ScenarioError> {
        if *self.reception.get_or_insert(ReceptionWord::Range) == ReceptionWord::Range {
            // A sweep over the receptions has these keys in all of its points.
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
            // These make the slot of the scenario: they cannot be given in it.
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
            // A sweep over the kinds of access has these keys in all of its points.
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

/// What the mesh refuses, with its key in the scenario.
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
