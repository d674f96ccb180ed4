//! Recordings of an emulation: a journal of all packets, and captures at both hosts.

mod capture;
mod entry;
mod packets;
mod reader;
mod writer;

pub use entry::{Entry, Fate};
pub use packets::Packets;
pub use reader::{Journal, JournalError};

use crate::error::LiveError;
use capture::Capture;
use crossfade_core::SimTime;
use crossfade_link::{Departure, Parcel, Port, Push};
use std::fs::File;
use std::sync::Arc;
use writer::{JournalFile, Lane};

/// Recordings that an emulation writes: a journal, captures at the hosts, and packets that enter the network.
#[derive(Clone, Debug, Default)]
pub struct Recording {
    journal: Option<Arc<JournalFile>>,
    /// Captures at the first and the second host; `None`: no captures.
    captures: Option<[Arc<Capture>; 2]>,
    /// Capture of the packets that enter a shared medium; `None`: no such capture.
    packets: Option<Arc<Capture>>,
}

impl Recording {
    /// Adds a journal in `file`. `header` describes the links and is returned by [`Journal::header`].
    ///
    /// # Errors
    /// The file cannot be written.
    pub fn with_journal(mut self, file: File, header: &str) -> Result<Self, LiveError> {
        self.journal = Some(Arc::new(JournalFile::new(file, header)?));
        Ok(self)
    }

    /// Adds pcap files (nanoseconds, raw IP) at the first and the second host.
    ///
    /// # Errors
    /// A file cannot be written.
    pub fn with_captures(mut self, files: [File; 2]) -> Result<Self, LiveError> {
        let [first, second] = files.map(Capture::new);
        self.captures = Some([Arc::new(first?), Arc::new(second?)]);
        Ok(self)
    }

    /// Adds a file of the first `snaplen` bytes of each packet that enters a medium shared by both directions, in the
    /// order of the journal, for [`Packets`] to read.
    ///
    /// # Errors
    /// The file cannot be written.
    pub fn with_packets(mut self, file: File, snaplen: u32) -> Result<Self, LiveError> {
        self.packets = Some(Arc::new(Capture::new(file)?.cut_to(snaplen)));
        Ok(self)
    }

    /// Creates the recorder of pump number `lane`; if the medium `is_shared`, the only pump serves both hosts.
    pub(crate) fn recorder(&self, lane: u8, is_shared: bool) -> Recorder {
        let journal = self.journal.as_ref().map(|journal| Lane::new(Arc::clone(journal), lane));
        let captures = self.captures.as_ref().map(|[first, second]| {
            // A shared medium has the ports 0 and 1 of both hosts; packets enter a reverse link at the second host.
            let mut files = [Arc::clone(first), Arc::clone(second)];
            if !is_shared && lane == 1 {
                files.reverse();
            }
            files
        });
        let packets = self.packets.clone().filter(|_| is_shared);
        Recorder { journal, captures, packets }
    }

    /// Writes the buffered data and, at the end of the journal, the `events` of the hosts.
    pub(crate) fn finish(&mut self, events: &str) -> Result<(), LiveError> {
        if let Some(journal) = self.journal.take() {
            journal.finish(events)?;
        }
        let captures = self.captures.take().into_iter().flatten();
        captures.chain(self.packets.take()).try_for_each(|file| file.flush())
    }
}

/// Recorder of one pump, which writes to the files of a [`Recording`].
pub(crate) struct Recorder {
    journal: Option<Lane>,
    /// Captures by port of the medium; `None`: no captures.
    captures: Option<[Arc<Capture>; 2]>,
    packets: Option<Arc<Capture>>,
}

impl Recorder {
    /// True if the bytes of packets are recorded.
    pub(crate) fn captures(&self) -> bool {
        self.captures.is_some() || self.packets.is_some()
    }

    /// Records a packet that entered the medium at `port`.
    pub(crate) fn arrival(
        &mut self,
        at: SimTime,
        port: Port,
        parcel: Parcel,
        fate: Push,
        packet: &[u8],
    ) -> Result<(), LiveError> {
        if let Some(journal) = &mut self.journal {
            journal.add(Entry::Arrival { at, port: port as u8, parcel, fate });
            journal.flush()?;
        }
        if let Some(captures) = &self.captures {
            captures[port as usize].packet(at, packet);
        }
        if let Some(packets) = &self.packets {
            packets.packet(at, packet);
        }
        Ok(())
    }

    /// Records a packet that left the medium at `port` and was handed over at `now`.
    pub(crate) fn departure(
        &mut self,
        at: SimTime,
        now: SimTime,
        port: Port,
        departure: Departure,
        packet: &[u8],
    ) {
        if let Some(journal) = &mut self.journal {
            let parcel = departure.parcel();
            let (id, is_ce) = (parcel.id(), parcel.is_ce());
            journal.add(Entry::Departure {
                at,
                handed_over: now,
                port: port as u8,
                id,
                fate: departure.into(),
                is_ce,
            });
        }
        if let (Some(captures), Departure::Arrived(_)) = (&self.captures, departure) {
            captures[port as usize].packet(now, packet);
        }
    }

    /// Records the end of the pump at `now`, and writes its buffered entries.
    pub(crate) fn end(&mut self, now: SimTime) -> Result<(), LiveError> {
        let Some(journal) = &mut self.journal else { return Ok(()) };
        journal.add(Entry::End { at: now });
        journal.write()
    }
}
