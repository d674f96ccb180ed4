//! Reasons for which the analysis cannot treat a channel as a Markov chain.

use crate::error::ChannelError;
use crate::markov_fit::FitError;
use thiserror::Error;

/// Assumption of the analysis that a channel violates; its message is one line that continues "the analysis".
#[derive(Clone, Debug, PartialEq, Error)]
pub enum NotMarkov {
    /// The channel steps with each transmission, not with time.
    #[error("assumes a channel that steps every slot, and this one steps once a transmission: simulate it")]
    StepsPerTransmission,
    /// The channel is a finite-state one, whose states lose some packets and not others.
    #[error(
        "assumes a chain of a good and a bad state, and this one is of {states} states that lose in part: simulate it"
    )]
    States {
        /// Number of states of the channel.
        states: usize,
    },
    /// The losses are a fixed list of transmissions.
    #[error("assumes random losses that go on for ever, and a drop list is fixed and ends: simulate it")]
    DropList,
    /// Losses follow an error rate at a signal-to-noise ratio that moves in time.
    #[error(
        "assumes a chain of a good and a bad state, and this channel loses by an error-rate table at a ratio that moves \
         in time: simulate it"
    )]
    ErrorRate,
    /// The channel changes too rarely between good and bad to fit a chain.
    #[error("assumes a two-state chain, and none can be fitted to this channel ({0}): simulate it")]
    NoFit(FitError),
    /// Bursts of losses are too rare to sample enough of them for a fit.
    #[error(
        "assumes a chain fitted to sampled fading, and bursts are too rare for that (one in \
         {slots_per_burst:.1e} slots): use the markov model of the same p_e and fd_t"
    )]
    TooRare {
        /// Mean time from one burst to the next, in slots.
        slots_per_burst: f64,
    },
    /// The parameters of the channel itself are invalid.
    #[error("cannot take this channel: {0}")]
    Channel(#[from] ChannelError),
}

impl From<FitError> for NotMarkov {
    fn from(error: FitError) -> Self {
        Self::NoFit(error)
    }
}
