//! ARQ links as data.

use super::{ArqError, ArqProtocol, FrameHeader, ReverseConfig, SegmentationConfig, SoftBufferConfig};
use crossfade_core::SimTime;

/// When frames start.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum FrameClock {
    /// At multiples of the frame time, counted from zero.
    Slotted,
    /// When there is something to send and the frame before has ended.
    OnDemand,
}

/// A link of constant rate and delay that sends frames and repeats lost ones.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct ArqLinkConfig {
    /// Bit rate in bit/s.
    pub rate_bps: f64,
    /// Bytes of a frame on the air, with its overhead.
    pub frame_size: u32,
    /// When frames start.
    pub clock: FrameClock,
    /// Propagation delay.
    pub delay: SimTime,
    /// How packets become frames.
    pub segmentation: SegmentationConfig,
    /// What is left of a frame that is spoiled.
    pub header: FrameHeader,
    /// What the receiver keeps of spoiled frames, where the channel lets it combine copies.
    pub soft_buffer: SoftBufferConfig,
    /// The reverse path for acknowledgements and requests.
    pub reverse: ReverseConfig,
    /// Protocol that retransmits lost frames.
    pub protocol: ArqProtocol,
}

impl ArqLinkConfig {
    /// How long a frame takes.
    pub fn frame_time(&self) -> SimTime {
        SimTime::to_transmit(self.frame_size, self.rate_bps)
    }

    /// How long a packet of `bytes` takes whose frames are sent one after the other and all received.
    pub fn time_for(&self, bytes: u32) -> SimTime {
        self.frame_time() * u64::from(self.segmentation.frames(bytes))
    }

    /// From the start of a frame to its acknowledgement: the shortest timeout that is not spurious.
    pub fn round_trip(&self) -> SimTime {
        self.frame_time().saturating_add(self.delay).saturating_add(self.reverse.time())
    }

    /// Whether a packet can be lost, if the channel loses frames.
    pub fn may_lose(&self) -> bool {
        self.protocol.may_lose()
    }

    /// For how long a frame may be repeated: see [`Protocol::longest_recovery`](super::Protocol::longest_recovery).
    pub fn longest_recovery(&self, frame_error_rate: Option<f64>) -> SimTime {
        self.protocol.longest_recovery(self.frame_time(), frame_error_rate)
    }

    /// Refuses what cannot be.
    ///
    /// # Errors
    /// A parameter outside its range.
    pub fn check(&self) -> Result<(), ArqError> {
        let is_rate = self.rate_bps > 0.0 && self.rate_bps.is_finite();
        ArqError::unless(is_rate, "rate_bps", format!("{:?}", self.rate_bps), "above 0 and finite")?;
        let (size, payload) = (self.frame_size, self.segmentation.payload);
        self.segmentation.check()?;
        ArqError::unless(size >= payload, "frame_size", size, "at least the payload of a frame")?;
        self.soft_buffer.check()?;
        self.reverse.check()?;
        self.protocol.check()
    }

    /// Refuses a link on which copies of a frame cannot be combined.
    ///
    /// # Errors
    /// The header is lost with the payload, or no frame is sent twice.
    pub fn check_combining(&self) -> Result<(), ArqError> {
        let is_readable = self.header == FrameHeader::Readable;
        let allowed = "\"readable\" where copies are combined: the receiver must know which frame a spoiled copy \
                       belongs to";
        ArqError::unless(is_readable, "header", "\"lost\"", allowed)?;
        let repeats = self.protocol != ArqProtocol::None;
        let allowed = "one that sends frames again where copies are combined: there is only one copy of each";
        ArqError::unless(repeats, "protocol", "\"none\"", allowed)
    }
}
