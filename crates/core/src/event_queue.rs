//! The event queue.

use crate::SimTime;

/// Time-ordered queue of events with a defined order of ties.
///
/// Events leave by time, at equal times by `rank` (lowest first), and at equal rank in the order in which
/// they were scheduled. Nothing is left to chance: the same calls give the same order on every machine.
#[derive(Clone, Debug)]
pub struct EventQueue<E> {
    /// A binary heap ordered by [`Key`]. It stays shallow: a link schedules only its next departure and a
    /// flow only its next timer, however many packets are under way.
    heap: Vec<(Key, E)>,
    /// The root has left. What it causes usually takes its place at once, which saves a pass through the
    /// heap.
    root_is_gone: bool,
    scheduled: u64,
}

/// Time in nanoseconds, rank and order of scheduling, from the most to the least significant bits: one
/// comparison.
type Key = u128;

const TIME_SHIFT: u32 = 64;
const RANK_SHIFT: u32 = 56;

impl<E: Copy> Default for EventQueue<E> {
    fn default() -> Self {
        Self { heap: Vec::new(), root_is_gone: false, scheduled: 0 }
    }
}

impl<E: Copy> EventQueue<E> {
    /// Schedules `event` for time `at`; among events of equal time the lowest `rank` leaves first.
    pub fn schedule(&mut self, at: SimTime, rank: u8, event: E) {
        let order = u64::from(rank) << RANK_SHIFT | self.scheduled;
        self.scheduled += 1;
        let item = (Key::from(at.as_nanos()) << TIME_SHIFT | Key::from(order), event);
        if self.root_is_gone {
            self.root_is_gone = false;
            self.sift_down(item);
        } else {
            self.heap.push(item);
            self.sift_up(self.heap.len() - 1, item);
        }
    }

    /// Removes and returns the next event.
    pub fn pop(&mut self) -> Option<(SimTime, E)> {
        if self.root_is_gone {
            self.root_is_gone = false;
            let last = self.heap.pop()?;
            if !self.heap.is_empty() {
                self.sift_down(last);
            }
        }
        let &(key, event) = self.heap.first()?;
        self.root_is_gone = true;
        Some((SimTime::from_nanos((key >> TIME_SHIFT) as u64), event))
    }

    /// How many events wait.
    pub fn len(&self) -> usize {
        self.heap.len() - usize::from(self.root_is_gone)
    }

    /// Whether nothing waits.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Moves parents down until `item` fits at `at`.
    fn sift_up(&mut self, mut at: usize, item: (Key, E)) {
        while at > 0 {
            let parent = (at - 1) / 2;
            if self.heap[parent].0 < item.0 {
                break;
            }
            self.heap[at] = self.heap[parent];
            at = parent;
        }
        self.heap[at] = item;
    }

    /// Moves children up from the root until `item` fits.
    fn sift_down(&mut self, item: (Key, E)) {
        let len = self.heap.len();
        let mut at = 0;
        loop {
            let mut least = 2 * at + 1;
            if least >= len {
                break;
            }
            // Without a branch: which child is earlier is a coin toss.
            least += usize::from(least + 1 < len && self.heap[least + 1].0 < self.heap[least].0);
            if item.0 < self.heap[least].0 {
                break;
            }
            self.heap[at] = self.heap[least];
            at = least;
        }
        self.heap[at] = item;
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn equal_times_leave_by_rank_then_by_order_of_scheduling() {
        let mut queue = EventQueue::default();
        let now = SimTime::from_millis(1);
        for (rank, event) in [(2, "c"), (0, "a"), (2, "d"), (1, "b")] {
            queue.schedule(now, rank, event);
        }
        queue.schedule(SimTime::ZERO, 9, "first");
        let order: Vec<_> = std::iter::from_fn(|| queue.pop()).map(|(_, event)| event).collect();
        assert_eq!(order, ["first", "a", "b", "c", "d"]);
    }

    proptest! {
        /// Against a stable sort, with pops between the pushes.
        #[test]
        fn order_equals_a_stable_sort(batches in prop::collection::vec(
            (prop::collection::vec((0u64..20, 0u8..3), 0..20), 0usize..20), 1..10)) {
            let mut queue = EventQueue::default();
            let mut reference: Vec<(u64, u8, usize)> = Vec::new();
            let mut count = 0;
            for (pushes, pops) in batches {
                for (at, rank) in pushes {
                    queue.schedule(SimTime::from_nanos(at), rank, count);
                    reference.push((at, rank, count));
                    count += 1;
                }
                reference.sort_unstable();
                for _ in 0..pops {
                    let expected = (!reference.is_empty()).then(|| reference.remove(0));
                    let got = queue.pop();
                    prop_assert_eq!(got.map(|(at, event)| (at.as_nanos(), event)),
                                    expected.map(|(at, _, event)| (at, event)));
                }
                prop_assert_eq!(queue.len(), reference.len());
            }
        }
    }
}
