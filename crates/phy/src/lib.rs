//! The physical layer: constellations, antenna schemes, detectors, and the combining of receptions.
//!
//! A frame of bits is mapped to the symbols of a [`Modulation`], sent in blocks by a [`Scheme`] over a matrix of gains
//! ([`crossfade_channel::MatrixFading`]), and detected by a [`Detector`]. Every scheme, orthogonal or not, gives the
//! receiver K matched filter outputs per block, z = G s + w, where G is the Gram matrix of its equivalent channel and
//! the covariance of w; all detectors and combiners work on these.
//!
//! [`FrameRadio`] does this for single frames, addressed by the numbers of payload and transmission ([`Transceiver`] is
//! the part without the channel); an ARQ receiver keeps a [`SoftFrame`] of each failed one. [`MonteCarlo`] counts
//! errors over many frames. [`Combining`] chooses how receptions of a frame are combined. [`closed_form`] and
//! [`symbol_error`] have error rates from theory, [`ErrorRateTable`] measured ones by mode, size and attempt.
//! [`MutualInformation`] gives the effective SNR of a block with several SNRs, and a [`SwitchingTable`] the best scheme
//! for each SNR.
//!
//! The crate knows no protocol. Its results are bit-identical on all processors.
//!
//! The source of schemes, detection and combining is Lopez Toledo and Wang, "TCP performance over wireless MIMO
//! channels with ARQ and packet combining" (2006, "the paper"), with corrections noted where they apply.

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
