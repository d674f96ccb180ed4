//! The parameters of the protocol, and the readings of the paper that they stand for.

use crate::arq::ArqError;
use std::fmt;
use std::str::FromStr;

/// What the limit n counts.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Persistence {
    /// Rounds: expiries of the retransmission timer of a frame, each the end of a round.
    Rounds,
    /// Retransmissions that were asked for, over all rounds.
    Retransmissions,
}

/// How many NAKs a round sends for one frame. Each NAK asks for one retransmission.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum NaksPerRound {
    /// One in every round.
    One,
    /// One in the first round, two in the second, and so on.
    Growing,
}

/// What makes the retransmission timers of the receiver run.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum TimerClock {
    /// Every frame time, whatever is received in it: the clock on the wall.
    EveryFrame,
    /// Every frame time but those in which a retransmission is received.
    PausedByRetransmissions,
    /// Only the frames that are received, and are no retransmissions. Idle frames count.
    GoodNewFrames,
}

/// When the receiver looks at its timers.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum TimerCheck {
    /// When it has received a frame.
    GoodFrames,
    /// In every frame time.
    EveryFrame,
}

/// The parameters of the protocol. The default is reading `f`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct RlpIs99Config {
    /// The limit n, after which a frame is given up; 3 in IS-99. With 0 nothing is ever retransmitted.
    pub max_retransmissions: u32,
    /// What the limit counts.
    pub persistence: Persistence,
    /// How many NAKs a round sends.
    pub naks_per_round: NaksPerRound,
    /// What makes the timers run.
    pub timer_clock: TimerClock,
    /// When they are looked at.
    pub timer_check: TimerCheck,
    /// What the retransmission timer allows for a NAK and its answer, in frames.
    pub round_trip: u32,
    /// What it adds for buffering, in frames; 5 in IS-99.
    pub guard: u32,
    /// How many frames each end keeps: the receiver to put them into order, the sender to send them again. 1
    /// to 128.
    pub buffer: u32,
    /// At least so many frames leave the head of a resequencing buffer that overflows.
    pub overflow: u32,
    /// Whether idle frames carry V(S): otherwise the loss of a last frame is noticed only with the next data.
    pub idle_frames_carry_v_s: bool,
    /// Whether a frame tells that it is a retransmission. Otherwise a burst of 128 lost frames or more makes
    /// what follows look old, and it is discarded; with it, bursts of up to 255 frames are seen for what they
    /// are.
    pub retransmissions_are_flagged: bool,
}

impl Default for RlpIs99Config {
    fn default() -> Self {
        Reading::F.config(3)
    }
}

/// A consistent reading of what the paper says of its timers. No reading meets all of its sentences.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default)]
pub enum Reading {
    /// The literal one: the timers run by the clock on the wall, round r sends r NAKs.
    A,
    /// As `a`, and retransmissions stop the clock.
    B,
    /// As `b`, with one NAK a round.
    C,
    /// As `c`, and timers are looked at in every frame time.
    D,
    /// The timers run by good new frames; round r sends r NAKs.
    E,
    /// As `e`, and n limits the retransmissions of a frame over all rounds.
    #[default]
    F,
    /// As `e`, with one NAK a round.
    G,
}

impl Reading {
    /// All of them.
    pub const ALL: [Self; 7] = [Self::A, Self::B, Self::C, Self::D, Self::E, Self::F, Self::G];

    /// `a` to `g`.
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

    /// The parameters of this reading, with the limit n.
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
    /// How many rounds there are before a frame is given up.
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
