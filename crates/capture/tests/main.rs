//! The tests of crossfade-capture, a module each: one program, linked once.

mod common;
mod logs;
mod packets;
mod reading;
mod receive_window;
mod tshark;
