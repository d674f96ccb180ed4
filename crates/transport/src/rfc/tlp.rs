//! Tail loss probes: their timer and the outcome of the last probe (RFC 8985 section 7).

use super::TimerPolicy;
use crate::segment::SackBlock;
use crossfade_core::SimTime;

/// Largest delay of an acknowledgement (`TLP.max_ack_delay`), which RFC 8985 section 7.2 leaves to the implementation;
/// the value is Linux's (`TCP_RTO_MIN`).
const MAX_ACK_DELAY: SimTime = SimTime::from_millis(200);

/// A tail loss probe whose outcome is not known yet.
#[derive(Clone, Copy, Debug)]
struct Probe {
    /// One past the highest segment sent when the probe left (`TLP.end_seq`).
    end_seq: u64,
    /// Segment that the probe retransmits; `None` if the probe carries new data.
    repeats: Option<Original>,
}

/// Segment that a tail loss probe retransmits.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Original {
    pub(super) app_limited: bool,
}

/// Outcome of a tail loss probe, as an acknowledgement shows it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Answer {
    /// The acknowledgement does not concern the probe, or shows no loss.
    Nothing,
    /// The acknowledgement covers the retransmitted segment and nothing beyond: either the original or the probe has
    /// arrived.
    Ambiguous,
    /// The probe has repaired a loss, which is reported to congestion control.
    Repaired(Original),
}

#[derive(Clone, Copy, Debug, Default)]
pub(super) struct TailLossProbe {
    probe: Option<Probe>,
    /// Time at which the next probe is due; `None` if the timer does not run.
    pub(super) deadline: Option<SimTime>,
}

impl TailLossProbe {
    /// Starts the probe's timer at `now` with `flight_size` segments in flight, to expire before the retransmission
    /// timer (RFC 8985 section 7.2, `TLP_calc_PTO`).
    pub(super) fn schedule(
        &mut self,
        now: SimTime,
        srtt: Option<SimTime>,
        flight_size: u64,
        rto_deadline: Option<SimTime>,
        timers: TimerPolicy,
    ) {
        // Section 7.3: one probe at a time.
        if self.probe.is_some() {
            return;
        }
        let ack_delay = if flight_size == 1 { MAX_ACK_DELAY } else { timers.slack() };
        let pto =
            srtt.map_or(SimTime::from_millis(1000), |srtt| srtt.saturating_mul(2).saturating_add(ack_delay));
        let deadline = timers.expiry(now, pto);
        self.deadline = Some(rto_deadline.map_or(deadline, |rto| deadline.min(rto)));
    }

    /// Records that a probe leaves (RFC 8985 section 7.3); `end_seq` is one past the highest segment sent, including
    /// the probe.
    pub(super) fn on_probe(&mut self, end_seq: u64, repeats: Option<Original>) {
        self.probe = Some(Probe { end_seq, repeats });
        self.deadline = None;
    }

    /// Stops the timer and forgets the last probe, because recovery has begun.
    pub(super) fn stop(&mut self) {
        *self = Self::default();
    }

    /// Processes an acknowledgement up to `next_expected`, which may show the outcome of the probe (RFC 8985 section
    /// 7.4.2).
    pub(super) fn on_ack(
        &mut self,
        next_expected: u64,
        duplicate: Option<SackBlock>,
        reports_nothing: bool,
    ) -> Answer {
        let Some(probe) = self.probe.filter(|probe| next_expected >= probe.end_seq) else {
            return Answer::Nothing;
        };
        let original = match probe.repeats {
            Some(original) if duplicate.is_none_or(|block| block.end != probe.end_seq) => original,
            // New data has arrived, or both the original and the probe have.
            _ => {
                self.probe = None;
                return Answer::Nothing;
            }
        };
        if next_expected > probe.end_seq {
            // The probe was accepted as new: the original is gone.
            self.probe = None;
            Answer::Repaired(original)
        } else if reports_nothing {
            // A duplicate without a report: the receiver had the original.
            self.probe = None;
            Answer::Nothing
        } else {
            Answer::Ambiguous
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A D-SACK of the probe's segment shows that the original had arrived; a D-SACK of another segment shows nothing,
    /// and the next acknowledgement then shows the loss (RFC 8985 section 7.4.2). Segments 0 to 9 were sent, and the
    /// probe retransmits the last.
    #[test]
    fn a_duplicate_report_answers_the_probe_if_it_is_of_it() {
        let original = Original { app_limited: false };
        for (start, answer) in [(9, Answer::Nothing), (4, Answer::Repaired(original))] {
            let mut tlp = TailLossProbe::default();
            tlp.on_probe(10, Some(original));
            let first = tlp.on_ack(10, Some(SackBlock { start, end: start + 1 }), false);
            assert_eq!(first == Answer::Ambiguous, start == 4);
            assert_eq!(tlp.on_ack(11, None, false), answer);
        }
    }
}
