//! Readers of captures (pcap and pcapng, in chunks), which find the fate of each packet of a flow. Logs of other tools
//! (qlog, iperf3, irtt, ping, ss) are recognized by their content and read in chunks by a [`LogReader`].
//!
//! A capture is read twice: a [`Survey`] finds the flow that carried most bytes, and a [`FlowReader`] follows it. Both
//! are handed the [`Packet`]s of a [`FileReader`], which takes the bytes of a file in chunks of any size. Memory is
//! bounded: by [`MOST_FLOWS`] in the survey, by [`MOST_PACKETS`] in the flow.
//!
//! ```
//! use crossfade_capture::read::{FileReader, Survey};
//!
//! let mut survey = Survey::default();
//! let error = FileReader::default().push(b"no capture at all, but long enough", |_, _| Ok(())).unwrap_err();
//! assert_eq!(error.to_string(), "not a capture: pcap and pcapng files are read");
//! assert!(survey.largest().is_err());
//! ```

mod answers;
mod clock;
mod elements;
mod error;
mod events;
mod file;
mod flow;
mod headers;
mod iperf;
mod irtt;
mod joined;
mod link_log;
mod log_error;
mod logs;
mod numbered;
mod observed;
mod ping;
mod qlog;
mod receiver;
mod sealed;
mod segments;
mod sequence;
mod shared;
mod ss;
mod survey;
mod times;
mod told;

pub use error::ReadError;
pub use file::FileReader;
pub use flow::{FlowReader, MOST_PACKETS};
pub use headers::{Address, Begins, FlowKey, Frame, Kind, Packet, Quic, Tcp};
pub use joined::join;
pub use log_error::LogError;
pub use logs::{HEAD, LogKind, LogReader};
pub use observed::{Fate, FlowRecord, Observed, Vantage};
pub use survey::{MOST_FLOWS, Survey, Tally};
pub use told::{FlowTold, PacketLog, StretchLog, Told};
