//! Schedule of the runs of a plan: their order and the stop rule, without threads.

use crate::experiment::Experiment;
use crate::known::Known;
use crate::methods::solver;
use crate::row::Row;
use crossfade_scenario::{Method, ScenarioError, StopRule};
use serde_json::json;
use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::ops::Deref;
use std::sync::Arc;

/// A run that is to be made.
#[derive(Clone, Debug, PartialEq)]
pub struct Task {
    /// Number of the point in the plan.
    pub point: usize,
    /// Method of the run.
    pub method: Method,
    /// Number of the run (replication), counted from 0.
    pub run: u64,
    /// Key of the row that the run gives.
    pub key: String,
}

/// Missing runs of one point by one method, which the plan needs whatever the results of other runs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Missing {
    /// Number of the point in the plan.
    pub point: usize,
    /// Method by which the point is solved or simulated.
    pub method: Method,
    /// Lowest number of a missing run.
    pub first: u64,
    /// Highest number of a missing run.
    pub last: u64,
    /// Number of missing runs; runs between first and last may be known.
    pub count: u64,
}

/// Progress of the work on a plan, in runs.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Progress {
    /// Number of finished runs, known ones included.
    pub done: u64,
    /// Expected number of runs in total; under a precision, estimated from the spread so far.
    pub expected: u64,
}

impl Progress {
    /// Sum of the progress of two pieces of work: `self` and `later`.
    pub(crate) fn and(self, later: Self) -> Self {
        Self { done: self.done + later.done, expected: self.expected + later.expected }
    }
}

/// Part `number` of `of` parts of a plan, counted from 1; the parts of a plan have no run in common.
///
/// With a fixed number of runs every `of`-th run belongs to a part. Under a precision every `of`-th point does, since a
/// stop rule needs all runs of its point.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Shard {
    number: u64,
    of: u64,
}

impl Shard {
    /// The whole plan as its only part.
    pub const WHOLE: Self = Self { number: 1, of: 1 };

    /// Part `number` of `of` parts.
    ///
    /// # Errors
    /// If `number` is not among 1, 2, ..., `of`.
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

    /// Lowest number from `index` on that belongs to this part.
    fn next(self, index: u64) -> u64 {
        index + (self.number - 1 + self.of - index % self.of) % self.of
    }

    /// Count of the numbers below `end` that belong to this part.
    fn below(self, end: u64) -> u64 {
        (end + self.of - self.number) / self.of
    }
}

/// State of the work on a plan. The order of work is run 0 of all points, then run 1 of all points, and so on, so that
/// a plan stopped early has fewer runs of every point.
///
/// Under a precision a row counts only if the runs before it do not suffice, and it is held back until that is known.
/// The rows passed on therefore never depend on the order in which runs finish.
pub struct Schedule<P: Deref<Target = Experiment>> {
    experiment: P,
    shard: Shard,
    known: Arc<Known>,
    /// Greatest number of runs under way at once.
    jobs: u64,
    points: Vec<PointWork>,
    /// Run number and slot (index in `points`) of the next run of each slot that is certainly needed.
    needed: BTreeSet<(u64, usize)>,
    /// Run number and slot of the next run of each slot that is probably needed: taken when no certain run is left.
    probable: BTreeSet<(u64, usize)>,
    /// Index in `points` of each run under way, by the key of its row.
    under_way: HashMap<String, usize>,
    /// Number of finished runs, known ones included.
    done: u64,
    /// Sum of the expected numbers of runs over `points`.
    expected: u64,
}

/// State of the work on one of the distinct points by one method.
struct PointWork {
    index: usize,
    method: Method,
    /// With a fixed number of runs: index of the point's first run among all runs of the plan; `None` under a
    /// precision.
    first: Option<u64>,
    /// Number of the next run to hand out.
    next: u64,
    /// Finished runs, by number, that wait for a run with a lower number.
    ahead: BTreeMap<u64, Finished>,
    /// Value of the stop rule's metric in each of the first runs, up to the first unfinished one.
    prefix: Vec<f64>,
    /// Number of runs that the stop rule needs; `None` until it is decided.
    needed: Option<u64>,
    expected: u64,
}

