//! What an acknowledgement tells that was not known.

use crate::segment::{SackBlock, SackBlocks};
use crossfade_core::SimTime;

/// A transmission that an acknowledgement has shown to have arrived.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Arrival {
    pub(super) seq: u64,
    pub(super) sent_at: SimTime,
    /// Number of the transmission among all of the connection.
    pub(super) turn: u64,
}

/// What tells whether an acknowledgement answers a retransmission or its original (RFC 8985 section 6.2 step 2).
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Evidence {
    pub(super) now: SimTime,
    pub(super) timestamp_echo: Option<SimTime>,
    pub(super) min_rtt: Option<SimTime>,
    /// A retransmission that is reported has arrived, whatever timestamp is echoed (Linux): the echo is that of the last
    /// segment in order, which is always older.
    pub(super) trusts_sack: bool,
    /// Somebody asks when what has arrived was sent: RACK, or the policies of round trips and timers.
    pub(super) wants_times: bool,
}

impl Evidence {
    /// Whether the last transmission of a segment, at `sent_at`, may be the one that has arrived.
    fn fits(&self, sent_at: SimTime, is_reported: bool) -> bool {
        let asks = !(is_reported && self.trusts_sack);
        self.timestamp_echo.is_none_or(|echo| !asks || echo >= sent_at)
            && self.min_rtt.is_none_or(|min_rtt| self.now.saturating_sub(sent_at) >= min_rtt)
    }
}

/// What an acknowledgement told.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct News {
    /// By how many segments `snd_una` advanced.
    pub(super) acked: u64,
    /// How many segments were reported beyond it for the first time.
    pub(super) sacked: u64,
    /// How many segments are known to have arrived that were not before: RFC 6937's `DeliveredData`.
    pub(super) delivered: u64,
    /// Whether a segment newly known to have arrived was never retransmitted.
    pub(super) original_arrived: bool,
    /// The lowest segment newly known to have arrived that was never retransmitted. This and what follows down to
    /// `sacked_sent` only where [`Evidence::wants_times`].
    pub(super) lowest_original: Option<u64>,
    /// The highest segment newly known to have arrived.
    pub(super) highest: Option<u64>,
    /// The transmission that left last, of the segments newly known to have arrived.
    pub(super) latest: Option<Arrival>,
    /// The highest newly arrived segment that was acknowledged cumulatively, or the highest reported if there is none:
    /// the one that a walk over reports and then acknowledgements meets last.
    pub(super) last: Option<Arrival>,
    /// When the first and the last original were sent that were acknowledged cumulatively and not reported before.
    pub(super) acked_sent: Option<(SimTime, SimTime)>,
    /// Like `acked_sent`, of segments that SACK reported.
    pub(super) sacked_sent: Option<(SimTime, SimTime)>,
    /// A repeated segment was acknowledged cumulatively.
    pub(super) repetition_acked: bool,
    /// The duplicate that the acknowledgement reported (RFC 2883).
    pub(super) duplicate: Option<SackBlock>,
}

impl News {
    /// Counts an arrival, acknowledged cumulatively or reported.
    pub(super) fn add(&mut self, arrival: Arrival, ever_repeated: bool, evidence: &Evidence) {
        self.delivered += 1;
        self.highest = self.highest.max(Some(arrival.seq));
        self.original_arrived |= !ever_repeated;
        if evidence.wants_times {
            self.add_times(arrival, ever_repeated, evidence);
        }
    }

    fn add_times(&mut self, arrival: Arrival, ever_repeated: bool, evidence: &Evidence) {
        let Arrival { seq, sent_at, turn } = arrival;
        if !ever_repeated {
            let sent = if self.sacked > 0 { &mut self.sacked_sent } else { &mut self.acked_sent };
            *sent = Some(sent.map_or((sent_at, sent_at), |(first, _)| (first, sent_at)));
            self.lowest_original = Some(self.lowest_original.map_or(seq, |lowest| lowest.min(seq)));
        } else if !evidence.fits(sent_at, self.sacked > 0) {
            return;
        }
        if self.latest.is_none_or(|latest| (latest.sent_at, latest.turn) <= (sent_at, turn)) {
            self.latest = Some(arrival);
        }
        if self.sacked == 0 || self.last.is_none_or(|last| self.acked == 0 && last.seq < seq) {
            self.last = Some(arrival);
        }
    }
}

/// The first block reports a duplicate if it lies below the cumulative acknowledgement or in the second block
/// (RFC 2883 section 4).
pub(super) fn duplicate(next_expected: u64, sack: &SackBlocks) -> Option<SackBlock> {
    let blocks = sack.as_slice();
    let first = *blocks.first()?;
    let is_inside = |second: &SackBlock| second.start <= first.start && first.end <= second.end;
    (first.end <= next_expected || blocks.get(1).is_some_and(is_inside)).then_some(first)
}
