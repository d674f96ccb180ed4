//! Interface to record the packets at the senders' interfaces, for capture files.

use crossfade_core::SimTime;
use crossfade_link::{Parcel, Ppdu};
use crossfade_transport::{Ack, Segment};

/// Content of a packet that enters a medium whose frames in the air are recorded.
#[derive(Clone, Copy, Debug)]
pub enum Entering<'a> {
    /// A segment of the flow with this number, or a datagram of a flow without feedback.
    Segment(u32, &'a Segment),
    /// An acknowledgement of the flow with this number.
    Ack(u32, &'a Ack),
    /// A packet from outside the simulation.
    Outside(Parcel),
}

/// Receiver of every packet that a sender gives to the network or gets from it, with all its fields.
///
/// Like [`crossfade_core::Observer`] it costs nothing when absent: the engine is generic over it.
pub trait Capture {
    /// True if the capture records packets; if false, an engine skips the calls.
    const ENABLED: bool = true;

    /// True if the capture records PPDUs (physical-layer frames) of wireless media.
    const HEARS: bool = false;

    /// Records that the sender of `flow` sends `segment` in a packet of `bytes` bytes at `now`.
    fn segment(&mut self, now: SimTime, flow: u32, bytes: u32, segment: &Segment);

    /// Records that `flow`, one of [`crate::Arrivals`], begins with `bytes` bytes of data to send.
    fn arrival(&mut self, _flow: u32, _bytes: u64) {}

    /// Records that acknowledgement `ack`, in a packet of `bytes` bytes, reaches the sender of `flow` at `now`.
    fn ack(&mut self, now: SimTime, flow: u32, bytes: u32, ack: &Ack);

    /// Records that a source without feedback sends datagram number `seq` in a packet of `bytes` bytes at `now`.
    fn datagram(&mut self, now: SimTime, flow: u32, bytes: u32, seq: u64);

    /// Records that `packet` enters a wireless medium, whose PPDUs name it `parcel` until it leaves.
    fn enters(&mut self, _now: SimTime, _parcel: Parcel, _packet: Entering<'_>) {}

    /// Records a PPDU (physical-layer frame) that was in the air. The PPDUs of a medium come in order of time, and the
    /// first one with a packet comes before the packet leaves.
    fn ppdu(&mut self, _ppdu: &Ppdu) {}
}

/// No capture: nothing is recorded.
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
