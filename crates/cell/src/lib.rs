//! A slotted cell, its downlink and, where it has one, its uplink: adaptive OFDM over predicted channels, a scheduler,
//! and an ARQ that persists.
//!
//! A [`Cell`] is a [`Fabric`](crossfade_link::Fabric): packets go in at the base station and come out at users, and
//! with an [`UplinkConfig`] the other way. It is made of a
//! [`CellConfig`] and a seed. Each user has a frequency-selective fading channel with shadowing, of which the base station
//! knows a prediction, or what was reported last ([`FeedbackConfig`]); a stream of bits, in which packets are borders
//! and frames intervals ([`Sender`], [`Receiver`]); and switch levels ([`Levels`]) that say which modulation a
//! predicted signal-to-noise ratio is good for. Who gets which bin is the [`Allocation`].
//!
//! What the source (Alfredsson, Brunstrom and Sternad 2007) leaves open is decided thus. A channel is constant in a
//! slot and a bin. Something is always sent, also below the lowest level. A frame that is filled in part takes its
//! slot. Feedback has no errors. A packet leaves the queue when its first bit is sent.

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
