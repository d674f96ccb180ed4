//! F-RTO: detection of spurious timeouts by the acknowledgements that follow them (RFC 5682).
//!
//! ```text
//!   timeout: repeat the oldest        moves snd_una, not to `recover`:
//!   ┌──────────┐                      two new segments              ┌───────────┐
//!   │ WaitNew  │ ─────────────────────────────────────────────────> │ WaitProof │
//!   └──────────┘                                                    └───────────┘
//!        └── anything else: ──> conventional <── new data arrived ────┤  └── an original arrived: spurious
//! ```

use super::news::News;

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) enum Frto {
    /// No timeout is under examination.
    #[default]
    Off,
    /// Waits for the acknowledgement of the retransmission (RFC 5682 section 2.1 step 2).
    WaitNew,
    /// Waits for acknowledgements after new segments were sent instead of retransmissions, which would make the
    /// evidence ambiguous (RFC 5682 section 2.1 step 3).
    WaitProof {
        /// `RecoveryPoint`: one past the highest segment sent before the new ones.
        recovery_point: u64,
        /// Number of new segments that may still be sent.
        budget: u8,
    },
}

/// Decision of F-RTO about a timeout.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Verdict {
    /// No decision yet about the timeout.
    Open,
    /// The timeout was spurious: no segment was lost.
    Spurious,
    /// The timeout was justified: the acknowledgements of new segments show that earlier ones are lost.
    Lost,
}

/// State of the sender after an acknowledgement.
#[derive(Clone, Copy, Debug)]
pub(super) struct Sent {
    pub(super) snd_una: u64,
    pub(super) snd_max: u64,
    /// One past the highest segment sent before the timeout.
    pub(super) recover: u64,
    pub(super) uses_sack: bool,
    /// True if there is new data within the receiver's window.
    pub(super) has_new: bool,
}

impl Frto {
    pub(super) fn on_ack(&mut self, news: &News, sent: &Sent) -> Verdict {
        let verdict = match *self {
            Self::Off => return Verdict::Open,
            // Section 3.1 step 2: earlier duplicates give no evidence; without SACK (section 2.1 step 2a) they end
            // F-RTO.
            Self::WaitNew if news.acked == 0 && sent.uses_sack => return Verdict::Open,
            Self::WaitNew if news.acked > 0 && sent.snd_una < sent.recover && sent.has_new => {
                // Step 2b.
                *self = Self::WaitProof { recovery_point: sent.snd_max, budget: 2 };
                return Verdict::Open;
            }
            // Step 2a: continue as without F-RTO.
            Self::WaitNew => Verdict::Open,
            Self::WaitProof { recovery_point, .. } if sent.uses_sack => {
                if news.highest.is_some_and(|seq| seq >= recovery_point) {
                    // Section 3.1 step 3a: new data has overtaken the missing segments.
                    Verdict::Lost
                } else if news.original_arrived {
                    // Section 3.1 step 3b: a segment that was never retransmitted has arrived.
                    Verdict::Spurious
                } else {
                    return Verdict::Open;
                }
            }
            // Section 2.1 step 3a: a duplicate; step 3b: the window advances without a retransmission.
            Self::WaitProof { .. } if news.acked == 0 => Verdict::Lost,
            Self::WaitProof { .. } => Verdict::Spurious,
        };
        *self = Self::Off;
        verdict
    }

    /// Mutable access to the number of new segments that may replace retransmissions; `None` if F-RTO sends none now.
    pub(super) fn budget(&mut self) -> Option<&mut u8> {
        match self {
            Self::WaitProof { budget, .. } => Some(budget),
            Self::Off | Self::WaitNew => None,
        }
    }
}
