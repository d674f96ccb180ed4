//! Outcome of an acknowledgement, expired timers and counters that senders report.

/// Outcome of processing an acknowledgement at the sender.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum AckOutcome {
    /// The acknowledgement covered new data.
    New,
    /// The acknowledgement covered no new data and triggered no fast retransmit.
    Duplicate,
    /// The acknowledgement triggered a fast retransmit.
    FastRetransmit,
    /// The acknowledgement ended recovery: it covered everything sent before recovery began.
    RecoveryEnd,
    /// The acknowledgement was older than one already received.
    Stale,
}

/// Timer that has expired at a sender.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Expired {
    /// The retransmission timer (RFC 6298), or in flavour `quic` the probe timeout (RFC 9002 section 6.2), which marks
    /// nothing as lost.
    Retransmission,
    /// The reordering timer: segments overtaken by later ones and still not reported are lost (RFC 8985 section 6.2
    /// step 5; RFC 9002 section 6.1.2).
    Reordering,
    /// The tail loss probe timer (RFC 8985 section 7).
    TailLossProbe,
    /// The pacing timer: the next segment may leave.
    Pacing,
}

/// Counters of a sender since its connection started.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default)]
pub struct SenderStatistics {
    /// Number of retransmissions sent.
    pub retransmissions: u64,
    /// Number of expiries of the retransmission timer or, in flavour `quic`, of probe timeouts.
    pub timeouts: u64,
    /// Number of timeouts that F-RTO or Eifel found spurious; only flavour `rfc` detects them.
    pub spurious_timeouts: u64,
    /// Number of fast retransmits: one per fast recovery, started by an acknowledgement or by the reordering timer.
    /// Persistent congestion does not count.
    pub fast_retransmits: u64,
    /// Number of fast retransmits found spurious: by Eifel or D-SACK in flavour `rfc`, by late arrival of all packets
    /// considered lost in flavour `quic`. Other flavours do not detect them.
    pub spurious_fast_retransmits: u64,
    /// Number of tail loss probes sent.
    pub tail_loss_probes: u64,
    /// Number of window reductions caused by a congestion mark.
    pub ecn_reductions: u64,
    /// Number of packets found lost that were acknowledged later. Only flavour `quic` detects them, since its packet
    /// numbers are never reused.
    pub spurious_losses: u64,
    /// Number of persistent congestion events (RFC 9002 section 7.6), in flavour `quic` only.
    pub persistent_congestions: u64,
}
