//! The tests of crossfade-experiment, a module each: one program, linked once.

mod aggregation;
mod analysis;
mod cell_uplink;
mod common;
mod drop_tail;
mod frames;
mod jitter;
mod l4s;
mod mutated;
mod network;
mod networks;
mod plan;
mod radio;
mod radio_policy;
mod random_loss;
mod results;
mod simulation;
mod traces;
mod udp;
