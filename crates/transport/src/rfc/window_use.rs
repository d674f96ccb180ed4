//! Whether the congestion window was in use: a window that was not tested does not grow (RFC 7661 section 4.3).

/// State of the sender about its last window of data.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct WindowUse {
    /// Segments below this were sent while the window limited the sender.
    limited_below: u64,
    /// The most that was under way lately, and until which acknowledgement that counts.
    peak: u64,
    peak_until: u64,
}

impl WindowUse {
    /// The window does not allow another segment.
    pub(crate) fn on_limited(&mut self, snd_max: u64) {
        self.limited_below = snd_max;
    }

    /// A segment was sent.
    pub(crate) fn on_sent(&mut self, snd_una: u64, snd_max: u64) {
        let flight_size = snd_max - snd_una;
        if snd_una >= self.peak_until || flight_size > self.peak {
            (self.peak, self.peak_until) = (flight_size, snd_max);
        }
    }

    /// Whether an acknowledgement up to `snd_una` may let the window grow.
    pub(crate) fn is_limited(&self, snd_una: u64, cwnd: f64, ssthresh: f64) -> bool {
        // In slow start half a window is a test: what was under way arrived, and may be doubled (RFC 7661 section
        // 4.3, the validated phase).
        snd_una <= self.limited_below || (cwnd < ssthresh && cwnd < 2.0 * self.peak as f64)
    }
}
