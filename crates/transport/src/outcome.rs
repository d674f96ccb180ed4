//! What senders tell of what happened to them.

/// What an acknowledgement meant to the sender.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum AckOutcome {
    /// It covered new data.
    New,
    /// It covered nothing new.
    Duplicate,
    /// It was the duplicate that triggered a fast retransmit.
    FastRetransmit,
    /// It covered everything that recovery waited for.
    RecoveryEnd,
    /// It was older than another one.
    Stale,
}

/// Which timer of a sender expired.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Expired {
    /// The retransmission timer (RFC 6298).
    Retransmission,
    /// The reordering timer: what was not reported by now is lost (RFC 8985 section 6.2 step 5).
    Reordering,
    /// The probe timer at the tail of a flight (RFC 8985 section 7).
    TailLossProbe,
    /// The pacer: the next segment may leave.
    Pacing,
}

/// What a sender has counted since its start.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default)]
pub struct SenderStatistics {
    /// Transmissions of segments sent before.
    pub retransmissions: u64,
    /// Expiries of the retransmission timer.
    pub timeouts: u64,
    /// Of these, the ones that F-RTO or Eifel found to be spurious. Flavour `rfc` alone looks.
    pub spurious_timeouts: u64,
    /// Fast retransmits, one for each recovery.
    pub fast_retransmits: u64,
    /// Of these, the ones that Eifel or D-SACK found to be spurious. Flavour `rfc` alone looks.
    pub spurious_fast_retransmits: u64,
    /// Probes at the tail of a flight.
    pub tail_loss_probes: u64,
    /// Reductions of the window that answered a congestion mark.
    pub ecn_reductions: u64,
}
