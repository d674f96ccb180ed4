//! The tests of crossfade-mac, a module each: one program, linked once.

mod bad_input;
mod chain;
mod common;
mod invariants;
mod star;
mod weights;
