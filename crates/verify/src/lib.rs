//! Golden traces: every send of another simulator, to be repeated row by row.
//!
//! The layout is that of the ns-2 traces: `patterns.json` names loss patterns (indices of the transmissions
//! lost), and a file `sends_{base,lt}_{tahoe,reno,newreno,sack1}.csv` holds, for each pattern, every packet
//! that entered the forward link: `pattern,k,time,seq,dropped,cwnd,ssthresh,dupacks,backoff`. One flow over
//! 10 Mbit/s and 20 ms each way, 1000-byte packets, 40-byte acknowledgements and 8 bytes a SACK block, an
//! unlimited queue, window 64.
//!
//! Everything here works on texts; reading files is the caller's.

mod golden;
mod parse;

pub use golden::{CaseReport, GoldenTrace};
pub use parse::GoldenError;
