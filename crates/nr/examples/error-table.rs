//! Simulates the table of error rates: `cargo run -p crossfade-nr --example error-table -- [BLOCKS] [SIZE,SIZE,...] [TRANSMISSIONS]`.
//!
//! Writes the table to standard output, a line a curve: every scheme of the MCS and CQI tables 1 to 4, sizes in bits of a code block, and
//! the most likely normal law over dB behind BLOCKS blocks, fewer of more than 320 bits, at each of five ratios. Progress goes to standard error.

use crossfade_nr::ldpc::{BaseGraph, Schedule};
use crossfade_nr::{
    Awgn, CodedModulation, Combining, ErrorCurve, McsTable, approximation, most_likely_curve, stream,
};
use std::collections::BTreeSet;

const ITERATIONS: u32 = 20;

fn main() {
    let mut arguments = std::env::args().skip(1);
    let mut whole = |usual: u32| arguments.next().map_or(usual, |text| text.parse().expect("a whole number"));
    let blocks = whole(200);
    let sizes: Vec<u32> = std::env::args().nth(2).map_or_else(
        || vec![104, 320, 1128],
        |text| text.split(',').map(|size| size.parse().expect("sizes in bits")).collect(),
    );
    let transmissions = std::env::args().nth(3).map_or(1, |text| text.parse().expect("a whole number"));
    let schemes: BTreeSet<CodedModulation> = (1..=4)
        .filter_map(McsTable::numbered)
        .flat_map(|table| table.schemes().iter().chain(table.quality_indicators()).copied())
        .collect();
    println!(
        "# Layered sum-product decoding, {ITERATIONS} iterations, exact ratios, perfect channel knowledge; seed 1; up to {blocks} blocks at each \
         of 5 ratios."
    );
    println!("bits_per_symbol,rate_times_1024,block_bits,transmissions,middle_db,width_db,blocks,failures");
    for scheme in schemes {
        for &size in &sizes {
            let bits = size.min(BaseGraph::of_block(size, scheme.rate()).most_bits() - 24);
            let bits = bits.min(8424);
            // Curves of long blocks are steep: fewer of these say as much.
            let blocks = (blocks * 320 / bits.max(320)).max(40);
            let (curve, counts) = curve(scheme, bits, transmissions, blocks);
            println!(
                "{},{},{bits},{transmissions},{:.3},{:.4},{},{}",
                scheme.bits_per_symbol,
                f64::from(scheme.rate_times_2048) / 2.0,
                curve.middle_db,
                curve.width_db,
                counts.0,
                counts.1
            );
            eprintln!("{scheme:?} {bits}: {curve:?} {counts:?}");
        }
    }
}

/// The curve of a block, and how many were simulated and failed.
fn curve(scheme: CodedModulation, bits: u32, transmissions: u32, blocks: u32) -> (ErrorCurve, (u64, u64)) {
    let CodedModulation { bits_per_symbol, rate_times_2048 } = scheme;
    let name = format!("{bits_per_symbol}.{rate_times_2048}.{bits}.{transmissions}");
    let mut stream = stream(1, &name);
    let mut awgn = Awgn::new(
        bits_per_symbol,
        scheme.rate(),
        bits,
        Combining::IncrementalRedundancy,
        (Schedule::Layered, ITERATIONS),
    );
    let mut failures = |snr_db, blocks| awgn.errors(snr_db, transmissions, blocks, &mut stream);
    let best = approximation(scheme, bits);
    // Where about a half fails: from far below up in steps of the width.
    let gain_db = 10.0 * f64::from(transmissions).log10() * 1.6;
    let mut middle_db = best.middle_db - gain_db;
    while failures(middle_db, 20) > 10 {
        middle_db += best.width_db;
    }
    let points: Vec<(f64, u32, u32)> = [-1.4, -0.6, 0.0, 0.7, 1.4]
        .into_iter()
        .map(|widths| {
            let snr_db = middle_db + widths * best.width_db - 0.3 * best.width_db;
            (snr_db, blocks, failures(snr_db, blocks))
        })
        .collect();
    let start = ErrorCurve { middle_db, width_db: best.width_db };
    let failed = points.iter().map(|(.., failures)| u64::from(*failures)).sum();
    (most_likely_curve(&points, start), (5 * u64::from(blocks), failed))
}
