//! Keys of links whose capacity follows a recording or a table.

use super::base::{LONGEST, absent, json};
use super::tagged::given;
use crate::error::{ScenarioError, join};
use crate::files::Files;
use crate::quantity::{FileName, Share, Size, Span};
use crossfade_core::{SimTime, units};
use crossfade_link::trace::formats::{Direction, Recorded};
use crossfade_link::trace::{
    DVB_S2, DelaySeries, Interpolation, LinkBudget, OpportunityTrace, RateTable, Schedule,
};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// Recorded capacity of a link: a file of opportunities, rates or attenuation, and optionally one of delays.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default)]
pub struct Trace {
    /// File of delivery opportunities. Each line is a time in whole milliseconds at which 1500 bytes may leave. The
    /// trace repeats after its last time. Mahimahi and many cellular traces have this format.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub opportunities: Option<FileName>,

    /// Bytes that may leave at an opportunity. CellReplay's heavy traces, which have mahimahi's format, have 1400 B.
    /// Taken by opportunities.
    #[schemars(extend("x-default" = "1500 B, with link.trace.opportunities"))]
    #[serde(skip_serializing_if = "Option::is_none")]
    pub opportunity_size: Option<Size>,

    /// Table of rates over time. Its columns are time_s, rate_bps, delay_s, and loss, the loss probability of
    /// packets. It may also be a recording of another tool that holds rates, such as TheaterQ, rattan, tc netem or
    /// iBox. Its delay is added to that of the link.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub rates: Option<FileName>,

    /// Table of attenuation over time, beyond that under a clear sky: time_s, attenuation_db. Needs budget.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub attenuation: Option<FileName>,

    /// Table of propagation delay over time. Its columns are time_s and delay_s, or rtt_s, of which half is the
    /// delay. It may also be a recording of another tool that holds delays, such as LeoReplayer or CellReplay. The
    /// delay is added to that of the link; a packet takes the value at the end of its transmission, and never
    /// overtakes another. Taken by opportunities and attenuation.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub delays: Option<FileName>,

    /// Interpolation of the delay between two rows of delays.
    #[schemars(extend("x-default" = "step, with link.trace.delays"))]
    #[serde(skip_serializing_if = "Option::is_none")]
    pub interpolation: Option<Between>,

    /// Behaviour after the end of the table of delays.
    #[schemars(extend("x-default" = "repeat if the capacity repeats, otherwise hold; with link.trace.delays"))]
    #[serde(skip_serializing_if = "Option::is_none")]
    pub delays_end: Option<DelaysEnd>,

    /// Behaviour after the end of the recorded capacity. A table without the duration of its last row needs period.
    #[schemars(extend("x-default" = "loop with opportunities; with rates what the file says, otherwise hold"))]
    #[serde(skip_serializing_if = "Option::is_none")]
    pub at_end: Option<AtEnd>,

    /// Direction to read from a file that has both directions. Taken by rates and delays.
    #[schemars(extend("x-default" = "none: required for a file with both directions"))]
    #[serde(skip_serializing_if = "Option::is_none")]
    pub direction: Option<Way>,

    /// Time after which a table begins again, or ends, as at_end says. Taken by rates and attenuation.
    #[schemars(extend("x-default" = "the duration that the file states, otherwise none: the last row holds for ever"))]
    #[serde(skip_serializing_if = "Option::is_none")]
    pub period: Option<Span>,

    /// Set of modulations and codes that the link can use. Taken by attenuation.
    #[schemars(extend("x-default" = "dvb-s2, with link.trace.attenuation"))]
    #[serde(skip_serializing_if = "Option::is_none")]
    pub modcod: Option<Modcod>,

    /// Link budget, which turns attenuation into rate and loss. Taken by attenuation.
    #[serde(skip_serializing_if = "Budget::is_absent")]
    pub budget: Budget,
}

/// Interpolation of the delay between two rows of a table.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum Between {
    /// Each row holds until the next.
    Step,
    /// Linear from one row to the next.
    Linear,
}

/// Behaviour after the end of a table of delays.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum DelaysEnd {
    /// Delays begin again together with the capacity; rows beyond the end of the capacity are left out.
    Repeat,
    /// The last delay holds for ever.
    Hold,
}

/// Behaviour after the end of a recorded capacity.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum AtEnd {
    /// The recording begins again.
    Loop,
    /// The last values hold for ever; only of rates and attenuation.
    Hold,
    /// The link sends nothing any more.
    End,
}

/// Direction of a recorded link.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum Way {
    /// Direction from the client, or the user's device.
    Up,
    /// Direction to the client, or the user's device.
    Down,
}

