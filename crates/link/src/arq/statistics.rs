//! What is counted of the frames of a link.

use crossfade_core::{DelayHistogram, SimTime, counters};

/// What happened to the frames of one ARQ link, from one end to the other.
#[derive(Clone, Debug, PartialEq, Default)]
pub struct ArqStatistics {
    /// Payloads sent for the first time, each counted once it has been sent to its end, as retransmissions and errors are.
    pub frames: u64,
    /// Payloads retransmitted.
    pub retransmissions: u64,
    /// Frames without payload.
    pub idle_frames: u64,
    /// Frames with payload that the channel spoiled.
    pub frame_errors: u64,
    /// Payloads passed up at the other end, each once.
    pub frames_delivered: u64,
    /// Payloads given up, or lost in another way.
    pub frames_lost: u64,
    /// Payloads passed up that had been accounted for already, because sequence numbers were ambiguous. The
    /// packet they belong to has left.
    pub stray_frames: u64,
    /// Acknowledgements and requests sent back.
    pub feedback_sent: u64,
    /// Acknowledgements and requests that were lost.
    pub feedback_lost: u64,
    /// How long payloads that were received waited for earlier ones (head-of-line blocking).
    pub head_of_line_delay: DelayHistogram,
    /// The sum of it, in seconds.
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
    /// Share of the frames with payload that the channel spoiled.
    pub fn frame_error_rate(&self) -> f64 {
        self.frame_errors as f64 / (self.frames + self.retransmissions) as f64
    }

    /// Share of the payloads that never got through, of those whose fate is known.
    pub fn residual_frame_error_rate(&self) -> f64 {
        self.frames_lost as f64 / (self.frames_delivered + self.frames_lost) as f64
    }

    /// Mean number of transmissions of a payload.
    pub fn frame_transmissions_per_frame(&self) -> f64 {
        (self.frames + self.retransmissions) as f64 / self.frames as f64
    }

    /// A payload is passed up that was received `delay` ago.
    #[inline]
    pub(super) fn on_delivery(&mut self, delay: SimTime) {
        self.frames_delivered += 1;
        self.on_release(delay);
    }

    /// A payload that was received `delay` ago waits no longer for earlier ones.
    #[inline]
    pub fn on_release(&mut self, delay: SimTime) {
        // Most payloads wait for nothing: a branch costs less than a division.
        if delay > SimTime::ZERO {
            self.head_of_line_delay_s += delay.as_secs_f64();
        }
        self.head_of_line_delay.record(delay);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// 60 of 100 payloads were passed up and 20 given up; the fate of the other 20 is not known.
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
