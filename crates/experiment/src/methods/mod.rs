//! Methods that give the metrics of a point, a file each, behind one trait.

mod analysis;
mod assumptions;
mod bianchi;
mod error_rates;
mod formula;
mod live;
mod nr;
mod nr_blocks;
mod phy;
mod simulation;
mod wlan;
mod wlan_links;
mod wlan_shares;

pub(crate) use bianchi::FORM as BIANCHI;
pub(crate) use nr::FORM as HYBRID_ARQ;
pub use nr_blocks::{BlockFacts, CountedBlocks, nr_error_table};
#[cfg(all(target_os = "linux", feature = "live"))]
pub(crate) use simulation::metrics as metrics_of;
pub(crate) use simulation::run_checked;
pub(crate) use wlan::form as form_of_stations;

use crate::solver::Solver;
use analysis::Analysis;
use crossfade_scenario::Method;
use formula::LossFormula;
use live::Live;
use phy::Frames;
use serde::Serialize;
use simulation::Simulation;

/// The solver of a method.
pub(crate) fn solver(method: Method) -> &'static dyn Solver {
    match method {
        Method::Analysis | Method::AnalysisExact => &Analysis::Exact,
        Method::AnalysisBounds => &Analysis::Bounds,
        Method::AnalysisPaperBounds => &Analysis::PaperBounds,
        Method::Formula => &LossFormula(crossfade_analysis::Formula::Padhye),
        Method::FormulaSquareRoot => &LossFormula(crossfade_analysis::Formula::SquareRoot),
        Method::Phy => &Frames,
        Method::Simulation => &Simulation,
        Method::Live => &Live,
    }
}

/// Style in which figures draw the values of a method.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Look {
    /// A solid line.
    Line,
    /// A dotted line.
    Dots,
    /// A dashed line.
    Dashes,
    /// A line of dashes and dots.
    DashDots,
    /// The area between two bounds.
    Band,
    /// A mark at each point.
    Marks,
    /// A cross at each point, beside marks.
    Crosses,
}

/// Names and properties of a method.
#[derive(Serialize)]
pub struct MethodInfo {
    /// Name of the method in scenarios.
    pub name: &'static str,
    /// Another name of the method in scenarios; `None`: none.
    pub alias: Option<&'static str>,
    /// Name of the method in figures.
    pub words: &'static str,
    /// Style in which figures draw its values.
    pub look: Look,
    /// True if runs are random, so that several are averaged.
    pub random: bool,
    /// True if the same point and seed always give the same row; only such rows may be cached and merged.
    pub repeatable: bool,
}

/// Properties of all methods, in the order in which figures draw them.
pub fn methods() -> Vec<MethodInfo> {
    let info = |method: Method| {
        let solver = solver(method);
        let (words, look) = match method {
            Method::AnalysisPaperBounds => ("bounds as printed", Look::Dots),
            Method::AnalysisBounds => ("bounds", Look::Band),
            Method::Analysis | Method::AnalysisExact => ("exact", Look::Line),
            Method::Formula => ("formula (Padhye)", Look::Dashes),
            Method::FormulaSquareRoot => ("square-root law", Look::DashDots),
            Method::Phy => ("frames", Look::Marks),
            Method::Simulation => ("simulation", Look::Marks),
            Method::Live => ("live", Look::Crosses),
        };
        MethodInfo {
            name: method.name(),
            alias: (method == Method::AnalysisExact).then_some("analysis"),
            words,
            look,
            random: solver.is_random(),
            repeatable: solver.is_repeatable(),
        }
    };
    Method::ALL.into_iter().map(info).collect()
}
