//! Comparison with golden data: results of other programs that Crossfade must reproduce.
//!
//! Traces hold every transmission of another simulator, and are compared row by row. Their layout is that of the ns-2
//! traces: `patterns.json` names loss patterns (indices of the lost transmissions), and a file
//! `sends_{base,lt}_{tahoe,reno,newreno,sack1}.csv` holds, for each pattern, every packet that entered the forward
//! link: `pattern,k,time,seq,dropped,cwnd,ssthresh,dupacks,backoff`. The traces are of one flow over 10 Mbit/s and 20
//! ms in each direction, with packets of 1000 bytes, acknowledgements of 40 bytes and 8 bytes per SACK block, an
//! unlimited queue, and a window of 64 packets.
//!
//! Other files hold tables: chains (`equal.csv`, `wider.csv`) throughputs of ns-2's TCP `NewReno` over 802.11 stations
//! 200 m apart (`hops,cwl,mbps_mean,mbps_se,n`), weights (`vectors.json`) antenna weights under null constraints,
//! durations (`durations.csv`) durations of 802.11 PPDUs, and sizes (`transport-blocks.csv`) sizes of NR transport
//! blocks.
//!
//! The functions work on texts; the caller reads the files.

#![cfg_attr(not(test), warn(clippy::disallowed_methods))]

mod case;
mod chain;
mod durations;
mod golden;
mod parse;
mod transport_blocks;
mod weights;

pub use case::CaseReport;
pub use chain::{Effort, GoldenChain};
pub use durations::verify_durations;
pub use golden::GoldenTrace;
pub use parse::GoldenError;
pub use transport_blocks::verify_transport_blocks;
pub use weights::verify_weights;
