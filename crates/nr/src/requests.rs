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

/// Knowledge of the base station about a user's buffer.
#[derive(Clone, Debug)]
enum News {
    /// A scheduling request: the user has data.
    Request,
    /// A block without a report: it is full, and the user may have more data.
    Full,
    /// A buffer status report: the bytes that waited behind the block of a slot, and where the scheduler follows
    /// bearers these bytes by group.
    Report { bytes: u64, slot: u64, groups: Levels },
}

/// Scheduling requests and buffer status reports of one user, at the user and at the base station.
#[derive(Clone, Debug, Default)]
pub(crate) struct Requests {
    /// Whether data have come that no buffer status report covers, and whether they are more urgent than all reported.
    is_unreported: bool,
    is_urgent: bool,
    /// Time at which the next periodic report is due, and the retransmission timer of reports, if data wait.
    periodic: SimTime,
    again: Option<SimTime>,
    /// Slot before which `sr-ProhibitTimer` forbids a request.
    prohibited_until: u64,
    /// Report under way, and the slot from which the base station knows it.
    news: VecDeque<(u64, News)>,
    /// Bytes that the base station takes to be waiting at the user.
    known: u64,
    /// These bytes by group, where the scheduler follows bearers.
    pub(crate) groups: Levels,
    /// Recent grants, slot and bytes, that a later report may not have taken into account.
    granted: VecDeque<(u64, u64)>,
    pub(crate) asked: u64,
}

impl Requests {
    /// Data wait at the user; if `is_first`, its buffer was empty before.
    pub(crate) fn on_data(&mut self, now: SimTime, is_first: bool, config: &UplinkConfig) {
        self.is_unreported |= is_first;
        if is_first {
            self.again = Some(now + config.report_again);
        }
    }

    /// Data wait that are more urgent than all that waited before: a report is due, and a request where nothing is
    /// granted before its occasion (38.321 section 5.4.5).
    pub(crate) fn on_urgent_data(&mut self, now: SimTime, config: &UplinkConfig) {
        (self.is_unreported, self.is_urgent) = (true, true);
        self.again = Some(now + config.report_again);
    }

    /// Forgets everything, as after a handover: the new cell knows nothing about the user.
    pub(crate) fn begin_anew(&mut self) {
        *self = Self { asked: self.asked, ..Self::default() };
    }

    /// Whether a request, a report or a grant is under way.
    pub(crate) fn is_busy(&self) -> bool {
        self.is_unreported || !self.news.is_empty() || self.known > 0
    }

    /// An occasion for a scheduling request in `slot`, which the base station would know about from `known_from` on.
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

    /// The buffer is empty: pending requests are cancelled.
    pub(crate) fn on_empty(&mut self) {
        (self.is_unreported, self.is_urgent, self.again) = (false, false, None);
    }

    /// Applies the retransmission timer of reports (`retxBSR-Timer`): a report that was lost with its block is made
    /// again while data wait.
    pub(crate) fn on_time(&mut self, now: SimTime, config: &UplinkConfig) {
        if self.again.is_some_and(|again| again <= now) {
            self.again = Some(now + config.report_again);
            self.is_unreported = true;
        }
    }

    /// Bytes to be granted by what the base station knows in slot `granted`; 0 where no grant can be sent. A request may
    /// be for the group of priority `urgent`, if the scheduler follows bearers.
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

    /// A block of `bytes` was sent in `slot`, behind which `rest` bytes wait. Returns whether it carries a buffer
    /// status report.
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
        // There is room for one where nothing is left, or it is due.
        let reports = self.is_unreported || rest == 0 || now >= self.periodic;
        if reports {
            (self.is_unreported, self.is_urgent) = (false, false);
            self.periodic = now + config.report_period;
        }
        self.again = (rest > 0).then(|| now + config.report_again);
        reports
    }

    /// A block without a report has arrived. A block with padding would have carried one, so it is full and more may
    /// wait than is known: the base station grants as much as for a scheduling request. (The user itself reports only
    /// when a timer says so.)
    pub(crate) fn on_full_block(&mut self, known_from: u64) {
        self.news.push_back((known_from, News::Full));
    }

    /// A block of `slot` with a report of `bytes`, and of these by group, has arrived.
    pub(crate) fn on_report(&mut self, slot: u64, (bytes, groups): (u64, Levels), known_from: u64) {
        self.news.push_back((known_from, News::Report { bytes, slot, groups }));
    }
}
