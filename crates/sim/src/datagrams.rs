//! What sends datagrams without feedback: a source at a rate, or a record.

use crate::workload::OnOffSource;
use crossfade_core::SimTime;
use crossfade_link::trace::SendRecord;

/// A source of datagrams.
pub(crate) struct Datagrams {
    source: DatagramSource,
    pub(crate) next_seq: u64,
}

enum DatagramSource {
    /// All of one size.
    OnOff(Box<OnOffSource>),
    /// At recorded times, each of its own size.
    Recorded {
        record: SendRecord,
        /// Where the record begins.
        start: SimTime,
    },
}

impl Datagrams {
    /// Datagrams of a source that switches on and off.
    pub(crate) fn on_off(source: OnOffSource) -> Self {
        Self { source: DatagramSource::OnOff(Box::new(source)), next_seq: 0 }
    }

    /// Datagrams of a record.
    pub(crate) fn recorded(record: SendRecord) -> Self {
        Self { source: DatagramSource::Recorded { record, start: SimTime::ZERO }, next_seq: 0 }
    }

    /// When the first datagram of a source that begins at `now` leaves; `None` if there is none.
    pub(crate) fn first_after(&mut self, now: SimTime) -> Option<SimTime> {
        match &mut self.source {
            DatagramSource::OnOff(source) => Some(source.first_after(now)),
            DatagramSource::Recorded { record, start } => {
                *start = now;
                record.packet(0).map(|send| now.saturating_add(send.time))
            }
        }
    }

    /// The number and the bytes of the datagram that leaves now, where all others have `usual`.
    pub(crate) fn take(&mut self, usual: u32) -> (u64, u32) {
        let seq = self.next_seq;
        self.next_seq += 1;
        let recorded = match &self.source {
            DatagramSource::OnOff(_) => None,
            DatagramSource::Recorded { record, .. } => record.packet(seq),
        };
        (seq, recorded.map_or(usual, |send| send.bytes))
    }

    /// When the one after the one that was taken at `now` leaves; `None` if that was the last.
    pub(crate) fn next_after(&mut self, now: SimTime) -> Option<SimTime> {
        match &mut self.source {
            DatagramSource::OnOff(source) => Some(source.next_after(now)),
            DatagramSource::Recorded { record, start } => {
                record.packet(self.next_seq).map(|send| start.saturating_add(send.time))
            }
        }
    }
}
