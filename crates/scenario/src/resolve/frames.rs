//! Links that send packets as frames, and who repeats lost frames.

use super::{LONGEST, LONGEST_SLOT, json};
use crate::error::{ScenarioError, join};
use crate::quantity::{FrameSpan, Frames, Rate, Retransmissions, Share, Size};
use crate::scenario::{
    Arq, ArqProtocol as ProtocolKey, Delivery, Feedback, FrameHeader as HeaderKey, Framing, Headers,
    NaksPerRound as NaksPerRoundKey, Packing as PackingKey, Persistence as PersistenceKey,
    Reading as ReadingKey, TimerCheck as TimerCheckKey, TimerClock as TimerClockKey,
};
use crossfade_core::SimTime;
use crossfade_link::arq::{
    ArqProtocol, FrameClock, FrameHeader, GoBackNConfig, HeaderCompression, NaksPerRound, Packing,
    Persistence, Reading, Release, RlpIs99Config, RlpNackConfig, SegmentationConfig, SelectiveRepeatConfig,
    StopAndWaitConfig, TimerCheck, TimerClock,
};

/// How a link sends packets as frames, and who repeats lost ones.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct FrameSetup {
    /// Bytes of a frame on the air.
    pub frame_size: u32,
    /// How long a frame takes.
    pub frame_time: SimTime,
    /// When frames start.
    pub clock: FrameClock,
    /// How packets become frames.
    pub segmentation: SegmentationConfig,
    /// What is left of a frame that is spoiled.
    pub header: FrameHeader,
    /// Who repeats it.
    pub protocol: ArqProtocol,
    /// The way back for acknowledgements and NAKs.
    pub feedback: FeedbackSetup,
}

/// The way back for acknowledgements and NAKs.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct FeedbackSetup {
    /// Bit rate in bit/s; `None` takes no time to transmit.
    pub rate_bps: Option<f64>,
    /// Bytes of an acknowledgement or NAK.
    pub size: u32,
    /// Propagation delay, and whatever else passes.
    pub delay: SimTime,
    /// The share that is lost.
    pub loss: f64,
}

impl FrameSetup {
    /// How long a packet of `bytes` takes whose frames are sent one after the other and all received.
    pub fn time_for(&self, bytes: u32) -> SimTime {
        self.frame_time * u64::from(self.segmentation.frames(bytes))
    }

    /// How long the protocol waits before it repeats a frame, or asks for it again, and the key that says so.
    pub(crate) fn patience(&self) -> Option<(&'static str, SimTime)> {
        match self.protocol {
            ArqProtocol::None => None,
            ArqProtocol::StopAndWait(StopAndWaitConfig { timeout, .. })
            | ArqProtocol::GoBackN(GoBackNConfig { timeout, .. })
            | ArqProtocol::SelectiveRepeat(SelectiveRepeatConfig { timeout, .. })
            | ArqProtocol::RlpNack(RlpNackConfig { timeout, .. }) => Some(("timeout", timeout)),
            ArqProtocol::RlpIs99(RlpIs99Config { round_trip, guard, .. }) => {
                Some(("round_trip and guard", self.frame_time * u64::from(round_trip + guard)))
            }
        }
    }

    /// The shortest time from a frame to its acknowledgement, or from a NAK to its answer, on a link of this delay.
    pub(crate) fn answer_time(&self, delay: SimTime) -> SimTime {
        self.frame_time.saturating_add(delay).saturating_add(self.feedback.time())
    }

    /// For how long a frame may be repeated. Where nothing limits that, until one in a million would be left at
    /// this loss rate if losses were independent.
    pub(super) fn longest_recovery(&self, loss_rate: Option<f64>) -> SimTime {
        let expected = || {
            let retransmissions = libm::log(1e-6) / libm::log(loss_rate.unwrap_or(0.5).clamp(1e-6, 0.999));
            retransmissions.ceil() as u64
        };
        let times = match self.protocol {
            ArqProtocol::None => 0,
            ArqProtocol::StopAndWait(StopAndWaitConfig { max_retransmissions, .. })
            | ArqProtocol::GoBackN(GoBackNConfig { max_retransmissions, .. })
            | ArqProtocol::SelectiveRepeat(SelectiveRepeatConfig { max_retransmissions, .. }) => {
                max_retransmissions.map_or_else(expected, u64::from)
            }
            ArqProtocol::RlpNack(config) => u64::from(config.max_retransmissions),
            ArqProtocol::RlpIs99(config) => u64::from(config.rounds()),
        };
        self.patience().map_or(SimTime::ZERO, |(_, patience)| patience.saturating_mul(times))
    }

