//! Radio link control: 3GPP TS 38.322, unacknowledged and acknowledged mode.
//!
//! Machines without clock and input or output: a transmitter fills transmission opportunities of so many bytes with PDUs, a receiver
//! takes PDUs and hands up SDUs. An SDU has one sequence number, is cut into segments where an opportunity is too small, and is never
//! joined with others. Bytes stand for themselves by their number in the SDU, and SDUs by an identity that the caller gives.

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

/// A bearer's radio link control, the same in both directions.
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
    /// From a poll to the next without an answer (`t-PollRetransmit`).
    pub poll_retransmit: SimTime,
    /// From a gap to its report, or to its end in unacknowledged mode (`t-Reassembly`).
    pub reassembly: SimTime,
    /// Between two reports (`t-StatusProhibit`).
    pub status_prohibit: SimTime,
    /// Retransmissions of an SDU after which the link has failed (`maxRetxThreshold`).
    pub max_retransmissions: u32,
}

impl RlcConfig {
    /// Numbers of the space, half of which is the window.
    pub fn numbers(&self) -> u64 {
        1 << self.sn_bits
    }

    /// SDUs that may be under way (38.322 section 7.2).
    pub fn window(&self) -> u64 {
        self.numbers() / 2
    }

    /// Bytes of the header of a PDU that begins at byte `start` of its SDU, and has its end or not (6.2.2.3 and 6.2.2.4).
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
    /// What the SDU is called.
    pub sdu: u64,
    /// Its sequence number; `None` of a whole SDU in unacknowledged mode.
    pub sn: Option<u32>,
    /// Its bytes, from the first to that behind the last.
    pub start: u32,
    /// Behind the last byte.
    pub end: u32,
    /// Whether the last byte of the SDU is in it.
    pub is_end: bool,
    /// Whether it asks for a report.
    pub poll: bool,
    /// Whether it was sent before.
    pub is_retransmission: bool,
}

/// A negative acknowledgement.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Nack {
    /// The first sequence number that it is about.
    pub sn: u32,
    /// How many it is about.
    pub count: u32,
    /// Missing bytes of a single SDU; the end is `u32::MAX` where the last byte is.
    pub bytes: Option<(u32, u32)>,
}

/// A STATUS PDU (6.2.2.5).
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Status {
    /// The first sequence number that it says nothing of.
    pub ack_sn: u32,
    /// What before it is missing.
    pub nacks: Vec<Nack>,
}

impl Status {
    /// Bytes of one with these negative acknowledgements.
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

/// Where a transmitter has new SDUs from.
pub trait Source {
    /// The length of the next.
    fn next_bytes(&self) -> Option<u32>;

    /// Takes it; its identity.
    fn take(&mut self) -> u64;
}
