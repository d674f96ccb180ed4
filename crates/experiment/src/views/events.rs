//! The events of a run as CSV.

use super::sink::{PORTION_BYTES, TextSink};
use crossfade_core::{EventRecord, Observer};
use std::fmt::Write as _;

const HEADER: &str = "time_s,event,flow,seq,cwnd,ssthresh,dupacks,backoff,flight_size\n";

/// Writes each event as a line: what happened, and the sender's state right after it.
pub(crate) struct EventsCsv<'a> {
    text: String,
    sink: &'a mut TextSink<'a>,
}

impl<'a> EventsCsv<'a> {
    /// Hands the lines over to `sink`, many at a time.
    pub(crate) fn new(sink: &'a mut TextSink<'a>) -> Self {
        Self { text: HEADER.to_owned(), sink }
    }

    /// Hands over the last lines.
    pub(crate) fn finish(&mut self) {
        (self.sink)(&self.text);
        self.text.clear();
    }
}

impl Observer for EventsCsv<'_> {
    fn record(&mut self, event: &EventRecord) {
        let tcp = &event.tcp;
        // Writing to a string cannot fail.
        let _ = writeln!(
            self.text,
            "{},{},{},{},{},{},{},{},{}",
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
        if self.text.len() >= PORTION_BYTES {
            self.finish();
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crossfade_core::{EventKind, SimTime, TcpSnapshot};

    #[test]
    fn numbers_are_written_in_the_shortest_form_that_reads_back() {
        let mut text = String::new();
        let mut sink = |lines: &str| text.push_str(lines);
        let mut csv = EventsCsv::new(&mut sink);
        let tcp = TcpSnapshot { cwnd: 2.5, ssthresh: 24.0, dupacks: 1, backoff: 2, flight_size: 3 };
        let time = SimTime::from_nanos(7_466_667);
        csv.record(&EventRecord { time, kind: EventKind::DuplicateAck, flow: 0, seq: 41, tcp });
        csv.finish();
        assert_eq!(text.lines().nth(1), Some("0.007466667,duplicate_ack,0,41,2.5,24,1,2,3"));
    }
}
