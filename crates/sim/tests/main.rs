//! Tests of crossfade-sim, one module each, in one program that is linked once.

mod analysis_numbers;
mod common;
mod congestion_laws;
mod engine;
mod gates;
mod kernel_bbr;
mod late_receivers;
mod network;
mod network_properties;
mod one_event;
mod one_hop;
mod paper_flavour;
mod results;
mod shared_media;
mod spurious_timeouts;
mod tcp_over_arq;
mod topologies;
