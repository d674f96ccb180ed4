//! Light traces of CellReplay (NSDI 2025), with lines `time_ms one_way_ms p1 p2 ...`: a short train of packets through
//! an idle link at that time, with the delay of its first packet and the time at which each packet came out, after the
//! first, in ms. Heavy traces of CellReplay are opportunities of 1400 bytes.

use super::item::{AtEnd, Direction, Found, Item, Whole};
use super::line::{Lines, before_comment, time, whole};
use crate::trace::TraceError;
use crossfade_core::{SimTime, excerpt};

const MS: SimTime = SimTime::from_millis(1);

/// Reader of light traces of CellReplay.
#[derive(Default)]
pub(super) struct Reader {
    before: Option<u64>,
    count: u64,
}

impl Lines for Reader {
    fn line(&mut self, line: usize, text: &str, found: &mut Found) -> Result<(), TraceError> {
        let text = before_comment(text);
        if text.is_empty() {
            return Ok(());
        }
        let mut words = text.split_ascii_whitespace();
        let (Some(start), Some(delay), Some(first)) = (words.next(), words.next(), words.next()) else {
            let problem = format!(
                "{}: must be a time, a delay and one offset or more, whole numbers of ms",
                excerpt(text)
            );
            return Err(TraceError::at(line, problem));
        };
        let start = whole(line, "time in ms", start)?;
        if let Some(before) = self.before.filter(|before| *before > start) {
            let problem = format!("time in ms = {start}: must be at least {before}, the time before it");
            return Err(TraceError::at(line, problem));
        }
        let mut offsets: Vec<SimTime> = Vec::new();
        for word in std::iter::once(first).chain(words) {
            let offset = whole(line, "offset in ms", word)?;
            offsets.push(time(line, "offset in ms", offset, MS)?);
        }
        let delay = time(line, "delay in ms", whole(line, "delay in ms", delay)?, MS)?;
        let item = Item::Train { time: time(line, "time in ms", start, MS)?, delay, offsets };
        (self.before, self.count) = (Some(start), self.count + 1);
        found.push_back((Direction::Both, item));
        Ok(())
    }

    fn finish(&mut self, _found: &mut Found) -> Result<Whole, TraceError> {
        // CellReplay's replayer needs three trains: it interpolates between them, and begins again at the last.
        if self.count < 3 {
            let problem = format!("{} trains: must be at least 3", self.count);
            return Err(TraceError::nowhere(problem));
        }
        let lasts = MS.saturating_mul(self.before.unwrap_or_default());
        Ok(Whole { lasts, at_end: AtEnd::Loop, notes: Vec::new() })
    }
}
