//! Spurious retransmissions: detection by timestamps (Eifel, RFC 3522) or by D-SACK (RFC 3708), and the response (RFC
//! 4015).

use crossfade_core::SimTime;

/// Cause of a retransmission.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Cause {
    Timeout,
    /// Fast retransmit after duplicates, SACK or RACK.
    FastRetransmit,
}

/// Window reduction that is undone if it proves spurious.
#[derive(Clone, Copy, Debug)]
pub(super) struct Episode {
    pub(super) cause: Cause,
    /// Oldest unacknowledged segment at the reduction: duplicates of lower segments belong to an earlier episode.
    snd_una: u64,
    /// Time of the first retransmission of the oldest segment (RFC 3522 section 3.2 step 3, `RetransmitTS`).
    first_repetition: Option<SimTime>,
    /// True if new data was acknowledged since the reduction: timestamps then give no further evidence.
    was_acked: bool,
    repetitions: u32,
    duplicates: u32,
    /// Smoothed RTT before the timeout (RFC 4015 section 3.2 step 0); `None` before the first sample.
    pub(super) srtt: Option<SimTime>,
    /// Deviation of the RTT before the timeout (RFC 4015 section 3.2 step 0).
    pub(super) rttvar: SimTime,
}

impl Episode {
    /// Starts an episode. `was_repeated`: the oldest segment had already been retransmitted, so an echoed timestamp of
    /// that retransmission would be taken for the original's. After a timeout this is harmless: the timeout is then
    /// spurious either way.
    pub(super) fn new(
        cause: Cause,
        snd_una: u64,
        was_repeated: bool,
        srtt: Option<SimTime>,
        rttvar: SimTime,
    ) -> Self {
        Self {
            cause,
            snd_una,
            first_repetition: None,
            was_acked: was_repeated && cause == Cause::FastRetransmit,
            repetitions: 0,
            duplicates: 0,
            srtt,
            rttvar,
        }
    }

    pub(super) fn on_repetition(&mut self, seq: u64, now: SimTime) {
        if seq == self.snd_una {
            self.first_repetition.get_or_insert(now);
        }
        self.repetitions += 1;
    }

    /// Processes an acknowledgement of new data that echoes `timestamp`. Returns true if it answers the original of a
    /// retransmitted segment (RFC 3522 section 3.2 step 5).
    pub(super) fn answers_original(&mut self, timestamp: Option<SimTime>) -> bool {
        if self.first_repetition.is_none() || std::mem::replace(&mut self.was_acked, true) {
            return false;
        }
        timestamp.zip(self.first_repetition).is_some_and(|(echo, repeated)| echo < repeated)
    }

    /// Processes a D-SACK of `segments` segments from `start` on. Returns true if all retransmissions of the episode
    /// have been reported as duplicates (RFC 3708 section 3 (A)).
    pub(super) fn all_were_duplicates(&mut self, start: u64, segments: u64) -> bool {
        if start >= self.snd_una {
            self.duplicates = self.duplicates.saturating_add(segments as u32);
        }
        self.repetitions > 0 && self.duplicates >= self.repetitions
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const MS: SimTime = SimTime::from_millis(1);

    fn repeated_at_100() -> Episode {
        let mut episode = Episode::new(Cause::Timeout, 5, false, None, SimTime::ZERO);
        assert!(!episode.answers_original(Some(MS)), "nothing was repeated");
        episode.on_repetition(5, MS * 100);
        episode
    }

    /// Only the first acknowledgement of new data after the retransmission counts (RFC 3522 section 3.2 steps 4 and 5).
    /// Late originals echo old timestamps even if the oldest segment was lost.
    #[test]
    fn the_first_acknowledgement_alone_tells() {
        let mut spurious = repeated_at_100();
        assert!(spurious.answers_original(Some(MS * 99)));
        let mut due = repeated_at_100();
        assert!(!due.answers_original(Some(MS * 100)));
        assert!(!due.answers_original(Some(MS * 99)), "the second");
    }
}
