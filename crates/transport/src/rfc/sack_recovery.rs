//! The state of a recovery with SACK: a file of its own, since `mod.rs` and its parts both know it.

/// Progress of loss recovery.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct SackRecovery {
    /// One past RFC 6675's `HighRxt`, the highest segment repeated.
    pub(super) high_rxt: u64,
    /// The rescue retransmission was sent.
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
