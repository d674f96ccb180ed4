//! Storage of the packets in the network.
//!
//! The content of a packet stays in one place while a small [`Parcel`] travels through the queues. The identity of the
//! parcel is made of that place and the kind of content; the parcel's flow is an index of the engine's table of flows.

use crossfade_core::SimTime;
use crossfade_link::Parcel;
use crossfade_transport::Segment;
use std::ops::{Index, IndexMut};

/// Kind of the content for which a parcel stands.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Content {
    Data,
    Ack,
    /// A packet from outside the simulation.
    Outside,
}

impl Content {
    /// Position of the kind of content in the identity of a parcel, in bits.
    const SHIFT: u32 = 30;

    /// Identity of the parcel whose content is of this kind and stored at `place`.
    #[inline]
    pub(crate) const fn name(self, place: u32) -> u32 {
        place | (self as u32) << Self::SHIFT
    }

    /// Kind of the content of `parcel`.
    pub(crate) fn of(parcel: Parcel) -> Self {
        match parcel.id() >> Self::SHIFT {
            0 => Self::Data,
            1 => Self::Ack,
            _ => Self::Outside,
        }
    }
}

/// Place at which the content of `parcel` is stored.
#[inline]
fn place(parcel: Parcel) -> u32 {
    parcel.id() & ((1 << Content::SHIFT) - 1)
}

/// Contents of the packets in the network.
pub(crate) struct Packets<P> {
    places: Vec<Place<P>>,
    /// First place of the list of free places; it links them by their own `free`.
    free: u32,
}

struct Place<P> {
    packet: P,
    /// Next place in the list of free places, if this place is free.
    free: u32,
}

impl<P> Packets<P> {
    pub(crate) fn new() -> Self {
        Self { places: Vec::new(), free: u32::MAX }
    }

    /// Stores the content of a packet; returns its place.
    #[inline]
    pub(crate) fn keep(&mut self, packet: P) -> u32 {
        let at = self.free;
        if let Some(place) = self.places.get_mut(at as usize) {
            self.free = place.free;
            place.packet = packet;
            return at;
        }
        self.places.push(Place { packet, free: u32::MAX });
        self.places.len() as u32 - 1
    }

    /// Takes the content of a packet that has left the network.
    #[inline]
    pub(crate) fn forget(&mut self, parcel: Parcel) {
        let place = place(parcel);
        self.places[place as usize].free = self.free;
        self.free = place;
    }
}

impl<P> Index<Parcel> for Packets<P> {
    type Output = P;

    #[inline]
    fn index(&self, parcel: Parcel) -> &P {
        &self.places[place(parcel) as usize].packet
    }
}

impl<P> IndexMut<Parcel> for Packets<P> {
    #[inline]
    fn index_mut(&mut self, parcel: Parcel) -> &mut P {
        &mut self.places[place(parcel) as usize].packet
    }
}

/// A segment packed without padding between its fields: a copy with padding reads words that were written in pieces,
/// which stalls the processor.
#[derive(Clone, Copy)]
pub(crate) struct Data {
    pub(crate) seq: u64,
    timestamp: SimTime,
    echo: SimTime,
    /// Flags of the segment and, from bit [`Self::NUMBER`] on, its packet number.
    flags: u64,
}

impl Data {
    /// Flag: the ECN mark of a queue has been counted.
    const COUNTED: u64 = 1 << 5;
    const NUMBER: u32 = 6;

    /// Sets flag `COUNTED`; returns true if the mark is seen for the first time.
    pub(crate) fn count_mark(&mut self) -> bool {
        let is_new = self.flags & Self::COUNTED == 0;
        self.flags |= Self::COUNTED;
        is_new
    }
}

impl From<Segment> for Data {
    #[inline]
    fn from(segment: Segment) -> Self {
        let Segment { seq, number, retransmission, timestamp, echo, ecn_capable, l4s, cwr, push } = segment;
        let flags = [retransmission, ecn_capable, cwr, push, l4s];
        let number = number << Self::NUMBER;
        let flags = (0..).zip(flags).fold(number, |flags, (bit, flag)| flags | u64::from(flag) << bit);
        Self { seq, timestamp, echo, flags }
    }
}

impl From<Data> for Segment {
    #[inline]
    fn from(data: Data) -> Self {
        let Data { seq, timestamp, echo, flags } = data;
        let number = flags >> Data::NUMBER;
        let [retransmission, ecn_capable, cwr, push, l4s] = [1, 2, 4, 8, 16].map(|flag| flags & flag != 0);
        Self { seq, number, retransmission, timestamp, echo, ecn_capable, l4s, cwr, push }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_mark_is_counted_once_and_changes_nothing_that_was_sent() {
        for bits in 0..32_u8 {
            let [retransmission, ecn_capable, l4s, cwr, push] = [1, 2, 4, 8, 16].map(|bit| bits & bit != 0);
            let [timestamp, echo] = [3, 5].map(SimTime::from_micros);
            let segment =
                Segment { seq: 7, number: 9, retransmission, timestamp, echo, ecn_capable, l4s, cwr, push };
            let mut data = Data::from(segment);
            assert_eq!([data.count_mark(), data.count_mark()], [true, false]);
            assert_eq!(Segment::from(data), segment);
        }
    }
}
