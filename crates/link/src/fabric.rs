//! Fabrics: media with many ports, such as a cell or a Wi-Fi network.

use crate::event::LinkEvent;
use crate::link::{Departure, Link, Push};
use crate::parcel::Parcel;
use crate::ppdu::Ppdu;
use crate::report::LinkReport;
use crossfade_core::SimTime;

/// Number of a port, counted from 0; packets enter and leave a fabric at ports.
pub type Port = u32;

/// A medium with many ports: a shared medium, a cell with its users, a whole network. Data and acknowledgements may
/// share one fabric.
///
/// The engine drives a fabric like a [`Link`]: every packet leaves it exactly once. A link is a fabric with two ports
/// ([`PointToPoint`]). All methods are required except [`prepare`](Fabric::prepare),
/// [`next_trace_back`](Fabric::next_trace_back), and those for media with radio frames.
pub trait Fabric {
    /// Number of ports of the fabric.
    fn ports(&self) -> Port;

    /// Takes a packet at time `now`, which enters at port `from` and is bound for port `to`.
    fn push(&mut self, now: SimTime, from: Port, to: Port, parcel: Parcel) -> Push;

    /// Time at which [`advance`](Fabric::advance) has something to do next; `None` if nothing happens before the next
    /// push.
    fn next_event(&self) -> Option<SimTime>;

    /// Returns the next packet that has left by `now`, in order of time, with the port where it came out or, if it was
    /// lost or dropped, the port that it was bound for; `None` if no further packet has left.
    fn advance(&mut self, now: SimTime) -> Option<(Port, Departure)>;

    /// Computes in advance what [`advance`](Fabric::advance) needs at the next event, for callers with spare time until
    /// then. This has no observable effect.
    fn prepare(&mut self) {}

    /// Statistics at `now`, counted since the fabric was created.
    fn report(&mut self, now: SimTime) -> LinkReport;

    /// Turns the keeping of [link events](LinkEvent) on or off.
    fn trace(&mut self, keep: bool);

    /// Removes and returns the earliest link event that is kept.
    fn next_trace(&mut self) -> Option<LinkEvent>;

    /// Removes and returns the earliest link event of the reverse direction, which is reported as
    /// [`back`](LinkReport::back).
    fn next_trace_back(&mut self) -> Option<LinkEvent> {
        None
    }

    /// Starts to keep every [`Ppdu`] (physical-layer frame). Returns true if the medium has PPDUs.
    fn listen(&mut self) -> bool {
        false
    }

    /// Removes and returns the earliest PPDU that is kept. A caller that asks after each [`advance`](Fabric::advance)
    /// gets the first PPDU with a packet before that packet leaves.
    fn next_ppdu(&mut self) -> Option<Ppdu> {
        None
    }
}

/// A link as a fabric: packets enter at port 0 and leave at port 1.
#[derive(Clone, Debug)]
pub struct PointToPoint<L>(pub L);

impl<L> PointToPoint<L> {
    /// Port at which packets enter the link.
    pub const IN: Port = 0;
    /// Port at which packets leave the link.
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
