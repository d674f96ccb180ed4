//! Limits of queues, in packets or bytes.

use crossfade_core::{OutOfRange, units};
use std::fmt;
use std::str::FromStr;
use thiserror::Error;

/// Limit of a queue, in which the packet in transmission does not count.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum QueueLimit {
    /// Greatest number of packets in the queue, of any size.
    Packets(usize),
    /// Greatest number of bytes in the queue.
    Bytes(u64),
}

/// A limit that admits every packet.
pub(crate) const UNLIMITED: QueueLimit = QueueLimit::Packets(usize::MAX);

impl QueueLimit {
    /// True if a queue of `packets` packets with `queued_bytes` in total has room for another packet of `bytes`.
    pub fn admits(self, packets: usize, queued_bytes: u64, bytes: u32) -> bool {
        match self {
            Self::Packets(limit) => packets < limit,
            Self::Bytes(limit) => queued_bytes + u64::from(bytes) <= limit,
        }
    }

    /// Checks that the limit is at least one packet: every packet passes through the queue, even if the transmitter is
    /// idle.
    pub(crate) fn check(self) -> Result<(), OutOfRange> {
        OutOfRange::unless(self.admits(0, 0, 1), "limit", self, "at least one packet")
    }

    /// Length of the queue in the unit of the limit, packets or bytes.
    pub fn measure(self, packets: usize, queued_bytes: u64) -> f64 {
        match self {
            Self::Packets(_) => packets as f64,
            Self::Bytes(_) => queued_bytes as f64,
        }
    }
}

/// Error of a text that is not a queue limit such as `50 packets` or `750 kB`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Error)]
#[error("expected a number of packets or bytes such as \"50 packets\" or \"750 kB\"")]
pub struct QueueLimitError;

impl FromStr for QueueLimit {
    type Err = QueueLimitError;

    /// Reads a limit such as `"50 packets"`, `"1 packet"`, `"750 kB"` or any other size that [`units::parse_size`]
    /// reads.
    fn from_str(text: &str) -> Result<Self, QueueLimitError> {
        let text = text.trim();
        match text.strip_suffix("packets").or_else(|| text.strip_suffix("packet")) {
            Some(number) => number.trim_end().parse().map(Self::Packets).map_err(|_| QueueLimitError),
            None => {
                units::parse_size(text).map(|bytes| Self::Bytes(bytes.into())).map_err(|_| QueueLimitError)
            }
        }
    }
}

impl fmt::Display for QueueLimit {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Packets(packets) => write!(f, "{packets} packets"),
            Self::Bytes(bytes) => write!(f, "{bytes} B"),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn limits_are_read_as_people_write_them() {
        for (text, limit) in [
            ("50 packets", QueueLimit::Packets(50)),
            ("1 packet", QueueLimit::Packets(1)),
            (" 0packets ", QueueLimit::Packets(0)),
            ("750 kB", QueueLimit::Bytes(750_000)),
            ("32 MiB", QueueLimit::Bytes(32 << 20)),
        ] {
            assert_eq!(text.parse(), Ok(limit), "{text}");
        }
        for text in ["50", "", "packets", "-1 packets", "1.5 packets", "1.5 B", "50 slots", "1 GB"] {
            assert_eq!(text.parse::<QueueLimit>(), Err(QueueLimitError), "{text}");
        }
    }

    #[test]
    fn a_limit_admits_up_to_itself() {
        let packets = QueueLimit::Packets(2);
        assert!(packets.admits(1, 1_000_000, 9000) && !packets.admits(2, 0, 1));
        let bytes = QueueLimit::Bytes(3000);
        assert!(bytes.admits(100, 1500, 1500) && !bytes.admits(1, 1500, 1501));
    }

    proptest! {
        #[test]
        fn what_is_written_reads_back(packets: u32, bytes: u32) {
            for limit in [QueueLimit::Packets(packets as usize), QueueLimit::Bytes(bytes.into())] {
                prop_assert_eq!(limit.to_string().parse(), Ok(limit));
            }
        }

        #[test]
        fn no_text_panics(text in ".{0,20}") {
            let _ = text.parse::<QueueLimit>();
        }
    }
}
