//! Which run comes next: the order of work and the stop rule, without threads.

use crate::experiment::Experiment;
use crate::methods::solver;
use crate::row::Row;
use crossfade_scenario::{Method, ScenarioError, StopRule};
use serde_json::json;
use std::collections::{BTreeMap, HashMap};
use std::ops::Deref;

/// One run to be made.
#[derive(Clone, Debug, PartialEq)]
pub struct Task {
    /// The point's number in the plan.
    pub point: usize,
    /// How it is solved.
    pub method: Method,
    /// Replication, counted from 0.
    pub run: u64,
    /// The key of the row.
    pub key: String,
}

/// How far the work is.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Progress {
    /// Runs at hand, known ones included.
    pub done: u64,
    /// How many there will be; with a precision it is judged by the spread so far.
    pub expected: u64,
}

impl Progress {
    /// Of work that is done before other work.
    pub(crate) fn and(self, later: Self) -> Self {
        Self { done: self.done + later.done, expected: self.expected + later.expected }
    }
}

/// The `number`-th of `of` parts of a plan, counted from 1; the parts of a plan have no run in common.
///
/// With a fixed number of runs every `of`-th run belongs to a part, with a precision every `of`-th point,
/// since a stop rule needs all runs of its point.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Shard {
    number: u64,
    of: u64,
}

impl Shard {
    /// The whole plan.
    pub const WHOLE: Self = Self { number: 1, of: 1 };

    /// # Errors
    /// `number` is not among 1, 2, ..., `of`.
    pub fn new(number: u64, of: u64) -> Result<Self, ScenarioError> {
        if (1..=of).contains(&number) {
            return Ok(Self { number, of });
        }
        let given = json!(format!("{number}/{of}"));
        Err(ScenarioError::value("shard", &given, "must be K/N with K from 1 to N"))
    }

    fn has(self, index: u64) -> bool {
        index % self.of == self.number - 1
    }

    /// How many of the numbers below `end` it has.
    fn below(self, end: u64) -> u64 {
        (end + self.of - self.number) / self.of
    }
}

/// The state of the work on a plan. Runs are handed out lowest point first, lowest run first.
///
/// With a precision a row counts only if the runs before it did not suffice, and it is held back until that
/// is known: which rows come out never depends on which run was finished first.
pub struct Schedule<P: Deref<Target = Experiment>> {
    experiment: P,
    shard: Shard,
    known: HashMap<String, Row>,
    /// How many runs may be under way at once.
    jobs: u64,
    points: Vec<PointWork>,
    /// Everything before has been handed out for good.
    first_open: usize,
    /// The slot of each run that is being made, by the key of its row.
    under_way: HashMap<String, usize>,
    /// Runs at hand.
    done: u64,
    /// The sum of what the points expect.
    expected: u64,
}

/// The state of the work on one of several distinct points by one method.
struct PointWork {
    index: usize,
    method: Method,
    /// Where the number of runs is fixed: the number of the first among all such runs of the plan.
    first: Option<u64>,
    /// The next run to hand out.
    next: u64,
    /// Runs that are there while one before them is not.
    ahead: BTreeMap<u64, Finished>,
    /// The metric of the stop rule in the first runs, without gap.
    prefix: Vec<f64>,
    /// How many runs there are to be, once that is decided.
    needed: Option<u64>,
    expected: u64,
}

/// A run that is there: made now, or known from before with the metric of the stop rule.
enum Finished {
    New(Row),
    Known(f64),
}

impl<P: Deref<Target = Experiment>> Schedule<P> {
    /// The work on `shard` of `experiment` that is left where these rows are `known`, for so many workers.
    pub fn new(experiment: P, known: Vec<Row>, jobs: usize, shard: Shard) -> Self {
        let firsts = experiment.first_of_equals();
        let distinct = (0..experiment.points.len()).filter(|&index| firsts[index] == index);
        let all = distinct.flat_map(|index| experiment.methods.iter().map(move |&method| (index, method)));
        let (mut points, mut fixed_runs, mut open_points) = (Vec::new(), 0, 0);
        for (index, method) in all {
            let mut work = PointWork::new(index, method, &experiment.stop);
            if let Some(runs) = work.needed {
                work.first = Some(fixed_runs);
                work.expected = shard.below(fixed_runs + runs) - shard.below(fixed_runs);
                fixed_runs += runs;
                points.push(work);
            } else {
                if shard.has(open_points) {
                    points.push(work);
                }
                open_points += 1;
            }
        }
        let expected = points.iter().map(|point| point.expected).sum();
        let known = known.into_iter().map(|row| (row.key.clone(), row)).collect();
        Self {
            experiment,
            shard,
            known,
            jobs: jobs as u64,
            points,
            first_open: 0,
            under_way: HashMap::new(),
            done: 0,
            expected,
        }
    }

