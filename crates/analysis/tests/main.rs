//! All tests of crossfade-analysis as modules of one program, which is linked once.

mod bounds_numbers;
mod bounds_simulated;
mod common;
mod delayed;
mod exact_brute_force;
mod exact_properties;
mod exact_simulated;
