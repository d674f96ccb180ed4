//! Pcap files, which Wireshark and tshark read, of the packets at a TCP or QUIC sender's interface ([`Capture`]), and
//! of the frames that a radio would hear of 802.11 stations ([`air_pcap`]) and of a Wi-Fi network ([`WlanCapture`]).
//! Captures and logs of other tools are read by [`read`].
//!
//! The models count segments, a capture has bytes: this crate gives each segment and acknowledgement the IP and TCP
//! headers that it would have had on a wire, with options and correct checksums. It does no IO: the caller writes the
//! encoded bytes.
//!
//! ```
//! use crossfade_capture::{Capture, CaptureConfig, Connection, Ecn};
//! use crossfade_core::SimTime;
//! use crossfade_transport::{Ack, Segment};
//!
//! let connection =
//!     Connection { mss: 1000, w_max: 20, timestamps: true, sack: true, ecn: Ecn::Off, linux: false, bytes: None };
//! let mut capture = Capture::new(CaptureConfig::default(), connection)?;
//! let (flow, now) = (0, SimTime::ZERO);
//! capture.on_segment_sent(now, flow, &Segment::default());
//! let ack = Ack { next_expected: 1, ..Ack::default() };
//! capture.on_ack_received(now + SimTime::from_millis(40), flow, &ack);
//! // A file header, the handshake of three packets, the segment and its acknowledgement.
//! assert_eq!(capture.bytes().len(), 24 + 5 * 16 + (64 + 64 + 52) + (52 + 1000) + 52);
//! # Ok::<(), crossfade_capture::CaptureError>(())
//! ```

#![cfg_attr(not(test), warn(clippy::disallowed_methods))]

mod air;
mod block_ack;
mod capture;
mod error;
mod flow;
mod flows;
mod packet;
mod pcap;
mod quic;
mod radiotap;
pub mod read;
mod trigger;
mod wlan;

pub use air::{AirConfig, AirFrame, AirKind, air_pcap};
pub use capture::{Capture, CaptureConfig, WHOLE_PACKETS};
pub use error::CaptureError;
pub use flow::{Connection, Ecn};
pub use packet::{HEADERS_ONLY, IpVersion};
pub use wlan::WlanCapture;
