//! Reader of the journal that an emulation has recorded.

use super::entry::{ENTRY, Entry};
use super::writer::{ENTRIES, EVENTS, HEADER, MAGIC, TRAILER};
use crossfade_core::{SimTime, crc32};
use thiserror::Error;

/// Upper limit of times in a journal, 100 years, so that times with delays added still fit in nanoseconds.
const LATEST: SimTime = SimTime::from_millis(100 * 366 * 86_400_000);

/// Reason for which bytes are not a valid journal.
#[derive(Clone, Debug, Error, PartialEq, Eq)]
pub enum JournalError {
    /// The bytes do not begin with the magic number of a journal.
    #[error("not a journal of crossfade live")]
    NotAJournal,
    /// The block at this offset, in bytes, has a wrong checksum or invalid content: the bytes of the journal were
    /// changed.
    #[error("damaged: the block at byte {0} is not what was written")]
    Damaged(usize),
    /// The journal ends at this offset, in bytes, without its last block: the run was killed, or the disk was full.
    #[error("cut short at byte {0}: the run did not come to its end")]
    CutShort(usize),
}

/// Content of a journal that an emulation has recorded.
#[derive(Clone, Debug, PartialEq)]
pub struct Journal {
    /// Description of the links, as given to [`Recording::with_journal`](super::Recording::with_journal).
    pub header: String,
    /// Entries of each pump, in order of time; with one link per direction, forward before reverse.
    pub lanes: Vec<Vec<Entry>>,
    /// Events of the hosts, as CSV; empty if there are none.
    pub events: String,
}

impl Journal {
    /// Parses a journal and checks every byte.
    ///
    /// # Errors
    /// The bytes are not a journal, or truncated, or damaged.
    pub fn parse(bytes: &[u8]) -> Result<Self, JournalError> {
        let mut rest = bytes.strip_prefix(MAGIC).ok_or(JournalError::NotAJournal)?;
        let text =
            |content: &[u8], at| String::from_utf8(content.to_vec()).map_err(|_| JournalError::Damaged(at));
        let (mut header, mut events, mut lanes, mut entries) = (None, String::new(), Vec::new(), 0_u64);
        loop {
            let at = bytes.len() - rest.len();
            let damaged = JournalError::Damaged(at);
            let (kind, content, after) = block(rest, at)?;
            rest = after;
            match kind {
                HEADER if header.is_none() => header = Some(text(content, at)?),
                EVENTS => events = text(content, at)?,
                ENTRIES if header.is_some() => {
                    let (chunks, []) = content.as_chunks::<ENTRY>() else { return Err(damaged) };
                    for chunk in chunks {
                        let (lane, entry) = Entry::decode(chunk).ok_or(JournalError::Damaged(at))?;
                        let lane = usize::from(lane);
                        lanes.resize(lanes.len().max(lane + 1), Vec::new());
                        // Links may assume that time neither runs backwards nor reaches its maximum.
                        let before = lanes[lane].last().map(Entry::at);
                        if before.is_some_and(|before| before > entry.at()) || entry.at() > LATEST {
                            return Err(damaged);
                        }
                        lanes[lane].push(entry);
                    }
                    entries += chunks.len() as u64;
                }
                TRAILER if content == entries.to_le_bytes() && rest.is_empty() => {
                    return header.map(|header| Self { header, lanes, events }).ok_or(damaged);
                }
                _ => return Err(damaged),
            }
        }
    }
}

/// Parses the first block of `rest`, which begins at offset `at` of the journal: its kind, its content, and the bytes
/// after it.
fn block(rest: &[u8], at: usize) -> Result<(u8, &[u8], &[u8]), JournalError> {
    let cut_short = JournalError::CutShort(at);
    let (head, after) = rest.split_first_chunk::<5>().ok_or(cut_short.clone())?;
    let length = u32::from_le_bytes([head[1], head[2], head[3], head[4]]) as usize;
    let (content, after) = after.split_at_checked(length).ok_or(cut_short.clone())?;
    let (checksum, after) = after.split_first_chunk::<4>().ok_or(cut_short)?;
    if crc32(head.iter().chain(content)) != u32::from_le_bytes(*checksum) {
        return Err(JournalError::Damaged(at));
    }
    Ok((head[0], content, after))
}

