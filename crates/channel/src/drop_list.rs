//! Losses of listed transmissions.

use crate::error::ChannelError;
use crate::loss::LossProcess;
use crossfade_core::SimTime;

/// Loss process that loses exactly the transmissions of a list, to replay a trace or to provoke a situation.
#[derive(Clone, Debug)]
pub struct DropList {
    drops: Vec<u64>,
    /// Index in the list of the first drop at or after the last transmission asked for.
    next: usize,
}

impl DropList {
    /// Creates the process that loses the transmissions with the numbers `drops`, counted from 0.
    ///
    /// # Errors
    /// If the numbers do not strictly increase.
    pub fn new(drops: Vec<u64>) -> Result<Self, ChannelError> {
        if let Some(position) = (1..drops.len()).find(|&i| drops[i] <= drops[i - 1]) {
            let (drop, previous) = (drops[position], drops[position - 1]);
            return Err(ChannelError::DropsNotIncreasing { position, drop, previous });
        }
        Ok(Self { drops, next: 0 })
    }
}

impl LossProcess for DropList {
    fn lost(&mut self, _now: SimTime, transmission: u64) -> bool {
        while self.drops.get(self.next).is_some_and(|&drop| drop < transmission) {
            self.next += 1;
        }
        self.drops.get(self.next) == Some(&transmission)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn lost(drops: &[u64], asked: impl IntoIterator<Item = u64>) -> Vec<u64> {
        let mut list = DropList::new(drops.to_vec()).unwrap();
        asked.into_iter().filter(|&tx| list.lost(SimTime::ZERO, tx)).collect()
    }

    #[test]
    fn exactly_the_listed_transmissions_are_lost() {
        assert_eq!(lost(&[0, 3, 4, 17], 0..100), [0, 3, 4, 17]);
        assert_eq!(lost(&[], 0..100), []);
        // Asked of some transmissions only, and twice of one.
        assert_eq!(lost(&[0, 3, 4, 17], [1, 4, 4, 16, 18]), [4, 4]);
    }

    #[test]
    fn a_list_out_of_order_is_refused() {
        for (drops, position) in [(vec![5, 5], 1), (vec![1, 2, 4, 3], 3)] {
            match DropList::new(drops) {
                Err(ChannelError::DropsNotIncreasing { position: found, .. }) => assert_eq!(found, position),
                other => panic!("{other:?}"),
            }
        }
    }
}
