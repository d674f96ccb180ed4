//! The trace files of TheaterQ, a queueing discipline of the Linux kernel that follows a table (arXiv 2510.27027):
//! `KEEP,LATENCY,RATE,LOSS,LIMIT`, or with `ingest EXTENDED`
//! `KEEP,LATENCY,JITTER,RATE,LOSS,LIMIT,DUP_PROB,DUP_DELAY, ROUTE_ID,QUEUE_ID`, of which older tables lack the last
//! column. KEEP is in us, latencies in ns, RATE in bit/s with -1 for no limit, shares in parts of 2^32 - 1, LIMIT in
//! packets with 0 for no limit. Lines of column names and comments are skipped.

use super::item::{AtEnd, Direction, Extra, Found, Item, Room, Step, Whole};
use super::line::{Lines, later, time, whole};
use crate::trace::TraceError;
use crossfade_core::{SimTime, excerpt};
use std::fmt::Write as _;

/// Number that stands for a share of 1.
const ALL: f64 = u32::MAX as f64;
/// Greatest rate in bit/s: whole numbers up to here are exact as `f64`.
const FASTEST_BPS: u64 = 1_000_000_000_000_000;
const US: SimTime = SimTime::from_micros(1);
const NS: SimTime = SimTime::from_nanos(1);

/// Kind of table, by its number of columns.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Ingest {
    Simple,
    Extended,
}

/// Reader of trace files of TheaterQ.
#[derive(Default)]
pub(super) struct Reader {
    ingest: Option<Ingest>,
    now: SimTime,
}

impl Reader {
    /// True if a line is no entry: a comment, column names, or any words before the first entry. TheaterQ skips all
    /// lines that do not begin with a digit; between entries this reader treats them as errors.
    fn is_none(&self, text: &str) -> bool {
        let words = self.ingest.is_none() && text.starts_with(char::is_alphabetic);
        words
            || text.starts_with('#')
            || text.get(..4).is_some_and(|first| first.eq_ignore_ascii_case("keep"))
    }
}

impl Lines for Reader {
    fn line(&mut self, line: usize, text: &str, found: &mut Found) -> Result<(), TraceError> {
        if !text.starts_with(|first: char| first.is_ascii_digit()) {
            return if text.is_empty() || self.is_none(text) {
                Ok(())
            } else {
                let problem = "must be KEEP,LATENCY,..., an entry that begins with a digit, or a # comment";
                Err(TraceError::at(line, format!("{}: {problem}", excerpt(text))))
            };
        }
        let mut columns = [""; 10];
        let mut count = 0;
        for word in text.split(',') {
            if let Some(column) = columns.get_mut(count) {
                *column = word.trim();
            }
            count += 1;
        }
        let ingest = match count {
            5 => Ingest::Simple,
            // Without QUEUE_ID.
            9 => {
                columns[9] = "0";
                Ingest::Extended
            }
            10 => Ingest::Extended,
            _ => {
                return Err(TraceError::at(line, format!("{}: must have 5, 9 or 10 columns", excerpt(text))));
            }
        };
        if *self.ingest.get_or_insert(ingest) != ingest {
            let expected = if ingest == Ingest::Simple { "9 or 10" } else { "5" };
            let problem = format!("{}: must have {expected} columns, as the entry before", excerpt(text));
            return Err(TraceError::at(line, problem));
        }
        let [keep, latency, jitter, rate, loss, limit, dup_prob, dup_delay, route, queue] = match ingest {
            Ingest::Extended => columns,
            Ingest::Simple => {
                let [keep, latency, rate, loss, limit, ..] = columns;
                [keep, latency, "0", rate, loss, limit, "0", "0", "0", "0"]
            }
        };
        let keep = whole(line, "KEEP", keep)?;
        if keep == 0 {
            return Err(TraceError::at(line, "KEEP = 0: must be at least 1 us"));
        }
        let lasts = time(line, "KEEP", keep, US)?;
        let mut step = Step {
            time: self.now,
            lasts: Some(lasts),
            rate_bps: Some(rate_of(line, rate)?),
            delay: Some(nanos(line, "LATENCY", latency)?),
            loss: Some(share(line, "LOSS", loss)?),
            queue: match within_u32(line, "LIMIT", limit)? {
                0 => None,
                packets => Some(Room::Packets(packets)),
            },
            extras: Vec::new(),
        };
        step.add(Extra::Jitter, nanos(line, "JITTER", jitter)?.as_nanos() as f64);
        step.add(Extra::Duplicate, share(line, "DUP_PROB", dup_prob)?);
        step.add(Extra::DuplicateDelay, nanos(line, "DUP_DELAY", dup_delay)?.as_nanos() as f64);
        step.add(Extra::Route, within_u32(line, "ROUTE_ID", route)? as f64);
        step.add(Extra::QueueId, within_u32(line, "QUEUE_ID", queue)? as f64);
        self.now = later(line, self.now, lasts)?;
        found.push_back((Direction::Both, Item::Step(step)));
        Ok(())
    }

