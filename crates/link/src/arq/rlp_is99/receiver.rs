//! Receiver of the RLP of IS-99.

use super::config::{NaksPerRound, Persistence, RlpIs99Config, TimerCheck, TimerClock};
use crate::arq::resequencer::{Place, Resequencer};
use crate::arq::{ArqReceiver, Content, Delivery, Feedback, Outcome, Pdu};
use crossfade_core::SimTime;
use std::collections::VecDeque;

/// A missing frame, with its retransmission round and timer.
struct Missing {
    position: u64,
    /// Number of the current round; 0 before the first NAK.
    round: u32,
    naks: u32,
    /// End of the round, in ticks of the timers' clock.
    deadline: u64,
}

/// Receiver of the RLP of IS-99: puts frames into order, requests missing ones, and gives up those that do not come.
///
/// Time is counted in frame times, by [`TimerClock`]: `on_pdu` must be called for every frame time, even without a
/// readable frame.
pub struct RlpIs99Receiver {
    config: RlpIs99Config,
    frames: Resequencer,
    /// Missing frames in order of position.
    missing: Vec<Missing>,
    ticks: u64,
    /// Earliest expiry of a retransmission timer, in ticks.
    next_deadline: u64,
    naks: VecDeque<Feedback>,
}

/// Kind of a received frame, which decides whether the timers' clock advances.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Seen {
    Nothing,
    New,
    Retransmission,
}

impl RlpIs99Receiver {
    /// Creates a receiver that has not received a frame.
    pub fn new(config: &RlpIs99Config) -> Self {
        Self {
            config: *config,
            frames: Resequencer::new(config.buffer),
            missing: Vec::new(),
            ticks: 0,
            next_deadline: u64::MAX,
            naks: VecDeque::new(),
        }
    }

    /// Positions of the missing frames.
    #[cfg(test)]
    pub(super) fn waits_for(&self) -> Vec<u64> {
        self.missing.iter().map(|missing| missing.position).collect()
    }

    #[inline]
    fn place(&self, pdu: &Pdu) -> Place {
        if self.config.retransmissions_are_flagged && pdu.attempt == 0 {
            Place::New(self.frames.ahead(pdu.seq))
        } else {
            self.frames.place(pdu.seq)
        }
    }

    /// Takes a frame with a readable header by the rules of section II, in which `seq` is called i.
    #[inline]
    fn on_frame(&mut self, now: SimTime, pdu: Pdu, is_good: bool) -> Seen {
        let sdu = match pdu.content {
            Content::Data(sdu) => sdu,
            Content::Idle | Content::Skip => return self.on_idle(pdu.seq, is_good),
        };
        match self.place(&pdu) {
            // "If i < V(N) or if the frame is already stored in the resequencing buffer, discard the frame."
            Place::Old | Place::Held => Seen::Retransmission,
            // "If i = V(N), update V(N) to the next oldest missing frame sequence number. Pass received
            // frames up to V(N) - 1 to the upper layer. If V(N) < i < V(R), store frame i [..] if it is
            // missing."
            Place::Missing(position) => {
                if !is_good {
                    return Seen::Nothing;
                }
                self.frames.hold(position, now, sdu);
                self.missing.retain(|missing| missing.position != position);
                Seen::Retransmission
            }
            // "If i = V(R) = V(N), pass all received frames up to V(R) to the upper layer": both advance.
            Place::New(position) if self.frames.v_n() == position && is_good => {
                self.frames.pass(now, sdu);
                Seen::New
            }
            // "If i = V(R) != V(N) or i > V(R), increment V(R) and store frame i into resequencing buffer":
            // V(R) becomes i + 1, and the frames between are missing.
            Place::New(position) => self.on_later_frame(now, position, sdu, is_good),
        }
    }

    fn on_later_frame(&mut self, now: SimTime, position: u64, sdu: u64, is_good: bool) -> Seen {
        self.miss_until(position + 1);
        if is_good {
            self.missing.pop();
            self.frames.hold(position, now, sdu);
        }
        self.relieve();
        if is_good { Seen::New } else { Seen::Nothing }
    }

