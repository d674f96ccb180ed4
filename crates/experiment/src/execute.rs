//! Execution of the runs of a plan on several threads.
//!
//! A row depends only on the point, the seed and the run number, and the stop rule evaluates runs in order; the results
//! are therefore equal for any number of threads.

use crate::experiment::Experiment;
use crate::handle::ExecutionHandle;
use crate::impossible::{ImpossibleResult, Possible};
use crate::known::Known;
use crate::methods::solver;
use crate::metrics::Metrics;
use crate::row::{NameSets, Row};
use crate::schedule::{Progress, Schedule, Shard, Task};
use crate::solver::{MakeRun, NoMetrics};
use crossfade_core::RunSeed;
use crossfade_scenario::Point;
use std::any::Any;
use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};
use std::sync::mpsc::{SyncSender, sync_channel};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::thread;
use std::time::Instant;

/// Makes the runs of `shard` of `experiment` that are not among the `known` rows, on `jobs` threads. New rows go to
/// `on_rows`, on the calling thread, as soon as the stop rule is known to need them.
///
/// Returns `true` if the shard is complete, and `false` if `handle` was cancelled: the runs under way then stop within
/// milliseconds.
///
/// # Errors
/// If a run gives an impossible value, which is a bug of this program.
#[expect(clippy::needless_pass_by_value, reason = "who has rows is rid of them")]
pub fn execute(
    experiment: &Experiment,
    known: Vec<Row>,
    jobs: usize,
    shard: Shard,
    handle: &ExecutionHandle,
    on_rows: &mut dyn FnMut(Vec<Row>, Progress),
) -> Result<bool, ImpossibleResult> {
    let known = Arc::new(Known::of(experiment, &known));
    execute_rest(experiment, &known, jobs, shard, handle, on_rows)
}

/// Like [`execute`], but `known` holds only an index of the cached rows, which may not fit in memory, and cached rows
/// are not passed to `on_rows`.
///
/// # Errors
/// If a run gives an impossible value, which is a bug of this program.
pub fn execute_rest(
    experiment: &Experiment,
    known: &Arc<Known>,
    jobs: usize,
    shard: Shard,
    handle: &ExecutionHandle,
    on_rows: &mut dyn FnMut(Vec<Row>, Progress),
) -> Result<bool, ImpossibleResult> {
    let make_run = |point: &Point, method, seed| solver(method).run(point, seed, experiment.fitted(), handle);
    let (together, alone) = experiment.split();
    let mut before = Progress::default();
    for (part, jobs) in [(together, jobs), (alone, 1)] {
        let Some(part) = part else { continue };
        let mut last = Progress::default();
        let mut add = |rows, progress: Progress| {
            last = progress;
            on_rows(rows, before.and(progress));
        };
        if !execute_with(&part, Arc::clone(known), jobs, shard, handle, &mut add, &make_run)? {
            return Ok(false);
        }
        before = before.and(last);
    }
    Ok(true)
}

/// Makes the runs of `tasks` one after the other, on the calling thread; `None` once `handle` is cancelled.
///
/// # Errors
/// If a run gives an impossible value, which is a bug of this program.
pub fn make(
    experiment: &Experiment,
    tasks: &[Task],
    handle: &ExecutionHandle,
) -> Result<Option<Vec<Row>>, ImpossibleResult> {
    let make_run = |point: &Point, method, seed| solver(method).run(point, seed, experiment.fitted(), handle);
    let mut maker = Maker::new(experiment, &make_run);
    let mut make_row = |task: &Task| if handle.is_cancelled() { Ok(None) } else { maker.row(task) };
    let mut rows = Vec::new();
    for task in tasks {
        let Some(row) = make_row(task)? else { return Ok(None) };
        rows.push(row);
    }
    Ok(Some(rows))
}

/// Makes rows one after the other on one thread, and keeps the last point for the next row.
struct Maker<'a> {
    experiment: &'a Experiment,
    make_run: &'a MakeRun<'a>,
    names: NameSets,
    /// Point of the last row; the next row is mostly of that point.
    last: Option<Arc<Point>>,
}

impl<'a> Maker<'a> {
    fn new(experiment: &'a Experiment, make_run: &'a MakeRun<'a>) -> Self {
        Self { experiment, make_run, names: NameSets::default(), last: None }
    }

    fn point(&mut self, index: usize, run: u64) -> Arc<Point> {
        let is_that = |last: &Arc<Point>| last.index == index && last.scenario.run.draws.is_none();
        match self.last.take().filter(is_that) {
            Some(last) => Arc::clone(self.last.insert(last)),
            None => Arc::clone(self.last.insert(self.experiment.points.at_run(index, run))),
        }
    }

