//! Errors of the parameters of a physical layer.

use crossfade_channel::ChannelError;
use thiserror::Error;

/// Error of an invalid physical layer, in one line: the given and the allowed values.
#[derive(Clone, Debug, PartialEq, Error)]
pub enum PhyError {
    /// A number outside its range or NaN.
    #[error("{parameter} = {value:?}: must be {allowed}")]
    OutOfRange {
        /// Name of the parameter, as in a scenario.
        parameter: &'static str,
        /// Given value of the parameter.
        value: f64,
        /// Allowed values, to follow "must be".
        allowed: &'static str,
    },
    /// An unknown name of a scheme, detector or modulation.
    #[error("{parameter} = {value:?}: must be one of {allowed}")]
    Unknown {
        /// Parameter that has the name as its value.
        parameter: &'static str,
        /// Unknown name.
        value: String,
        /// Allowed names, separated by commas.
        allowed: String,
    },
    /// An antenna scheme that does not fit the numbers of antennas.
    #[error("scheme {scheme} does not fit n_t = {n_t}, n_r = {n_r}: it needs {needs}")]
    Antennas {
        /// Name of the antenna scheme.
        scheme: &'static str,
        /// Number of transmit antennas.
        n_t: usize,
        /// Number of receive antennas.
        n_r: usize,
        /// Antennas that the scheme needs.
        needs: &'static str,
    },
    /// An exhaustive search with too many candidates.
    #[error(
        "detector ml would compare {modulation}^{symbols} candidates for each vector, more than 2^16: \
         use detector sphere, which finds the same"
    )]
    TooManyCandidates {
        /// Name of the modulation.
        modulation: &'static str,
        /// Number of symbols that are decided together.
        symbols: usize,
    },
    /// The matched filter as detector of a scheme whose symbols interfere.
    #[error(
        "detector linear does not fit scheme {scheme}, whose symbols interfere: use ml, sphere, mmse-osic, mmse or zf"
    )]
    NotOrthogonal {
        /// Name of the antenna scheme.
        scheme: &'static str,
    },
    /// A combining stage that the detector does not support.
    #[error("combining stage {stage} does not fit detector {detector}: {reason}")]
    Combining {
        /// Name of the combining stage.
        stage: &'static str,
        /// Name of the detector.
        detector: &'static str,
        /// Reason, and the stages to use instead.
        reason: &'static str,
    },
    /// Two keys that both give the signal-to-noise ratio.
    #[error("{first} = {first_db:?} and {second} = {second_db:?} are given: give one of them")]
    TwoRatios {
        /// First key of the signal-to-noise ratio.
        first: &'static str,
        /// Value of the first key in dB.
        first_db: f64,
        /// Second key of the signal-to-noise ratio.
        second: &'static str,
        /// Value of the second key in dB.
        second_db: f64,
    },
    /// Error of the parameters of the fading channel.
    #[error(transparent)]
    Channel(#[from] ChannelError),
}