    /// Bytes on the air of the part of the frames that a packet of `bytes` takes, padding left out.
    pub(super) fn on_air_bytes(&self, bytes: u32) -> u32 {
        let share = f64::from(self.segmentation.link_bytes(bytes)) / f64::from(self.segmentation.payload);
        (share * f64::from(self.frame_size)).ceil() as u32
    }
}

/// The keys of a link that are about its frames.
pub(super) struct FrameKeys<'a> {
    pub(super) frame_size: Option<Size>,
    pub(super) framing: &'a mut Framing,
    pub(super) headers: &'a mut Headers,
    pub(super) arq: &'a mut Arq,
}

/// The link that has the frames.
pub(super) struct Carrier<'a> {
    /// Its table.
    pub(super) table: &'a str,
    pub(super) rate: Option<Rate>,
    pub(super) delay: SimTime,
    /// The largest packet that it carries.
    pub(super) largest_packet: u32,
    pub(super) slot: SimTime,
}

impl FrameKeys<'_> {
    /// Fills in the defaults; `None` is a link without frames.
    pub(super) fn resolve(mut self, link: &Carrier<'_>) -> Result<Option<FrameSetup>, ScenarioError> {
        let Some(frame_size) = self.frame_size else {
            let given = [
                ("framing", !self.framing.is_absent()),
                ("headers", !self.headers.is_absent()),
                ("arq", !self.arq.is_absent()),
            ];
            return match given.into_iter().find(|(_, given)| *given) {
                None => Ok(None),
                Some((key, _)) => {
                    let needs = format!("needs {}, such as \"30 B\"", join(link.table, "frame_size"));
                    Err(ScenarioError::key(join(link.table, key), needs))
                }
            };
        };
        let key = join(link.table, "frame_size");
        if frame_size.0 == 0 {
            return Err(ScenarioError::value(key, &json(frame_size), "must be at least 1 B"));
        }
        let Some(rate) = link.rate else {
            return Err(ScenarioError::value(
                key,
                &json(frame_size),
                format!("needs {}", join(link.table, "rate")),
            ));
        };
        let frame_time = SimTime::to_transmit(frame_size.0, rate.0);
        let segmentation = self.segmentation(link, frame_size)?;
        let whole_packet = u64::from(segmentation.frames(link.largest_packet));
        if frame_time.saturating_mul(whole_packet) > LONGEST_SLOT {
            let problem = "too slow: the frames of a packet would take more than 1 h";
            return Err(ScenarioError::value(join(link.table, "rate"), &json(rate), problem));
        }
        let slotted = *self.framing.slotted.get_or_insert(true);
        let header = match self.framing.header.get_or_insert(HeaderKey::Lost) {
            HeaderKey::Lost => FrameHeader::Lost,
            HeaderKey::Readable => FrameHeader::Readable,
        };
        let times = FrameTimes { frame_time, delay: link.delay, slot: link.slot };
        let (protocol, feedback) = self.arq.resolve(&join(link.table, "arq"), times)?;
        Ok(Some(FrameSetup {
            frame_size: frame_size.0,
            frame_time,
            clock: if slotted { FrameClock::Slotted } else { FrameClock::OnDemand },
            segmentation,
            header,
            protocol,
            feedback,
        }))
    }

    fn segmentation(
        &mut self,
        link: &Carrier<'_>,
        frame_size: Size,
    ) -> Result<SegmentationConfig, ScenarioError> {
        let payload = *self.framing.payload.get_or_insert(frame_size);
        if payload.0 == 0 || payload.0 > frame_size.0 {
            let problem = format!(
                "must be at least 1 B and at most {} = \"{frame_size}\"",
                join(link.table, "frame_size")
            );
            return Err(ScenarioError::value(join(link.table, "framing.payload"), &json(payload), problem));
        }
        let packing = match self.framing.packing.get_or_insert(PackingKey::Padded) {
            PackingKey::Padded => Packing::Padded,
            PackingKey::Crossing => Packing::Crossing,
        };
        let key = |name: &str| join(link.table, &format!("headers.{name}"));
        let header_compression = match (self.headers.compressed, self.headers.tcp_ip) {
            (None, None) => None,
            (None, Some(_)) => {
                return Err(ScenarioError::key(key("tcp_ip"), format!("needs {}", key("compressed"))));
            }
            (Some(compressed), full) => {
                let full = full.unwrap_or(Size(HeaderCompression::VAN_JACOBSON.header));
                self.headers.tcp_ip = Some(full);
                if compressed.0 > full.0 {
                    let problem = format!("must be at most {} = \"{full}\"", key("tcp_ip"));
                    return Err(ScenarioError::value(key("compressed"), &json(compressed), problem));
                }
                Some(HeaderCompression { header: full.0, compressed: compressed.0 })
            }
        };
        let framing = self.headers.ppp.get_or_insert(Size(0)).0;
        Ok(SegmentationConfig { payload: payload.0, packing, framing, header_compression })
    }
}

