//! Errors of captures.

use crate::packet::{MAX_MSS, MAX_WINDOW};
use thiserror::Error;

/// Why something cannot be captured.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Error)]
#[non_exhaustive]
pub enum CaptureError {
    /// A snapshot length of nothing.
    #[error("a capture keeps at least 1 byte of a packet; snaplen is {snaplen}")]
    Snaplen {
        /// Requested value.
        snaplen: u32,
    },
    /// An MSS that no packet holds.
    #[error("a captured segment has an mss of 1 to {MAX_MSS} bytes; mss is {mss}")]
    Mss {
        /// Requested value.
        mss: u32,
    },
    /// A window that no header can advertise.
    #[error(
        "a captured window is 1 to {MAX_WINDOW} bytes (RFC 7323); \
         w_max of {w_max} segments of {mss} bytes is {bytes}"
    )]
    Window {
        /// The window in segments.
        w_max: u32,
        /// Bytes of a segment.
        mss: u32,
        /// Bytes of the window.
        bytes: u64,
    },
    /// A connection described after its first packet.
    #[error("flow {flow} has begun: its connection cannot change any more")]
    HasBegun {
        /// Number of the flow.
        flow: u32,
    },
}
