//! What becomes of single frames.

use super::{Hard, Outcome, Payload, Pdu, SoftValue};
use crossfade_channel::LossProcess;
use crossfade_core::SimTime;

/// Decides what the receiver makes of each frame.
pub trait FrameChannel: Send {
    /// What it may keep of a frame that it cannot decode.
    type Soft: SoftValue;

    /// What becomes of transmission number `transmission`, counted from 0, that starts at `now`. Calls come
    /// in order of both.
    fn transmit(&mut self, now: SimTime, transmission: u64, pdu: Pdu) -> Outcome<Self::Soft>;
}

/// Whether the receiver can tell which frame was lost.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum FrameHeader {
    /// The header is lost with the payload, as in IS-99.
    Lost,
    /// The header is protected so well that it can always be read, as Toledo and Wang assume for combining.
    Readable,
}

/// Frames that a loss process loses.
pub struct LossyFrames {
    /// Which.
    pub loss: Box<dyn LossProcess>,
    /// What is left of them.
    pub header: FrameHeader,
}

impl FrameChannel for LossyFrames {
    type Soft = Hard;

    #[inline]
    fn transmit(&mut self, now: SimTime, transmission: u64, pdu: Pdu) -> Outcome {
        match (self.loss.lost(now, transmission), self.header) {
            (false, _) => Outcome::Frame(pdu, Payload::Good),
            (true, FrameHeader::Readable) => Outcome::Frame(pdu, Payload::Corrupt),
            (true, FrameHeader::Lost) => Outcome::Erased,
        }
    }
}
