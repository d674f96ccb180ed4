//! Keys of the ARQ protocol of a link, which retransmits lost frames.

use super::base::{LONGEST, absent, json};
use super::tagged::{refuse_foreign, tag, taken_by};
use crate::error::{ScenarioError, join};
use crate::quantity::{FrameSpan, FrameWindow, Frames, Rate, Retransmissions, Share, Size};
use crossfade_core::SimTime;
use crossfade_link::arq::{
    self, GoBackNConfig, Release, RlpIs99Config, RlpNackConfig, SelectiveRepeatConfig, StopAndWaitConfig,
};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// ARQ protocol of the link: which frames are retransmitted, and for how long.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default)]
#[schemars(transform = taken_by::<ArqProtocol>)]
pub struct Arq {
    /// ARQ protocol that retransmits lost frames.
    #[schemars(extend("x-default" = "none: each frame is sent once"))]
    #[serde(skip_serializing_if = "Option::is_none")]
    pub protocol: Option<ArqProtocol>,

    /// Largest number of retransmissions of a frame, after which it is given up; or "unlimited". In rlp-is99,
    /// persistence decides what counts; rlp-is99 and rlp-nack do not take "unlimited".
    #[schemars(extend("x-default" = "3 for rlp-is99 and rlp-nack; unlimited for the others"))]
    #[serde(skip_serializing_if = "Option::is_none")]
    pub max_retransmissions: Option<Retransmissions>,

    /// Window of the ARQ sender: a number of frames, or BDPs of the link ("2 bdp"). It counts from the oldest
    /// unacknowledged frame. One BDP is what the link sends from the start of a frame to its acknowledgement; below 1
    /// bdp the link idles even without losses.
    #[schemars(extend("x-default" = "2 bdp, with protocol \"go-back-n\" or \"selective-repeat\""))]
    #[serde(skip_serializing_if = "Option::is_none")]
    pub window: Option<FrameWindow>,

    /// Retransmission timeout of a frame, from the start of its transmission. In rlp-nack, the time for which the
    /// receiver waits for the answer to a NACK.
    #[schemars(extend(
        "x-default" = "the time from the start of a frame to its acknowledgement for stop-and-wait, go-back-n and \
                       selective-repeat; 4 frames for rlp-nack"
    ))]
    #[serde(skip_serializing_if = "Option::is_none")]
    pub timeout: Option<FrameSpan>,

    /// Order in which the receiver passes frames up.
    #[schemars(extend("x-default" = "in-order, with protocol \"selective-repeat\""))]
    #[serde(skip_serializing_if = "Option::is_none")]
    pub delivery: Option<Delivery>,

    /// Reading of the timers of rlp-is99, `a` to `g`, which the source leaves open. It decides the defaults of
    /// persistence, naks_per_round, timer_clock and timer_check.
    #[schemars(extend("x-default" = "f, with protocol \"rlp-is99\""))]
    #[serde(skip_serializing_if = "Option::is_none")]
    pub reading: Option<Reading>,

    /// Meaning of max_retransmissions for rlp-is99: rounds of NAKs, or retransmissions.
    #[schemars(extend("x-default" = "that of link.arq.reading"))]
    #[serde(skip_serializing_if = "Option::is_none")]
    pub persistence: Option<Persistence>,

    /// Number of NAKs that a round sends for one frame; each asks for one retransmission.
    #[schemars(extend("x-default" = "that of link.arq.reading"))]
    #[serde(skip_serializing_if = "Option::is_none")]
    pub naks_per_round: Option<NaksPerRound>,

    /// Clock that drives the retransmission timers of rlp-is99.
    #[schemars(extend("x-default" = "that of link.arq.reading"))]
    #[serde(skip_serializing_if = "Option::is_none")]
    pub timer_clock: Option<TimerClock>,

    /// Moments at which the receiver of rlp-is99 checks its timers.
    #[schemars(extend("x-default" = "that of link.arq.reading"))]
    #[serde(skip_serializing_if = "Option::is_none")]
    pub timer_check: Option<TimerCheck>,

    /// Allowance of the retransmission timer for a NAK and its answer, in frames.
    #[schemars(extend("x-default" = "2 frames, with protocol \"rlp-is99\""))]
    #[serde(skip_serializing_if = "Option::is_none")]
    pub round_trip: Option<Frames>,

    /// Allowance of the retransmission timer for buffering, in frames.
    #[schemars(extend("x-default" = "5 frames, with protocol \"rlp-is99\""))]
    #[serde(skip_serializing_if = "Option::is_none")]
    pub guard: Option<Frames>,

    /// Size of the ARQ buffer at each end, in frames.
    #[schemars(range(min = 1, max = 128), extend("x-default" = "128, with protocol \"rlp-is99\" or \"rlp-nack\""))]
    #[serde(skip_serializing_if = "Option::is_none")]
    pub buffer: Option<u32>,

    /// Least number of frames dropped from the head of an overflowing resequencing buffer.
    #[schemars(range(min = 1, max = 128), extend("x-default" = "1, with protocol \"rlp-is99\""))]
    #[serde(skip_serializing_if = "Option::is_none")]
    pub overflow: Option<u32>,

    /// Whether idle frames carry V(S), the number of the next new frame. Otherwise the loss of a last frame is noticed
    /// only with the next data.
    #[schemars(extend("x-default" = "true, with protocol \"rlp-is99\""))]
    #[serde(skip_serializing_if = "Option::is_none")]
    pub idle_frames_carry_v_s: Option<bool>,

    /// Whether frames are flagged as retransmissions. With the flag, bursts of up to 255 lost frames are recognised,
    /// without it 127.
    #[schemars(extend("x-default" = "false, with protocol \"rlp-is99\""))]
    #[serde(skip_serializing_if = "Option::is_none")]
    pub retransmissions_are_flagged: Option<bool>,

    /// Whether a corrupt copy of a frame triggers a NACK at once. Needs framing.header = "readable".
    #[schemars(extend("x-default" = "true, with protocol \"rlp-nack\""))]
    #[serde(skip_serializing_if = "Option::is_none")]
    pub nack_corrupt: Option<bool>,

    /// Whether a second NACK of a frame is ignored while the frame waits for its retransmission.
    #[schemars(extend("x-default" = "true, with protocol \"rlp-nack\""))]
    #[serde(skip_serializing_if = "Option::is_none")]
    pub merge_nacks: Option<bool>,

    /// Number of received frames per acknowledgement.
    #[schemars(range(min = 1, max = 128), extend("x-default" = "16, with protocol \"rlp-nack\""))]
    #[serde(skip_serializing_if = "Option::is_none")]
    pub ack_period: Option<u32>,

    /// Reverse path for acknowledgements and NAKs of the ARQ.
    #[serde(skip_serializing_if = "Feedback::is_absent")]
    pub feedback: Feedback,
}

