//! The description of a metric.

use crate::directions::Direction;
use crate::parts::{Part, PartKind};
use crate::ratios::Ratio;
use serde::{Serialize, Serializer};

/// A metric that is published, or that rows keep for the estimates of others.
pub struct MetricInfo {
    /// Name in results, columns and `--json`.
    pub name: &'static str,
    /// Unit; "1" is a pure number.
    pub unit: &'static str,
    /// Title for axes and tables.
    pub words: &'static str,
    /// Definition in sentences.
    pub meaning: &'static str,
    /// Parts of the network that have the metric.
    pub(crate) whose: Whose,
}

impl Serialize for MetricInfo {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        /// Description of a metric.
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

/// Parts of the network that have a metric.
#[derive(Clone, Copy)]
pub(crate) enum Whose {
    /// Metric of each part of this kind, and of the whole network.
    EachAndAll(PartKind),
    /// Metric of each part of this kind, but not of the whole network.
    Each(PartKind),
    /// The whole network alone.
    All,
}

impl MetricInfo {
    /// Whether the whole network has the metric.
    pub(crate) fn is_of_whole(&self) -> bool {
        !matches!(self.whose, Whose::Each(_))
    }

    /// Whether each part of this kind has the metric.
    pub(crate) fn is_of_each(&self, kind: PartKind) -> bool {
        matches!(self.whose, Whose::EachAndAll(of) | Whose::Each(of) if of == kind)
    }

    /// Key of the metric in a row of results, for one part of the network.
    pub(crate) fn key(&self, part: &Part) -> String {
        if part.is_carrier() && self.is_of_whole() { self.name.to_owned() } else { part.key(self.name) }
    }
}

/// A metric of the measurements `M` that a kind of network has of its parts.
pub(crate) struct MetricOf<M> {
    pub(crate) info: MetricInfo,
    /// Function that gives the value for a measurement; NaN if undefined.
    of: fn(&M) -> f64,
}

impl<M> MetricOf<M> {
    /// A metric of each part of a kind, and of all of them together.
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

    /// A metric of each part of a kind, and of the whole none.
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

    /// A metric of all parts of a kind together, and of none alone.
    pub(crate) const fn whole(
        name: &'static str,
        unit: &'static str,
        words: &'static str,
        meaning: &'static str,
        of: fn(&M) -> f64,
    ) -> Self {
        Self { info: MetricInfo { name, unit, words, meaning, whose: Whose::All }, of }
    }

    /// Value of one part of the network, by the key in rows.
    pub(crate) fn value_of(&self, part: &Part, measured: &M) -> (String, f64) {
        (self.info.key(part), (self.of)(measured))
    }

    /// Values by key, for each of the numbered `parts` of a kind.
    pub(crate) fn values_of_parts(&self, kind: PartKind, parts: &[M]) -> Vec<(String, f64)> {
        let each = Part::numbered(kind, parts.len()).zip(parts);
        each.map(|(part, measured)| self.value_of(&part, measured)).collect()
    }

    /// Values by key, for the `whole` network and for each of the numbered `parts` of a kind.
    pub(crate) fn values(&self, kind: PartKind, whole: &M, parts: &[M]) -> Vec<(String, f64)> {
        let mut values = vec![(self.info.name.to_owned(), (self.of)(whole))];
        if self.info.is_of_each(kind) {
            values.extend(self.values_of_parts(kind, parts));
        }
        values
    }
}

/// A count as a metric.
pub(crate) fn count(count: u64) -> f64 {
    count as f64
}
