//! Tests of crossfade-mac: one program with a module per subject, so that it is linked once.

mod bad_input;
mod chain;
mod common;
mod invariants;
mod star;
mod weights;
