//! PPDUs of 802.11 in the air, for captures.

use crate::parcel::Parcel;
use crossfade_core::SimTime;

/// A PPDU of 802.11, as a monitor that hears every station would record it.
#[derive(Clone, Debug, PartialEq)]
pub struct Ppdu {
    /// Beginning of the preamble.
    pub at: SimTime,
    /// End of the PPDU.
    pub end: SimTime,
    /// The node that sends it: the access point is 0, station n is n + 1.
    pub from: u16,
    /// The node that it is sent to; [`EVERYBODY`] where there are several.
    pub to: u16,
    /// Value of the duration field: how long the exchange goes on after this PPDU.
    pub announced: SimTime,
    /// Format, modulation, width and rate.
    pub rate: PpduRate,
    /// Whether another PPDU began at the same time, so that neither can be read.
    pub collided: bool,
    /// The frames in the PPDU.
    pub content: PpduContent,
}

/// Receiver number of a frame for several nodes.
pub const EVERYBODY: u16 = u16::MAX;

/// Format, modulation and channel of a PPDU.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct PpduRate {
    /// The format of its preamble.
    pub format: PpduFormat,
    /// MCS index, counted from 0 for each number of streams.
    pub mcs: u8,
    /// Spatial streams.
    pub streams: u8,
    /// Width in MHz.
    pub width_mhz: u16,
    /// Guard interval in nanoseconds.
    pub guard_interval_ns: u16,
    /// Bit rate in bit/s.
    pub bps: f64,
    /// The band of the channel in GHz: 2, 5 or 6.
    pub band_ghz: u8,
    /// Number of tones of the resource unit, in a PPDU for several stations; `None` otherwise.
    pub ru_tones: Option<u16>,
}

/// Formats of the preamble.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum PpduFormat {
    /// The OFDM format of 802.11a and g.
    Ofdm,
    /// High throughput, 802.11n.
    Ht,
    /// Very high throughput, 802.11ac.
    Vht,
    /// High efficiency, 802.11ax.
    He,
    /// Extremely high throughput, 802.11be.
    Eht,
}

/// The frames in a PPDU.
#[derive(Clone, Debug, PartialEq)]
pub enum PpduContent {
    /// Request to send.
    Rts,
    /// Clear to send.
    Cts,
    /// Acknowledgement.
    Ack,
    /// Block acknowledgement request.
    BlockAckRequest {
        /// Traffic identifier.
        tid: u8,
        /// Starting sequence number, of which frames carry the lower 12 bits.
        start: u64,
    },
    /// Block acknowledgement.
    BlockAck {
        /// Traffic identifier.
        tid: u8,
        /// Sequence number of the first bit of the bitmap.
        start: u64,
        /// The bitmap: which of the MPDUs from `start` on have been received.
        has: Vec<bool>,
    },
    /// Block acknowledgement of several stations: each with its node.
    BlockAcks(Vec<(u16, PpduBlock)>),
    /// Trigger frame.
    Trigger {
        /// Kind of the answer that it triggers.
        kind: PpduTrigger,
        /// Duration of the triggered PPDU.
        lasts: SimTime,
        /// Stations that it triggers.
        users: Vec<PpduTriggered>,
        /// Bytes of padding.
        padding: u32,
    },
    /// Data.
    Data {
        /// Traffic identifier; `None` for stations without access categories.
        tid: Option<u8>,
        /// Whether the MPDUs form an A-MPDU, even if there is only one.
        is_aggregate: bool,
        /// Whether it is answered by an ACK frame instead of a block acknowledgement.
        is_acked_alone: bool,
        /// MPDUs of the PPDU, in the order of transmission.
        mpdus: Vec<PpduMpdu>,
    },
}

/// A block acknowledgement of one station among those of several.
#[derive(Clone, Debug, PartialEq)]
pub struct PpduBlock {
    /// Traffic identifier.
    pub tid: u8,
    /// Sequence number of the first bit of the bitmap.
    pub start: u64,
    /// The bitmap: which of the MPDUs from `start` on have been received.
    pub has: Vec<bool>,
}

/// Kind of the answer to a trigger frame.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum PpduTrigger {
    /// Data.
    Basic,
    /// Block acknowledgements.
    BlockAcks,
    /// CTS.
    Cts,
}

/// A station that a trigger frame addresses.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct PpduTriggered {
    /// Number of the triggered node.
    pub node: u16,
    /// The RU allocation field of 8 bits.
    pub ru_allocation: u8,
    /// MCS of the node's answer.
    pub mcs: u8,
    /// Number of spatial streams of the node's answer.
    pub streams: u8,
    /// Traffic identifier.
    pub tid: u8,
    /// Starting sequence number of the requested block acknowledgement.
    pub start: u64,
}

/// An MPDU of a PPDU.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct PpduMpdu {
    /// Sequence number, of which frames carry the lower 12 bits.
    pub number: u64,
    /// Number of earlier transmissions of the MPDU.
    pub attempt: u32,
    /// The packet that the MPDU carries.
    pub parcel: Parcel,
}
