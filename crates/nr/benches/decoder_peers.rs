//! Speed of the LDPC decoder, and files with which other decoders can decode the same blocks: `cargo bench -p
//! crossfade-nr --bench decoder_peers -- FOLDER [SECONDS]`, which `bench/nr_decoder_peers.py` runs.
//!
//! Writes to FOLDER, for each code: `NAME.checks` (pairs of row and column, u32), `NAME.ratios` (block by block,
//! ln(P(0) / P(1)) of each column, f32) and `NAME.blocks` (information bits, u8), all little-endian. Checks whose own
//! parity bits were not sent are left out together with these bits, for all decoders. Prints for each code and schedule
//! the information bits per second of CPU time in Mbit/s, the share of blocks not decoded in 20 iterations, and the
//! mean number of iterations.

use crossfade_channel::{complex_normal, simd::Simd};
use crossfade_core::from_db;
use crossfade_nr::ldpc::{BaseGraph, Code, Decoder, RateMatching, Schedule};
use crossfade_nr::{decoder_loss_db, normal_approximation, stream};
use rand::RngExt;
use std::path::Path;
use std::{fs, io};

const BLOCKS: usize = 60;
const ITERATIONS: u32 = 20;
/// Margin in dB above the expected Es/N0 at which a tenth of the blocks fails with layered decoding.
const MARGIN_DB: f64 = 0.4;

/// Base graph, information bits and code rate of each code.
const CODES: [(BaseGraph, u32, f64); 4] = [
    (BaseGraph::Two, 720, 0.3),
    (BaseGraph::One, 2112, 0.5),
    (BaseGraph::One, 8448, 2.0 / 3.0),
    (BaseGraph::One, 8448, 8.0 / 9.0),
];

fn main() -> io::Result<()> {
    let words: Vec<String> = std::env::args().skip(1).filter(|word| !word.starts_with("--")).collect();
    let folder = words.first().expect("a folder");
    let seconds: f64 = words.get(1).map_or(1.0, |word| word.parse().expect("seconds"));
    for (graph, bits, rate) in CODES {
        let code = Code::new(graph, bits);
        assert_eq!(code.information(), code.bits(), "fillers");
        let (blocks, ratios) = received(&code, rate);
        let name = format!("{bits}-{:.0}", rate * 100.0);
        write(Path::new(folder), &name, &code, &blocks, &ratios)?;
        for schedule in [Schedule::Layered, Schedule::Flooding] {
            let mut decoder = Decoder::new(code.clone(), schedule, ITERATIONS, Simd::widest());
            let (mut decoded, mut failed, mut iterations) = (0_usize, 0_usize, 0_u32);
            let start = cpu_s()?;
            let mut elapsed = 0.0;
            while elapsed < seconds {
                for (block, ratios) in blocks.iter().zip(&ratios) {
                    let taken = decoder.decode(ratios, block);
                    failed += usize::from(taken.is_none());
                    iterations += taken.unwrap_or(ITERATIONS);
                    decoded += 1;
                }
                elapsed = cpu_s()? - start;
            }
            let mbit_s = decoded as f64 * f64::from(bits) / elapsed / 1e6;
            let (share, mean) = (failed as f64 / decoded as f64, f64::from(iterations) / decoded as f64);
            println!("{name} {schedule:?} {mbit_s:.3} {share:.4} {mean:.2}");
        }
    }
    Ok(())
}

/// CPU time of this thread in seconds.
fn cpu_s() -> io::Result<f64> {
    let text = fs::read_to_string("/proc/thread-self/schedstat")?;
    let nanos = text.split(' ').next().and_then(|word| word.parse::<f64>().ok());
    nanos.map(|nanos| nanos / 1e9).ok_or_else(|| io::Error::other("schedstat"))
}

/// Random blocks, and LLRs of their code words after QPSK over white Gaussian noise.
fn received(code: &Code, rate: f64) -> (Vec<Vec<u8>>, Vec<Vec<f32>>) {
    let mut stream = stream(1, "decoder");
    let bits = code.bits() as f64;
    let sent = 2 * (bits / rate / 2.0).ceil() as usize;
    let needed_db = normal_approximation(2, bits, sent as f64 / 2.0).required_db(0.1);
    let ratio = from_db(needed_db + decoder_loss_db(bits) + MARGIN_DB);
    let matching = RateMatching::new(code, sent, 2, None);
    (0..BLOCKS)
        .map(|_| {
            let block: Vec<u8> = (0..code.bits()).map(|_| u8::from(stream.random::<bool>())).collect();
            let word = code.encode(&block);
            let mut ratios = vec![0.0; code.word()];
            for place in matching.places(0) {
                // Half of the energy and of the noise lies in each dimension: variance 1 / SNR around 1 or -1.
                let noise = complex_normal(&mut stream).re * 2.0_f64.sqrt() / ratio.sqrt();
                let signal = if word[place] == 0 { 1.0 } else { -1.0 };
                ratios[place] += (2.0 * (signal + noise) * ratio) as f32;
            }
            (block, ratios)
        })
        .unzip()
}

fn write(folder: &Path, name: &str, code: &Code, blocks: &[Vec<u8>], ratios: &[Vec<f32>]) -> io::Result<()> {
    let z = code.lifting();
    let (rows, columns, information) = code.graph().size();
    // The last columns that were sent, in whole ones.
    let is_sent = |column: usize| ratios[0][column * z..(column + 1) * z].iter().any(|ratio| *ratio != 0.0);
    let extension = information as usize + 4;
    let in_use = (0..rows as usize).filter(|row| *row < 4 || is_sent(extension + row - 4));
    let kept: Vec<usize> =
        (0..columns as usize).filter(|column| *column < extension || is_sent(*column)).collect();
    let mut checks = Vec::new();
    let mut first = 0_u32;
    for row in in_use {
        for &(column, shift) in &code.rows()[row] {
            let place = kept.binary_search(&column).expect("a row in use has columns that were sent") * z;
            for i in 0..z {
                checks.extend([first + i as u32, (place + (i + shift) % z) as u32]);
            }
        }
        first += z as u32;
    }
    let path = |of: &str| folder.join(format!("{name}.{of}"));
    fs::write(path("checks"), checks.iter().flat_map(|number| number.to_le_bytes()).collect::<Vec<u8>>())?;
    fs::write(path("blocks"), blocks.concat())?;
    let told = |ratios: &Vec<f32>| -> Vec<u8> {
        let columns = kept.iter().flat_map(|column| &ratios[column * z..(column + 1) * z]);
        columns.flat_map(|ratio| ratio.to_le_bytes()).collect()
    };
    fs::write(path("ratios"), ratios.iter().flat_map(told).collect::<Vec<u8>>())
}
