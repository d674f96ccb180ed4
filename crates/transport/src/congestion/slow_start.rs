//! Slow start (RFC 5681 section 3.1), with or without HyStart++.

use super::{AckSample, HyStart};

/// Growth of the window below `ssthresh`: by the segments that an acknowledgement covers, at most L.
#[derive(Clone, Copy, Debug)]
pub struct SlowStart {
    /// Maximum growth per acknowledgement in segments: L of RFC 3465 section 2.2.
    limit: f64,
    hystart: Option<HyStart>,
    /// True if this slow start follows a timeout: acknowledgements may then cover segments sent long ago, so L is 1.
    after_timeout: bool,
}

impl SlowStart {
    /// Standard slow start with L = `limit` segments per ACK: 1 is RFC 5681, equation (2); 2 is what RFC 3465 section
    /// 2.3 allows.
    pub fn standard(limit: f64) -> Self {
        Self { limit, hystart: None, after_timeout: false }
    }

    /// HyStart++ for the first slow start of the connection, standard slow start for later ones. L is 8 segments per
    /// ACK, for a sender without pacing (RFC 9406 section 4.3).
    pub fn hystart() -> Self {
        Self { limit: 8.0, hystart: Some(HyStart::new()), after_timeout: false }
    }

    /// Replaces the limit L, in segments per ACK; a paced sender has none (RFC 9406 section 4.3).
    #[must_use]
    pub fn with_limit(self, limit: f64) -> Self {
        Self { limit, ..self }
    }

    /// Processes an acknowledgement below `ssthresh`: the window grows if it limited the sender. Returns true if slow
    /// start ends at the present window.
    pub(super) fn grow(&mut self, ack: &AckSample, cwnd: &mut f64, ssthresh: &mut f64) -> bool {
        let (growth, ends) = self.on_ack(ack);
        if ack.cwnd_limited {
            *cwnd += growth;
        }
        if ends {
            *ssthresh = *cwnd;
        }
        ends
    }

    /// Growth of the window in segments, and true if HyStart++ ends slow start.
    fn on_ack(&mut self, ack: &AckSample) -> (f64, bool) {
        // RFC 3465 section 2.3: L is 1 in the slow start after a timeout.
        let limit = if self.after_timeout { 1.0 } else { self.limit };
        let divisor = self.hystart.as_ref().map_or(1.0, HyStart::growth_divisor);
        let ends = self.hystart.as_mut().is_some_and(|hystart| hystart.on_ack(ack));
        ((ack.acked as f64).min(limit) / divisor, ends)
    }

    /// Ends the first slow start after a loss or a mark.
    pub(super) fn on_congestion(&mut self) {
        // RFC 9406 section 4.2: a loss or a mark ends the first slow start.
        self.hystart = None;
    }

    pub(super) fn on_timeout(&mut self) {
        self.on_congestion();
        self.after_timeout = true;
    }

    /// Ends slow start when the window has reached `ssthresh`.
    pub(super) fn on_end(&mut self) {
        self.hystart = None;
        self.after_timeout = false;
    }
}
