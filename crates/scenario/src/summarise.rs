//! From rows to results: means over the runs of a point with their intervals.

use crate::analyse::{FIT_DISTANCES, LOSS_WINDOW};
use crate::metrics::{LINK_METRICS, LINKS, METRICS, flow_key, link_key};
use crate::plan::{Plan, Point};
use crate::resolve::{FlowSetup, StopRule};
use crate::row::Row;
use crate::scenario::{Method, Scenario};
use crate::schedule::precision_metric;
use crate::warnings;
use crossfade_core::{Estimate, Method as Source};
use serde::{Serialize, Serializer};
use serde_json::{Map, Value};
use std::collections::HashMap;

/// The result of one point by one method.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct PointResult {
    /// Its number in the plan.
    pub point: usize,
    /// The values of the axes.
    pub axes: Map<String, Value>,
    /// The scenario of the point, all defaults filled in.
    pub scenario: Scenario,
    /// Where the values come from.
    pub method: Method,
    /// How many runs the values are means of; 0 where they are solved.
    pub runs: u64,
    /// Whether there is anything: the plan may have been interrupted before.
    pub complete: bool,
    /// The published metrics that are defined in some run.
    #[serde(serialize_with = "as_map")]
    pub metrics: Vec<(&'static str, Metric)>,
    /// What makes the values doubtful.
    pub warnings: Vec<String>,
    /// The same for each flow.
    pub flows: Vec<FlowResult>,
    /// The same for each link, as far as the metrics describe links.
    pub links: Vec<LinkResult>,
    /// By an exact analysis: how often the first loss of a cycle finds a window of 1, 2, ... segments.
    pub loss_windows: Vec<f64>,
    /// The keys of the rows that count, in order of their runs.
    pub rows: Vec<String>,
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

/// The metrics of one flow, or of several that are alike.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct FlowResult {
    /// Its name in the scenario; empty where flows have none.
    pub name: String,
    /// How many there are; 1 also where they arrive at random.
    pub count: u32,
    /// By name.
    #[serde(flatten, serialize_with = "as_map")]
    pub metrics: Vec<(&'static str, Metric)>,
}

/// The metrics of one link.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct LinkResult {
    /// `wired`, `forward`, `reverse` or `wired_reverse`.
    pub name: &'static str,
    /// By name.
    #[serde(flatten, serialize_with = "as_map")]
    pub metrics: Vec<(&'static str, Metric)>,
}

fn as_map<S: Serializer>(metrics: &[(&'static str, Metric)], serializer: S) -> Result<S::Ok, S::Error> {
    serializer.collect_map(metrics.iter().copied())
}

/// The results of all points of `plan` by each of its methods, from rows in any order. Rows that no point asks for are ignored,
/// and so are runs that were made ahead and turned out not to be needed: the values do not depend on
/// timing.
pub fn summarise(plan: &Plan, rows: &[Row]) -> Vec<PointResult> {
    let by_key: HashMap<&str, &Row> = rows.iter().map(|row| (row.key.as_str(), row)).collect();
    let all = plan.points.iter().flat_map(|point| plan.methods.iter().map(move |&method| (point, method)));
    all.map(|(point, method)| {
        let mut runs = (0..plan.most_runs(method))
            .map(|run| by_key.get(plan.row_key(point, method, run).as_str()).copied());
        if method == Method::Simulation {
            simulated(plan, point, &mut runs)
        } else {
            solved(point, method, runs.next().flatten())
        }
    })
    .collect()
}

/// The result of what was solved; without a row it is yet to be.
fn solved(point: &Point, method: Method, row: Option<&Row>) -> PointResult {
    let found = |name: &str| row.and_then(|row| row.metrics.get(name));
    let exact = |value| Metric { value, ci95: None, unit: "" };
    let metrics: Vec<_> = METRICS
        .into_iter()
        .filter_map(|(name, unit)| Some((name, Metric { unit, ..exact(found(name)?) })))
        .collect();
    let loss_windows = (1..).map_while(|floor| found(&format!("{LOSS_WINDOW}{floor}"))).collect();
    let mut warnings = warnings::of_setup(&point.setup);
    warnings.extend(row.and_then(|row| row.failure.as_deref()).map(|why| warnings::missing(method, why)));
    if let [Some(good_runs), Some(bad_runs)] = FIT_DISTANCES.map(found) {
        warnings.push(warnings::fitted(method, good_runs, bad_runs));
    }
    PointResult {
        point: point.index,
        axes: point.axes.clone(),
        scenario: point.scenario.clone(),
        method,
        runs: 0,
        warnings,
        flows: vec![FlowResult { name: String::new(), count: 1, metrics: metrics.clone() }],
        links: Vec::new(),
        loss_windows,
        rows: row.map(|row| row.key.clone()).into_iter().collect(),
        complete: row.is_some(),
        metrics,
    }
}

fn simulated(plan: &Plan, point: &Point, runs: &mut dyn Iterator<Item = Option<&Row>>) -> PointResult {
    let mut rows: Vec<&Row> = match plan.stop {
        StopRule::Runs(_) => runs.flatten().collect(),
        StopRule::Precision { .. } => runs.map_while(|row| row).collect(),
    };
    rows.truncate(plan.stop.runs_that_count(rows.iter().map(|row| precision_metric(row))));
    let mean = |in_row: &str, unit| {
        let values: Vec<f64> = rows.iter().filter_map(|row| row.metrics.get(in_row)).collect();
        let estimate = Estimate::from_runs(&values, Source::Simulation)?;
        Some(Metric { value: estimate.value, ci95: estimate.ci95, unit })
    };
    let all = |names: &[(&'static str, &'static str)], key: &dyn Fn(&str) -> String| -> Vec<_> {
        names.iter().filter_map(|(name, unit)| Some((*name, mean(&key(name), unit)?))).collect()
    };
    let metrics = all(&METRICS, &str::to_owned);
    let flow = |flow: &FlowSetup| FlowResult {
        name: flow.name.clone(),
        count: flow.count,
        metrics: if flow.name.is_empty() {
            metrics.clone()
        } else {
            all(&METRICS, &|name| flow_key(&flow.name, name))
        },
    };
    let link = |name| LinkResult { name, metrics: all(&LINK_METRICS, &|metric| link_key(name, metric)) };
    let links = LINKS.into_iter().map(link).filter(|link| !link.metrics.is_empty()).collect();
    PointResult {
        point: point.index,
        axes: point.axes.clone(),
        scenario: point.scenario.clone(),
        method: Method::Simulation,
        runs: rows.len() as u64,
        warnings: warnings::of_simulation(plan, point, &rows),
        flows: point.setup.flows.iter().map(flow).collect(),
        links,
        loss_windows: Vec::new(),
        rows: rows.iter().map(|row| row.key.clone()).collect(),
        complete: !rows.is_empty(),
        metrics,
    }
}