/// The times of a link that those of a protocol depend on.
#[derive(Clone, Copy)]
struct FrameTimes {
    frame_time: SimTime,
    delay: SimTime,
    slot: SimTime,
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

/// What each protocol takes beside `feedback`.
fn keys_of(protocol: ProtocolKey) -> &'static [&'static str] {
    match protocol {
        ProtocolKey::None => &[],
        ProtocolKey::StopAndWait => &["max_retransmissions", "timeout"],
        ProtocolKey::GoBackN => &["max_retransmissions", "window", "timeout"],
        ProtocolKey::SelectiveRepeat => &["max_retransmissions", "window", "timeout", "delivery"],
        ProtocolKey::RlpIs99 => &[
            "max_retransmissions",
            "reading",
            "persistence",
            "naks_per_round",
            "timer_clock",
            "timer_check",
            "round_trip",
            "guard",
            "buffer",
            "overflow",
            "idle_frames_carry_v_s",
            "retransmissions_are_flagged",
        ],
        ProtocolKey::RlpNack => {
            &["max_retransmissions", "timeout", "nack_corrupt", "merge_nacks", "ack_period", "buffer"]
        }
    }
}

impl Arq {
    fn resolve(
        &mut self,
        table: &str,
        times: FrameTimes,
    ) -> Result<(ArqProtocol, FeedbackSetup), ScenarioError> {
        let protocol = *self.protocol.get_or_insert(ProtocolKey::None);
        self.refuse_foreign_keys(table, protocol)?;
        let is_rlp = matches!(protocol, ProtocolKey::RlpIs99 | ProtocolKey::RlpNack);
        let feedback = if protocol == ProtocolKey::None {
            FeedbackSetup { rate_bps: None, size: 0, delay: SimTime::ZERO, loss: 0.0 }
        } else {
            self.feedback.resolve(&join(table, "feedback"), is_rlp, times)?
        };
        let protocol = match protocol {
            ProtocolKey::None => ArqProtocol::None,
            ProtocolKey::StopAndWait => ArqProtocol::StopAndWait(StopAndWaitConfig {
                timeout: self.timeout(table, &feedback, times)?,
                max_retransmissions: self.limit(),
            }),
            ProtocolKey::GoBackN => ArqProtocol::GoBackN(GoBackNConfig {
                window: self.window(table, protocol)?,
                timeout: self.timeout(table, &feedback, times)?,
                max_retransmissions: self.limit(),
            }),
            ProtocolKey::SelectiveRepeat => ArqProtocol::SelectiveRepeat(SelectiveRepeatConfig {
                window: self.window(table, protocol)?,
                timeout: self.timeout(table, &feedback, times)?,
                max_retransmissions: self.limit(),
                release: match self.delivery.get_or_insert(Delivery::InOrder) {
                    Delivery::InOrder => Release::InOrder,
                    Delivery::Immediate => Release::Immediate,
                },
            }),
            ProtocolKey::RlpIs99 => ArqProtocol::RlpIs99(self.rlp_is99(table)?),
            ProtocolKey::RlpNack => ArqProtocol::RlpNack(self.rlp_nack(table, times)?),
        };
        // The models check what the schema has checked; their parameters have the names of the keys.
        protocol.check().map_err(|error| {
            ScenarioError::key(
                join(table, error.parameter),
                format!("{}: must be {}", error.value, error.allowed),
            )
        })?;
        Ok((protocol, feedback))
    }