/// Set of modulations and codes of a link.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Modcod {
    /// The 28 modulations and codes of DVB-S2 with long frames (ETSI EN 302 307-1, table 13).
    DvbS2,
}

/// Link budget for adaptive modulation and coding.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default)]
pub struct Budget {
    /// Transmit power in dBm, with the gains of both antennas. Required for attenuation.
    #[schemars(range(min = -1000, max = 1000))]
    #[serde(skip_serializing_if = "Option::is_none")]
    pub transmit_power_dbm: Option<f64>,

    /// Path loss in dB under a clear sky. Required for attenuation.
    #[schemars(range(min = -1000, max = 1000))]
    #[serde(skip_serializing_if = "Option::is_none")]
    pub path_loss_db: Option<f64>,

    /// Noise figure of the receiver in dB, at 290 K. Required for attenuation.
    #[schemars(range(min = -100, max = 1000))]
    #[serde(skip_serializing_if = "Option::is_none")]
    pub noise_figure_db: Option<f64>,

    /// Noise bandwidth in Hz, which is also the symbol rate. Required for attenuation.
    #[schemars(extend("exclusiveMinimum" = 0, "maximum" = 1e15))]
    #[serde(skip_serializing_if = "Option::is_none")]
    pub bandwidth_hz: Option<f64>,

    /// Margin over its threshold in dB from which a modulation is used.
    #[schemars(range(min = -100, max = 100), extend("x-default" = "0, with link.trace.attenuation"))]
    #[serde(skip_serializing_if = "Option::is_none")]
    pub margin_db: Option<f64>,

    /// Age of the attenuation on which the choice of modulation relies. Packets sent with an outdated choice may be
    /// lost.
    #[schemars(extend("x-default" = "0 s, with link.trace.attenuation"))]
    #[serde(skip_serializing_if = "Option::is_none")]
    pub adaptation_delay: Option<Span>,

    /// Loss probability of packets at the threshold.
    #[schemars(extend("x-default" = "1e-7, for which dvb-s2 defines its thresholds; with link.trace.attenuation"))]
    #[serde(skip_serializing_if = "Option::is_none")]
    pub loss_at_threshold: Option<Share>,

    /// Distance in dB over which the loss changes tenfold: 0.1 or less for LDPC codes.
    #[schemars(extend("exclusiveMinimum" = 0, "maximum" = 1000, "x-default" = "0.1, with link.trace.attenuation"))]
    #[serde(skip_serializing_if = "Option::is_none")]
    pub db_per_decade: Option<f64>,
}

absent!(Trace, Budget);

/// Resolved schedule of a link's capacity.
#[derive(Clone, Debug)]
pub struct TraceSetup {
    /// Schedule of transmissions: opportunities, or rates over time.
    pub schedule: Schedule,
    /// Recorded propagation delay over time, added to that of the link; `None` without one.
    pub delays: Option<DelaySetup>,
    /// Mean rate of the link in bit/s.
    pub mean_rate_bps: f64,
    /// Scenario key of the file, for messages.
    pub key: String,
    /// Parts of the files that the link does not follow, for a warning.
    pub unused: Vec<&'static str>,
}

impl TraceSetup {
    /// Table of rates, which also has the losses; `None` for delivery opportunities.
    pub(crate) fn table(&self) -> Option<&RateTable> {
        match &self.schedule {
            Schedule::Opportunities(_) => None,
            Schedule::Rates(table) => Some(table),
        }
    }
}

/// Resolved propagation delay over time.
#[derive(Clone, Debug)]
pub struct DelaySetup {
    /// Propagation delay over time.
    pub series: DelaySeries,
    /// Time at which the last row of the file begins.
    pub file_ends: SimTime,
    /// Scenario key of the file, for messages.
    pub key: String,
}

/// Kinds of trace by the key of their file, each with the other keys that it takes.
const KINDS: [(&str, &[&str]); 3] = [
    ("opportunities", &["opportunity_size", "delays", "interpolation", "delays_end", "at_end", "direction"]),
    ("rates", &["period", "at_end", "direction"]),
    (
        "attenuation",
        &["delays", "interpolation", "delays_end", "period", "at_end", "direction", "modcod", "budget"],
    ),
];

