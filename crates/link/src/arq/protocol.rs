//! Interface of ARQ protocols as data.

use super::{ArqError, ArqReceiver, ArqSender};
use crossfade_core::SimTime;

/// Parameters of an ARQ protocol, from which its sender and receiver are built and its properties follow.
pub trait Protocol {
    /// Sender of the protocol.
    type Sender: ArqSender + 'static;
    /// Receiver of the protocol.
    type Receiver: ArqReceiver + 'static;

    /// Checks the parameters of the protocol.
    ///
    /// # Errors
    /// If a parameter is outside its range.
    fn check(&self) -> Result<(), ArqError>;

    /// Builds sender and receiver before the first frame. The parameters must have passed [`check`](Protocol::check).
    fn build(&self) -> (Self::Sender, Self::Receiver);

    /// Time for which the protocol waits before it retransmits a frame or requests it again, with frames of duration
    /// `frame_time`; `None` if it retransmits nothing.
    fn patience(&self, frame_time: SimTime) -> Option<Patience>;

    /// Number of retransmission rounds after which a frame is given up; `None`: never.
    fn most_repetitions(&self) -> Option<u32>;

    /// True if a frame can be lost for good when the channel loses frames.
    fn may_lose(&self) -> bool {
        self.most_repetitions().is_some()
    }

    /// Longest time over which a frame may be retransmitted. Without a limit, the time after which one frame in a
    /// million is still missing if frames are lost independently with `frame_error_rate` (0.5 if unknown).
    fn longest_recovery(&self, frame_time: SimTime, frame_error_rate: Option<f64>) -> SimTime {
        let Some(patience) = self.patience(frame_time) else { return SimTime::ZERO };
        let expected = || {
            let per_frame = libm::log(frame_error_rate.unwrap_or(0.5).clamp(1e-6, 0.999));
            (libm::log(1e-6) / per_frame).ceil() as u64
        };
        patience.time.saturating_mul(self.most_repetitions().map_or_else(expected, u64::from))
    }
}

/// Time for which a protocol waits for an answer, and the parameter that sets it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Patience {
    /// Name of the parameter that sets the waiting time.
    pub parameter: &'static str,
    /// Waiting time.
    pub time: SimTime,
}
