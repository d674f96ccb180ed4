//! Frame channels: the fate of single frames.

use super::Sdu;
use crossfade_channel::LossProcess;
use crossfade_core::SimTime;

/// One transmission of a frame.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Transmission {
    /// Number of the frame on this link, counted from 0; frames without payload count too.
    pub number: u64,
    /// Start of the transmission.
    pub at: SimTime,
    /// Payload of the frame; `None` without one.
    pub sdu: Option<Sdu>,
    /// Number of earlier transmissions of the payload.
    pub attempt: u32,
}

/// Reception of a frame.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Reception<S = Hard> {
    /// The frame passes its check alone.
    Good,
    /// The frame fails its check and is of no use.
    Corrupt,
    /// A copy that passes its check or fails it, and that can be combined with other copies of its payload.
    Soft(S),
}

/// A channel for frames, which decides whether the receiver gets each frame good, corrupt or not at all.
///
/// The fate depends on the channel's random streams and on the transmission, not on earlier calls; calls come in order
/// of number and of time. Random draws therefore have an index: those of the payload (stream,
/// [`sdu`](Transmission::sdu)), equal for all copies; those of fading and noise (stream,
/// [`number`](Transmission::number)) or (stream, [`at`](Transmission::at)). A protocol that sends one frame more then
/// changes no other draw, and a recorded run can be replayed.
pub trait FrameChannel: Send {
    /// A copy of a frame that can be combined with others; [`Hard`] where nothing is combined.
    type Soft: SoftValue;

    /// The reception of `transmission`.
    fn transmit(&mut self, transmission: Transmission) -> Reception<Self::Soft>;

    /// Whether receptions may be soft. Headers of frames must then be readable, and the protocol must retransmit
    /// frames.
    fn combines(&self) -> bool;

    /// Duration of the last frame, or of the next one before the first, where it varies; `None` where all frames are
    /// equally long.
    fn frame_time(&self) -> Option<SimTime> {
        None
    }

    /// Channel conditions of the last transmission, for observers of the link.
    fn conditions(&self) -> Conditions;
}

/// Channel conditions of a transmission, as far as the channel knows them.
#[derive(Clone, Copy, Debug, PartialEq, Default)]
pub struct Conditions {
    /// The signal-to-noise ratio in dB.
    pub snr_db: Option<f64>,
    /// The modulation or the scheme.
    pub scheme: Option<&'static str>,
}

/// A received copy of a frame, or several copies combined.
pub trait SoftValue: Clone + Send {
    /// Whether this copy passes its check alone.
    fn passes_alone(&self) -> bool;

    /// Adds a later copy; returns whether the frame now passes its check.
    fn combine(&mut self, copy: Self) -> bool;
}

/// Channel without soft values: a frame is good or corrupt.
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

/// Whether the receiver can tell which frame was corrupt.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum FrameHeader {
    /// The header is lost with the payload, as in IS-99.
    Lost,
    /// The header is protected so well that it can always be read, as Toledo and Wang assume for combining.
    Readable,
}

/// Frames that are lost by a loss process.
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
