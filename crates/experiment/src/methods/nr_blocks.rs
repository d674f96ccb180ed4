//! Transport blocks of an NR cell without a protocol: method phy, the model of their error rates, and error-rate
//! tables.

use crate::handle::{ExecutionHandle, PartDone};
use crate::metrics::{COMBINED_ERRORS, INDEPENDENT, Metrics, NOT_ACCEPTED};
use crate::solver::Outcome;
use crossfade_core::RunSeed;
use crossfade_nr::{
    BlockChannel, BlockConfig, BlockCounts, BlockLayout, BlockTrials, CodedModulation, ERROR_TABLE_COLUMNS,
    ErrorTable, TableEntry, closed_form,
};
use crossfade_scenario::{NrSetup, ScenarioError, Setup};
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

/// Name of method phy in errors.
pub(super) const PHY: &str = "method phy";

/// Number of blocks between two checks for cancellation.
const CHUNK: u64 = 10;

/// Sizes and scheme of the transport block that method phy sends.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct BlockFacts {
    /// Coded bits per modulation symbol.
    pub bits_per_symbol: u32,
    /// Code rate times 1024.
    pub rate_times_1024: f64,
    /// Payload bits of the transport block, without checksums.
    pub bits: u32,
    /// Number of code blocks of the transport block.
    pub code_blocks: u32,
    /// Bits of each code block, with checksums.
    pub code_block_bits: u32,
    /// Modulation symbols of one transmission of the block, on all layers.
    pub symbols: u32,
    /// Resource blocks of one transmission of the block.
    pub resource_blocks: u32,
}

impl BlockFacts {
    /// Facts of the transport block of a scenario; `None` if it has none.
    pub(crate) fn of(setup: &Setup) -> Option<Self> {
        let model = &setup.nr()?.model;
        let block = model.block.as_ref()?;
        let BlockLayout { bits, code, symbols, prbs } = block.layout(&model.config);
        Some(Self {
            bits_per_symbol: block.scheme.bits_per_symbol,
            rate_times_1024: f64::from(block.scheme.rate_times_2048) / 2.0,
            bits,
            code_blocks: code.count,
            code_block_bits: code.bits,
            symbols,
            resource_blocks: prbs,
        })
    }
}

/// Transport block of a cell; `who` names the method in errors.
///
/// # Errors
/// If the cell has no block, its users differ, or their mean signal-to-noise ratio changes with time.
pub(super) fn block<'a>(nr: &'a NrSetup, who: &str) -> Result<&'a BlockConfig, ScenarioError> {
    let config = &nr.model.config;
    let Some(block) = &nr.model.block else {
        let problem = format!("missing; a table such as {{ mcs = 13 }}, for {who}");
        return Err(ScenarioError::key("nr.block", problem));
    };
    let first = &config.users[0];
    let differs =
        config.users.iter().any(|user| user.mean_snr_db != first.mean_snr_db || user.fd_t != first.fd_t);
    for (key, is_there, assumed) in [
        ("nr.radio", differs, "one SNR and one speed"),
        ("nr.radio.trace", first.trace.is_some(), "a mean SNR"),
        ("nr.shadowing", config.shadowing.is_some(), "a mean SNR"),
        ("nr.blockage", config.blockage.is_some(), "a mean SNR"),
    ] {
        if is_there {
            return Err(ScenarioError::key(key, format!("{who} assumes {assumed}; use method simulation")));
        }
    }
    Ok(block)
}

/// Metrics of one run of blocks, each sent until it is decoded, at most as often as hybrid ARQ allows; `None` once
/// `handle` is cancelled.
pub(super) fn run(nr: &NrSetup, seed: RunSeed, handle: &ExecutionHandle) -> Option<Outcome> {
    let trials = block(nr, PHY).and_then(|block| {
        BlockTrials::new(&nr.model.config, block, seed)
            .map_err(|error| ScenarioError::key("nr", error.to_string()))
    });
    let mut trials = match trials {
        Ok(trials) => trials,
        Err(error) => return Some(Err(error.into())),
    };
    let mut counts = BlockCounts::default();
    let mut part = PartDone::new(handle);
    for first in (0..nr.frames).step_by(CHUNK as usize) {
        if handle.is_cancelled() {
            return None;
        }
        part.is(first as f64 / nr.frames as f64);
        match trials.count(first..nr.frames.min(first + CHUNK)) {
            Ok(more) => counts += &more,
            Err(error) => return Some(Err(ScenarioError::key("nr", error.to_string()).into())),
        }
    }
    Some(Ok(metrics(&counts)))
}

