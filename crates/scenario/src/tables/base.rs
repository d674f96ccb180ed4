//! Functions shared by the tables of the scenario: bounded times, and values as error messages show them.

use crate::error::{ScenarioError, join};
use crate::quantity::Span;
use crossfade_core::SimTime;
use serde_json::Value;

/// Maximum of any time in a scenario: long enough for any experiment, and short enough that sums of many fit
/// [`SimTime`].
pub(crate) const LONGEST: SimTime = SimTime::from_millis(100 * 24 * 3600 * 1000);

/// Maximum transmission time of a packet, so that a queue of the largest window still fits [`SimTime`].
pub(crate) const LONGEST_SLOT: SimTime = SimTime::from_millis(3600 * 1000);

/// Absolute time of `span`, the value of `key`, which is at most 100 days.
pub(crate) fn time(key: &str, span: Span, slot: SimTime) -> Result<SimTime, ScenarioError> {
    let time = span.0.resolve(slot);
    if time > LONGEST {
        return Err(ScenarioError::value(key, &json(span), "must be at most 100 days"));
    }
    Ok(time)
}

/// Like [`time`], but an error for a time of 0.
pub(crate) fn positive_time(key: &str, span: Span, slot: SimTime) -> Result<SimTime, ScenarioError> {
    match time(key, span, slot)? {
        SimTime::ZERO => Err(ScenarioError::value(key, &json(span), "must be longer than 0 s")),
        time => Ok(time),
    }
}

/// JSON value as error messages show it: whole numbers have no fraction, even if their type is a float.
pub(crate) fn json(value: impl serde::Serialize) -> Value {
    let value = serde_json::to_value(value).unwrap_or_default();
    let whole = value.as_f64().filter(|number| number.fract() == 0.0 && number.abs() < 1e15);
    whole.map_or(value, |number| (number as i64).into())
}

/// Converts a model's error "NAME = VALUE: must be ..." to an error of the key NAME in `table`.
pub(crate) fn named(table: &str, error: &impl std::fmt::Display) -> ScenarioError {
    let text = error.to_string();
    let (what, problem) = text.split_once(": ").unwrap_or((&text, "cannot be"));
    ScenarioError::key(join(table, what), problem)
}

/// Sets a key to `value` unless the scenario gives it.
pub(crate) fn take<T>(key: &mut Option<T>, value: Option<T>) {
    if key.is_none() {
        *key = value;
    }
}

/// Adds the method `is_absent` to tables of the scenario.
macro_rules! absent {
    ($($table:ty),*) => {$(
        impl $table {
            /// True if the scenario gives no key of this table.
            pub fn is_absent(&self) -> bool {
                *self == Self::default()
            }
        }
    )*};
}

pub(crate) use absent;