impl Trace {
    /// Fills in the defaults of a trace; `None` for a link without a trace.
    pub(crate) fn resolve(
        &mut self,
        table: &str,
        files: &Files<'_>,
    ) -> Result<Option<TraceSetup>, ScenarioError> {
        if self.is_absent() {
            return Ok(None);
        }
        let key = join(table, self.kind(table)?);
        let way = self.direction.map(|way| match way {
            Way::Up => Direction::Up,
            Way::Down => Direction::Down,
        });
        let mut unused = Vec::new();
        let schedule = match (&self.opportunities, &self.rates, &self.attenuation) {
            (Some(FileName(name)), ..) => {
                let trace = files.opportunities(&key, name)?;
                let trace = trace.of_bytes(self.bytes(table)?);
                Schedule::Opportunities(self.ended(table, trace)?)
            }
            (_, Some(FileName(name)), _) => {
                let recorded = files.rates(&key, name, way)?;
                unused.extend(&recorded.unused);
                Schedule::Rates(self.repeated(table, recorded)?)
            }
            (.., name) => {
                let attenuation = files.attenuation(&key, name.as_ref().map_or("", |name| &name.0))?;
                let Modcod::DvbS2 = *self.modcod.get_or_insert(Modcod::DvbS2);
                let budget = self.budget.resolve(&join(table, "budget"))?;
                let rates = budget
                    .rate_table(&attenuation)
                    .map_err(|error| ScenarioError::key(join(table, "budget"), error.to_string()))?;
                let recorded = Recorded { part: rates, lasts: None, loops: false, unused: Vec::new() };
                Schedule::Rates(self.repeated(table, recorded)?)
            }
        };
        let delays = self.resolve_delays(table, &schedule, way, files, &mut unused)?;
        let mean_rate_bps = schedule.mean_rate_bps();
        if mean_rate_bps > 0.0 {
            return Ok(Some(TraceSetup { schedule, delays, mean_rate_bps, key, unused }));
        }
        Err(ScenarioError::key(key, "the mean rate of the link is 0: nothing would be sent"))
    }

    /// Fills in the recorded delays beside a capacity that follows `schedule`; `None` without delays.
    fn resolve_delays(
        &mut self,
        table: &str,
        schedule: &Schedule,
        way: Option<Direction>,
        files: &Files<'_>,
        unused: &mut Vec<&'static str>,
    ) -> Result<Option<DelaySetup>, ScenarioError> {
        let key = join(table, "delays");
        let Some(FileName(name)) = &self.delays else {
            let given =
                [("interpolation", self.interpolation.is_some()), ("delays_end", self.delays_end.is_some())];
            let needless = given.into_iter().find(|(_, given)| *given);
            return needless.map_or(Ok(None), |(other, _)| {
                Err(ScenarioError::key(join(table, other), format!("needs {key}")))
            });
        };
        let Recorded { part: series, lasts, unused: of_delays, .. } = files.delays(&key, name, way)?;
        unused.extend(of_delays);
        let file_ends = lasts.unwrap_or(series.last_time());
        let usual = match series.interpolation() {
            Interpolation::Step => Between::Step,
            Interpolation::Linear => Between::Linear,
        };
        let series = series.interpolated(match *self.interpolation.get_or_insert(usual) {
            Between::Step => Interpolation::Step,
            Between::Linear => Interpolation::Linear,
        });
        let usual = if schedule.repeats() { DelaysEnd::Repeat } else { DelaysEnd::Hold };
        let end = *self.delays_end.get_or_insert(usual);
        let series = match (end, schedule.repeats()) {
            (DelaysEnd::Hold, _) => series.recorded_until(file_ends),
            (DelaysEnd::Repeat, true) => series
                .repeating(schedule.lasts())
                .map_err(|error| ScenarioError::value(key.clone(), &json(&self.delays), error.problem))?,
            (DelaysEnd::Repeat, false) => {
                let problem = "needs a capacity that begins again: opportunities, or attenuation with period";
                return Err(ScenarioError::value(join(table, "delays_end"), &json(end), problem));
            }
        };
        Ok(Some(DelaySetup { series, file_ends, key }))
    }