fn metrics(counts: &BlockCounts) -> Metrics {
    let blocks = counts.blocks as f64;
    let (first, lost) = (counts.failed[0] as f64, counts.failed.last().map_or(0.0, |lost| *lost as f64));
    let mut metrics: Metrics = [
        ("frame_errors", first),
        ("frame_transmissions", blocks),
        ("frame_error_rate", first / blocks),
        ("frames_given_up", lost),
        ("frames_delivered", blocks - lost),
        ("residual_frame_error_rate", lost / blocks),
        ("frame_transmissions_per_frame", counts.copies() as f64 / blocks),
        // Blocks are independent: each has its own bits, noise and channel.
        (INDEPENDENT, 1.0),
    ]
    .map(|(name, value)| (name.to_owned(), value))
    .into();
    for (failed, n) in counts.failed.iter().zip(1..) {
        // Transmissions are always combined, so a block is not accepted exactly if the combination fails.
        metrics.extend([COMBINED_ERRORS, NOT_ACCEPTED].map(|name| (format!("{name}{n}"), *failed as f64)));
    }
    metrics
}

/// Error rates of the block by the model of the cell: by the normal approximation, or by the table of error rates.
///
/// # Errors
/// Those of [`block`], and a channel that fades.
pub(super) fn expected(nr: &NrSetup) -> Result<Metrics, ScenarioError> {
    const WHO: &str = "the formula of a block";
    let block = block(nr, WHO)?;
    let problem = || format!("{WHO} assumes a channel that does not fade; use method phy");
    if block.channel != BlockChannel::Cell {
        return Err(ScenarioError::key("nr.block.channel", problem()));
    }
    if nr.model.config.profile.is_some() {
        return Err(ScenarioError::key("nr.profile", problem()));
    }
    let rates = block.expected(&nr.model.config);
    let (transmissions, lost) = closed_form(&rates);
    let mut metrics: Metrics = [
        ("frame_error_rate", rates[0]),
        ("residual_frame_error_rate", lost),
        ("frame_transmissions_per_frame", transmissions),
    ]
    .map(|(name, value)| (name.to_owned(), value))
    .into();
    metrics.extend(rates.iter().zip(1..).map(|(rate, n)| (format!("{NOT_ACCEPTED}{n}"), *rate)));
    Ok(metrics)
}

/// Counts of transport blocks of one kind at one signal-to-noise ratio.
#[derive(Clone, Copy, Debug, Deserialize)]
pub struct CountedBlocks {
    /// Sizes and scheme of the blocks.
    pub block: BlockFacts,
    /// Number of transmissions of each block.
    pub transmissions: u32,
    /// Signal-to-noise ratio Es/N0 in dB.
    pub snr_db: f64,
    /// Number of blocks that were sent.
    pub frames: u32,
    /// Number of blocks that were not decoded.
    pub failures: u32,
}

/// Counts over the signal-to-noise ratio: Es/N0 in dB, number of blocks, and number of failures.
type Points = Vec<(f64, u32, u32)>;

/// Error-rate table for `nr.error_table` from counts of blocks: one line for each scheme, size and number of
/// transmissions; `remark` becomes the first line.
///
/// # Errors
/// If a block has several code blocks, no ratio of a curve has both successes and failures, or the table could not be
/// read again.
pub fn nr_error_table(counted: &[CountedBlocks], remark: &str) -> Result<String, ScenarioError> {
    let refuse = |problem: String| Err(ScenarioError::key("error table", problem));
    let mut curves: BTreeMap<(CodedModulation, u32, u32), Points> = BTreeMap::new();
    for CountedBlocks { block, transmissions, snr_db, frames, failures } in counted {
        if block.code_blocks != 1 {
            return refuse(format!(
                "a block of {} bits has {} code blocks, and tables are of one: give nr.block fewer prbs or bits",
                block.bits, block.code_blocks
            ));
        }
        let rate_times_2048 = (2.0 * block.rate_times_1024) as u32;
        let scheme = CodedModulation { bits_per_symbol: block.bits_per_symbol, rate_times_2048 };
        let curve = (scheme, block.code_block_bits, *transmissions);
        curves.entry(curve).or_default().push((*snr_db, *frames, *failures));
    }
    let mut lines = Vec::new();
    for ((scheme, bits, transmissions), points) in curves {
        let Some(entry) = TableEntry::of_counts(scheme, bits, transmissions, &points) else {
            return refuse(format!(
                "{} bits a symbol at {}/1024, {bits} bits, {transmissions} transmissions: needs two values of nr.radio.mean_snr_db at \
                 least, of which one sees some blocks fail and others not",
                scheme.bits_per_symbol,
                f64::from(scheme.rate_times_2048) / 2.0
            ));
        };
        lines.push(entry.to_string());
    }
    let text = format!("# {remark}\n{ERROR_TABLE_COLUMNS}\n{}\n", lines.join("\n"));
    match text.parse::<ErrorTable>() {
        Ok(_) => Ok(text),
        Err(problem) => refuse(problem),
    }
}
