//! How long packets take to send.

use crossfade_core::SimTime;

/// A transmitter of constant rate.
pub(crate) struct Transmitter {
    rate_bps: Option<f64>,
    /// Nearly all packets of a link have one size: the last division is kept.
    last: (u32, SimTime),
}

impl Transmitter {
    /// Sends at `rate_bps` bit/s; `None` takes no time.
    pub(crate) fn new(rate_bps: Option<f64>) -> Self {
        Self { rate_bps, last: (0, SimTime::ZERO) }
    }

    /// How long `bytes` take.
    #[inline]
    pub(crate) fn time_for(&mut self, bytes: u32) -> SimTime {
        let Some(rate_bps) = self.rate_bps else { return SimTime::ZERO };
        if self.last.0 != bytes {
            self.last = (bytes, SimTime::to_transmit(bytes, rate_bps));
        }
        self.last.1
    }
}
