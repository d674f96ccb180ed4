//! Results from rows: means over the runs of a point with their intervals.

use crate::closed_forms::radio;
use crate::experiment::Experiment;
use crate::kinds::{Runs, estimate, share_of_frames};
use crate::methods::{BIANCHI, BlockFacts, HYBRID_ARQ, form_of_stations, solver};
use crate::metric::MetricInfo;
use crate::metrics::{COMBINED_ERRORS, FIT_DISTANCES, LOSS_WINDOW, METRICS, NOT_ACCEPTED};
use crate::networks;
use crate::parts::{FLOW, PARTS, Part, PartKind, STATION, WLAN_LINK};
use crate::row::Row;
use crate::support::Support;
use crate::warnings;
use crossfade_core::{DelayHistogram, Estimate};
use crossfade_scenario::{FlowSetup, Method, Point, Scenario, ScenarioError, Setup, StopRule};
use serde::ser::SerializeMap;
use serde::{Serialize, Serializer};
use serde_json::{Map, Value};
use std::collections::HashMap;

/// The result of one point by one method.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct PointResult {
    /// Number of the point in the experiment, from 0.
    pub point: usize,
    /// The values of the axes.
    pub axes: Map<String, Value>,
    /// The scenario of the point, all defaults filled in.
    pub scenario: Scenario,
    /// Source of the values.
    pub method: Method,
    /// Number of runs behind the means; 0 for solved values.
    pub runs: u64,
    /// Whether there is anything: the plan may have been interrupted before.
    pub complete: bool,
    /// The published metrics that are defined in some run.
    #[serde(serialize_with = "as_map")]
    pub metrics: Vec<(&'static str, Metric)>,
    /// Reasons to doubt the values.
    pub warnings: Vec<String>,
    /// Results of each part that has any: lists by the kinds of parts, of which those of numbered parts may be
    /// missing.
    #[serde(flatten, serialize_with = "by_kind")]
    pub parts: Vec<PartResult>,
    /// Frequencies of windows of 1, 2, ... segments at the first loss of a cycle, by exact analysis.
    pub loss_windows: Vec<f64>,
    /// rho in dB, where there is a physical layer; the mean SNR of a transport block.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub snr_db: Option<f64>,
    /// The transport block of method phy, of an NR cell.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub block: Option<BlockFacts>,
    /// Share of frames that are not accepted after 1, 2, ... transmissions, by method phy and closed forms.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub residual: Vec<Metric>,
    /// Share of frames, by method phy, of which the combination of 1, 2, ... receptions fails, where they are
    /// combined.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub combined: Vec<Metric>,
    /// The keys of the rows that count, in order of their runs.
    pub rows: Vec<String>,
}

/// The estimate of a metric.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct Metric {
    /// Mean of the metric over runs.
    pub value: f64,
    /// Half-width of the two-sided 95 % Student interval; none from a single run or of rare events.
    pub ci95: Option<f64>,
    /// The ends of the 95 % interval that also covers rare events and skewed runs.
    pub low: Option<f64>,
    /// Upper end of the 95 % interval.
    pub high: Option<f64>,
    /// Number of runs in which it is defined; 0 for a solved value.
    pub runs: u64,
    /// The value is a lower bound: flows were unfinished.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub at_least: bool,
    /// The unit; "1" is a pure number.
    pub unit: &'static str,
}

impl Metric {
    fn new(found: Estimate, unit: &'static str) -> Self {
        let Estimate { value, ci95, low, high, n, at_least, .. } = found;
        Self { value, ci95, low, high, runs: n, at_least, unit }
    }

    /// Without randomness.
    fn exact(value: f64, unit: &'static str) -> Self {
        Self { value, ci95: None, low: None, high: None, runs: 0, at_least: false, unit }
    }
}

/// Rows of one point by one method.
struct RowsOf<'a, 'b>(&'b [&'a Row]);

