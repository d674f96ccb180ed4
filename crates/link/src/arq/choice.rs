//! The list of ARQ protocols.

use super::protocol::{Patience, Protocol};
use super::{
    ArqError, GoBackNConfig, RlpIs99Config, RlpNackConfig, SelectiveRepeatConfig, StopAndWaitConfig,
};
use crossfade_core::SimTime;

/// ARQ protocol that retransmits lost frames. A new protocol is added here and to the macro below.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ArqProtocol {
    /// No ARQ: every frame is sent once, and a lost frame stays lost.
    None,
    /// Stop and wait: one frame at a time.
    StopAndWait(StopAndWaitConfig),
    /// Go back N: after a loss the whole window is retransmitted.
    GoBackN(GoBackNConfig),
    /// Selective repeat: lost frames of the window are retransmitted.
    SelectiveRepeat(SelectiveRepeatConfig),
    /// The radio link protocol of IS-99.
    RlpIs99(RlpIs99Config),
    /// The radio link protocol of Toledo and Wang: NACKs with a timeout, and periodic acknowledgements.
    RlpNack(RlpNackConfig),
}

/// Evaluates an expression with the configuration of the protocol, whichever it is.
macro_rules! with_protocol {
    ($protocol:expr, |$config:ident| $does:expr) => {
        match $protocol {
            $crate::arq::ArqProtocol::None => {
                let $config = $crate::arq::Unacknowledged;
                $does
            }
            $crate::arq::ArqProtocol::StopAndWait($config) => $does,
            $crate::arq::ArqProtocol::GoBackN($config) => $does,
            $crate::arq::ArqProtocol::SelectiveRepeat($config) => $does,
            $crate::arq::ArqProtocol::RlpIs99($config) => $does,
            $crate::arq::ArqProtocol::RlpNack($config) => $does,
        }
    };
}
pub(super) use with_protocol;

impl ArqProtocol {
    /// Checks the parameters.
    ///
    /// # Errors
    /// A parameter outside its range.
    pub fn check(&self) -> Result<(), ArqError> {
        with_protocol!(*self, |config| config.check())
    }

    /// See [`Protocol::patience`].
    pub fn patience(&self, frame_time: SimTime) -> Option<Patience> {
        with_protocol!(*self, |config| config.patience(frame_time))
    }

    /// Greatest number of unacknowledged frames, for protocols with a window.
    pub fn window(&self) -> Option<u32> {
        match self {
            Self::GoBackN(config) => Some(config.window),
            Self::SelectiveRepeat(config) => Some(config.window),
            Self::None | Self::StopAndWait(_) | Self::RlpIs99(_) | Self::RlpNack(_) => None,
        }
    }

    /// See [`Protocol::most_repetitions`].
    pub fn most_repetitions(&self) -> Option<u32> {
        with_protocol!(*self, |config| config.most_repetitions())
    }

    /// See [`Protocol::may_lose`].
    pub fn may_lose(&self) -> bool {
        with_protocol!(*self, |config| config.may_lose())
    }

    /// See [`Protocol::longest_recovery`].
    pub fn longest_recovery(&self, frame_time: SimTime, frame_error_rate: Option<f64>) -> SimTime {
        with_protocol!(*self, |config| config.longest_recovery(frame_time, frame_error_rate))
    }
}
