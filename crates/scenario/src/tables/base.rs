//! What the tables share: times within limits, and values as messages show them.

use crate::error::{ScenarioError, join};
use crate::quantity::Span;
use crossfade_core::SimTime;
use serde_json::Value;

/// Times of a scenario end here: far enough for any experiment, and sums of many of them fit [`SimTime`].
pub(crate) const LONGEST: SimTime = SimTime::from_millis(100 * 24 * 3600 * 1000);

/// A packet takes at most this long to transmit, so that a queue of the largest window still fits
/// [`SimTime`].
pub(crate) const LONGEST_SLOT: SimTime = SimTime::from_millis(3600 * 1000);

/// The absolute time of the span at `key`.
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

/// A value of the scenario as it stands in messages: a whole number without a fraction, whatever it is kept as.
pub(crate) fn json(value: impl serde::Serialize) -> Value {
    let value = serde_json::to_value(value).unwrap_or_default();
    let whole = value.as_f64().filter(|number| number.fract() == 0.0 && number.abs() < 1e15);
    whole.map_or(value, |number| (number as i64).into())
}

/// What a model refuses, "NAME = VALUE: must be so", with the table before the name.
pub(crate) fn named(table: &str, error: &impl std::fmt::Display) -> ScenarioError {
    let text = error.to_string();
    let (what, problem) = text.split_once(": ").unwrap_or((&text, "cannot be"));
    ScenarioError::key(join(table, what), problem)
}

/// Whether nothing is said in a table.
macro_rules! absent {
    ($($table:ty),*) => {$(
        impl $table {
            /// Whether nothing is said.
            pub fn is_absent(&self) -> bool {
                *self == Self::default()
            }
        }
    )*};
}

pub(crate) use absent;
