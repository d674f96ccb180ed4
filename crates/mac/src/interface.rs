//! The packets of one node: the one being sent, those that wait, and what came before.

use crossfade_core::SimTime;
use crossfade_link::{Parcel, Port};
use std::collections::VecDeque;

/// A packet on its way.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Packet {
    pub(crate) parcel: Parcel,
    pub(crate) to: Port,
    /// Since when it has been in this queue.
    pub(crate) since: SimTime,
}

/// The packet that the station has.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Current {
    pub(crate) packet: Packet,
    pub(crate) sequence: u64,
    /// The next node has it, whether or not its ACK came.
    pub(crate) forwarded: bool,
}

/// A node's interface.
#[derive(Debug, Default)]
pub(crate) struct Interface {
    pub(crate) current: Option<Current>,
    pub(crate) queue: VecDeque<Packet>,
    sequence: u64,
    /// The last packet of each neighbour that ever sent one.
    last: Vec<(u32, u64)>,
}

impl Interface {
    /// Makes the first packet that waits the current one.
    pub(crate) fn take_next(&mut self) -> Option<Current> {
        let packet = self.queue.pop_front()?;
        self.sequence += 1;
        self.current = Some(Current { packet, sequence: self.sequence, forwarded: false });
        self.current
    }

    /// Whether packet `sequence` of `from` comes for the first time (IEEE 802.11-1999, 9.2.9).
    pub(crate) fn is_new(&mut self, from: u32, sequence: u64) -> bool {
        if let Some((_, last)) = self.last.iter_mut().find(|(node, _)| *node == from) {
            return std::mem::replace(last, sequence) != sequence;
        }
        self.last.push((from, sequence));
        true
    }
}
