//! PPDUs (physical-layer frames) of 802.11, for packet captures.

use crate::parcel::Parcel;
use crossfade_core::SimTime;

/// PPDU (physical-layer frame) of 802.11, as a monitor that receives every station would record it.
#[derive(Clone, Debug, PartialEq)]
pub struct Ppdu {
    /// Time at which the preamble begins.
    pub at: SimTime,
    /// Time at which the PPDU ends.
    pub end: SimTime,
    /// Number of the transmitting node: the access point is 0, station n is n + 1.
    pub from: u16,
    /// Number of the receiving node; [`EVERYBODY`] for several.
    pub to: u16,
    /// Value of the duration field: time for which the exchange continues after this PPDU.
    pub announced: SimTime,
    /// Format, modulation, channel and bit rate.
    pub rate: PpduRate,
    /// True if another PPDU began at the same time, so that neither can be received.
    pub collided: bool,
    /// Frames that the PPDU carries.
    pub content: PpduContent,
}

/// Receiver number of a frame that is addressed to several nodes.
pub const EVERYBODY: u16 = u16::MAX;

/// Format, modulation, channel and bit rate of a PPDU.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct PpduRate {
    /// Format of the PPDU's preamble.
    pub format: PpduFormat,
    /// MCS index; in 802.11n too it counts from 0 for each number of streams.
    pub mcs: u8,
    /// Number of spatial streams.
    pub streams: u8,
    /// Channel width in MHz.
    pub width_mhz: u16,
    /// Guard interval in nanoseconds.
    pub guard_interval_ns: u16,
    /// Bit rate in bit/s.
    pub bps: f64,
    /// Frequency band of the channel in GHz: 2, 5 or 6.
    pub band_ghz: u8,
    /// Number of tones of the resource unit, in a PPDU for several stations; `None` otherwise.
    pub ru_tones: Option<u16>,
}

/// Format of a PPDU's preamble.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum PpduFormat {
    /// OFDM format of 802.11a and g.
    Ofdm,
    /// High-throughput format (HT) of 802.11n.
    Ht,
    /// Very-high-throughput format (VHT) of 802.11ac.
    Vht,
    /// High-efficiency format (HE) of 802.11ax.
    He,
    /// Extremely-high-throughput format (EHT) of 802.11be.
    Eht,
}

/// Frames that a PPDU carries.
#[derive(Clone, Debug, PartialEq)]
pub enum PpduContent {
    /// RTS frame (request to send).
    Rts,
    /// CTS frame (clear to send).
    Cts,
    /// ACK frame.
    Ack,
    /// Block acknowledgement request frame.
    BlockAckRequest {
        /// Traffic identifier (TID) of the requested acknowledgement.
        tid: u8,
        /// Starting sequence number, of which the frame carries the lower 12 bits.
        start: u64,
    },
    /// Block acknowledgement frame.
    BlockAck {
        /// Traffic identifier (TID) of the acknowledged MPDUs.
        tid: u8,
        /// Sequence number of the first MPDU in the bitmap.
        start: u64,
        /// Bitmap of the MPDUs from `start` on: true for those received.
        has: Vec<bool>,
    },
    /// Block acknowledgement frame for several stations, with the node of each.
    BlockAcks(Vec<(u16, PpduBlock)>),
    /// Trigger frame.
    Trigger {
        /// Kind of the answer that the frame triggers.
        kind: PpduTrigger,
        /// Duration of the triggered PPDU.
        lasts: SimTime,
        /// Stations that the frame triggers, with the parameters of their answers.
        users: Vec<PpduTriggered>,
        /// Number of padding bytes.
        padding: u32,
    },
    /// Data frames.
    Data {
        /// Traffic identifier (TID) of the MPDUs; `None` for stations without access categories.
        tid: Option<u8>,
        /// True if the MPDUs form an A-MPDU, even if there is only one.
        is_aggregate: bool,
        /// True if an ACK frame answers the PPDU, not a block acknowledgement.
        is_acked_alone: bool,
        /// MPDUs of the PPDU, in the order of transmission.
        mpdus: Vec<PpduMpdu>,
    },
}

/// Block acknowledgement for one station, in a frame for several.
#[derive(Clone, Debug, PartialEq)]
pub struct PpduBlock {
    /// Traffic identifier (TID) of the acknowledged MPDUs.
    pub tid: u8,
    /// Sequence number of the first MPDU in the bitmap.
    pub start: u64,
    /// Bitmap of the MPDUs from `start` on: true for those received.
    pub has: Vec<bool>,
}

/// Kind of the answer that a trigger frame requests.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum PpduTrigger {
    /// Data frames (Basic trigger).
    Basic,
    /// Block acknowledgements (MU-BAR trigger).
    BlockAcks,
    /// CTS frames (MU-RTS trigger).
    Cts,
}

/// Station that a trigger frame addresses, with the parameters of its answer.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct PpduTriggered {
    /// Number of the addressed node.
    pub node: u16,
    /// Value of the RU allocation field, 8 bits.
    pub ru_allocation: u8,
    /// MCS index of the node's answer.
    pub mcs: u8,
    /// Number of spatial streams of the node's answer.
    pub streams: u8,
    /// Traffic identifier (TID) of the requested block acknowledgement.
    pub tid: u8,
    /// Starting sequence number of the requested block acknowledgement.
    pub start: u64,
}

/// MPDU (MAC frame) in a PPDU.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct PpduMpdu {
    /// Sequence number, of which the frame carries the lower 12 bits.
    pub number: u64,
    /// Number of earlier transmissions of the MPDU.
    pub attempt: u32,
    /// Packet that the MPDU carries.
    pub parcel: Parcel,
}
