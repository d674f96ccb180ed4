//! List of all ARQ protocols.

use super::protocol::{Patience, Protocol};
use super::{
    ArqError, GoBackNConfig, RlpIs99Config, RlpNackConfig, SelectiveRepeatConfig, StopAndWaitConfig,
};
use crossfade_core::SimTime;

/// ARQ protocol that retransmits lost frames. A new protocol is added to this enum and to the macro `with_protocol`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ArqProtocol {
    /// No ARQ: every frame is sent once, and a lost frame stays lost.
    None,
    /// Stop and wait: one frame at a time.
    StopAndWait(StopAndWaitConfig),
    /// Go back N: after a loss the whole window is retransmitted.
    GoBackN(GoBackNConfig),
    /// Selective repeat: only the lost frames of the window are retransmitted.
    SelectiveRepeat(SelectiveRepeatConfig),
    /// The radio link protocol (RLP) of IS-99.
    RlpIs99(RlpIs99Config),
    /// The radio link protocol of Toledo and Wang: NACKs with a timeout, and periodic acknowledgements.
    RlpNack(RlpNackConfig),
}

/// Evaluates an expression with the configuration of the protocol, statically dispatched.
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
    /// Checks the parameters of the protocol.
    ///
    /// # Errors
    /// If a parameter is outside its range.
    pub fn check(&self) -> Result<(), ArqError> {
        with_protocol!(*self, |config| config.check())
    }

    /// Time for which the protocol waits before it retransmits a frame or requests it again: [`Protocol::patience`].
    pub fn patience(&self, frame_time: SimTime) -> Option<Patience> {
        with_protocol!(*self, |config| config.patience(frame_time))
    }

    /// Window in frames: the greatest number of unacknowledged frames; `None` for protocols without this parameter.
    pub fn window(&self) -> Option<u32> {
        match self {
            Self::GoBackN(config) => Some(config.window),
            Self::SelectiveRepeat(config) => Some(config.window),
            Self::None | Self::StopAndWait(_) | Self::RlpIs99(_) | Self::RlpNack(_) => None,
        }
    }

    /// Number of retransmission rounds after which a frame is given up: [`Protocol::most_repetitions`].
    pub fn most_repetitions(&self) -> Option<u32> {
        with_protocol!(*self, |config| config.most_repetitions())
    }

    /// True if a frame can be lost for good when the channel loses frames: [`Protocol::may_lose`].
    pub fn may_lose(&self) -> bool {
        with_protocol!(*self, |config| config.may_lose())
    }

    /// Longest time over which a frame may be retransmitted: [`Protocol::longest_recovery`].
    pub fn longest_recovery(&self, frame_time: SimTime, frame_error_rate: Option<f64>) -> SimTime {
        with_protocol!(*self, |config| config.longest_recovery(frame_time, frame_error_rate))
    }
}
