//! Links whose capacity follows a record or a table.

use super::json;
use crate::error::{ScenarioError, join};
use crate::files::Files;
use crate::quantity::{Share, Span};
use crate::scenario::{Budget, Modcod, Trace};
use crossfade_core::{SimTime, units};
use crossfade_link::trace::{DVB_S2, LinkBudget, RateTable, Schedule};

/// What the capacity of a link follows.
#[derive(Clone, Debug)]
pub struct TraceSetup {
    /// When what can be sent.
    pub schedule: Schedule,
    /// The mean rate in bit/s.
    pub mean_rate_bps: f64,
    /// The key of the file, which messages name.
    pub(crate) key: String,
}

impl TraceSetup {
    /// The table that has the losses too, if it is one.
    pub(super) fn table(&self) -> Option<&RateTable> {
        match &self.schedule {
            Schedule::Opportunities(_) => None,
            Schedule::Rates(table) => Some(table),
        }
    }
}

/// What each kind of trace takes beside its file.
const KINDS: [(&str, &[&str], &str); 3] = [
    ("opportunities", &[], "it takes no other key"),
    ("rates", &["period"], "it takes period"),
    ("attenuation", &["period", "modcod", "budget"], "it takes period, modcod, budget"),
];

impl Trace {
    /// Fills in the defaults; `None` is a link without a trace.
    pub(super) fn resolve(
        &mut self,
        table: &str,
        files: &Files<'_>,
    ) -> Result<Option<TraceSetup>, ScenarioError> {
        if self.is_absent() {
            return Ok(None);
        }
        let key = join(table, self.kind(table)?);
        let schedule = match (&self.opportunities, &self.rates, &self.attenuation) {
            (Some(name), ..) => Schedule::Opportunities(files.opportunities(&key, name)?),
            (_, Some(name), _) => Schedule::Rates(self.repeated(table, files.rates(&key, name)?)?),
            (.., name) => {
                let attenuation = files.attenuation(&key, name.as_deref().unwrap_or_default())?;
                let Modcod::DvbS2 = *self.modcod.get_or_insert(Modcod::DvbS2);
                let budget = self.budget.resolve(&join(table, "budget"))?;
                let rates = budget
                    .rate_table(&attenuation)
                    .map_err(|error| ScenarioError::key(join(table, "budget"), error.to_string()))?;
                Schedule::Rates(self.repeated(table, rates)?)
            }
        };
        let mean_rate_bps = schedule.mean_rate_bps();
        if mean_rate_bps > 0.0 {
            return Ok(Some(TraceSetup { schedule, mean_rate_bps, key }));
        }
        Err(ScenarioError::key(key, "the mean rate of the link is 0: nothing would be sent"))
    }

    /// Which of the three it is.
    fn kind(&self, table: &str) -> Result<&'static str, ScenarioError> {
        let given = [
            ("opportunities", self.opportunities.is_some()),
            ("rates", self.rates.is_some()),
            ("attenuation", self.attenuation.is_some()),
            ("period", self.period.is_some()),
            ("modcod", self.modcod.is_some()),
            ("budget", !self.budget.is_absent()),
        ];
        let is_given = |key: &str| given.contains(&(key, true));
        let Some((kind, takes, reason)) = KINDS.into_iter().find(|(kind, ..)| is_given(kind)) else {
            let problem = "one of opportunities, rates, attenuation names a file";
            return Err(ScenarioError::missing(table, problem));
        };
        match given.iter().find(|(key, given)| *given && *key != kind && !takes.contains(key)) {
            None => Ok(kind),
            Some((foreign, _)) => {
                Err(ScenarioError::contradiction(&join(table, foreign), &join(table, kind), reason))
            }
        }
    }

    /// The table, which begins again after the period if there is one.
    fn repeated(&self, table: &str, rates: RateTable) -> Result<RateTable, ScenarioError> {
        let Some(period) = self.period else { return Ok(rates) };
        let key = join(table, "period");
        let time = absolute(&key, period)?;
        rates.repeating(time).map_err(|error| ScenarioError::key(key, error.problem))
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
            // The link has one of its own.
            delay: SimTime::ZERO,
        })
    }
}

/// A time that is no number of slots: how long a slot is, the trace is yet to say.
fn absolute(key: &str, span: Span) -> Result<SimTime, ScenarioError> {
    match span.0 {
        units::Span::Time(time) if time <= super::LONGEST => Ok(time),
        units::Span::Time(_) => Err(ScenarioError::value(key, &json(span), "must be at most 100 days")),
        units::Span::Slots(_) => {
            Err(ScenarioError::value(key, &json(span), "must be a time such as \"100 ms\" or \"60 s\""))
        }
    }
}
