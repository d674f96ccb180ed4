//! Parameters of RLP, and readings of the paper as presets.

use crate::arq::ArqError;
use std::fmt;
use std::str::FromStr;

/// Unit of the limit n of retransmissions.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Persistence {
    /// Rounds: expiries of the retransmission timer of a frame, each the end of a round.
    Rounds,
    /// Retransmissions that were asked for, over all rounds.
    Retransmissions,
}

/// Number of NAKs that a round sends for one frame. Each NAK asks for one retransmission.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum NaksPerRound {
    /// Every round sends one NAK.
    One,
    /// The first round sends one NAK, the second two, and so on.
    Growing,
}

/// Clock of the receiver's retransmission timers.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum TimerClock {
    /// Every frame time counts, whatever is received in it: wall-clock time.
    EveryFrame,
    /// Every frame time counts, except those in which a retransmission is received.
    PausedByRetransmissions,
    /// Only received frames that are not retransmissions count; idle frames do.
    GoodNewFrames,
}

/// Times at which the receiver checks its timers.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum TimerCheck {
    /// The timers are checked whenever a frame is received.
    GoodFrames,
    /// The timers are checked in every frame time.
    EveryFrame,
}

/// Parameters of the radio link protocol of IS-99. The default is reading `f`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct RlpIs99Config {
    /// The limit n after which a frame is given up; 3 in IS-99. With 0 no frame is retransmitted.
    pub max_retransmissions: u32,
    /// Unit of the limit n.
    pub persistence: Persistence,
    /// Number of NAKs in a round.
    pub naks_per_round: NaksPerRound,
    /// Clock of the retransmission timers.
    pub timer_clock: TimerClock,
    /// Times at which the timers are checked.
    pub timer_check: TimerCheck,
    /// Part of the retransmission timer for a NAK and its answer, in frames.
    pub round_trip: u32,
    /// Part of the retransmission timer for buffering, in frames; 5 in IS-99.
    pub guard: u32,
    /// Number of frames that each end keeps, the receiver for resequencing and the sender for retransmission; 1 to 128.
    pub buffer: u32,
    /// Least number of frames that leave the head of a resequencing buffer when it overflows.
    pub overflow: u32,
    /// Whether idle frames carry V(S): otherwise the loss of a last frame is noticed only with the next data.
    pub idle_frames_carry_v_s: bool,
    /// Whether a frame is flagged as a retransmission. Without the flag, new frames after a burst of 128 or more lost
    /// frames look old and are discarded; with it, bursts of up to 255 frames are recognised.
    pub retransmissions_are_flagged: bool,
}

impl Default for RlpIs99Config {
    fn default() -> Self {
        Reading::F.config(3)
    }
}

/// A consistent reading of the paper's sentences about timers, which contradict each other in part.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default)]
pub enum Reading {
    /// The literal reading: timers run by wall-clock time, and round r sends r NAKs.
    A,
    /// Like `a`, but retransmissions stop the timers' clock.
    B,
    /// Like `b`, but with one NAK in each round.
    C,
    /// Like `c`, but timers are checked in every frame time.
    D,
    /// Timers run by good new frames, and round r sends r NAKs.
    E,
    /// Like `e`, but n limits the retransmissions of a frame over all rounds.
    #[default]
    F,
    /// Like `e`, but with one NAK in each round.
    G,
}

impl Reading {
    /// All readings.
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
    /// Number of rounds before a frame is given up.
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
