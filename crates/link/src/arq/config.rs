//! ARQ links as a scenario chooses them.

use super::link::{ArqLink, ArqParts, FrameClock, FrameTiming};
use super::{
    ArqError, ArqReceiver, ArqSender, FrameHeader, GoBackNConfig, GoBackNReceiver, GoBackNSender,
    LossyFrames, ReverseConfig, RlpIs99Config, RlpIs99Receiver, RlpIs99Sender, RlpNackConfig,
    RlpNackReceiver, RlpNackSender, SegmentationConfig, SelectiveRepeatConfig, SelectiveRepeatReceiver,
    SelectiveRepeatSender, StopAndWaitConfig, StopAndWaitReceiver, StopAndWaitSender, UnacknowledgedReceiver,
    UnacknowledgedSender,
};
use crate::limit::QueueLimit;
use crate::link::{Link, Packet};
use crossfade_channel::LossProcess;
use crossfade_core::SimTime;

/// Which protocol repeats lost frames.
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

impl ArqProtocol {
    /// Refuses what cannot be.
    ///
    /// # Errors
    /// A parameter outside its range.
    pub fn check(&self) -> Result<(), ArqError> {
        match self {
            Self::None => Ok(()),
            Self::StopAndWait(config) => config.check(),
            Self::GoBackN(config) => config.check(),
            Self::SelectiveRepeat(config) => config.check(),
            Self::RlpIs99(config) => config.check(),
            Self::RlpNack(config) => config.check(),
        }
    }
}

/// A link of constant rate and delay that sends frames and repeats lost ones.
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
    /// What the drop-tail queue holds beside the packet that is being sent; `None` is without limit.
    pub queue_limit: Option<QueueLimit>,
    /// Which frames are lost; idle frames are transmissions too.
    pub loss: Box<dyn LossProcess>,
    /// What is left of them.
    pub header: FrameHeader,
    /// The way back for acknowledgements and requests.
    pub reverse: ReverseConfig,
    /// Who repeats them.
    pub protocol: ArqProtocol,
}

impl ArqLinkConfig {
    /// How long a frame takes.
    pub fn frame_time(&self) -> SimTime {
        SimTime::to_transmit(self.frame_size, self.rate_bps)
    }

    /// From the start of a frame to its acknowledgement: the shortest timeout that is not spurious.
    pub fn round_trip(&self) -> SimTime {
        let feedback = self
            .reverse
            .rate_bps
            .map_or(SimTime::ZERO, |rate_bps| SimTime::to_transmit(self.reverse.feedback_size, rate_bps));
        self.frame_time() + self.delay + feedback + self.reverse.delay
    }

    /// The link.
    ///
    /// # Errors
    /// A parameter outside its range.
    pub fn build<P: Packet + Send + 'static>(self) -> Result<Box<dyn Link<P> + Send>, ArqError> {
        let is_rate = self.rate_bps > 0.0 && self.rate_bps.is_finite();
        ArqError::unless(is_rate, "rate_bps", format!("{:?}", self.rate_bps), "above 0 and finite")?;
        let (size, payload) = (self.frame_size, self.segmentation.payload);
        self.segmentation.check()?;
        ArqError::unless(size >= payload, "frame_size", size, "at least the payload of a frame")?;
        self.reverse.check()?;
        self.protocol.check()?;
        Ok(match self.protocol {
            ArqProtocol::None => {
                self.with(UnacknowledgedSender::default(), UnacknowledgedReceiver::default())
            }
            ArqProtocol::StopAndWait(config) => {
                self.with(StopAndWaitSender::new(&config), StopAndWaitReceiver::new())
            }
            ArqProtocol::GoBackN(config) => self.with(GoBackNSender::new(&config), GoBackNReceiver::new()),
            ArqProtocol::SelectiveRepeat(config) => {
                self.with(SelectiveRepeatSender::new(&config), SelectiveRepeatReceiver::new(&config))
            }
            ArqProtocol::RlpIs99(config) => {
                self.with(RlpIs99Sender::new(&config), RlpIs99Receiver::new(&config))
            }
            ArqProtocol::RlpNack(config) => {
                self.with(RlpNackSender::new(&config), RlpNackReceiver::new(&config))
            }
        })
    }

    fn with<P, S, R>(self, sender: S, receiver: R) -> Box<dyn Link<P> + Send>
    where
        P: Packet + Send + 'static,
        S: ArqSender + 'static,
        R: ArqReceiver + 'static,
    {
        let timing = FrameTiming { frame_time: self.frame_time(), clock: self.clock, delay: self.delay };
        let channel = LossyFrames { loss: self.loss, header: self.header };
        let Self { segmentation, queue_limit, reverse, .. } = self;
        let parts = ArqParts { timing, segmentation, queue_limit, sender, receiver, channel, reverse };
        Box::new(ArqLink::new(parts))
    }
}
