//! NR's LDPC codes: base graphs, encoder, rate matching and sum-product decoders (3GPP TS 38.212 sections 5.3.2 and
//! 5.4.2).

mod base_graph;
mod code;
mod decoder;
mod rate_matching;

pub use base_graph::BaseGraph;
pub use code::Code;
pub use decoder::{Decoder, Schedule};
pub use rate_matching::RateMatching;