    /// Kind of the trace, the key of its file: `opportunities`, `rates` or `attenuation`.
    fn kind(&self, table: &str) -> Result<&'static str, ScenarioError> {
        let given = given(self);
        let is_given = |(kind, _): &(&str, _)| given.iter().any(|key| key == kind);
        let Some((kind, takes)) = KINDS.into_iter().find(is_given) else {
            let problem = "one of opportunities, rates, attenuation names a file";
            return Err(ScenarioError::missing(table, problem));
        };
        match given.iter().find(|key| *key != kind && !takes.contains(&key.as_str())) {
            None => Ok(kind),
            Some(foreign) => {
                let takes = if takes.is_empty() { "no other key".to_owned() } else { takes.join(", ") };
                let reason = format!("it takes {takes}");
                Err(ScenarioError::contradiction(&join(table, foreign), &join(table, kind), reason))
            }
        }
    }

    /// Number of bytes that may leave at a delivery opportunity.
    fn bytes(&mut self, table: &str) -> Result<u32, ScenarioError> {
        // The default is removed, so that equal scenarios are one run.
        self.opportunity_size.take_if(|size| size.0 == OpportunityTrace::BYTES);
        match self.opportunity_size {
            None => Ok(OpportunityTrace::BYTES),
            Some(size @ Size(0)) => {
                let key = join(table, "opportunity_size");
                Err(ScenarioError::value(key, &json(size), "must be at least 1 B"))
            }
            Some(Size(bytes)) => Ok(bytes),
        }
    }

    /// Delivery opportunities with the behaviour after their end: they repeat, or end.
    fn ended(&mut self, table: &str, trace: OpportunityTrace) -> Result<OpportunityTrace, ScenarioError> {
        // The default is removed, so that equal scenarios are one run.
        match self.at_end.take_if(|end| *end == AtEnd::Loop).or(self.at_end) {
            None | Some(AtEnd::Loop) => Ok(trace),
            Some(AtEnd::End) => Ok(trace.once()),
            Some(end @ AtEnd::Hold) => {
                let problem = "must be loop or end: no opportunity holds";
                Err(ScenarioError::value(join(table, "at_end"), &json(end), problem))
            }
        }
    }

    /// Rates over time with the behaviour after their end: they repeat, end, or hold the last row.
    fn repeated(&mut self, table: &str, recorded: Recorded<RateTable>) -> Result<RateTable, ScenarioError> {
        let Recorded { part: rates, lasts, loops, .. } = recorded;
        let key = join(table, "period");
        let given = self.period.map(|period| absolute(&key, period)).transpose()?;
        let usual = if loops || given.is_some() { AtEnd::Loop } else { AtEnd::Hold };
        // The default is removed, so that equal scenarios are one run.
        self.at_end.take_if(|end| *end == usual);
        let at_end = self.at_end.unwrap_or(usual);
        if at_end == AtEnd::Hold {
            if given.is_none() {
                return Ok(match lasts {
                    Some(end) => rates.recorded_until(end),
                    None => rates,
                });
            }
            let reason = "what holds has no length";
            return Err(ScenarioError::contradiction(&key, &join(table, "at_end"), reason));
        }
        let Some(length) = given.or(lasts) else {
            let problem = "needs period: the table does not say how long its last row lasts";
            return Err(ScenarioError::value(join(table, "at_end"), &json(at_end), problem));
        };
        let made = if at_end == AtEnd::Loop { rates.repeating(length) } else { rates.ending(length) };
        made.map_err(|error| ScenarioError::key(key, error.problem))
    }
}

impl Budget {
    fn resolve(&mut self, table: &str) -> Result<LinkBudget, ScenarioError> {
        let required = |key: &str, value: Option<f64>| {
            value.ok_or_else(|| ScenarioError::missing(&join(table, key), "attenuation needs it"))
        };
        let adaptation_delay = *self.adaptation_delay.get_or_insert(Span::ZERO);
        Ok(LinkBudget {
            transmit_power_dbm: required("transmit_power_dbm", self.transmit_power_dbm)?,
            path_loss_db: required("path_loss_db", self.path_loss_db)?,
            noise_figure_db: required("noise_figure_db", self.noise_figure_db)?,
            bandwidth_hz: required("bandwidth_hz", self.bandwidth_hz)?,
            modcods: DVB_S2.to_vec(),
            margin_db: *self.margin_db.get_or_insert(0.0),
            adaptation_delay: absolute(&join(table, "adaptation_delay"), adaptation_delay)?,
            loss_at_threshold: self.loss_at_threshold.get_or_insert(Share(1e-7)).0,
            db_per_decade: *self.db_per_decade.get_or_insert(0.1),
            // The link has a delay of its own.
            delay: SimTime::ZERO,
        })
    }
}

/// Absolute time of `span`; an error for a number of slots, since the trace itself determines the duration of a slot.
pub(super) fn absolute(key: &str, span: Span) -> Result<SimTime, ScenarioError> {
    match span.0 {
        units::Span::Time(time) if time <= LONGEST => Ok(time),
        units::Span::Time(_) => Err(ScenarioError::value(key, &json(span), "must be at most 100 days")),
        units::Span::Slots(_) => {
            Err(ScenarioError::value(key, &json(span), "must be a time such as \"100 ms\" or \"60 s\""))
        }
    }
}
