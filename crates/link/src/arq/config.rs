//! Configuration of ARQ links.

use super::{ArqError, ArqProtocol, FrameHeader, ReverseConfig, SegmentationConfig, SoftBufferConfig};
use crossfade_core::SimTime;

/// Times at which frames can start on an ARQ link.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum FrameClock {
    /// Frames start at multiples of the frame time, counted from time zero.
    Slotted,
    /// A frame starts as soon as data wait and the frame before has ended.
    OnDemand,
}

/// Configuration of a link of constant rate and delay that sends packets as frames and retransmits lost frames.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct ArqLinkConfig {
    /// Bit rate in bit/s.
    pub rate_bps: f64,
    /// Length of a frame on the air in bytes, including overhead.
    pub frame_size: u32,
    /// Times at which frames can start.
    pub clock: FrameClock,
    /// Propagation delay.
    pub delay: SimTime,
    /// Segmentation of packets into frames.
    pub segmentation: SegmentationConfig,
    /// Fate of the header of a corrupt frame: readable or lost.
    pub header: FrameHeader,
    /// Size of the buffer of corrupt frames at the receiver, for channels on which copies can be combined.
    pub soft_buffer: SoftBufferConfig,
    /// Reverse path for acknowledgements and requests.
    pub reverse: ReverseConfig,
    /// Protocol that retransmits lost frames.
    pub protocol: ArqProtocol,
}

impl ArqLinkConfig {
    /// Transmission time of a frame.
    pub fn frame_time(&self) -> SimTime {
        SimTime::to_transmit(self.frame_size, self.rate_bps)
    }

    /// Transmission time of a packet of `bytes`, with its frames sent back to back without loss.
    pub fn time_for(&self, bytes: u32) -> SimTime {
        self.frame_time() * u64::from(self.segmentation.frames(bytes))
    }

    /// Time from the start of a frame to the arrival of its acknowledgement: the shortest timeout that is never
    /// spurious.
    pub fn round_trip(&self) -> SimTime {
        self.frame_time().saturating_add(self.delay).saturating_add(self.reverse.time())
    }

    /// True if a packet can be lost when the channel loses frames.
    pub fn may_lose(&self) -> bool {
        self.protocol.may_lose()
    }

    /// Longest time over which a frame may be retransmitted:
    /// [`Protocol::longest_recovery`](super::Protocol::longest_recovery).
    pub fn longest_recovery(&self, frame_error_rate: Option<f64>) -> SimTime {
        self.protocol.longest_recovery(self.frame_time(), frame_error_rate)
    }

    /// Checks the parameters of the link.
    ///
    /// # Errors
    /// If a parameter is outside its range.
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

    /// Checks that copies of a frame can be combined on this link.
    ///
    /// # Errors
    /// If the header is lost with the payload, or the protocol retransmits no frames.
    pub fn check_combining(&self) -> Result<(), ArqError> {
        let is_readable = self.header == FrameHeader::Readable;
        let allowed = "\"readable\" where copies are combined: the receiver must know which frame a spoiled copy \
                       belongs to";
        ArqError::unless(is_readable, "header", "\"lost\"", allowed)?;
        let repeats = self.protocol != ArqProtocol::None;
        let allowed = "one that retransmits frames where copies are combined: there is only one copy of each";
        ArqError::unless(repeats, "protocol", "\"none\"", allowed)
    }
}
