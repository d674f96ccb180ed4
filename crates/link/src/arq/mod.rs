//! Automatic repeat request: retransmission of the frames of a radio link.
//!
//! ```text
//! packets --queue--> segmentation --SDUs--> ArqSender ==PDUs==> frame channel ==> soft buffer ==> ArqReceiver --> reassembly
//!                                               ^                                                      |
//!                                               +--------------- reverse channel <------feedback-------+
//! ```
//!
//! Senders and receivers do no IO and have no clock: time is an argument. [`ArqLink`] joins a sender, a receiver, a
//! [`FrameChannel`] and a reverse channel to a [`Link`](crate::Link). [`ArqLinkConfig`] describes and builds such a
//! link; [`ArqProtocol`] lists the protocols. Copies of a frame are combined before the receiver is called, so
//! protocols see only the outcome.

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

/// Number, from 0, of the payload of a frame among all payloads that the sender was given.
pub type Sdu = u64;

/// Frame on the air (protocol data unit).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Pdu {
    /// Sequence number. The radio link protocols transmit only its last 8 bits. The other protocols number without end,
    /// which is equivalent to a modulus of twice the window.
    pub seq: u64,
    /// Lower edge of the sender's window, for protocols that give up frames: the receiver need not wait for earlier
    /// frames. (Block acknowledgement requests of IEEE 802.11 and FORWARD-TSN of RFC 3758 carry this number.)
    pub oldest: u64,
    /// Content of the frame.
    pub content: Content,
    /// Number of earlier transmissions of this payload.
    pub attempt: u32,
}

impl Pdu {
    /// Sequence number of frames that carry none.
    pub const NO_SEQ: u64 = u64::MAX;
}

/// Content of a frame: a payload or control information.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Content {
    /// A payload, by its number.
    Data(Sdu),
    /// Idle frame; `seq` is the number of the next new frame, if the protocol transmits it.
    Idle,
    /// Control frame: the sender has given up all frames before `oldest`.
    Skip,
}

/// Outcome of the reception of a frame, for the receiver of an ARQ protocol.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Outcome {
    /// The frame passes its check, by itself or combined with earlier copies.
    Good(Pdu),
    /// The header of the frame can be read, and its payload fails the check.
    Corrupt(Pdu),
    /// The frame cannot be read at all, so its number is unknown.
    Erased,
}

/// Feedback from a receiver to its sender.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Feedback {
    /// Negative acknowledgement: requests a retransmission.
    Nak {
        /// Sequence number of the missing frame.
        seq: u64,
    },
    /// Acknowledgement: all frames before `next`, and the frame `last`, need not be retransmitted.
    Ack {
        /// Number of the first frame that the receiver still expects.
        next: u64,
        /// Number of the frame whose reception caused this acknowledgement.
        last: u64,
    },
}

/// Delivery from a receiver to the layer above.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Delivery {
    /// A payload was received and is passed up.
    Frame {
        /// Number of the payload.
        sdu: Sdu,
        /// Time at which the frame was received; it may have waited for earlier frames since.
        received_at: SimTime,
    },
    /// Payloads that will never arrive.
    Lost {
        /// Number of the first lost payload, as far as the receiver knows: a receiver that counts modulo 256 does not
        /// notice the loss of 256 frames in a row.
        first: Sdu,
        /// Number of lost payloads.
        frames: u64,
    },
}

/// Sender of an ARQ protocol.
pub trait ArqSender: Send {
    /// True if the sender would transmit a new payload at `now`: its window is open, and no frame waits for
    /// retransmission. (Timers that have expired take effect first: giving a frame up may open the window.)
    fn wants_sdu(&mut self, now: SimTime) -> bool;

    /// Takes the next payload. Payloads are numbered from 0 without gaps. Called only after
    /// [`wants_sdu`](ArqSender::wants_sdu) returns true; then [`poll_transmit`](ArqSender::poll_transmit) sends the
    /// payload.
    fn on_sdu(&mut self, now: SimTime, sdu: Sdu);

    /// Takes feedback of the receiver, which arrives at `now`.
    fn on_feedback(&mut self, now: SimTime, feedback: Feedback);

    /// Frame to transmit if a transmission starts at `now`; `None` leaves the channel idle.
    fn poll_transmit(&mut self, now: SimTime) -> Option<Pdu>;

    /// Time at which [`poll_transmit`](ArqSender::poll_transmit) will have a frame to send even without new payloads or
    /// feedback; `None` if never.
    fn next_timeout(&self) -> Option<SimTime> {
        None
    }
}

/// Receiver of an ARQ protocol.
///
/// For any sequence of frames it does not panic, passes no payload up twice and stores no more than its buffer.
pub trait ArqReceiver: Send {
    /// Takes the reception of a frame, readable or not, at `now`.
    fn on_pdu(&mut self, now: SimTime, outcome: Outcome);

    /// Next feedback to the sender at `now`. Called until it returns `None`, after each [`on_pdu`](ArqReceiver::on_pdu)
    /// and at [`next_timeout`](ArqReceiver::next_timeout).
    fn poll_feedback(&mut self, now: SimTime) -> Option<Feedback>;

    /// Next delivery to the layer above. Called until it returns `None`, after each call of the other two methods.
    fn poll_delivery(&mut self) -> Option<Delivery>;

    /// Time at which [`poll_feedback`](ArqReceiver::poll_feedback) has something to do even without a reception; `None`
    /// if never.
    fn next_timeout(&self) -> Option<SimTime> {
        None
    }

    /// True if the receiver still waits for this frame. Copies of other frames are not kept for combining.
    fn awaits(&self, pdu: &Pdu) -> bool;

    /// True if no frame is known to be missing: then only a new frame can lead to a delivery.
    fn is_in_sequence(&self) -> bool;

    /// True if the receiver passes payloads up in the order in which the sender was given them.
    fn releases_in_order(&self) -> bool {
        true
    }
}
