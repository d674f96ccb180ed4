//! Facts that an acknowledgement reports for the first time.

use crate::segment::{SackBlock, SackBlocks};
use crossfade_core::SimTime;

/// A transmission that an acknowledgement has shown to have arrived.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Arrival {
    pub(super) seq: u64,
    pub(super) sent_at: SimTime,
    /// Number of the transmission among all transmissions of the connection.
    pub(super) turn: u64,
}

/// Evidence by which an acknowledgement is attributed to a retransmission or its original (RFC 8985 section 6.2 step
/// 2).
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Evidence {
    pub(super) now: SimTime,
    pub(super) timestamp_echo: Option<SimTime>,
    pub(super) min_rtt: Option<SimTime>,
    /// True if a SACK report of a retransmission counts as its arrival whatever timestamp is echoed, as in Linux: the
    /// echo is of the last in-order segment, which is always older.
    pub(super) trusts_sack: bool,
    /// True if sending times of arrived segments are needed, by RACK or by the policies of RTTs and timers.
    pub(super) wants_times: bool,
}

impl Evidence {
    /// True if the last transmission of a segment, at `sent_at`, may be the one that has arrived.
    fn fits(&self, sent_at: SimTime, is_reported: bool) -> bool {
        let asks = !(is_reported && self.trusts_sack);
        self.timestamp_echo.is_none_or(|echo| !asks || echo >= sent_at)
            && self.min_rtt.is_none_or(|min_rtt| self.now.saturating_sub(sent_at) >= min_rtt)
    }
}

/// Facts that an acknowledgement reports for the first time.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct News {
    /// Number of segments by which `snd_una` advanced.
    pub(super) acked: u64,
    /// Number of segments beyond `snd_una` reported for the first time.
    pub(super) sacked: u64,
    /// Number of segments newly known to have arrived: RFC 6937's `DeliveredData`.
    pub(super) delivered: u64,
    /// True if a segment newly known to have arrived was never retransmitted.
    pub(super) original_arrived: bool,
    /// Lowest newly arrived segment that was never retransmitted. This field and the following ones down to
    /// `sacked_sent` are set only with [`Evidence::wants_times`].
    pub(super) lowest_original: Option<u64>,
    /// The highest segment newly known to have arrived.
    pub(super) highest: Option<u64>,
    /// Latest transmission among the newly arrived segments; set only with [`Evidence::wants_times`].
    pub(super) latest: Option<Arrival>,
    /// Highest newly arrived segment acknowledged cumulatively, or else the highest reported one: the last in a walk
    /// over reports and then cumulative acknowledgements.
    pub(super) last: Option<Arrival>,
    /// Sending times of the first and last original newly acknowledged cumulatively without an earlier report.
    pub(super) acked_sent: Option<(SimTime, SimTime)>,
    /// Sending times of the first and last original newly reported by SACK.
    pub(super) sacked_sent: Option<(SimTime, SimTime)>,
    /// True if a retransmitted segment was acknowledged cumulatively.
    pub(super) repetition_acked: bool,
    /// Duplicate segments that the acknowledgement reported by D-SACK (RFC 2883).
    pub(super) duplicate: Option<SackBlock>,
}

impl News {
    /// Counts the arrival of a segment, acknowledged cumulatively or reported by SACK.
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

/// Duplicate segments that the first SACK block reports, if the block lies below the cumulative acknowledgement or in
/// the second block (RFC 2883 section 4).
pub(super) fn duplicate(next_expected: u64, sack: &SackBlocks) -> Option<SackBlock> {
    let blocks = sack.as_slice();
    let first = *blocks.first()?;
    let is_inside = |second: &SackBlock| second.start <= first.start && first.end <= second.end;
    (first.end <= next_expected || blocks.get(1).is_some_and(is_inside)).then_some(first)
}
