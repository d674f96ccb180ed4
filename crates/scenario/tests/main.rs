//! All tests of crossfade-scenario as modules of one program, which is linked once.

mod bad_scenarios;
mod cell;
mod mesh;
mod satellite;
mod snapshots;
mod two_ways;
mod versions;
mod wlan;
