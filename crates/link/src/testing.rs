//! What the tests of links share.

use crate::link::Packet;
use crossfade_channel::LossProcess;
use crossfade_core::SimTime;

/// A packet that remembers how it was made.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default)]
pub(crate) struct Plain {
    pub(crate) id: u32,
    pub(crate) bytes: u32,
    pub(crate) flow: u32,
    pub(crate) ecn_capable: bool,
    pub(crate) ce: bool,
}

impl Plain {
    pub(crate) fn new(id: u32, bytes: u32) -> Self {
        Self { id, bytes, ..Self::default() }
    }
}

impl Packet for Plain {
    fn bytes(&self) -> u32 {
        self.bytes
    }

    fn flow(&self) -> u32 {
        self.flow
    }

    fn is_ecn_capable(&self) -> bool {
        self.ecn_capable
    }

    fn mark_ce(&mut self) {
        assert!(self.ecn_capable, "marked a packet that does not know marks");
        self.ce = true;
    }
}

/// Loses every transmission whose number is a multiple of three, and checks what it is told.
pub(crate) struct EveryThird(pub(crate) Vec<(SimTime, u64)>);

impl LossProcess for EveryThird {
    fn lost(&mut self, now: SimTime, transmission: u64) -> bool {
        self.0.push((now, transmission));
        assert!(self.0.is_sorted());
        transmission.is_multiple_of(3)
    }
}
