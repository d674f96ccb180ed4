//! Reordering of a stream of bytes at the receiver, with the timer after which missing bytes are given up (3GPP TS
//! 38.323 section 5.2.2.2, t-Reordering).

use crossfade_core::SimTime;

/// Received parts of a stream of bytes.
#[derive(Clone, Debug, Default)]
pub(crate) struct Reassembly {
    /// Offset before which every byte was delivered or given up.
    until: u64,
    /// Received parts behind a gap, in ascending order.
    islands: Vec<(u64, u64)>,
    /// Expiry of the timer, and offset before which gaps are then given up; `None` while the timer does not run.
    timer: Option<(SimTime, u64)>,
}

impl Reassembly {
    /// Offset before which every byte was delivered or given up.
    pub(crate) fn until(&self) -> u64 {
        self.until
    }

    /// Expiry of the timer; `None` while it does not run.
    pub(crate) fn expiry(&self) -> Option<SimTime> {
        self.timer.map(|(expiry, _)| expiry)
    }

    /// Receives the bytes from `start` to `end`; bytes that were given up before are ignored.
    pub(crate) fn receive(&mut self, now: SimTime, (start, end): (u64, u64), reordering: SimTime) {
        if end <= self.until {
            return;
        }
        let start = start.max(self.until);
        let place = self.islands.partition_point(|island| island.0 < start);
        self.islands.insert(place, (start, end));
        self.join();
        self.restart(now, reordering);
    }

    /// If the timer has expired by `now`, gives up the missing bytes before its offset and returns their ranges;
    /// otherwise `None`.
    pub(crate) fn expire(&mut self, now: SimTime, reordering: SimTime) -> Option<Vec<(u64, u64)>> {
        let (_, place) = self.timer.filter(|(expiry, _)| *expiry <= now)?;
        self.timer = None;
        let mut lost = Vec::new();
        while let Some(&(start, _)) = self.islands.first().filter(|(start, _)| *start < place) {
            lost.push((self.until, start));
            self.until = start;
            self.join();
        }
        self.restart(now, reordering);
        Some(lost)
    }

    /// Delivers the parts that directly follow the last delivered byte.
    fn join(&mut self) {
        let joined = self.islands.iter().take_while(|island| {
            let joins = island.0 <= self.until;
            if joins {
                self.until = self.until.max(island.1);
            }
            joins
        });
        let joined = joined.count();
        self.islands.drain(..joined);
    }

    /// Starts or stops the timer, which runs while parts wait, for the gaps before all that had arrived when it
    /// started.
    fn restart(&mut self, now: SimTime, reordering: SimTime) {
        if self.timer.is_some_and(|(_, place)| place <= self.until) {
            self.timer = None;
        }
        if let (None, Some(&(_, end))) = (self.timer, self.islands.last()) {
            self.timer = Some((now + reordering, end));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const MS: SimTime = SimTime::from_millis(1);

    #[test]
    fn gaps_are_waited_for_and_given_up() {
        let mut order = Reassembly::default();
        let wait = MS * 10;
        order.receive(MS, (0, 100), wait);
        assert_eq!((order.until(), order.expiry()), (100, None));
        order.receive(MS * 2, (200, 300), wait);
        order.receive(MS * 5, (400, 500), wait);
        assert_eq!((order.until(), order.expiry()), (100, Some(MS * 12)));
        assert_eq!(order.expire(MS * 11, wait), None);
        // Gaps before the parts that arrived before the start of the timer are given up; for the second gap it
        // restarts.
        assert_eq!(order.expire(MS * 12, wait), Some(vec![(100, 200)]));
        assert_eq!((order.until(), order.expiry()), (300, Some(MS * 22)));
        // One part comes too late, one in time.
        order.receive(MS * 13, (100, 200), wait);
        assert_eq!((order.until(), order.expiry()), (300, Some(MS * 22)));
        order.receive(MS * 14, (300, 400), wait);
        assert_eq!((order.until(), order.expiry()), (500, None));
    }

    #[test]
    fn the_timer_goes_on_where_later_parts_wait() {
        let mut order = Reassembly::default();
        order.receive(MS, (10, 20), MS * 5);
        order.receive(MS * 2, (30, 40), MS * 5);
        order.receive(MS * 3, (0, 10), MS * 5);
        // The gap for which the timer ran is filled: it restarts for the next.
        assert_eq!((order.until(), order.expiry()), (20, Some(MS * 8)));
    }
}
