//! Words for the methods that compute results.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// Method that computes the results of a point.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum Method {
    /// Exact solution; an alias of analysis:exact.
    Analysis,
    /// Exact solution of the Markov chain.
    #[serde(rename = "analysis:exact")]
    AnalysisExact,
    /// Solution as tight upper and lower bounds.
    #[serde(rename = "analysis:bounds")]
    AnalysisBounds,
    /// Solution as the bounds that a paper prints.
    #[serde(rename = "analysis:paper-bounds")]
    AnalysisPaperBounds,
    /// Formula of Padhye, Firoiu, Towsley and Kurose (2000, eq. 32), by the channel's loss rate alone. For CUBIC it is
    /// its response function (RFC 9438 section 5); for a physical layer, closed forms of its error rates where they
    /// exist; for a mesh, Bianchi's throughput of saturated stations around one node.
    Formula,
    /// Square-root law (Mathis, Semke, Mahdavi and Ott 1997): like formula, but without timeouts.
    #[serde(rename = "formula:square-root")]
    FormulaSquareRoot,
    /// Simulation of the physical layer's frames alone, without ARQ and transport: error rates and the effective
    /// rate. Needs channel.model = "block-rayleigh".
    Phy,
    /// Simulation of independent runs.
    #[default]
    Simulation,
    /// Measurement of real programs over the emulated link.
    Live,
}

impl Method {
    /// All methods in drawing order: simulations are last, so that they are drawn on top.
    pub const ALL: [Self; 8] = [
        Self::AnalysisPaperBounds,
        Self::AnalysisBounds,
        Self::AnalysisExact,
        Self::Formula,
        Self::FormulaSquareRoot,
        Self::Phy,
        Self::Simulation,
        Self::Live,
    ];

    /// Name of the method as written in scenarios.
    pub fn name(self) -> &'static str {
        match self {
            Self::Analysis | Self::AnalysisExact => "analysis:exact",
            Self::AnalysisBounds => "analysis:bounds",
            Self::AnalysisPaperBounds => "analysis:paper-bounds",
            Self::Formula => "formula",
            Self::FormulaSquareRoot => "formula:square-root",
            Self::Phy => "phy",
            Self::Simulation => "simulation",
            Self::Live => "live",
        }
    }

    /// True if the method is a closed formula.
    pub(crate) fn is_formula(self) -> bool {
        matches!(self, Self::Formula | Self::FormulaSquareRoot)
    }
}
