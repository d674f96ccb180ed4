//! Finished runs, packed: rows with the same metrics share their names.

use crossfade_scenario::{Method, StopRule};
use std::collections::{BTreeMap, HashMap};
use std::sync::Arc;

/// One run of one point, or its solution by a method without randomness.
#[derive(Clone, Debug, PartialEq)]
pub struct Row {
    /// Names everything that decides the metrics; see [`crate::Experiment::row_key`].
    pub key: String,
    /// The id of the point.
    pub point: String,
    /// Where the values come from.
    pub method: Method,
    /// The seed.
    pub seed: u64,
    /// Replication, counted from 0.
    pub run: u64,
    /// Values by name; a metric that is undefined in this run is absent.
    pub metrics: RowMetrics,
    /// Why there are none.
    pub failure: Option<String>,
    /// How long it took on its thread, in seconds. Rows that differ in this alone are the same row.
    pub seconds: f64,
}

/// The values of a row by name.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct RowMetrics {
    names: Arc<MetricNames>,
    values: Vec<f64>,
}

/// Names of metrics, sorted.
#[derive(Debug, Default, PartialEq)]
pub struct MetricNames {
    names: Vec<String>,
    joined: String,
}

/// Names that were seen before, so that each set of them exists once.
#[derive(Debug, Default)]
pub struct NameSets {
    sets: HashMap<String, Arc<MetricNames>>,
    last: Option<Arc<MetricNames>>,
}

impl Row {
    /// The value that the stop rule looks at, NaN where the run has none.
    pub(crate) fn of_stop(&self, stop: &StopRule) -> f64 {
        stop.metric().and_then(|metric| self.metrics.get(metric)).unwrap_or(f64::NAN)
    }
}

impl RowMetrics {
    /// Packs `values`, whose names are among the `sets` or join them.
    pub fn new(values: BTreeMap<String, f64>, sets: &mut NameSets) -> Self {
        let names = sets.known(&values).unwrap_or_else(|| {
            let names: Vec<&str> = values.keys().map(String::as_str).collect();
            sets.intern(&names.join("\n"))
        });
        Self { names, values: values.into_values().collect() }
    }

    /// From names joined by line breaks and their values; `None` unless the names are sorted, differ and
    /// are as many as the values.
    pub fn from_parts(joined: &str, values: Vec<f64>, sets: &mut NameSets) -> Option<Self> {
        let names = sets.intern(joined);
        let sorted = names.names.is_sorted_by(|a, b| a < b);
        (sorted && names.names.len() == values.len()).then_some(Self { names, values })
    }

    /// The value of a metric, if it is defined.
    pub fn get(&self, name: &str) -> Option<f64> {
        let at = self.names.names.binary_search_by(|known| known.as_str().cmp(name)).ok()?;
        Some(self.values[at])
    }

    /// The names, in the order of the values.
    pub fn names(&self) -> &Arc<MetricNames> {
        &self.names
    }

    /// The values, in the order of the names.
    pub fn values(&self) -> &[f64] {
        &self.values
    }
}

impl MetricNames {
    /// All names, joined by line breaks.
    pub fn joined(&self) -> &str {
        &self.joined
    }
}

impl NameSets {
    /// The set that was seen last, if these are its names: rows of a point have the same, as a rule.
    fn known(&self, values: &BTreeMap<String, f64>) -> Option<Arc<MetricNames>> {
        self.last.as_ref().filter(|last| values.keys().eq(&last.names)).map(Arc::clone)
    }

    fn intern(&mut self, joined: &str) -> Arc<MetricNames> {
        if let Some(known) = self.sets.get(joined) {
            self.last = Some(Arc::clone(known));
            return Arc::clone(known);
        }
        let names =
            if joined.is_empty() { Vec::new() } else { joined.split('\n').map(str::to_owned).collect() };
        let names = Arc::new(MetricNames { names, joined: joined.to_owned() });
        self.sets.insert(joined.to_owned(), Arc::clone(&names));
        self.last = Some(Arc::clone(&names));
        names
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn equal_names_are_shared() {
        let mut sets = NameSets::default();
        let map = |x| BTreeMap::from([("rtt_mean_s".to_owned(), x), ("goodput_bps".to_owned(), 2.0 * x)]);
        let (one, two) = (RowMetrics::new(map(1.0), &mut sets), RowMetrics::new(map(2.0), &mut sets));
        assert!(Arc::ptr_eq(one.names(), two.names()));
        assert_eq!(one.names().joined(), "goodput_bps\nrtt_mean_s");
        assert_eq!(
            (two.get("goodput_bps"), two.get("rtt_mean_s"), two.get("rtt")),
            (Some(4.0), Some(2.0), None)
        );
        assert_eq!(RowMetrics::new(BTreeMap::new(), &mut sets), RowMetrics::default());
    }

    #[test]
    fn parts_that_do_not_fit_are_refused() {
        let mut sets = NameSets::default();
        for (joined, values) in
            [("b\na", vec![1.0, 2.0]), ("a", vec![]), ("", vec![1.0]), ("a\na", vec![1.0, 1.0])]
        {
            assert_eq!(RowMetrics::from_parts(joined, values, &mut sets), None, "{joined:?}");
        }
    }

    proptest! {
        #[test]
        fn packing_loses_nothing(values in prop::collection::btree_map("[a-z:._]{1,9}", any::<f64>(), 0..9)) {
            let mut sets = NameSets::default();
            let packed = RowMetrics::new(values.clone(), &mut sets);
            for (name, value) in &values {
                prop_assert_eq!(packed.get(name).map(f64::to_bits), Some(value.to_bits()));
            }
            let again = RowMetrics::from_parts(packed.names().joined(), packed.values().to_vec(), &mut sets);
            prop_assert!(again.is_some_and(|again| Arc::ptr_eq(again.names(), packed.names())));
        }
    }
}
