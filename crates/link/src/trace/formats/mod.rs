//! Recordings of links in the formats of other tools: what they say, one fact at a time, and how one becomes another.
//!
//! Nothing here opens a file: a [`Reader`] takes chunks of a text and gives [`Item`]s, in memory that does not grow with the text. A
//! [`Detector`] tells the [`Format`] of a text by what is in it. A [`Conversion`] says first what would be lost.

mod cellreplay;
mod convert;
mod detect;
mod format;
mod item;
mod leo_replayer;
mod line;
mod losses;
mod mahimahi;
mod reader;
mod steps;
mod summary;
mod tables;
#[cfg(test)]
mod tests;
mod theaterq;
mod windows;

pub use convert::Conversion;
pub use detect::Detector;
pub use format::Format;
pub use item::{AtEnd, Direction, Extra, Item, Room, Step, Told, Whole};
pub use losses::Losses;
pub use reader::{Assumed, Reader, read};
pub use summary::{Described, Summary};
pub use windows::Distribution;
