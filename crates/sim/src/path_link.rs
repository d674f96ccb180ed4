//! Links and fabrics of the engine, each with its event in the queue.

use crate::medium::AnyLink;
use crate::routing::Next;
use crate::wakeup::Wakeup;
use crossfade_core::SimTime;
use crossfade_link::{Departure, Fabric, Hop, Link, LinkEvent, LinkReport, Parcel, Port, Ppdu, Push};

/// Type of the links in a table: any link, or hops only.
pub(crate) trait PathLinkKind: Link {
    fn of(link: AnyLink) -> Self;

    /// Time at which the transmitter has sent every packet that it holds; `None` if unknown.
    fn idle_at(&self) -> Option<SimTime>;

    /// The link as a hop; `None` if it is of another kind.
    fn as_hop(&self) -> Option<&Hop>;

    /// Like [`Self::as_hop`], but mutable.
    fn as_hop_mut(&mut self) -> Option<&mut Hop>;
}

impl PathLinkKind for AnyLink {
    fn of(link: AnyLink) -> Self {
        link
    }

    fn idle_at(&self) -> Option<SimTime> {
        match self {
            Self::Hop(hop) => Some(hop.idle_at()),
            Self::Other(_) => None,
        }
    }

    #[inline]
    fn as_hop(&self) -> Option<&Hop> {
        match self {
            Self::Hop(hop) => Some(hop),
            Self::Other(_) => None,
        }
    }

    #[inline]
    fn as_hop_mut(&mut self) -> Option<&mut Hop> {
        match self {
            Self::Hop(hop) => Some(hop),
            Self::Other(_) => None,
        }
    }
}

impl PathLinkKind for Hop {
    fn of(link: AnyLink) -> Self {
        match link {
            AnyLink::Hop(hop) => hop,
            AnyLink::Other(_) => unreachable!("the layout of hops has hops alone"),
        }
    }

    fn idle_at(&self) -> Option<SimTime> {
        Some(Hop::idle_at(self))
    }

    #[inline]
    fn as_hop(&self) -> Option<&Hop> {
        Some(self)
    }

    #[inline]
    fn as_hop_mut(&mut self) -> Option<&mut Hop> {
        Some(self)
    }
}

/// A link that only one direction uses.
pub(crate) struct PathLink<K> {
    link: K,
    pub(crate) wakeup: Wakeup,
    /// Next step of packets that have come over the link.
    pub(crate) next: Next,
}

impl<K: PathLinkKind> PathLink<K> {
    pub(crate) fn new(link: AnyLink, next: Next) -> Self {
        Self { link: K::of(link), wakeup: Wakeup::NONE, next }
    }

    #[inline]
    pub(crate) fn push(&mut self, now: SimTime, parcel: Parcel) -> Push {
        self.link.push(now, parcel)
    }

    /// True if the link allows shortcut `direct`: a hop with a delay, behind which all packets leave for their hosts.
    pub(crate) fn can_be_passed(&self) -> bool {
        self.next == Next::Exit && self.delay() > SimTime::ZERO
    }

    /// Propagation delay of a hop; zero for another link.
    pub(crate) fn delay(&self) -> SimTime {
        self.link.as_hop().map_or(SimTime::ZERO, Hop::delay)
    }

    /// True if the link is a hop that neither loses nor drops packets, as shortcut `foreseen` needs.
    pub(crate) fn is_certain(&self) -> bool {
        self.link.as_hop().is_some_and(Hop::is_certain)
    }

    /// Departure time of a packet that enters later, as by [`Hop::foresee`], for shortcut `foreseen`.
    #[inline]
    pub(crate) fn foresee(&mut self, idle_at: &mut SimTime, now: SimTime, bytes: u32) -> SimTime {
        match self.link.as_hop_mut() {
            Some(hop) => hop.foresee(idle_at, now, bytes),
            None => unreachable!("only hops are passed at once"),
        }
    }

    /// Passes a packet through the hop at once, as by [`Hop::pass`], for shortcut `direct`.
    #[inline]
    pub(crate) fn pass(&mut self, now: SimTime, parcel: Parcel) -> Result<SimTime, Push> {
        match self.link.as_hop_mut() {
            Some(hop) => hop.pass(now, parcel),
            None => unreachable!("only hops are passed at once"),
        }
    }

    /// Time at which an event of the link must be scheduled; `None` if an event in time is already scheduled.
    #[inline]
    pub(crate) fn missing_event(&mut self) -> Option<SimTime> {
        self.wakeup.missing(self.link.next_event())
    }

    /// Takes the next packet that has left the link by `now`.
    #[inline]
    pub(crate) fn advance(&mut self, now: SimTime) -> Option<Departure> {
        self.link.advance(now)
    }

    pub(crate) fn idle_at(&self) -> Option<SimTime> {
        self.link.idle_at()
    }

    pub(crate) fn report(&mut self, now: SimTime) -> LinkReport {
        self.link.report(now)
    }

    pub(crate) fn trace(&mut self, keep: bool) {
        self.link.trace(keep);
    }

    pub(crate) fn next_trace(&mut self) -> Option<LinkEvent> {
        self.link.next_trace()
    }
}

/// A fabric, or a link that both directions or packets from outside use.
pub(crate) struct PathFabric {
    fabric: Box<dyn Fabric + Send>,
    pub(crate) wakeup: Wakeup,
    /// True if the capture records the fabric's PPDUs (physical-layer frames).
    pub(crate) has_air: bool,
}

impl PathFabric {
    /// Creates a fabric of the engine's table; `hears`: the capture records PPDUs, if the fabric is wireless.
    pub(crate) fn new(mut fabric: Box<dyn Fabric + Send>, hears: bool) -> Self {
        let has_air = hears && fabric.listen();
        Self { fabric, wakeup: Wakeup::NONE, has_air }
    }

    /// Takes the next PPDU (physical-layer frame) that was in the fabric's air.
    pub(crate) fn next_ppdu(&mut self) -> Option<Ppdu> {
        self.fabric.next_ppdu()
    }

    pub(crate) fn push(&mut self, now: SimTime, from: Port, to: Port, parcel: Parcel) -> Push {
        self.fabric.push(now, from, to, parcel)
    }

    /// Time at which an event of the fabric must be scheduled; `None` if an event in time is already scheduled.
    pub(crate) fn missing_event(&mut self) -> Option<SimTime> {
        self.wakeup.missing(self.fabric.next_event())
    }

    /// Takes the next packet that has left the fabric by `now`, with its port.
    pub(crate) fn advance(&mut self, now: SimTime) -> Option<(Port, Departure)> {
        self.fabric.advance(now)
    }

    pub(crate) fn prepare(&mut self) {
        self.fabric.prepare();
    }

    pub(crate) fn report(&mut self, now: SimTime) -> LinkReport {
        self.fabric.report(now)
    }

    pub(crate) fn trace(&mut self, keep: bool) {
        self.fabric.trace(keep);
    }

    pub(crate) fn next_trace(&mut self) -> Option<LinkEvent> {
        self.fabric.next_trace()
    }

    pub(crate) fn next_trace_back(&mut self) -> Option<LinkEvent> {
        self.fabric.next_trace_back()
    }
}
