//! Sender events of a run as CSV, with samples of flows and links between them.

use super::sink::{PORTION_BYTES, TextSink};
use crossfade_core::{EventRecord, Observer, TcpSnapshot};
use std::fmt::Write as _;

const HEADER: &str = "time_s,event,flow,seq,cwnd,ssthresh,dupacks,backoff,flight_size";
/// Further columns of samples, which events leave empty.
const SAMPLE_COLUMNS: &str = ",link,goodput_bps,rtt_mean_s,queue_packets,capacity_bps,retransmissions";

/// Kinds of lines to write.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Lines {
    /// Lines of events only, without the columns of samples.
    Events,
    /// Lines of samples only.
    Samples,
    /// Lines of events and of samples, in order of time.
    Both,
}

/// Counts of a flow or of a link since the previous sample; an absent value is written as an empty cell.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Sample<'a> {
    pub(crate) time_s: f64,
    /// Index of the flow and state of its sender; `None` in a sample of a link.
    pub(crate) flow: Option<(usize, TcpSnapshot)>,
    /// Name of the link; `None` in a sample of a flow.
    pub(crate) link: Option<&'a str>,
    pub(crate) goodput_bps: Option<f64>,
    pub(crate) rtt_mean_s: Option<f64>,
    pub(crate) queue_packets: Option<usize>,
    pub(crate) capacity_bps: Option<f64>,
    pub(crate) retransmissions: Option<u64>,
}

/// Writer of sender events: each is a line with the event and the sender's state right after it.
pub(crate) struct EventsCsv<'a> {
    text: String,
    sink: &'a mut TextSink<'a>,
    lines: Lines,
    /// True if there is a last column with the state of the flow's congestion control.
    has_info: bool,
}

impl<'a> EventsCsv<'a> {
    /// Creates a writer that passes its lines to `sink` in portions of at least [`PORTION_BYTES`].
    pub(crate) fn new(sink: &'a mut TextSink<'a>, lines: Lines) -> Self {
        let samples = if lines == Lines::Events { "" } else { SAMPLE_COLUMNS };
        Self { text: format!("{HEADER}{samples}\n"), sink, lines, has_info: false }
    }

    /// Like [`Self::new`]; with `has_info` each event ends with the state of the flow's congestion control.
    pub(crate) fn with_info(sink: &'a mut TextSink<'a>, lines: Lines, has_info: bool) -> Self {
        let mut csv = Self::new(sink, lines);
        if has_info {
            csv.has_info = true;
            csv.text.insert_str(csv.text.len() - 1, ",info");
        }
        csv
    }

    /// Passes the remaining lines to the sink.
    pub(crate) fn finish(&mut self) {
        (self.sink)(&self.text);
        self.text.clear();
    }

    /// Writes a line for a sample.
    pub(crate) fn sample(&mut self, sample: &Sample<'_>) {
        let (flow, state) = sample.flow.map_or((String::new(), ",,,,".to_owned()), |(flow, tcp)| {
            let TcpSnapshot { cwnd, ssthresh, dupacks, backoff, flight_size } = tcp;
            (flow.to_string(), format!("{cwnd},{ssthresh},{dupacks},{backoff},{flight_size}"))
        });
        let _ = writeln!(
            self.text,
            "{},sample,{flow},,{state},{},{},{},{},{},{}{}",
            sample.time_s,
            sample.link.unwrap_or_default(),
            cell(sample.goodput_bps),
            cell(sample.rtt_mean_s),
            cell(sample.queue_packets),
            cell(sample.capacity_bps),
            cell(sample.retransmissions),
            if self.has_info { "," } else { "" }
        );
        self.hand_over();
    }

    /// Writes a line for an event, with the state `info` of the congestion control if there is a column for it.
    fn line(&mut self, event: &EventRecord, info: &dyn Fn() -> String) {
        let rest = match self.lines {
            Lines::Events => "",
            Lines::Both => ",,,,,,",
            Lines::Samples => return,
        };
        let tcp = &event.tcp;
        // Writing to a string cannot fail.
        let _ = write!(
            self.text,
            "{},{},{},{},{},{},{},{},{}{rest}",
            event.time.as_secs_f64(),
            event.kind.name(),
            event.flow,
            event.seq,
            tcp.cwnd,
            tcp.ssthresh,
            tcp.dupacks,
            tcp.backoff,
            tcp.flight_size
        );
        if self.has_info {
            let _ = write!(self.text, ",{}", info());
        }
        self.text.push('\n');
        self.hand_over();
    }

    fn hand_over(&mut self) {
        if self.text.len() >= PORTION_BYTES {
            self.finish();
        }
    }
}

fn cell(value: Option<impl ToString>) -> String {
    value.map_or_else(String::new, |value| value.to_string())
}

impl Observer for EventsCsv<'_> {
    fn record(&mut self, event: &EventRecord) {
        self.line(event, &String::new);
    }

    fn record_with(&mut self, event: &EventRecord, info: &dyn Fn() -> String) {
        self.line(event, info);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crossfade_core::{EventKind, SimTime};

    #[test]
    fn numbers_are_written_in_the_shortest_form_that_reads_back() {
        let mut text = String::new();
        let mut sink = |lines: &str| text.push_str(lines);
        let mut csv = EventsCsv::new(&mut sink, Lines::Events);
        let tcp = TcpSnapshot { cwnd: 2.5, ssthresh: 24.0, dupacks: 1, backoff: 2, flight_size: 3 };
        let time = SimTime::from_nanos(7_466_667);
        csv.record(&EventRecord { time, kind: EventKind::DuplicateAck, flow: 0, seq: 41, tcp });
        csv.finish();
        assert_eq!(text.lines().nth(1), Some("0.007466667,duplicate_ack,0,41,2.5,24,1,2,3"));
    }

    #[test]
    fn every_line_has_all_cells() {
        let mut text = String::new();
        let mut sink = |lines: &str| text.push_str(lines);
        let mut csv = EventsCsv::new(&mut sink, Lines::Both);
        let (time, kind, tcp) = (SimTime::ZERO, EventKind::Send, TcpSnapshot::default());
        csv.record(&EventRecord { time, kind, flow: 0, seq: 41, tcp });
        csv.sample(&Sample { flow: Some((0, tcp)), goodput_bps: Some(1e6), ..Sample::default() });
        csv.sample(&Sample { link: Some("forward"), queue_packets: Some(3), ..Sample::default() });
        csv.finish();
        let cells: Vec<usize> = text.lines().map(|line| line.split(',').count()).collect();
        assert_eq!(cells, [15; 4]);
        assert_eq!(text.lines().last(), Some("0,sample,,,,,,,,forward,,,3,,"));
    }

    #[test]
    fn what_controls_are_at_is_the_last_column() {
        let mut text = String::new();
        let mut sink = |lines: &str| text.push_str(lines);
        let mut csv = EventsCsv::with_info(&mut sink, Lines::Both, true);
        let (time, kind, tcp) = (SimTime::ZERO, EventKind::Send, TcpSnapshot::default());
        let info = || "state=startup bandwidth=2.5".to_owned();
        csv.record_with(&EventRecord { time, kind, flow: 0, seq: 41, tcp }, &info);
        csv.sample(&Sample { link: Some("forward"), ..Sample::default() });
        csv.finish();
        let cells: Vec<usize> = text.lines().map(|line| line.split(',').count()).collect();
        assert_eq!(cells, [16; 3]);
        assert!(text.lines().next().unwrap().ends_with(",retransmissions,info"));
        assert!(text.lines().nth(1).unwrap().ends_with(",,,,,,,state=startup bandwidth=2.5"));
    }
}
