//! Tests of crossfade-transport, one module each, in one program that is linked once.

#[macro_use]
mod ladder;

mod adversary;
mod bbr_policed;
mod bbr_v1;
mod bbr_v3;
mod bbr_v3_cases;
mod bbr_v3_states;
mod congestion_closed_forms;
mod congestion_interface;
mod congestion_ops;
mod delivery_rate;
mod fed;
mod first_in_first_out;
mod invariants;
mod ladder_ecn;
mod ladder_fast_retransmit;
mod ladder_linux;
mod ladder_quic;
mod ladder_rules;
mod ladder_sack;
mod ladder_slow_start;
mod ladder_timeout;
#[path = "adversary/ops.rs"]
mod ops;
mod path;
mod quic_invariants;
