//! From rows to results: means over the runs of a point with their intervals.

use crate::plan::{Plan, Point, Row};
use crate::resolve::StopRule;
use crate::scenario::Scenario;
use crate::schedule::PRECISION_METRIC;
use crate::simulate::{LINK_METRICS, METRICS, REVERSE_METRICS};
use crate::warnings;
use crossfade_core::{Estimate, Method};
use serde::{Serialize, Serializer};
use serde_json::{Map, Value};
use std::collections::HashMap;

/// The result of one point.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct PointResult {
    /// Its number in the plan.
    pub point: usize,
    /// The values of the axes.
    pub axes: Map<String, Value>,
    /// The scenario of the point, all defaults filled in.
    pub scenario: Scenario,
    /// How many runs the values are means of.
    pub runs: u64,
    /// The published metrics that are defined in some run.
    #[serde(serialize_with = "as_map")]
    pub metrics: Vec<(&'static str, Metric)>,
    /// What makes the values doubtful.
    pub warnings: Vec<String>,
    /// The same for each flow.
    pub flows: Vec<FlowResult>,
    /// The same for each link, as far as the metrics describe links.
    pub links: Vec<LinkResult>,
}

/// The mean of a metric over the runs in which it is defined.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct Metric {
    /// The mean.
    pub value: f64,
    /// Half-width of the two-sided 95 % Student interval; none from a single run.
    pub ci95: Option<f64>,
    /// The unit; "1" is a pure number.
    pub unit: &'static str,
}

/// The metrics of one flow.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[serde(transparent)]
pub struct FlowResult {
    /// By name.
    #[serde(serialize_with = "as_map")]
    pub metrics: Vec<(&'static str, Metric)>,
}

/// The metrics of one link.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct LinkResult {
    /// `forward` or `reverse`.
    pub name: &'static str,
    /// By name.
    #[serde(flatten, serialize_with = "as_map")]
    pub metrics: Vec<(&'static str, Metric)>,
}

fn as_map<S: Serializer>(metrics: &[(&'static str, Metric)], serializer: S) -> Result<S::Ok, S::Error> {
    serializer.collect_map(metrics.iter().copied())
}

/// The results of all points of `plan`, from rows in any order. Rows that no point asks for are ignored,
/// and so are runs that were made ahead and turned out not to be needed: the values do not depend on
/// timing.
pub fn summarise(plan: &Plan, rows: &[Row]) -> Vec<PointResult> {
    let by_key: HashMap<&str, &Row> = rows.iter().map(|row| (row.key.as_str(), row)).collect();
    plan.points.iter().map(|point| summarise_point(plan, point, &by_key)).collect()
}

fn summarise_point(plan: &Plan, point: &Point, by_key: &HashMap<&str, &Row>) -> PointResult {
    let mut runs =
        (0..plan.stop.most_runs()).map(|run| by_key.get(plan.row_key(point, run).as_str()).copied());
    let rows: Vec<&Row> = match plan.stop {
        StopRule::Runs(_) => runs.flatten().collect(),
        StopRule::Precision { .. } => {
            let (mut rows, mut prefix) = (Vec::new(), Vec::new());
            while !plan.stop.is_met(&prefix)
                && let Some(Some(row)) = runs.next()
            {
                rows.push(row);
                prefix.push(row.metrics.get(PRECISION_METRIC).copied().unwrap_or(f64::NAN));
            }
            rows
        }
    };
    let mean = |in_row: &str, name, unit| {
        let values: Vec<f64> = rows.iter().filter_map(|row| row.metrics.get(in_row).copied()).collect();
        let estimate = Estimate::from_runs(&values, Method::Simulation)?;
        Some((name, Metric { value: estimate.value, ci95: estimate.ci95, unit }))
    };
    let metrics: Vec<_> = METRICS.into_iter().filter_map(|(name, unit)| mean(name, name, unit)).collect();
    let forward = metrics.iter().filter(|(name, _)| LINK_METRICS.contains(name)).copied().collect();
    let reverse = REVERSE_METRICS.into_iter().filter_map(|(in_row, name, unit)| mean(in_row, name, unit));
    let reverse = reverse.collect();
    PointResult {
        point: point.index,
        axes: point.axes.clone(),
        scenario: point.scenario.clone(),
        runs: rows.len() as u64,
        warnings: warnings::of_point(plan, point, &rows),
        flows: vec![FlowResult { metrics: metrics.clone() }],
        links: vec![
            LinkResult { name: "forward", metrics: forward },
            LinkResult { name: "reverse", metrics: reverse },
        ],
        metrics,
    }
}