tag! {
    /// ARQ protocol that retransmits lost frames.
    #[serde(rename_all = "kebab-case")]
    pub enum ArqProtocol: Arq by protocol {
        /// The radio link protocol of IS-99, as Chockalingam and Bao describe it: NAKs in rounds.
        #[serde(rename = "rlp-is99")]
        RlpIs99 [
            max_retransmissions, reading, persistence, naks_per_round, timer_clock, timer_check, round_trip,
            guard, buffer, overflow, idle_frames_carry_v_s, retransmissions_are_flagged, feedback
        ],
        /// The radio link protocol of Toledo and Wang: one NACK at a time, a timeout, periodic acknowledgements.
        RlpNack [max_retransmissions, timeout, nack_corrupt, merge_nacks, ack_period, buffer, feedback],
        /// Stop-and-wait: one frame at a time.
        StopAndWait [max_retransmissions, timeout, feedback],
        /// Go-back-N: a window of frames; after a loss the whole window is retransmitted.
        GoBackN [max_retransmissions, window, timeout, feedback],
        /// Selective repeat: a window of frames; only lost frames are retransmitted.
        SelectiveRepeat [max_retransmissions, window, timeout, delivery, feedback],
        /// No ARQ: each frame is sent once.
        None [],
    }
}

/// Order in which a receiver passes frames up.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Delivery {
    /// In order: a frame waits until all frames before it were passed up or given up.
    InOrder,
    /// Delivery in the order of reception: packets may overtake each other.
    Immediate,
}

/// Consistent reading of the timers of rlp-is99; none satisfies all sentences of the source (Chockalingam and Bao).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum Reading {
    /// Literal reading: timers follow the wall clock, and round r sends r NAKs for a frame.
    A,
    /// Like reading a, but retransmissions stop the clock.
    B,
    /// Like reading b, but each round sends one NAK for a frame.
    C,
    /// Like reading c, but timers are checked in every frame time.
    D,
    /// Timers count good new frames, and round r sends r NAKs for a frame.
    E,
    /// Like reading e, but the limit counts the retransmissions of a frame over all rounds.
    F,
    /// Like reading e, but each round sends one NAK for a frame.
    G,
}

