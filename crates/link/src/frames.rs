//! Frame channels of this crate as one type, so that ARQ links over them are compiled here, not in each crate that
//! builds such a link.

use crate::arq::{
    ArqError, ArqLinkConfig, Conditions, FrameChannel, LossyFrames, Reception, SoftValue, Transmission,
};
use crate::error_rate_frames::{ErrorRateCopies, ErrorRateFrames};
use crate::link::Link;
use crate::queue::QueueConfig;
use crate::radio::{SymbolFrames, TableCopies, TableFrames};
use crossfade_core::{SimTime, Stream};
use crossfade_phy::SoftFrame;

/// Frame channel of an ARQ link, of one of the kinds that this crate has.
pub enum Frames {
    /// Channel in which a loss process decides which frames are corrupt.
    Lossy(LossyFrames),
    /// Channel in which a physical layer detects every symbol of a frame.
    Symbols(Box<SymbolFrames>),
    /// Channel whose frames fail with the error rates of a table at a constant mean signal-to-noise ratio.
    Table(TableFrames),
    /// Channel whose frames fail with the error rates of a table at a fading signal-to-noise ratio.
    ErrorRates(Box<ErrorRateFrames>),
}

/// Copy of a frame received over [`Frames`], or several combined; further copies of the frame can be added.
#[derive(Clone)]
pub enum FrameCopies {
    /// Soft values of the bits of a frame received over [`Frames::Symbols`].
    Symbols(SoftFrame),
    /// Number of combined copies of a frame received over [`Frames::Table`].
    Table(TableCopies),
    /// Sum of the signal-to-noise ratios of the combined copies of a frame from [`Frames::ErrorRates`].
    ErrorRates(ErrorRateCopies),
}

impl ArqLinkConfig {
    /// Builds an ARQ link over a frame channel of this crate; [`build`](Self::build) takes channels of any type.
    /// Packets wait in `queue`; `draws` is its random stream, `feedback` that of losses on the reverse path.
    ///
    /// # Errors
    /// If a parameter is outside its range, or the channel combines copies of a frame but the ARQ scheme cannot.
    pub fn over(
        self,
        frames: Frames,
        queue: QueueConfig,
        draws: Stream,
        feedback: Stream,
    ) -> Result<Box<dyn Link + Send>, ArqError> {
        match frames {
            // Compiled separately: this channel has no soft copies, so simulating a frame takes less time.
            Frames::Lossy(frames) => self.build(queue, draws, frames, feedback),
            frames => self.build(queue, draws, frames, feedback),
        }
    }
}

impl FrameChannel for Frames {
    type Soft = FrameCopies;

    #[inline]
    fn transmit(&mut self, transmission: Transmission) -> Reception<FrameCopies> {
        match self {
            Self::Lossy(frames) => frames.transmit(transmission).map(|copy| match copy {}),
            Self::Symbols(frames) => frames.transmit(transmission).map(FrameCopies::Symbols),
            Self::Table(frames) => frames.transmit(transmission).map(FrameCopies::Table),
            Self::ErrorRates(frames) => frames.transmit(transmission).map(FrameCopies::ErrorRates),
        }
    }

    fn combines(&self) -> bool {
        match self {
            Self::Lossy(frames) => frames.combines(),
            Self::Symbols(frames) => frames.combines(),
            Self::Table(frames) => frames.combines(),
            Self::ErrorRates(frames) => frames.combines(),
        }
    }

    fn frame_time(&self) -> Option<SimTime> {
        match self {
            Self::Lossy(frames) => frames.frame_time(),
            Self::Symbols(frames) => frames.frame_time(),
            Self::Table(frames) => frames.frame_time(),
            Self::ErrorRates(frames) => frames.frame_time(),
        }
    }

    fn conditions(&self) -> Conditions {
        match self {
            Self::Lossy(frames) => frames.conditions(),
            Self::Symbols(frames) => frames.conditions(),
            Self::Table(frames) => frames.conditions(),
            Self::ErrorRates(frames) => frames.conditions(),
        }
    }
}

impl SoftValue for FrameCopies {
    fn passes_alone(&self) -> bool {
        match self {
            Self::Symbols(copy) => copy.passes_alone(),
            Self::Table(copies) => copies.passes_alone(),
            Self::ErrorRates(copies) => copies.passes_alone(),
        }
    }

    fn combine(&mut self, copy: Self) -> bool {
        match (self, copy) {
            (Self::Symbols(kept), Self::Symbols(copy)) => kept.combine(copy),
            (Self::Table(kept), Self::Table(copy)) => kept.combine(copy),
            (Self::ErrorRates(kept), Self::ErrorRates(copy)) => kept.combine(copy),
            _ => unreachable!("a channel's copies are of one kind"),
        }
    }
}
