//! Sources of datagrams without feedback: on-off sources and recorded sequences.

use crate::workload::OnOffSource;
use crossfade_core::SimTime;
use crossfade_link::trace::SendRecord;

/// A source of datagrams without feedback.
pub(crate) struct Datagrams {
    source: DatagramSource,
    pub(crate) next_seq: u64,
}

enum DatagramSource {
    /// On-off source of datagrams of one size.
    OnOff(Box<OnOffSource>),
    /// Datagrams at recorded times with recorded sizes.
    Recorded {
        record: SendRecord,
        /// Time at which the record begins; recorded times count from it.
        start: SimTime,
    },
}

impl Datagrams {
    /// Creates a source of datagrams that switches on and off.
    pub(crate) fn on_off(source: OnOffSource) -> Self {
        Self { source: DatagramSource::OnOff(Box::new(source)), next_seq: 0 }
    }

    /// Creates a source that sends recorded datagrams.
    pub(crate) fn recorded(record: SendRecord) -> Self {
        Self { source: DatagramSource::Recorded { record, start: SimTime::ZERO }, next_seq: 0 }
    }

    /// Time of the first datagram of a source that begins at `now`; `None` if it sends none.
    pub(crate) fn first_after(&mut self, now: SimTime) -> Option<SimTime> {
        match &mut self.source {
            DatagramSource::OnOff(source) => Some(source.first_after(now)),
            DatagramSource::Recorded { record, start } => {
                *start = now;
                record.packet(0).map(|send| now.saturating_add(send.time))
            }
        }
    }

    /// Takes the datagram that leaves now: its number, and its size in bytes, which is `usual` unless recorded.
    pub(crate) fn take(&mut self, usual: u32) -> (u64, u32) {
        let seq = self.next_seq;
        self.next_seq += 1;
        let recorded = match &self.source {
            DatagramSource::OnOff(_) => None,
            DatagramSource::Recorded { record, .. } => record.packet(seq),
        };
        (seq, recorded.map_or(usual, |send| send.bytes))
    }

    /// Time of the next datagram after the one taken at `now`; `None` after the last.
    pub(crate) fn next_after(&mut self, now: SimTime) -> Option<SimTime> {
        match &mut self.source {
            DatagramSource::OnOff(source) => Some(source.next_after(now)),
            DatagramSource::Recorded { record, start } => {
                record.packet(self.next_seq).map(|send| start.saturating_add(send.time))
            }
        }
    }
}
