//! What senders tell of what happened to them.

/// What an acknowledgement meant to the sender.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum AckOutcome {
    /// The acknowledgement covered new data.
    New,
    /// The acknowledgement covered nothing new.
    Duplicate,
    /// The acknowledgement was the duplicate that triggered a fast retransmit.
    FastRetransmit,
    /// The acknowledgement covered everything that recovery waited for.
    RecoveryEnd,
    /// The acknowledgement was older than another one.
    Stale,
}

/// Which timer of a sender expired.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Expired {
    /// The retransmission timer (RFC 6298); in flavour `quic` the probe timeout (RFC 9002 section 6.2), after which nothing
    /// is taken for lost.
    Retransmission,
    /// The reordering timer: what was not reported by now is lost (RFC 8985 section 6.2 step 5; RFC 9002 section 6.1.2).
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
    /// Expiries of the retransmission timer, or probe timeouts of flavour `quic`.
    pub timeouts: u64,
    /// Timeouts that F-RTO or Eifel found to be spurious. Flavour `rfc` alone looks.
    pub spurious_timeouts: u64,
    /// Fast retransmits, one for each fast recovery that begins, by an acknowledgement or by a timer for reordering. A persistent
    /// congestion is none.
    pub fast_retransmits: u64,
    /// Fast retransmits that Eifel or D-SACK found to be spurious, or in flavour `quic` the arrival of all that was
    /// taken for lost. Flavours `rfc` and `quic` alone look.
    pub spurious_fast_retransmits: u64,
    /// Probes at the tail of a flight.
    pub tail_loss_probes: u64,
    /// Reductions of the window that answered a congestion mark.
    pub ecn_reductions: u64,
    /// Packets that were found lost and then acknowledged. Flavour `quic` alone knows: numbers are never used again.
    pub spurious_losses: u64,
    /// Persistent congestions (RFC 9002 section 7.6). Flavour `quic` alone has them.
    pub persistent_congestions: u64,
}
