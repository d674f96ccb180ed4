//! Drop tail: first in, first out; a packet that finds the queue full is dropped.

use super::{Backlog, QueueDiscipline, Waiting};
use crate::limit::QueueLimit;
use crate::parcel::Parcel;
use crossfade_core::{OutOfRange, SimTime};

/// Drop-tail queue, the plain queue of most routers.
///
/// A link with this queue alone is a [`Hop`](crate::Hop), which is faster.
#[derive(Clone, Debug)]
pub struct DropTail {
    limit: QueueLimit,
    backlog: Backlog,
}

impl DropTail {
    /// Creates an empty queue with the given limit.
    ///
    /// # Errors
    /// If the limit is below one packet.
    pub fn new(limit: QueueLimit) -> Result<Self, OutOfRange> {
        limit.check()?;
        Ok(Self { limit, backlog: Backlog::default() })
    }
}

impl QueueDiscipline for DropTail {
    fn enqueue(&mut self, now: SimTime, packet: Parcel, _dropped: &mut Vec<Waiting>) -> Result<(), Parcel> {
        if !self.limit.admits(self.backlog.packets(), self.backlog.bytes, packet.bytes()) {
            return Err(packet);
        }
        self.backlog.push(now, packet);
        Ok(())
    }

    fn dequeue(&mut self, _now: SimTime, _dropped: &mut Vec<Waiting>) -> Option<Waiting> {
        self.backlog.pop()
    }

    fn discard(&mut self, _now: SimTime, until: SimTime, dropped: &mut Vec<Waiting>) {
        self.backlog.discard(until, dropped);
    }

    fn oldest(&self) -> Option<SimTime> {
        self.backlog.oldest()
    }

    fn each(&self, visit: &mut dyn FnMut(&Waiting)) {
        self.backlog.each(visit);
    }

    fn packets(&self) -> usize {
        self.backlog.packets()
    }

    fn bytes(&self) -> u64 {
        self.backlog.bytes
    }

    fn next_bytes(&self) -> Option<u32> {
        self.backlog.next_bytes()
    }
}
