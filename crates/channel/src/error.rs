//! Errors of channel parameters.

use crossfade_core::OutOfRange;
use std::borrow::Cow;
use thiserror::Error;

/// Error of an invalid channel, in one line: the parameter, its value, and what is allowed.
#[derive(Clone, Debug, PartialEq, Error)]
pub enum ChannelError {
    /// A parameter (`p_e`, `fd_t`, `mean_burst`, ...) that is outside its range or not a number.
    #[error(transparent)]
    OutOfRange(#[from] OutOfRange),
    /// Both states of a Markov channel are absorbing, so it has no stationary distribution.
    #[error(
        "p_gg = 1 contradicts p_bb = 1: one of them must be below 1, or the channel never changes its state"
    )]
    NeverChangesState,
    /// The transmissions of a drop list are not in strictly increasing order.
    #[error("drops[{position}] = {drop}: must be above the drop before it, {previous}")]
    DropsNotIncreasing {
        /// Position of the faulty number in the drop list, counted from 0.
        position: usize,
        /// Transmission number at this position.
        drop: u64,
        /// Transmission number at the position before.
        previous: u64,
    },
    /// The text is not an angle with a unit.
    #[error("{text:?} is no angle: write \"60 deg\" or \"1.05 rad\"")]
    Angle {
        /// Text that is not an angle.
        text: String,
    },
    /// The environment variable `CROSSFADE_SIMD` names instructions that this processor lacks.
    #[error("CROSSFADE_SIMD = {name:?}: must be one of {available} on this processor")]
    Simd {
        /// Value of the environment variable.
        name: String,
        /// Instruction sets that this processor has, in words.
        available: String,
    },
}

/// Error of a number outside its range.
pub(crate) fn out_of_range(
    parameter: &'static str,
    value: f64,
    allowed: impl Into<Cow<'static, str>>,
) -> ChannelError {
    OutOfRange::new(parameter, format!("{value:?}"), allowed).into()
}

/// Returns `value` if it is a probability, an error about `parameter` otherwise.
pub(crate) fn probability(parameter: &'static str, value: f64) -> Result<f64, ChannelError> {
    if (0.0..=1.0).contains(&value) {
        Ok(value)
    } else {
        Err(out_of_range(parameter, value, "between 0 and 1"))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn messages_are_one_line_with_name_value_and_range() {
        let error = probability("p_e", 1.5).unwrap_err();
        assert_eq!(error.to_string(), "p_e = 1.5: must be between 0 and 1");
        let error = ChannelError::DropsNotIncreasing { position: 2, drop: 7, previous: 7 };
        assert_eq!(error.to_string(), "drops[2] = 7: must be above the drop before it, 7");
    }

    #[test]
    fn not_a_number_is_no_probability() {
        assert!(probability("p_e", f64::NAN).is_err());
        assert_eq!(probability("p_e", 0.0), Ok(0.0));
        assert_eq!(probability("p_e", 1.0), Ok(1.0));
    }
}
