//! The physical layer: constellations, antenna schemes, detectors, and the combining of receptions.
//!
//! A frame of bits is mapped to the symbols of a [`Modulation`], sent in blocks by a [`Scheme`] over a matrix of
//! gains ([`crossfade_channel::MatrixFading`]), and told apart by a [`Detector`]. Every scheme, orthogonal or not,
//! leaves the receiver K matched filter outputs a block, z = G s + w, with G the Gram matrix of its
//! equivalent channel and w of covariance G; all detectors and all ways of combining work on these.
//!
//! [`FrameRadio`] does this for single frames, addressed by the numbers of payload and transmission ([`Transceiver`]
//! is the part without the channel); an ARQ receiver keeps a [`SoftFrame`] of those that fail. [`MonteCarlo`] counts
//! errors over many. [`Combining`] says how receptions of the same frame are combined.
//! [`closed_form`] and [`symbol_error`] are what theory knows, [`ErrorRateTable`] what somebody measured, by mode, size and
//! attempt, [`MutualInformation`] at which one ratio a block fares as at many, [`SwitchingTable`] which scheme is best
//! at which ratio.
//!
//! Nothing here knows a protocol. Results are the same bit for bit whatever the processor.
//!
//! Source of schemes, detection and combining: Lopez Toledo and Wang, "TCP performance over wireless MIMO channels
//! with ARQ and packet combining" (2006, "the paper"), with corrections noted where they apply.

#![cfg_attr(not(test), warn(clippy::disallowed_methods))]
// Kernels must be compiled inside the functions that have the instructions (`crossfade_channel::simd`), and
// matrices are addressed by row and column.
#![allow(clippy::inline_always, clippy::needless_range_loop)]

mod block_errors;
pub mod closed_form;
mod combiner;
mod combining;
mod constellation;
mod detector;
mod error;
mod error_rate_curve;
mod error_rate_table;
mod frame_radio;
mod hermitian;
mod joint;
mod layout;
mod linear;
mod ml;
mod monte_carlo;
mod mutual_information;
mod osic;
pub mod printed_codes;
mod reception;
mod scheme;
mod snr;
mod soft_frame;
mod sphere;
mod switching;
pub mod symbol_error;
mod symbols;
mod table_lines;
mod transceiver;

pub use block_errors::BlockErrors;
pub use combiner::{Kept, MOST_RECEPTIONS};
pub use combining::{Accept, Combining, Stage, Weights};
pub use constellation::Modulation;
pub use detector::Detector;
pub use error::PhyError;
pub use error_rate_curve::{ErrorRateCurve, TableError};
pub use error_rate_table::{BlockSizes, ErrorRateTable, ErrorRates, NoCurve};
pub use frame_radio::{FrameRadio, Received};
pub use monte_carlo::{AttemptCounts, Counts, MonteCarlo};
pub use mutual_information::MutualInformation;
pub use scheme::{Scheme, StbcPower};
pub use snr::Snr;
pub use soft_frame::SoftFrame;
pub use switching::{SchemeChoice, SwitchingError, SwitchingTable};
pub use transceiver::{PhyConfig, Reception, Transceiver, Workspace};
