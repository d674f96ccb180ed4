//! Explicit Congestion Notification at the sender (RFC 3168 section 6.1.2).

/// Reaction to ECN marks: the last window reduction, and the CWR flag.
#[derive(Clone, Debug, Default)]
pub(super) struct Ecn {
    enabled: bool,
    /// One past the highest segment sent at the last window reduction, whatever its cause; `None` before the first.
    reduced_at: Option<u64>,
    /// True if the next new segment carries CWR.
    cwr: bool,
}

impl Ecn {
    pub(super) fn new(enabled: bool) -> Self {
        Self { enabled, ..Self::default() }
    }

    pub(super) fn enabled(&self) -> bool {
        self.enabled
    }

    /// True if a mark may reduce the window: all segments in flight at the last reduction, and the one with CWR, are
    /// acknowledged ("only once per window of data", RFC 3168 section 6.1.2).
    pub(super) fn may_reduce(&self, snd_una: u64) -> bool {
        !self.enabled || self.reduced_at.is_none_or(|reduced_at| snd_una > reduced_at)
    }

    /// Records a window reduction of any cause: the first new segment afterwards carries CWR.
    pub(super) fn on_reduction(&mut self, snd_max: u64) {
        if self.enabled {
            self.reduced_at = Some(snd_max);
            self.cwr = true;
        }
    }

    /// Takes the CWR flag for a new segment: true once after each reduction.
    pub(super) fn take_cwr(&mut self) -> bool {
        std::mem::take(&mut self.cwr)
    }
}
