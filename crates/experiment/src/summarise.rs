//! Results from rows: means over the runs of each point, with confidence intervals.

use crate::closed_forms::radio;
use crate::experiment::Experiment;
use crate::kinds::{Runs, estimate, share_of_frames};
use crate::methods::{BIANCHI, BlockFacts, HYBRID_ARQ, form_of_stations, solver};
use crate::metric::MetricInfo;
use crate::metrics::{COMBINED_ERRORS, FIT_DISTANCES, LOSS_WINDOW, METRICS, NOT_ACCEPTED};
use crate::networks;
use crate::parts::{FLOW, PARTS, Part, PartKind, STATION, WLAN_LINK};
use crate::row::{Row, RowMetrics};
use crate::support::Support;
use crate::warnings;
use crossfade_core::{DelayHistogram, Estimate};
use crossfade_scenario::{FlowSetup, Method, Point, Scenario, ScenarioError, Setup, StopRule};
use serde::ser::SerializeMap;
use serde::{Serialize, Serializer};
use serde_json::{Map, Value};
use std::collections::HashMap;
use std::sync::Arc;

/// Result of one point by one method.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct PointResult {
    /// Number of the point in the plan, from 0.
    pub point: usize,
    /// Values of the axes at this point, by key.
    pub axes: Map<String, Value>,
    /// Scenario of the point, with all defaults filled in.
    pub scenario: Scenario,
    /// Method that gave the values.
    pub method: Method,
    /// Number of runs behind the means; 0 for a solved point.
    pub runs: u64,
    /// True if there is a result; false if the plan was interrupted before it had one.
    pub complete: bool,
    /// Published metrics of the whole network that are defined in some run.
    #[serde(serialize_with = "as_map")]
    pub metrics: Vec<(&'static str, Metric)>,
    /// Reasons to doubt the values.
    pub warnings: Vec<String>,
    /// Results of each part that has any, serialised as one list for each kind of parts; lists of numbered parts are
    /// left out if empty.
    #[serde(flatten, serialize_with = "by_kind")]
    pub parts: Vec<PartResult>,
    /// Probabilities of windows of 1, 2, ... segments at the first loss of a cycle, by exact analysis; empty otherwise.
    pub loss_windows: Vec<f64>,
    /// Mean signal-to-noise ratio in dB: rho of a physical layer, or that of a transport block; `None` otherwise.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub snr_db: Option<f64>,
    /// Transport block of an NR cell by method phy; `None` otherwise.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub block: Option<BlockFacts>,
    /// Share of frames not accepted after 1, 2, ... transmissions, by method phy and closed forms; empty otherwise.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub residual: Vec<Metric>,
    /// Share of frames for which the combination of 1, 2, ... receptions fails, by method phy with combining; empty
    /// otherwise.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub combined: Vec<Metric>,
    /// Keys of the rows behind the means, in order of their runs.
    pub rows: Vec<String>,
}

/// Estimate of the mean of a metric over runs, or a solved value.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct Metric {
    /// Mean over the runs, or the solved value.
    pub value: f64,
    /// Half-width of the two-sided 95 % Student interval; `None` for a single run or for rare events.
    pub ci95: Option<f64>,
    /// Lower end of the 95 % interval that also covers rare events and skewed runs; `None` for a solved value.
    pub low: Option<f64>,
    /// Upper end of the 95 % interval that also covers rare events and skewed runs; `None` for a solved value.
    pub high: Option<f64>,
    /// Number of runs in which the metric is defined; 0 for a solved value.
    pub runs: u64,
    /// True if the value is only a lower bound, because flows were unfinished at the end of runs.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub at_least: bool,
    /// Unit of the value; "1" for a pure number.
    pub unit: &'static str,
}

impl Metric {
    fn new(found: Estimate, unit: &'static str) -> Self {
        let Estimate { value, ci95, low, high, n, at_least, .. } = found;
        Self { value, ci95, low, high, runs: n, at_least, unit }
    }

    /// A solved value, which has no interval.
    fn exact(value: f64, unit: &'static str) -> Self {
        Self { value, ci95: None, low: None, high: None, runs: 0, at_least: false, unit }
    }
}

