//! Errors of the physical layer's parameters.

use crossfade_channel::ChannelError;
use thiserror::Error;

/// Error of an invalid physical layer, in one line: what was given and what is allowed.
#[derive(Clone, Debug, PartialEq, Error)]
pub enum PhyError {
    /// A number outside its range (or not a number).
    #[error("{parameter} = {value:?}: must be {allowed}")]
    OutOfRange {
        /// The parameter, named as everywhere.
        parameter: &'static str,
        /// Given value.
        value: f64,
        /// Allowed values, to follow "must be".
        allowed: &'static str,
    },
    /// An unknown name.
    #[error("{parameter} = {value:?}: must be one of {allowed}")]
    Unknown {
        /// The parameter.
        parameter: &'static str,
        /// Given value.
        value: String,
        /// Allowed values.
        allowed: String,
    },
    /// A scheme on antennas that it does not fit.
    #[error("scheme {scheme} does not fit n_t = {n_t}, n_r = {n_r}: it needs {needs}")]
    Antennas {
        /// The scheme.
        scheme: &'static str,
        /// Transmit antennas.
        n_t: usize,
        /// Receive antennas.
        n_r: usize,
        /// Antennas that the scheme needs.
        needs: &'static str,
    },
    /// An exhaustive search over too many candidates.
    #[error(
        "detector ml would compare {modulation}^{symbols} candidates for each vector, more than 2^16: \
         use detector sphere, which finds the same"
    )]
    TooManyCandidates {
        /// The modulation.
        modulation: &'static str,
        /// Symbols that are decided together.
        symbols: usize,
    },
    /// A detector on a scheme that it does not fit.
    #[error(
        "detector linear does not fit scheme {scheme}, whose symbols interfere: use ml, sphere, mmse-osic, mmse or zf"
    )]
    NotOrthogonal {
        /// The scheme.
        scheme: &'static str,
    },
    /// A stage of combining that the detector does not have.
    #[error("combining stage {stage} does not fit detector {detector}: {reason}")]
    Combining {
        /// The stage.
        stage: &'static str,
        /// The detector.
        detector: &'static str,
        /// Why, and what to use.
        reason: &'static str,
    },
    /// The signal-to-noise ratio in two words.
    #[error("{first} = {first_db:?} and {second} = {second_db:?} are given: give one of them")]
    TwoRatios {
        /// One word.
        first: &'static str,
        /// Value of that key in dB.
        first_db: f64,
        /// Key of the second ratio.
        second: &'static str,
        /// Value of that key in dB.
        second_db: f64,
    },
    /// Error of the channel.
    #[error(transparent)]
    Channel(#[from] ChannelError),
}
