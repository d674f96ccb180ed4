//! Reader of the packets that entered a shared medium; their times are in the journal.

use std::fs::File;
use std::io::{self, BufReader, Read, Seek, SeekFrom};

/// Reader of the packets written by [`Recording::with_packets`](super::Recording::with_packets), in order.
#[derive(Debug)]
pub struct Packets(BufReader<File>);

impl Packets {
    /// Creates a reader at the first packet of `file`.
    ///
    /// # Errors
    /// The file cannot be read.
    pub fn new(mut file: File) -> io::Result<Self> {
        file.seek(SeekFrom::Start(24))?;
        Ok(Self(BufReader::with_capacity(1 << 20, file)))
    }
}

impl Iterator for Packets {
    type Item = Vec<u8>;

    /// Bytes kept of the next packet; `None` after the last.
    fn next(&mut self) -> Option<Vec<u8>> {
        let mut head = [0; 16];
        self.0.read_exact(&mut head).ok()?;
        let mut packet = vec![0; u32::from_ne_bytes([head[8], head[9], head[10], head[11]]) as usize];
        self.0.read_exact(&mut packet).ok()?;
        Some(packet)
    }
}
