//! BBR: a model of the path, its bandwidth and its round trip without queues, sets rate and window.

mod aggregation;
mod max_filter;
mod policer;
mod v1;

pub use v1::BbrV1;
