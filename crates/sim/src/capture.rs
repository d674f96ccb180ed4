//! Interface to record the packets at the senders' interfaces, for capture files.

use crossfade_core::SimTime;
use crossfade_link::{Parcel, Ppdu};
use crossfade_transport::{Ack, Segment};
use std::sync::{Mutex, MutexGuard, PoisonError};

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
pub trait Capture {
    /// True if the capture records PPDUs (physical-layer frames) of wireless media.
    fn hears(&self) -> bool {
        false
    }

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

/// Capture that is read while the run goes on, between two steps of it.
impl<C: Capture> Capture for &Mutex<C> {
    fn hears(&self) -> bool {
        locked(self).hears()
    }

    fn segment(&mut self, now: SimTime, flow: u32, bytes: u32, segment: &Segment) {
        locked(self).segment(now, flow, bytes, segment);
    }

    fn arrival(&mut self, flow: u32, bytes: u64) {
        locked(self).arrival(flow, bytes);
    }

    fn ack(&mut self, now: SimTime, flow: u32, bytes: u32, ack: &Ack) {
        locked(self).ack(now, flow, bytes, ack);
    }

    fn datagram(&mut self, now: SimTime, flow: u32, bytes: u32, seq: u64) {
        locked(self).datagram(now, flow, bytes, seq);
    }

    fn enters(&mut self, now: SimTime, parcel: Parcel, packet: Entering<'_>) {
        locked(self).enters(now, parcel, packet);
    }

    fn ppdu(&mut self, ppdu: &Ppdu) {
        locked(self).ppdu(ppdu);
    }
}

fn locked<C>(capture: &Mutex<C>) -> MutexGuard<'_, C> {
    capture.lock().unwrap_or_else(PoisonError::into_inner)
}
