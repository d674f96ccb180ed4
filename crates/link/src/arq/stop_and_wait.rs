//! Stop and wait: one frame at a time is sent until it is acknowledged.

use super::{ArqError, ArqSender, Content, Feedback, InOrderReceiver, Patience, Pdu, Protocol, Sdu};
use crossfade_core::SimTime;

/// Parameters of stop and wait.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct StopAndWaitConfig {
    /// Time from the start of a frame's transmission to its retransmission; to avoid spurious ones, at least the
    /// durations of the frame and the acknowledgement and the delays of both directions.
    pub timeout: SimTime,
    /// Number of retransmissions after which a frame is given up; `None`: never.
    pub max_retransmissions: Option<u32>,
}

impl Protocol for StopAndWaitConfig {
    type Sender = StopAndWaitSender;
    type Receiver = StopAndWaitReceiver;

    fn check(&self) -> Result<(), ArqError> {
        ArqError::unless(self.timeout > SimTime::ZERO, "timeout", self.timeout, "above 0")
    }

    fn build(&self) -> (StopAndWaitSender, StopAndWaitReceiver) {
        (StopAndWaitSender::new(self), StopAndWaitReceiver::new())
    }

    fn patience(&self, _frame_time: SimTime) -> Option<Patience> {
        Some(Patience { parameter: "timeout", time: self.timeout })
    }

    fn most_repetitions(&self) -> Option<u32> {
        self.max_retransmissions
    }
}

/// Sender of stop and wait: sends one frame until it is acknowledged or given up.
pub struct StopAndWaitSender {
    config: StopAndWaitConfig,
    /// Number of the frame that is being sent, or of the next one.
    seq: u64,
    current: Option<Sdu>,
    /// Number of transmissions of the current frame so far.
    transmissions: u32,
    /// Time of the next retransmission of the current frame.
    deadline: SimTime,
    /// Number of the frame that the receiver is known to expect; less than `seq` after the last frame was given up.
    told: u64,
}

impl StopAndWaitSender {
    /// Creates a sender that has not sent a frame.
    pub fn new(config: &StopAndWaitConfig) -> Self {
        let deadline = SimTime::ZERO;
        Self { config: *config, seq: 0, current: None, transmissions: 0, deadline, told: 0 }
    }

    fn end(&mut self) {
        self.seq += 1;
        self.current = None;
        self.transmissions = 0;
        self.deadline = SimTime::ZERO;
    }

    fn expire(&mut self, now: SimTime) {
        let limit = self.config.max_retransmissions.map_or(u64::MAX, u64::from);
        if self.current.is_some() && self.deadline <= now && u64::from(self.transmissions) > limit {
            self.end();
        }
    }
}

impl ArqSender for StopAndWaitSender {
    fn wants_sdu(&mut self, now: SimTime) -> bool {
        self.expire(now);
        self.current.is_none()
    }

    fn on_sdu(&mut self, _now: SimTime, sdu: Sdu) {
        self.current = Some(sdu);
        self.transmissions = 0;
        self.deadline = SimTime::ZERO;
    }

    fn on_feedback(&mut self, _now: SimTime, feedback: Feedback) {
        let Feedback::Ack { next, .. } = feedback else { return };
        self.told = self.told.max(next.min(self.seq + 1));
        if self.current.is_some() && next == self.seq + 1 && self.transmissions > 0 {
            self.end();
        }
    }

    fn poll_transmit(&mut self, now: SimTime) -> Option<Pdu> {
        self.expire(now);
        if self.deadline > now {
            return None;
        }
        let pdu = |content, attempt| Pdu { seq: self.seq, oldest: self.seq, content, attempt };
        let pdu = match self.current {
            Some(sdu) => pdu(Content::Data(sdu), self.transmissions),
            None if self.told < self.seq => pdu(Content::Skip, 0),
            None => return None,
        };
        self.transmissions += 1;
        self.deadline = now + self.config.timeout;
        Some(pdu)
    }

    fn next_timeout(&self) -> Option<SimTime> {
        (self.current.is_some() || self.told < self.seq).then_some(self.deadline)
    }
}

/// Receiver of stop and wait: passes up new frames and acknowledges every frame.
pub type StopAndWaitReceiver = InOrderReceiver;

#[cfg(test)]
mod tests {
    use super::*;
    use crate::arq::testing::{Fate, Ladder, SLOT};

    fn ladder(max_retransmissions: Option<u32>) -> Ladder<StopAndWaitSender, StopAndWaitReceiver> {
        // The frame takes a slot, feedback another.
        let config = StopAndWaitConfig { timeout: SLOT * 2, max_retransmissions };
        Ladder::new(StopAndWaitSender::new(&config), StopAndWaitReceiver::new())
    }

    #[test]
    fn a_frame_is_sent_until_it_is_acknowledged() {
        let mut ladder = ladder(None);
        ladder.run("ooxxxoooo");
        assert_eq!(ladder.sent(), "+0 - +1 - *1 - *1 - +2");
        assert_eq!(ladder.up, [0, 1, 2]);
    }

    #[test]
    fn a_lost_acknowledgement_costs_a_duplicate() {
        let mut ladder = ladder(None);
        ladder.feedback_fates = [Fate::Lost].into();
        ladder.run("oooooo");
        assert_eq!(ladder.sent(), "+0 - *0 - +1 -");
        assert_eq!(ladder.up, [0, 1]);
    }

    #[test]
    fn a_frame_is_given_up_after_its_retransmissions() {
        let mut ladder = ladder(Some(1));
        ladder.run("xoxoooo");
        assert_eq!(ladder.sent(), "+0 - *0 - +1 - +2");
        assert_eq!(ladder.up, [-1, 1, 2]);
    }

    #[test]
    fn the_receiver_hears_that_the_last_frame_was_given_up() {
        let mut ladder = ladder(Some(0));
        ladder.run("xOXOOOOO");
        // The first control frame is lost, the second is acknowledged.
        assert_eq!(ladder.sent(), "+0 - . - . - - -");
        assert_eq!(ladder.up, [-1]);
        assert_eq!(ladder.sender.next_timeout(), None);
    }
}
