//! How a user's data come by grants of the uplink: scheduling requests, buffer status reports (3GPP TS 38.321 sections 5.4.4 and 5.4.5),
//! configured and proactive grants.
//!
//! ```text
//!   user           data come          request              block with a report
//!   ----------------+---------- ... ---+--------------------+------------------ ...
//!                                       \                  / \
//!   base station ------------------------+--- processing -+---+-- processing -- further grants
//! ```

use crate::stack_config::UplinkConfig;
use crossfade_core::SimTime;
use std::collections::VecDeque;

/// What the base station learns of a user.
#[derive(Clone, Copy, Debug)]
enum News {
    /// The user has something to send.
    Request,
    /// The user had so many bytes behind the block of a slot.
    Report { bytes: u64, slot: u64 },
}

/// Both sides of one user.
#[derive(Clone, Debug, Default)]
pub(crate) struct Requests {
    /// Data have come that no report has told of.
    is_unreported: bool,
    /// Reports are due at these times, if data wait.
    periodic: SimTime,
    again: Option<SimTime>,
    /// No request before this slot.
    prohibited_until: u64,
    /// What the base station will know, from which slot on.
    news: VecDeque<(u64, News)>,
    /// Bytes that it takes to be waiting.
    known: u64,
    /// Grants by slot that a report may not have taken into account.
    granted: VecDeque<(u64, u64)>,
    pub(crate) asked: u64,
}

impl Requests {
    /// Data wait at the user, for which nothing was asked yet if `is_first`.
    pub(crate) fn on_data(&mut self, now: SimTime, is_first: bool, config: &UplinkConfig) {
        self.is_unreported |= is_first;
        if is_first {
            self.again = Some(now + config.report_again);
        }
    }

    /// In another cell nothing is known of the user.
    pub(crate) fn begin_anew(&mut self) {
        *self = Self { asked: self.asked, ..Self::default() };
    }

    /// Whether anything is under way.
    pub(crate) fn is_busy(&self) -> bool {
        self.is_unreported || !self.news.is_empty() || self.known > 0
    }

    /// A slot in which a request could be sent, which the base station knows of in `known_from`.
    pub(crate) fn on_occasion(&mut self, slot: u64, known_from: u64, config: &UplinkConfig) {
        let expects = self.known > 0 || !self.news.is_empty();
        if !self.is_unreported || expects || slot < self.prohibited_until {
            return;
        }
        self.prohibited_until = slot + config.request_prohibit_slots;
        self.asked += 1;
        self.news.push_back((known_from, News::Request));
    }

    /// Nothing is asked for any more.
    pub(crate) fn on_empty(&mut self) {
        (self.is_unreported, self.again) = (false, None);
    }

    /// A report gets lost with its block: it is made anew after some time, while data wait.
    pub(crate) fn on_time(&mut self, now: SimTime, config: &UplinkConfig) {
        if self.again.is_some_and(|again| again <= now) {
            self.again = Some(now + config.report_again);
            self.is_unreported = true;
        }
    }

    /// The bytes for which a block is granted by what is known in slot `granted`.
    pub(crate) fn wanted(&mut self, granted: Option<u64>, config: &UplinkConfig) -> u64 {
        if let Some(granted) = granted {
            while let Some(&(_, news)) = self.news.front().filter(|(from, _)| *from <= granted) {
                self.news.pop_front();
                match news {
                    News::Request => self.known = self.known.max(u64::from(config.request_grant_bytes)),
                    News::Report { bytes, slot } => {
                        self.granted.retain(|(of, _)| *of > slot);
                        let later: u64 = self.granted.iter().map(|(_, bytes)| bytes).sum();
                        self.known = bytes.saturating_sub(later);
                    }
                }
            }
        }
        if granted.is_some() { self.known } else { 0 }
    }

    /// A block of so many bytes was sent in `slot`, behind which `rest` wait. Whether it has a report, which the base station knows of from
    /// `known_from` on if the block arrives.
    pub(crate) fn on_block(
        &mut self,
        now: SimTime,
        slot: u64,
        (bytes, rest): (u64, u64),
        config: &UplinkConfig,
    ) -> bool {
        self.known = self.known.saturating_sub(bytes);
        self.granted.push_back((slot, bytes));
        if self.granted.len() > 64 {
            self.granted.pop_front();
        }
        // There is room for one where nothing is left, or it is due.
        let reports = self.is_unreported || rest == 0 || now >= self.periodic;
        if reports {
            self.is_unreported = false;
            self.periodic = now + config.report_period;
        }
        self.again = (rest > 0).then(|| now + config.report_again);
        reports
    }

    /// A block without a report has arrived. It is full, or there would be room for one: more may wait than is known of, and the base
    /// station grants as much as for a request. (The user reports when that is due, and by itself asks after `report_again` alone.)
    pub(crate) fn on_full_block(&mut self, known_from: u64) {
        self.news.push_back((known_from, News::Request));
    }

    /// A block of `slot` with a report of `bytes` has arrived.
    pub(crate) fn on_report(&mut self, slot: u64, bytes: u64, known_from: u64) {
        self.news.push_back((known_from, News::Report { bytes, slot }));
    }
}
