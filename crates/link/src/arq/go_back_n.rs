//! Go back N: after a loss, the lost frame and all frames behind it are retransmitted.

use super::{ArqError, ArqSender, Content, Feedback, InOrderReceiver, Patience, Pdu, Protocol, Sdu};
use crossfade_core::SimTime;
use std::collections::VecDeque;

/// Parameters of go back N.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct GoBackNConfig {
    /// Window N: greatest number of unacknowledged frames.
    pub window: u32,
    /// Time from the start of the oldest frame's transmission to its retransmission, with all frames behind it.
    pub timeout: SimTime,
    /// Number of timeouts in a row after which a frame is given up (N2 of HDLC); `None`: never.
    pub max_retransmissions: Option<u32>,
}

impl Protocol for GoBackNConfig {
    type Sender = GoBackNSender;
    type Receiver = GoBackNReceiver;

    fn check(&self) -> Result<(), ArqError> {
        ArqError::unless(self.window >= 1, "window", self.window, "at least 1 frame")?;
        ArqError::unless(self.timeout > SimTime::ZERO, "timeout", self.timeout, "above 0")
    }

    fn build(&self) -> (GoBackNSender, GoBackNReceiver) {
        (GoBackNSender::new(self), GoBackNReceiver::new())
    }

    fn patience(&self, _frame_time: SimTime) -> Option<Patience> {
        Some(Patience { parameter: "timeout", time: self.timeout })
    }

    fn most_repetitions(&self) -> Option<u32> {
        self.max_retransmissions
    }
}

/// A frame in the sender's window, not acknowledged yet.
struct Outstanding {
    sdu: Sdu,
    transmissions: u32,
    sent_at: SimTime,
}

/// Sender of go back N: sends a window of frames, and retransmits all of them if the oldest is not acknowledged in
/// time.
///
/// ```text
///   base          cursor        base + window.len()
///    | on the way   | to be sent  |  new
/// ```
pub struct GoBackNSender {
    config: GoBackNConfig,
    /// Number of the oldest frame that is neither acknowledged nor given up.
    base: u64,
    window: VecDeque<Outstanding>,
    /// Number of the frame to be sent next.
    cursor: u64,
    /// Number of timeouts of the oldest frame.
    expiries: u32,
    /// Number of the frame that the receiver is known to expect; less than `base` after frames were given up.
    told: u64,
    /// Time at which the receiver is told again that frames were given up, unless a frame tells it before.
    skip_at: SimTime,
}

impl GoBackNSender {
    /// Creates a sender that has not sent a frame.
    pub fn new(config: &GoBackNConfig) -> Self {
        Self {
            config: *config,
            base: 0,
            window: VecDeque::new(),
            cursor: 0,
            expiries: 0,
            told: 0,
            skip_at: SimTime::ZERO,
        }
    }

    /// Time at which the oldest frame's timer expires; `None` while it does not run.
    fn deadline(&self) -> Option<SimTime> {
        let oldest = self.window.front().filter(|_| self.cursor > self.base)?;
        Some(oldest.sent_at + self.config.timeout)
    }

    fn must_skip(&self) -> bool {
        self.window.is_empty() && self.told < self.base
    }

    /// Removes the oldest frame, which is acknowledged or given up.
    fn forget_oldest(&mut self) {
        self.window.pop_front();
        self.base += 1;
        self.cursor = self.cursor.max(self.base);
        self.expiries = 0;
    }

    fn expire(&mut self, now: SimTime) {
        if self.deadline().is_none_or(|deadline| deadline > now) {
            return;
        }
        self.cursor = self.base;
        self.expiries += 1;
        if self.config.max_retransmissions.is_some_and(|n| self.expiries > n) {
            // The receiver has discarded the frames behind it, since they were out of order.
            self.forget_oldest();
            self.skip_at = SimTime::ZERO;
        }
    }
}

