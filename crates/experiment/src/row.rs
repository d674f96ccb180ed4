//! Rows of finished runs, packed: rows with the same metrics share their names.

use crossfade_core::{DelayHistogram, read_number, write_number};
use crossfade_scenario::{Method, StopRule};
use std::collections::{BTreeMap, HashMap};
use std::sync::Arc;

/// Metrics of one run of a point, or of one solution by a method without randomness.
#[derive(Clone, Debug, PartialEq)]
pub struct Row {
    /// Identifier of everything that decides the metrics ([`crate::Experiment::row_key`]).
    pub key: String,
    /// Id of the point.
    pub point: String,
    /// Method that gave the metrics.
    pub method: Method,
    /// Seed of the run.
    pub seed: u64,
    /// Number of the run (replication), counted from 0; 0 for a method without randomness.
    pub run: u64,
    /// Metrics and distributions by name; a metric that is undefined in this run is absent.
    pub metrics: RowMetrics,
    /// Reason why the method gave no metrics; `None` for a row with metrics.
    pub failure: Option<String>,
    /// Time in seconds that the run took on its thread; rows that differ only in this are the same row.
    pub seconds: f64,
}

/// Metrics and distributions of a row, by name.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct RowMetrics {
    names: Arc<MetricNames>,
    values: Vec<f64>,
    /// Packed distributions: for each the length of its name, the name, the length of its bytes, and the bytes.
    distributions: Vec<u8>,
}

/// Sorted names of the metrics of a row.
#[derive(Debug, Default, PartialEq)]
pub struct MetricNames {
    names: Vec<String>,
    joined: String,
}

/// Cache of the sets of metric names seen so far, so that each set exists once in memory.
#[derive(Debug, Default)]
pub struct NameSets {
    sets: HashMap<String, Arc<MetricNames>>,
    last: Option<Arc<MetricNames>>,
}

impl Row {
    /// Value of the stop rule's metric, NaN if the run lacks it.
    pub(crate) fn of_stop(&self, stop: &StopRule) -> f64 {
        stop.metric().and_then(|metric| self.metrics.get(metric)).unwrap_or(f64::NAN)
    }
}

impl RowMetrics {
    /// Packs `values`; their names are taken from `sets`, or added to it.
    pub fn new(values: BTreeMap<String, f64>, sets: &mut NameSets) -> Self {
        let names = sets.known(&values).unwrap_or_else(|| {
            let names: Vec<&str> = values.keys().map(String::as_str).collect();
            sets.intern(&names.join("\n"))
        });
        Self { names, values: values.into_values().collect(), distributions: Vec::new() }
    }

    /// Adds distributions by name.
    #[must_use]
    pub fn with_distributions(mut self, distributions: &BTreeMap<String, DelayHistogram>) -> Self {
        for (name, histogram) in distributions {
            for part in [name.as_bytes(), &histogram.to_bytes()] {
                write_number(&mut self.distributions, part.len() as u64);
                self.distributions.extend(part);
            }
        }
        self
    }

    /// Unpacks a row: metric names joined by line breaks, their values, and packed distributions; `None` unless the
    /// names are sorted, distinct, and as many as the values.
    pub fn from_parts(
        joined: &str,
        values: Vec<f64>,
        distributions: Vec<u8>,
        sets: &mut NameSets,
    ) -> Option<Self> {
        let names = sets.intern(joined);
        let sorted = names.names.is_sorted_by(|a, b| a < b);
        (sorted && names.names.len() == values.len()).then_some(Self { names, values, distributions })
    }

    /// Value of the metric `name`; `None` if it is undefined in this run.
    pub fn get(&self, name: &str) -> Option<f64> {
        self.names.position(name).map(|at| self.values[at])
    }

    /// Names of the metrics, in the order of [`Self::values`].
    pub fn names(&self) -> &Arc<MetricNames> {
        &self.names
    }

    /// Values of the metrics, in the order of [`Self::names`].
    pub fn values(&self) -> &[f64] {
        &self.values
    }

    /// Distribution `name` of the run; `None` if it has no values.
    pub fn distribution(&self, name: &str) -> Option<DelayHistogram> {
        distribution(&self.distributions, name)
    }

    /// All distributions of the run in packed form, as [`Self::from_parts`] takes them.
    pub fn distributions(&self) -> &[u8] {
        &self.distributions
    }
}

/// Extracts the distribution `name` from packed distributions; `None` if it is missing or damaged.
pub fn distribution(mut packed: &[u8], name: &str) -> Option<DelayHistogram> {
    let mut part = || {
        let length = usize::try_from(read_number(&mut packed)?).ok()?;
        let (part, rest) = packed.split_at_checked(length)?;
        packed = rest;
        Some(part)
    };
    while let (Some(known), Some(histogram)) = (part(), part()) {
        if known == name.as_bytes() {
            return DelayHistogram::from_bytes(histogram);
        }
    }
    None
}

impl MetricNames {
    /// Names of all metrics, joined by line breaks.
    pub fn joined(&self) -> &str {
        &self.joined
    }

    /// Place of the metric `name` among the names, and so among the values of a row; `None` if it is not among them.
    pub(crate) fn position(&self, name: &str) -> Option<usize> {
        self.names.binary_search_by(|known| known.as_str().cmp(name)).ok()
    }
}

impl NameSets {
    /// The last set of names, if it has the names of `values`: successive rows mostly have equal names.
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
    use crossfade_core::SimTime;
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
            assert_eq!(RowMetrics::from_parts(joined, values, Vec::new(), &mut sets), None, "{joined:?}");
        }
    }

    #[test]
    fn distributions_are_found_by_name() {
        let mut delays = DelayHistogram::default();
        delays.record(SimTime::from_nanos(3));
        let both =
            BTreeMap::from([("a".to_owned(), delays.clone()), ("rtt".to_owned(), DelayHistogram::default())]);
        let row = RowMetrics::default().with_distributions(&both);
        // "a" and a histogram of three bytes (no zeros, bucket 4, once), "rtt" and one of a byte.
        assert_eq!(row.distributions(), [1, b'a', 3, 0, 4, 1, 3, b'r', b't', b't', 1, 0]);
        assert_eq!(row.distribution("a"), Some(delays));
        assert_eq!((row.distribution("rtt").map(|rtt| rtt.count()), row.distribution("b")), (Some(0), None));
        for damaged in [&[9][..], &[1, b'a', 3, 0], &[1, b'a', 2, 0, 0x84], &[0xff; 20]] {
            assert_eq!(distribution(damaged, "a"), None, "{damaged:?}");
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
            let again =
                RowMetrics::from_parts(packed.names().joined(), packed.values().to_vec(), Vec::new(), &mut sets);
            prop_assert!(again.is_some_and(|again| Arc::ptr_eq(again.names(), packed.names())));
        }
    }
}
