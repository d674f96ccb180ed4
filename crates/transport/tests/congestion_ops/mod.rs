//! Every congestion control and every recovery keeps its promises whatever happens: one sequence of
//! operations drives them all.

mod alone;
mod audit;
mod controls;
mod operations;
mod recoveries;
