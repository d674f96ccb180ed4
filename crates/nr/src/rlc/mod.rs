//! Radio link control: 3GPP TS 38.322, unacknowledged and acknowledged mode.
//!
//! State machines without clock, input and output: a transmitter fills transmission opportunities of given sizes with
//! PDUs, a receiver takes PDUs and hands up SDUs. An SDU has one sequence number, is segmented if an opportunity is too
//! small, and is never concatenated with others. Bytes are represented by their offset in the SDU, and SDUs by an
//! identity that the caller assigns.

mod am_receiver;
mod am_transmitter;
#[cfg(test)]
mod ladders;
mod partial;
mod um;

pub use am_receiver::AmReceiver;
pub use am_transmitter::AmTransmitter;
pub use um::{UmReceiver, UmTransmitter};

use crossfade_core::SimTime;

/// RLC mode of a bearer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum RlcMode {
    /// Unacknowledged mode (UM): lost SDUs stay lost.
    Unacknowledged,
    /// Acknowledged mode (AM): lost segments are retransmitted until they arrive or the link fails.
    Acknowledged,
}

/// Parameters of a bearer's radio link control in both directions.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct RlcConfig {
    /// Acknowledged or unacknowledged mode.
    pub mode: RlcMode,
    /// Number of bits of a sequence number: 12 or 18 in acknowledged, 6 or 12 in unacknowledged mode.
    pub sn_bits: u32,
    /// Number of PDUs without a poll after which one polls (`pollPDU`); `None` for infinity.
    pub poll_pdus: Option<u32>,
    /// Number of bytes without a poll after which a PDU polls (`pollByte`); `None` for infinity.
    pub poll_bytes: Option<u64>,
    /// Time from an unanswered poll to the next (`t-PollRetransmit`).
    pub poll_retransmit: SimTime,
    /// Time from the detection of a gap to its report, in unacknowledged mode to the loss of the SDU (`t-Reassembly`).
    pub reassembly: SimTime,
    /// Minimum time between two reports (`t-StatusProhibit`).
    pub status_prohibit: SimTime,
    /// Number of retransmissions of an SDU at which the link has failed (`maxRetxThreshold`).
    pub max_retransmissions: u32,
}

impl RlcConfig {
    /// Size of the sequence number space; half of it is the window.
    pub fn numbers(&self) -> u64 {
        1 << self.sn_bits
    }

    /// Maximum number of SDUs under way: half of the number space (38.322 section 7.2).
    pub fn window(&self) -> u64 {
        self.numbers() / 2
    }

    /// Header bytes of a PDU that begins at byte `start` of its SDU; `is_end` if it has the last byte of the SDU
    /// (6.2.2.3 and 6.2.2.4).
    pub fn header_bytes(&self, start: u32, is_end: bool) -> u32 {
        let offset = if start > 0 { 2 } else { 0 };
        match (self.mode, self.sn_bits) {
            (RlcMode::Unacknowledged, _) if start == 0 && is_end => 1,
            (RlcMode::Unacknowledged, 6) => 1 + offset,
            (_, 12) => 2 + offset,
            _ => 3 + offset,
        }
    }
}

/// RLC data PDU: a segment of an SDU, or all of it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct DataPdu {
    /// Identity of the SDU, assigned by the caller.
    pub sdu: u64,
    /// Sequence number of the SDU; `None` for a whole SDU in unacknowledged mode.
    pub sn: Option<u32>,
    /// Offset of the first byte of the segment in the SDU.
    pub start: u32,
    /// Offset one past the last byte of the segment.
    pub end: u32,
    /// True if the segment has the last byte of the SDU.
    pub is_end: bool,
    /// True if the PDU polls: it requests a STATUS PDU.
    pub poll: bool,
    /// True if its bytes were sent before.
    pub is_retransmission: bool,
}

/// Negative acknowledgement in a STATUS PDU.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Nack {
    /// First missing sequence number.
    pub sn: u32,
    /// Number of consecutive missing sequence numbers.
    pub count: u32,
    /// Missing bytes of a single SDU, first and one past the last, which is `u32::MAX` if the last byte is missing;
    /// `None` for whole SDUs.
    pub bytes: Option<(u32, u32)>,
}

/// STATUS PDU (6.2.2.5): report of the receiver in acknowledged mode.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Status {
    /// First sequence number that the report does not cover (`ACK_SN`).
    pub ack_sn: u32,
    /// Missing SDUs and segments before `ack_sn`.
    pub nacks: Vec<Nack>,
}

impl Status {
    /// Length of the STATUS PDU in bytes.
    pub fn bytes(&self, sn_bits: u32) -> u32 {
        3 + self.nacks.iter().map(|nack| nack.bytes(sn_bits)).sum::<u32>()
    }
}

impl Nack {
    fn bytes(&self, sn_bits: u32) -> u32 {
        let number = if sn_bits == 12 { 2 } else { 3 };
        number + if self.bytes.is_some() { 4 } else { 0 } + u32::from(self.count > 1)
    }
}

/// Queue from which a transmitter takes new SDUs.
pub trait Source {
    /// Length of the next SDU in bytes; `None` if none waits.
    fn next_bytes(&self) -> Option<u32>;

    /// Takes the next SDU and returns its identity.
    fn take(&mut self) -> u64;
}