/// A finished run: a new row, or the stop rule's metric of a known row.
enum Finished {
    New(Row),
    Known(f64),
}

impl<P: Deref<Target = Experiment>> Schedule<P> {
    /// Work on `shard` of `experiment` for `jobs` workers, without the runs whose rows are among `known`.
    pub fn new(experiment: P, known: &[Row], jobs: usize, shard: Shard) -> Self {
        let known = Known::of(&experiment, known);
        Self::after(experiment, Arc::new(known), jobs, shard)
    }

    /// Like [`Self::new`], but from an index of the known rows.
    pub fn after(experiment: P, known: Arc<Known>, jobs: usize, shard: Shard) -> Self {
        let firsts = experiment.points.first_of_equals();
        let distinct = (0..firsts.len()).filter(|&index| firsts[index] == index);
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
        let mut schedule = Self {
            experiment,
            shard,
            known,
            jobs: jobs as u64,
            points,
            needed: BTreeSet::new(),
            probable: BTreeSet::new(),
            under_way: HashMap::new(),
            done: 0,
            expected,
        };
        (0..schedule.points.len()).for_each(|slot| schedule.place(slot));
        schedule
    }

    /// Takes the next run to make. `None` if no run can be made now; if none is under way either, all are done.
    pub fn take(&mut self) -> Option<Task> {
        while let Some((run, slot)) = self.needed.pop_first().or_else(|| self.probable.pop_first()) {
            let work = &mut self.points[slot];
            work.next = run + 1;
            let (point, method) = (work.index, work.method);
            if let Some(value) = self.known.value(point, method, run) {
                self.record(slot, run, Finished::Known(value));
                continue;
            }
            let key = self.experiment.row_key(point, method, run);
            self.place(slot);
            self.under_way.insert(key.clone(), slot);
            return Some(Task { point, method, run, key });
        }
        None
    }

    /// Puts the next run of `slot` into the set of needed or of probable runs, or into neither.
    fn place(&mut self, slot: usize) {
        let (work, stop) = (&mut self.points[slot], &self.experiment.stop);
        if let Some(first) = work.first {
            work.next = self.shard.next(first + work.next) - first;
        }
        // Looks ahead by the number of workers, or by half of the runs that are probably left, so that many short runs
        // can be handed out together.
        let ahead = self.jobs.max(work.expected.saturating_sub(work.prefix.len() as u64) / 2);
        if work.next < work.limit(stop, 1) {
            self.needed.insert((work.next, slot));
        } else if work.next < work.limit(stop, ahead) {
            self.probable.insert((work.next, slot));
        }
    }

    /// Takes the row of a finished run. Returns the rows that are now known to count, in order of their runs; none if
    /// the row was taken before.
    pub fn finish(&mut self, row: Row) -> Vec<Row> {
        match self.under_way.remove(&row.key) {
            Some(slot) => self.record(slot, row.run, Finished::New(row)),
            None => Vec::new(),
        }
    }

    /// Runs that are needed whatever their results, in the order of the plan, and the number of finished runs. Memory
    /// grows with the number of points, not with that of runs.
    pub fn missing(mut self) -> (Vec<Missing>, u64) {
        let (mut missing, mut there) = (BTreeMap::new(), 0);
        for (slot, work) in self.points.iter().enumerate() {
            let (Some(first), Some(runs)) = (work.first, work.needed) else { continue };
            let (point, method) = (work.index, work.method);
            let at_hand =
                self.known.runs(point, method).filter(|run| self.shard.has(first + run)).count() as u64;
            let is_missing =
                |run: &u64| self.shard.has(first + run) && self.known.value(point, method, *run).is_none();
            if let (Some(lowest), Some(highest)) = ((0..runs).find(is_missing), (0..runs).rfind(is_missing)) {
                let count = work.expected - at_hand;
                missing.insert(slot, Missing { point, method, first: lowest, last: highest, count });
            }
            there += at_hand;
        }
        // Under a precision, needed runs are found by taking every one of them as if it were made.
        let points = &self.points;
        self.needed.retain(|&(_, slot)| points[slot].first.is_none());
        while let Some(Task { point, method, run, key }) = self.take() {
            let slot = self.under_way.get(&key).copied().unwrap_or_default();
            let of_slot =
                missing.entry(slot).or_insert(Missing { point, method, first: run, last: run, count: 0 });
            (of_slot.last, of_slot.count) = (run, of_slot.count + 1);
        }
        (missing.into_values().collect(), there + self.done)
    }

