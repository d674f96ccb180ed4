//! Statistics of the frames of an ARQ link.

use crossfade_core::{DelayHistogram, SimTime, counters};

/// Statistics of the frames of one ARQ link.
#[derive(Clone, Debug, PartialEq, Default)]
pub struct ArqStatistics {
    /// Number of first transmissions of payloads. Like retransmissions and errors, each counts at the end of the
    /// transmission.
    pub frames: u64,
    /// Number of retransmissions of payloads.
    pub retransmissions: u64,
    /// Number of transmitted frames without a payload.
    pub idle_frames: u64,
    /// Number of transmitted frames with a payload that the channel corrupted or lost.
    pub frame_errors: u64,
    /// Number of payloads passed up at the receiver, each counted once.
    pub frames_delivered: u64,
    /// Number of payloads that were given up, or lost in another way.
    pub frames_lost: u64,
    /// Number of payloads passed up after their packet had left the link, because sequence numbers were ambiguous.
    pub stray_frames: u64,
    /// Number of acknowledgements and requests that the receiver sent.
    pub feedback_sent: u64,
    /// Number of acknowledgements and requests that the reverse path lost.
    pub feedback_lost: u64,
    /// Histogram of the time for which received payloads waited for earlier ones (head-of-line blocking).
    pub head_of_line_delay: DelayHistogram,
    /// Sum of the head-of-line delays of received payloads, in seconds.
    pub head_of_line_delay_s: f64,
}

counters!(ArqStatistics {
    frames,
    retransmissions,
    idle_frames,
    frame_errors,
    frames_delivered,
    frames_lost,
    stray_frames,
    feedback_sent,
    feedback_lost,
    head_of_line_delay,
    head_of_line_delay_s
});

impl ArqStatistics {
    /// Frame error rate: share of transmitted frames with a payload that the channel corrupted or lost.
    pub fn frame_error_rate(&self) -> f64 {
        self.frame_errors as f64 / (self.frames + self.retransmissions) as f64
    }

    /// Residual frame error rate: share of lost payloads among those whose fate is known.
    pub fn residual_frame_error_rate(&self) -> f64 {
        self.frames_lost as f64 / (self.frames_delivered + self.frames_lost) as f64
    }

    /// Mean number of transmissions of a payload.
    pub fn frame_transmissions_per_frame(&self) -> f64 {
        (self.frames + self.retransmissions) as f64 / self.frames as f64
    }

    /// Counts a payload that is passed up and was received `delay` ago.
    #[inline]
    pub(super) fn on_delivery(&mut self, delay: SimTime) {
        self.frames_delivered += 1;
        self.on_release(delay);
    }

    /// Adds the head-of-line delay of a payload that was received `delay` ago.
    #[inline]
    pub fn on_release(&mut self, delay: SimTime) {
        // Most payloads do not wait: a branch costs less than a division.
        if delay > SimTime::ZERO {
            self.head_of_line_delay_s += delay.as_secs_f64();
        }
        self.head_of_line_delay.record(delay);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Rates use only known fates: of 100 payloads 60 were passed up and 20 given up; the fate of the other 20 is not
    /// known.
    #[test]
    fn shares_are_of_what_is_known() {
        let counts = ArqStatistics {
            frames: 100,
            retransmissions: 60,
            frame_errors: 40,
            frames_delivered: 60,
            frames_lost: 20,
            ..ArqStatistics::default()
        };
        assert_eq!(counts.residual_frame_error_rate(), 20.0 / 80.0);
        assert_eq!(counts.frame_error_rate(), 40.0 / 160.0);
        assert_eq!(counts.frame_transmissions_per_frame(), 1.6);
        assert!(ArqStatistics::default().residual_frame_error_rate().is_nan());
    }
}
