//! Transmissions in the air of stations, for captures.

use crate::parcel::Parcel;
use crossfade_core::SimTime;

/// A transmission of a station of 802.11 (a PPDU), as a radio that hears everything would have heard it.
#[derive(Clone, Debug, PartialEq)]
pub struct Ppdu {
    /// When its preamble begins.
    pub at: SimTime,
    /// When it has ended.
    pub end: SimTime,
    /// The node that sends it: the access point is 0, station n is n + 1.
    pub from: u16,
    /// The node that it is for; [`EVERYBODY`] where it is for several.
    pub to: u16,
    /// How long its exchange goes on after it: what its duration field announces.
    pub announced: SimTime,
    /// How it is modulated.
    pub rate: PpduRate,
    /// Whether another one began with it, so that nothing of either is read.
    pub collided: bool,
    /// What it holds.
    pub content: PpduContent,
}

/// The receiver of frames for several nodes.
pub const EVERYBODY: u16 = u16::MAX;

/// How a PPDU is modulated, and where.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct PpduRate {
    /// The format of its preamble.
    pub format: PpduFormat,
    /// The index of its modulation and coding, from 0 for each number of streams.
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
    /// Tones of the resource unit that it takes of a PPDU of several stations.
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

/// What a PPDU holds.
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
        /// The first sequence number that is asked about; frames have its lower 12 bits.
        start: u64,
    },
    /// Block acknowledgement.
    BlockAck {
        /// Traffic identifier.
        tid: u8,
        /// The sequence number of the first bit.
        start: u64,
        /// Which of the MPDUs from `start` on have come: as many bits as its bitmap has.
        has: Vec<bool>,
    },
    /// Block acknowledgement of several stations: each with its node.
    BlockAcks(Vec<(u16, PpduBlock)>),
    /// Trigger frame.
    Trigger {
        /// What it asks for.
        kind: PpduTrigger,
        /// How long the PPDU lasts that it asks for.
        lasts: SimTime,
        /// Whom it asks.
        users: Vec<PpduTriggered>,
    },
    /// Data.
    Data {
        /// Traffic identifier; none of stations without categories.
        tid: Option<u8>,
        /// Whether the MPDUs are an aggregate, be it of one.
        is_aggregate: bool,
        /// Whether it is acknowledged alone, not as a block.
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
    /// The sequence number of the first bit.
    pub start: u64,
    /// Which of the MPDUs from `start` on have come.
    pub has: Vec<bool>,
}

/// What a trigger frame asks for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum PpduTrigger {
    /// Data.
    Basic,
    /// Block acknowledgements.
    BlockAcks,
    /// CTS.
    Cts,
}

/// A station that a trigger frame asks.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct PpduTriggered {
    /// Number of its node.
    pub node: u16,
    /// The RU allocation field of 8 bits.
    pub ru_allocation: u8,
    /// How it is to answer.
    pub mcs: u8,
    /// Spatial streams.
    pub streams: u8,
    /// Traffic identifier.
    pub tid: u8,
    /// The first sequence number that is asked about.
    pub start: u64,
}

/// An MPDU of a PPDU.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct PpduMpdu {
    /// Its sequence number; frames have its lower 12 bits.
    pub number: u64,
    /// How often it was sent before.
    pub attempt: u32,
    /// The packet in it.
    pub parcel: Parcel,
}
