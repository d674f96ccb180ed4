//! Error rates and speed of the LDPC decoders: `cargo bench -p crossfade-nr -- [SNR_DB ...]`.
//!
//! Prints, for one scheme per constellation, the share of blocks that fail and the information bits per second of one
//! core, with encoding, noise, demapping and decoding included.

use crossfade_nr::ldpc::Schedule;
use crossfade_nr::{Awgn, CodedModulation, Combining, stream};
use std::time::Instant;

const BLOCKS: u32 = 100;

fn main() {
    for (bits, rate, size, snr_db) in [
        (2, 120.0, 2000, -6.4),
        (2, 449.0, 2000, 0.1),
        (4, 490.0, 8424, 5.7),
        (6, 666.0, 8424, 13.2),
        (8, 885.0, 8424, 22.9),
    ] {
        for schedule in [Schedule::Layered, Schedule::Flooding] {
            let mut stream = stream(1, "bench");
            let scheme = CodedModulation { bits_per_symbol: bits, rate_times_2048: (2.0 * rate) as u32 };
            let mut awgn = Awgn::new(scheme, size, Combining::Chase, (schedule, 20));
            let start = Instant::now();
            let errors = awgn.errors(snr_db, 1, BLOCKS, &mut stream);
            let mbit_s = f64::from(size) * f64::from(BLOCKS) / start.elapsed().as_secs_f64() / 1e6;
            println!(
                "{bits} bits a symbol, rate {rate}/1024, {size} bits, {snr_db} dB, {schedule:?}: {errors} of {BLOCKS} fail, \
                 {mbit_s:.2} Mbit/s"
            );
        }
    }
}
