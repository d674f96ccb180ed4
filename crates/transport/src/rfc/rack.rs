//! RACK: loss detection by transmission time (RFC 8985 section 6).

use super::news::{Arrival, News};
use super::policy::RackPolicy;
use crossfade_core::SimTime;

/// Number of recoveries without a reported duplicate after which the reordering window shrinks again (RFC 8985 section
/// 6.2 step 4).
const REO_WND_PERSIST: u32 = 16;

#[derive(Clone, Copy, Debug)]
pub(super) struct Rack {
    /// Sending time of the latest transmission among those that have arrived, and its number among all transmissions;
    /// `None` if none has arrived.
    newest: Option<(SimTime, u64)>,
    /// RTT of the segment that arrived last, at its last transmission.
    rtt: SimTime,
    min_rtt: Option<SimTime>,
    /// One past the highest segment that has arrived.
    fack: u64,
    reordering_seen: bool,
    reo_wnd_mult: u32,
    reo_wnd_persist: u32,
    /// Segment number whose acknowledgement ends the round in which further duplicates do not count; `None` outside
    /// such a round.
    dsack_round: Option<u64>,
    /// Expiry of the reordering timer; `None` if it does not run.
    pub(super) deadline: Option<SimTime>,
}

/// State of the sender on which RACK's reordering window depends.
#[derive(Clone, Copy, Debug)]
pub(super) struct Surroundings {
    pub(super) snd_una: u64,
    pub(super) snd_max: u64,
    pub(super) in_recovery: bool,
    /// True if at least `dupthresh` segments are reported.
    pub(super) many_sacked: bool,
    pub(super) srtt: Option<SimTime>,
}

impl Rack {
    /// Creates the state of RACK; `handshake_rtt` is the RTT of the handshake, if it was measured.
    pub(super) fn new(handshake_rtt: Option<SimTime>) -> Self {
        Self {
            newest: None,
            rtt: handshake_rtt.unwrap_or(SimTime::ZERO),
            min_rtt: handshake_rtt,
            fack: 0,
            reordering_seen: false,
            reo_wnd_mult: 1,
            reo_wnd_persist: REO_WND_PERSIST,
            dsack_round: None,
            deadline: None,
        }
    }

    /// Minimum RTT; `None` before the first sample.
    pub(super) fn min_rtt(&self) -> Option<SimTime> {
        self.min_rtt
    }

    /// Processes the new information of an acknowledgement that arrived at `now` (RFC 8985 section 6.2, steps 1 to 3).
    pub(super) fn on_ack(&mut self, now: SimTime, news: &News) {
        // Step 2; arrivals that may be of the original were excluded before.
        if let Some(Arrival { sent_at, turn, .. }) = news.latest {
            let rtt = now.saturating_sub(sent_at);
            self.newest = self.newest.max(Some((sent_at, turn)));
            // Step 1.
            self.min_rtt = Some(self.min_rtt.map_or(rtt, |min| min.min(rtt)));
        }
        // Step 2 sets the RTT at each arrival, whether or not its segment was sent last.
        if let Some(last) = news.last {
            self.rtt = now.saturating_sub(last.sent_at);
        }
        // Step 3: reordering, since an original arrives after a later segment.
        self.reordering_seen |= news.lowest_original.is_some_and(|seq| seq + 1 < self.fack);
        self.fack = self.fack.max(news.highest.map_or(0, |seq| seq + 1));
    }

    /// Enlarges the reordering window, once per round, after a reported duplicate has shown that it was too short (RFC
    /// 8985 section 6.2, step 4).
    pub(super) fn on_duplicate(&mut self, around: &Surroundings) {
        self.dsack_round = self.dsack_round.filter(|round| around.snd_una < *round);
        if self.dsack_round.is_none() {
            self.dsack_round = Some(around.snd_max);
            self.reo_wnd_mult = self.reo_wnd_mult.saturating_add(1);
            self.reo_wnd_persist = REO_WND_PERSIST;
        }
    }

