//! A packet as a link sees it.

use crate::header;
use crossfade_link::Packet;

/// What a link is given of an IP packet: its length and where it belongs. The bytes stay with whoever pushed
/// it, under an id.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Datagram {
    id: u32,
    bytes: u32,
    flow: u32,
    is_ecn_capable: bool,
    is_marked: bool,
}

impl Datagram {
    /// The packet with these bytes, from the IP header on.
    pub(crate) fn new(id: u32, packet: &[u8]) -> Self {
        Self {
            id,
            bytes: packet.len() as u32,
            flow: header::flow(packet),
            is_ecn_capable: header::is_ecn_capable(packet),
            is_marked: false,
        }
    }

    /// Names its bytes.
    pub(crate) fn id(&self) -> u32 {
        self.id
    }

    /// Whether a queue has marked it "congestion experienced".
    pub(crate) fn is_marked(&self) -> bool {
        self.is_marked
    }
}

impl Packet for Datagram {
    fn bytes(&self) -> u32 {
        self.bytes
    }

    fn flow(&self) -> u32 {
        self.flow
    }

    fn is_ecn_capable(&self) -> bool {
        self.is_ecn_capable
    }

    fn mark_ce(&mut self) {
        self.is_marked = true;
    }
}
