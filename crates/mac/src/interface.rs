//! Packets of one node: the one being sent, the queue behind it, and a record for the detection of duplicates.

use crossfade_core::SimTime;
use crossfade_link::{Parcel, Port};
use std::collections::VecDeque;

/// Packet in a node's queue.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Packet {
    pub(crate) parcel: Parcel,
    pub(crate) to: Port,
    /// Time at which the packet joined this queue.
    pub(crate) since: SimTime,
}

/// Packet that the station is sending.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Current {
    pub(crate) packet: Packet,
    pub(crate) sequence: u64,
    /// True once the next node has received the packet, even if the ACK was lost.
    pub(crate) forwarded: bool,
}

/// Queue of a node, and the packet being sent.
#[derive(Debug, Default)]
pub(crate) struct Interface {
    pub(crate) current: Option<Current>,
    pub(crate) queue: VecDeque<Packet>,
    sequence: u64,
    /// Sequence number of the last packet from each neighbour that has sent one.
    last: Vec<(u32, u64)>,
}

impl Interface {
    /// Takes the first packet of the queue as the one being sent; `None` if the queue is empty.
    pub(crate) fn take_next(&mut self) -> Option<Current> {
        let packet = self.queue.pop_front()?;
        self.sequence += 1;
        self.current = Some(Current { packet, sequence: self.sequence, forwarded: false });
        self.current
    }

    /// Records packet `sequence` of `from`; false if it is a duplicate (IEEE 802.11-1999, 9.2.9).
    pub(crate) fn is_new(&mut self, from: u32, sequence: u64) -> bool {
        if let Some((_, last)) = self.last.iter_mut().find(|(node, _)| *node == from) {
            return std::mem::replace(last, sequence) != sequence;
        }
        self.last.push((from, sequence));
        true
    }
}
