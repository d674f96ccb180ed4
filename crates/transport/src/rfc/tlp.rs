//! Tail loss probes (RFC 8985 section 7).

use crate::config::Rules;
use crossfade_core::SimTime;

/// `TLP.max_ack_delay`, whose value RFC 8985 section 7.2 leaves to the implementation: here that of Linux (`TCP_RTO_MIN`).
const MAX_ACK_DELAY: SimTime = SimTime::from_millis(200);

/// A probe that was sent and not yet explained.
#[derive(Clone, Copy, Debug)]
struct Probe {
    /// `TLP.end_seq`: one past the highest segment sent then.
    end_seq: u64,
    is_repetition: bool,
}

#[derive(Clone, Copy, Debug, Default)]
pub(super) struct TailLossProbe {
    probe: Option<Probe>,
    /// When the probe is due, if the timer runs.
    pub(super) deadline: Option<SimTime>,
}

impl TailLossProbe {
    /// Starts the timer at `now` with `flight_size` segments under way, before the retransmission timer expires
    /// (section 7.2, `TLP_calc_PTO`); `rules` are the timer's.
    pub(super) fn schedule(
        &mut self,
        now: SimTime,
        srtt: Option<SimTime>,
        flight_size: u64,
        rto_deadline: Option<SimTime>,
        rules: Rules,
    ) {
        // Section 7.3: one probe at a time.
        if self.probe.is_some() {
            return;
        }
        let ack_delay = if flight_size == 1 { MAX_ACK_DELAY } else { rules.timer_slack() };
        let pto =
            srtt.map_or(SimTime::from_millis(1000), |srtt| srtt.saturating_mul(2).saturating_add(ack_delay));
        let deadline = rules.expiry(now, pto);
        self.deadline = Some(rto_deadline.map_or(deadline, |rto| deadline.min(rto)));
    }

    /// The probe leaves (section 7.3); `end_seq` is one past the highest segment sent, the probe included.
    pub(super) fn on_probe(&mut self, end_seq: u64, is_repetition: bool) {
        self.probe = Some(Probe { end_seq, is_repetition });
        self.deadline = None;
    }

    /// Recovery has begun: no probe is needed, and the last one needs no explanation.
    pub(super) fn stop(&mut self) {
        *self = Self::default();
    }

    /// Takes an acknowledgement (section 7.4.2). Returns whether the probe has repaired a loss that congestion
    /// control is to hear of.
    pub(super) fn on_ack(
        &mut self,
        next_expected: u64,
        reports_duplicate: bool,
        reports_nothing: bool,
    ) -> bool {
        let Some(probe) = self.probe.filter(|probe| next_expected >= probe.end_seq) else { return false };
        if !probe.is_repetition || reports_duplicate {
            // New data has arrived, or both the original and the probe have.
            self.probe = None;
        } else if next_expected > probe.end_seq {
            // The probe was accepted as new: the original is gone.
            self.probe = None;
            return true;
        } else if reports_nothing {
            // A duplicate without a report: the receiver had the original.
            self.probe = None;
        }
        false
    }
}