#[cfg(test)]
mod tests {
    use super::super::Recording;
    use super::*;
    use crossfade_link::{Departure, Parcel, Push};
    use proptest::prelude::*;
    use std::fs::File;
    use std::path::PathBuf;

    /// Temporary file of a test, removed on drop.
    struct Scratch(PathBuf);

    impl Drop for Scratch {
        fn drop(&mut self) {
            std::fs::remove_file(&self.0).ok();
        }
    }

    /// Writes and returns a journal with `packets` packets.
    fn written(packets: u32) -> Vec<u8> {
        let name = format!("crossfade-journal-{}-{packets}", std::process::id());
        let path = Scratch(std::env::temp_dir().join(name));
        let file = File::create(&path.0).unwrap();
        let mut recording = Recording::default().with_journal(file, "a header").unwrap();
        let mut lanes = [recording.recorder(0, false), recording.recorder(1, false)];
        for i in 0..packets {
            let (lane, at) = (&mut lanes[i as usize % 2], SimTime::from_micros(u64::from(i)));
            let parcel = Parcel::new(i, 7, 1500);
            lane.arrival(at, 0, parcel, Push::Accepted, &[]).unwrap();
            lane.departure(at, at, 1, Departure::Arrived(parcel), &[]);
        }
        for lane in &mut lanes {
            lane.end(SimTime::from_millis(6)).unwrap();
        }
        recording.finish("a,b\n").unwrap();
        std::fs::read(&path.0).unwrap()
    }

    #[test]
    fn what_was_written_is_read() {
        let journal = Journal::parse(&written(5000)).unwrap();
        assert_eq!((journal.header.as_str(), journal.events.as_str()), ("a header", "a,b\n"));
        assert_eq!(journal.lanes.iter().map(Vec::len).collect::<Vec<_>>(), [5001, 5001]);
        assert!(journal.lanes[1].is_sorted_by_key(Entry::at));
    }

    #[test]
    fn a_time_after_which_there_is_none_is_refused() {
        let journal = |at: SimTime| {
            let block = |kind: u8, content: &[u8]| {
                let mut block = [&[kind][..], &(content.len() as u32).to_le_bytes(), content].concat();
                let sum = crc32(&block);
                block.extend(sum.to_le_bytes());
                block
            };
            [
                MAGIC.to_vec(),
                block(HEADER, b"h"),
                block(ENTRIES, &Entry::End { at }.encode(0)),
                block(TRAILER, &1_u64.to_le_bytes()),
            ]
            .concat()
        };
        assert_eq!(Journal::parse(&journal(LATEST)).unwrap().lanes[0][0].at(), LATEST);
        let beyond = Journal::parse(&journal(LATEST + SimTime::from_nanos(1)));
        assert!(matches!(beyond, Err(JournalError::Damaged(_))), "{beyond:?}");
    }

    #[test]
    fn an_altered_byte_is_found_wherever_it_is() {
        // Every bit and every length of a small journal; bytes of a large one with many blocks.
        let small = written(20);
        for place in 0..small.len() {
            for bit in 0..8 {
                let mut altered = small.clone();
                altered[place] ^= 1 << bit;
                assert!(Journal::parse(&altered).is_err(), "byte {place}, bit {bit}");
            }
            assert!(Journal::parse(&small[..place]).is_err(), "cut at {place}");
        }
        let large = written(5001);
        for place in (0..large.len()).step_by(997) {
            let mut altered = large.clone();
            altered[place] ^= 0x80;
            assert!(Journal::parse(&altered).is_err(), "byte {place}");
        }
        assert!(Journal::parse(&[&small[..], b"x"].concat()).is_err());
    }

    proptest! {
        #[test]
        fn no_bytes_make_it_panic(bytes in prop::collection::vec(any::<u8>(), 0..300)) {
            Journal::parse(&[&MAGIC[..], &bytes].concat()).ok();
        }
    }
}
