//! Loss detection and choice of segments in recovery with SACK (RFC 6675 section 5).

use super::news::News;
use super::{Phase, RfcSender};
use crossfade_core::SimTime;

impl RfcSender {
    /// Looks for losses among segments not reported: by reports of higher segments (RFC 6675 section 4, `IsLost`) or by
    /// time (RFC 8985 section 6).
    pub(super) fn find_losses(&mut self, now: SimTime, news: &News) {
        if !self.uses_sack() {
            return;
        }
        let around = self.surroundings();
        let Some(rack) = &mut self.rack else {
            self.flight.mark_lost_by_dupthresh(u64::from(self.config.dupthresh));
            return;
        };
        rack.on_ack(now, news);
        if news.duplicate.is_some() && self.config.rfc.d_sack {
            rack.on_duplicate(&around);
        }
        if news.delivered > 0 {
            self.find_losses_by_time(now);
        }
    }

    /// Marks segments as lost by transmission time, and sets the reordering timer for overtaken segments that may still
    /// arrive (RFC 8985 section 6.2 step 5).
    pub(super) fn find_losses_by_time(&mut self, now: SimTime) {
        let around = self.surroundings();
        if let Some(rack) = &mut self.rack
            && let Some((newest, wait)) = rack.lost_after(&around)
        {
            let timers = self.policy.timers;
            let deadline = self.flight.mark_lost_by_time(newest, wait, now);
            rack.deadline =
                deadline.map(|at| timers.expiry(now, at.saturating_sub(now).saturating_add(timers.slack())));
        }
    }

    /// Chooses the next segment of a recovery with SACK (RFC 6675 section 4, `NextSeg`); the caller checks the window.
    pub(super) fn next_segment_with_sack(&mut self) -> Option<u64> {
        // (1): the lowest segment that is lost and not repeated.
        if let Some(seq) = self.flight.next_lost() {
            self.sack.on_repeated(seq);
            return Some(seq);
        }
        // (2): new data, as the receiver's window allows.
        if let Some(seq) = self.next_new() {
            return Some(seq);
        }
        // With RACK losses are found by time, so rules (3) and (4), which guess, do not apply.
        if self.phase != Phase::Recovery || self.rack.is_some() {
            return None;
        }
        // (3): a hole that is not known to be lost.
        if let Some(seq) = self.flight.next_hole(self.sack.high_rxt) {
            self.sack.on_repeated(seq);
            return Some(seq);
        }
        // (4): once in a recovery, the highest segment not reported, unless it was retransmitted in this recovery;
        // `HighRxt` stays.
        if self.config.rfc.rescue_retransmission && !self.sack.rescued {
            let highest = self.flight.highest_unsacked().filter(|seq| *seq >= self.sack.high_rxt)?;
            self.sack.rescued = true;
            return Some(highest);
        }
        None
    }
}
