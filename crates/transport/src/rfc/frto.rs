//! F-RTO: whether a timeout was spurious, told by the acknowledgements after it (RFC 5682).
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
    /// No timeout is in question.
    #[default]
    Off,
    /// Section 2.1 step 2: waits for the acknowledgement of what was repeated.
    WaitNew,
    /// Section 2.1 step 3: new segments were sent instead of retransmissions, which would blur the answer.
    WaitProof {
        /// `RecoveryPoint`: one past the highest segment sent before those.
        recovery_point: u64,
        /// How many new segments may still leave.
        budget: u8,
    },
}

/// What the sender is to do.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Verdict {
    /// Wait.
    Open,
    /// The timeout was spurious: nothing was lost.
    Spurious,
    /// New segments have shown that what is missing is lost.
    Lost,
}

/// The sender as an acknowledgement has left it.
#[derive(Clone, Copy, Debug)]
pub(super) struct Sent {
    pub(super) snd_una: u64,
    pub(super) snd_max: u64,
    /// One past the highest segment sent before the timeout.
    pub(super) recover: u64,
    pub(super) uses_sack: bool,
    /// Whether there is new data that the receiver's window allows.
    pub(super) has_new: bool,
}

impl Frto {
    pub(super) fn on_ack(&mut self, news: &News, sent: &Sent) -> Verdict {
        let verdict = match *self {
            Self::Off => return Verdict::Open,
            // Section 3.1 step 2: duplicates before say nothing; without SACK (section 2.1 step 2a) they end it.
            Self::WaitNew if news.acked == 0 && sent.uses_sack => return Verdict::Open,
            Self::WaitNew if news.acked > 0 && sent.snd_una < sent.recover && sent.has_new => {
                // Step 2b.
                *self = Self::WaitProof { recovery_point: sent.snd_max, budget: 2 };
                return Verdict::Open;
            }
            // Step 2a: goes on as without F-RTO.
            Self::WaitNew => Verdict::Open,
            Self::WaitProof { recovery_point, .. } if sent.uses_sack => {
                if news.highest.is_some_and(|seq| seq >= recovery_point) {
                    // Section 3.1 step 3a: new data overtook what is missing.
                    Verdict::Lost
                } else if news.original_arrived {
                    // Section 3.1 step 3b: what was never repeated has arrived.
                    Verdict::Spurious
                } else {
                    return Verdict::Open;
                }
            }
            // Section 2.1 step 3a: a duplicate; step 3b: the window moves again without a retransmission.
            Self::WaitProof { .. } if news.acked == 0 => Verdict::Lost,
            Self::WaitProof { .. } => Verdict::Spurious,
        };
        *self = Self::Off;
        verdict
    }

    /// Whether new segments take the place of retransmissions now; then how many more.
    pub(super) fn budget(&mut self) -> Option<&mut u8> {
        match self {
            Self::WaitProof { budget, .. } => Some(budget),
            Self::Off | Self::WaitNew => None,
        }
    }
}
