//! Reader of recordings in any format, as a sequence of facts.

use super::cellreplay;
use super::format::Format;
use super::ibox;
use super::interop;
use super::item::{Found, Told, Whole};
use super::leo_replayer;
use super::line::{ByLine, Lines, Parser};
use super::mahimahi;
use super::netem_trace;
use super::picoquic;
use super::tables::{self, Columns};
use super::tc;
use super::theaterq;
use super::tunnel;
use crate::trace::TraceError;
use crossfade_core::SimTime;

/// Reader of a recording in a known format, whose text arrives in chunks. It is an iterator over facts in the order of
/// the text, and keeps only those of one chunk.
///
/// ```
/// use crossfade_link::trace::formats::{Format, Item, Reader};
/// use crossfade_link::trace::TraceError;
/// let chunks = [Ok::<_, TraceError>(b"0\n1".as_slice()), Ok(b"2\n".as_slice())];
/// let mut reader = Reader::new(Format::Mahimahi, chunks.into_iter());
/// let times: Vec<f64> = reader.by_ref().map(|told| told.unwrap().1.time().as_secs_f64()).collect();
/// assert_eq!(times, [0.0, 0.012]);
/// assert_eq!(reader.whole().unwrap().lasts.as_secs_f64(), 0.012);
/// ```
pub struct Reader<C> {
    chunks: C,
    parser: Box<dyn Parser + Send>,
    found: Found,
    whole: Option<Whole>,
    failed: bool,
}

/// Assumptions about values that a format does not contain.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Assumed {
    /// Time for which each delay of a LeoReplayer file holds; 10 ms by default.
    pub delay_interval: SimTime,
}

impl Default for Assumed {
    fn default() -> Self {
        Self { delay_interval: leo_replayer::INTERVAL }
    }
}

impl<C, B, E> Reader<C>
where
    C: Iterator<Item = Result<B, E>>,
    B: AsRef<[u8]>,
    E: From<TraceError>,
{
    /// Creates a reader of a recording in `format`, whose text comes in `chunks`, with the default assumptions.
    pub fn new(format: Format, chunks: C) -> Self {
        Self::assuming(format, Assumed::default(), chunks)
    }

    /// Like [`new`](Self::new), but with the assumptions `assumed` about values that the format does not contain.
    pub fn assuming(format: Format, assumed: Assumed, chunks: C) -> Self {
        Self { chunks, parser: parser(format, assumed), found: Found::new(), whole: None, failed: false }
    }

    /// Facts about the recording as a whole; `None` until all facts have been read.
    pub fn whole(&self) -> Option<&Whole> {
        self.whole.as_ref()
    }

    /// Reads chunks until there is a fact or the text ends.
    fn fill(&mut self) -> Result<(), E> {
        while self.found.is_empty() && self.whole.is_none() {
            match self.chunks.next() {
                Some(chunk) => self.parser.push(chunk?.as_ref(), &mut self.found)?,
                None => self.whole = Some(self.parser.finish(&mut self.found)?),
            }
        }
        Ok(())
    }
}

impl<C, B, E> Iterator for Reader<C>
where
    C: Iterator<Item = Result<B, E>>,
    B: AsRef<[u8]>,
    E: From<TraceError>,
{
    type Item = Result<Told, E>;

    fn next(&mut self) -> Option<Self::Item> {
        if self.failed {
            return None;
        }
        if let Err(error) = self.fill() {
            self.failed = true;
            return Some(Err(error));
        }
        self.found.pop_front().map(Ok)
    }
}

fn parser(format: Format, assumed: Assumed) -> Box<dyn Parser + Send> {
    match format {
        Format::Mahimahi => by_line(mahimahi::Reader::new(mahimahi::BYTES)),
        Format::CellReplayHeavy => by_line(mahimahi::Reader::new(mahimahi::CELLREPLAY_BYTES)),
        Format::CellReplayLight => by_line(cellreplay::Reader::default()),
        Format::LeoReplayer => by_line(leo_replayer::Reader::new(assumed.delay_interval)),
        Format::TheaterQ => by_line(theaterq::Reader::default()),
        Format::NetemTrace => Box::new(netem_trace::FromJson::default()),
        Format::NetemTraceToml => Box::new(netem_trace::FromToml::default()),
        Format::Tc => by_line(tc::Reader::default()),
        Format::Ibox => Box::new(ibox::Reader::default()),
        Format::Interop => by_line(interop::Reader::default()),
        Format::Picoquic => by_line(picoquic::Reader::default()),
        Format::Tunnel => by_line(tunnel::Reader::default()),
        Format::Rates => by_line(tables::Reader::new(Columns::Rates)),
        Format::Delays => by_line(tables::Reader::new(Columns::Delays)),
    }
}

fn by_line(lines: impl Lines + Send + 'static) -> Box<dyn Parser + Send> {
    Box::new(ByLine::new(lines))
}

/// Reads a whole text at once: its facts, and those about the recording as a whole.
///
/// # Errors
/// If a line does not follow the format; the error has its number.
pub fn read(format: Format, assumed: Assumed, text: &str) -> Result<(Vec<Told>, Whole), TraceError> {
    let mut reader = Reader::assuming(format, assumed, std::iter::once(Ok::<_, TraceError>(text)));
    let told = reader.by_ref().collect::<Result<Vec<_>, _>>()?;
    Ok((told, reader.whole.unwrap_or_default()))
}
