//! Analysis of TCP on channels with memory: throughput and transmissions of TCP flavour `paper` over a two-state Markov
//! channel, exactly and by bounds, without simulation.
//!
//! It follows "Throughput analysis of TCP on channels with memory" (Zorzi, Chockalingam, Rao, IEEE JSAC 18(7), 2000),
//! with the corrections that the documentation lists.

#![cfg_attr(not(test), warn(clippy::disallowed_methods))]

mod bounds;
mod delayed;
mod embedded;
mod exact;
mod formula;
mod growth;
mod model;
mod paper_bounds;
mod phi;

pub use bounds::{Bounds, bounds};
pub use delayed::{Delayed, exact_delayed};
pub use exact::{Exact, exact};
pub use formula::{Formula, TcpPath, formula};
pub use model::{AnalysisError, Model, Solution};
pub use paper_bounds::paper_bounds;
