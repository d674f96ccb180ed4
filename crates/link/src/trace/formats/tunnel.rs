//! Tunnel logs of Pantheon. The log of one end has a line `TIME - NUMBER - BYTES` per packet, after a first line
//! `# ... ingress: START` or `egress: START`. The merged log of both ends has lines `TIME + BYTES` (sent),
//! `TIME - BYTES DELAY` (arrived) and `TIME # BYTES` (an opportunity of the emulator), each with or without a flow
//! number. All times are in milliseconds.

use super::item::{AtEnd, Direction, Found, Item, Whole};
use super::line::{LATEST_S, Lines, real};
use crate::trace::TraceError;
use crossfade_core::{SimTime, excerpt};

/// Kind of a tunnel log.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Kind {
    /// Log of one end of the tunnel.
    Half,
    /// Merged log of both ends.
    Merged,
}

/// True if a line belongs to a tunnel log of Pantheon.
pub(super) fn is_line(text: &str) -> bool {
    let words: Vec<&str> = text.split_ascii_whitespace().collect();
    let is_time = words.first().is_some_and(|word| word.contains('.') && word.parse::<f64>().is_ok());
    let is_sign = match words.get(1) {
        Some(&("+" | "-")) => true,
        // Otherwise a comment after a number.
        Some(&"#") => words.len() == 3 && words[2].parse::<u32>().is_ok(),
        _ => false,
    };
    is_time && is_sign
}

/// True if a line is the first line of a tunnel log of one end or of both.
pub(super) fn is_start(text: &str) -> bool {
    start(text).is_some()
}

/// Content of the first line: the end of the tunnel, if given, and the start by wall clock in ms.
fn start(text: &str) -> Option<(Option<&str>, &str)> {
    let text = text.strip_prefix('#')?;
    let (head, clock) = text.rsplit_once(':')?;
    let clock = clock.trim();
    clock.parse::<f64>().ok()?;
    if head.trim() == "init timestamp" {
        return Some((None, clock));
    }
    let end = head.rsplit(' ').next()?;
    ["ingress", "egress"].contains(&end).then_some((Some(end), clock))
}

/// Reader of tunnel logs of Pantheon.
#[derive(Default)]
pub(super) struct Reader {
    /// True for the log of an ingress, at which packets arrive; otherwise packets are sent.
    is_ingress: bool,
    kind: Option<Kind>,
    notes: Vec<(String, String)>,
    last: SimTime,
    count: u64,
}

impl Lines for Reader {
    fn line(&mut self, line: usize, text: &str, found: &mut Found) -> Result<(), TraceError> {
        if let Some((end, clock)) = start(text) {
            self.is_ingress = end == Some("ingress");
            self.notes.push(("start in ms".to_owned(), clock.to_owned()));
            self.notes.extend(end.map(|end| ("end".to_owned(), end.to_owned())));
            return Ok(());
        }
        if text.is_empty() || text.starts_with('#') {
            return Ok(());
        }
        let words: Vec<&str> = text.split_ascii_whitespace().collect();
        let (kind, item) = self.fact(line, text, &words)?;
        if *self.kind.get_or_insert(kind) != kind {
            let problem = format!("{}: is of another kind of log than the lines before", excerpt(text));
            return Err(TraceError::at(line, problem));
        }
        (self.last, self.count) = (self.last.max(item.time()), self.count + 1);
        found.push_back((Direction::Both, item));
        Ok(())
    }

    fn finish(&mut self, _found: &mut Found) -> Result<Whole, TraceError> {
        if self.count == 0 {
            return Err(TraceError::nowhere("the log is empty: it must have at least one packet"));
        }
        Ok(Whole { lasts: self.last, at_end: AtEnd::Unsaid, notes: std::mem::take(&mut self.notes) })
    }
}

impl Reader {
    fn fact(&self, line: usize, text: &str, words: &[&str]) -> Result<(Kind, Item), TraceError> {
        let millis = |what: &str, text: &str| {
            Ok::<_, TraceError>(SimTime::from_secs_f64(real(line, what, text, [0.0, LATEST_S * 1e3])? / 1e3))
        };
        let number = |what: &str, text: &str| super::line::whole(line, what, text);
        let bytes = |text: &str| {
            let bytes = number("bytes", text)?;
            let refuse = || TraceError::at(line, format!("bytes = {bytes}: must be at most 65535"));
            u32::try_from(bytes).ok().filter(|bytes| *bytes <= 65_535).ok_or_else(refuse)
        };
        let flow = |text: &&str| number("flow", text);
        Ok(match words {
            [time, "-", id, "-", size] => {
                let (time, bytes, id) =
                    (millis("time in ms", time)?, bytes(size)?, Some(number("number", id)?));
                let item = if self.is_ingress {
                    Item::Arrived { time, bytes, id, delay: None }
                } else {
                    Item::Sent { time, bytes, id }
                };
                (Kind::Half, item)
            }
            [time, "+", size, rest @ ..] if rest.len() <= 1 => {
                let (time, id) = (millis("time in ms", time)?, rest.first().map(flow).transpose()?);
                (Kind::Merged, Item::Sent { time, bytes: bytes(size)?, id })
            }
            [time, "-", size, delay, rest @ ..] if rest.len() <= 1 => {
                let (time, id) = (millis("time in ms", time)?, rest.first().map(flow).transpose()?);
                let delay = Some(millis("delay in ms", delay)?);
                (Kind::Merged, Item::Arrived { time, bytes: bytes(size)?, id, delay })
            }
            [time, "#", size] => {
                (Kind::Merged, Item::Opportunity { time: millis("time in ms", time)?, bytes: bytes(size)? })
            }
            _ => {
                let problem = format!(
                    "{}: must be TIME - NUMBER - BYTES, TIME + BYTES, TIME - BYTES DELAY or TIME # BYTES",
                    excerpt(text)
                );
                return Err(TraceError::at(line, problem));
            }
        })
    }
}
