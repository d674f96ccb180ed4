//! Receiver of the cell's ARQ: joins received intervals of bits to a stream, and releases packets in order.

use crossfade_core::SimTime;
use crossfade_link::Parcel;
use std::collections::VecDeque;

/// Packet with its place in its user's stream of bits.
#[derive(Clone, Copy, Debug)]
pub struct Packet {
    /// Place in the stream of the packet's first bit.
    pub start: u64,
    /// Place in the stream of the bit after the packet's last one.
    pub end: u64,
    /// The packet as it was handed to the link.
    pub parcel: Parcel,
    /// Arrival time of the packet at the sender's queue.
    pub since: SimTime,
    /// True if some of the packet's bits were given up.
    pub is_lost: bool,
}

/// Bits of a stream that are settled: they have arrived, or were given up by the ARQ.
#[derive(Clone, Debug, Default)]
pub struct Receiver {
    /// Place of the first unsettled bit.
    until: u64,
    /// Settled ranges beyond the first unsettled bit, in order and with a gap before each.
    islands: Vec<(u64, u64)>,
}

impl Receiver {
    /// Place of the first unsettled bit; all bits before it have arrived or were given up.
    pub fn until(&self) -> u64 {
        self.until
    }

    /// Marks the bits from `start` up to but not including `end` as settled, once for each bit.
    ///
    /// # Panics
    /// With debug assertions, if some of the bits were settled before.
    pub fn settle(&mut self, start: u64, end: u64) {
        debug_assert!(start < end && start >= self.until, "{start}..{end} settled again");
        if start == self.until && self.islands.is_empty() {
            self.until = end;
            return;
        }
        let place = self.islands.partition_point(|island| island.0 < start);
        debug_assert!(place == 0 || self.islands[place - 1].1 <= start, "{start}..{end} settled again");
        debug_assert!(
            self.islands.get(place).is_none_or(|island| end <= island.0),
            "{start}..{end} settled again"
        );
        self.islands.insert(place, (start, end));
        let joined = self.islands.iter().take_while(|island| {
            let joins = island.0 == self.until;
            if joins {
                self.until = island.1;
            }
            joins
        });
        let joined = joined.count();
        self.islands.drain(..joined);
    }
}

/// Marks the packets with bits from `start` up to but not including `end` as lost.
pub(crate) fn lose(packets: &mut VecDeque<Packet>, start: u64, end: u64) {
    let first = packets.partition_point(|packet| packet.end <= start);
    for packet in packets.iter_mut().skip(first).take_while(|packet| packet.start < end) {
        packet.is_lost = true;
    }
}
