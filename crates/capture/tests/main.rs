//! Tests of crossfade-capture: one program with a module per subject, so that it is linked once.

mod common;
mod logs;
mod packets;
mod reading;
mod receive_window;
mod tshark;
