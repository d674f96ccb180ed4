//! One way through the network: access delays of the hosts, and links in series between them.

use crate::statistics::LinkStatistics;
use crossfade_core::SimTime;
use crossfade_link::{Hop, HopConfig, Link, Push};
use std::collections::{BTreeMap, VecDeque};

/// A packet on its way.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Packet<P> {
    /// Whose it is: a place in the engine's table of flows.
    pub(crate) flow: u32,
    /// Size on the wire.
    pub(crate) bytes: u32,
    /// What it carries.
    pub(crate) payload: P,
}

/// The access segments of all hosts that have the same delay: no rate, no loss. What enters first leaves
/// first, so that one event is enough for however many hosts and packets.
pub(crate) struct DelayLine<P> {
    delay: SimTime,
    under_way: VecDeque<(SimTime, Packet<P>)>,
}

impl<P> DelayLine<P> {
    fn new(delay: SimTime) -> Self {
        Self { delay, under_way: VecDeque::new() }
    }

    /// Takes a packet; when it comes out, if nothing else comes out before.
    pub(crate) fn push(&mut self, now: SimTime, packet: Packet<P>) -> Option<SimTime> {
        let at = now + self.delay;
        let was_empty = self.under_way.is_empty();
        self.under_way.push_back((at, packet));
        was_empty.then_some(at)
    }

    /// When the next packet comes out.
    pub(crate) fn next_event(&self) -> Option<SimTime> {
        self.under_way.front().map(|(at, _)| *at)
    }

    /// The next packet that has come out by `now`.
    pub(crate) fn advance(&mut self, now: SimTime) -> Option<Packet<P>> {
        let is_out = self.next_event().is_some_and(|at| at <= now);
        is_out.then(|| self.under_way.pop_front().expect("a packet").1)
    }
}

/// What a link of the path has done so far.
#[derive(Clone, Copy, Debug, PartialEq, Default)]
pub(crate) struct LinkTotals {
    /// Packets put on the link, lost ones included.
    pub(crate) transmissions: u64,
    /// Their bytes.
    pub(crate) bytes: u64,
    /// Transmissions that the channel lost.
    pub(crate) losses: u64,
    /// Packets that the queue dropped.
    pub(crate) queue_drops: u64,
    /// The sum of the times, in seconds, that packets waited in the queue.
    pub(crate) waiting_s: f64,
}

/// A link of a path with its books.
pub(crate) struct PathLink<P> {
    hop: Hop<Packet<P>>,
    rate_bps: Option<f64>,
    bytes: u64,
    losses: u64,
    queue_drops: u64,
}

impl<P> PathLink<P> {
    fn new(config: HopConfig) -> Self {
        let rate_bps = config.rate_bps;
        Self { hop: Hop::new(config), rate_bps, bytes: 0, losses: 0, queue_drops: 0 }
    }

    /// Takes a packet: what becomes of it, and when something comes out if nothing was under way before.
    #[inline(always)]
    pub(crate) fn push(&mut self, now: SimTime, packet: Packet<P>) -> (Push, Option<SimTime>) {
        let bytes = packet.bytes;
        let was_empty = self.hop.next_event().is_none();
        let fate = self.hop.push(now, bytes, packet);
        match fate {
            Push::Accepted => self.bytes += u64::from(bytes),
            Push::Lost => {
                self.bytes += u64::from(bytes);
                self.losses += 1;
            }
            Push::QueueDrop => self.queue_drops += 1,
        }
        (fate, self.hop.next_event().filter(|_| was_empty))
    }

    /// When the next packet comes out.
    pub(crate) fn next_event(&self) -> Option<SimTime> {
        self.hop.next_event()
    }

    /// The next packet that has come out by `now`.
    pub(crate) fn advance(&mut self, now: SimTime) -> Option<Packet<P>> {
        self.hop.advance(now)
    }

    /// When the transmitter has sent everything it holds.
    pub(crate) fn idle_at(&self) -> SimTime {
        self.hop.idle_at()
    }

    fn totals(&self) -> LinkTotals {
        LinkTotals {
            transmissions: self.hop.transmissions(),
            bytes: self.bytes,
            losses: self.losses,
            queue_drops: self.queue_drops,
            waiting_s: self.hop.waiting_s(),
        }
    }
}

/// The whole way. Which lines a packet takes is written in its flow.
pub(crate) struct Path<P> {
    /// From the hosts to the first link.
    pub(crate) entries: Vec<DelayLine<P>>,
    /// One after the other.
    pub(crate) links: Vec<PathLink<P>>,
    /// From the last link to the hosts.
    pub(crate) exits: Vec<DelayLine<P>>,
}

impl<P> Path<P> {
    pub(crate) fn new(entries: &[SimTime], links: Vec<HopConfig>, exits: &[SimTime]) -> Self {
        let lines = |delays: &[SimTime]| delays.iter().map(|&delay| DelayLine::new(delay)).collect();
        Self {
            entries: lines(entries),
            links: links.into_iter().map(PathLink::new).collect(),
            exits: lines(exits),
        }
    }

    /// What each link has done so far.
    pub(crate) fn totals(&self) -> Vec<LinkTotals> {
        self.links.iter().map(PathLink::totals).collect()
    }

    /// What each link has done in `duration` since `warm`.
    pub(crate) fn statistics(&self, warm: &[LinkTotals], duration: SimTime) -> Vec<LinkStatistics> {
        let links = self.links.iter().zip(warm);
        links.map(|(link, warm)| LinkStatistics::new(warm, &link.totals(), link.rate_bps, duration)).collect()
    }
}

/// Gives hosts of equal delay the same line.
#[derive(Default)]
pub(crate) struct LineTable {
    delays: Vec<SimTime>,
    lines: BTreeMap<SimTime, u32>,
}

impl LineTable {
    /// The line of a host that is `delay` away; `None` if there is nothing between it and the link.
    pub(crate) fn line(&mut self, delay: SimTime) -> Option<u32> {
        if delay == SimTime::ZERO {
            return None;
        }
        Some(*self.lines.entry(delay).or_insert_with(|| {
            self.delays.push(delay);
            self.delays.len() as u32 - 1
        }))
    }

    pub(crate) fn delays(&self) -> &[SimTime] {
        &self.delays
    }
}
