//! Access lines: constant delays between hosts and the first or last link.

use crossfade_core::SimTime;
use crossfade_link::Parcel;
use std::collections::{BTreeMap, VecDeque};

/// Access lines of all hosts with the same delay, without rate or loss. Packets leave in the order in which they enter,
/// so one pending event is enough for any number of hosts and packets.
pub(crate) struct DelayLine {
    delay: SimTime,
    under_way: VecDeque<(SimTime, Parcel)>,
    /// Order of the first packet's event among simultaneous ones: time at which it would have been scheduled if each
    /// packet entered at its own time, and its rank among events scheduled then.
    since: (SimTime, u64),
}

impl DelayLine {
    pub(crate) fn new(delay: SimTime) -> Self {
        Self { delay, under_way: VecDeque::new(), since: (SimTime::ZERO, 0) }
    }

    /// Adds a packet that enters at `now`; returns the time at which it comes out if the line was empty.
    #[inline]
    pub(crate) fn push(&mut self, now: SimTime, parcel: Parcel) -> Option<SimTime> {
        let at = now + self.delay;
        let was_empty = self.under_way.is_empty();
        self.under_way.push_back((at, parcel));
        was_empty.then_some(at)
    }

    /// Like [`Self::push`], for a packet that enters at `at`, now or later.
    #[inline]
    pub(crate) fn push_ahead(&mut self, at: SimTime, parcel: Parcel) -> Option<SimTime> {
        let out = self.push(at, parcel);
        if out.is_some() {
            self.since = (at, 0);
        }
        out
    }

    /// Time at which a packet that enters at `now` comes out.
    #[inline]
    pub(crate) fn out(&self, now: SimTime) -> SimTime {
        now + self.delay
    }

    /// Delay of the line.
    pub(crate) fn delay(&self) -> SimTime {
        self.delay
    }

    /// Takes the next packet, with its time, if it comes out before `now`.
    #[inline]
    pub(crate) fn before(&mut self, now: SimTime) -> Option<(SimTime, Parcel)> {
        self.next_event().filter(|&at| at < now)?;
        self.under_way.pop_front()
    }

    /// Packets on the line.
    pub(crate) fn parcels(&self) -> impl Iterator<Item = &Parcel> {
        self.under_way.iter().map(|(_, parcel)| parcel)
    }

    /// Number of packets on the line, and number of their bytes.
    pub(crate) fn contents(&self) -> (u64, u64) {
        let bytes = self.under_way.iter().map(|(_, parcel)| u64::from(parcel.bytes()));
        (self.under_way.len() as u64, bytes.sum())
    }

    /// Updates the order key after the first packet has come out at `now`, as number `number` of all; returns the time
    /// of the next packet.
    #[inline]
    pub(crate) fn go_on(&mut self, now: SimTime, number: u64) -> Option<SimTime> {
        let out = self.next_event()?;
        // A packet that enters later finds the line empty.
        let entered = out - self.delay;
        self.since = if entered > now { (entered, 0) } else { (now, number) };
        Some(out)
    }

    /// Sort key of simultaneous events of lines: the order in which the events would have been scheduled.
    #[inline]
    pub(crate) fn since(&self) -> (SimTime, u64) {
        self.since
    }

    /// Number of packets, and of their bytes, that enter after `now`, or with `at_now` at `now` or later.
    pub(crate) fn ahead(&self, now: SimTime, at_now: bool) -> (u64, u64) {
        let is_ahead = |(out, _): &&(SimTime, Parcel)| {
            let entered = *out - self.delay;
            entered > now || (at_now && entered == now)
        };
        let ahead = self.under_way.iter().rev().take_while(is_ahead);
        ahead.fold((0, 0), |(packets, bytes), (_, parcel)| (packets + 1, bytes + u64::from(parcel.bytes())))
    }

    /// Time at which the next packet comes out; `None` if the line is empty.
    #[inline]
    pub(crate) fn next_event(&self) -> Option<SimTime> {
        self.under_way.front().map(|(at, _)| *at)
    }

    /// Time at which the last packet on the line comes out; `None` if the line is empty.
    #[inline]
    pub(crate) fn last_event(&self) -> Option<SimTime> {
        self.under_way.back().map(|(at, _)| *at)
    }

    /// Takes the next packet if it has come out by `now`.
    #[inline]
    pub(crate) fn advance(&mut self, now: SimTime) -> Option<Parcel> {
        self.advance_timed(now).map(|(_, parcel)| parcel)
    }

    /// Like [`Self::advance`], but also returns the time at which the packet came out.
    #[inline]
    pub(crate) fn advance_timed(&mut self, now: SimTime) -> Option<(SimTime, Parcel)> {
        self.next_event().filter(|&at| at <= now)?;
        self.under_way.pop_front()
    }
}

/// Table of access lines, in which hosts of equal delay share one line.
#[derive(Default)]
pub(crate) struct LineTable {
    delays: Vec<SimTime>,
    lines: BTreeMap<SimTime, u32>,
}

impl LineTable {
    /// Index that stands for no access line.
    pub(crate) const NONE: u32 = u32::MAX;

    /// Index of the access line of a host with `delay`; [`Self::NONE`] for no delay.
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
