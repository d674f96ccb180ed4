//! Which run comes next: the order of work and the stop rule, without threads.

use crate::plan::{Plan, Row};
use crate::resolve::StopRule;
use crate::scenario::Method as MethodKey;
use crossfade_core::{Estimate, Method};
use std::collections::HashMap;

/// The metric that `run.precision` is about.
pub(crate) const PRECISION_METRIC: &str = "goodput_bps";

/// Fewer replications give no interval that can be trusted.
const FEWEST_RUNS: usize = 10;

impl StopRule {
    /// Whether these runs, the first ones in order, are enough.
    pub(crate) fn is_met(self, prefix: &[f64]) -> bool {
        match self {
            Self::Runs(runs) => prefix.len() as u64 >= runs,
            Self::Precision { relative, .. } => {
                prefix.len() >= FEWEST_RUNS
                    && Estimate::from_runs(prefix, Method::Simulation)
                        .is_some_and(|estimate| estimate.is_within(relative))
            }
        }
    }

    /// How many of the runs at hand count, given the precision metric of each in order: all of a fixed number,
    /// under a precision the first ones that suffice (all of them where they do not).
    pub fn runs_that_count(self, precision_metric: impl IntoIterator<Item = f64>) -> usize {
        let mut values = precision_metric.into_iter();
        if let Self::Runs(_) = self {
            return values.count();
        }
        let mut prefix = Vec::new();
        while !self.is_met(&prefix)
            && let Some(value) = values.next()
        {
            prefix.push(value);
        }
        prefix.len()
    }

    /// How many runs it will take, judged by the spread of those at hand.
    fn expected_runs(self, prefix: &[f64]) -> u64 {
        let Self::Precision { relative, max_runs } = self else { return self.most_runs() };
        let fewest = max_runs.min(prefix.len().max(FEWEST_RUNS) as u64);
        let estimate = Estimate::from_runs(prefix, Method::Simulation);
        let ratio = estimate.and_then(|e| Some(e.ci95? / (relative * e.value.abs()))).unwrap_or(0.0);
        // The interval shrinks with the square root of the number of runs.
        ((prefix.len() as f64 * ratio * ratio).ceil() as u64).clamp(fewest, max_runs)
    }
}

/// One run to be made.
#[derive(Debug, PartialEq)]
pub(crate) struct Task {
    /// The point's number in the plan.
    pub(crate) point: usize,
    pub(crate) method: MethodKey,
    pub(crate) run: u64,
    /// The key of the row.
    pub(crate) key: String,
    /// Where its result is to be reported.
    slot: usize,
}

/// How far the work is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Progress {
    /// Runs at hand, known ones included.
    pub done: u64,
    /// How many there will be; with a precision it is judged by the spread so far.
    pub expected: u64,
}

/// The state of the work on a plan. Runs are handed out lowest point first, lowest run first.
pub(crate) struct Schedule<'a> {
    plan: &'a Plan,
    known: HashMap<String, Row>,
    /// How many runs may be under way at once.
    jobs: u64,
    points: Vec<PointWork>,
    /// Everything before has been handed out for good.
    first_open: usize,
    progress: Progress,
}

/// The state of the work on one of several distinct points by one method.
struct PointWork {
    index: usize,
    method: MethodKey,
    /// The next run to hand out.
    next: u64,
    /// The precision metric by run.
    results: Vec<Option<f64>>,
    /// The same of the first runs, without gap.
    prefix: Vec<f64>,
    /// How many runs there are to be, once that is decided.
    needed: Option<u64>,
    expected: u64,
}

impl<'a> Schedule<'a> {
    pub(crate) fn new(plan: &'a Plan, known: Vec<Row>, jobs: usize) -> Self {
        let firsts = plan.first_of_equals();
        let work = |(index, method)| {
            let (needed, expected) = match (method, plan.stop) {
                (MethodKey::Simulation, StopRule::Runs(runs)) => (Some(runs), runs),
                (MethodKey::Simulation, StopRule::Precision { .. }) => (None, plan.stop.expected_runs(&[])),
                _ => (Some(1), 1),
            };
            PointWork { index, method, next: 0, results: Vec::new(), prefix: Vec::new(), needed, expected }
        };
        let distinct = (0..plan.points.len()).filter(|&index| firsts[index] == index);
        let points: Vec<PointWork> = distinct
            .flat_map(|index| plan.methods.iter().map(move |&method| (index, method)))
            .map(work)
            .collect();
        let expected = points.iter().map(|point| point.expected).sum();
        let progress = Progress { done: 0, expected };
        let known = known.into_iter().map(|row| (row.key.clone(), row)).collect();
        Self { plan, known, jobs: jobs as u64, points, first_open: 0, progress }
    }

    /// The next run to make. `None` means that there is none now: for good if no run is under way.
    pub(crate) fn take(&mut self) -> Option<Task> {
        while self
            .points
            .get(self.first_open)
            .is_some_and(|point| point.needed.is_some_and(|n| point.next >= n))
        {
            self.first_open += 1;
        }
        // What is needed in any case first; then what will probably be.
        let open = self.first_open..self.points.len();
        open.clone()
            .find_map(|slot| self.take_at(slot, 1))
            .or_else(|| open.into_iter().find_map(|slot| self.take_at(slot, self.jobs)))
    }

    /// The next run of the point at `slot`, looking `ahead` of the runs whose results are there.
    fn take_at(&mut self, slot: usize, ahead: u64) -> Option<Task> {
        loop {
            let work = &mut self.points[slot];
            if work.next >= work.limit(self.plan.stop, ahead) {
                return None;
            }
            let (point, method, run) = (work.index, work.method, work.next);
            work.next += 1;
            let key = self.plan.row_key(&self.plan.points[point], method, run);
            match self.known.remove(&key) {
                Some(row) => self.record(slot, run, &row),
                None => return Some(Task { point, method, run, key, slot }),
            }
        }
    }

    /// Takes the result of a task.
    pub(crate) fn finish(&mut self, task: &Task, row: &Row) -> Progress {
        self.record(task.slot, task.run, row);
        self.progress
    }

    fn record(&mut self, slot: usize, run: u64, row: &Row) {
        let work = &mut self.points[slot];
        self.progress.done += 1;
        if work.needed.is_none() {
            let before = work.expected;
            work.record(run, row.metrics.get(PRECISION_METRIC).copied().unwrap_or(f64::NAN), self.plan.stop);
            self.progress.expected = self.progress.expected + work.expected - before;
        }
        // Runs made ahead that turn out not to be needed count as well.
        self.progress.expected = self.progress.expected.max(self.progress.done);
    }
}

impl PointWork {
    /// Runs below this number may be handed out.
    fn limit(&self, stop: StopRule, ahead: u64) -> u64 {
        let ahead = (self.prefix.len() as u64 + ahead).max(FEWEST_RUNS as u64);
        self.needed.unwrap_or_else(|| ahead.min(stop.most_runs()))
    }

    /// Looks at the results in order of the runs, so that the decision is the same whatever finishes first.
    fn record(&mut self, run: u64, value: f64, stop: StopRule) {
        let at = run as usize;
        if self.results.len() <= at {
            self.results.resize(at + 1, None);
        }
        self.results[at] = Some(value);
        while self.needed.is_none()
            && let Some(Some(value)) = self.results.get(self.prefix.len())
        {
            self.prefix.push(*value);
            let runs = self.prefix.len() as u64;
            if stop.is_met(&self.prefix) || runs == stop.most_runs() {
                self.needed = Some(runs);
            }
        }
        self.expected = self.needed.unwrap_or_else(|| stop.expected_runs(&self.prefix));
    }
}
