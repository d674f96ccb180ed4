//! Integration tests of crossfade-phy, one module each, linked into one program.

mod closed_forms;
mod detectors;
