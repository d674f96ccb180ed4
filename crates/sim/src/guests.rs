//! Packets from outside the simulation while they are in a simulated network.

use crate::packets::Packets;
use crate::topology::Passage;
use crossfade_link::{Departure, LinkStatistics, Parcel, Port};
use std::collections::VecDeque;

/// A packet from outside that is in the simulated network.
#[derive(Clone, Copy)]
pub(crate) struct Guest {
    /// The packet as it entered.
    pub(crate) parcel: Parcel,
    pub(crate) to: Port,
    pub(crate) route: u32,
}

/// Packets from outside that are in the simulated network, or have left it.
pub(crate) struct Guests {
    pub(crate) passages: Vec<Passage>,
    pub(crate) packets: Packets<Guest>,
    /// Packets that have left the network, with their outer ports, in order.
    pub(crate) left: VecDeque<(Port, Departure)>,
    pub(crate) statistics: LinkStatistics,
}

impl Guests {
    pub(crate) fn new(passages: Vec<Passage>) -> Self {
        let statistics = LinkStatistics::default();
        Self { passages, packets: Packets::new(), left: VecDeque::new(), statistics }
    }

    /// Number of ports to the outside.
    pub(crate) fn ports(&self) -> Port {
        self.passages.iter().map(|passage| passage.from.max(passage.to) + 1).max().unwrap_or(0)
    }

    /// Takes the next packet that has left the network.
    pub(crate) fn poll(&mut self) -> Option<(Port, Departure)> {
        self.left.pop_front()
    }

    /// True if a packet has left the network and was not taken yet.
    pub(crate) fn has_left(&self) -> bool {
        !self.left.is_empty()
    }
}
