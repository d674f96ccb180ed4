//! Detection of the format of a recording from its content.

use super::format::Format;
use super::interop;
use super::line::{Splitter, before_comment};
use super::netem_trace;
use super::picoquic;
use super::tc;
use super::tunnel;
use crate::trace::TraceError;
use crate::trace::error::{is_header, words};
use crossfade_core::excerpt;

/// Number of lines that decide the format; for lines of a single number, all lines do.
const LINES: usize = 64;
/// Number of rises after which single numbers are taken for times: delays would have decreased by then.
const SURE_TIMES: usize = 64;
/// Number of bytes by which a JSON format is identified.
const HEAD: usize = 1 << 16;

/// Detector of the format of a text that arrives in chunks.
///
/// The first lines decide. Lines of one whole number may be times or delays: times do not decrease, so a number below
/// the previous one shows delays, unless 64 numbers have risen before it; then all are taken for times, and a number
/// that decreases is an error. In lines of three or more whole numbers without commas, the second number is a rate in
/// bit/s if it is 10,000 or more in any line or 0 in all, and otherwise a delay in ms.
#[derive(Default)]
pub struct Detector {
    splitter: Splitter,
    seen: Seen,
    /// First bytes of the text, if it is JSON.
    head: Vec<u8>,
    shape: Shape,
}

/// Guess from the first byte that is not white space.
#[derive(Default, PartialEq, Eq)]
enum Shape {
    #[default]
    Unknown,
    Lines,
    Json,
}

/// Properties that all lines so far have in common.
#[derive(Default)]
struct Seen {
    /// Number of lines that are neither empty nor comments.
    lines: usize,
    /// Format of the text; `None` while it is uncertain.
    format: Option<Format>,
    /// Properties of the lines of numbers; `None` without such lines.
    numbers: Option<Numbers>,
    first: Option<(usize, String)>,
}

/// Properties of lines of numbers, separated by white space or commas.
#[derive(Clone, Copy)]
struct Numbers {
    columns: usize,
    /// True if some numbers are separated by commas.
    commas: bool,
    are_whole: bool,
    /// True while single numbers have not decreased, so that they may be times.
    ascending: bool,
    /// Number of single numbers that are above the one before.
    rises: usize,
    /// Last single number.
    before: f64,
    /// Greatest number in the second column.
    most_second: f64,
}

impl Detector {
    /// Takes the next bytes of the text. Returns false if no more are needed.
    ///
    /// # Errors
    /// If the bytes are not UTF-8 text.
    pub fn push(&mut self, bytes: &[u8]) -> Result<bool, TraceError> {
        if self.shape == Shape::Unknown {
            let first = bytes.iter().find(|byte| !byte.is_ascii_whitespace() && !BOM.contains(byte));
            self.shape = match first {
                None => Shape::Unknown,
                Some(b'{') => Shape::Json,
                Some(_) => Shape::Lines,
            };
        }
        if self.shape == Shape::Json {
            self.head.extend_from_slice(&bytes[..bytes.len().min(HEAD - self.head.len())]);
            return Ok(self.head.len() < HEAD);
        }
        let seen = &mut self.seen;
        self.splitter.push(bytes, |line, text| {
            seen.line(line, text);
            Ok(())
        })?;
        Ok(self.seen.is_open())
    }

    /// Format of the text, after its last bytes.
    ///
    /// # Errors
    /// If the text has no known format.
    pub fn finish(mut self) -> Result<Format, TraceError> {
        if self.shape == Shape::Json {
            return of_json(&String::from_utf8_lossy(&self.head));
        }
        let seen = &mut self.seen;
        if seen.is_open() {
            self.splitter.finish(|line, text| {
                seen.line(line, text);
                Ok(())
            })?;
        }
        self.seen.format()
    }
}

/// Byte order mark of UTF-8.
const BOM: [u8; 3] = [0xef, 0xbb, 0xbf];

/// Format of a JSON text, from the first names in it.
fn of_json(head: &str) -> Result<Format, TraceError> {
    let names = head.split('"').skip(1).step_by(2);
    let mut known = names.filter_map(|name| match name {
        "config" | "bottleneck_bandwidth" | "uplink" | "downlink" => Some(Format::Ibox),
        _ => netem_trace::is_name(name).then_some(Format::NetemTrace),
    });
    let unknown = || TraceError::nowhere("JSON of no format that is known: iBox and netem-trace are");
    known.next().ok_or_else(unknown)
}

impl Seen {
    fn is_open(&self) -> bool {
        let single = self.numbers.is_some_and(|numbers| numbers.columns == 1 && numbers.may_be_times());
        self.format.is_none() && (self.lines < LINES || single)
    }

