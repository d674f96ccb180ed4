//! Queue disciplines: the order in which waiting packets leave, and the packets that are dropped or marked.

mod byte_queue;
mod choice;
mod codel;
mod drop_tail;
mod dual_pi2;
mod fq_codel;
mod pie;
mod red;
#[cfg(test)]
mod tests;

pub use byte_queue::{ByteQueue, Piece};
pub use choice::QueueConfig;
pub(crate) use choice::with_queue;
pub use codel::{CoDel, CoDelConfig};
pub use drop_tail::DropTail;
pub use dual_pi2::{DualPi2, DualPi2Config, DualPi2Draw, DualPi2Rules};
pub use fq_codel::{FqCoDel, FqCoDelConfig};
pub use pie::{Pie, PieConfig};
pub use red::{Red, RedConfig};

use crate::parcel::Parcel;
use crossfade_core::SimTime;
use std::collections::VecDeque;

/// A packet that waits in a queue, with its arrival time.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Waiting {
    /// Time at which the packet entered the queue.
    pub since: SimTime,
    /// The packet that waits.
    pub packet: Parcel,
}

/// Queue discipline in front of a transmitter.
///
/// Calls come in order of time. The transmitter asks for the next packet whenever it has sent one, until there is none:
/// a queue learns that the link is idle from a [`dequeue`](QueueDiscipline::dequeue) that returns `None`.
pub trait QueueDiscipline {
    /// Takes a packet at time `now`. Packets that are dropped to make room for it are added to `dropped`.
    ///
    /// # Errors
    /// If the queue refuses the packet, which is returned.
    fn enqueue(&mut self, now: SimTime, packet: Parcel, dropped: &mut Vec<Waiting>) -> Result<(), Parcel>;

    /// Removes and returns the packet to send at time `now`; `None` if no packet waits. Packets dropped in the search
    /// are added to `dropped`.
    fn dequeue(&mut self, now: SimTime, dropped: &mut Vec<Waiting>) -> Option<Waiting>;

    /// Drops at time `now` all packets that arrived at `until` or before, and adds them to `dropped`.
    fn discard(&mut self, now: SimTime, until: SimTime, dropped: &mut Vec<Waiting>);

    /// Arrival time of the packet that has waited longest; `None` if no packet waits.
    fn oldest(&self) -> Option<SimTime>;

    /// Calls `visit` for all waiting packets, in the order of each queue.
    fn each(&self, visit: &mut dyn FnMut(&Waiting));

    /// Number of waiting packets.
    fn packets(&self) -> usize;

    /// Number of bytes of all waiting packets.
    fn bytes(&self) -> u64;

    /// Length in bytes of the packet that [`dequeue`](QueueDiscipline::dequeue) returns next; `None` for a queue that
    /// may drop packets then, and for an empty queue.
    fn next_bytes(&self) -> Option<u32> {
        None
    }

    /// Number of packets marked "congestion experienced" so far.
    fn ecn_marks(&self) -> u64 {
        0
    }
}

/// Packets in order of arrival, and their total of bytes.
#[derive(Clone, Debug, Default)]
struct Backlog {
    waiting: VecDeque<Waiting>,
    bytes: u64,
}

impl Backlog {
    fn push(&mut self, now: SimTime, packet: Parcel) {
        self.bytes += u64::from(packet.bytes());
        self.waiting.push_back(Waiting { since: now, packet });
    }

    fn pop(&mut self) -> Option<Waiting> {
        let head = self.waiting.pop_front()?;
        self.bytes -= u64::from(head.packet.bytes());
        Some(head)
    }

    fn discard(&mut self, until: SimTime, dropped: &mut Vec<Waiting>) {
        while self.oldest().is_some_and(|since| since <= until) {
            dropped.extend(self.pop());
        }
    }

    fn oldest(&self) -> Option<SimTime> {
        self.waiting.front().map(|head| head.since)
    }

    fn each(&self, visit: &mut dyn FnMut(&Waiting)) {
        self.waiting.iter().for_each(visit);
    }

    fn packets(&self) -> usize {
        self.waiting.len()
    }

    fn next_bytes(&self) -> Option<u32> {
        self.waiting.front().map(|head| head.packet.bytes())
    }
}

/// Times at which a queue updates its state: every `period` from time zero on.
#[derive(Clone, Debug)]
struct Updates {
    next: SimTime,
    period: SimTime,
}

impl Updates {
    fn every(period: SimTime) -> Self {
        Self { next: period, period }
    }

    /// Carries out the updates that were due by `now`, when no packet came or left meanwhile. `update` carries out one
    /// and returns true if the state no longer changes; the remaining updates are then skipped.
    fn make_up(&mut self, now: SimTime, mut update: impl FnMut(SimTime) -> bool) {
        while self.next <= now {
            let is_settled = update(self.next);
            let last = if is_settled { now - now % self.period } else { self.next };
            self.next = last.saturating_add(self.period);
        }
    }
}

/// Marks a packet if `ecn` is set and the packet is ECN-capable, and counts the mark; returns true if it did.
fn mark(ecn: bool, packet: &mut Parcel, ecn_marks: &mut u64) -> bool {
    let marks = ecn && packet.is_ecn_capable();
    if marks {
        packet.mark_ce();
        *ecn_marks += 1;
    }
    marks
}
