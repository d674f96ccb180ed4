//! Captures: packets seen by a host's network device, as a pcap file.

use crate::error::{LiveError, Trying};
use crossfade_core::SimTime;
use std::fs::File;
use std::io::{BufWriter, Write};
use std::sync::{Mutex, PoisonError};

/// A pcap file to which several threads write.
#[derive(Debug)]
pub(crate) struct Capture {
    file: Mutex<BufWriter<File>>,
    /// Maximum number of bytes kept of each packet.
    snaplen: u32,
}

/// Header of the pcap file: times in nanoseconds, version 2.4, whole packets, `LINKTYPE_RAW`.
const HEAD: [u32; 6] = [0xa1b2_3c4d, 2 | 4 << 16, 0, 0, 0x0004_0000, 101];

const WRITE: &str = "write a capture";

impl Capture {
    pub(super) fn new(file: File) -> Result<Self, LiveError> {
        let mut file = BufWriter::with_capacity(1 << 20, file);
        file.write_all(&HEAD.map(u32::to_ne_bytes).concat()).trying_to(WRITE)?;
        Ok(Self { file: Mutex::new(file), snaplen: u32::MAX })
    }

    /// Limits the number of bytes kept of each packet.
    pub(super) fn cut_to(self, snaplen: u32) -> Self {
        Self { snaplen, ..self }
    }

    /// Adds a packet seen at `at`. A write error is reported at the end, by `flush`.
    pub(super) fn packet(&self, at: SimTime, packet: &[u8]) {
        let (nanos, length) = (at.as_nanos(), packet.len() as u32);
        let seconds = [(nanos / 1_000_000_000) as u32, (nanos % 1_000_000_000) as u32];
        let kept = length.min(self.snaplen);
        let head = [seconds[0], seconds[1], kept, length].map(u32::to_ne_bytes).concat();
        let mut file = self.file.lock().unwrap_or_else(PoisonError::into_inner);
        // A full disk fails again at the flush.
        let _ = file.write_all(&head).and_then(|()| file.write_all(&packet[..kept as usize]));
    }

    pub(super) fn flush(&self) -> Result<(), LiveError> {
        self.file.lock().unwrap_or_else(PoisonError::into_inner).flush().trying_to(WRITE)
    }
}
