//! Slotted cell with its downlink and, if configured, its uplink: adaptive OFDM over predicted channels, a scheduler,
//! and a persistent ARQ.
//!
//! A [`Cell`] is a [`Fabric`](crossfade_link::Fabric): packets go in at the base station and come out at users, and
//! with an [`UplinkConfig`] in the other direction, too. It is built from a [`CellConfig`] and a seed. Each user has a
//! frequency-selective fading channel with shadowing, of which the base station knows a prediction, or the last report
//! ([`FeedbackConfig`]). The data of a user are a stream of bits, in which packets are separated by borders and a frame
//! is an interval ([`Sender`], [`Receiver`]). Switch levels ([`Levels`]) choose the modulation by the predicted
//! signal-to-noise ratio, and the [`Allocation`] decides which user gets which frequency bin.
//!
//! The source (Alfredsson, Brunstrom and Sternad 2007) leaves some points open, which are decided as follows. A channel
//! is constant in a slot and a bin. A user with data always sends, even below the lowest level. A partly filled frame
//! takes its whole slot. Feedback has no errors. A packet leaves the queue when its first bit is sent.

#![cfg_attr(not(test), warn(clippy::disallowed_methods))]

mod cell;
mod config;
mod direction;
mod error;
mod feedback;
mod frame_success;
mod levels;
mod outer_loop;
mod receiver;
mod reports;
mod scheduler;
mod sender;
mod tdd;
mod user;
mod user_channel;

pub use cell::Cell;
pub use config::{CellConfig, MOST_BINS, MOST_USERS, UplinkConfig, UserConfig};
pub use crossfade_link::trace::SinrTrace;
pub use error::CellError;
pub use feedback::{FeedbackConfig, Quantiser};
pub use frame_success::FrameSuccess;
pub use levels::{LevelRule, Levels, PredictedSinr};
pub use outer_loop::{OuterLoop, OuterLoopConfig};
pub use receiver::{Packet, Receiver};
pub use scheduler::Allocation;
pub use sender::{ArqConfig, Piece, Sender, Sent};
pub use tdd::{LONGEST_PATTERN, TddPattern, TddPatternError};
