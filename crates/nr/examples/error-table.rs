//! Simulates the table of error rates: `cargo run -p crossfade-nr --example error-table -- [BLOCKS] [SIZE,...]
//! [TRANSMISSIONS,...] [BITS_PER_SYMBOL,...]`.
//!
//! Writes the table to standard output, one line per curve: every scheme of the MCS and CQI tables 1 to 4, sizes of
//! code blocks in bits, and numbers of transmissions with incremental redundancy. A curve is the most likely normal
//! distribution over dB, given the failures among BLOCKS blocks at each of five SNR values (fewer blocks above 320
//! bits), which a pilot of a few blocks places. Standard error lists every SNR with its counts. The table does not
//! depend on the number of threads.

use crossfade_nr::ldpc::{BaseGraph, Schedule};
use crossfade_nr::{
    Awgn, CodedModulation, Combining, ERROR_TABLE_COLUMNS, ErrorCurve, McsTable, TableEntry, approximation,
    most_likely_curve, stream,
};
use std::collections::BTreeSet;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Mutex, PoisonError};

const ITERATIONS: u32 = 20;
/// SNR values at which a curve is sampled, in curve widths from its middle: error rates of 0.9, 0.66, 0.34, 0.12 and
/// 0.04.
const PLACES: [f64; 5] = [-1.28, -0.42, 0.42, 1.15, 1.75];
/// Lowest code rate of curves of several transmissions: copies at lower rates repeat most bits of the mother code, so
/// their curves are as far from the approximation as that of the first transmission.
const LEAST_RATE: f64 = 0.13;
/// Number of blocks at each SNR of the pilot.
const PILOT: u32 = 24;

fn main() {
    let list = |place: usize, usual: &[u32]| {
        std::env::args().nth(place).map_or_else(
            || usual.to_vec(),
            |text| text.split(',').map(|number| number.parse().expect("whole numbers")).collect(),
        )
    };
    let blocks = list(1, &[200])[0];
    let (sizes, transmissions) = (list(2, &[104, 320, 1128]), list(3, &[1, 2, 3, 4]));
    let constellations = list(4, &[2, 4, 6, 8, 10]);
    let schemes: BTreeSet<CodedModulation> = (1..=4)
        .filter_map(McsTable::numbered)
        .flat_map(|table| table.schemes().iter().chain(table.quality_indicators()).copied())
        .filter(|scheme| constellations.contains(&scheme.bits_per_symbol))
        .collect();
    let mut curves = Vec::new();
    for &scheme in &schemes {
        for &size in &sizes {
            let bits = size.min(BaseGraph::of_block(size, scheme.rate()).most_bits() - 24).min(8424);
            let is_told = |transmissions: &&u32| **transmissions == 1 || scheme.rate() > LEAST_RATE;
            curves.extend(transmissions.iter().filter(is_told).map(|&copies| (scheme, bits, copies)));
        }
    }
    let found = Mutex::new(vec![String::new(); curves.len()]);
    let next = AtomicUsize::new(0);
    let work = || {
        loop {
            let number = next.fetch_add(1, Ordering::Relaxed);
            let Some(&(scheme, bits, transmissions)) = curves.get(number) else { return };
            // Curves of long blocks are steep: fewer blocks determine them as well.
            let blocks = (blocks * 320 / bits.max(320)).max(40);
            let line = line(scheme, bits, transmissions, blocks);
            found.lock().unwrap_or_else(PoisonError::into_inner)[number] = line;
        }
    };
    std::thread::scope(|scope| {
        for _ in 0..std::thread::available_parallelism().map_or(1, usize::from).min(6) {
            scope.spawn(work);
        }
    });
    println!(
        "# Layered sum-product decoding, {ITERATIONS} iterations, exact ratios, perfect channel knowledge; seed 1; up to {blocks} blocks at each \
         of 5 ratios; copies have redundancy versions 0, 2, 3, 1."
    );
    println!("{ERROR_TABLE_COLUMNS}");
    println!("{}", found.into_inner().unwrap_or_else(PoisonError::into_inner).join("\n"));
}

/// Line of the table for one curve.
fn line(scheme: CodedModulation, bits: u32, transmissions: u32, blocks: u32) -> String {
    let (curve, points) = curve(scheme, bits, transmissions, blocks);
    let sum = |of: fn(&(f64, u32, u32)) -> u32| points.iter().map(|point| u64::from(of(point))).sum();
    let counts = (sum(|point| point.1), sum(|point| point.2));
    let entry = TableEntry { scheme, block_bits: bits, transmissions, curve, counts };
    eprintln!("{entry} {points:?}");
    entry.to_string()
}

/// Simulated curve of a block, with SNR, number of blocks and number of failures of each point.
fn curve(
    scheme: CodedModulation,
    bits: u32,
    transmissions: u32,
    blocks: u32,
) -> (ErrorCurve, Vec<(f64, u32, u32)>) {
    let CodedModulation { bits_per_symbol, rate_times_2048 } = scheme;
    let name = format!("{bits_per_symbol}.{rate_times_2048}.{bits}.{transmissions}");
    let mut stream = stream(1, &name);
    let decoder = (Schedule::Layered, ITERATIONS);
    let mut awgn = Awgn::new(scheme, bits, Combining::IncrementalRedundancy, decoder);
    let mut sample =
        |snr_db, blocks| (snr_db, blocks, awgn.errors(snr_db, transmissions, blocks, &mut stream));
    // Upwards in steps of the width, from where most blocks fail until hardly one does.
    let best = approximation(scheme, bits, transmissions);
    let mut pilot = Vec::new();
    let mut snr_db = best.middle_db + 0.2;
    // Copies beyond the mother code may do better than the approximation with many bits per symbol: first search
    // downwards.
    loop {
        let found = sample(snr_db, PILOT);
        pilot.insert(0, found);
        if found.2 * 2 >= found.1 || pilot.len() > 10 {
            break;
        }
        snr_db -= best.width_db;
    }
    snr_db = best.middle_db + 0.2 + best.width_db;
    while pilot.last().is_none_or(|&(_, blocks, failures)| failures * 8 > blocks) {
        assert!(pilot.len() < 100, "{name}: every block fails");
        pilot.push(sample(snr_db, PILOT));
        snr_db += best.width_db;
    }
    let middle_db = snr_db - 2.5 * best.width_db;
    let pilot = most_likely_curve(&pilot, ErrorCurve { middle_db, ..best });
    let width_db = pilot.width_db.clamp(0.6 * best.width_db, 1.6 * best.width_db);
    let points: Vec<_> =
        PLACES.iter().map(|widths| sample(pilot.middle_db + widths * width_db, blocks)).collect();
    (most_likely_curve(&points, pilot), points)
}