    /// Takes an idle frame, which may carry V(S).
    fn on_idle(&mut self, v_s: u64, is_good: bool) -> Seen {
        if v_s != Pdu::NO_SEQ {
            // V(S) never lies behind V(R).
            self.miss_until(self.frames.ahead(v_s));
            self.relieve();
        }
        if is_good { Seen::New } else { Seen::Nothing }
    }

    /// Passes up the head of an overflowing resequencing buffer: "In the event of a buffer overflow [..] a portion of
    /// buffer head (good and lost frames) is passed to higher layer to make room for the newly arriving frames"
    /// (section IV).
    fn relieve(&mut self) {
        if self.frames.relieve(self.config.overflow) {
            let v_n = self.frames.v_n();
            self.missing.retain(|missing| missing.position >= v_n);
        }
    }

    /// Marks all frames before `end` that were not received as missing.
    fn miss_until(&mut self, end: u64) {
        for position in self.frames.extend(end) {
            self.missing.push(Missing { position, round: 0, naks: 0, deadline: 0 });
            self.next_deadline = 0;
        }
    }

    /// Requests missing frames whose timers are not set or have expired, or gives them up after the last attempt: "For
    /// all cases, send NAK's of missing frames if their retransmission timers are not yet set or expired."
    fn check_timers(&mut self) {
        if self.ticks < self.next_deadline {
            return;
        }
        let Self { config, missing, naks, frames, ticks, .. } = self;
        let mut next_deadline = u64::MAX;
        missing.retain_mut(|frame| {
            if *ticks >= frame.deadline {
                let used = match config.persistence {
                    Persistence::Rounds => frame.round,
                    Persistence::Retransmissions => frame.naks,
                };
                // "RLP will abort the attempt after n unsuccessful retransmissions".
                if used >= config.max_retransmissions {
                    frames.give_up(frame.position);
                    return false;
                }
                // "When the retransmission timer expires for the first time, RLP resets the timer and sends
                // back NAK twice. [..] for the second time, [..] three NAK's."
                frame.round += 1;
                let copies = match (config.naks_per_round, config.persistence) {
                    (NaksPerRound::One, _) => 1,
                    (NaksPerRound::Growing, Persistence::Rounds) => frame.round,
                    (NaksPerRound::Growing, Persistence::Retransmissions) => {
                        frame.round.min(config.max_retransmissions - frame.naks)
                    }
                };
                frame.naks += copies;
                for _ in 0..copies {
                    naks.push_back(Feedback::Nak { seq: frame.position & 0xff });
                }
                frame.deadline = *ticks + u64::from(config.round_trip + config.guard);
            }
            next_deadline = next_deadline.min(frame.deadline);
            true
        });
        self.next_deadline = next_deadline;
    }
}

impl ArqReceiver for RlpIs99Receiver {
    #[inline]
    fn on_pdu(&mut self, now: SimTime, outcome: Outcome) {
        let (seen, is_readable) = match outcome {
            Outcome::Erased => (Seen::Nothing, false),
            Outcome::Good(pdu) => (self.on_frame(now, pdu, true), true),
            Outcome::Corrupt(pdu) => (self.on_frame(now, pdu, false), true),
        };
        let ticks = match self.config.timer_clock {
            TimerClock::EveryFrame => true,
            TimerClock::PausedByRetransmissions => seen != Seen::Retransmission,
            TimerClock::GoodNewFrames => seen == Seen::New,
        };
        self.ticks += u64::from(ticks);
        if is_readable || self.config.timer_check == TimerCheck::EveryFrame {
            self.check_timers();
        }
    }

    #[inline]
    fn poll_feedback(&mut self, _now: SimTime) -> Option<Feedback> {
        self.naks.pop_front()
    }

    #[inline]
    fn poll_delivery(&mut self) -> Option<Delivery> {
        self.frames.poll()
    }

    fn awaits(&self, pdu: &Pdu) -> bool {
        matches!(self.place(pdu), Place::Missing(_) | Place::New(_))
    }

    #[inline]
    fn is_in_sequence(&self) -> bool {
        self.frames.is_in_sequence()
    }
}
