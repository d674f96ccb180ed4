//! Interface of links to the protocols and engines above.

use crate::event::LinkEvent;
use crate::parcel::Parcel;
use crate::report::LinkReport;
use crossfade_core::SimTime;

/// A one-way link, as an engine and the protocols above it see it.
///
/// An engine pushes packets, asks for the time of the next event, and takes out packets that have left. A simulation
/// drives the link from its event queue, a live emulator from a timer.
///
/// Every packet leaves a link exactly once: [`push`](Link::push) refuses it, or `push` tells that it will be lost, or
/// [`advance`](Link::advance) returns it. `advance` is called until it returns `None`; a returned packet may be pushed
/// into other links, or into this one, before the next call. An event need not be a departure. The internal timers of a
/// link (the end of a transmission, of a frame, of a wait for feedback) are events, too, after which `advance` may
/// return no packet, or, when a lost frame has been repaired, many packets.
///
/// Every method is required, so the compiler reports a wrapper that forgets to forward one. A
/// [`Decorator`](crate::Decorator) forwards by default.
pub trait Link {
    /// Takes a packet at time `now`, and tells its fate as far as it is known.
    fn push(&mut self, now: SimTime, parcel: Parcel) -> Push;

    /// Time at which [`advance`](Link::advance) has something to do next; `None` if nothing happens before the next
    /// push.
    ///
    /// A push, even a refused one, can make the event earlier, but not earlier than the push.
    fn next_event(&self) -> Option<SimTime>;

    /// Returns the next packet that has left by `now`, in order of time; `None` if no further packet has left.
    fn advance(&mut self, now: SimTime) -> Option<Departure>;

    /// Statistics at `now`, counted since the link was created.
    fn report(&mut self, now: SimTime) -> LinkReport;

    /// Turns the keeping of [link events](LinkEvent) on or off; at first it is off.
    fn trace(&mut self, keep: bool);

    /// Removes and returns the earliest link event that is kept, from all parts of the link.
    fn next_trace(&mut self) -> Option<LinkEvent>;
}

/// Result of pushing a packet into a link, as far as the packet's fate is known at once.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Push {
    /// The packet is in the link: [`Link::advance`] will tell its fate.
    Accepted,
    /// The packet is transmitted, and the channel loses it.
    Lost,
    /// The queue dropped the packet at once.
    QueueDrop,
}

/// Way in which a packet left a link that had accepted it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Departure {
    /// The packet came out at the far end.
    Arrived(Parcel),
    /// The channel lost the packet.
    Lost(Parcel),
    /// The queue dropped the packet after it had waited in the queue.
    QueueDrop(Parcel),
}

impl Departure {
    /// The packet that left the link.
    pub fn parcel(self) -> Parcel {
        let (Self::Arrived(parcel) | Self::Lost(parcel) | Self::QueueDrop(parcel)) = self;
        parcel
    }

    /// Replaces the packet of the departure by the result of `change`; the way of leaving stays.
    #[must_use]
    pub fn map(self, change: impl FnOnce(Parcel) -> Parcel) -> Self {
        match self {
            Self::Arrived(parcel) => Self::Arrived(change(parcel)),
            Self::Lost(parcel) => Self::Lost(change(parcel)),
            Self::QueueDrop(parcel) => Self::QueueDrop(change(parcel)),
        }
    }
}

impl<L: Link + ?Sized> Link for Box<L> {
    fn push(&mut self, now: SimTime, parcel: Parcel) -> Push {
        (**self).push(now, parcel)
    }

    fn next_event(&self) -> Option<SimTime> {
        (**self).next_event()
    }

    fn advance(&mut self, now: SimTime) -> Option<Departure> {
        (**self).advance(now)
    }

    fn report(&mut self, now: SimTime) -> LinkReport {
        (**self).report(now)
    }

    fn trace(&mut self, keep: bool) {
        (**self).trace(keep);
    }

    fn next_trace(&mut self) -> Option<LinkEvent> {
        (**self).next_trace()
    }
}
