//! One way through the network: access delays of the hosts, and links in series between them.
//!
//! A packet stays in one place while a [`Ticket`] travels for it: what passes through many queues is small.

use crate::layout::{Layout, PathLinkKind};
use crossfade_core::SimTime;
use crossfade_link::arq::ArqStatistics;
use crossfade_link::trace::Schedule;
use crossfade_link::{AnyLinkConfig, Departure, LinkError, LinkStatistics, Push};
use std::collections::{BTreeMap, VecDeque};
use std::ops::Index;

/// Stands for a packet under way.
///
/// Two words, so that it travels in registers: every segment passes through half a dozen hands.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Ticket {
    /// Its place among the [`Packets`], and in the upper half whose it is: a place in the engine's table of
    /// flows.
    place_and_flow: u64,
    /// Size on the wire, and in the upper half what queues may do and did to it (RFC 3168 section 5).
    bytes_and_ecn: u64,
}

impl Ticket {
    const ECN_CAPABLE: u64 = 1 << 32;
    /// Congestion experienced.
    const MARKED: u64 = 1 << 33;
    /// The mark has been counted.
    const COUNTED: u64 = 1 << 34;

    #[inline]
    pub(crate) fn new(place: u32, flow: u32, bytes: u32, is_ecn_capable: bool) -> Self {
        Self {
            place_and_flow: u64::from(flow) << 32 | u64::from(place),
            bytes_and_ecn: u64::from(is_ecn_capable) << 32 | u64::from(bytes),
        }
    }

    #[inline]
    fn place(self) -> usize {
        self.place_and_flow as u32 as usize
    }

    #[inline]
    pub(crate) fn flow(self) -> usize {
        (self.place_and_flow >> 32) as usize
    }

    #[inline]
    pub(crate) fn bytes(self) -> u32 {
        self.bytes_and_ecn as u32
    }

    /// Whether it has experienced congestion.
    #[inline]
    pub(crate) fn is_marked(self) -> bool {
        self.bytes_and_ecn & Self::MARKED != 0
    }

    /// Whether a queue has marked it since this was last asked.
    #[inline]
    pub(crate) fn take_mark(&mut self) -> bool {
        let is_new = self.bytes_and_ecn & (Self::MARKED | Self::COUNTED) == Self::MARKED;
        if is_new {
            self.bytes_and_ecn |= Self::COUNTED;
        }
        is_new
    }
}

impl crossfade_link::Packet for Ticket {
    #[inline]
    fn bytes(&self) -> u32 {
        Self::bytes(*self)
    }

    fn flow(&self) -> u32 {
        Self::flow(*self) as u32
    }

    fn is_ecn_capable(&self) -> bool {
        self.bytes_and_ecn & Self::ECN_CAPABLE != 0
    }

    fn mark_ce(&mut self) {
        self.bytes_and_ecn |= Self::MARKED;
    }
}

/// What the packets under way carry.
pub(crate) struct Packets<P> {
    places: Vec<Place<P>>,
    /// The first of the list of places where no packet is.
    free: u32,
}

struct Place<P> {
    packet: P,
    /// The next place where no packet is.
    free: u32,
}

impl<P> Packets<P> {
    fn new() -> Self {
        Self { places: Vec::new(), free: u32::MAX }
    }

    /// Keeps what a packet carries; where.
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

    /// The packet has left the network.
    #[inline]
    pub(crate) fn forget(&mut self, ticket: Ticket) {
        self.places[ticket.place()].free = self.free;
        self.free = ticket.place() as u32;
    }
}

impl<P> Index<Ticket> for Packets<P> {
    type Output = P;

    #[inline]
    fn index(&self, ticket: Ticket) -> &P {
        &self.places[ticket.place()].packet
    }
}

/// The access segments of all hosts that have the same delay: no rate, no loss. What enters first leaves
/// first, so that one event is enough for however many hosts and packets.
pub(crate) struct DelayLine {
    delay: SimTime,
    under_way: VecDeque<(SimTime, Ticket)>,
}

impl DelayLine {
    fn new(delay: SimTime) -> Self {
        Self { delay, under_way: VecDeque::new() }
    }

    /// Takes a packet; when it comes out, if nothing else comes out before.
    pub(crate) fn push(&mut self, now: SimTime, ticket: Ticket) -> Option<SimTime> {
        let at = now + self.delay;
        let was_empty = self.under_way.is_empty();
        self.under_way.push_back((at, ticket));
        was_empty.then_some(at)
    }

    /// When the next packet comes out.
    pub(crate) fn next_event(&self) -> Option<SimTime> {
        self.under_way.front().map(|(at, _)| *at)
    }

    /// The next packet that has come out by `now`.
    pub(crate) fn advance(&mut self, now: SimTime) -> Option<Ticket> {
        self.next_event().filter(|&at| at <= now)?;
        self.under_way.pop_front().map(|(_, ticket)| ticket)
    }
}