    /// The next run to make. `None` means that there is none now: for good if no run is under way.
    pub fn take(&mut self) -> Option<Task> {
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
            .or_else(|| open.into_iter().find_map(|slot| self.take_at(slot, self.ahead(slot))))
    }

    /// How far to look ahead at `slot`: as far as there are workers, or half of what it will probably take,
    /// where many short runs are handed out together.
    fn ahead(&self, slot: usize) -> u64 {
        let work = &self.points[slot];
        self.jobs.max(work.expected.saturating_sub(work.prefix.len() as u64) / 2)
    }

    /// The next run of the point at `slot`, looking `ahead` of the runs whose results are there.
    fn take_at(&mut self, slot: usize, ahead: u64) -> Option<Task> {
        loop {
            let work = &mut self.points[slot];
            if work.next >= work.limit(&self.experiment.stop, ahead) {
                return None;
            }
            let (point, method, run) = (work.index, work.method, work.next);
            work.next += 1;
            if work.first.is_some_and(|first| !self.shard.has(first + run)) {
                continue;
            }
            let key = self.experiment.row_key(&self.experiment.points[point], method, run);
            if let Some(row) = self.known.remove(&key) {
                let value = row.of_stop(&self.experiment.stop);
                self.record(slot, run, Finished::Known(value));
                continue;
            }
            self.under_way.insert(key.clone(), slot);
            return Some(Task { point, method, run, key });
        }
    }

    /// Takes the row of a task, and gives the rows that are now known to count, in order of their runs. A
    /// row that comes a second time gives none.
    pub fn finish(&mut self, row: Row) -> Vec<Row> {
        match self.under_way.remove(&row.key) {
            Some(slot) => self.record(slot, row.run, Finished::New(row)),
            None => Vec::new(),
        }
    }

    /// How many runs were handed out and are not finished.
    pub fn under_way(&self) -> usize {
        self.under_way.len()
    }

    /// How far the work is.
    pub fn progress(&self) -> Progress {
        // Runs made ahead that turn out not to be needed count as well.
        Progress { done: self.done, expected: self.expected.max(self.done) }
    }

    fn record(&mut self, slot: usize, run: u64, finished: Finished) -> Vec<Row> {
        let work = &mut self.points[slot];
        let before = work.expected;
        let counting = work.record(run, finished, &self.experiment.stop);
        self.done += 1;
        self.expected = self.expected + work.expected - before;
        counting
    }
}

impl PointWork {
    fn new(index: usize, method: Method, stop: &StopRule) -> Self {
        let (needed, expected) = match stop {
            _ if !solver(method).is_random() => (Some(1), 1),
            StopRule::Runs(runs) => (Some(*runs), *runs),
            _ => (None, stop.expected_runs(&[])),
        };
        let (ahead, prefix) = (BTreeMap::new(), Vec::new());
        Self { index, method, first: None, next: 0, ahead, prefix, needed, expected }
    }

    /// Runs below this number may be handed out.
    fn limit(&self, stop: &StopRule, ahead: u64) -> u64 {
        let ahead = (self.prefix.len() as u64 + ahead).max(stop.fewest_runs());
        self.needed.unwrap_or_else(|| ahead.min(stop.most_runs()))
    }

    /// Looks at runs in their order, so that the decision is the same whatever finishes first. Gives the
    /// new rows that count.
    fn record(&mut self, run: u64, finished: Finished, stop: &StopRule) -> Vec<Row> {
        if self.first.is_some() {
            return match finished {
                Finished::New(row) => vec![row],
                Finished::Known(_) => Vec::new(),
            };
        }
        let mut counting = Vec::new();
        self.ahead.insert(run, finished);
        while self.needed.is_none()
            && let Some(next) = self.ahead.remove(&(self.prefix.len() as u64))
        {
            self.prefix.push(match &next {
                Finished::New(row) => row.of_stop(stop),
                Finished::Known(value) => *value,
            });
            if let Finished::New(row) = next {
                counting.push(row);
            }
            let runs = self.prefix.len() as u64;
            if stop.is_met(&self.prefix) || runs == stop.most_runs() {
                self.needed = Some(runs);
            }
        }
        if self.needed.is_some() {
            self.ahead.clear();
        }
        self.expected = self.needed.unwrap_or_else(|| stop.expected_runs(&self.prefix));
        counting
    }
}
