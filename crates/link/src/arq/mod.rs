//! Automatic repeat request: retransmission of the frames of a radio link.
//!
//! ```text
//! packets --queue--> segmentation --SDUs--> ArqSender ==PDUs==> frame channel ==> soft buffer ==> ArqReceiver --> reassembly
//!                                               ^                                                      |
//!                                               +--------------- reverse channel <------feedback-------+
//! ```
//!
//! The machines do no IO and know no clock: time is an argument. [`ArqLink`] joins a pair of them, a
//! [`FrameChannel`] and a reverse channel to a [`Link`](crate::Link). [`ArqLinkConfig`] describes it as data, and
//! builds it; [`ArqProtocol`] lists the protocols. Copies of a frame are combined before a receiver hears of
//! them: protocols know verdicts only.

mod choice;
mod config;
mod frame_channel;
mod go_back_n;
mod in_order;
mod link;
mod protocol;
mod reassembly;
mod resequencer;
mod reverse;
mod rlp_is99;
mod rlp_nack;
mod segmentation;
mod selective_repeat;
mod soft_buffer;
mod statistics;
mod stop_and_wait;
#[cfg(test)]
mod testing;
mod unacknowledged;
mod watch;

pub use choice::ArqProtocol;
pub use config::{ArqLinkConfig, FrameClock};
pub use crossfade_core::OutOfRange as ArqError;
pub use frame_channel::{
    Conditions, FrameChannel, FrameHeader, Hard, LossyFrames, Reception, SoftValue, Transmission,
};
pub use go_back_n::{GoBackNConfig, GoBackNReceiver, GoBackNSender};
pub use in_order::InOrderReceiver;
pub use link::ArqLink;
pub use protocol::{Patience, Protocol};
pub use reverse::ReverseConfig;
pub use rlp_is99::{
    NaksPerRound, Persistence, Reading, RlpIs99Config, RlpIs99Receiver, RlpIs99Sender, TimerCheck, TimerClock,
};
pub use rlp_nack::{RlpNackConfig, RlpNackReceiver, RlpNackSender};
pub use segmentation::{HeaderCompression, Packing, SegmentationConfig};
pub use selective_repeat::{Release, SelectiveRepeatConfig, SelectiveRepeatReceiver, SelectiveRepeatSender};
pub use soft_buffer::SoftBufferConfig;
pub use statistics::ArqStatistics;
pub use stop_and_wait::{StopAndWaitConfig, StopAndWaitReceiver, StopAndWaitSender};
pub use unacknowledged::{Unacknowledged, UnacknowledgedReceiver, UnacknowledgedSender};

use crossfade_core::SimTime;

/// Payload of one frame: its number, counted from 0, among all the payloads that the sender was given.
pub type Sdu = u64;

/// A frame on the air.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Pdu {
    /// The sequence number. The radio link protocols send only its last 8 bits; the other protocols number
    /// without end, which tells apart what a modulus of twice the window tells apart.
    pub seq: u64,
    /// The lower edge of the sender's window, where the sender gives up frames: the receiver need not wait
    /// for anything before. (What block acknowledgement requests of IEEE 802.11 tell, and FORWARD-TSN of RFC
    /// 3758.)
    pub oldest: u64,
    /// Content of the frame.
    pub content: Content,
    /// Number of times that the sender has sent this payload before.
    pub attempt: u32,
}

impl Pdu {
    /// The number of a frame that has none.
    pub const NO_SEQ: u64 = u64::MAX;
}

/// Content of a frame.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Content {
    /// A payload.
    Data(Sdu),
    /// Idle frame: `seq` is the number of the next new frame, if the protocol sends it.
    Idle,
    /// Control frame: the sender has given up all frames before `oldest`.
    Skip,
}

/// Reception of a frame.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Outcome {
    /// The frame passes its check, by itself or together with earlier copies.
    Good(Pdu),
    /// The header of the frame was read, and its payload fails the check.
    Corrupt(Pdu),
    /// Unreadable frame without its number.
    Erased,
}

/// Feedback of a receiver to its sender.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Feedback {
    /// Asks once more for a frame.
    Nak {
        /// Sequence number of the missing frame.
        seq: u64,
    },
    /// Acknowledgement: all frames before a number, and one other frame, need not be retransmitted.
    Ack {
        /// The first frame that is still waited for.
        next: u64,
        /// The frame that made the receiver say so.
        last: u64,
    },
}

/// Delivery of a receiver to the layer above.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Delivery {
    /// A payload.
    Frame {
        /// Payload of the frame.
        sdu: Sdu,
        /// Time at which it was received; it may have waited for others since.
        received_at: SimTime,
    },
    /// Payloads that will never come.
    Lost {
        /// The number of the first, as far as the receiver knows: a receiver that counts modulo 256 does not
        /// notice when it misses 256 frames at once.
        first: Sdu,
        /// Number of payloads.
        frames: u64,
    },
}

/// The sending end of an ARQ protocol.
pub trait ArqSender: Send {
    /// Whether it would send a new payload at `now`: its window is open, and nothing has to be retransmitted
    /// first. (Timers that have expired are acted on: giving a frame up may open the window.)
    fn wants_sdu(&mut self, now: SimTime) -> bool;

    /// Takes the next payload. Payloads are numbered from 0 without gaps. Call it when
    /// [`wants_sdu`](ArqSender::wants_sdu) says so; then [`poll_transmit`](ArqSender::poll_transmit) sends
    /// it.
    fn on_sdu(&mut self, now: SimTime, sdu: Sdu);

    /// Hears what the receiver says.
    fn on_feedback(&mut self, now: SimTime, feedback: Feedback);

    /// The frame to send if a transmission starts at `now`; `None` leaves the channel idle.
    fn poll_transmit(&mut self, now: SimTime) -> Option<Pdu>;

    /// Time at which [`poll_transmit`](ArqSender::poll_transmit) will have something to send though nothing happens
    /// before.
    fn next_timeout(&self) -> Option<SimTime> {
        None
    }
}

/// The receiving end of an ARQ protocol.
///
/// Whatever frames it is given, it does not panic, passes no payload up twice and keeps no more than its
/// buffer.
pub trait ArqReceiver: Send {
    /// A frame, or what is left of it, has been received at `now`.
    fn on_pdu(&mut self, now: SimTime, outcome: Outcome);

    /// Next feedback to the sender at `now`; call it until it returns nothing, after
    /// [`on_pdu`](ArqReceiver::on_pdu) and at [`next_timeout`](ArqReceiver::next_timeout).
    fn poll_feedback(&mut self, now: SimTime) -> Option<Feedback>;

    /// Next delivery to the layer above; call it until it returns nothing, after each of the other two.
    fn poll_delivery(&mut self) -> Option<Delivery>;

    /// Time at which [`poll_feedback`](ArqReceiver::poll_feedback) has something to do though nothing is received
    /// before.
    fn next_timeout(&self) -> Option<SimTime> {
        None
    }

    /// Whether it waits for this frame. Of others no copies are kept that could be combined.
    fn awaits(&self, pdu: &Pdu) -> bool;

    /// Whether no frame is known to be missing: then nothing but a new frame can make it pass something up.
    fn is_in_sequence(&self) -> bool;

    /// Whether it passes payloads up in the order in which they were given to the sender.
    fn releases_in_order(&self) -> bool {
        true
    }
}
