//! Input and output of the analysis of TCP.

use crossfade_channel::TwoStateMarkov;
use crossfade_core::OutOfRange;
use crossfade_transport::Variant;
use thiserror::Error;

/// Connection with the idealised sender of Zorzi et al. (2000), TCP flavour `paper`, over a two-state Markov channel
/// whose state may change in every slot (packet transmission time).
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Model {
    /// Loss recovery of the sender. SACK equals `NewReno` here, since acknowledgements are immediate.
    pub variant: Variant,
    /// Receiver's window in segments (`W_max`).
    pub w_max: u32,
    /// Number of duplicate acknowledgements that trigger a fast retransmit (K).
    pub dupthresh: u32,
    /// Timeout in slots (`T_o`); at least `2 w_max + 2`.
    pub timeout_slots: u32,
    /// Maximum timeout in slots with back-off, which doubles the timeout after each one without progress; `None` for a
    /// constant timeout as in Zorzi et al. (2000).
    pub backoff_max_slots: Option<u32>,
    /// Loss process of the channel: a packet is lost in a bad slot.
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

/// Least `p_gb + p_bg`: below it, sojourn times approach the range of numbers.
const MIN_CHANGES: f64 = 1e-200;

/// Steady-state throughput and transmissions.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Solution {
    /// Throughput: packets delivered once, per slot (packet transmission time).
    pub throughput_per_slot: f64,
    /// Number of transmissions per slot (packet transmission time).
    pub transmissions_per_slot: f64,
}

/// Error of the analysis. The message names, in one line, why the model cannot be solved.
#[derive(Clone, Debug, PartialEq, Error)]
#[non_exhaustive]
pub enum AnalysisError {
    /// A parameter is out of range.
    #[error(transparent)]
    OutOfRange(#[from] OutOfRange),
    /// Back-off of the timeout, which the bounds do not support.
    #[error("backoff_max_slots = {backoff_max_slots}: must not be set, the bounds assume a constant timeout")]
    BackoffNotBounded {
        /// Requested maximum timeout in slots.
        backoff_max_slots: u32,
    },
    /// SACK with delayed acknowledgements: its scoreboard is not part of the analysed state.
    #[error("ack_delay_slots = {ack_delay_slots}: must be 0 for sack; use newreno or a simulation")]
    DelayedSack {
        /// Requested ACK delay in slots (packet transmission times).
        ack_delay_slots: u32,
    },
    /// Too many protocol states with delayed acknowledgements, or too many rounds to solve for their distribution.
    #[error("more than {limit} {states}: use a smaller w_max or ack_delay_slots, or a simulation")]
    TooLargeDelayed {
        /// Name of the quantity above its limit.
        states: &'static str,
        /// Greatest allowed value of the quantity.
        limit: usize,
    },
    /// Too many states or loss patterns for the exact analysis.
    #[error("more than {limit} {states}: use a smaller w_max, a coarser accuracy, bounds or a simulation")]
    TooLarge {
        /// Name of the quantity above its limit.
        states: &'static str,
        /// Greatest allowed value of the quantity.
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