    fn finish(&mut self, _found: &mut Found) -> Result<Whole, TraceError> {
        if self.now == SimTime::ZERO {
            return Err(TraceError::nowhere("the trace is empty: it must have at least one entry"));
        }
        Ok(Whole { lasts: self.now, at_end: AtEnd::Unsaid, notes: Vec::new() })
    }
}

fn rate_of(line: usize, text: &str) -> Result<f64, TraceError> {
    if text == "-1" {
        return Ok(f64::INFINITY);
    }
    match text.parse::<u64>() {
        Ok(rate) if rate <= FASTEST_BPS => Ok(rate as f64),
        _ => {
            let problem = format!("RATE = {}: must be -1 or a whole number from 0 to 10^15", excerpt(text));
            Err(TraceError::at(line, problem))
        }
    }
}

/// Reads a delay in ns, at most 100 days, up to which whole numbers are exact as `f64`.
fn nanos(line: usize, what: &str, text: &str) -> Result<SimTime, TraceError> {
    let delay = time(line, what, whole(line, what, text)?, NS)?;
    if delay.as_secs_f64() <= 8.64e6 {
        return Ok(delay);
    }
    Err(TraceError::at(line, format!("{what} = {}: must be at most 100 days in ns", excerpt(text))))
}

fn within_u32(line: usize, what: &str, text: &str) -> Result<u64, TraceError> {
    let number = whole(line, what, text)?;
    if u32::try_from(number).is_ok() {
        return Ok(number);
    }
    Err(TraceError::at(line, format!("{what} = {number}: must be at most {}", u32::MAX)))
}

fn share(line: usize, what: &str, text: &str) -> Result<f64, TraceError> {
    Ok(within_u32(line, what, text)? as f64 / ALL)
}

/// Writer of trace files of TheaterQ.
#[derive(Default)]
pub(super) struct Writer {
    extended: bool,
}

impl Writer {
    /// Further properties that the extended format holds beside rate, delay, loss and queue limit.
    pub(super) const EXTRAS: &[Extra] =
        &[Extra::Jitter, Extra::Duplicate, Extra::DuplicateDelay, Extra::Route, Extra::QueueId];

    /// Takes a step before any is written: further properties need the extended columns.
    pub(super) fn plan(&mut self, step: &Step) {
        self.extended |= step.extras.iter().any(|(extra, _)| Self::EXTRAS.contains(extra));
    }

    /// Writes the line of column names, which TheaterQ skips.
    pub(super) fn begin(&self, out: &mut String) {
        out.push_str(if self.extended {
            "KEEP,LATENCY,JITTER,RATE,LOSS,LIMIT,DUP_PROB,DUP_DELAY,ROUTE_ID,QUEUE_ID\n"
        } else {
            "KEEP,LATENCY,RATE,LOSS,LIMIT\n"
        });
    }

    /// Writes an entry with the duration `lasts`.
    pub(super) fn step(&self, step: &Step, lasts: SimTime, out: &mut String) {
        let extra =
            |of: Extra| step.extras.iter().find(|(extra, _)| *extra == of).map_or(0.0, |(_, value)| *value);
        let parts = |share: f64| (share * ALL).round() as u32;
        let keep = lasts.as_nanos().div_ceil(1000).max(1);
        let latency = step.delay.unwrap_or_default().as_nanos();
        let rate = match step.rate_bps {
            Some(rate) if rate.is_finite() => (rate.round() as u64).to_string(),
            _ => "-1".to_owned(),
        };
        let loss = parts(step.loss.unwrap_or(0.0));
        let limit = match step.queue {
            Some(Room::Packets(packets)) => packets,
            _ => 0,
        };
        let written = if self.extended {
            let [jitter, dup_delay, route, queue] =
                [Extra::Jitter, Extra::DuplicateDelay, Extra::Route, Extra::QueueId]
                    .map(|of| extra(of) as u64);
            let dup_prob = parts(extra(Extra::Duplicate));
            writeln!(
                out,
                "{keep},{latency},{jitter},{rate},{loss},{limit},{dup_prob},{dup_delay},{route},{queue}"
            )
        } else {
            writeln!(out, "{keep},{latency},{rate},{loss},{limit}")
        };
        written.expect("a String takes all");
    }
}
