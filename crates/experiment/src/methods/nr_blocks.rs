//! Transport blocks of an NR cell without a protocol: method phy, the model of their error rates, and tables made of
//! both.

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

/// Error in the name of the method.
pub(super) const PHY: &str = "method phy";

/// Blocks between two looks at a handle.
const CHUNK: u64 = 10;

/// A transport block of method phy.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct BlockFacts {
    /// Coded bits of a symbol.
    pub bits_per_symbol: u32,
    /// 1024 times the code rate.
    pub rate_times_1024: f64,
    /// Bits without checksums.
    pub bits: u32,
    /// Number of code blocks.
    pub code_blocks: u32,
    /// Bits of each, with checksums.
    pub code_block_bits: u32,
    /// Symbols of a copy, on all layers.
    pub symbols: u32,
    /// Resource blocks of a copy.
    pub resource_blocks: u32,
}

impl BlockFacts {
    /// Facts of the block of a scenario, if it has one.
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

/// The block of a cell for `who`.
///
/// # Errors
/// There is none, or its users differ, or their ratio changes with time.
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

/// Blocks of a run, each sent until it is decoded, as often as hybrid ARQ would.
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
        // Each has bits, noise and a channel of its own.
        (INDEPENDENT, 1.0),
    ]
    .map(|(name, value)| (name.to_owned(), value))
    .into();
    for (failed, n) in counts.failed.iter().zip(1..) {
        // Copies are always combined: what is not accepted is what their combination leaves.
        metrics.extend([COMBINED_ERRORS, NOT_ACCEPTED].map(|name| (format!("{name}{n}"), *failed as f64)));
    }
    metrics
}

/// Error rate of the block by the model of the cell: by the normal approximation, or by the table of error rates.
///
/// # Errors
/// See [`block`]; a channel that fades.
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

/// Blocks of one kind at one ratio of signal to noise.
#[derive(Clone, Copy, Debug, Deserialize)]
pub struct CountedBlocks {
    /// The block that was counted.
    pub block: BlockFacts,
    /// Maximum number of transmissions.
    pub transmissions: u32,
    /// Es/N0 in dB.
    pub snr_db: f64,
    /// Number of blocks sent.
    pub frames: u32,
    /// Number of blocks that were not decoded.
    pub failures: u32,
}

/// Ratios in dB, blocks, and failures.
type Points = Vec<(f64, u32, u32)>;

/// A table for `nr.error_table` of what was counted: a line for each scheme, size and number of transmissions.
///
/// # Errors
/// Blocks of several code blocks; a curve of which no ratio saw both outcomes; a table that would not be read.
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
