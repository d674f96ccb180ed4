//! Index of known rows for a schedule: which rows exist, and the value of the stop rule's metric in each.

use crate::experiment::Experiment;
use crate::row::Row;
use crossfade_scenario::Method;
use std::collections::{BTreeMap, HashMap};

/// The rows of a plan that are already known, without their metrics: some 50 bytes a row.
///
/// A point counts as the first point of the plan that is equal to it.
#[derive(Clone, Debug, Default)]
pub struct Known {
    /// Value of the stop rule's metric, by point number, method and run.
    values: BTreeMap<(u32, Method, u64), f64>,
}

impl Known {
    /// Indexes the rows among `rows`, in any order, that `experiment` needs.
    pub fn of(experiment: &Experiment, rows: &[Row]) -> Self {
        let numbers = PointNumbers::of(experiment);
        let mut known = Self::default();
        for row in rows {
            if let Some(point) = numbers.get(&row.point) {
                known.add(experiment, point as usize, row);
            }
        }
        known
    }

    /// Adds a row of point number `point` if `experiment` needs it; returns `true` if it does.
    pub fn add(&mut self, experiment: &Experiment, point: usize, row: &Row) -> bool {
        let is_asked_for = row.run < experiment.most_runs(row.method)
            && experiment.methods.contains(&row.method)
            && row.key == experiment.row_key(point, row.method, row.run);
        if is_asked_for {
            self.values.insert((point as u32, row.method, row.run), row.of_stop(&experiment.stop));
        }
        is_asked_for
    }

    /// All known rows: point number, method, run, and the value of the stop rule's metric.
    pub fn entries(&self) -> impl Iterator<Item = (u32, Method, u64, f64)> {
        self.values.iter().map(|(&(point, method, run), &value)| (point, method, run, value))
    }

    /// Adds one of the [`Self::entries`] of another index.
    pub fn put(&mut self, (point, method, run, value): (u32, Method, u64, f64)) {
        self.values.insert((point, method, run), value);
    }

    /// Value of the stop rule's metric in the row of a run, NaN if undefined; `None` without such a row.
    pub(crate) fn value(&self, point: usize, method: Method, run: u64) -> Option<f64> {
        self.values.get(&(point as u32, method, run)).copied()
    }

    /// Numbers of the known runs of a point by `method`, lowest first.
    pub fn runs(&self, point: usize, method: Method) -> impl DoubleEndedIterator<Item = u64> {
        let key = |run| (point as u32, method, run);
        self.values.range(key(0)..=key(u64::MAX)).map(|(&(_, _, run), _)| run)
    }

    /// Number of known rows.
    pub fn len(&self) -> usize {
        self.values.len()
    }

    /// True if no row is known.
    pub fn is_empty(&self) -> bool {
        self.values.is_empty()
    }
}

/// Numbers of the points of a plan by id; equal points have the number of the first of them.
#[derive(Clone, Debug)]
pub struct PointNumbers(HashMap<u128, u32>);

impl PointNumbers {
    /// Numbers of all points of `experiment`.
    pub fn of(experiment: &Experiment) -> Self {
        let mut numbers = HashMap::with_capacity(experiment.points.len());
        for index in 0..experiment.points.len() {
            numbers.entry(read(&experiment.points.id(index)).unwrap_or_default()).or_insert(index as u32);
        }
        Self(numbers)
    }

    /// Number of the point with this id; `None` without such a point.
    pub fn get(&self, id: &str) -> Option<u32> {
        self.0.get(&read(id)?).copied()
    }
}

/// Reads a point's id, hexadecimal digits, as a number; `None` for other text.
fn read(id: &str) -> Option<u128> {
    u128::from_str_radix(id, 16).ok()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::row::{NameSets, RowMetrics};
    use crossfade_scenario::Overrides;

    #[test]
    fn rows_that_are_not_asked_for_are_left_out() {
        let text = r#"
            schema = 1
            run = { duration = "1000 slots", precision = "3 %" }
            channel = { model = "iid" }
            link = { rate = "1.5 Mbit/s", packet_size = "1400 B" }
            tcp = { variant = "reno", w_max = 24, rto = { fixed = "100 slots" } }
            sweep = { "channel.p_e" = [0.1, 0.2, "10 %"] }
        "#;
        let plan = Experiment::load(text, "test.toml", &Overrides::default()).unwrap();
        let row = |point: usize, run: u64| Row {
            key: plan.row_key(point, Method::Simulation, run),
            point: plan.points.id(point),
            method: Method::Simulation,
            seed: 1,
            run,
            metrics: RowMetrics::new(
                [("goodput_bps".to_owned(), 5.0 + run as f64)].into(),
                &mut NameSets::default(),
            ),
            failure: None,
            seconds: 0.0,
        };
        let beyond = row(0, plan.most_runs(Method::Simulation));
        let of_another_key = Row { key: row(0, 1).key, ..row(0, 2) };
        let of_another_plan = Row { point: "0".repeat(32), ..row(0, 3) };
        let solved = Row { method: Method::Formula, ..row(0, 0) };
        let rows = [row(1, 4), row(2, 3), row(0, 0), beyond, of_another_key, of_another_plan, solved];
        let known = Known::of(&plan, &rows);
        assert_eq!((known.len(), known.is_empty()), (3, false));
        // The third point is equal to the first.
        let runs = |point| known.runs(point, Method::Simulation).collect::<Vec<_>>();
        assert_eq!((runs(0), runs(1), runs(2)), (vec![0, 3], vec![4], vec![]));
        assert_eq!(known.value(1, Method::Simulation, 4), Some(9.0));
        assert_eq!(known.value(1, Method::Simulation, 5), None);
    }
}
