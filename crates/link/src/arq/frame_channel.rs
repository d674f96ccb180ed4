//! What becomes of single frames.

use super::Sdu;
use crossfade_channel::LossProcess;
use crossfade_core::SimTime;

/// One transmission of a frame.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Transmission {
    /// Its number on this link, counted from 0. Frames without payload count too.
    pub number: u64,
    /// When it starts.
    pub at: SimTime,
    /// The payload; `None` is a frame without one.
    pub sdu: Option<Sdu>,
    /// How often this payload was sent before.
    pub attempt: u32,
}

/// What a channel makes of a frame.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Reception<S = Hard> {
    /// The frame passes its check, whatever was received before.
    Good,
    /// The frame fails its check and is of no use.
    Corrupt,
    /// The frame passes its check or fails it, and can be combined with other copies of the same frame.
    Soft(S),
}

/// Decides what the receiver makes of each frame.
///
/// The answer is a function of the channel's random streams and of the transmission, not of how often or in
/// which order the channel was asked before; calls come in order of number and of time. So draws go by index:
/// those of the payload by (stream, [`sdu`](Transmission::sdu)), the same in all copies; those of fading and noise
/// by (stream, [`number`](Transmission::number)) or (stream, [`at`](Transmission::at)). Then a protocol that sends
/// one frame more shifts nobody's draws, and a recorded run can be replayed.
pub trait FrameChannel: Send {
    /// A copy of a frame that can be combined with others; [`Hard`] where nothing is combined.
    type Soft: SoftValue;

    /// What becomes of `transmission`.
    fn transmit(&mut self, transmission: Transmission) -> Reception<Self::Soft>;

    /// Whether receptions may be soft. Then the header of frames must be readable, and somebody must send
    /// frames again.
    fn combines(&self) -> bool;

    /// How long the last frame took, or will if there was none, where that varies; `None` is as long as any other.
    fn frame_time(&self) -> Option<SimTime> {
        None
    }

    /// The conditions of the transmission that was last asked about, for observers of the link.
    fn conditions(&self) -> Conditions;
}

/// How a frame was sent, as far as its channel knows.
#[derive(Clone, Copy, Debug, PartialEq, Default)]
pub struct Conditions {
    /// The signal-to-noise ratio in dB.
    pub snr_db: Option<f64>,
    /// The modulation or the scheme.
    pub scheme: Option<&'static str>,
}

/// A received copy of a frame, and what copies of one frame add up to.
pub trait SoftValue: Clone + Send {
    /// Whether this copy passes its check without the help of others.
    fn passes_alone(&self) -> bool;

    /// Adds a later copy; whether the frame passes its check now.
    fn combine(&mut self, copy: Self) -> bool;
}

/// No soft values: a frame is good or corrupt.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Hard {}

impl SoftValue for Hard {
    fn passes_alone(&self) -> bool {
        match *self {}
    }

    fn combine(&mut self, _copy: Self) -> bool {
        match *self {}
    }
}

/// Whether the receiver can tell which frame was spoiled.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum FrameHeader {
    /// The header is lost with the payload, as in IS-99.
    Lost,
    /// The header is protected so well that it can always be read, as Toledo and Wang assume for combining.
    Readable,
}

/// Frames that a loss process loses.
pub struct LossyFrames {
    /// Process that decides which frames are lost.
    pub loss: Box<dyn LossProcess>,
}

impl FrameChannel for LossyFrames {
    type Soft = Hard;

    #[inline]
    fn transmit(&mut self, transmission: Transmission) -> Reception {
        if self.loss.lost(transmission.at, transmission.number) {
            Reception::Corrupt
        } else {
            Reception::Good
        }
    }

    fn combines(&self) -> bool {
        false
    }

    fn conditions(&self) -> Conditions {
        Conditions::default()
    }
}
