//! Golden data of other programs, to be repeated.
//!
//! Traces have every send of another simulator, compared row by row. Their layout is that of the ns-2 traces:
//! `patterns.json` names loss patterns (indices of the transmissions lost), and a file
//! `sends_{base,lt}_{tahoe,reno,newreno,sack1}.csv` holds, for each pattern, every packet that entered the forward
//! link: `pattern,k,time,seq,dropped,cwnd,ssthresh,dupacks,backoff`. One flow over 10 Mbit/s and 20 ms each way,
//! 1000-byte packets, 40-byte acknowledgements and 8 bytes a SACK block, an unlimited queue, window 64.
//!
//! Chains (`equal.csv`, `wider.csv`) have throughputs of ns-2's TCP `NewReno` over 802.11 stations 200 m apart
//! (`hops,cwl,mbps_mean,mbps_se,n`), weights (`vectors.json`) those of antenna arrays that null constraints, durations
//! (`durations.csv`) those of 802.11 PPDUs, and sizes (`transport-blocks.csv`) those of NR's transport blocks.
//!
//! Everything here works on texts; reading files is the caller's.

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
