//! Slow start (RFC 5681 section 3.1), with or without HyStart++.

use super::{AckSample, HyStart};

/// How the window grows below `ssthresh`: by what an acknowledgement covers, but at most L segments.
#[derive(Clone, Copy, Debug)]
pub struct SlowStart {
    /// The most segments for one acknowledgement: L of RFC 3465 section 2.2.
    limit: f64,
    hystart: Option<HyStart>,
    /// A timeout led here: acknowledgements may cover segments that left long ago.
    after_timeout: bool,
}

impl SlowStart {
    /// Standard slow start. `limit` 1 is RFC 5681, equation (2); 2 is what RFC 3465 section 2.3 allows.
    pub fn standard(limit: f64) -> Self {
        Self { limit, hystart: None, after_timeout: false }
    }

    /// HyStart++ for the first slow start of the connection, standard slow start for later ones. L is 8, for
    /// a sender without pacing (RFC 9406 section 4.3).
    pub fn hystart() -> Self {
        Self { limit: 8.0, hystart: Some(HyStart::new()), after_timeout: false }
    }

    /// Replaces the limit per ACK: none for a paced sender (RFC 9406 section 4.3).
    #[must_use]
    pub fn with_limit(self, limit: f64) -> Self {
        Self { limit, ..self }
    }

    /// An acknowledgement below `ssthresh`: grows the window where it was full. Whether slow start ends here, at the
    /// window that there is now.
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

    /// How far to grow, and whether slow start ends here.
    fn on_ack(&mut self, ack: &AckSample) -> (f64, bool) {
        // RFC 3465 section 2.3: L is 1 in the slow start after a timeout.
        let limit = if self.after_timeout { 1.0 } else { self.limit };
        let divisor = self.hystart.as_ref().map_or(1.0, HyStart::growth_divisor);
        let ends = self.hystart.as_mut().is_some_and(|hystart| hystart.on_ack(ack));
        ((ack.acked as f64).min(limit) / divisor, ends)
    }

    /// Loss or a mark.
    pub(super) fn on_congestion(&mut self) {
        // RFC 9406 section 4.2: either of them ends the first slow start.
        self.hystart = None;
    }

    pub(super) fn on_timeout(&mut self) {
        self.on_congestion();
        self.after_timeout = true;
    }

    /// The window has reached `ssthresh`.
    pub(super) fn on_end(&mut self) {
        self.hystart = None;
        self.after_timeout = false;
    }
}
