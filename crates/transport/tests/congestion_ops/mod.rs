//! Guarantees of every congestion control and every recovery under random sequences of operations, which drive all of
//! them.

mod alone;
mod audit;
mod controls;
mod operations;
mod recoveries;
