//! Spurious retransmissions: found by timestamps (Eifel, RFC 3522) or by reported duplicates (RFC 3708), and what
//! the sender does about them (RFC 4015).

use crossfade_core::SimTime;

/// Why the sender has repeated.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Cause {
    Timeout,
    /// Duplicates, SACK or RACK.
    FastRetransmit,
}

/// A reduction of the window that may still turn out to have had no cause.
#[derive(Clone, Copy, Debug)]
pub(super) struct Episode {
    pub(super) cause: Cause,
    /// The oldest segment when it began: duplicates below are of an earlier one.
    snd_una: u64,
    /// When the oldest segment was first repeated (RFC 3522 section 3.2 step 3, `RetransmitTS`).
    first_repetition: Option<SimTime>,
    /// The first acknowledgement of new data has come: the timestamps have told what they can.
    was_acked: bool,
    repetitions: u32,
    duplicates: u32,
    /// The round trip and its deviation before the timeout (RFC 4015 section 3.2 step 0).
    pub(super) srtt: Option<SimTime>,
    pub(super) rttvar: SimTime,
}

impl Episode {
    /// `was_repeated` if the oldest segment was, before this: then the timestamp of that retransmission would be taken for
    /// the original's. After a timeout that is no mistake: the timeout had no cause either way.
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

    /// An acknowledgement of new data echoes `timestamp`. Whether it answers the original of what was repeated (RFC
    /// 3522 section 3.2 step 5).
    pub(super) fn answers_original(&mut self, timestamp: Option<SimTime>) -> bool {
        if self.first_repetition.is_none() || std::mem::replace(&mut self.was_acked, true) {
            return false;
        }
        timestamp.zip(self.first_repetition).is_some_and(|(echo, repeated)| echo < repeated)
    }

    /// `segments` from `start` on were reported to have arrived twice. Whether every retransmission was (RFC 3708 section
    /// 3 (A)).
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

    /// RFC 3522 section 3.2 steps 4 and 5: the first acceptable acknowledgement tells, no later one. Late
    /// originals echo old times too where the oldest segment was lost indeed.
    #[test]
    fn the_first_acknowledgement_alone_tells() {
        let mut spurious = repeated_at_100();
        assert!(spurious.answers_original(Some(MS * 99)));
        let mut due = repeated_at_100();
        assert!(!due.answers_original(Some(MS * 100)));
        assert!(!due.answers_original(Some(MS * 99)), "the second");
    }
}
