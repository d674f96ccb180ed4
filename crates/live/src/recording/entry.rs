//! Entries of a journal: the events between a medium and its pump.

use crossfade_core::SimTime;
use crossfade_link::{Departure, Ecn, Parcel, Push};

/// Size of an encoded entry in bytes.
pub(super) const ENTRY: usize = 24;

/// Fate of a packet that left a medium.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Fate {
    /// The packet came out of the medium.
    Arrived,
    /// The channel lost the packet.
    Lost,
    /// A queue dropped the packet.
    QueueDrop,
}

impl From<Departure> for Fate {
    fn from(departure: Departure) -> Self {
        match departure {
            Departure::Arrived(_) => Self::Arrived,
            Departure::Lost(_) => Self::Lost,
            Departure::QueueDrop(_) => Self::QueueDrop,
        }
    }
}

/// Entry of a journal: an event between a medium and its pump.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Entry {
    /// A packet was pushed into the medium.
    Arrival {
        /// Time at which the packet was pushed.
        at: SimTime,
        /// Port of the medium at which the packet entered.
        port: u8,
        /// Identity, size and flow of the packet.
        parcel: Parcel,
        /// Response of the medium: whether it accepted, lost or dropped the packet.
        fate: Push,
    },
    /// A packet left the medium.
    Departure {
        /// Departure time by the medium, which may be earlier than the handover.
        at: SimTime,
        /// Time of the handover to the receiving host; equal to `at` if there was no handover.
        handed_over: SimTime,
        /// Port of the medium at which the packet left.
        port: u8,
        /// Identity of the packet, as in its [`Entry::Arrival`].
        id: u32,
        /// Fate of the packet: it came out, or was lost or dropped.
        fate: Fate,
        /// True if the packet was marked "congestion experienced" (ECN).
        is_ce: bool,
    },
    /// The pump has stopped.
    End {
        /// Time at which the pump stopped.
        at: SimTime,
    },
}

impl Entry {
    /// Time of the entry by the medium's clock.
    pub fn at(&self) -> SimTime {
        let (Self::Arrival { at, .. } | Self::Departure { at, .. } | Self::End { at }) = *self;
        at
    }

    /// Encodes the entry: flags, port, lane, a zero byte, id and time, then twice 32 bits or once 64 bits, in
    /// little-endian order.
    pub(super) fn encode(self, lane: u8) -> [u8; ENTRY] {
        let (tag, port, id, at, rest): (u8, u8, u32, SimTime, u64) = match self {
            Self::Arrival { at, port, parcel, fate } => {
                let fate = match fate {
                    Push::Accepted => 0,
                    Push::Lost => 1,
                    Push::QueueDrop => 2,
                };
                let flags = fate << 2 | (parcel.ecn() as u8) << 4 | u8::from(parcel.is_spared()) << 6;
                (flags, port, parcel.id(), at, u64::from(parcel.flow()) << 32 | u64::from(parcel.bytes()))
            }
            Self::Departure { at, handed_over, port, id, fate, is_ce } => {
                let flags = 1 | (fate as u8) << 2 | u8::from(is_ce) << 4;
                (flags, port, id, at, handed_over.as_nanos())
            }
            Self::End { at } => (2, 0, 0, at, 0),
        };
        let mut bytes = [0; ENTRY];
        (bytes[0], bytes[1], bytes[2]) = (tag, port, lane);
        bytes[4..8].copy_from_slice(&id.to_le_bytes());
        bytes[8..16].copy_from_slice(&at.as_nanos().to_le_bytes());
        bytes[16..24].copy_from_slice(&rest.to_le_bytes());
        bytes
    }

    /// Decodes an entry and the lane of its pump; `None` for invalid bytes.
    pub(super) fn decode(bytes: &[u8; ENTRY]) -> Option<(u8, Self)> {
        let [flags, port, lane, ..] = *bytes;
        let id = u32::from_le_bytes(bytes[4..8].try_into().ok()?);
        let at = SimTime::from_nanos(u64::from_le_bytes(bytes[8..16].try_into().ok()?));
        let rest = u64::from_le_bytes(bytes[16..24].try_into().ok()?);
        let which = flags >> 2 & 3;
        let entry = match flags & 3 {
            0 => {
                let parcel =
                    Parcel::new(id, (rest >> 32) as u32, rest as u32).with_ecn(Ecn::from_bits(flags >> 4));
                let parcel = if flags >> 6 & 1 == 1 { parcel.spared() } else { parcel };
                let fate = *[Push::Accepted, Push::Lost, Push::QueueDrop].get(usize::from(which))?;
                Self::Arrival { at, port, parcel, fate }
            }
            1 => {
                let fate = *[Fate::Arrived, Fate::Lost, Fate::QueueDrop].get(usize::from(which))?;
                let handed_over = SimTime::from_nanos(rest);
                Self::Departure { at, handed_over, port, id, fate, is_ce: flags >> 4 & 1 == 1 }
            }
            2 => Self::End { at },
            _ => return None,
        };
        Some((lane, entry))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn entries_come_back(
            at: u64, port: u8, id: u32, flow: u32, bytes: u32, which in 0_usize..3, ecn in 0_u8..4, flag: bool,
            lane: u8, later: u64,
        ) {
            let at = SimTime::from_nanos(at);
            let parcel = Parcel::new(id, flow, bytes).with_ecn(Ecn::from_bits(ecn));
            let parcel = if flag { parcel.spared() } else { parcel };
            let fate = [Push::Accepted, Push::Lost, Push::QueueDrop][which];
            let left = [Fate::Arrived, Fate::Lost, Fate::QueueDrop][which];
            let handed_over = SimTime::from_nanos(later);
            for entry in [
                Entry::Arrival { at, port, parcel, fate },
                Entry::Departure { at, handed_over, port, id, fate: left, is_ce: flag },
                Entry::End { at },
            ] {
                prop_assert_eq!(Entry::decode(&entry.encode(lane)), Some((lane, entry)));
            }
        }

        #[test]
        fn any_bytes_are_an_entry_or_none(bytes: [u8; ENTRY]) {
            Entry::decode(&bytes);
        }
    }
}
