//! Reader of the packets that entered; the journal has their times.

use std::fs::File;
use std::io::{self, BufReader, Read, Seek, SeekFrom};

/// Packets written by [`Recording::with_packets`](super::Recording::with_packets), in order.
#[derive(Debug)]
pub struct Packets(BufReader<File>);

impl Packets {
    /// Opens the file at its first packet.
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

    /// Kept bytes of the next packet.
    fn next(&mut self) -> Option<Vec<u8>> {
        let mut head = [0; 16];
        self.0.read_exact(&mut head).ok()?;
        let mut packet = vec![0; u32::from_ne_bytes([head[8], head[9], head[10], head[11]]) as usize];
        self.0.read_exact(&mut packet).ok()?;
        Some(packet)
    }
}