/// Meaning of the retransmission limit of rlp-is99.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum Persistence {
    /// The limit counts the expiries of a frame's retransmission timer, each of which ends a round.
    Rounds,
    /// The limit counts the retransmissions requested for a frame over all rounds.
    Retransmissions,
}

/// Number of NAKs that a round of rlp-is99 sends for one frame.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum NaksPerRound {
    /// One NAK for a frame in every round.
    One,
    /// One NAK for a frame in the first round, two in the second, and so on.
    Growing,
}

/// Clock that drives the retransmission timers of rlp-is99.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum TimerClock {
    /// Timers count every frame time, no matter what is received.
    EveryFrame,
    /// Timers count every frame time in which no retransmission is received.
    PausedByRetransmissions,
    /// Timers count received frames except retransmissions; idle frames count.
    GoodNewFrames,
}

/// Moments at which the receiver of rlp-is99 checks its timers.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum TimerCheck {
    /// Timers are checked after each received frame.
    GoodFrames,
    /// Timers are checked in every frame time.
    EveryFrame,
}

/// Reverse path for acknowledgements and NAKs of the ARQ, which no other traffic shares.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default)]
pub struct Feedback {
    /// One-way delay of the reverse path, without transmission time.
    #[schemars(extend(
        "x-default" = "the delay of the link, and 1 frame more for rlp-is99 and rlp-nack, whose NAKs travel in frames"
    ))]
    #[serde(skip_serializing_if = "Option::is_none")]
    pub delay: Option<FrameSpan>,

    /// Bit rate of the reverse path. Needs size.
    #[schemars(extend("x-default" = "none: feedback takes no time to transmit"))]
    #[serde(skip_serializing_if = "Option::is_none")]
    pub rate: Option<Rate>,

    /// Size of one acknowledgement or NAK in bytes. Needs rate.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub size: Option<Size>,

    /// Loss probability of acknowledgements and NAKs of the ARQ; losses are independent.
    #[schemars(extend("x-default" = "0, with an ARQ protocol"))]
    #[serde(skip_serializing_if = "Option::is_none")]
    pub loss: Option<Share>,
}

absent!(Arq, Feedback);

/// Resolved reverse path for acknowledgements and NAKs of an ARQ.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct FeedbackSetup {
    /// Bit rate of the reverse path in bit/s; `None` if transmission takes no time.
    pub rate_bps: Option<f64>,
    /// Size of an acknowledgement or NAK in bytes.
    pub size: u32,
    /// One-way delay of the reverse path, including processing.
    pub delay: SimTime,
    /// Loss probability of acknowledgements and NAKs.
    pub loss: f64,
}

/// Times of a link on which the times of an ARQ protocol depend.
#[derive(Clone, Copy)]
pub(crate) struct FrameTimes {
    pub(crate) frame_time: SimTime,
    pub(crate) delay: SimTime,
    pub(crate) slot: SimTime,
}

impl FrameTimes {
    fn time(self, key: &str, span: FrameSpan) -> Result<SimTime, ScenarioError> {
        let time = span.resolve(self.slot, self.frame_time);
        if time > LONGEST {
            return Err(ScenarioError::value(key, &json(span), "must be at most 100 days"));
        }
        Ok(time)
    }

    fn positive(self, key: &str, span: FrameSpan) -> Result<SimTime, ScenarioError> {
        match self.time(key, span)? {
            SimTime::ZERO => Err(ScenarioError::value(key, &json(span), "must be longer than 0 s")),
            time => Ok(time),
        }
    }
}

