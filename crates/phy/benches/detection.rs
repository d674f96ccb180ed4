//! Benchmark of symbol vectors per second: detection alone, and frames end to end.
//!
//! `cargo bench -p crossfade-phy --bench detection [-- SECONDS] [SCHEME] [DETECTOR]`; half a second per line by
//! default. One core, CPU time, QPSK at 12 dB, independent Rayleigh fading for each frame of 240 bits: 4 x 4 BLAST has
//! 30 vectors per frame. Detection includes the setup of the detector for each frame. The table has the bit error rate
//! beside the speed. `CROSSFADE_SIMD` chooses the instruction set.

use crossfade_channel::simd::Simd;
use crossfade_channel::{AntennaCorrelation, MatrixFading, Motion};
use crossfade_core::{RunSeed, SimTime, from_db};
use crossfade_phy::{Detector, MonteCarlo, PhyConfig, Scheme, Transceiver};
use std::time::Instant;

fn main() {
    let words: Vec<String> = std::env::args().skip(1).collect();
    let seconds = words.iter().find_map(|word| word.parse().ok()).unwrap_or(0.5);
    let asked = words.iter().find_map(|word| Scheme::named(word).ok());
    let asked_detector = words.iter().find_map(|word| Detector::named(word).ok());
    let simd = Simd::chosen().unwrap_or_else(|error| panic!("{error}"));
    println!("{}, one core, QPSK, 12 dB, frames of 240 bits", simd.name());
    println!("| scheme | detector | detection, M vectors/s | end to end, M vectors/s | BER |");
    println!("|---|---|---|---|---|");
    for (scheme, detector) in [
        (Scheme::Blast, Detector::MmseOsic),
        (Scheme::Blast, Detector::Ml),
        (Scheme::Blast, Detector::Mmse),
        (Scheme::Blast, Detector::Sphere),
        (Scheme::Stbc2, Detector::MmseOsic),
        (Scheme::Stbc2, Detector::Ml),
        (Scheme::Stbc1, Detector::Ml),
        (Scheme::StbcHalf, Detector::Linear),
        (Scheme::Siso, Detector::Linear),
    ] {
        if asked.is_some_and(|asked| asked != scheme) || asked_detector.is_some_and(|asked| asked != detector)
        {
            continue;
        }
        let config = PhyConfig::new(scheme, detector);
        let (whole, ber) = end_to_end(config, simd, seconds);
        let alone = detection(config, simd, seconds) / 1e6;
        println!("| {} | {} | {alone:.1} | {:.1} | {ber:.3e} |", scheme.name(), detector.name(), whole / 1e6);
    }
}

fn fading(config: &PhyConfig, simd: Simd) -> MatrixFading {
    let stream = RunSeed { seed: 1, run: 0 }.stream("channel.dl");
    let antennas = (config.n_t, config.n_r);
    MatrixFading::new(antennas, Motion::Independent, AntennaCorrelation::None, stream, simd)
        .expect("a channel")
}

/// Number of symbol vectors in a frame: the blocks of the space-time code.
fn vectors(transceiver: &Transceiver) -> f64 {
    transceiver.channel_uses() as f64 / transceiver.config().scheme.slots() as f64
}

/// Symbol vectors per second through channel, noise, detector and error counting, and the bit error rate.
fn end_to_end(config: PhyConfig, simd: Simd, seconds: f64) -> (f64, f64) {
    let stream = RunSeed { seed: 1, run: 0 }.stream("phy.dl");
    let mut all = MonteCarlo::new(config, fading(&config, simd), from_db(12.0), 1, false, stream.clone())
        .expect("a physical layer");
    let transceiver = Transceiver::with_simd(config, stream, simd).expect("a physical layer");
    let (mut frames, mut wrong) = (0, 0);
    let start = cpu_seconds();
    while cpu_seconds() - start < seconds {
        wrong += all.count(frames..frames + 1000).attempts[0].bit_errors;
        frames += 1000;
    }
    let elapsed = cpu_seconds() - start;
    let bits = frames as f64 * f64::from(config.frame_bits);
    (frames as f64 * vectors(&transceiver) / elapsed, wrong as f64 / bits)
}

/// Symbol vectors per second from matched filter outputs to counted decisions, with the detector set up for each frame.
fn detection(config: PhyConfig, simd: Simd, seconds: f64) -> f64 {
    let stream = RunSeed { seed: 1, run: 0 }.stream("phy.dl");
    let transceiver = Transceiver::with_simd(config, stream, simd).expect("a physical layer");
    let mut fading = fading(&config, simd);
    let receptions: Vec<_> = (0..64)
        .map(|frame| {
            let mut reception = transceiver.reception();
            let gains = fading.gains(SimTime::ZERO, frame);
            transceiver.receive(frame, frame, from_db(12.0), (&gains, None), &mut reception);
            reception
        })
        .collect();
    let mut workspace = transceiver.workspace();
    let (mut frames, mut wrong) = (0_u64, 0_u64);
    let start = cpu_seconds();
    while cpu_seconds() - start < seconds {
        // Looking at the clock costs as much as ten frames.
        for _ in 0..50 {
            for reception in &receptions {
                wrong += u64::from(transceiver.detect(reception, &mut workspace));
            }
        }
        frames += 50 * receptions.len() as u64;
    }
    let elapsed = cpu_seconds() - start;
    assert!(wrong < frames * 240, "every bit wrong");
    frames as f64 * vectors(&transceiver) / elapsed
}

/// CPU time of this thread in seconds, without that of other processes; elapsed time if the system does not report it.
fn cpu_seconds() -> f64 {
    thread_local!(static START: Instant = Instant::now());
    let elapsed = START.with(|start| start.elapsed().as_secs_f64());
    let schedstat = std::fs::read_to_string("/proc/thread-self/schedstat").ok();
    let nanoseconds = schedstat.and_then(|line| line.split(' ').next()?.parse::<f64>().ok());
    nanoseconds.map_or(elapsed, |nanoseconds| nanoseconds * 1e-9)
}
