//! 5G NR cells: resources and transport blocks of slots, error rates, hybrid ARQ, and the layers above.
//!
//! - [`Numerology`] and [`Duplex`]: slots, resource blocks, duplex patterns, and times of retransmissions.
//! - [`McsTable`], [`Allocation`] and [`CodeBlocks`]: modulation and coding schemes, exact transport block sizes.
//! - [`ldpc`]: LDPC codes with layered and flooding sum-product decoders; [`Awgn`] measures their error rates,
//!   [`BlockTrials`] those of the blocks of a cell.
//! - [`normal_approximation()`]: error rates without simulation.
//!
//! - [`NrCell`]: a cell as a [`Fabric`](crossfade_link::Fabric), with HARQ, quality reports and schedulers, and with
//!   RLC, PDCP and an uplink if configured.
//!
//! The crate does no input or output; randomness and time are arguments.

#![cfg_attr(not(test), warn(clippy::disallowed_methods))]
// Kernels must be compiled inside the functions that have the instructions (`crossfade_channel::simd`).
#![allow(clippy::inline_always)]

mod awgn;
mod bearers;
#[cfg(test)]
mod bearers_tests;
mod block_trials;
mod blockage;
mod cell;
#[cfg(test)]
mod cell_tests;
mod channel;
mod closed_forms;
mod config;
mod demapper;
mod direction;
mod discipline;
mod effective_sinr;
mod error_rates;
mod error_table;
#[cfg(test)]
mod fidelity_tests;
mod harq;
pub mod ldpc;
mod levels;
mod link_adaptation;
mod mcs;
mod mean_blocks;
mod normal_approximation;
mod numerology;
mod packets;
pub mod pdcp;
#[cfg(test)]
mod queue_tests;
mod reassembly;
mod requests;
pub mod rlc;
mod simulated_block;
mod stack;
mod stack_check;
mod stack_config;
#[cfg(test)]
mod stack_tests;
mod transport_block;
mod upper;
mod user;

pub use awgn::{Awgn, Combining, stream};
pub use block_trials::{BlockChannel, BlockConfig, BlockCounts, BlockLayout, BlockSize, BlockTrials};
pub use blockage::Blockage;
pub use cell::NrCell;
pub use closed_forms::{BlockFate, ClosedForms, Idle, Saturated, Unmet};
pub use config::{
    EffectiveSinr, Fidelity, HarqConfig, MOST_USERS, NrConfig, NrUser, QualityReports, Scheduler,
};
pub use error_table::{
    COLUMNS as ERROR_TABLE_COLUMNS, ErrorTable, TableEntry, approximation, most_likely_curve,
};
pub use harq::closed_form;
pub use mcs::{CodedModulation, McsTable};
pub use normal_approximation::{ErrorCurve, decoder_loss_db, normal_approximation};
pub use numerology::{Duplex, LONGEST_PATTERN, Numerology, SLOT_SYMBOLS};
pub use simulated_block::{BlockFading, SimulatedBlock, SimulatedBlockConfig};
pub use stack_config::{
    BearerConfig, Drx, FurtherBearer, Grants, Handover, LogicalChannel, StackConfig, USUAL_PRIORITY,
    UplinkConfig, Way,
};
pub use transport_block::{Allocation, CodeBlocks, limited_buffer_bits};
