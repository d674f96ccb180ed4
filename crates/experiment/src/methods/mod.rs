//! The methods by which a figure is obtained: a file each, behind one trait.

mod analysis;
mod assumptions;
mod bianchi;
mod error_rates;
mod formula;
mod live;
mod phy;
mod simulation;

pub(crate) use bianchi::FORM as BIANCHI;
pub(crate) use simulation::{metrics as metrics_of, run_checked};

use crate::solver::Solver;
use analysis::Analysis;
use crossfade_scenario::Method;
use formula::LossFormula;
use live::Live;
use phy::Frames;
use serde::Serialize;
use simulation::Simulation;

/// The solver that a scenario calls `method`.
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

/// What is to be known of a method without its solver.
#[derive(Serialize)]
pub struct MethodInfo {
    /// The word of the scenario.
    pub name: &'static str,
    /// Whether runs differ, so that several are averaged.
    pub random: bool,
    /// Whether the same point and seed give the same row at any time: only such rows may be kept and merged.
    pub repeatable: bool,
}

/// The methods that there are.
pub fn methods() -> Vec<MethodInfo> {
    let info = |method: Method| {
        let solver = solver(method);
        MethodInfo { name: method.name(), random: solver.is_random(), repeatable: solver.is_repeatable() }
    };
    Method::ALL.into_iter().map(info).collect()
}
