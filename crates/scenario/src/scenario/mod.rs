//! The scenario file: every key, with its unit, default and meaning.
//!
//! The doc comment of a key is what `crossfade explain KEY` prints, and the JSON Schema for editors is
//! generated from these structs: these files are the reference. A key that is absent is `None`; resolving a
//! scenario fills in the defaults.

#![allow(clippy::doc_markdown, reason = "the comments are printed as they stand")]

mod channel;
mod flow;
mod link;
mod tcp;

pub use channel::{Channel, ChannelModel, Clock};
pub use flow::{Flow, Shape, Traffic};
pub use link::{Discipline, Link, Queue, Reverse, Wired};
pub use tcp::{Flavour, Gate, Profile, RateReduction, Rfc, Rto, Tcp, Variant};

use crate::quantity::{Share, Span};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};
use std::collections::BTreeMap;

/// One experiment: what is simulated, for how long, and over which values.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default)]
pub struct Scenario {
    /// The version of the scenario format.
    #[schemars(range(min = 1, max = 1), extend("x-required" = true))]
    #[serde(skip_serializing_if = "Option::is_none")]
    pub schema: Option<u32>,

    /// What the scenario is about, in one line. Has no influence on results.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub title: Option<String>,

    /// How the figures are obtained: by each of these methods at every point.
    #[schemars(extend("default" = ["simulation"]))]
    #[serde(skip_serializing_if = "Option::is_none")]
    pub methods: Option<Vec<Method>>,

    /// How long a run lasts and how many there are.
    pub run: Run,

    /// Which data packets the channel loses.
    #[schemars(extend("x-required" = true))]
    pub channel: Channel,

    /// The link that carries the data packets.
    #[schemars(extend("x-required" = true))]
    pub link: Link,

    /// The link that carries the acknowledgements.
    pub reverse: Reverse,

    /// The wired segment between the sender and the wireless link, both ways.
    #[serde(skip_serializing_if = "Wired::is_absent")]
    pub wired: Wired,

    /// The TCP sender and its receiver; of every flow, where flows say nothing else.
    #[schemars(extend("x-required" = true))]
    pub tcp: Tcp,

    /// Who sends, by name. Without this table there is one flow without end. The names stand in the results:
    /// goodput_bps of the flows called cubic is cubic.goodput_bps.
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    pub flows: BTreeMap<String, Flow>,

    /// Axes: a dotted key and its values, as a list, "a,b,c", "start:stop:step" (both ends included) or
    /// "log:start:stop:points". Keys joined by commas are zipped: their values are lists, one value a key.
    /// Axes are crossed; the first varies slowest. A table as a value is merged into the table of that name.
    #[serde(skip_serializing_if = "Map::is_empty")]
    pub sweep: Map<String, Value>,
}

/// How a figure is obtained.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum Method {
    /// Solved exactly; the same as analysis:exact.
    Analysis,
    /// Solved exactly.
    #[serde(rename = "analysis:exact")]
    AnalysisExact,
    /// Solved, as tight bounds.
    #[serde(rename = "analysis:bounds")]
    AnalysisBounds,
    /// Solved, as the bounds a paper prints.
    #[serde(rename = "analysis:paper-bounds")]
    AnalysisPaperBounds,
    /// The formula of Padhye, Firoiu, Towsley and Kurose (2000, eq. 32), which knows the channel by its loss
    /// rate alone.
    Formula,
    /// The square-root law (Mathis, Semke, Mahdavi and Ott 1997), the same without timeouts.
    #[serde(rename = "formula:square-root")]
    FormulaSquareRoot,
    /// Estimated from simulated runs.
    #[default]
    Simulation,
    /// Measured on real programs.
    Live,
}

impl Method {
    /// The word of the scenario.
    pub fn name(self) -> &'static str {
        match self {
            Self::Analysis | Self::AnalysisExact => "analysis:exact",
            Self::AnalysisBounds => "analysis:bounds",
            Self::AnalysisPaperBounds => "analysis:paper-bounds",
            Self::Formula => "formula",
            Self::FormulaSquareRoot => "formula:square-root",
            Self::Simulation => "simulation",
            Self::Live => "live",
        }
    }

    /// Whether a point is estimated by a formula.
    pub fn is_formula(self) -> bool {
        matches!(self, Self::Formula | Self::FormulaSquareRoot)
    }

    /// Whether a point is solved, as a Markov chain, instead of tried out.
    pub fn is_analysis(self) -> bool {
        matches!(
            self,
            Self::Analysis | Self::AnalysisExact | Self::AnalysisBounds | Self::AnalysisPaperBounds
        )
    }
}

/// How long a run lasts and how many there are.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default)]
pub struct Run {
    /// How long a run lasts, warm-up included. Contradicts run.segments.
    #[schemars(extend("x-default" = "100000 slots, without run.segments"))]
    #[serde(skip_serializing_if = "Option::is_none")]
    pub duration: Option<Span>,

    /// What happens before this time is simulated and not counted.
    #[schemars(extend("default" = "0 s"))]
    #[serde(skip_serializing_if = "Option::is_none")]
    pub warmup: Option<Span>,

    /// A run ends when this many segments have been delivered after the warm-up. Contradicts run.duration.
    #[schemars(range(min = 1, max = 1_000_000_000_000_u64))]
    #[serde(skip_serializing_if = "Option::is_none")]
    pub segments: Option<u64>,

    /// How many independent runs (replications) are averaged. At least 10 make an interval that can be
    /// trusted.
    #[schemars(range(min = 1, max = 1_000_000), extend("default" = 10))]
    #[serde(skip_serializing_if = "Option::is_none")]
    pub runs: Option<u64>,

    /// Run until the 95 % interval of goodput_bps is no wider than this share of its value on either side, at
    /// least 20 runs. Contradicts run.runs.
    #[schemars(extend("x-default" = "none: the number of runs is fixed"))]
    #[serde(skip_serializing_if = "Option::is_none")]
    pub precision: Option<Share>,

    /// The largest number of runs that run.precision may ask for.
    #[schemars(range(min = 20, max = 1_000_000), extend("x-default" = "1000, with run.precision"))]
    #[serde(skip_serializing_if = "Option::is_none")]
    pub max_runs: Option<u64>,

    /// The seed of all random streams. Run number r of a scenario has streams of its own, named in (seed, r).
    #[schemars(extend("default" = 1))]
    #[serde(skip_serializing_if = "Option::is_none")]
    pub seed: Option<u64>,
}
