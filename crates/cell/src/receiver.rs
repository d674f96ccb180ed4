//! The receiver of the cell's ARQ: received intervals of bits become a stream, and packets leave in order.

use crossfade_core::SimTime;
use crossfade_link::Parcel;
use std::collections::VecDeque;

/// A packet with its place in the stream of bits.
#[derive(Clone, Copy, Debug)]
pub struct Packet {
    /// Place of the packet's first bit in the stream.
    pub start: u64,
    /// The bit after the packet's last one.
    pub end: u64,
    /// The packet itself.
    pub parcel: Parcel,
    /// Arrival time of the packet at the queue.
    pub since: SimTime,
    /// Whether bits of it were given up.
    pub is_lost: bool,
}

/// Bits of a stream that have arrived or were given up.
#[derive(Clone, Debug, Default)]
pub struct Receiver {
    /// All bits before this one have arrived or were given up.
    until: u64,
    /// Ranges received beyond a gap, in order, with a gap before each.
    islands: Vec<(u64, u64)>,
}

impl Receiver {
    /// The first bit that is missing.
    pub fn until(&self) -> u64 {
        self.until
    }

    /// Marks the bits from `start` to `end` as arrived or given up, which happens once for each bit.
    ///
    /// # Panics
    /// With debug assertions, if some of them were settled before.
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

/// Marks the packets that have bits between `start` and `end`.
pub(crate) fn lose(packets: &mut VecDeque<Packet>, start: u64, end: u64) {
    let first = packets.partition_point(|packet| packet.end <= start);
    for packet in packets.iter_mut().skip(first).take_while(|packet| packet.start < end) {
        packet.is_lost = true;
    }
}
