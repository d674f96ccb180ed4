//! First in, first out; what finds the queue full is dropped.

use super::{Backlog, QueueDiscipline, QueueError, Waiting};
use crate::limit::QueueLimit;
use crate::link::Packet;
use crossfade_core::SimTime;

/// The plain queue of most routers.
///
/// A link with this queue alone is a [`Hop`](crate::Hop), which is faster.
#[derive(Clone, Debug)]
pub struct DropTail<P> {
    limit: QueueLimit,
    backlog: Backlog<P>,
}

impl<P> DropTail<P> {
    /// An empty queue.
    ///
    /// # Errors
    /// The limit lets no packet in.
    pub fn new(limit: QueueLimit) -> Result<Self, QueueError> {
        QueueError::unless_holds_a_packet(limit)?;
        Ok(Self { limit, backlog: Backlog::default() })
    }
}

impl<P: Packet> QueueDiscipline<P> for DropTail<P> {
    fn enqueue(&mut self, now: SimTime, packet: P, _dropped: &mut Vec<Waiting<P>>) -> Result<(), P> {
        if !self.limit.admits(self.backlog.packets(), self.backlog.bytes, packet.bytes()) {
            return Err(packet);
        }
        self.backlog.push(now, packet);
        Ok(())
    }

    fn dequeue(&mut self, _now: SimTime, _dropped: &mut Vec<Waiting<P>>) -> Option<Waiting<P>> {
        self.backlog.pop()
    }

    fn packets(&self) -> usize {
        self.backlog.packets()
    }

    fn bytes(&self) -> u64 {
        self.backlog.bytes
    }
}
