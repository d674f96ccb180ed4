//! The delays of LeoReplayer: one number of milliseconds a line, one way, each for the same interval (`mm-delay
//! INTERVAL FILE`).

use super::item::{AtEnd, Direction, Found, Item, Step, Whole};
use super::line::{Lines, before_comment, later, real};
use crate::trace::TraceError;
use crossfade_core::SimTime;
use std::fmt::Write as _;

/// The interval of its example and its recorder: 10 ms.
pub(super) const INTERVAL: SimTime = SimTime::from_millis(10);
/// 100 days in ms, as of any delay of a scenario.
const LONGEST_MS: f64 = 8.64e9;

/// Reads delays.
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

/// Writes delays.
#[derive(Default)]
pub(super) struct Writer {
    /// Time up to which delays are written.
    written: SimTime,
}

impl Writer {
    /// A delay for each interval that begins while a step lasts; one that lasts for ever has one.
    pub(super) fn step(&mut self, step: &Step, out: &mut String) {
        let end = step.time + step.lasts.unwrap_or(INTERVAL);
        let nanos = step.delay.unwrap_or_default().as_nanos();
        while self.written < end {
            writeln!(out, "{}", (nanos + 500_000) / 1_000_000).expect("a String takes all");
            self.written += INTERVAL;
        }
    }
}