impl Arq {
    pub(crate) fn resolve(
        &mut self,
        table: &str,
        times: FrameTimes,
    ) -> Result<(arq::ArqProtocol, FeedbackSetup), ScenarioError> {
        let protocol = *self.protocol.get_or_insert(ArqProtocol::None);
        refuse_foreign(table, self, protocol)?;
        let is_rlp = matches!(protocol, ArqProtocol::RlpIs99 | ArqProtocol::RlpNack);
        let feedback = if protocol == ArqProtocol::None {
            FeedbackSetup { rate_bps: None, size: 0, delay: SimTime::ZERO, loss: 0.0 }
        } else {
            self.feedback.resolve(&join(table, "feedback"), is_rlp, times)?
        };
        let protocol = match protocol {
            ArqProtocol::None => arq::ArqProtocol::None,
            ArqProtocol::StopAndWait => arq::ArqProtocol::StopAndWait(StopAndWaitConfig {
                timeout: self.timeout(table, &feedback, times)?,
                max_retransmissions: self.limit(),
            }),
            ArqProtocol::GoBackN => arq::ArqProtocol::GoBackN(GoBackNConfig {
                window: self.window(table, &feedback, times)?,
                timeout: self.timeout(table, &feedback, times)?,
                max_retransmissions: self.limit(),
            }),
            ArqProtocol::SelectiveRepeat => arq::ArqProtocol::SelectiveRepeat(SelectiveRepeatConfig {
                window: self.window(table, &feedback, times)?,
                timeout: self.timeout(table, &feedback, times)?,
                max_retransmissions: self.limit(),
                release: match self.delivery.get_or_insert(Delivery::InOrder) {
                    Delivery::InOrder => Release::InOrder,
                    Delivery::Immediate => Release::Immediate,
                },
            }),
            ArqProtocol::RlpIs99 => arq::ArqProtocol::RlpIs99(self.rlp_is99(table)?),
            ArqProtocol::RlpNack => arq::ArqProtocol::RlpNack(self.rlp_nack(table, times)?),
        };
        // The models repeat checks of the schema; their parameters have the names of the keys.
        protocol.check().map_err(|error| {
            ScenarioError::key(
                join(table, error.parameter),
                format!("{}: must be {}", error.value, error.allowed),
            )
        })?;
        Ok((protocol, feedback))
    }

    fn limit(&mut self) -> Option<u32> {
        self.max_retransmissions.get_or_insert(Retransmissions(None)).0
    }

    /// Retransmission limit of a radio link protocol (rlp-is99 or rlp-nack).
    fn rlp_limit(&mut self, table: &str) -> Result<u32, ScenarioError> {
        const MOST: u32 = 1000;
        let limit = *self.max_retransmissions.get_or_insert(Retransmissions(Some(3)));
        limit.0.filter(|limit| *limit <= MOST).ok_or_else(|| {
            let problem = format!("must be a number, at most {MOST}, for protocol {}", json(self.protocol));
            ScenarioError::value(join(table, "max_retransmissions"), &json(limit), problem)
        })
    }

    /// Window of go-back-n or selective-repeat, in frames.
    fn window(
        &mut self,
        table: &str,
        feedback: &FeedbackSetup,
        times: FrameTimes,
    ) -> Result<u32, ScenarioError> {
        let window = *self.window.get_or_insert(FrameWindow::Products(2.0));
        let answered = times.frame_time + times.delay + feedback.time();
        window.frames(answered.as_nanos() as f64 / times.frame_time.as_nanos() as f64).ok_or_else(|| {
            let problem = "too many: a window has at most 1048576 frames";
            ScenarioError::value(join(table, "window"), &json(window), problem)
        })
    }

    /// Retransmission timeout of a sender that waits for acknowledgements.
    fn timeout(
        &mut self,
        table: &str,
        feedback: &FeedbackSetup,
        times: FrameTimes,
    ) -> Result<SimTime, ScenarioError> {
        let usual = FrameSpan::exactly(times.frame_time + times.delay + feedback.time());
        times.positive(&join(table, "timeout"), *self.timeout.get_or_insert(usual))
    }

