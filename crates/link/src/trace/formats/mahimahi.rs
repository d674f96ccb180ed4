//! Delivery opportunities, one time in whole milliseconds per line: the format of mahimahi, of the capacities of
//! LeoReplayer and of the heavy traces of CellReplay.

use super::item::{AtEnd, Direction, Found, Item, Step, Whole};
use super::line::{Lines, before_comment, time};
use crate::trace::{OpportunityTrace, TraceError};
use crossfade_core::{SimTime, excerpt};
use std::fmt::Write as _;

/// Reader of delivery opportunities of a given number of bytes.
pub(super) struct Reader {
    bytes: u32,
    before: u64,
    count: u64,
}

impl Reader {
    pub(super) fn new(bytes: u32) -> Self {
        Self { bytes, before: 0, count: 0 }
    }
}

impl Lines for Reader {
    fn line(&mut self, line: usize, text: &str, found: &mut Found) -> Result<(), TraceError> {
        let text = before_comment(text);
        if text.is_empty() {
            return Ok(());
        }
        let millis: u64 = text.parse().map_err(|_| {
            TraceError::at(line, format!("{}: must be a time in whole milliseconds", excerpt(text)))
        })?;
        if millis < self.before {
            let before = self.before;
            return Err(TraceError::at(
                line,
                format!("{millis}: must be at least {before}, the time before it"),
            ));
        }
        let time = time(line, "time in ms", millis, SimTime::from_millis(1))?;
        (self.before, self.count) = (millis, self.count + 1);
        found.push_back((Direction::Both, Item::Opportunity { time, bytes: self.bytes }));
        Ok(())
    }

    fn finish(&mut self, _found: &mut Found) -> Result<Whole, TraceError> {
        if self.count == 0 {
            return Err(TraceError::nowhere("the trace is empty: it must have at least one opportunity"));
        }
        if self.before == 0 {
            let problem = "all opportunities are at 0 ms: the last must be later, the trace repeats";
            return Err(TraceError::nowhere(problem));
        }
        let lasts = SimTime::from_millis(self.before);
        Ok(Whole { lasts, at_end: AtEnd::Loop, notes: Vec::new() })
    }
}

/// Bytes per opportunity of CellReplay, whose packets are no larger.
pub(super) const CELLREPLAY_BYTES: u32 = 1400;
/// Bytes per opportunity of all other tools.
pub(super) const BYTES: u32 = OpportunityTrace::BYTES;

/// Writer of delivery opportunities of 1500 bytes.
#[derive(Default)]
pub(super) struct Writer {
    /// Bits that the rates so far have allowed beyond the opportunities written.
    left: f64,
}

impl Writer {
    /// Writes an opportunity, at the end of its millisecond.
    pub(super) fn opportunity(time: SimTime, out: &mut String) {
        writeln!(out, "{}", time.as_nanos().div_ceil(1_000_000)).expect("a String takes all");
    }

    /// Writes the opportunities of a step, each at the end of the millisecond in which enough capacity for it has
    /// accumulated. For a step that lasts forever, one second is written.
    pub(super) fn step(&mut self, step: &Step, out: &mut String) {
        let bits = f64::from(BYTES) * 8.0;
        let rate_bps = step.rate_bps.filter(|rate| rate.is_finite()).unwrap_or(0.0);
        let lasts = step.lasts.unwrap_or(SimTime::from_millis(1000));
        let all = self.left + rate_bps * lasts.as_secs_f64();
        // Sums of rates that make whole opportunities are a little less at times.
        let count = (all / bits + 1e-9).floor();
        for number in 1..=count as u64 {
            let after_s = (number as f64 * bits - self.left) / rate_bps;
            Self::opportunity(step.time + SimTime::from_secs_f64((after_s - 1e-9).max(0.0)), out);
        }
        self.left = (all - count * bits).max(0.0);
    }
}