/// What a link has counted, and how long it will take to send what it holds.
pub(crate) struct LinkBooks {
    pub(crate) at: SimTime,
    pub(crate) counts: LinkStatistics,
    pub(crate) arq: Option<ArqStatistics>,
    pub(crate) to_send: SimTime,
}

/// How long a link is busy with what it counts.
#[derive(Clone, Debug)]
pub(crate) enum Occupancy {
    /// No time at all.
    None,
    /// Each packet takes its bits, at this rate in bit/s.
    Packets(f64),
    /// Each frame takes this time.
    Frames(SimTime),
    /// Each packet takes its bits of what can be sent. (Asked for at the end only: every packet passes by here.)
    Schedule(Box<Schedule>),
}

/// A link of a path with its place in the queue of events.
pub(crate) struct PathLink<K> {
    link: K,
    occupancy: Occupancy,
    /// The event that counts; others still in the queue are ignored. [`SimTime::MAX`] if there is none.
    event_at: SimTime,
}

impl<K: PathLinkKind> PathLink<K> {
    fn new(config: AnyLinkConfig) -> Result<Self, LinkError> {
        let occupancy = match &config {
            AnyLinkConfig::Constant(config) => config.rate_bps.map_or(Occupancy::None, Occupancy::Packets),
            AnyLinkConfig::Arq(config) => Occupancy::Frames(config.frame_time()),
            AnyLinkConfig::Trace(config) => Occupancy::Schedule(Box::new(config.schedule.clone())),
        };
        Ok(Self { occupancy, link: K::build(config)?, event_at: SimTime::MAX })
    }

    #[inline]
    pub(crate) fn push(&mut self, now: SimTime, ticket: Ticket) -> Push {
        self.link.push(now, ticket)
    }

    /// Whether the event that happens at `now` is the one that counts; then there is none any more.
    #[inline]
    pub(crate) fn take_event(&mut self, now: SimTime) -> bool {
        let counts = self.event_at == now;
        if counts {
            self.event_at = SimTime::MAX;
        }
        counts
    }

    /// When to schedule an event, if none comes in time.
    #[inline]
    pub(crate) fn missing_event(&mut self) -> Option<SimTime> {
        let at = self.link.next_event().unwrap_or(SimTime::MAX);
        let is_missing = at < self.event_at;
        if is_missing {
            self.event_at = at;
        }
        is_missing.then_some(at)
    }

    /// The next packet that has left by `now`.
    #[inline]
    pub(crate) fn advance(&mut self, now: SimTime) -> Option<Departure<Ticket>> {
        self.link.advance(now)
    }

    pub(crate) fn idle_at(&self) -> Option<SimTime> {
        self.link.idle_at()
    }

    pub(crate) fn occupancy(&self) -> &Occupancy {
        &self.occupancy
    }

    pub(crate) fn books(&mut self, now: SimTime) -> LinkBooks {
        self.link.catch_up(now);
        let to_send = self.idle_at().map_or(SimTime::ZERO, |idle_at| idle_at.saturating_sub(now));
        LinkBooks {
            at: now,
            counts: self.link.statistics().clone(),
            arq: self.link.arq_statistics().cloned(),
            to_send,
        }
    }
}

/// The whole way. Which lines a packet takes is written in its flow.
pub(crate) struct Path<P, L: Layout> {
    pub(crate) packets: Packets<P>,
    /// From the hosts to the first link.
    pub(crate) entries: L::Lines,
    /// One after the other.
    pub(crate) links: L::Links,
    /// From the last link to the hosts.
    pub(crate) exits: L::Lines,
}

impl<P, L: Layout> Path<P, L> {
    pub(crate) fn new(
        entries: &[SimTime],
        links: Vec<AnyLinkConfig>,
        exits: &[SimTime],
    ) -> Result<Self, LinkError> {
        let lines =
            |delays: &[SimTime]| delays.iter().map(|&delay| DelayLine::new(delay)).collect::<Vec<_>>().into();
        let links: Result<Vec<_>, _> = links.into_iter().map(PathLink::new).collect();
        Ok(Self {
            packets: Packets::new(),
            entries: lines(entries),
            links: links?.into(),
            exits: lines(exits),
        })
    }

    /// What each link has counted so far.
    pub(crate) fn books(&mut self, now: SimTime) -> Vec<LinkBooks> {
        self.links.iter_mut().map(|link| link.books(now)).collect()
    }
}

/// Gives hosts of equal delay the same line.
#[derive(Default)]
pub(crate) struct LineTable {
    delays: Vec<SimTime>,
    lines: BTreeMap<SimTime, u32>,
}

impl LineTable {
    /// No place of a line.
    pub(crate) const NONE: u32 = u32::MAX;

    /// The line of a host that is `delay` away.
    pub(crate) fn line(&mut self, delay: SimTime) -> u32 {
        if delay == SimTime::ZERO {
            return Self::NONE;
        }
        *self.lines.entry(delay).or_insert_with(|| {
            self.delays.push(delay);
            self.delays.len() as u32 - 1
        })
    }

    pub(crate) fn delays(&self) -> &[SimTime] {
        &self.delays
    }
}
