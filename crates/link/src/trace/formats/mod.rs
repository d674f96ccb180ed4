//! Recordings of links in the formats of other tools: reading them fact by fact, and converting them.
//!
//! No function opens a file: a [`Reader`] takes chunks of a text and gives [`Item`]s, in memory that does not grow with
//! the text. A [`Detector`] finds the [`Format`] of a text from its content. A [`Conversion`] reports first the
//! information that it will lose.

mod cellreplay;
mod convert;
mod detect;
mod format;
mod ibox;
mod interop;
mod item;
mod json;
mod leo_replayer;
mod line;
mod losses;
mod mahimahi;
mod netem_trace;
mod picoquic;
mod reader;
mod replay;
mod steps;
mod summary;
mod tables;
mod tc;
#[cfg(test)]
mod tests;
mod theaterq;
mod tunnel;
mod units;
mod windows;

pub use convert::{Conversion, Part};
pub use detect::Detector;
pub use format::Format;
pub use item::{AtEnd, Direction, Extra, Item, Room, Step, Told, Whole};
pub use losses::Losses;
pub use reader::{Assumed, Reader, read};
pub use replay::{Recorded, delays, detect, opportunities, rates};
pub use summary::{Described, Summary};
pub use windows::{Curve, Distribution};