    fn rlp_is99(&mut self, table: &str) -> Result<RlpIs99Config, ScenarioError> {
        let limit = self.rlp_limit(table)?;
        let reading = match self.reading.get_or_insert(Reading::F) {
            Reading::A => arq::Reading::A,
            Reading::B => arq::Reading::B,
            Reading::C => arq::Reading::C,
            Reading::D => arq::Reading::D,
            Reading::E => arq::Reading::E,
            Reading::F => arq::Reading::F,
            Reading::G => arq::Reading::G,
        };
        let usual = reading.config(limit);
        let round_trip = *self.round_trip.get_or_insert(Frames(usual.round_trip));
        if round_trip.0 == 0 {
            let problem = "must be at least 1 frame";
            return Err(ScenarioError::value(join(table, "round_trip"), &json(round_trip), problem));
        }
        Ok(RlpIs99Config {
            max_retransmissions: limit,
            persistence: choice(
                &mut self.persistence,
                usual.persistence,
                &[
                    (Persistence::Rounds, arq::Persistence::Rounds),
                    (Persistence::Retransmissions, arq::Persistence::Retransmissions),
                ],
            ),
            naks_per_round: choice(
                &mut self.naks_per_round,
                usual.naks_per_round,
                &[
                    (NaksPerRound::One, arq::NaksPerRound::One),
                    (NaksPerRound::Growing, arq::NaksPerRound::Growing),
                ],
            ),
            timer_clock: choice(
                &mut self.timer_clock,
                usual.timer_clock,
                &[
                    (TimerClock::EveryFrame, arq::TimerClock::EveryFrame),
                    (TimerClock::PausedByRetransmissions, arq::TimerClock::PausedByRetransmissions),
                    (TimerClock::GoodNewFrames, arq::TimerClock::GoodNewFrames),
                ],
            ),
            timer_check: choice(
                &mut self.timer_check,
                usual.timer_check,
                &[
                    (TimerCheck::GoodFrames, arq::TimerCheck::GoodFrames),
                    (TimerCheck::EveryFrame, arq::TimerCheck::EveryFrame),
                ],
            ),
            round_trip: round_trip.0,
            guard: self.guard.get_or_insert(Frames(usual.guard)).0,
            buffer: *self.buffer.get_or_insert(usual.buffer),
            overflow: *self.overflow.get_or_insert(usual.overflow),
            idle_frames_carry_v_s: *self.idle_frames_carry_v_s.get_or_insert(usual.idle_frames_carry_v_s),
            retransmissions_are_flagged: *self
                .retransmissions_are_flagged
                .get_or_insert(usual.retransmissions_are_flagged),
        })
    }

    fn rlp_nack(&mut self, table: &str, times: FrameTimes) -> Result<RlpNackConfig, ScenarioError> {
        let usual = RlpNackConfig::new(self.rlp_limit(table)?, times.frame_time);
        let timeout = *self.timeout.get_or_insert(FrameSpan::frames(4.0));
        Ok(RlpNackConfig {
            timeout: times.positive(&join(table, "timeout"), timeout)?,
            nack_corrupt: *self.nack_corrupt.get_or_insert(usual.nack_corrupt),
            merge_nacks: *self.merge_nacks.get_or_insert(usual.merge_nacks),
            ack_period: *self.ack_period.get_or_insert(usual.ack_period),
            buffer: *self.buffer.get_or_insert(usual.buffer),
            ..usual
        })
    }
}

/// Value of a word-valued key from `pairs` of words and values; the key is filled in with `usual` if absent.
fn choice<K: Copy + PartialEq, V: Copy + PartialEq>(key: &mut Option<K>, usual: V, words: &[(K, V)]) -> V {
    let (word, value) = match *key {
        Some(given) => words.iter().find(|(word, _)| *word == given),
        None => words.iter().find(|(_, value)| *value == usual),
    }
    .copied()
    .expect("every word has a value and every value a word");
    *key = Some(word);
    value
}

impl Feedback {
    fn resolve(
        &mut self,
        table: &str,
        is_rlp: bool,
        times: FrameTimes,
    ) -> Result<FeedbackSetup, ScenarioError> {
        let usual = if is_rlp { times.delay + times.frame_time } else { times.delay };
        let delay = *self.delay.get_or_insert(FrameSpan::exactly(usual));
        let delay = times.time(&join(table, "delay"), delay)?;
        let size = match (self.rate, self.size) {
            (None, None) => 0,
            (Some(_), Some(size)) if size.0 >= 1 => size.0,
            (Some(_), Some(size)) => {
                return Err(ScenarioError::value(join(table, "size"), &json(size), "must be at least 1 B"));
            }
            (given, _) => {
                let (key, other) = if given.is_some() { ("rate", "size") } else { ("size", "rate") };
                return Err(ScenarioError::key(join(table, key), format!("needs {}", join(table, other))));
            }
        };
        let feedback = FeedbackSetup {
            rate_bps: self.rate.map(|rate| rate.0),
            size,
            delay,
            loss: self.loss.get_or_insert(Share(0.0)).0,
        };
        if feedback.time() > LONGEST {
            let problem = "too slow: an acknowledgement would take more than 100 days";
            return Err(ScenarioError::value(join(table, "rate"), &json(self.rate), problem));
        }
        Ok(feedback)
    }
}

impl FeedbackSetup {
    /// Time from the end of a frame until the sender has received its feedback.
    pub(crate) fn time(&self) -> SimTime {
        let transmission =
            self.rate_bps.map_or(SimTime::ZERO, |rate_bps| SimTime::to_transmit(self.size, rate_bps));
        self.delay.saturating_add(transmission)
    }
}
