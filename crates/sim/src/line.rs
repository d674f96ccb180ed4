//! Access lines: what lies between a host and the path.

use crossfade_core::SimTime;
use crossfade_link::Parcel;
use std::collections::{BTreeMap, VecDeque};

/// The access segments of all hosts that have the same delay: no rate, no loss. What enters first leaves
/// first, so that one event is enough for however many hosts and packets.
pub(crate) struct DelayLine {
    delay: SimTime,
    under_way: VecDeque<(SimTime, Parcel)>,
}

impl DelayLine {
    pub(crate) fn new(delay: SimTime) -> Self {
        Self { delay, under_way: VecDeque::new() }
    }

    /// Takes a packet; when it comes out, if nothing else comes out before.
    pub(crate) fn push(&mut self, now: SimTime, parcel: Parcel) -> Option<SimTime> {
        let at = now + self.delay;
        let was_empty = self.under_way.is_empty();
        self.under_way.push_back((at, parcel));
        was_empty.then_some(at)
    }

    /// When the next packet comes out.
    pub(crate) fn next_event(&self) -> Option<SimTime> {
        self.under_way.front().map(|(at, _)| *at)
    }

    /// The next packet that has come out by `now`.
    pub(crate) fn advance(&mut self, now: SimTime) -> Option<Parcel> {
        self.next_event().filter(|&at| at <= now)?;
        self.under_way.pop_front().map(|(_, parcel)| parcel)
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
