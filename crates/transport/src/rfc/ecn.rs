//! Explicit Congestion Notification, the sender's half (RFC 3168 section 6.1.2).

/// What the sender remembers of the last reduction of its window.
#[derive(Clone, Debug, Default)]
pub(super) struct Ecn {
    enabled: bool,
    /// One past the highest segment sent at the last reduction, whatever caused it.
    reduced_at: Option<u64>,
    /// The next new segment tells the receiver of the reduction.
    cwr: bool,
}

impl Ecn {
    pub(super) fn new(enabled: bool) -> Self {
        Self { enabled, ..Self::default() }
    }

    pub(super) fn enabled(&self) -> bool {
        self.enabled
    }

    /// Whether everything that was under way at the last reduction is acknowledged, and the segment that tells of it
    /// too: until then marks are of the same congestion ("only once per window of data").
    pub(super) fn may_reduce(&self, snd_una: u64) -> bool {
        !self.enabled || self.reduced_at.is_none_or(|reduced_at| snd_una > reduced_at)
    }

    /// The window was reduced, for whatever reason: the first new segment afterwards says so.
    pub(super) fn on_reduction(&mut self, snd_max: u64) {
        if self.enabled {
            self.reduced_at = Some(snd_max);
            self.cwr = true;
        }
    }

    /// The CWR flag of a new segment.
    pub(super) fn take_cwr(&mut self) -> bool {
        std::mem::take(&mut self.cwr)
    }
}
