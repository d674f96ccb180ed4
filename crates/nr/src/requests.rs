//! Uplink grants: scheduling requests, buffer status reports (3GPP TS 38.321 sections 5.4.4 and 5.4.5),
//! configured and proactive grants.
//!
//! ```text
//!   user           data come          request              block with a report
//!   ----------------+---------- ... ---+--------------------+------------------ ...
//!                                       \                  / \
//!   base station ------------------------+--- processing -+---+-- processing -- further grants
//! ```

use crate::levels::Levels;
use crate::stack_config::UplinkConfig;
use crossfade_core::SimTime;
use std::collections::VecDeque;

/// Message to the base station about a user's buffer.
#[derive(Clone, Debug)]
enum News {
    /// A scheduling request: the user has data.
    Request,
    /// A block without a report, so the block is full and the user may have more data.
    Full,
    /// A buffer status report: bytes that waited behind the block of a slot, and if the scheduler follows bearers,
    /// these bytes by logical channel group.
    Report { bytes: u64, slot: u64, groups: Levels },
}

/// Scheduling requests and buffer status reports of one user, with the state of both the user and the base station.
#[derive(Clone, Debug, Default)]
pub(crate) struct Requests {
    /// True if data have come that no buffer status report covers; `is_urgent` if they are more urgent than all
    /// reported data.
    is_unreported: bool,
    is_urgent: bool,
    /// Time at which the next periodic report is due; `again` is the expiry of the retransmission timer of reports,
    /// `None` without data.
    periodic: SimTime,
    again: Option<SimTime>,
    /// First slot in which `sr-ProhibitTimer` allows the next request.
    prohibited_until: u64,
    /// Messages under way, each with the slot from which the base station knows it.
    news: VecDeque<(u64, News)>,
    /// Number of bytes that the base station believes to wait at the user.
    known: u64,
    /// Bytes of `known` by logical channel group, if the scheduler follows bearers.
    pub(crate) groups: Levels,
    /// Recent grants with slot and bytes, which a later report may not include.
    granted: VecDeque<(u64, u64)>,
    pub(crate) asked: u64,
}

impl Requests {
    /// Records that data wait at the user; `is_first` if its buffer was empty before.
    pub(crate) fn on_data(&mut self, now: SimTime, is_first: bool, config: &UplinkConfig) {
        self.is_unreported |= is_first;
        if is_first {
            self.again = Some(now + config.report_again);
        }
    }

    /// Records data more urgent than all that waited: a report is due, and a request if no grant comes before its
    /// occasion (38.321 section 5.4.5).
    pub(crate) fn on_urgent_data(&mut self, now: SimTime, config: &UplinkConfig) {
        (self.is_unreported, self.is_urgent) = (true, true);
        self.again = Some(now + config.report_again);
    }

    /// Resets the state, as after a handover: the new cell knows nothing about the user.
    pub(crate) fn begin_anew(&mut self) {
        *self = Self { asked: self.asked, ..Self::default() };
    }

    /// True if a request, a report or a grant is under way.
    pub(crate) fn is_busy(&self) -> bool {
        self.is_unreported || !self.news.is_empty() || self.known > 0
    }

    /// Sends a scheduling request if one is pending, at an occasion in `slot`; the base station knows it from slot
    /// `known_from` on.
    pub(crate) fn on_occasion(&mut self, slot: u64, known_from: u64, config: &UplinkConfig) {
        let expects = self.known > 0 || !self.news.is_empty();
        if !self.is_unreported || (expects && !self.is_urgent) || slot < self.prohibited_until {
            return;
        }
        self.is_urgent = false;
        self.prohibited_until = slot + config.request_prohibit_slots;
        self.asked += 1;
        self.news.push_back((known_from, News::Request));
    }

    /// Cancels pending requests, as the buffer is empty.
    pub(crate) fn on_empty(&mut self) {
        (self.is_unreported, self.is_urgent, self.again) = (false, false, None);
    }

    /// Applies the retransmission timer of reports (`retxBSR-Timer`): if a report was lost with its block and data
    /// still wait, a new one is due.
    pub(crate) fn on_time(&mut self, now: SimTime, config: &UplinkConfig) {
        if self.again.is_some_and(|again| again <= now) {
            self.again = Some(now + config.report_again);
            self.is_unreported = true;
        }
    }

    /// Bytes to grant by the base station's knowledge in slot `granted`; 0 if no grant can be sent. If the scheduler
    /// follows bearers, a request counts for the group of priority `urgent`.
    pub(crate) fn wanted(&mut self, granted: Option<u64>, urgent: Option<u32>, config: &UplinkConfig) -> u64 {
        let Some(granted) = granted else { return 0 };
        let least = u64::from(config.request_grant_bytes);
        while self.news.front().is_some_and(|(from, _)| *from <= granted) {
            let Some((_, news)) = self.news.pop_front() else { break };
            match news {
                News::Full => self.known = self.known.max(least),
                News::Request => {
                    self.known = self.known.max(least);
                    if let Some(urgent) = urgent {
                        self.groups.add(urgent, least.saturating_sub(self.groups.of(urgent)));
                        self.known = self.known.max(self.groups.total());
                    }
                }
                News::Report { bytes, slot, groups } => {
                    self.granted.retain(|(of, _)| *of > slot);
                    let later: u64 = self.granted.iter().map(|(_, bytes)| bytes).sum();
                    self.known = bytes.saturating_sub(later);
                    self.groups = groups;
                    self.groups.take(later);
                }
            }
        }
        self.known
    }

    /// Records that a block of `bytes` was sent in `slot`, behind which `rest` bytes wait. Returns true if it carries a
    /// buffer status report.
    pub(crate) fn on_block(
        &mut self,
        now: SimTime,
        slot: u64,
        (bytes, rest): (u64, u64),
        config: &UplinkConfig,
    ) -> bool {
        self.known = self.known.saturating_sub(bytes);
        self.groups.take(bytes);
        self.granted.push_back((slot, bytes));
        if self.granted.len() > 64 {
            self.granted.pop_front();
        }
        // A report is due, or there is room for one as no data are left.
        let reports = self.is_unreported || rest == 0 || now >= self.periodic;
        if reports {
            (self.is_unreported, self.is_urgent) = (false, false);
            self.periodic = now + config.report_period;
        }
        self.again = (rest > 0).then(|| now + config.report_again);
        reports
    }

    /// Records the arrival of a block without a report. As padding would have held one, the block is full and more data
    /// may wait than is known: the base station then grants as much as for a scheduling request. (The user itself
    /// reports only when a timer expires.)
    pub(crate) fn on_full_block(&mut self, known_from: u64) {
        self.news.push_back((known_from, News::Full));
    }

    /// Records the arrival of a block of `slot` with a report of waiting bytes, in total and by group.
    pub(crate) fn on_report(&mut self, slot: u64, (bytes, groups): (u64, Levels), known_from: u64) {
        self.news.push_back((known_from, News::Report { bytes, slot, groups }));
    }
}
