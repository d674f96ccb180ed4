//! What a link is to those who use it.

use crate::arq::ArqStatistics;
use crate::statistics::LinkStatistics;
use crossfade_core::SimTime;

/// What a link needs to know of the packets that it carries.
pub trait Packet {
    /// Its length on the wire in bytes.
    fn bytes(&self) -> u32;

    /// The flow it belongs to; fair queueing shares the link among flows.
    fn flow(&self) -> u32;

    /// Whether a queue may mark it instead of dropping it: ECT(0) or ECT(1) (RFC 3168 section 5).
    fn is_ecn_capable(&self) -> bool {
        false
    }

    /// Sets "congestion experienced". Called only of packets that are ECN-capable.
    fn mark_ce(&mut self) {}
}

/// A one-way link as the protocols above see it.
///
/// An engine pushes packets, asks when something will next happen, and takes out what has left. A simulation
/// drives it from its event queue; a live emulator from a timer.
///
/// Every packet leaves a link exactly once: [`push`](Link::push) refuses it, or `push` tells that it will be
/// lost, or [`advance`](Link::advance) returns it. `advance` is called until it returns nothing, rather than
/// handed a closure: what it returns may be pushed into other links, or into this one, before the next call.
/// An event need not be a departure. The internal timers of a link (the end of a transmission, of a frame, of
/// a wait for feedback) are its events too, after which `advance` may return nothing, or, when a lost frame
/// has been repaired, many packets.
pub trait Link<P> {
    /// Takes a packet at time `now`.
    fn push(&mut self, now: SimTime, packet: P) -> Push;

    /// When [`advance`](Link::advance) has something to do next; `None` until the next push.
    ///
    /// A push, also one that was refused, can make it earlier, but no earlier than the time of that push.
    fn next_event(&self) -> Option<SimTime>;

    /// The next packet that has left by `now`, in order of time; `None` once there is no further one.
    fn advance(&mut self, now: SimTime) -> Option<Departure<P>>;

    /// Counts what has happened by `now`, before the statistics are looked at. Of links that count no more
    /// than their events need: those whose frames are no events.
    fn catch_up(&mut self, _now: SimTime) {}

    /// What was counted since the link was made.
    fn statistics(&self) -> &LinkStatistics;

    /// The same of the frames, on a link that sends packets as frames.
    fn arq_statistics(&self) -> Option<&ArqStatistics> {
        None
    }
}

/// What became of a packet that was pushed, as far as it is known at once.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Push {
    /// It is under way: [`Link::advance`] will tell its fate.
    Accepted,
    /// It takes its turn on the link, and the channel loses it.
    Lost,
    /// The queue turned it away.
    QueueDrop,
}

/// How a packet left a link that had accepted it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Departure<P> {
    /// It came out at the far end.
    Arrived(P),
    /// The channel lost it.
    Lost(P),
    /// The queue dropped it after it had waited there.
    QueueDrop(P),
}

impl<P, L: Link<P> + ?Sized> Link<P> for Box<L> {
    fn push(&mut self, now: SimTime, packet: P) -> Push {
        (**self).push(now, packet)
    }

    fn next_event(&self) -> Option<SimTime> {
        (**self).next_event()
    }

    fn advance(&mut self, now: SimTime) -> Option<Departure<P>> {
        (**self).advance(now)
    }

    fn catch_up(&mut self, now: SimTime) {
        (**self).catch_up(now);
    }

    fn statistics(&self) -> &LinkStatistics {
        (**self).statistics()
    }

    fn arq_statistics(&self) -> Option<&ArqStatistics> {
        (**self).arq_statistics()
    }
}
