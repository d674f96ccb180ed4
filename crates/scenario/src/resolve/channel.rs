//! The channel tables.

use super::json;
use crate::error::{ScenarioError, join};
use crate::files::{Files, RecordedLosses};
use crate::quantity::Share;
use crate::scenario::{Channel, ChannelModel, Clock as ClockKey, LossFormat};
use crossfade_channel::{
    ChannelError, Clock, DropList, RayleighFading, TraceFormat, TwoStateMarkov, p_e_from_fading_margin_db,
};
use crossfade_core::SimTime;
use crossfade_link::trace::RateTable;

/// Which packets a channel loses, with checked parameters.
#[derive(Clone, Debug)]
pub enum LossModel {
    /// None.
    Lossless,
    /// Each with this probability.
    Iid {
        /// The probability.
        p_e: f64,
    },
    /// Those in the bad state of a Markov chain.
    Markov {
        /// The chain.
        chain: TwoStateMarkov,
        /// What makes it step.
        clock: Clock,
    },
    /// Those that meet the sampled Rayleigh process below its threshold.
    Rayleigh {
        /// The share of time below the threshold.
        p_e: f64,
        /// Normalised Doppler frequency.
        fd_t: f64,
        /// What makes the process step.
        clock: Clock,
    },
    /// The transmissions listed.
    DropList(DropList),
    /// Those that a record lost.
    Trace {
        /// The record.
        losses: RecordedLosses,
        /// What makes it step.
        clock: Clock,
    },
    /// Each with the probability that a table gives for its time.
    Table(RateTable),
}

impl LossModel {
    /// The share that is lost in the long run; `None` where there is no long run.
    pub(crate) fn rate(&self) -> Option<f64> {
        match self {
            Self::Lossless => Some(0.0),
            Self::Iid { p_e } | Self::Rayleigh { p_e, .. } => Some(*p_e),
            Self::Markov { chain, .. } => Some(chain.p_e()),
            Self::Trace { losses, .. } => Some(losses.trace.losses() as f64 / losses.trace.packets() as f64),
            Self::DropList(_) | Self::Table(_) => None,
        }
    }

    /// Whether, sooner or later, every packet is lost.
    pub(crate) fn ends_in_loss(&self) -> bool {
        match self {
            Self::Lossless | Self::DropList(_) => false,
            Self::Iid { p_e } | Self::Rayleigh { p_e, .. } => *p_e >= 1.0,
            // A bad state that is never left, and can be reached.
            Self::Markov { chain, .. } => chain.p_bg() <= 0.0 && chain.p_gb() > 0.0,
            Self::Trace { losses, .. } => losses.trace.losses() == losses.trace.packets(),
            Self::Table(table) => table.ends_dead(),
        }
    }

    /// Whether the parameters let packets be lost at all.
    pub(crate) fn may_lose(&self) -> bool {
        match self {
            Self::Lossless => false,
            Self::Iid { p_e } | Self::Rayleigh { p_e, .. } => *p_e > 0.0,
            Self::Markov { chain, .. } => chain.p_e() > 0.0,
            Self::DropList(_) => true,
            Self::Trace { losses, .. } => losses.trace.losses() > 0,
            Self::Table(table) => table.rows().iter().any(|row| row.loss > 0.0),
        }
    }
}

/// A model's keys, as messages name them.
fn keys_of(model: ChannelModel) -> (&'static [&'static str], &'static str) {
    match model {
        ChannelModel::None => (&[], "no other key"),
        ChannelModel::Iid => (&["p_e"], "p_e alone"),
        ChannelModel::Markov => (
            &["p_e", "fading_margin_db", "fd_t", "mean_burst", "p_gg", "p_bb", "clock"],
            "{p_e or fading_margin_db, fd_t}, {p_e, mean_burst} or {p_gg, p_bb}, and clock",
        ),
        ChannelModel::Rayleigh => {
            (&["p_e", "fading_margin_db", "fd_t", "clock"], "{p_e or fading_margin_db, fd_t}, and clock")
        }
        ChannelModel::DropList => (&["drops"], "drops alone"),
        ChannelModel::Trace => (&["file", "format", "clock"], "file, format and clock"),
    }
}

