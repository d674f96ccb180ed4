//! The tests of crossfade-cell, a module each: one program, linked once.

mod adaptation;
mod conservation;
mod fabric;
mod uplink;
