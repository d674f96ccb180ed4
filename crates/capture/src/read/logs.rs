//! Streaming reader of logs of other tools, recognized by their content: fates of packets, or bytes carried per
//! interval.

use super::elements::Elements;
use super::events::{self, Events};
use super::iperf::{self, Iperf};
use super::irtt::{self, Irtt};
use super::link_log::{self, LinkLog};
use super::log_error::LogError;
use super::ping::{self, Ping};
use super::qlog::{self, Qlog};
use super::ss::{self, Ss};
use super::told::Told;

/// Longest accepted line in bytes; no supported tool writes a longer one.
const LONGEST_LINE: usize = 1 << 20;
/// Number of first bytes of a log by which [`LogKind::of`] recognizes the tool.
pub const HEAD: usize = 1 << 16;

/// Tool and format of a log.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum LogKind {
    /// qlog of a QUIC sender as one JSON document.
    Qlog,
    /// qlog of a QUIC sender with one JSON document per event.
    QlogSequence,
    /// JSON of iperf3.
    Iperf,
    /// JSON of irtt.
    Irtt,
    /// Output of `ping`.
    Ping,
    /// Output of `ss -ti`.
    Ss,
    /// CSV of events that Crossfade writes.
    Events,
    /// Log of both ends of a link, by mahimahi's `mm-link` or by Pantheon.
    Link,
}

impl LogKind {
    /// Recognizes a log by its first bytes `head`; `None` if no supported tool writes such.
    pub fn of(head: &[u8]) -> Option<Self> {
        let text = String::from_utf8_lossy(&head[..head.len().min(HEAD)]);
        let text = text.trim_start_matches(['\u{feff}', ' ', '\t', '\r', '\n']);
        if let Some(text) = text.strip_prefix(['{', '\u{1e}']) {
            let has = |key: &str| text.contains(key);
            let is_sequence = has("JSON-SEQ") || has("NDJSON") || has("json-seq");
            return if has("\"qlog_version\"") || has("\"qlog_format\"") || has("\"file_schema\"") {
                Some(if is_sequence { Self::QlogSequence } else { Self::Qlog })
            } else if has("\"irtt\"") || has("\"round_trips\"") {
                Some(Self::Irtt)
            } else if has("\"iperf ") || has("\"test_start\"") || has("\"intervals\"") {
                Some(Self::Iperf)
            } else {
                None
            };
        }
        text.lines().take(100).map(str::trim).find_map(|line| match line {
            _ if events::is_header(line) => Some(Self::Events),
            _ if ping::is_line(line) => Some(Self::Ping),
            _ if ss::is_line(line) => Some(Self::Ss),
            _ if link_log::is_line(line) => Some(Self::Link),
            _ => None,
        })
    }

    /// Name of the tool, as the command line prints it.
    pub fn name(self) -> &'static str {
        match self {
            Self::Qlog | Self::QlogSequence => "qlog",
            Self::Iperf => "iperf3",
            Self::Irtt => "irtt",
            Self::Ping => "ping",
            Self::Ss => "ss",
            Self::Events => "events",
            Self::Link => "link",
        }
    }
}

#[derive(Clone, Debug)]
enum Parser {
    Qlog(Qlog),
    Iperf(Iperf),
    Irtt(Irtt),
    Ping(Ping),
    Ss(Ss),
    Events(Events),
    Link(LinkLog),
}

/// Reads a log of another tool that is handed over in chunks.
///
/// ```
/// use crossfade_capture::read::{LogKind, LogReader, Told};
///
/// let text = b"PING 10.0.0.1 (10.0.0.1) 56(84) bytes of data.\n64 bytes from 10.0.0.1: icmp_seq=1 ttl=57 time=11.2
/// ms\n";
/// let mut reader = LogReader::new(LogKind::of(text).unwrap());
/// reader.push(text).unwrap();
/// let Told::Packets(log) = reader.finish().unwrap() else { panic!() };
/// assert_eq!(log.packets[0].seen_ns, Some(11_200_000));
/// ```
#[derive(Clone, Debug)]
pub struct LogReader {
    parser: Parser,
    elements: Option<Elements>,
    /// Bytes of the current line, and in `lines` the number of complete lines.
    rest: Vec<u8>,
    lines: usize,
}