impl Runs for RowsOf<'_, '_> {
    fn column(&self, name: &str) -> Vec<f64> {
        self.0.iter().map(|row| row.metrics.get(name).unwrap_or(f64::NAN)).collect()
    }

    fn distributions(&self, name: &str) -> Vec<Option<DelayHistogram>> {
        self.0.iter().map(|row| row.metrics.distribution(name)).collect()
    }
}

/// The metrics of one part; of a flow also of several that are alike.
#[derive(Clone, Debug, PartialEq)]
pub struct PartResult {
    /// Part that the metrics describe; a flow without a name has those of the whole.
    pub part: Part,
    /// Number of flows of this kind; 1 also where they arrive at random.
    pub count: Option<u32>,
    /// TCP of a flow by method live: its congestion control and its kernel.
    pub tcp: Option<String>,
    /// Metrics by name.
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
    /// The results of its parts of that kind.
    pub fn parts_of(&self, kind: PartKind) -> impl Iterator<Item = &PartResult> {
        self.parts.iter().filter(move |found| found.part.kind == kind)
    }
}

/// A list for each kind of parts; of parts that have numbers only where there are any.
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

/// Rows by the points that they belong to, from which results follow point by point.
pub struct Found<'a>(HashMap<&'a str, Vec<&'a Row>>);

impl<'a> Found<'a> {
    /// Looks through rows in any order.
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

    /// The points of `experiment` that have rows.
    pub fn points(&self, experiment: &Experiment) -> Vec<usize> {
        (0..experiment.points.len())
            .filter(|&point| self.0.contains_key(&*experiment.points.id(point)))
            .collect()
    }

    /// The results of a point by each method; see [`summarise`].
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
                // A stop rule sees no run that has a gap before it.
                let without_gap = runs.iter().zip(0..).take_while(|(row, run)| row.run == *run).count();
                runs.truncate(without_gap);
            }
            result(experiment, &point, method, runs)
        };
        experiment.methods.iter().map(by).collect()
    }
}

/// Like [`summarise`], but from rows that are known to belong to a point and a method, whatever their keys: `rows`
/// has those of
/// each point by each method, in the order of their runs and without a gap.
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

/// The results of the point of that number, from a group of rows for each method; see [`summarise_groups`].
pub fn results_of_groups(experiment: &Experiment, index: usize, rows: &[Vec<Row>]) -> Vec<PointResult> {
    let point = experiment.points.at(index);
    let by =
        |(&method, rows): (&Method, &Vec<Row>)| result(experiment, &point, method, rows.iter().collect());
    experiment.methods.iter().zip(rows).map(by).collect()
}

/// The result of a point by a method, from its rows in the order of their runs.
fn result(experiment: &Experiment, point: &Point, method: Method, rows: Vec<&Row>) -> PointResult {
    if solver(method).is_random() {
        averaged(experiment, point, method, rows)
    } else {
        solved(point, method, rows.first().copied())
    }
}

/// rho, or the mean ratio of a transport block, in dB.
fn snr_db(setup: &Setup) -> Option<f64> {
    let of_block = setup.nr().filter(|nr| nr.model.block.is_some());
    let of_block = of_block.map(|nr| nr.model.config.users[0].mean_snr_db);
    of_block.or_else(|| radio(setup).map(|(_, radio)| radio.snr_db))
}

/// The result of what was solved; without a row it is yet to be.
fn solved(point: &Point, method: Method, row: Option<&Row>) -> PointResult {
    let found = |name: &str| row.and_then(|row| row.metrics.get(name));
    let metrics: Vec<_> = METRICS
        .iter()
        .filter(|metric| metric.is_of_whole())
        .filter_map(|metric| Some((metric.name, Metric::exact(found(metric.name)?, metric.unit))))
        .collect();
    // Formulas of saturated stations say something of each, and of each link.
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

/// The result of what is random: means over its runs.
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
