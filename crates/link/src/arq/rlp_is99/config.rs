//! Parameters of the RLP of IS-99, and readings of its description as presets.

use crate::arq::ArqError;
use std::fmt;
use std::str::FromStr;

/// Unit of the limit n of retransmissions in RLP.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Persistence {
    /// n limits rounds: expiries of a frame's retransmission timer, each of which ends a round.
    Rounds,
    /// n limits the retransmissions requested over all rounds.
    Retransmissions,
}

/// Number of NAKs that a round of RLP sends for one frame. Each NAK requests one retransmission.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum NaksPerRound {
    /// Every round sends one NAK.
    One,
    /// The first round sends one NAK, the second two, and so on.
    Growing,
}

/// Clock of the retransmission timers of the RLP receiver.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum TimerClock {
    /// Every frame time counts, with or without a reception: wall-clock time.
    EveryFrame,
    /// Every frame time counts, except those in which a retransmission is received.
    PausedByRetransmissions,
    /// Only frame times count in which a good frame is received that is no retransmission; idle frames count.
    GoodNewFrames,
}

/// Times at which the RLP receiver checks its retransmission timers.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum TimerCheck {
    /// The timers are checked whenever a readable frame is received.
    GoodFrames,
    /// The timers are checked in every frame time.
    EveryFrame,
}

/// Parameters of the radio link protocol (RLP) of IS-99. The default is [`Reading::F`] with n = 3.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct RlpIs99Config {
    /// Limit n after which a frame is given up; 3 in IS-99. With 0 no frame is retransmitted.
    pub max_retransmissions: u32,
    /// Unit of the limit n: rounds or retransmissions.
    pub persistence: Persistence,
    /// Number of NAKs that a round sends for one frame.
    pub naks_per_round: NaksPerRound,
    /// Clock of the receiver's retransmission timers.
    pub timer_clock: TimerClock,
    /// Times at which the receiver checks its retransmission timers.
    pub timer_check: TimerCheck,
    /// Part of the retransmission timer for the round trip of a NAK and its retransmission, in frame times.
    pub round_trip: u32,
    /// Part of the retransmission timer for buffering delays, in frame times; 5 in IS-99.
    pub guard: u32,
    /// Number of frames that each end stores, the receiver for resequencing and the sender for retransmission; 1 to
    /// 128.
    pub buffer: u32,
    /// Least number of frames that leave the head of a resequencing buffer when it overflows.
    pub overflow: u32,
    /// True if idle frames carry V(S); otherwise the loss of a last frame is noticed only with the next data.
    pub idle_frames_carry_v_s: bool,
    /// True if retransmissions carry a flag. Without it, new frames after a burst of 128 or more lost frames look old
    /// and are discarded; with it, bursts of up to 255 frames are recognised.
    pub retransmissions_are_flagged: bool,
}

impl Default for RlpIs99Config {
    fn default() -> Self {
        Reading::F.config(3)
    }
}

/// Consistent reading of the sentences of Chockalingam and Bao about timers, which contradict each other in part.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default)]
pub enum Reading {
    /// Literal reading: timers run by wall-clock time, and round r sends r NAKs.
    A,
    /// Timers run by wall-clock time, except while retransmissions are received; round r sends r NAKs.
    B,
    /// Timers run by wall-clock time, except while retransmissions are received; every round sends one NAK.
    C,
    /// Timers run by wall-clock time, except while retransmissions are received, and are checked in every frame time,
    /// not only on a readable frame; every round sends one NAK.
    D,
    /// Timers run by good new frames, and round r sends r NAKs.
    E,
    /// Timers run by good new frames, round r sends r NAKs, and n limits the retransmissions of a frame over all
    /// rounds. This is the default.
    #[default]
    F,
    /// Timers run by good new frames, and every round sends one NAK.
    G,
}

impl Reading {
    /// All readings, `a` to `g`.
    pub const ALL: [Self; 7] = [Self::A, Self::B, Self::C, Self::D, Self::E, Self::F, Self::G];

    /// Name of the reading, `a` to `g`.
    pub fn name(self) -> &'static str {
        match self {
            Self::A => "a",
            Self::B => "b",
            Self::C => "c",
            Self::D => "d",
            Self::E => "e",
            Self::F => "f",
            Self::G => "g",
        }
    }

    /// Parameters of this reading, with the limit n = `max_retransmissions`.
    pub fn config(self, max_retransmissions: u32) -> RlpIs99Config {
        use Reading::{A, B, C, D, E, F, G};
        RlpIs99Config {
            max_retransmissions,
            persistence: if self == F { Persistence::Retransmissions } else { Persistence::Rounds },
            naks_per_round: match self {
                C | D | G => NaksPerRound::One,
                A | B | E | F => NaksPerRound::Growing,
            },
            timer_clock: match self {
                A => TimerClock::EveryFrame,
                B | C | D => TimerClock::PausedByRetransmissions,
                E | F | G => TimerClock::GoodNewFrames,
            },
            timer_check: if self == D { TimerCheck::EveryFrame } else { TimerCheck::GoodFrames },
            round_trip: 2,
            guard: 5,
            buffer: 128,
            overflow: 1,
            idle_frames_carry_v_s: true,
            retransmissions_are_flagged: false,
        }
    }
}

impl fmt::Display for Reading {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

impl FromStr for Reading {
    type Err = ArqError;

    fn from_str(name: &str) -> Result<Self, ArqError> {
        Self::ALL.into_iter().find(|reading| reading.name() == name).ok_or_else(|| ArqError {
            parameter: "reading",
            value: format!("{name:?}"),
            allowed: "a, b, c, d, e, f or g".into(),
        })
    }
}

impl RlpIs99Config {
    /// Number of rounds after which a frame is given up.
    pub fn rounds(&self) -> u32 {
        match (self.persistence, self.naks_per_round) {
            (Persistence::Rounds, _) | (Persistence::Retransmissions, NaksPerRound::One) => {
                self.max_retransmissions
            }
            (Persistence::Retransmissions, NaksPerRound::Growing) => {
                let asked_by = |round: &u32| u64::from(*round) * (u64::from(*round) + 1) / 2;
                let limit = u64::from(self.max_retransmissions);
                (0..=self.max_retransmissions).find(|round| asked_by(round) >= limit).unwrap_or(0)
            }
        }
    }
}
