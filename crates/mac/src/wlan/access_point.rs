//! Airtime fairness of an access point: order in which stations are served (T. Høiland-Jørgensen et al., USENIX ATC
//! 2017, section 3.2).
//!
//! Stations with waiting packets are in two lists, like the queues of FQ-CoDel (RFC 8290). A station that had none
//! joins the list of new stations, which are served first; when its airtime is used up, or it has no more packets, it
//! moves to the list of old stations. Airtime is charged after each exchange, with all attempts; that of a station's
//! own transmissions is charged while packets for it wait.

use std::collections::VecDeque;

/// Airtime quantum of a turn in nanoseconds: 256 us, Linux's default weight of a station.
const QUANTUM_NS: i64 = 256_000;

/// Stations of one access category with waiting packets, in the order of their turns.
pub(super) struct Turns {
    is_fair: bool,
    new: VecDeque<u16>,
    old: VecDeque<u16>,
    is_listed: Vec<bool>,
    /// Remaining airtime of each station, in nanoseconds.
    deficits: Vec<i64>,
}

impl Turns {
    /// No waiting stations. With `is_fair` stations get equal airtime, otherwise equal numbers of turns.
    pub(super) fn new(stations: usize, is_fair: bool) -> Self {
        Self {
            is_fair,
            new: VecDeque::new(),
            old: VecDeque::new(),
            is_listed: vec![false; stations],
            deficits: vec![QUANTUM_NS; stations],
        }
    }

    /// Adds a station for which a packet waits, if it is not listed.
    pub(super) fn enlist(&mut self, station: usize) {
        if !self.is_listed[station] {
            self.is_listed[station] = true;
            self.deficits[station] = QUANTUM_NS;
            if self.is_fair { &mut self.new } else { &mut self.old }.push_back(station as u16);
        }
    }

    /// Charges a listed station for `nanos` nanoseconds of airtime.
    pub(super) fn charge(&mut self, station: usize, nanos: u64) {
        if self.is_listed[station] {
            self.deficits[station] -= nanos.cast_signed();
        }
    }

    /// True if `has_work` holds for any listed station.
    pub(super) fn any(&self, mut has_work: impl FnMut(usize) -> bool) -> bool {
        self.new.iter().chain(&self.old).any(|&station| has_work(usize::from(station)))
    }

    /// Listed stations, those with most remaining airtime first; without fairness in the order of their turns.
    pub(super) fn order(&self) -> Vec<usize> {
        let mut all: Vec<usize> = self.new.iter().chain(&self.old).map(|&one| usize::from(one)).collect();
        if self.is_fair {
            all.sort_by_key(|&station| std::cmp::Reverse(self.deficits[station]));
        }
        all
    }

    /// Station whose turn it is, among those for which `can` holds: a transmission to them is possible now. Stations
    /// for which `has_work` does not hold either leave the lists.
    pub(super) fn next(
        &mut self,
        mut has_work: impl FnMut(usize) -> bool,
        mut can: impl FnMut(usize) -> bool,
    ) -> Option<usize> {
        let mut passed = [0, 0];
        // The loop repeats only while all stations have used up their airtime; each turn adds a quantum.
        loop {
            let is_new = passed[0] < self.new.len();
            let at = passed[usize::from(!is_new)];
            let from = if is_new { &mut self.new } else { &mut self.old };
            let station = *from.get(at)?;
            let place = usize::from(station);
            if !can(place) {
                if has_work(place) {
                    // A packet waits for it, but cannot be sent on this link now.
                    passed[usize::from(!is_new)] += 1;
                    continue;
                }
                from.remove(at);
                // A new station without packets first passes through the old ones, as in FQ-CoDel.
                if is_new && !self.old.is_empty() {
                    self.old.push_back(station);
                } else {
                    self.is_listed[place] = false;
                }
                continue;
            }
            if !self.is_fair {
                from.remove(at);
                from.push_back(station);
                return Some(place);
            }
            if self.deficits[place] > 0 {
                return Some(place);
            }
            from.remove(at);
            self.deficits[place] += QUANTUM_NS;
            self.old.push_back(station);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Airtime in nanoseconds that stations with endless backlogs get in 10,000 exchanges with the durations `lasts`.
    fn airtime(is_fair: bool, lasts: &[u64]) -> Vec<u64> {
        let mut turns = Turns::new(lasts.len(), is_fair);
        (0..lasts.len()).for_each(|station| turns.enlist(station));
        let mut used = vec![0; lasts.len()];
        for _ in 0..10_000 {
            let station = turns.next(|_| true, |_| true).unwrap();
            used[station] += lasts[station];
            turns.charge(station, lasts[station]);
        }
        used
    }

    #[test]
    fn shares_are_equal_in_time_or_in_turns() {
        let used = airtime(true, &[500_000, 3_000_000, 5_000_000]);
        let mean = used.iter().sum::<u64>() as f64 / 3.0;
        assert!(used.iter().all(|&used| (used as f64 / mean - 1.0).abs() < 0.01), "{used:?}");
        let used = airtime(false, &[500_000, 5_000_000]);
        assert_eq!(used[1], 10 * used[0]);
    }

    #[test]
    fn who_had_nothing_goes_first() {
        let mut turns = Turns::new(3, true);
        turns.enlist(0);
        turns.enlist(1);
        for _ in 0..50 {
            let station = turns.next(|_| true, |_| true).unwrap();
            turns.charge(station, 4_000_000);
        }
        turns.enlist(2);
        assert_eq!(turns.next(|_| true, |_| true), Some(2));
        turns.charge(2, 100_000);
        // Station 2 has no packets: it passes through the old stations, where it leaves the lists.
        assert_ne!(turns.next(|station| station != 2, |station| station != 2), Some(2));
        for _ in 0..100 {
            let station = turns.next(|station| station != 2, |station| station != 2).unwrap();
            turns.charge(station, 4_000_000);
        }
        assert!(!turns.is_listed[2]);
        assert!(!turns.any(|_| false));
    }

    #[test]
    fn who_waits_for_another_link_is_passed_over_and_keeps_its_place() {
        let mut turns = Turns::new(3, true);
        (0..3).for_each(|station| turns.enlist(station));
        assert_eq!(turns.next(|_| true, |station| station == 2), Some(2));
        assert_eq!(turns.next(|_| true, |_| false), None);
        assert_eq!(turns.next(|_| true, |_| true), Some(0));
        assert_eq!(turns.next(|station| station > 0, |station| station > 0), Some(1));
        assert!(!turns.is_listed[0] && turns.is_listed[2]);
    }
}
