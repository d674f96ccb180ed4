//! The protocols there are, and what each of them is as data.

use super::{
    ArqError, ArqReceiver, ArqSender, GoBackNConfig, RlpIs99Config, RlpNackConfig, SelectiveRepeatConfig,
    StopAndWaitConfig,
};
use crossfade_core::SimTime;

/// A protocol as data: its parameters, and what follows from them.
pub trait Protocol {
    /// The sending end.
    type Sender: ArqSender + 'static;
    /// The receiving end.
    type Receiver: ArqReceiver + 'static;

    /// Refuses what cannot be.
    ///
    /// # Errors
    /// A parameter outside its range.
    fn check(&self) -> Result<(), ArqError>;

    /// Both ends, before the first frame. Their parameters are those that [`check`](Protocol::check) accepts.
    fn build(&self) -> (Self::Sender, Self::Receiver);

    /// How long it waits, in frames of `frame_time`, before it repeats a frame or asks for it again; `None` if it
    /// repeats nothing.
    fn patience(&self, frame_time: SimTime) -> Option<Patience>;

    /// How many times it waits for a frame before it gives it up; `None` never gives up.
    fn most_repetitions(&self) -> Option<u32>;

    /// Whether a frame can be lost for good where the channel loses frames.
    fn may_lose(&self) -> bool {
        self.most_repetitions().is_some()
    }

    /// For how long a frame may be repeated. Where nothing limits that, until one in a million would be left if
    /// frames were lost independently with `frame_error_rate` (0.5 if unknown).
    fn longest_recovery(&self, frame_time: SimTime, frame_error_rate: Option<f64>) -> SimTime {
        let Some(patience) = self.patience(frame_time) else { return SimTime::ZERO };
        let expected = || {
            let per_frame = libm::log(frame_error_rate.unwrap_or(0.5).clamp(1e-6, 0.999));
            (libm::log(1e-6) / per_frame).ceil() as u64
        };
        patience.time.saturating_mul(self.most_repetitions().map_or_else(expected, u64::from))
    }
}

/// How long a protocol waits for an answer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Patience {
    /// The parameters that say so.
    pub parameter: &'static str,
    /// How long.
    pub time: SimTime,
}

/// Which protocol repeats lost frames. The list of all there are; the macro below it is the other half of it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ArqProtocol {
    /// None: each frame is sent once.
    None,
    /// One frame at a time.
    StopAndWait(StopAndWaitConfig),
    /// A window of frames; after a loss all of it again.
    GoBackN(GoBackNConfig),
    /// A window of frames; what was lost again.
    SelectiveRepeat(SelectiveRepeatConfig),
    /// The radio link protocol of IS-99.
    RlpIs99(RlpIs99Config),
    /// The same with a timeout and periodic acknowledgements.
    RlpNack(RlpNackConfig),
}

/// Does the same with whichever protocol it is.
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
    /// Refuses what cannot be.
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
