//! The tests of crossfade-scenario, a module each: one program, linked once.

mod bad_scenarios;
mod cell;
mod mesh;
mod satellite;
mod snapshots;
mod two_ways;
mod versions;
mod wlan;
