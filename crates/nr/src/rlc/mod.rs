//! Radio link control: 3GPP TS 38.322, unacknowledged and acknowledged mode.
//!
//! Machines without clock and input or output: a transmitter fills transmission opportunities of so many bytes with
//! PDUs, a receiver takes PDUs and hands up SDUs. An SDU has one sequence number, is cut into segments where an
//! opportunity is too small, and is never joined with others. Bytes stand for themselves by their number in the SDU,
//! and SDUs by an identity that the caller gives.

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

/// Acknowledged or unacknowledged mode.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum RlcMode {
    /// Lost SDUs stay lost.
    Unacknowledged,
    /// Lost segments are retransmitted until they arrive or the link fails.
    Acknowledged,
}

/// Parameters of a bearer's radio link control in both directions.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct RlcConfig {
    /// The mode.
    pub mode: RlcMode,
    /// Bits of a sequence number: 12 or 18 (acknowledged), 6 or 12 (unacknowledged).
    pub sn_bits: u32,
    /// PDUs without a poll after which one is polled (`pollPDU`); `None` is infinity.
    pub poll_pdus: Option<u32>,
    /// Bytes without a poll after which a PDU is polled (`pollByte`); `None` is infinity.
    pub poll_bytes: Option<u64>,
    /// Time from a poll to the next without an answer (`t-PollRetransmit`).
    pub poll_retransmit: SimTime,
    /// Time from a gap to its report, or to its end in unacknowledged mode (`t-Reassembly`).
    pub reassembly: SimTime,
    /// Minimum time between two reports (`t-StatusProhibit`).
    pub status_prohibit: SimTime,
    /// Retransmissions of an SDU after which the link has failed (`maxRetxThreshold`).
    pub max_retransmissions: u32,
}

impl RlcConfig {
    /// Size of the sequence number space; half of it is the window.
    pub fn numbers(&self) -> u64 {
        1 << self.sn_bits
    }

    /// Greatest number of SDUs under way (38.322 section 7.2).
    pub fn window(&self) -> u64 {
        self.numbers() / 2
    }

    /// Header bytes of a PDU that begins at byte `start` of its SDU and carries the SDU's end or not (6.2.2.3 and
    /// 6.2.2.4).
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

/// A protocol data unit with a segment of an SDU, or all of it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct DataPdu {
    /// Identity of the SDU, which the caller gave.
    pub sdu: u64,
    /// Sequence number of the SDU; `None` for a whole SDU in unacknowledged mode.
    pub sn: Option<u32>,
    /// First byte of the segment, counted in the SDU.
    pub start: u32,
    /// The byte behind the last one of the segment.
    pub end: u32,
    /// Whether the segment has the last byte of the SDU.
    pub is_end: bool,
    /// Whether the PDU polls: it asks for a STATUS PDU.
    pub poll: bool,
    /// Whether its bytes were sent before.
    pub is_retransmission: bool,
}

/// A negative acknowledgement.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Nack {
    /// First missing sequence number.
    pub sn: u32,
    /// Number of consecutive missing sequence numbers.
    pub count: u32,
    /// Missing bytes of a single SDU; the end is `u32::MAX` where the last byte is.
    pub bytes: Option<(u32, u32)>,
}

/// A STATUS PDU (6.2.2.5).
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Status {
    /// The first sequence number about which the report says nothing (`ACK_SN`).
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

/// The queue from which a transmitter takes new SDUs.
pub trait Source {
    /// Length of the next SDU in bytes; `None` where none waits.
    fn next_bytes(&self) -> Option<u32>;

    /// Takes the next SDU and returns its identity.
    fn take(&mut self) -> u64;
}
