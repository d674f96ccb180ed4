//! Writer of journals, usable from several threads.

use super::entry::{ENTRY, Entry};
use crate::error::{LiveError, Trying};
use crossfade_core::crc32;
use std::fs::File;
use std::io::Write;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

/// First bytes of a journal: its format and version.
pub(super) const MAGIC: &[u8; 20] = b"crossfade journal 1\n";

/// Kind of a block that holds the description of the links. A block is its kind, the length of its content (32 bits,
/// little-endian), the content, and the CRC-32 of all these.
pub(super) const HEADER: u8 = b'H';
pub(super) const ENTRIES: u8 = b'E';
/// Kind of a block that holds the events of the hosts, as CSV.
pub(super) const EVENTS: u8 = b'C';
/// Kind of the last block of a journal, which holds the number of entries.
pub(super) const TRAILER: u8 = b'Z';

/// Size in bytes of the buffered entries from which they are written as a block.
const BLOCK: usize = 2048 * ENTRY;

/// Journal to which several pumps write: the file, and the number of entries.
#[derive(Debug)]
pub(crate) struct JournalFile(Mutex<(File, u64)>);

impl JournalFile {
    pub(super) fn new(file: File, header: &str) -> Result<Self, LiveError> {
        let journal = Self(Mutex::new((file, 0)));
        journal.lock().0.write_all(MAGIC).trying_to(WRITE)?;
        journal.write(HEADER, header.as_bytes(), 0)?;
        Ok(journal)
    }

    fn lock(&self) -> MutexGuard<'_, (File, u64)> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn write(&self, kind: u8, content: &[u8], entries: u64) -> Result<(), LiveError> {
        let mut block = Vec::with_capacity(content.len() + 9);
        block.push(kind);
        block.extend((content.len() as u32).to_le_bytes());
        block.extend(content);
        block.extend(crc32(&block).to_le_bytes());
        let mut file = self.lock();
        file.1 += entries;
        file.0.write_all(&block).trying_to(WRITE)
    }

    /// Writes the `events` of the hosts and the number of entries, by which a reader recognises a complete journal.
    pub(super) fn finish(&self, events: &str) -> Result<(), LiveError> {
        self.write(EVENTS, events.as_bytes(), 0)?;
        let entries = self.lock().1;
        self.write(TRAILER, &entries.to_le_bytes(), 0)?;
        self.lock().0.sync_data().trying_to(WRITE)
    }
}

const WRITE: &str = "write the journal";

/// Buffer for the entries of one pump's thread.
pub(super) struct Lane {
    journal: Arc<JournalFile>,
    number: u8,
    block: Vec<u8>,
}

impl Lane {
    pub(super) fn new(journal: Arc<JournalFile>, number: u8) -> Self {
        Self { journal, number, block: Vec::with_capacity(BLOCK + 64 * ENTRY) }
    }

    pub(super) fn add(&mut self, entry: Entry) {
        self.block.extend(entry.encode(self.number));
    }

    /// Writes the buffered entries as a block if they fill one.
    pub(super) fn flush(&mut self) -> Result<(), LiveError> {
        if self.block.len() >= BLOCK { self.write() } else { Ok(()) }
    }

    pub(super) fn write(&mut self) -> Result<(), LiveError> {
        self.journal.write(ENTRIES, &self.block, (self.block.len() / ENTRY) as u64)?;
        self.block.clear();
        Ok(())
    }
}
