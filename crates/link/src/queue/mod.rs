//! Queue disciplines: which packets wait, in which order they leave, and which are dropped or marked.

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

/// A packet in a queue.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Waiting {
    /// Arrival time.
    pub since: SimTime,
    /// Waiting packet.
    pub packet: Parcel,
}

/// A queue in front of a transmitter.
///
/// Calls come in order of time. The transmitter asks for the next packet whenever it has sent one, until
/// there is none: a [`dequeue`](QueueDiscipline::dequeue) that returns nothing is how a queue learns that the
/// link is idle.
pub trait QueueDiscipline {
    /// Takes a packet at time `now`. What is dropped to make room for it is added to `dropped`.
    ///
    /// # Errors
    /// The queue turned the packet away: here it is.
    fn enqueue(&mut self, now: SimTime, packet: Parcel, dropped: &mut Vec<Waiting>) -> Result<(), Parcel>;

    /// The packet to send at time `now`; `None` if nothing waits. What is dropped on the way is added to
    /// `dropped`.
    fn dequeue(&mut self, now: SimTime, dropped: &mut Vec<Waiting>) -> Option<Waiting>;

    /// Drops at time `now` every packet that came at `until` or before, and adds it to `dropped`.
    fn discard(&mut self, now: SimTime, until: SimTime, dropped: &mut Vec<Waiting>);

    /// Time at which the packet came that has waited longest; `None` if nothing waits.
    fn oldest(&self) -> Option<SimTime>;

    /// Shows all packets that wait, in the order of each queue.
    fn each(&self, visit: &mut dyn FnMut(&Waiting));

    /// Number of packets that wait.
    fn packets(&self) -> usize;

    /// Number of bytes that wait.
    fn bytes(&self) -> u64;

    /// Bytes of the packet that [`dequeue`](QueueDiscipline::dequeue) returns next, from a queue that drops
    /// nothing then; `None` of a queue that may, and of an empty one.
    fn next_bytes(&self) -> Option<u32> {
        None
    }

    /// Number of packets marked "congestion experienced" so far.
    fn ecn_marks(&self) -> u64 {
        0
    }
}

/// Packets in order of arrival, and their bytes.
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

/// The instants at which a queue computes something anew: every period from time zero on.
#[derive(Clone, Debug)]
struct Updates {
    next: SimTime,
    period: SimTime,
}

impl Updates {
    fn every(period: SimTime) -> Self {
        Self { next: period, period }
    }

    /// Makes up for those that are due by `now`: nothing came or left meanwhile. `update` does one and says whether
    /// nothing changes any more: then neither do those that are left.
    fn make_up(&mut self, now: SimTime, mut update: impl FnMut(SimTime) -> bool) {
        while self.next <= now {
            let is_settled = update(self.next);
            let last = if is_settled { now - now % self.period } else { self.next };
            self.next = last.saturating_add(self.period);
        }
    }
}

/// Marks a packet if the queue does so and the packet allows it; counts it.
fn mark(ecn: bool, packet: &mut Parcel, ecn_marks: &mut u64) -> bool {
    let marks = ecn && packet.is_ecn_capable();
    if marks {
        packet.mark_ce();
        *ecn_marks += 1;
    }
    marks
}
