//! Tests of crossfade-experiment, a module each, linked into one program.

mod aggregation;
mod analysis;
mod cell_uplink;
mod common;
mod draws;
mod drop_tail;
mod error_rate_table;
mod frames;
mod jitter;
mod l4s;
mod mutated;
mod network;
mod networks;
mod nr_blocks;
mod plan;
mod radio;
mod radio_policy;
mod random_loss;
mod recorded;
mod results;
mod satellite;
mod shortcuts;
mod simulation;
mod traces;
mod udp;
