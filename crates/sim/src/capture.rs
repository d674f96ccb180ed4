//! The packets at the senders' interfaces, for captures.

use crossfade_core::SimTime;
use crossfade_link::{Parcel, Ppdu};
use crossfade_transport::{Ack, Segment};

/// Content of a packet that enters a medium with an air.
#[derive(Clone, Copy, Debug)]
pub enum Entering<'a> {
    /// A segment of a flow, or a datagram of one that has no feedback.
    Segment(u32, &'a Segment),
    /// An acknowledgement of a flow.
    Ack(u32, &'a Ack),
    /// A packet from outside.
    Outside(Parcel),
}

/// Sees every packet that a sender gives to the network or gets from it, with all its fields.
///
/// Like [`crossfade_core::Observer`] it costs nothing when absent: the engine is generic over it.
pub trait Capture {
    /// Whether the capture records packets; where false, an engine skips the calls.
    const ENABLED: bool = true;

    /// Whether the capture records PPDUs of media with an air.
    const HEARS: bool = false;

    /// The sender of `flow` sends `segment` in a packet of `bytes`.
    fn segment(&mut self, now: SimTime, flow: u32, bytes: u32, segment: &Segment);

    /// `flow` of [`crate::Arrivals`] begins, with `bytes` of data to send.
    fn arrival(&mut self, _flow: u32, _bytes: u64) {}

    /// An acknowledgement in a packet of `bytes` reaches the sender of `flow`.
    fn ack(&mut self, now: SimTime, flow: u32, bytes: u32, ack: &Ack);

    /// A source without feedback sends datagram number `seq` in a packet of `bytes`.
    fn datagram(&mut self, now: SimTime, flow: u32, bytes: u32, seq: u64);

    /// A packet enters a medium with an air, whose PPDUs name it `parcel` until it leaves.
    fn enters(&mut self, _now: SimTime, _parcel: Parcel, _packet: Entering<'_>) {}

    /// Takes a PPDU (physical-layer frame) that was in the air. The PPDUs of a medium come in order of time, and the
    /// first one with a packet comes before the packet leaves.
    fn ppdu(&mut self, _ppdu: &Ppdu) {}
}

/// A simulation without a capture.
impl Capture for () {
    const ENABLED: bool = false;

    fn segment(&mut self, _now: SimTime, _flow: u32, _bytes: u32, _segment: &Segment) {}

    fn ack(&mut self, _now: SimTime, _flow: u32, _bytes: u32, _ack: &Ack) {}

    fn datagram(&mut self, _now: SimTime, _flow: u32, _bytes: u32, _seq: u64) {}
}

impl<C: Capture> Capture for &mut C {
    const ENABLED: bool = C::ENABLED;
    const HEARS: bool = C::HEARS;

    fn arrival(&mut self, flow: u32, bytes: u64) {
        (**self).arrival(flow, bytes);
    }

    fn segment(&mut self, now: SimTime, flow: u32, bytes: u32, segment: &Segment) {
        (**self).segment(now, flow, bytes, segment);
    }

    fn ack(&mut self, now: SimTime, flow: u32, bytes: u32, ack: &Ack) {
        (**self).ack(now, flow, bytes, ack);
    }

    fn datagram(&mut self, now: SimTime, flow: u32, bytes: u32, seq: u64) {
        (**self).datagram(now, flow, bytes, seq);
    }
    fn enters(&mut self, now: SimTime, parcel: Parcel, packet: Entering<'_>) {
        (**self).enters(now, parcel, packet);
    }

    fn ppdu(&mut self, ppdu: &Ppdu) {
        (**self).ppdu(ppdu);
    }
}
