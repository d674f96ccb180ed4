//! State of a recovery with SACK (RFC 6675): a file of its own, since `mod.rs` and its parts both use it.

/// Progress of a loss recovery with SACK.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct SackRecovery {
    /// One past the highest retransmitted segment, RFC 6675's `HighRxt`.
    pub(super) high_rxt: u64,
    /// True if the rescue retransmission of this recovery has been sent.
    pub(super) rescued: bool,
}

impl SackRecovery {
    pub(super) fn start(snd_una: u64) -> Self {
        Self { high_rxt: snd_una, rescued: false }
    }

    pub(super) fn on_repeated(&mut self, seq: u64) {
        self.high_rxt = self.high_rxt.max(seq + 1);
    }
}
