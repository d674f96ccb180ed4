//! Descriptions of metrics, and metrics that a kind of network computes from measurements of its parts.

use crate::directions::Direction;
use crate::parts::{Part, PartKind};
use crate::ratios::Ratio;
use serde::{Serialize, Serializer};

/// Description of a metric that is published, or that rows keep only to estimate published ones.
pub struct MetricInfo {
    /// Name of the metric in results, columns and `--json`.
    pub name: &'static str,
    /// Unit of the values; "1" for a pure number.
    pub unit: &'static str,
    /// Title of the metric for axes and tables.
    pub words: &'static str,
    /// Definition of the metric, in sentences.
    pub meaning: &'static str,
    /// Parts of the network that have this metric.
    pub(crate) whose: Whose,
}

impl Serialize for MetricInfo {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        /// Description of a metric as JSON, with its direction and ratio.
        #[derive(Serialize)]
        struct Told {
            name: &'static str,
            unit: &'static str,
            words: &'static str,
            meaning: &'static str,
            direction: Option<Direction>,
            ratio: Option<Ratio>,
        }
        let Self { name, unit, words, meaning, .. } = *self;
        let (direction, ratio) = (Direction::of(name), Ratio::of(name));
        Told { name, unit, words, meaning, direction, ratio }.serialize(serializer)
    }
}

/// Parts of the network that have a metric: each part of a kind, the whole network, or both.
#[derive(Clone, Copy)]
pub(crate) enum Whose {
    /// Each part of this kind and the whole network have the metric.
    EachAndAll(PartKind),
    /// Each part of this kind has the metric, but the whole network has not.
    Each(PartKind),
    /// Only the whole network has the metric.
    All,
}

impl MetricInfo {
    /// True if the whole network has the metric.
    pub(crate) fn is_of_whole(&self) -> bool {
        !matches!(self.whose, Whose::Each(_))
    }

    /// True if each part of `kind` has the metric.
    pub(crate) fn is_of_each(&self, kind: PartKind) -> bool {
        matches!(self.whose, Whose::EachAndAll(of) | Whose::Each(of) if of == kind)
    }

    /// Key of the metric of `part` in a row: the bare name for the carrier of the whole network, else with the part's
    /// prefix.
    pub(crate) fn key(&self, part: &Part) -> String {
        if part.is_carrier() && self.is_of_whole() { self.name.to_owned() } else { part.key(self.name) }
    }
}

/// Description of a metric and its computation from measurements `M` of a part of the network.
pub(crate) struct MetricOf<M> {
    pub(crate) info: MetricInfo,
    /// Computes the value from a measurement; NaN if undefined.
    of: fn(&M) -> f64,
}

impl<M> MetricOf<M> {
    /// A metric of each part of a kind, and of all parts together.
    pub(crate) const fn each(
        kind: PartKind,
        name: &'static str,
        unit: &'static str,
        words: &'static str,
        meaning: &'static str,
        of: fn(&M) -> f64,
    ) -> Self {
        let whose = Whose::EachAndAll(kind);
        Self { info: MetricInfo { name, unit, words, meaning, whose }, of }
    }

    /// A metric of each part of a kind, but not of all parts together.
    pub(crate) const fn part(
        kind: PartKind,
        name: &'static str,
        unit: &'static str,
        words: &'static str,
        meaning: &'static str,
        of: fn(&M) -> f64,
    ) -> Self {
        Self { info: MetricInfo { name, unit, words, meaning, whose: Whose::Each(kind) }, of }
    }

    /// A metric of all parts of a kind together, but not of each part.
    pub(crate) const fn whole(
        name: &'static str,
        unit: &'static str,
        words: &'static str,
        meaning: &'static str,
        of: fn(&M) -> f64,
    ) -> Self {
        Self { info: MetricInfo { name, unit, words, meaning, whose: Whose::All }, of }
    }

    /// Key in rows and value of the metric for one part of the network.
    pub(crate) fn value_of(&self, part: &Part, measured: &M) -> (String, f64) {
        (self.info.key(part), (self.of)(measured))
    }

    /// Keys in rows and values of the metric for each of the numbered `parts` of a kind.
    pub(crate) fn values_of_parts(&self, kind: PartKind, parts: &[M]) -> Vec<(String, f64)> {
        let each = Part::numbered(kind, parts.len()).zip(parts);
        each.map(|(part, measured)| self.value_of(&part, measured)).collect()
    }

    /// Keys in rows and values of the metric for the `whole` network, and for each of the numbered `parts` if they have
    /// it.
    pub(crate) fn values(&self, kind: PartKind, whole: &M, parts: &[M]) -> Vec<(String, f64)> {
        let mut values = vec![(self.info.name.to_owned(), (self.of)(whole))];
        if self.info.is_of_each(kind) {
            values.extend(self.values_of_parts(kind, parts));
        }
        values
    }
}

/// A count as the value of a metric.
pub(crate) fn count(count: u64) -> f64 {
    count as f64
}
