//! What a protocol is as data.

use super::{ArqError, ArqReceiver, ArqSender};
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
