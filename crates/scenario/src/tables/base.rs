//! Functions shared by the tables: bounded times, and values as messages show them.

use crate::error::{ScenarioError, join};
use crate::quantity::Span;
use crossfade_core::SimTime;
use serde_json::Value;

/// Maximum time of a scenario: long enough for any experiment, and short enough that sums of many fit [`SimTime`].
pub(crate) const LONGEST: SimTime = SimTime::from_millis(100 * 24 * 3600 * 1000);

/// Maximum transmission time of a packet, so that a queue of the largest window still fits [`SimTime`].
pub(crate) const LONGEST_SLOT: SimTime = SimTime::from_millis(3600 * 1000);

/// Absolute time of the span at `key`.
pub(crate) fn time(key: &str, span: Span, slot: SimTime) -> Result<SimTime, ScenarioError> {
    let time = span.0.resolve(slot);
    if time > LONGEST {
        return Err(ScenarioError::value(key, &json(span), "must be at most 100 days"));
    }
    Ok(time)
}

/// Like [`time`], but above 0.
pub(crate) fn positive_time(key: &str, span: Span, slot: SimTime) -> Result<SimTime, ScenarioError> {
    match time(key, span, slot)? {
        SimTime::ZERO => Err(ScenarioError::value(key, &json(span), "must be longer than 0 s")),
        time => Ok(time),
    }
}

/// A value as messages show it: a whole number has no fraction, whatever its type.
pub(crate) fn json(value: impl serde::Serialize) -> Value {
    let value = serde_json::to_value(value).unwrap_or_default();
    let whole = value.as_f64().filter(|number| number.fract() == 0.0 && number.abs() < 1e15);
    whole.map_or(value, |number| (number as i64).into())
}

/// Converts an error of a model, "NAME = VALUE: must be so", to an error of the key in `table`.
pub(crate) fn named(table: &str, error: &impl std::fmt::Display) -> ScenarioError {
    let text = error.to_string();
    let (what, problem) = text.split_once(": ").unwrap_or((&text, "cannot be"));
    ScenarioError::key(join(table, what), problem)
}

/// Gives a key that is not given this value.
pub(crate) fn take<T>(key: &mut Option<T>, value: Option<T>) {
    if key.is_none() {
        *key = value;
    }
}

/// Adds to a table the test whether no key is given.
macro_rules! absent {
    ($($table:ty),*) => {$(
        impl $table {
            /// Whether no key is given.
            pub fn is_absent(&self) -> bool {
                *self == Self::default()
            }
        }
    )*};
}

pub(crate) use absent;
