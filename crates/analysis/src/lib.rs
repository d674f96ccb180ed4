//! TCP on channels with memory, without simulating: bounds on the throughput of the paper flavour on a
//! two-state Markov channel, in a tenth of a millisecond.
//!
//! "Throughput analysis of TCP on channels with memory" (Zorzi, Chockalingam, Rao, IEEE JSAC 18(7), 2000),
//! with the corrections that the documentation lists.

mod bounds;
mod embedded;
mod growth;
mod model;
mod paper_bounds;
mod phi;

pub use bounds::{Bounds, bounds};
pub use model::{AnalysisError, Model};
pub use paper_bounds::paper_bounds;
