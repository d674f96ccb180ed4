//! Frame channels, which determine the reception of single frames.

use super::Sdu;
use crossfade_channel::LossProcess;
use crossfade_core::SimTime;

/// One transmission of a frame.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Transmission {
    /// Number of the frame on this link, counted from 0; frames without a payload count, too.
    pub number: u64,
    /// Time at which the transmission starts.
    pub at: SimTime,
    /// Number of the payload in the frame; `None` for a frame without a payload.
    pub sdu: Option<Sdu>,
    /// Number of earlier transmissions of the payload.
    pub attempt: u32,
}

/// Reception of a frame over a frame channel.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Reception<S = Hard> {
    /// The frame passes its check by itself.
    Good,
    /// The frame fails its check and is discarded.
    Corrupt,
    /// Copy of a frame, passing its check or not, that can be combined with other copies of its payload.
    Soft(S),
}

/// Channel for frames, which decides whether each frame is received without error, corrupt or not at all.
///
/// The fate depends on the channel's random streams and on the transmission, not on earlier calls; calls come in order
/// of number and of time. Random draws therefore have an index: those of the payload (stream,
/// [`sdu`](Transmission::sdu)), equal for all copies; those of fading and noise (stream,
/// [`number`](Transmission::number)) or (stream, [`at`](Transmission::at)). So an additional frame of a protocol
/// changes no other draw, and a recorded run can be replayed.
pub trait FrameChannel: Send {
    /// Copy of a frame that can be combined with others; [`Hard`] for channels without combining.
    type Soft: SoftValue;

    /// Transmits a frame, and returns its reception.
    fn transmit(&mut self, transmission: Transmission) -> Reception<Self::Soft>;

    /// True if receptions may be soft. Headers of frames must then be readable, and the protocol must retransmit
    /// frames.
    fn combines(&self) -> bool;

    /// Duration of the last frame transmitted (before the first, of the next), for channels on which it varies; `None`
    /// if all frames are equally long.
    fn frame_time(&self) -> Option<SimTime> {
        None
    }

    /// Conditions of the channel in the last transmission, for observers of the link.
    fn conditions(&self) -> Conditions;
}

/// Channel conditions of a transmission, as far as the channel knows them.
#[derive(Clone, Copy, Debug, PartialEq, Default)]
pub struct Conditions {
    /// Signal-to-noise ratio in dB; `None` if the channel has none.
    pub snr_db: Option<f64>,
    /// Name of the modulation or antenna scheme; `None` if the channel has none.
    pub scheme: Option<&'static str>,
}

/// Received copy of a frame, or several copies combined.
pub trait SoftValue: Clone + Send {
    /// True if this copy passes its check without combining.
    fn passes_alone(&self) -> bool;

    /// Adds a later copy; returns true if the combined frame now passes its check.
    fn combine(&mut self, copy: Self) -> bool;
}

/// Type without values, for channels without soft copies: a frame is either good or corrupt.
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

/// Fate of the header of a corrupt frame, by which the receiver identifies the frame.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum FrameHeader {
    /// The header is lost with the payload, as in IS-99.
    Lost,
    /// The header is protected so well that it can always be read, as Toledo and Wang assume for combining.
    Readable,
}

/// Frame channel on which a loss process decides which frames are corrupt.
pub struct LossyFrames {
    /// Loss process, called once per frame.
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

impl<S> Reception<S> {
    /// Applies `f` to the copy of a frame that can be combined.
    pub(crate) fn map<T>(self, f: impl FnOnce(S) -> T) -> Reception<T> {
        match self {
            Self::Good => Reception::Good,
            Self::Corrupt => Reception::Corrupt,
            Self::Soft(copy) => Reception::Soft(f(copy)),
        }
    }
}