    fn line(&mut self, line: usize, text: &str) {
        if !self.is_open() {
            return;
        }
        if tunnel::is_start(text) || tunnel::is_line(text) {
            self.format = Some(Format::Tunnel);
            return;
        }
        let text = before_comment(text);
        if text.is_empty() {
            return;
        }
        self.lines += 1;
        if self.first.is_none() {
            self.first = Some((line, text.to_owned()));
            self.format = by_header(text);
            if self.format.is_some() {
                return;
            }
        }
        match numbers_of(text) {
            Some(found) => {
                let numbers = self.numbers.map_or(found, |before| before.and(found));
                if numbers.are_times() {
                    self.format = Some(Format::Mahimahi);
                }
                self.numbers = Some(numbers);
            }
            None => self.format = self.format.or(by_line(text)),
        }
    }

    fn format(self) -> Result<Format, TraceError> {
        if let Some(format) = self.format {
            return Ok(format);
        }
        let Some((line, first)) = self.first else {
            return Err(TraceError::nowhere("the file is empty: it is no trace"));
        };
        self.numbers.and_then(Numbers::format).ok_or_else(|| {
            TraceError::at(line, format!("{}: begins no format that is known", excerpt(&first)))
        })
    }
}

/// Format of a table, if its first line has the column names of a known one.
fn by_header(text: &str) -> Option<Format> {
    if !is_header(text) {
        return None;
    }
    let names: Vec<String> = words(text).map(str::to_ascii_lowercase).collect();
    match names.iter().map(String::as_str).collect::<Vec<_>>().as_slice() {
        ["time_s", "rate_bps", "delay_s", "loss"] => Some(Format::Rates),
        ["time_s", "delay_s" | "rtt_s"] => Some(Format::Delays),
        ["keep", "latency", ..] => Some(Format::TheaterQ),
        _ => None,
    }
}

/// Format that a single line identifies; `None` if it is uncertain.
fn by_line(text: &str) -> Option<Format> {
    let first = text.split_ascii_whitespace().find(|word| !tc::is_sudo(word)).unwrap_or_default();
    if interop::is_scenario(text) {
        return Some(Format::Interop);
    }
    if (tc::is_program(first) && text.contains(" qdisc ")) || tc::begins_arguments(text) {
        return Some(Format::Tc);
    }
    if text.starts_with('[') && netem_trace::is_name(text) {
        return Some(Format::NetemTraceToml);
    }
    picoquic::is_line(text).then_some(Format::Picoquic)
}

fn numbers_of(text: &str) -> Option<Numbers> {
    let commas = text.contains(',');
    let mut columns = 0;
    let (mut are_whole, mut before) = (true, 0.0);
    let mut most_second = f64::NEG_INFINITY;
    for word in words(text) {
        let number: f64 = word.parse().ok().filter(|number: &f64| number.is_finite())?;
        are_whole &= word.bytes().all(|byte| byte.is_ascii_digit() || byte == b'-');
        match columns {
            0 => before = number,
            1 => most_second = number,
            _ => {}
        }
        columns += 1;
    }
    // Lines of CellReplay have as many numbers as their train has packets.
    let columns = if commas || columns < 3 { columns } else { columns.min(4) };
    Some(Numbers { columns, commas, are_whole, ascending: true, rises: 0, before, most_second })
}

impl Numbers {
    fn may_be_times(self) -> bool {
        self.are_whole && self.ascending
    }

    /// True if so many numbers have risen that they must be times: delays would have decreased by now.
    fn are_times(self) -> bool {
        self.columns == 1 && self.may_be_times() && self.rises >= SURE_TIMES
    }

    fn and(self, next: Self) -> Self {
        // Only trains have lines of several lengths; in other formats a line of another length is an error.
        let is_fixed = self.commas || next.commas || self.columns == 1 || next.columns == 1;
        let columns = if is_fixed { self.columns } else { self.columns.max(next.columns) };
        Self {
            columns,
            commas: self.commas || next.commas,
            are_whole: self.are_whole && next.are_whole,
            ascending: self.ascending && next.before >= self.before,
            rises: self.rises + usize::from(self.ascending && next.before > self.before),
            before: next.before,
            most_second: self.most_second.max(next.most_second),
        }
    }

    fn format(self) -> Option<Format> {
        match self.columns {
            1 if self.may_be_times() => Some(Format::Mahimahi),
            1 => Some(Format::LeoReplayer),
            2 => Some(Format::Delays),
            5 | 9 | 10 if self.are_whole => Some(Format::TheaterQ),
            3 | 4 if self.are_whole && !self.commas && (1.0..1e4).contains(&self.most_second) => {
                Some(Format::CellReplayLight)
            }
            4 => Some(Format::Rates),
            _ => None,
        }
    }
}