impl LogReader {
    /// Reader of a log of this kind, before its first chunk.
    pub fn new(kind: LogKind) -> Self {
        let (parser, names) = match kind {
            LogKind::Qlog => (Parser::Qlog(Qlog::default()), Some(qlog::NAMES)),
            LogKind::QlogSequence => (Parser::Qlog(Qlog::default()), Some(qlog::SEQUENCE)),
            LogKind::Iperf => (Parser::Iperf(Iperf::default()), Some(iperf::NAMES)),
            LogKind::Irtt => (Parser::Irtt(Irtt::default()), Some(irtt::NAMES)),
            LogKind::Ping => (Parser::Ping(Ping::default()), None),
            LogKind::Ss => (Parser::Ss(Ss::default()), None),
            LogKind::Events => (Parser::Events(Events::default()), None),
            LogKind::Link => (Parser::Link(LinkLog::default()), None),
        };
        Self { parser, elements: names.map(Elements::new), rest: Vec::new(), lines: 0 }
    }

    /// Reads the next chunk of the log.
    ///
    /// # Errors
    /// If a line or object does not have the format of the log.
    pub fn push(&mut self, bytes: &[u8]) -> Result<(), LogError> {
        let Self { parser, elements, rest, lines } = self;
        if let Some(elements) = elements {
            return elements.push(bytes, &mut |line, key, text| match parser {
                Parser::Qlog(of) => of.element(line, key, text),
                Parser::Iperf(of) => of.element(line, key, text),
                Parser::Irtt(of) => of.element(line, key, text),
                _ => Ok(()),
            });
        }
        let mut left = bytes;
        while let Some(end) = left.iter().position(|byte| *byte == b'\n') {
            *lines += 1;
            rest.extend_from_slice(&left[..end]);
            line(parser, *lines, rest)?;
            rest.clear();
            left = &left[end + 1..];
        }
        rest.extend_from_slice(left);
        if rest.len() > LONGEST_LINE {
            return Err(LogError::at(*lines + 1, "longer than 1 MiB: no line of a log is"));
        }
        Ok(())
    }

    /// Ends the log and returns what it measured.
    ///
    /// # Errors
    /// If the log has no measurement.
    pub fn finish(mut self) -> Result<Told, LogError> {
        let ends_early = self.elements.as_ref().is_some_and(Elements::is_cut);
        if !self.rest.is_empty() {
            let last = line(&mut self.parser, self.lines + 1, &self.rest);
            // The last line of a killed program may be incomplete, so errors in it are ignored.
            if self.lines == 0 {
                last?;
            }
        }
        match self.parser {
            Parser::Qlog(of) => of.finish(ends_early),
            Parser::Iperf(of) => of.finish(ends_early),
            Parser::Irtt(of) => of.finish(ends_early),
            Parser::Ping(of) => of.finish(),
            Parser::Ss(of) => of.finish(),
            Parser::Events(of) => of.finish(),
            Parser::Link(of) => of.finish(),
        }
    }
}

fn line(parser: &mut Parser, number: usize, bytes: &[u8]) -> Result<(), LogError> {
    let text = std::str::from_utf8(bytes).map_err(|_| LogError::at(number, "not UTF-8 text"))?;
    let text = text.trim_start_matches('\u{feff}').trim();
    match parser {
        Parser::Ping(of) => of.line(number, text),
        Parser::Ss(of) => of.line(number, text),
        Parser::Events(of) => of.line(number, text),
        Parser::Link(of) => of.line(number, text),
        _ => Ok(()),
    }
}