/// Keys of which a Markov or Rayleigh channel takes one.
const EXCLUSIVE: [(&str, &str); 11] = [
    ("fading_margin_db", "p_e"),
    ("mean_burst", "fd_t"),
    ("mean_burst", "fading_margin_db"),
    ("p_gg", "p_e"),
    ("p_gg", "fading_margin_db"),
    ("p_gg", "fd_t"),
    ("p_gg", "mean_burst"),
    ("p_bb", "p_e"),
    ("p_bb", "fading_margin_db"),
    ("p_bb", "fd_t"),
    ("p_bb", "mean_burst"),
];

impl Channel {
    /// The keys given beside `model`.
    fn given(&self) -> Vec<&'static str> {
        let keys = [
            ("p_e", self.p_e.is_some()),
            ("fading_margin_db", self.fading_margin_db.is_some()),
            ("fd_t", self.fd_t.is_some()),
            ("mean_burst", self.mean_burst.is_some()),
            ("p_gg", self.p_gg.is_some()),
            ("p_bb", self.p_bb.is_some()),
            ("drops", self.drops.is_some()),
            ("file", self.file.is_some()),
            ("format", self.format.is_some()),
            ("clock", self.clock.is_some()),
        ];
        keys.into_iter().filter(|(_, given)| *given).map(|(key, _)| key).collect()
    }

    /// Fills in the defaults of the table called `table`.
    ///
    /// Its steps in time are slots, or on a link with frames the times of frames.
    pub(super) fn resolve(
        &mut self,
        table: &str,
        slot: SimTime,
        frame_time: Option<SimTime>,
        files: &Files<'_>,
    ) -> Result<LossModel, ScenarioError> {
        let model = self.model.ok_or_else(|| {
            ScenarioError::missing(
                &join(table, "model"),
                "one of none, iid, markov, rayleigh, drop-list, trace",
            )
        })?;
        self.refuse_foreign_keys(table, model)?;
        match model {
            ChannelModel::None => Ok(LossModel::Lossless),
            ChannelModel::Iid => match self.p_e {
                Some(Share(p_e)) => Ok(LossModel::Iid { p_e }),
                None => Err(self.incomplete(table, model)),
            },
            ChannelModel::Markov => {
                let chain = self.chain(table)?;
                Ok(LossModel::Markov { chain, clock: self.resolve_clock(table, slot, frame_time)? })
            }
            ChannelModel::Rayleigh => {
                let (p_e, fd_t) = self.fading(table)?.ok_or_else(|| self.incomplete(table, model))?;
                RayleighFading::new(fd_t).map_err(|error| refuse(table, &error))?;
                let clock = self.resolve_clock(table, slot, frame_time)?;
                Ok(LossModel::Rayleigh { p_e, fd_t, clock })
            }
            ChannelModel::DropList => {
                let drops = self.drops.as_ref().ok_or_else(|| self.incomplete(table, model))?;
                if drops.is_empty() {
                    let problem = "must name a transmission; model \"none\" loses nothing";
                    return Err(ScenarioError::value(join(table, "drops"), &json(drops), problem));
                }
                DropList::new(drops.clone()).map(LossModel::DropList).map_err(|error| refuse(table, &error))
            }
            ChannelModel::Trace => {
                let Some(name) = self.file.clone() else { return Err(self.incomplete(table, model)) };
                let format = match self.format.get_or_insert(LossFormat::Auto) {
                    LossFormat::Auto => TraceFormat::Auto,
                    LossFormat::Bits => TraceFormat::Bits,
                    LossFormat::Lost => TraceFormat::Lost,
                };
                let losses = files.losses(&join(table, "file"), &name, format)?;
                Ok(LossModel::Trace { losses, clock: self.resolve_clock(table, slot, frame_time)? })
            }
        }
    }

    fn refuse_foreign_keys(&self, table: &str, model: ChannelModel) -> Result<(), ScenarioError> {
        let (allowed, takes) = keys_of(model);
        let given = self.given();
        let word = json(model);
        let Some(foreign) = given.iter().find(|key| !allowed.contains(key)) else { return Ok(()) };
        let reason = format!("model {word} takes {takes}");
        if model == ChannelModel::DropList && given.contains(&"drops") {
            return Err(ScenarioError::contradiction(&join(table, "drops"), &join(table, foreign), reason));
        }
        let model = format!("{} = {word}", join(table, "model"));
        Err(ScenarioError::contradiction(&join(table, foreign), &model, format!("it takes {takes}")))
    }

    fn incomplete(&self, table: &str, model: ChannelModel) -> ScenarioError {
        let given = self.given();
        let given = if given.is_empty() { "nothing".to_owned() } else { given.join(", ") };
        let (_, takes) = keys_of(model);
        ScenarioError::key(table, format!("incomplete; model {} takes {takes}; given: {given}", json(model)))
    }

    fn resolve_clock(
        &mut self,
        table: &str,
        slot: SimTime,
        frame_time: Option<SimTime>,
    ) -> Result<Clock, ScenarioError> {
        let usual = if frame_time.is_some() { ClockKey::Frame } else { ClockKey::Slot };
        let refuse = |clock: ClockKey, problem: &str| {
            Err(ScenarioError::value(join(table, "clock"), &json(clock), problem))
        };
        match (*self.clock.get_or_insert(usual), frame_time) {
            (ClockKey::Transmission, _) => Ok(Clock::Transmission),
            (ClockKey::Slot, None) => Ok(Clock::Slot(slot)),
            (ClockKey::Frame, Some(frame_time)) => Ok(Clock::Slot(frame_time)),
            (ClockKey::Slot, Some(_)) => {
                refuse(ClockKey::Slot, "must be frame or transmission on a link with frames")
            }
            (ClockKey::Frame, None) => {
                refuse(ClockKey::Frame, "must be slot or transmission on a link without frame_size")
            }
        }
    }

    /// `p_e` and `fd_t` of a fading channel, if that is how it is given.
    fn fading(&self, table: &str) -> Result<Option<(f64, f64)>, ScenarioError> {
        let given = self.given();
        if let Some((a, b)) = EXCLUSIVE.into_iter().find(|(a, b)| given.contains(a) && given.contains(b)) {
            let (_, takes) = keys_of(ChannelModel::Markov);
            let reason = format!("a channel takes {takes}");
            return Err(ScenarioError::contradiction(&join(table, a), &join(table, b), reason));
        }
        let p_e = match self.fading_margin_db {
            Some(margin) => Some(p_e_from_fading_margin_db(margin).map_err(|error| refuse(table, &error))?),
            None => self.p_e.map(|share| share.0),
        };
        Ok(p_e.zip(self.fd_t))
    }

    fn chain(&self, table: &str) -> Result<TwoStateMarkov, ScenarioError> {
        let chain = match (self.fading(table)?, self.p_e, self.mean_burst, self.p_gg, self.p_bb) {
            (Some((p_e, fd_t)), ..) => TwoStateMarkov::from_rayleigh(p_e, fd_t),
            (_, Some(Share(p_e)), Some(burst), ..) => TwoStateMarkov::from_burst(p_e, burst),
            (.., Some(Share(p_gg)), Some(Share(p_bb))) => TwoStateMarkov::new(p_gg, p_bb),
            _ => return Err(self.incomplete(table, ChannelModel::Markov)),
        };
        chain.map_err(|error| refuse(table, &error))
    }
}

/// A refusal of the model, with the key that it is about.
fn refuse(table: &str, error: &ChannelError) -> ScenarioError {
    match error {
        ChannelError::OutOfRange { parameter, value, allowed } => {
            ScenarioError::value(join(table, parameter), &json(value), format!("must be {allowed}"))
        }
        ChannelError::DropsNotIncreasing { position, drop, previous } => {
            let problem = format!("must be above the one before it, {previous}");
            ScenarioError::value(format!("{table}.drops[{position}]"), &json(drop), problem)
        }
        ChannelError::NeverChangesState => ScenarioError::key(table, error.to_string()),
    }
}
