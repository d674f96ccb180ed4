//! Reassembly of packets from frames, on the link's own records.

use super::{Delivery, Sdu};
use crate::parcel::Parcel;
use crossfade_core::SimTime;
use std::collections::VecDeque;
use std::ops::Range;

/// A packet of which at least one frame was made, and some frame is neither received nor lost.
struct Transit {
    /// The packet; `None` once it has left the link.
    packet: Option<Parcel>,
    first: Sdu,
    last: Sdu,
    /// Time of the first transmission of the packet's last frame.
    last_sent: SimTime,
    /// True if all frames of the packet were made.
    is_complete: bool,
    /// Number of the packet's frames that are neither received nor lost.
    open: u32,
    is_lost: bool,
}

/// Maps frames to packets and tracks the fates of both.
///
/// This replaces the framing and checksums by which the receiver of a real link finds the borders of packets and the
/// packets with missing frames. A packet's fate is reported when the fate of its last frame is known.
pub(super) struct Reassembly {
    packets: VecDeque<Transit>,
    /// True if the receiver delivers frames in order.
    in_order: bool,
    /// Number of the next frame to be made.
    made: Sdu,
    /// Number of the next frame whose fate is unknown, if the receiver delivers frames in order.
    next: Sdu,
    open: u64,
}

/// Result of one delivery of the receiver.
#[derive(Default)]
pub(super) struct Accounted {
    pub(super) frames_lost: u64,
    /// Frames whose fate is now known.
    pub(super) settled: Range<Sdu>,
    /// True if the fate of the frame was known before, because sequence numbers were ambiguous.
    pub(super) is_stray: bool,
}

impl Reassembly {
    pub(super) fn new(in_order: bool) -> Self {
        Self { packets: VecDeque::new(), in_order, made: 0, next: 0, open: 0 }
    }

    /// Begins a packet in the frame that is being made.
    pub(super) fn begin(&mut self, packet: Parcel) {
        let frame = self.made;
        let (packet, last_sent) = (Some(packet), SimTime::ZERO);
        self.packets.push_back(Transit {
            packet,
            first: frame,
            last: frame,
            last_sent,
            is_complete: false,
            open: 0,
            is_lost: false,
        });
    }

    /// Adds a part of the last packet to the frame that is being made.
    #[inline]
    pub(super) fn add_frame(&mut self, now: SimTime, is_complete: bool) {
        let packet = self.packets.back_mut().expect("a packet has begun");
        packet.last = self.made;
        packet.last_sent = now;
        packet.is_complete = is_complete;
        packet.open += 1;
    }

    /// Completes the frame that is being made.
    #[inline]
    pub(super) fn end_frame(&mut self) {
        self.made += 1;
        self.open += 1;
    }

    /// Number of the next frame to be made.
    #[inline]
    pub(super) fn next_sdu(&self) -> Sdu {
        self.made
    }

    /// True if the fates of all frames made are known.
    #[inline]
    pub(super) fn is_settled(&self) -> bool {
        self.open == 0
    }

    /// Packets in transit, each with the time of the first transmission of its last frame, or `None` if that frame was
    /// not made yet.
    pub(super) fn packets(&self) -> impl Iterator<Item = (Parcel, Option<SimTime>)> {
        let one =
            |transit: &Transit| Some((transit.packet?, transit.is_complete.then_some(transit.last_sent)));
        self.packets.iter().filter_map(one)
    }

    /// Time of the first transmission of the oldest packet's last frame; `None` before that.
    pub(super) fn oldest_was_sent(&self) -> Option<SimTime> {
        self.packets.front().filter(|packet| packet.is_complete).map(|packet| packet.last_sent)
    }

    /// Takes a delivery of the receiver. Calls `leave` for every packet whose fate is now known; the second argument is
    /// true if it is lost.
    #[inline]
    pub(super) fn on_delivery(
        &mut self,
        delivery: Delivery,
        mut leave: impl FnMut(Parcel, bool),
    ) -> Accounted {
        let mut accounted = Accounted::default();
        match delivery {
            Delivery::Frame { sdu, .. } => {
                if self.in_order {
                    if sdu < self.next || sdu >= self.made {
                        accounted.is_stray = true;
                        return accounted;
                    }
                    // The receiver did not notice that it missed a whole cycle of sequence numbers.
                    accounted.frames_lost = sdu - self.next;
                    (self.next..sdu).for_each(|frame| self.account(frame, true, &mut leave));
                    self.next = sdu + 1;
                }
                self.account(sdu, false, &mut leave);
                accounted.settled = if self.in_order { 0..self.next } else { sdu..sdu + 1 };
            }
            Delivery::Lost { first, frames } => {
                let first = if self.in_order { self.next } else { first };
                let end = first.saturating_add(frames).min(self.made);
                accounted.frames_lost = end.saturating_sub(first);
                accounted.settled = first..end;
                (first..end).for_each(|frame| self.account(frame, true, &mut leave));
                self.next = self.next.max(end);
            }
        }
        accounted
    }

    #[inline]
    fn account(&mut self, frame: Sdu, is_lost: bool, leave: &mut impl FnMut(Parcel, bool)) {
        self.open -= 1;
        let mut place = match self.packets.front() {
            Some(head) if head.last >= frame => 0,
            _ => self.packets.partition_point(|packet| packet.last < frame),
        };
        while let Some(packet) = self.packets.get_mut(place).filter(|packet| packet.first <= frame) {
            packet.open -= 1;
            packet.is_lost |= is_lost;
            if packet.open == 0
                && packet.is_complete
                && let Some(inside) = packet.packet.take()
            {
                leave(inside, packet.is_lost);
            }
            place += 1;
        }
        while self.packets.front().is_some_and(|packet| packet.packet.is_none()) {
            self.packets.pop_front();
        }
    }
}