impl ArqSender for GoBackNSender {
    fn wants_sdu(&mut self, now: SimTime) -> bool {
        self.expire(now);
        let window = self.window.len() as u64;
        window < u64::from(self.config.window) && self.cursor == self.base + window
    }

    fn on_sdu(&mut self, _now: SimTime, sdu: Sdu) {
        self.window.push_back(Outstanding { sdu, transmissions: 0, sent_at: SimTime::ZERO });
    }

    fn on_feedback(&mut self, _now: SimTime, feedback: Feedback) {
        let Feedback::Ack { next, .. } = feedback else { return };
        // After a spurious timeout, frames that wait for retransmission may still be acknowledged.
        let end = self.base + self.window.len() as u64;
        if next > end {
            return;
        }
        self.told = self.told.max(next);
        while self.base < next {
            self.forget_oldest();
        }
    }

    fn poll_transmit(&mut self, now: SimTime) -> Option<Pdu> {
        self.expire(now);
        let pdu = |content, attempt| Pdu { seq: self.cursor, oldest: self.base, content, attempt };
        if let Some(frame) = self.window.get_mut((self.cursor - self.base) as usize) {
            let pdu = pdu(Content::Data(frame.sdu), frame.transmissions);
            frame.transmissions += 1;
            frame.sent_at = now;
            self.cursor += 1;
            return Some(pdu);
        }
        (self.must_skip() && self.skip_at <= now).then(|| {
            self.skip_at = now + self.config.timeout;
            pdu(Content::Skip, 0)
        })
    }

    fn next_timeout(&self) -> Option<SimTime> {
        self.deadline().or_else(|| self.must_skip().then_some(self.skip_at))
    }
}

/// Receiver of go back N: passes up frames that come in order, and acknowledges the last of them.
pub type GoBackNReceiver = InOrderReceiver;

#[cfg(test)]
mod tests {
    use super::*;
    use crate::arq::testing::{Fate, Ladder, SLOT};

    fn ladder(window: u32, max_retransmissions: Option<u32>) -> Ladder<GoBackNSender, GoBackNReceiver> {
        let config = GoBackNConfig { window, timeout: SLOT * 3, max_retransmissions };
        Ladder::new(GoBackNSender::new(&config), GoBackNReceiver::new())
    }

    #[test]
    fn after_a_loss_everything_is_sent_again() {
        let mut ladder = ladder(8, None);
        ladder.run("oxoooooo");
        assert_eq!(ladder.sent(), "+0 +1 +2 +3 *1 *2 *3 +4");
        assert_eq!(ladder.up, [0, 1, 2, 3, 4]);
    }

    #[test]
    fn the_window_limits_what_is_on_the_way() {
        let mut ladder = ladder(1, None);
        ladder.run("oooooo");
        assert_eq!(ladder.sent(), "+0 - +1 - +2 -");
    }

    #[test]
    fn an_acknowledgement_stands_for_those_before() {
        let mut ladder = ladder(8, None);
        ladder.feedback_fates = [Fate::Lost, Fate::Good].into();
        ladder.run("ooooo");
        assert_eq!(ladder.sent(), "+0 +1 +2 +3 +4");
        assert_eq!(ladder.up, [0, 1, 2, 3, 4]);
    }

    #[test]
    fn a_frame_is_given_up_after_its_expiries() {
        let mut ladder = ladder(2, Some(1));
        ladder.run("xooxooooo");
        assert_eq!(ladder.sent(), "+0 +1 - *0 *1 - *1 +2 +3");
        assert_eq!(ladder.up, [-1, 1, 2, 3]);
    }

    #[test]
    fn the_receiver_hears_that_the_last_frame_was_given_up() {
        let mut ladder = ladder(2, Some(0));
        ladder.run("xOOXOOOOOO");
        assert_eq!(ladder.sent(), "+0 - - . - - . - - -");
        assert_eq!(ladder.up, [-1]);
        assert_eq!(ladder.sender.next_timeout(), None);
    }
}
