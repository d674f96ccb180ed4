//! Errors in the configuration of a captured simulation.

use crate::packet::{MAX_MSS, MAX_WINDOW};
use thiserror::Error;

/// Error in the configuration of a capture: the packets cannot be encoded.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Error)]
#[non_exhaustive]
pub enum CaptureError {
    /// The snapshot length is 0.
    #[error("a capture keeps at least 1 byte of a packet; snaplen is {snaplen}")]
    Snaplen {
        /// Requested snapshot length in bytes.
        snaplen: u32,
    },
    /// The maximum segment size is 0 or exceeds what an IPv4 packet holds.
    #[error("a captured segment has an mss of 1 to {MAX_MSS} bytes; mss is {mss}")]
    Mss {
        /// Requested maximum segment size in bytes.
        mss: u32,
    },
    /// The receiver window is 0 or exceeds what a TCP header can advertise.
    #[error(
        "a captured window is 1 to {MAX_WINDOW} bytes (RFC 7323); \
         w_max of {w_max} segments of {mss} bytes is {bytes}"
    )]
    Window {
        /// Requested receiver window in segments.
        w_max: u32,
        /// Maximum segment size in bytes.
        mss: u32,
        /// Requested receiver window in bytes.
        bytes: u64,
    },
    /// The options of a connection were set after its first packet.
    #[error("flow {flow} has begun: its connection cannot change any more")]
    HasBegun {
        /// Number of the flow whose options were set too late.
        flow: u32,
    },
}