    /// Makes the row of `task`; `None` if the run was cancelled.
    fn row(&mut self, task: &Task) -> Result<Option<Row>, ImpossibleResult> {
        let began = Instant::now();
        let point = self.point(task.point, task.run);
        let seed = RunSeed { seed: self.experiment.seed, run: task.run };
        let outcome = (self.make_run)(&point, task.method, seed);
        let seconds = began.elapsed().as_secs_f64();
        let (metrics, failure) = match outcome {
            None => return Ok(None),
            Some(Ok(metrics)) => {
                // Method simulation has checked its values itself, with upper bounds of the run.
                if !solver(task.method).is_random() {
                    Possible { method: task.method, seed, most: Vec::new() }.check(&metrics)?;
                }
                (metrics, None)
            }
            Some(Err(NoMetrics::Refused(error))) => (Metrics::default(), Some(error.to_string())),
            Some(Err(NoMetrics::Impossible(error))) => return Err(error),
        };
        Ok(Some(Row {
            key: task.key.clone(),
            point: point.id.clone(),
            method: task.method,
            seed: self.experiment.seed,
            run: task.run,
            metrics: metrics.packed(&mut self.names),
            failure,
            seconds,
        }))
    }
}

/// Capacity of the channel of finished rows; a worker that finds it full waits.
const ROWS_WAITING: usize = 1024;

/// Greatest number of worker threads; more are cut to this number.
pub const MOST_JOBS: usize = 1024;

fn execute_with(
    experiment: &Experiment,
    known: Arc<Known>,
    jobs: usize,
    shard: Shard,
    handle: &ExecutionHandle,
    on_rows: &mut dyn FnMut(Vec<Row>, Progress),
    make_run: &MakeRun,
) -> Result<bool, ImpossibleResult> {
    let jobs = jobs.clamp(1, MOST_JOBS);
    let work = Work {
        schedule: Schedule::after(experiment, known, jobs, shard),
        stopped: false,
        bug: None,
        panic: None,
    };
    let dispatcher = Dispatcher { work: Mutex::new(work), changed: Condvar::new() };
    thread::scope(|scope| {
        let (sender, finished) = sync_channel(ROWS_WAITING);
        for _ in 0..jobs {
            let (sender, dispatcher) = (sender.clone(), &dispatcher);
            scope.spawn(move || worker(experiment, dispatcher, handle, &sender, make_run));
        }
        drop(sender);
        let at_first = dispatcher.lock().schedule.progress();
        on_rows(Vec::new(), at_first);
        for (rows, progress) in finished {
            on_rows(rows, progress);
        }
    });
    let mut work = dispatcher.lock();
    if let Some(panic) = work.panic.take() {
        resume_unwind(panic);
    }
    work.bug.take().map_or(Ok(!work.stopped), Err)
}

/// Hands out tasks to the worker threads, and takes back their rows.
struct Dispatcher<'a> {
    work: Mutex<Work<'a>>,
    changed: Condvar,
}

struct Work<'a> {
    schedule: Schedule<&'a Experiment>,
    /// True once no more tasks are handed out, because of a cancellation or a failed worker.
    stopped: bool,
    /// The first impossible value that a run gave, which is a bug.
    bug: Option<ImpossibleResult>,
    /// Payload of the first panic of a worker, to be resumed: a thread scope reports only that one of its threads
    /// panicked.
    panic: Option<Box<dyn Any + Send>>,
}

