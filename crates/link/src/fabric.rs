//! A medium with many ports.

use crate::event::LinkEvent;
use crate::link::{Departure, Link, Push};
use crate::parcel::Parcel;
use crate::ppdu::Ppdu;
use crate::report::LinkReport;
use crossfade_core::SimTime;

/// Where packets enter and leave a fabric, counted from 0.
pub type Port = u32;

/// Many ports and what lies between: a shared medium, a cell with its users, a whole network. Data and
/// acknowledgements may go through the same one.
///
/// It is driven like a [`Link`]: every packet leaves it exactly once. A link is a fabric with two ports
/// ([`PointToPoint`]). Every method is required, but for [`prepare`](Fabric::prepare),
/// [`next_trace_back`](Fabric::next_trace_back), and what only a medium with an air has.
pub trait Fabric {
    /// How many ports it has.
    fn ports(&self) -> Port;

    /// Takes a packet at time `now` that enters at `from` and is bound for `to`.
    fn push(&mut self, now: SimTime, from: Port, to: Port, parcel: Parcel) -> Push;

    /// When [`advance`](Fabric::advance) has something to do next; `None` until the next push.
    fn next_event(&self) -> Option<SimTime>;

    /// The next packet that has left by `now`, in order of time, and the port that it came out at or was bound
    /// for; `None` once there is no further one.
    fn advance(&mut self, now: SimTime) -> Option<(Port, Departure)>;

    /// Does now what [`advance`](Fabric::advance) would have to do at the next event, for callers that have time
    /// until then. It changes nothing that anybody could see.
    fn prepare(&mut self) {}

    /// What has happened by `now`, counted since it was made.
    fn report(&mut self, now: SimTime) -> LinkReport;

    /// Keeps [link events](LinkEvent) from here on, or no longer.
    fn trace(&mut self, keep: bool);

    /// The earliest event that is kept.
    fn next_trace(&mut self) -> Option<LinkEvent>;

    /// The earliest event that is kept of the direction that it reports as [`back`](LinkReport::back).
    fn next_trace_back(&mut self) -> Option<LinkEvent> {
        None
    }

    /// Keeps every [`Ppdu`] from here on. Returns whether there is an air that has some.
    fn listen(&mut self) -> bool {
        false
    }

    /// The earliest PPDU that is kept. Whoever asks after each [`advance`](Fabric::advance) has those that send a packet for the
    /// first time before that packet leaves.
    fn next_ppdu(&mut self) -> Option<Ppdu> {
        None
    }
}

/// A link as a fabric: in at port 0, out at port 1.
#[derive(Clone, Debug)]
pub struct PointToPoint<L>(pub L);

impl<L> PointToPoint<L> {
    /// Where packets enter.
    pub const IN: Port = 0;
    /// Where packets leave.
    pub const OUT: Port = 1;
}

impl<L: Link> Fabric for PointToPoint<L> {
    fn ports(&self) -> Port {
        2
    }

    fn push(&mut self, now: SimTime, _from: Port, _to: Port, parcel: Parcel) -> Push {
        self.0.push(now, parcel)
    }

    fn next_event(&self) -> Option<SimTime> {
        self.0.next_event()
    }

    fn advance(&mut self, now: SimTime) -> Option<(Port, Departure)> {
        self.0.advance(now).map(|departure| (Self::OUT, departure))
    }

    fn report(&mut self, now: SimTime) -> LinkReport {
        self.0.report(now)
    }

    fn trace(&mut self, keep: bool) {
        self.0.trace(keep);
    }

    fn next_trace(&mut self) -> Option<LinkEvent> {
        self.0.next_trace()
    }
}

impl<F: Fabric + ?Sized> Fabric for Box<F> {
    fn ports(&self) -> Port {
        (**self).ports()
    }

    fn push(&mut self, now: SimTime, from: Port, to: Port, parcel: Parcel) -> Push {
        (**self).push(now, from, to, parcel)
    }

    fn next_event(&self) -> Option<SimTime> {
        (**self).next_event()
    }

    fn advance(&mut self, now: SimTime) -> Option<(Port, Departure)> {
        (**self).advance(now)
    }

    fn prepare(&mut self) {
        (**self).prepare();
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

    fn next_trace_back(&mut self) -> Option<LinkEvent> {
        (**self).next_trace_back()
    }

    fn listen(&mut self) -> bool {
        (**self).listen()
    }

    fn next_ppdu(&mut self) -> Option<Ppdu> {
        (**self).next_ppdu()
    }
}
