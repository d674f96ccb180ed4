//! Tables of Crossfade: `time_s,rate_bps,delay_s,loss` ([`RateTable`](crate::trace::RateTable)) and `time_s,delay_s` or
//! `time_s,rtt_s` ([`DelaySeries`](crate::trace::DelaySeries)).

use super::item::{AtEnd, Direction, Found, Item, Step, Whole};
use super::line::{LATEST_S, Lines, before_comment, real};
use crate::trace::TraceError;
use crate::trace::error::{increasing, is_header, numbers, time, words};
use crossfade_core::{SimTime, excerpt};
use std::fmt::Write as _;

/// Greatest delay in seconds: 100 days, the limit for all delays of a scenario.
const LONGEST_DELAY_S: f64 = 8.64e6;

/// Kind of table, by its columns.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Columns {
    /// Table of rate, delay and loss.
    Rates,
    /// Table of delays only.
    Delays,
}

/// Reader of tables of Crossfade; each row holds until the next.
pub(super) struct Reader {
    columns: Columns,
    /// True if the second column is an RTT.
    is_rtt: bool,
    first: bool,
    before: Option<SimTime>,
    /// Last row, whose duration is known when the next begins.
    waiting: Option<Step>,
    /// Time after which the table begins again, from a comment; `None` if it does not.
    period: Option<SimTime>,
}

/// Beginning of the comment that states when a table begins again.
const PERIOD: &str = "# period_s ";

impl Reader {
    pub(super) fn new(columns: Columns) -> Self {
        Self { columns, is_rtt: false, first: true, before: None, waiting: None, period: None }
    }

    fn header(&mut self, line: usize, text: &str) -> Result<(), TraceError> {
        let names: Vec<&str> = words(text).collect();
        let expected = match (self.columns, names.as_slice()) {
            (Columns::Rates, ["time_s", "rate_bps", "delay_s", "loss"])
            | (Columns::Delays, ["time_s", "delay_s"]) => {
                return Ok(());
            }
            (Columns::Delays, ["time_s", "rtt_s"]) => {
                self.is_rtt = true;
                return Ok(());
            }
            (Columns::Rates, _) => "time_s,rate_bps,delay_s,loss",
            (Columns::Delays, _) => "time_s,delay_s or time_s,rtt_s",
        };
        Err(TraceError::at(line, format!("{}: must be {expected}", excerpt(text))))
    }

    fn row(&self, line: usize, text: &str) -> Result<Step, TraceError> {
        let within = |what: &str, value: f64, most: f64| {
            if (0.0..=most).contains(&value) {
                return Ok(value);
            }
            Err(TraceError::at(line, format!("{what} = {value:?}: must be from 0 to {most:?}")))
        };
        match self.columns {
            Columns::Rates => {
                let names = ["time_s", "rate_bps", "delay_s", "loss"];
                let [time_s, rate_bps, delay_s, loss] = numbers(line, text, names)?;
                Ok(Step {
                    time: time(line, "time_s", time_s)?,
                    rate_bps: Some(within("rate_bps", rate_bps, 1e15)?),
                    delay: Some(SimTime::from_secs_f64(within("delay_s", delay_s, LONGEST_DELAY_S)?)),
                    loss: Some(within("loss", loss, 1.0)?),
                    ..Step::default()
                })
            }
            Columns::Delays => {
                let column = if self.is_rtt { "rtt_s" } else { "delay_s" };
                let [time_s, delay_s] = numbers(line, text, ["time_s", column])?;
                let delay_s = within(column, delay_s, LONGEST_DELAY_S)?;
                let delay = SimTime::from_secs_f64(if self.is_rtt { delay_s / 2.0 } else { delay_s });
                Ok(Step { time: time(line, "time_s", time_s)?, delay: Some(delay), ..Step::default() })
            }
        }
    }
}

impl Lines for Reader {
    fn line(&mut self, line: usize, text: &str, found: &mut Found) -> Result<(), TraceError> {
        if let Some(period_s) = text.strip_prefix(PERIOD) {
            let period_s = real(line, "period_s", period_s.trim(), [0.0, LATEST_S])?;
            self.period = Some(SimTime::from_secs_f64(period_s));
            return Ok(());
        }
        let text = before_comment(text);
        if text.is_empty() {
            return Ok(());
        }
        if std::mem::take(&mut self.first) && is_header(text) {
            return self.header(line, text);
        }
        let step = self.row(line, text)?;
        if let Some(before) = self.before {
            increasing(line, step.time, before)?;
        }
        self.before = Some(step.time);
        if let Some(mut earlier) = self.waiting.take() {
            earlier.lasts = Some(step.time - earlier.time);
            found.push_back((Direction::Both, Item::Step(earlier)));
        }
        self.waiting = Some(step);
        Ok(())
    }

    fn finish(&mut self, found: &mut Found) -> Result<Whole, TraceError> {
        let Some(mut last) = self.waiting.take() else {
            return Err(TraceError::nowhere("the table is empty: it must have at least one row"));
        };
        let (lasts, at_end) = match self.period {
            None => (last.time, AtEnd::Hold),
            Some(period) if period > last.time => (period, AtEnd::Loop),
            Some(period) => {
                let [period_s, last_s] = [period, last.time].map(SimTime::as_secs_f64);
                let problem =
                    format!("period_s {period_s:?}: must be above {last_s:?}, the time of the last row");
                return Err(TraceError::nowhere(problem));
            }
        };
        last.lasts = self.period.map(|period| period - last.time);
        found.push_back((Direction::Both, Item::Step(last)));
        Ok(Whole { lasts, at_end, notes: Vec::new() })
    }
}

/// Writer of tables of Crossfade.
pub(super) struct Writer {
    columns: Columns,
}

impl Writer {
    pub(super) fn new(columns: Columns) -> Self {
        Self { columns }
    }

    /// Writes the line of column names, after a comment with the period if the table begins again.
    pub(super) fn begin(&self, period: Option<SimTime>, out: &mut String) {
        if let Some(period) = period {
            writeln!(out, "{PERIOD}{}", seconds(period)).expect("a String takes all");
        }
        out.push_str(match self.columns {
            Columns::Rates => "time_s,rate_bps,delay_s,loss\n",
            Columns::Delays => "time_s,delay_s\n",
        });
    }

    /// Writes a row. The step must have a rate in a table of rates, since the format requires one.
    pub(super) fn step(&self, step: &Step, out: &mut String) {
        let delay = seconds(step.delay.unwrap_or_default());
        let time = seconds(step.time);
        let written = match self.columns {
            Columns::Rates => {
                let (rate, loss) = (step.rate_bps.unwrap_or_default(), step.loss.unwrap_or(0.0));
                writeln!(out, "{time},{rate},{delay},{loss}")
            }
            Columns::Delays => writeln!(out, "{time},{delay}"),
        };
        written.expect("a String takes all");
    }
}

/// Time as a number of seconds, exact to the nanosecond.
pub(super) fn seconds(time: SimTime) -> String {
    let nanos = time.as_nanos();
    let (whole, part) = (nanos / 1_000_000_000, nanos % 1_000_000_000);
    let text = format!("{whole}.{part:09}");
    text.trim_end_matches('0').trim_end_matches('.').to_owned()
}