impl<'a> Dispatcher<'a> {
    fn lock(&self) -> MutexGuard<'_, Work<'a>> {
        self.work.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Takes the next task. Waits while runs under way may still require another run; `None` when all runs are done or
    /// the work is stopped.
    fn next_task(&self, handle: &ExecutionHandle) -> Option<Task> {
        let mut work = self.lock();
        loop {
            if work.stopped {
                return None;
            }
            if let Some(task) = work.schedule.take() {
                if handle.is_cancelled() {
                    work.stopped = true;
                    self.changed.notify_all();
                    return None;
                }
                return Some(task);
            }
            if work.schedule.under_way() == 0 {
                return None;
            }
            work = self.changed.wait(work).unwrap_or_else(PoisonError::into_inner);
        }
    }

    /// Records the row of a finished task; returns the rows that now count by the stop rule, and the progress.
    fn finish(&self, row: Row) -> (Vec<Row>, Progress) {
        let mut work = self.lock();
        let rows = work.schedule.finish(row);
        self.changed.notify_all();
        (rows, work.schedule.progress())
    }

    /// Hands out no more tasks, after a task that ended without a row.
    fn stop(&self) {
        self.lock().stopped = true;
        self.changed.notify_all();
    }
}

fn worker(
    experiment: &Experiment,
    dispatcher: &Dispatcher,
    handle: &ExecutionHandle,
    finished: &SyncSender<(Vec<Row>, Progress)>,
    make_run: &MakeRun,
) {
    let mut maker = Maker::new(experiment, make_run);
    while let Some(task) = dispatcher.next_task(handle) {
        match catch_unwind(AssertUnwindSafe(|| maker.row(&task))) {
            // The receiver outlives the workers.
            Ok(Ok(Some(row))) => drop(finished.send(dispatcher.finish(row))),
            Ok(Ok(None)) => dispatcher.stop(),
            Ok(Err(bug)) => {
                dispatcher.stop();
                dispatcher.lock().bug.get_or_insert(bug);
            }
            Err(panic) => {
                // The lost run is never finished, so the other workers would wait for it forever.
                dispatcher.stop();
                dispatcher.lock().panic.get_or_insert(panic);
                return;
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::summarise::summarise;
    use crossfade_scenario::Overrides;
    use rand::RngExt;
    use serde_json::{Value, json};
    use std::sync::atomic::{AtomicU64, Ordering};
    use std::time::Duration;

    /// A plan of three points, two of which are equal.
    fn plan(overrides: Value) -> Experiment {
        let text = r#"
            schema = 1
            run = { duration = "1000 slots" }
            channel = { model = "iid" }
            link = { rate = "1.5 Mbit/s", packet_size = "1400 B" }
            tcp = { variant = "reno", w_max = 24, rto = { fixed = "100 slots" } }
            sweep = { "channel.p_e" = [0.1, 0.2, "10 %"] }
        "#;
        Experiment::load(text, "test.toml", &serde_json::from_value::<Overrides>(overrides).unwrap()).unwrap()
    }

    /// A stand-in for a run: it takes a time that varies, and has a random goodput.
    fn fake(point: &Point, seed: RunSeed) -> Metrics {
        let mut stream = seed.stream("fake");
        let value = 1e6 * (1.0 + 0.1 * point.index as f64) + 2e5 * stream.random::<f64>();
        thread::sleep(Duration::from_micros(stream.random_range(0..2000)));
        Metrics::from([("goodput_bps".to_owned(), value)])
    }

    fn rows(plan: &Experiment, known: &[Row], jobs: usize) -> Vec<Row> {
        rows_of(plan, known, jobs, Shard::WHOLE)
    }

    fn rows_of(plan: &Experiment, known: &[Row], jobs: usize, shard: Shard) -> Vec<Row> {
        let mut rows = Vec::new();
        let mut last = Progress { done: 0, expected: 0 };
        let make_run = |point: &Point, _, seed| Some(Ok(fake(point, seed)));
        let cancel = ExecutionHandle::default();
        let mut on_rows = |new: Vec<Row>, progress: Progress| {
            rows.extend(new.into_iter().map(|row| Row { seconds: 0.0, ..row }));
            if progress.done > last.done {
                last = progress;
            }
        };
        assert_eq!(
            execute_with(
                plan,
                Arc::new(Known::of(plan, known)),
                jobs,
                shard,
                &cancel,
                &mut on_rows,
                &make_run
            ),
            Ok(true)
        );
        if !rows.is_empty() {
            assert_eq!(last.done, last.expected, "all is done at the end");
        }
        rows.sort_by_key(|row: &Row| (row.point.clone(), row.run));
        rows
    }

    #[test]
    fn rows_do_not_depend_on_the_number_of_threads() {
        let plan = plan(json!({ "runs": 12 }));
        let one = rows(&plan, &[], 1);
        assert_eq!(one.len(), 24, "equal points share their rows");
        for jobs in [2, 5] {
            assert_eq!(rows(&plan, &[], jobs), one);
        }
        let results = summarise(&plan, &one);
        assert_eq!(results[0].metrics, results[2].metrics);
        assert_eq!(results[2].runs, 12);
    }

    #[test]
    fn the_stop_rule_looks_at_runs_in_order() {
        let plan = plan(json!({ "precision": "1 %" }));
        let results = summarise(&plan, &rows(&plan, &[], 1));
        assert!(results.iter().all(|result| result.runs > 20 && result.runs < 1000), "{results:?}");
        for (result, point) in results.iter().zip(plan.points.iter()) {
            // Counted by hand: the first number of runs, from 20 on, whose interval is narrow enough.
            let value = |run| fake(&point, RunSeed { seed: 1, run })["goodput_bps"];
            let all: Vec<f64> = (0..1000).map(value).collect();
            let enough = (20..1000_u64).find(|&n| {
                let values = &all[..n as usize];
                let mean = values.iter().sum::<f64>() / n as f64;
                let variance = values.iter().map(|x| (x - mean).powi(2)).sum::<f64>() / (n as f64 - 1.0);
                let t = crossfade_core::student_t_quantile(0.975, n as f64 - 1.0);
                t * (variance / n as f64).sqrt() <= 0.01 * mean
            });
            // The third point is equal to the first, and has its rows.
            if point.index < 2 {
                assert_eq!(Some(result.runs), enough);
            }
        }
        let one = rows(&plan, &[], 1);
        let counted: u64 = results.iter().take(2).map(|result| result.runs).sum();
        assert_eq!(one.len() as u64, counted, "rows that do not count do not come out");
        for jobs in [2, 5] {
            assert_eq!(rows(&plan, &[], jobs), one, "{jobs} jobs");
        }
        let known: Vec<Row> = one.iter().filter(|row| row.run % 3 == 0).cloned().collect();
        assert_eq!(rows(&plan, &known, 3).len() + known.len(), one.len());
    }

    #[test]
    fn shards_together_are_the_whole() {
        for overrides in [json!({ "runs": 11 }), json!({ "precision": "3 %" })] {
            let plan = plan(overrides);
            let whole = rows(&plan, &[], 2);
            for of in [2, 3, 5] {
                let mut parts = Vec::new();
                for number in 1..=of {
                    parts.extend(rows_of(&plan, &[], 2, Shard::new(number, of).unwrap()));
                }
                parts.sort_by_key(|row: &Row| (row.point.clone(), row.run));
                assert_eq!(parts, whole, "{of} shards");
            }
        }
        for (number, of) in [(0, 3), (4, 3), (1, 0)] {
            assert!(Shard::new(number, of).is_err());
        }
    }

    #[test]
    fn a_precision_out_of_reach_ends_at_max_runs_with_a_warning() {
        let plan = plan(json!({ "precision": 1e-6, "set": [["run.max_runs", 22]] }));
        let results = summarise(&plan, &rows(&plan, &[], 3));
        assert!(results.iter().all(|result| result.runs == 22));
        assert!(results[0].warnings[0].contains("within 22 runs"), "{:?}", results[0].warnings);
    }

    #[test]
    fn what_is_known_is_not_made_again() {
        let plan = plan(json!({ "runs": 10 }));
        let all = rows(&plan, &[], 2);
        let known: Vec<Row> = all.iter().filter(|row| row.run % 3 != 0).cloned().collect();
        let made = rows(&plan, &known, 2);
        assert!(made.iter().all(|row| row.run % 3 == 0) && made.len() + known.len() == all.len());
        assert!(rows(&plan, &all, 2).is_empty());
    }

    #[test]
    fn cancelling_keeps_what_is_finished() {
        let plan = plan(json!({ "runs": 100 }));
        let (cancel, begun) = (ExecutionHandle::default(), AtomicU64::new(0));
        let make_run = |point: &Point, _, seed| {
            if begun.fetch_add(1, Ordering::Relaxed) == 30 {
                cancel.cancel.store(true, Ordering::Relaxed);
            }
            (!cancel.cancel.load(Ordering::Relaxed)).then(|| Ok(fake(point, seed)))
        };
        let mut finished = Vec::new();
        let complete = execute_with(
            &plan,
            Arc::default(),
            3,
            Shard::WHOLE,
            &cancel,
            &mut |rows, _| finished.extend(rows),
            &make_run,
        );
        assert_eq!(complete, Ok(false));
        assert!((28..=30).contains(&finished.len()), "{}", finished.len());
        let results = summarise(&plan, &finished);
        assert!(results[0].runs.abs_diff(results[1].runs) <= 3, "the whole figure, with fewer runs");
        for result in results {
            assert_eq!(result.warnings, [format!("interrupted after {} of 100 runs", result.runs)]);
        }
    }

    #[test]
    fn cancelled_beforehand_nothing_is_made() {
        let plan = plan(json!({}));
        let make_run = |_: &Point, _, _| -> Option<Result<_, _>> { unreachable!("no run is to begin") };
        let cancel = ExecutionHandle::default();
        cancel.cancel.store(true, Ordering::Relaxed);
        let complete =
            execute_with(&plan, Arc::default(), 2, Shard::WHOLE, &cancel, &mut |_, _| (), &make_run);
        assert_eq!(complete, Ok(false));
    }

    #[test]
    fn a_failing_run_ends_the_work_instead_of_blocking_it() {
        let plan = plan(json!({ "precision": 0.01 }));
        let make_run = |point: &Point, _, seed: RunSeed| {
            assert!(seed.run != 9, "on purpose");
            Some(Ok(fake(point, seed)))
        };
        let cancel = ExecutionHandle::default();
        let outcome = catch_unwind(AssertUnwindSafe(|| {
            execute_with(&plan, Arc::default(), 4, Shard::WHOLE, &cancel, &mut |_, _| (), &make_run)
        }));
        assert!(outcome.is_err());
    }
}
