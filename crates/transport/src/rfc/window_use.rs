//! Use of the congestion window: a window that did not limit the sender does not grow (RFC 7661 section 4.3).

/// Record of whether the last window of data was limited by the congestion window.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct WindowUse {
    /// Segments below this number were sent while the window limited the sender.
    limited_below: u64,
    /// Largest number of segments in flight within the last window of data.
    peak: u64,
    /// Segment number whose acknowledgement ends the use of `peak`.
    peak_until: u64,
}

impl WindowUse {
    /// Records that the window does not allow another segment.
    pub(crate) fn on_limited(&mut self, snd_max: u64) {
        self.limited_below = snd_max;
    }

    /// Records a sent segment.
    pub(crate) fn on_sent(&mut self, snd_una: u64, snd_max: u64) {
        let flight_size = snd_max - snd_una;
        if snd_una >= self.peak_until || flight_size > self.peak {
            (self.peak, self.peak_until) = (flight_size, snd_max);
        }
    }

    /// True if an acknowledgement up to `snd_una` may let the window grow.
    pub(crate) fn is_limited(&self, snd_una: u64, cwnd: f64, ssthresh: f64) -> bool {
        // In slow start half a window in use suffices: the segments in flight arrived, and may be doubled (RFC 7661
        // section 4.3, the validated phase).
        snd_una <= self.limited_below || (cwnd < ssthresh && cwnd < 2.0 * self.peak as f64)
    }
}
