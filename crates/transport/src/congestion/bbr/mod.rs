//! BBR: a model of the path, its bandwidth and its round trip without queues, sets rate and window.

mod aggregation;
mod bounds;
mod full_pipe;
mod max_filter;
mod policer;
mod v1;
mod v3;

pub use v1::BbrV1;
pub use v3::BbrV3;
