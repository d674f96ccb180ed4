//! The tests of crossfade-phy, a module each: one program, linked once.

mod closed_forms;
mod detectors;