    fn refuse_foreign_keys(&self, table: &str, protocol: ProtocolKey) -> Result<(), ScenarioError> {
        let given = [
            ("max_retransmissions", self.max_retransmissions.is_some()),
            ("window", self.window.is_some()),
            ("timeout", self.timeout.is_some()),
            ("delivery", self.delivery.is_some()),
            ("reading", self.reading.is_some()),
            ("persistence", self.persistence.is_some()),
            ("naks_per_round", self.naks_per_round.is_some()),
            ("timer_clock", self.timer_clock.is_some()),
            ("timer_check", self.timer_check.is_some()),
            ("round_trip", self.round_trip.is_some()),
            ("guard", self.guard.is_some()),
            ("buffer", self.buffer.is_some()),
            ("overflow", self.overflow.is_some()),
            ("idle_frames_carry_v_s", self.idle_frames_carry_v_s.is_some()),
            ("retransmissions_are_flagged", self.retransmissions_are_flagged.is_some()),
            ("nack_corrupt", self.nack_corrupt.is_some()),
            ("merge_nacks", self.merge_nacks.is_some()),
            ("ack_period", self.ack_period.is_some()),
            ("feedback", !self.feedback.is_absent()),
        ];
        let allowed = keys_of(protocol);
        let takes = |key| allowed.contains(&key) || key == "feedback" && protocol != ProtocolKey::None;
        let Some((foreign, _)) = given.iter().find(|(key, given)| *given && !takes(key)) else {
            return Ok(());
        };
        let reason = match protocol {
            ProtocolKey::None => "it takes no other key".to_owned(),
            _ => format!("it takes {}, feedback", allowed.join(", ")),
        };
        let protocol = format!("{} = {}", join(table, "protocol"), json(protocol));
        Err(ScenarioError::contradiction(&join(table, foreign), &protocol, reason))
    }

    fn limit(&mut self) -> Option<u32> {
        self.max_retransmissions.get_or_insert(Retransmissions(None)).0
    }

    /// The limit of a radio link protocol.
    fn rlp_limit(&mut self, table: &str) -> Result<u32, ScenarioError> {
        const MOST: u32 = 1000;
        let limit = *self.max_retransmissions.get_or_insert(Retransmissions(Some(3)));
        limit.0.filter(|limit| *limit <= MOST).ok_or_else(|| {
            let problem = format!("must be a number, at most {MOST}, for protocol {}", json(self.protocol));
            ScenarioError::value(join(table, "max_retransmissions"), &json(limit), problem)
        })
    }

    fn window(&self, table: &str, protocol: ProtocolKey) -> Result<u32, ScenarioError> {
        self.window.ok_or_else(|| {
            let problem = format!("protocol {} needs it, such as 32", json(protocol));
            ScenarioError::missing(&join(table, "window"), &problem)
        })
    }

    /// The timeout of a sender that waits for acknowledgements.
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
        let reading = match self.reading.get_or_insert(ReadingKey::F) {
            ReadingKey::A => Reading::A,
            ReadingKey::B => Reading::B,
            ReadingKey::C => Reading::C,
            ReadingKey::D => Reading::D,
            ReadingKey::E => Reading::E,
            ReadingKey::F => Reading::F,
            ReadingKey::G => Reading::G,
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
                    (PersistenceKey::Rounds, Persistence::Rounds),
                    (PersistenceKey::Retransmissions, Persistence::Retransmissions),
                ],
            ),
            naks_per_round: choice(
                &mut self.naks_per_round,
                usual.naks_per_round,
                &[
                    (NaksPerRoundKey::One, NaksPerRound::One),
                    (NaksPerRoundKey::Growing, NaksPerRound::Growing),
                ],
            ),
            timer_clock: choice(
                &mut self.timer_clock,
                usual.timer_clock,
                &[
                    (TimerClockKey::EveryFrame, TimerClock::EveryFrame),
                    (TimerClockKey::PausedByRetransmissions, TimerClock::PausedByRetransmissions),
                    (TimerClockKey::GoodNewFrames, TimerClock::GoodNewFrames),
                ],
            ),
            timer_check: choice(
                &mut self.timer_check,
                usual.timer_check,
                &[
                    (TimerCheckKey::GoodFrames, TimerCheck::GoodFrames),
                    (TimerCheckKey::EveryFrame, TimerCheck::EveryFrame),
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

/// The value of a key, filled in with the `usual` one, among pairs of words and values.
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
    /// From the end of a frame until the sender has heard what the receiver says of it.
    fn time(&self) -> SimTime {
        let transmission =
            self.rate_bps.map_or(SimTime::ZERO, |rate_bps| SimTime::to_transmit(self.size, rate_bps));
        self.delay.saturating_add(transmission)
    }
}
