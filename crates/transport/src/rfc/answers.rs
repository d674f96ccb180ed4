//! What the receiver of flavour `rfc` adds to its acknowledgements, and when it sends them.

use super::RfcConfig;
use crate::segment::{SackBlock, Segment};
use crossfade_core::SimTime;

#[derive(Clone, Debug)]
pub(crate) struct Answers {
    config: RfcConfig,
    /// The last segment, if it had arrived before and the next acknowledgement is to say so.
    duplicate: Option<SackBlock>,
    /// When the acknowledgement held back is due.
    deadline: Option<SimTime>,
    /// The timestamp to echo (RFC 7323 section 4.3, `TS.Recent`).
    ts_recent: Option<SimTime>,
    /// What the last acknowledgement said (RFC 7323 section 4.3, `Last.ACK.sent`).
    last_ack_sent: u64,
    /// Echo congestion until the sender has answered (RFC 3168 section 6.1.3).
    ece: bool,
}

impl Answers {
    /// For a receiver that has seen nothing; it reports blocks if `sends_sack`.
    pub(crate) fn new(config: &RfcConfig, sends_sack: bool) -> Self {
        Self {
            config: RfcConfig { d_sack: config.d_sack && sends_sack, ..*config },
            duplicate: None,
            deadline: None,
            ts_recent: None,
            last_ack_sent: 0,
            ece: false,
        }
    }

    /// Takes a segment that arrived at `now`, marked if `ce`; `is_new` and `in_order` say where it belongs. Returns
    /// whether the acknowledgement may wait.
    pub(crate) fn on_segment(
        &mut self,
        now: SimTime,
        segment: &Segment,
        ce: bool,
        is_new: bool,
        in_order: bool,
    ) -> bool {
        if segment.seq <= self.last_ack_sent {
            // RFC 7323 section 4.3 (2): with acknowledgements held back or holes, the oldest segment counts.
            self.ts_recent = self.ts_recent.max(Some(segment.timestamp));
        }
        // RFC 3168 section 6.1.3: the sender has answered; a mark on this very segment is a new one.
        self.ece = (self.ece && !segment.cwr) || ce;
        if !is_new && self.config.d_sack {
            self.duplicate = Some(SackBlock { start: segment.seq, end: segment.seq + 1 });
        }
        in_order && self.may_wait(now)
    }

    /// RFC 5681 section 4.2, RFC 1122 section 4.2.3.2: for the second segment, or for the delay; what is out of order or
    /// fills a hole does not wait.
    fn may_wait(&mut self, now: SimTime) -> bool {
        match (self.config.delayed_ack, self.deadline) {
            (Some(delay), None) => {
                self.deadline = Some(now.saturating_add(delay));
                true
            }
            _ => false,
        }
    }

    pub(crate) fn deadline(&self) -> Option<SimTime> {
        self.deadline
    }

    /// An acknowledgement of everything before `next_expected` is sent now.
    pub(crate) fn take(&mut self, next_expected: u64) -> Options {
        self.deadline = None;
        self.last_ack_sent = next_expected;
        Options {
            duplicate: self.duplicate.take(),
            timestamp_echo: self.ts_recent.filter(|_| self.config.timestamps),
            ece: self.ece && self.config.ecn,
        }
    }
}

/// What an acknowledgement says besides what has arrived.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Options {
    /// The segment that has arrived twice (RFC 2883).
    pub(crate) duplicate: Option<SackBlock>,
    pub(crate) timestamp_echo: Option<SimTime>,
    pub(crate) ece: bool,
}