    /// Number of runs handed out and not yet finished.
    pub fn under_way(&self) -> usize {
        self.under_way.len()
    }

    /// Progress of the work, in runs.
    pub fn progress(&self) -> Progress {
        // Runs made ahead that turn out not to be needed are counted as done, too.
        Progress { done: self.done, expected: self.expected.max(self.done) }
    }

    fn record(&mut self, slot: usize, run: u64, finished: Finished) -> Vec<Row> {
        let work = &mut self.points[slot];
        let (before, next) = (work.expected, (work.next, slot));
        let counting = work.record(run, finished, &self.experiment.stop);
        self.done += 1;
        self.expected = self.expected + work.expected - before;
        // The next run may now be certainly needed, or not needed at all.
        self.needed.remove(&next);
        self.probable.remove(&next);
        self.place(slot);
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

    /// Number below which the point's runs may be handed out, `ahead` runs after the finished ones at most.
    fn limit(&self, stop: &StopRule, ahead: u64) -> u64 {
        let ahead = (self.prefix.len() as u64 + ahead).max(stop.fewest_runs());
        self.needed.unwrap_or_else(|| ahead.min(stop.most_runs()))
    }

    /// Records a finished run. Runs are evaluated in order of their numbers, so that the decision does not depend on
    /// the order in which they finish. Returns the new rows that count.
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

#[cfg(test)]
mod tests {
    use super::*;
    use crate::row::{NameSets, RowMetrics};
    use crossfade_scenario::Overrides;
    use serde_json::Value;

    fn experiment(overrides: &Value) -> Experiment {
        let text = r#"
            schema = 1
            methods = ["analysis", "simulation"]
            run = { duration = "1000 slots" }
            channel = { model = "iid" }
            link = { rate = "1.5 Mbit/s", packet_size = "1400 B" }
            tcp = { variant = "reno", w_max = 24, rto = { fixed = "100 slots" } }
            sweep = { "channel.p_e" = [0.1, 0.2, "10 %", 0.3] }
        "#;
        Experiment::load(text, "test.toml", &serde_json::from_value::<Overrides>(overrides.clone()).unwrap())
            .unwrap()
    }

    fn row(plan: &Experiment, task: &Task, goodput: f64) -> Row {
        let metrics = BTreeMap::from([("goodput_bps".to_owned(), goodput)]);
        Row {
            key: task.key.clone(),
            point: plan.points.id(task.point),
            method: task.method,
            seed: 1,
            run: task.run,
            metrics: RowMetrics::new(metrics, &mut NameSets::default()),
            failure: None,
            seconds: 0.0,
        }
    }

    fn all(plan: &Experiment, known: &[Row], shard: Shard) -> Vec<Task> {
        let mut schedule = Schedule::new(plan, known, 1, shard);
        std::iter::from_fn(|| schedule.take()).collect()
    }

    #[test]
    fn all_points_once_and_then_all_of_them_again() {
        let plan = experiment(&json!({ "runs": 5 }));
        let order = |tasks: &[Task]| -> Vec<_> {
            tasks.iter().map(|task| (task.run, task.point, task.method)).collect::<Vec<_>>()
        };
        let tasks = all(&plan, &[], Shard::WHOLE);
        // The third point is equal to the first. Methods without randomness make one run.
        let mut by_hand: Vec<_> = (0..5)
            .flat_map(|run| [0, 1, 3].map(|point| (run, point, Method::Simulation)))
            .chain([0, 1, 3].map(|point| (0, point, Method::AnalysisExact)))
            .collect();
        by_hand.sort_by_key(|&(run, point, method)| (run, point, method == Method::Simulation));
        assert_eq!(order(&tasks), by_hand);
        // Resumed work begins with the runs that the fewest points have.
        let known: Vec<Row> = tasks
            .iter()
            .filter(|task| task.run < [4, 1, 0, 2][task.point])
            .map(|task| row(&plan, task, 1.0))
            .collect();
        let left = order(&all(&plan, &known, Shard::WHOLE));
        assert_eq!(
            left.iter().map(|of| (of.0, of.1)).collect::<Vec<_>>(),
            [(1, 1), (2, 1), (2, 3), (3, 1), (3, 3), (4, 0), (4, 1), (4, 3)]
        );
        // Each shard keeps the order of runs, and all shards together make the whole plan.
        let mut parts = Vec::new();
        for number in 1..=4 {
            let part = all(&plan, &[], Shard::new(number, 4).unwrap());
            assert!(part.is_sorted_by_key(|task| task.run), "{part:?}");
            parts.extend(order(&part));
        }
        parts.sort_by_key(|&(run, point, method)| (run, point, method == Method::Simulation));
        assert_eq!(parts, by_hand);
    }

    #[test]
    fn with_a_precision_no_point_is_a_run_ahead_of_the_others_while_they_go_on() {
        let plan = experiment(&json!({ "precision": "2 %", "methods": ["simulation"] }));
        let mut schedule = Schedule::new(&plan, &[], 1, Shard::WHOLE);
        let (mut runs, mut counting) = (BTreeMap::<usize, u64>::new(), 0);
        while let Some(task) = schedule.take() {
            assert_eq!(task.run, *runs.get(&task.point).unwrap_or(&0));
            runs.insert(task.point, task.run + 1);
            let fewest_of_open = schedule.needed.first().map_or(task.run, |&(next, _)| next);
            assert!(task.run <= fewest_of_open, "{task:?}: another is at {fewest_of_open}");
            // Goodput of point 0 is constant; that of other points varies, the more the higher their number.
            let wave = (task.run as f64 * 2.4).sin() * task.point as f64;
            counting += schedule.finish(row(&plan, &task, 100.0 + 8.0 * wave)).len() as u64;
        }
        assert_eq!((runs[&0], counting), (20, runs.values().sum()));
        assert!(runs[&1] > 20 && runs[&3] > 2 * runs[&1], "{runs:?}");
    }

    #[test]
    fn what_is_missing_is_counted_as_it_is_handed_out() {
        for (overrides, shards) in [(json!({ "runs": 7 }), 3), (json!({ "precision": "3 %" }), 2)] {
            let plan = experiment(&overrides);
            let row = |task: &Task| row(&plan, task, f64::NAN);
            let all = |known: &[Row], shard| all(&plan, known, shard);
            let everything = all(&[], Shard::WHOLE);
            for known in [Vec::new(), everything.iter().skip(1).step_by(3).map(row).collect()] {
                for shard in (1..=shards).map(|number| Shard::new(number, shards).unwrap()) {
                    let tasks = all(&known, shard);
                    let (missing, there) = Schedule::new(&plan, &known, 1, shard).missing();
                    assert_eq!(missing.iter().map(|of| of.count).sum::<u64>(), tasks.len() as u64);
                    for of in missing {
                        let same = |task: &&Task| (task.point, task.method) == (of.point, of.method);
                        let runs: Vec<u64> = tasks.iter().filter(same).map(|task| task.run).collect();
                        assert_eq!(
                            (runs.len() as u64, runs[0], *runs.last().unwrap()),
                            (of.count, of.first, of.last)
                        );
                    }
                    let mut schedule = Schedule::new(&plan, &known, 1, shard);
                    while schedule.take().is_some() {}
                    assert_eq!(there, schedule.progress().done);
                }
            }
        }
    }
}