/// Rows of one point by one method, as columns of metrics.
struct RowsOf<'a, 'b>(&'b [&'a Row]);

impl Runs for RowsOf<'_, '_> {
    fn column(&self, name: &str) -> Vec<f64> {
        let Some(first) = self.0.first() else { return Vec::new() };
        // Rows mostly share their names, in which the name is looked up once.
        let shared = first.metrics.names();
        let place = shared.position(name);
        let value = |metrics: &RowMetrics| {
            if Arc::ptr_eq(metrics.names(), shared) {
                place.map(|place| metrics.values()[place])
            } else {
                metrics.get(name)
            }
        };
        self.0.iter().map(|row| value(&row.metrics).unwrap_or(f64::NAN)).collect()
    }

    fn distributions(&self, name: &str) -> Vec<Option<DelayHistogram>> {
        self.0.iter().map(|row| row.metrics.distribution(name)).collect()
    }
}

/// Metrics of one part of the network; for an entry of several equal flows, of these flows together.
#[derive(Clone, Debug, PartialEq)]
pub struct PartResult {
    /// Part that the metrics describe; for a flow without a name they are those of the whole network.
    pub part: Part,
    /// Number of flows of the entry, 1 for flows that arrive at random; `None` for parts other than flows.
    pub count: Option<u32>,
    /// Congestion control and kernel of a flow by method live; `None` for other methods and parts.
    pub tcp: Option<String>,
    /// Metrics by name, with their estimates.
    pub metrics: Vec<(&'static str, Metric)>,
}

impl PartResult {
    fn new(part: Part, metrics: Vec<(&'static str, Metric)>) -> Self {
        Self { part, count: None, tcp: None, metrics }
    }
}

impl Serialize for PartResult {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let Part { kind, name } = &self.part;
        let mut map = serializer.serialize_map(None)?;
        match name.parse::<usize>() {
            Ok(number) if kind.is_numbered => map.serialize_entry(kind.name, &number)?,
            _ => map.serialize_entry("name", name)?,
        }
        if let Some(count) = self.count {
            map.serialize_entry("count", &count)?;
        }
        if let Some(tcp) = &self.tcp {
            map.serialize_entry("tcp", tcp)?;
        }
        for (name, metric) in &self.metrics {
            map.serialize_entry(name, metric)?;
        }
        map.end()
    }
}

impl PointResult {
    /// Results of the parts of `kind`.
    pub fn parts_of(&self, kind: PartKind) -> impl Iterator<Item = &PartResult> {
        self.parts.iter().filter(move |found| found.part.kind == kind)
    }
}

/// Serialises a list for each kind of parts; lists of numbered parts only if they are not empty.
fn by_kind<S: Serializer>(parts: &[PartResult], serializer: S) -> Result<S::Ok, S::Error> {
    let of = |kind: &PartKind| -> (&str, Vec<&PartResult>) {
        (kind.list, parts.iter().filter(|found| found.part.kind == *kind).collect())
    };
    let lists =
        PARTS.iter().filter(|kind| !kind.is_numbered || parts.iter().any(|found| found.part.kind == **kind));
    serializer.collect_map(lists.map(of))
}

fn as_map<S: Serializer>(metrics: &[(&'static str, Metric)], serializer: S) -> Result<S::Ok, S::Error> {
    serializer.collect_map(metrics.iter().copied())
}

/// Results of all points of `experiment` by each of its methods, from rows in any order. Rows of no point are ignored,
/// and so are runs that were made ahead and turned out not to be needed; values therefore do not depend on timing.
pub fn summarise(experiment: &Experiment, rows: &[Row]) -> Vec<PointResult> {
    let found = Found::new(rows);
    (0..experiment.points.len()).flat_map(|point| found.results(experiment, point)).collect()
}

/// Rows grouped by point, from which results follow point by point.
pub struct Found<'a>(HashMap<&'a str, Vec<&'a Row>>);

impl<'a> Found<'a> {
    /// Groups rows in any order by their points.
    pub fn new(rows: &'a [Row]) -> Self {
        let mut of_points: HashMap<&str, Vec<&Row>> = HashMap::new();
        for row in rows {
            of_points.entry(&row.point).or_default().push(row);
        }
        for rows in of_points.values_mut() {
            rows.sort_by_key(|row| row.run);
        }
        Self(of_points)
    }

    /// Numbers of the points of `experiment` that have rows.
    pub fn points(&self, experiment: &Experiment) -> Vec<usize> {
        (0..experiment.points.len())
            .filter(|&point| self.0.contains_key(&*experiment.points.id(point)))
            .collect()
    }

    /// Results of point number `index` by each method, like [`summarise`] for all points.
    pub fn results(&self, experiment: &Experiment, index: usize) -> Vec<PointResult> {
        let point = experiment.points.at(index);
        let of_point = self.0.get(&*point.id).map(Vec::as_slice).unwrap_or_default();
        let by = |&method: &Method| {
            let asked = |row: &&Row| {
                row.method == method
                    && row.run < experiment.most_runs(method)
                    && row.key == experiment.row_key(index, method, row.run)
            };
            let mut runs: Vec<&Row> = of_point.iter().copied().filter(asked).collect();
            runs.dedup_by_key(|row| row.run);
            if !matches!(experiment.stop, StopRule::Runs(_)) {
                // A stop rule evaluates runs in order, so a run behind a gap does not count.
                let without_gap = runs.iter().zip(0..).take_while(|(row, run)| row.run == *run).count();
                runs.truncate(without_gap);
            }
            result(experiment, &point, method, runs)
        };
        experiment.methods.iter().map(by).collect()
    }
}

/// Like [`summarise`], but from rows already grouped, whatever their keys: `rows` has one group for each method of each
/// point, in the order of points, and in a group the runs in order and without a gap.
///
/// # Errors
/// If the number of groups is not that of points times methods.
pub fn summarise_groups(
    experiment: &Experiment,
    rows: &[Vec<Row>],
) -> Result<Vec<PointResult>, ScenarioError> {
    let groups = experiment.points.len() * experiment.methods.len();
    if rows.len() != groups {
        let problem = format!("the plan has {groups} groups of rows, not {}", rows.len());
        return Err(ScenarioError::key("rows", problem));
    }
    let of_points = rows.chunks(experiment.methods.len()).enumerate();
    Ok(of_points.flat_map(|(index, rows)| results_of_groups(experiment, index, rows)).collect())
}

/// Results of point number `index`, from one group of rows for each method, grouped as for [`summarise_groups`].
pub fn results_of_groups(experiment: &Experiment, index: usize, rows: &[Vec<Row>]) -> Vec<PointResult> {
    let point = experiment.points.at(index);
    let by =
        |(&method, rows): (&Method, &Vec<Row>)| result(experiment, &point, method, rows.iter().collect());
    experiment.methods.iter().zip(rows).map(by).collect()
}

/// Result of a point by a method, from its rows in the order of their runs.
fn result(experiment: &Experiment, point: &Point, method: Method, rows: Vec<&Row>) -> PointResult {
    if solver(method).is_random() {
        averaged(experiment, point, method, rows)
    } else {
        solved(point, method, rows.first().copied())
    }
}

/// Mean signal-to-noise ratio in dB of a transport block, or rho of a physical layer; `None` without either.
fn snr_db(setup: &Setup) -> Option<f64> {
    let of_block = setup.nr().filter(|nr| nr.model.block.is_some());
    let of_block = of_block.map(|nr| nr.model.config.users[0].mean_snr_db);
    of_block.or_else(|| radio(setup).map(|(_, radio)| radio.snr_db))
}

/// Result of a method without randomness; without a row it is incomplete.
fn solved(point: &Point, method: Method, row: Option<&Row>) -> PointResult {
    let found = |name: &str| row.and_then(|row| row.metrics.get(name));
    let metrics: Vec<_> = METRICS
        .iter()
        .filter(|metric| metric.is_of_whole())
        .filter_map(|metric| Some((metric.name, Metric::exact(found(metric.name)?, metric.unit))))
        .collect();
    // Formulas of saturated stations also give metrics of each station and of each link.
    let of_station = |part: Part| {
        let of_part = METRICS
            .iter()
            .filter(|metric| metric.is_of_each(part.kind))
            .filter_map(|metric| Some((metric.name, Metric::exact(found(&metric.key(&part))?, metric.unit))));
        PartResult::new(part.clone(), of_part.collect())
    };
    let stations: Vec<PartResult> = networks::of(&point.setup)
        .parts()
        .into_iter()
        .filter(|part| part.kind == STATION || part.kind == WLAN_LINK)
        .map(of_station)
        .filter(|found| !found.metrics.is_empty())
        .collect();
    let loss_windows = (1..).map_while(|floor| found(&format!("{LOSS_WINDOW}{floor}"))).collect();
    let mut warnings = warnings::of_setup(&point.setup);
    warnings.extend(row.and_then(|row| row.failure.as_deref()).map(|why| warnings::missing(method, why)));
    if point.setup.mesh().is_some() && !metrics.is_empty() {
        warnings.push(BIANCHI.to_owned());
    }
    if point.setup.nr().is_some() && !metrics.is_empty() {
        warnings.push(HYBRID_ARQ.to_owned());
    }
    if let Some(wlan) = point.setup.wlan()
        && !metrics.is_empty()
    {
        warnings.push(form_of_stations(wlan));
    }
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
        parts: [PartResult { count: Some(1), ..PartResult::new(Part::new(FLOW, ""), metrics.clone()) }]
            .into_iter()
            .chain(stations)
            .collect(),
        loss_windows,
        snr_db: snr_db(&point.setup),
        block: BlockFacts::of(&point.setup),
        residual: (1..)
            .map_while(|n| found(&format!("{NOT_ACCEPTED}{n}")))
            .map(|share| Metric::exact(share, "1"))
            .collect(),
        combined: Vec::new(),
        rows: row.map(|row| row.key.clone()).into_iter().collect(),
        complete: row.is_some(),
        metrics,
    }
}

/// Result of a random method: means over its runs.
fn averaged(experiment: &Experiment, point: &Point, method: Method, mut rows: Vec<&Row>) -> PointResult {
    rows.truncate(experiment.stop.runs_that_count(rows.iter().map(|row| row.of_stop(&experiment.stop))));
    let runs = RowsOf(&rows);
    let support = Support::of_point(experiment, point);
    let mean = |in_row: &str, unit| Some(Metric::new(estimate(in_row, &runs, support.range(in_row))?, unit));
    let of_frames = |count: &str| -> Vec<Metric> {
        let shares = (1..).map_while(|n| share_of_frames(&format!("{count}{n}"), &runs));
        shares.map(|found| Metric::new(found, "1")).collect()
    };
    let all = |of: &dyn Fn(&MetricInfo) -> bool, key: &dyn Fn(&MetricInfo) -> String| -> Vec<_> {
        let metrics = METRICS.iter().filter(|metric| of(metric));
        metrics.filter_map(|metric| Some((metric.name, mean(&key(metric), metric.unit)?))).collect()
    };
    let metrics = all(&MetricInfo::is_of_whole, &|metric| metric.name.to_owned());
    let of_part = |part: &Part| all(&|metric| metric.is_of_each(part.kind), &|metric| metric.key(part));
    let flow = |flow: &FlowSetup| {
        let part = Part::new(FLOW, &flow.name);
        let metrics = if flow.name.is_empty() { metrics.clone() } else { of_part(&part) };
        PartResult {
            count: Some(flow.count),
            tcp: solver(method).whose_tcp(flow),
            ..PartResult::new(part, metrics)
        }
    };
    let flows = point.setup.flows.iter().map(flow);
    let others = networks::of(&point.setup)
        .parts()
        .into_iter()
        .map(|part| PartResult::new(part.clone(), of_part(&part)));
    let parts = flows.chain(others.filter(|found| !found.metrics.is_empty())).collect();
    PointResult {
        point: point.index,
        axes: point.axes.clone(),
        scenario: point.scenario.clone(),
        method,
        runs: rows.len() as u64,
        warnings: warnings::of_runs(&experiment.stop, point, method, &rows),
        parts,
        loss_windows: Vec::new(),
        snr_db: snr_db(&point.setup),
        block: BlockFacts::of(&point.setup),
        residual: of_frames(NOT_ACCEPTED),
        combined: of_frames(COMBINED_ERRORS),
        rows: rows.iter().map(|row| row.key.clone()).collect(),
        complete: !rows.is_empty(),
        metrics,
    }
}
