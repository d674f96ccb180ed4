//! Integration tests of crossfade-link, one module each, linked into one program.

mod arq_closed_forms;
mod arq_combining;
mod arq_properties;
mod arq_queues;
mod leo_replayer;
#[allow(unreachable_pub)]
#[path = "../../../examples/frame-channel/src/rayleigh.rs"]
mod rayleigh;
mod spared;
