//! One deadline per node, and the earliest of all.

use crossfade_core::SimTime;

/// Tournament tree of the deadlines of all nodes: setting one takes log2 of their number, reading the earliest constant
/// time. Unlike a queue of events it holds no outdated ones.
pub(crate) struct Timers {
    /// Earlier deadline of each pair; the leaves are the nodes.
    tree: Vec<Deadline>,
    leaves: usize,
}

#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
struct Deadline {
    at: SimTime,
    /// True if a transmission begins; at equal times, ends come first.
    begins: bool,
    node: u32,
}

impl Timers {
    pub(crate) fn new(nodes: usize) -> Self {
        let leaves = nodes.next_power_of_two().max(2);
        let never = |node: usize| Deadline { at: SimTime::MAX, begins: true, node: node as u32 };
        let mut timers =
            Self { tree: (0..2 * leaves).map(|i| never(i.wrapping_sub(leaves))).collect(), leaves };
        (1..leaves).rev().for_each(|i| timers.tree[i] = timers.tree[2 * i].min(timers.tree[2 * i + 1]));
        timers
    }

    /// Sets the deadline of `node`; [`SimTime::MAX`] for none.
    #[inline]
    pub(crate) fn set(&mut self, node: u32, at: SimTime, begins: bool) {
        let mut i = self.leaves + node as usize;
        let deadline = Deadline { at, begins, node };
        if self.tree[i] == deadline {
            return;
        }
        self.tree[i] = deadline;
        while i > 1 {
            let winner = self.tree[i].min(self.tree[i ^ 1]);
            i /= 2;
            if self.tree[i] == winner {
                break;
            }
            self.tree[i] = winner;
        }
    }

    /// Earliest deadline and its node; `None` if no node has one.
    #[inline]
    pub(crate) fn first(&self) -> Option<(SimTime, u32)> {
        let Deadline { at, node, .. } = self.tree[1];
        (at < SimTime::MAX).then_some((at, node))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn the_first_is_the_least_of_all(
            nodes in 1usize..40, sets in prop::collection::vec((0u32..40, 0u64..20, any::<bool>()), 0..200),
        ) {
            let mut timers = Timers::new(nodes);
            let mut all = vec![(SimTime::MAX, true); nodes];
            for (node, at, begins) in sets {
                let node = node % nodes as u32;
                let at = if at == 0 { SimTime::MAX } else { SimTime::from_nanos(at) };
                timers.set(node, at, begins);
                all[node as usize] = (at, begins);
                let least = (0..nodes as u32).min_by_key(|&i| (all[i as usize], i)).unwrap();
                let expected = Some((all[least as usize].0, least)).filter(|(at, _)| *at < SimTime::MAX);
                prop_assert_eq!(timers.first(), expected);
            }
        }
    }
}
