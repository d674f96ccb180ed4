//! Reading of texts in chunks and by line, and of the numbers in a line.

use super::item::{Found, Whole};
use crate::trace::TraceError;
use crossfade_core::{SimTime, excerpt};

/// Greatest length of a line in bytes; no format has longer lines.
const LONGEST_LINE: usize = 1 << 20;
/// Greatest time in seconds: 100 years.
pub(super) const LATEST_S: f64 = 3.2e9;

/// Reader of a format, for texts that arrive in chunks.
pub(super) trait Parser {
    /// Takes the next bytes of the text, and adds the facts in them to `found`.
    fn push(&mut self, bytes: &[u8], found: &mut Found) -> Result<(), TraceError>;

    /// Takes the end of the text, and adds the remaining facts to `found`.
    fn finish(&mut self, found: &mut Found) -> Result<Whole, TraceError>;
}

/// Reader of a format line by line.
pub(super) trait Lines {
    /// Takes a line, numbered from 1, without white space around it, and adds the facts in it to `found`.
    fn line(&mut self, line: usize, text: &str, found: &mut Found) -> Result<(), TraceError>;

    /// Takes the end of the text, and adds the remaining facts to `found`.
    fn finish(&mut self, found: &mut Found) -> Result<Whole, TraceError>;
}

/// Divides chunks of a text into lines.
#[derive(Default)]
pub(super) struct Splitter {
    /// Bytes after the last line break.
    rest: Vec<u8>,
    /// Number of lines so far.
    lines: usize,
}

impl Splitter {
    /// Passes each line that ends in `bytes` to `take`.
    pub(super) fn push(
        &mut self,
        bytes: &[u8],
        mut take: impl FnMut(usize, &str) -> Result<(), TraceError>,
    ) -> Result<(), TraceError> {
        let mut left = bytes;
        while let Some(end) = left.iter().position(|&byte| byte == b'\n') {
            self.lines += 1;
            if self.rest.is_empty() {
                take(self.lines, text_of(self.lines, &left[..end])?)?;
            } else {
                self.rest.extend_from_slice(&left[..end]);
                let line = std::mem::take(&mut self.rest);
                take(self.lines, text_of(self.lines, &line)?)?;
            }
            left = &left[end + 1..];
        }
        self.rest.extend_from_slice(left);
        if self.rest.len() > LONGEST_LINE {
            return Err(TraceError::at(self.lines + 1, "longer than 1 MiB: no line of a trace is"));
        }
        Ok(())
    }

    /// Passes the last line to `take` if it has no line break.
    pub(super) fn finish(
        &mut self,
        mut take: impl FnMut(usize, &str) -> Result<(), TraceError>,
    ) -> Result<(), TraceError> {
        let line = std::mem::take(&mut self.rest);
        if line.is_empty() {
            return Ok(());
        }
        self.lines += 1;
        take(self.lines, text_of(self.lines, &line)?)
    }
}

fn text_of(line: usize, bytes: &[u8]) -> Result<&str, TraceError> {
    let text = std::str::from_utf8(bytes).map_err(|_| TraceError::at(line, "not UTF-8 text"))?;
    let text = if line == 1 { text.strip_prefix('\u{feff}').unwrap_or(text) } else { text };
    let text = text.trim();
    if text.contains('\r') {
        return Err(TraceError::at(line, "a carriage return alone: lines end in LF or CR LF"));
    }
    Ok(text)
}

/// Reader of texts in chunks, made from a reader of lines.
pub(super) struct ByLine<L> {
    splitter: Splitter,
    lines: L,
}

impl<L: Lines> ByLine<L> {
    pub(super) fn new(lines: L) -> Self {
        Self { splitter: Splitter::default(), lines }
    }
}

impl<L: Lines> Parser for ByLine<L> {
    fn push(&mut self, bytes: &[u8], found: &mut Found) -> Result<(), TraceError> {
        let lines = &mut self.lines;
        self.splitter.push(bytes, |line, text| lines.line(line, text, found))
    }

