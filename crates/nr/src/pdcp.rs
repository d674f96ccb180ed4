//! Receiving side of PDCP: order, duplicates, and the timer after which missing SDUs are given up (3GPP TS 38.323
//! section 5.2.2.2).

use crossfade_core::SimTime;
use std::collections::VecDeque;

/// Fate of an SDU, reported in the order of PDCP COUNTs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Delivered {
    /// The packet is delivered.
    Arrived {
        /// PDCP COUNT of the packet.
        count: u64,
        /// Time at which the packet was received, before it waited for earlier ones.
        since: SimTime,
    },
    /// The packet is missing, and t-Reordering has expired.
    Lost {
        /// PDCP COUNT of the packet.
        count: u64,
    },
}

/// Receiving PDCP entity. Its COUNTs never wrap around.
#[derive(Clone, Debug, Default)]
pub struct PdcpReceiver {
    /// `RX_DELIV`: COUNT of the first SDU not delivered.
    deliver: u64,
    /// `RX_NEXT`: COUNT of the next SDU expected.
    next: u64,
    /// Arrival time of each SDU from `RX_DELIV` on; `None` for a missing one.
    stored: VecDeque<Option<SimTime>>,
    /// Expiry of `t-Reordering`, and `RX_REORD`; `None` while the timer does not run.
    timer: Option<(SimTime, u64)>,
}

impl PdcpReceiver {
    /// Expiry of t-Reordering; `None` while it does not run.
    pub fn expiry(&self) -> Option<SimTime> {
        self.timer.map(|(expiry, _)| expiry)
    }

    /// Receives the SDU with this COUNT; SDUs that leave are handed to `leave`. With `reordering` = `None` the receiver
    /// waits for missing SDUs for ever.
    pub fn receive(
        &mut self,
        now: SimTime,
        count: u64,
        reordering: Option<SimTime>,
        mut leave: impl FnMut(Delivered),
    ) {
        let Some(place) = count.checked_sub(self.deliver).map(|place| place as usize) else { return };
        if self.stored.get(place).is_some_and(Option::is_some) {
            return;
        }
        self.next = self.next.max(count + 1);
        if place == 0 {
            leave(Delivered::Arrived { count, since: now });
            self.deliver += 1;
            self.stored.pop_front();
            self.go_on(leave);
        } else {
            if place >= self.stored.len() {
                self.stored.resize(place + 1, None);
            }
            self.stored[place] = Some(now);
        }
        self.restart(now, reordering);
    }

    /// Applies t-Reordering if it has expired by `now`: SDUs missing before `RX_REORD` are reported as lost.
    pub fn expire(&mut self, now: SimTime, reordering: Option<SimTime>, mut leave: impl FnMut(Delivered)) {
        let Some((_, until)) = self.timer.filter(|(expiry, _)| *expiry <= now) else { return };
        self.timer = None;
        while self.deliver < until {
            match self.stored.pop_front().flatten() {
                Some(since) => leave(Delivered::Arrived { count: self.deliver, since }),
                None => leave(Delivered::Lost { count: self.deliver }),
            }
            self.deliver += 1;
        }
        self.go_on(leave);
        self.restart(now, reordering);
    }

    /// Delivers the SDUs that directly follow the last delivered one.
    fn go_on(&mut self, mut leave: impl FnMut(Delivered)) {
        while let Some(&Some(since)) = self.stored.front() {
            self.stored.pop_front();
            leave(Delivered::Arrived { count: self.deliver, since });
            self.deliver += 1;
        }
    }

    fn restart(&mut self, now: SimTime, reordering: Option<SimTime>) {
        if self.timer.is_some_and(|(_, until)| self.deliver >= until) {
            self.timer = None;
        }
        if let (None, true, Some(wait)) = (self.timer, self.deliver < self.next, reordering) {
            self.timer = Some((now + wait, self.next));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const WAIT: Option<SimTime> = Some(SimTime::from_millis(100));

    fn ms(count: u64) -> SimTime {
        SimTime::from_millis(count)
    }

    fn receive(pdcp: &mut PdcpReceiver, now: u64, count: u64) -> Vec<u64> {
        let mut out = Vec::new();
        pdcp.receive(ms(now), count, WAIT, |delivered| match delivered {
            Delivered::Arrived { count, .. } => out.push(count),
            Delivered::Lost { count } => panic!("{count}"),
        });
        out
    }

    #[test]
    fn order_is_restored_and_duplicates_vanish() {
        let mut pdcp = PdcpReceiver::default();
        assert_eq!(receive(&mut pdcp, 0, 0), [0]);
        assert!(receive(&mut pdcp, 1, 2).is_empty() && receive(&mut pdcp, 2, 2).is_empty());
        assert_eq!(pdcp.expiry(), Some(ms(101)));
        assert_eq!(receive(&mut pdcp, 3, 1), [1, 2]);
        assert_eq!(pdcp.expiry(), None);
        assert!(receive(&mut pdcp, 4, 1).is_empty());
    }

    #[test]
    fn what_is_missing_is_given_up_up_to_the_count_of_the_timer() {
        let mut pdcp = PdcpReceiver::default();
        receive(&mut pdcp, 0, 1);
        receive(&mut pdcp, 50, 3);
        let mut out = Vec::new();
        pdcp.expire(ms(99), WAIT, |delivered| out.push(delivered));
        assert!(out.is_empty());
        pdcp.expire(ms(100), WAIT, |delivered| out.push(delivered));
        assert_eq!(out, [Delivered::Lost { count: 0 }, Delivered::Arrived { count: 1, since: ms(0) }]);
        // The timer restarts for the gap before 3.
        assert_eq!(pdcp.expiry(), Some(ms(200)));
        assert_eq!(receive(&mut pdcp, 150, 2), [2, 3]);
    }
}