    /// Counts the end of a recovery, after 16 of which without a duplicate the reordering window shrinks again (RFC
    /// 8985 section 6.2, step 4).
    pub(super) fn on_recovery_end(&mut self) {
        self.reo_wnd_persist = self.reo_wnd_persist.saturating_sub(1);
        if self.reo_wnd_persist == 0 {
            self.reo_wnd_mult = 1;
        }
    }

    /// Reordering window: time for which a segment may be overtaken without counting as lost (RFC 8985 section 6.2,
    /// step 4).
    fn reo_wnd(&self, around: &Surroundings) -> SimTime {
        if !self.reordering_seen && (around.in_recovery || around.many_sacked) {
            return SimTime::ZERO;
        }
        let quarter = self.min_rtt.map_or(0, |min_rtt| min_rtt.as_nanos() / 4);
        let wnd = SimTime::from_nanos(quarter).saturating_mul(u64::from(self.reo_wnd_mult));
        around.srtt.map_or(wnd, |srtt| wnd.min(srtt))
    }

    /// Age from which a segment counts as lost at a timeout (RFC 8985 section 6.3: `RACK.rtt + RACK.reo_wnd`).
    pub(super) fn lost_on_timeout(&self, around: &Surroundings, policy: RackPolicy) -> SimTime {
        if policy.timeout_allows_reordering {
            self.rtt.saturating_add(self.reo_wnd(around))
        } else {
            self.rtt
        }
    }

    /// Latest transmission that has arrived, and the age from which an older one is lost (RFC 8985 section 6.2, step 5:
    /// `RACK.rtt + RACK.reo_wnd`).
    pub(super) fn lost_after(&self, around: &Surroundings) -> Option<((SimTime, u64), SimTime)> {
        Some((self.newest?, self.rtt.saturating_add(self.reo_wnd(around))))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const MS: SimTime = SimTime::from_millis(1);

    fn around(snd_una: u64, srtt: u64) -> Surroundings {
        Surroundings {
            snd_una,
            snd_max: snd_una + 10,
            in_recovery: false,
            many_sacked: false,
            srtt: Some(MS * srtt),
        }
    }

    /// The reordering window is a quarter of the minimum RTT of 40 ms, one more quarter for each round with a
    /// duplicate, for 16 recoveries after the last duplicate (RFC 8985 section 6.2 step 4).
    #[test]
    fn the_window_of_a_duplicate_persists_for_sixteen_recoveries() {
        let mut rack = Rack { reordering_seen: true, ..Rack::new(Some(MS * 40)) };
        let wnd = |rack: &Rack| rack.reo_wnd(&around(0, 1000)) / MS;
        assert_eq!(wnd(&rack), 10);
        rack.on_duplicate(&around(0, 1000));
        rack.on_duplicate(&around(9, 1000));
        assert_eq!(wnd(&rack), 20, "one round, one step");
        (0..15).for_each(|_| rack.on_recovery_end());
        assert_eq!(wnd(&rack), 20, "after 15");
        // Another duplicate restarts the count.
        rack.on_duplicate(&around(10, 1000));
        assert_eq!(wnd(&rack), 30);
        (0..15).for_each(|_| rack.on_recovery_end());
        assert_eq!(wnd(&rack), 30, "after 15 more");
        rack.on_recovery_end();
        assert_eq!(wnd(&rack), 10, "after 16");
    }

    /// The reordering window is at most the smoothed RTT (RFC 8985 section 6.2 step 4).
    #[test]
    fn the_window_is_capped_by_the_smoothed_round_trip() {
        let mut rack = Rack { reordering_seen: true, ..Rack::new(Some(MS * 40)) };
        (0..9).for_each(|round| rack.on_duplicate(&around(10 * round, 55)));
        assert_eq!(rack.reo_wnd(&around(90, 55)), MS * 55, "not ten quarters, 100 ms");
        assert_eq!(rack.lost_after(&around(90, 55)), None, "nothing has arrived");
        assert_eq!(rack.lost_on_timeout(&around(90, 55), RackPolicy::rfc()), MS * 95);
    }
}