    fn finish(&mut self, found: &mut Found) -> Result<Whole, TraceError> {
        let lines = &mut self.lines;
        self.splitter.finish(|line, text| lines.line(line, text, found))?;
        lines.finish(found)
    }
}

/// Part of a line before its first `#`, without white space around it.
pub(super) fn before_comment(text: &str) -> &str {
    text.split('#').next().unwrap_or_default().trim()
}

/// Whole number from the field of a line that errors call `what`.
pub(super) fn whole(line: usize, what: &str, text: &str) -> Result<u64, TraceError> {
    text.parse().map_err(|_| {
        TraceError::at(line, format!("{what} = {}: must be a whole number of 0 or more", excerpt(text)))
    })
}

/// Number within `[least, most]` from the field of a line that errors call `what`.
pub(super) fn real(line: usize, what: &str, text: &str, [least, most]: [f64; 2]) -> Result<f64, TraceError> {
    text.parse().ok().filter(|number: &f64| (least..=most).contains(number)).ok_or_else(|| {
        let problem = format!("{what} = {}: must be a number from {least} to {most:?}", excerpt(text));
        TraceError::at(line, problem)
    })
}

/// Time of `count` units, at most 100 years.
pub(super) fn time(line: usize, what: &str, count: u64, unit: SimTime) -> Result<SimTime, TraceError> {
    let time = unit.saturating_mul(count);
    if time.as_secs_f64() <= LATEST_S {
        return Ok(time);
    }
    Err(TraceError::at(line, format!("{what} = {count}: must be at most 100 years")))
}

/// Sum of two times, at most 100 years.
pub(super) fn later(line: usize, time: SimTime, by: SimTime) -> Result<SimTime, TraceError> {
    let sum = time.saturating_add(by);
    if sum.as_secs_f64() <= LATEST_S {
        return Ok(sum);
    }
    Err(TraceError::at(line, "the times before it add up to more than 100 years"))
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn split(chunks: &[&[u8]]) -> Result<Vec<(usize, String)>, TraceError> {
        let (mut splitter, mut lines) = (Splitter::default(), Vec::new());
        for chunk in chunks {
            splitter.push(chunk, |line, text| {
                lines.push((line, text.to_owned()));
                Ok(())
            })?;
        }
        splitter.finish(|line, text| {
            lines.push((line, text.to_owned()));
            Ok(())
        })?;
        Ok(lines)
    }

    #[test]
    fn lines_do_not_depend_on_where_a_chunk_ends() {
        let text = "\u{feff}1\r\n\n 22 \nä3";
        let whole = split(&[text.as_bytes()]).unwrap();
        let lines: Vec<(usize, &str)> = whole.iter().map(|(at, text)| (*at, text.as_str())).collect();
        assert_eq!(lines, [(1, "1"), (2, ""), (3, "22"), (4, "ä3")]);
        let bytes: Vec<&[u8]> = text.as_bytes().chunks(1).collect();
        assert_eq!(split(&bytes).unwrap(), whole);
    }

    #[test]
    fn what_is_no_text_is_refused_with_its_line() {
        let alone = "line 2: a carriage return alone: lines end in LF or CR LF";
        assert_eq!(split(&[b"1\r\n2\r3\n"]).unwrap_err().to_string(), alone);
        assert_eq!(split(&[b"1\n\xff\n"]).unwrap_err().to_string(), "line 2: not UTF-8 text");
        let long = vec![b'1'; LONGEST_LINE + 1];
        let problem = "line 2: longer than 1 MiB: no line of a trace is";
        assert_eq!(split(&[b"1\n", &long]).unwrap_err().to_string(), problem);
    }

    proptest! {
        #[test]
        fn any_cut_gives_the_same_lines(text in "[a-z0-9 \n\r]{0,60}", cut in 0_usize..60) {
            let bytes = text.as_bytes();
            let (left, right) = bytes.split_at(cut.min(bytes.len()));
            prop_assert_eq!(split(&[left, right]), split(&[bytes]));
        }
    }
}
