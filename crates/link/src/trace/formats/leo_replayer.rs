//! One-way delays of LeoReplayer: one number of milliseconds per line, each for an interval of the same length
//! (`mm-delay INTERVAL FILE`).

use super::item::{AtEnd, Direction, Found, Item, Step, Whole};
use super::line::{Lines, before_comment, later, real};
use crate::trace::TraceError;
use crossfade_core::SimTime;
use std::fmt::Write as _;

/// Default interval of a delay: 10 ms, as in the example and the recorder of LeoReplayer.
pub(super) const INTERVAL: SimTime = SimTime::from_millis(10);
/// Greatest delay in ms: 100 days, the limit for all delays of a scenario.
const LONGEST_MS: f64 = 8.64e9;

/// Reader of delays of LeoReplayer.
pub(super) struct Reader {
    interval: SimTime,
    now: SimTime,
}

impl Reader {
    pub(super) fn new(interval: SimTime) -> Self {
        Self { interval, now: SimTime::ZERO }
    }
}

impl Lines for Reader {
    fn line(&mut self, line: usize, text: &str, found: &mut Found) -> Result<(), TraceError> {
        let text = before_comment(text);
        if text.is_empty() {
            return Ok(());
        }
        let delay_ms = real(line, "delay in ms", text, [0.0, LONGEST_MS])?;
        let step = Step {
            time: self.now,
            lasts: Some(self.interval),
            delay: Some(SimTime::from_secs_f64(delay_ms / 1e3)),
            ..Step::default()
        };
        self.now = later(line, self.now, self.interval)?;
        found.push_back((Direction::Both, Item::Step(step)));
        Ok(())
    }

    fn finish(&mut self, _found: &mut Found) -> Result<Whole, TraceError> {
        if self.now == SimTime::ZERO {
            return Err(TraceError::nowhere("the record is empty: it must have at least one delay"));
        }
        Ok(Whole { lasts: self.now, at_end: AtEnd::Loop, notes: Vec::new() })
    }
}

/// Writer of delays of LeoReplayer.
#[derive(Default)]
pub(super) struct Writer {
    /// Time up to which delays were written.
    written: SimTime,
}

impl Writer {
    /// Writes the delay of a step for each interval that begins while it lasts; one interval for a step that lasts
    /// forever.
    pub(super) fn step(&mut self, step: &Step, out: &mut String) {
        let end = step.time + step.lasts.unwrap_or(INTERVAL);
        let nanos = step.delay.unwrap_or_default().as_nanos();
        while self.written < end {
            writeln!(out, "{}", (nanos + 500_000) / 1_000_000).expect("a String takes all");
            self.written += INTERVAL;
        }
    }
}
