//! Input and output of the analysis.

use crossfade_channel::TwoStateMarkov;
use crossfade_core::OutOfRange;
use crossfade_transport::Variant;
use thiserror::Error;

/// A connection of the paper flavour over a two-state channel that steps every slot.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Model {
    /// Loss recovery of the sender. SACK equals `NewReno` here, since feedback is instant.
    pub variant: Variant,
    /// The receiver's window in segments.
    pub w_max: u32,
    /// Duplicate acknowledgements that trigger a fast retransmit (K).
    pub dupthresh: u32,
    /// The timeout in slots (`T_o`); at least `2 w_max + 2`.
    pub timeout_slots: u32,
    /// Maximum timeout in slots under back-off, which doubles the timeout after each one without progress; `None`: the
    /// paper's constant timeout.
    pub backoff_max_slots: Option<u32>,
    /// The channel.
    pub channel: TwoStateMarkov,
}

impl Model {
    /// Checks that the analysis can solve the model.
    ///
    /// # Errors
    /// `w_max` or `dupthresh` is 0; `timeout_slots` below `2 w_max + 2`, so that a timer could
    /// expire within a window and its recovery; `backoff_max_slots` below `timeout_slots`; a channel that
    /// never changes its state.
    pub fn check(&self) -> Result<(), AnalysisError> {
        let at_least = |parameter, value: u32, least: u64| {
            if u64::from(value) >= least {
                return Ok(());
            }
            Err(OutOfRange::new(parameter, value, format!("at least {least}")))
        };
        at_least("w_max", self.w_max, 1)?;
        at_least("dupthresh", self.dupthresh, 1)?;
        at_least("timeout_slots", self.timeout_slots, 2 * u64::from(self.w_max) + 2)?;
        if let Some(longest) = self.backoff_max_slots {
            at_least("backoff_max_slots", longest, u64::from(self.timeout_slots))?;
        }
        let changes = self.channel.p_gb() + self.channel.p_bg();
        if changes.is_nan() || changes < MIN_CHANGES {
            let allowed = format!("at least {MIN_CHANGES:e}: the channel must change its state");
            return Err(OutOfRange::new("p_gb + p_bg", changes, allowed).into());
        }
        Ok(())
    }
}

/// Below this sojourn times come near the largest number there is.
const MIN_CHANGES: f64 = 1e-200;

/// Steady-state figures.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Solution {
    /// Packets delivered once, per slot.
    pub throughput_per_slot: f64,
    /// Transmissions per slot.
    pub transmissions_per_slot: f64,
}

/// Error of the analysis: an unsolvable model with the reason, in one line.
#[derive(Clone, Debug, PartialEq, Error)]
#[non_exhaustive]
pub enum AnalysisError {
    /// A parameter is out of range.
    #[error(transparent)]
    OutOfRange(#[from] OutOfRange),
    /// The bounds know no back-off.
    #[error("backoff_max_slots = {backoff_max_slots}: must not be set, the bounds assume a constant timeout")]
    BackoffNotBounded {
        /// The longest timeout that was asked for.
        backoff_max_slots: u32,
    },
    /// SACK with delayed acknowledgements, whose state exceeds the analysed one.
    #[error("ack_delay_slots = {ack_delay_slots}: must be 0 for sack; use newreno or a simulation")]
    DelayedSack {
        /// The ACK delay that was asked for, in packet times.
        ack_delay_slots: u32,
    },
    /// The whole protocol has too many states, or takes too many rounds to solve.
    #[error("more than {limit} {states}: use a smaller w_max or ack_delay_slots, or a simulation")]
    TooLargeDelayed {
        /// Quantity above its limit.
        states: &'static str,
        /// Limit.
        limit: usize,
    },
    /// The exact analysis would take too long.
    #[error("more than {limit} {states}: use a smaller w_max, a coarser accuracy, bounds or a simulation")]
    TooLarge {
        /// Quantity above its limit.
        states: &'static str,
        /// Limit.
        limit: usize,
    },
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bad_parameters_are_named_with_what_is_allowed() {
        let good = Model {
            variant: Variant::Reno,
            w_max: 24,
            dupthresh: 3,
            timeout_slots: 50,
            backoff_max_slots: None,
            channel: TwoStateMarkov::iid(0.1).unwrap(),
        };
        assert_eq!(good.check(), Ok(()));
        let message = |model: Model| model.check().unwrap_err().to_string();
        assert_eq!(message(Model { w_max: 0, ..good }), "w_max = 0: must be at least 1");
        assert_eq!(message(Model { dupthresh: 0, ..good }), "dupthresh = 0: must be at least 1");
        assert_eq!(message(Model { timeout_slots: 49, ..good }), "timeout_slots = 49: must be at least 50");
        assert_eq!(
            message(Model { w_max: u32::MAX, ..good }),
            "timeout_slots = 50: must be at least 8589934592"
        );
        let backoff = Model { backoff_max_slots: Some(49), ..good };
        assert_eq!(message(backoff), "backoff_max_slots = 49: must be at least 50");
        assert_eq!(Model { backoff_max_slots: Some(50), ..good }.check(), Ok(()));
    }
}
