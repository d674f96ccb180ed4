//! A frame channel of your own under ARQ: what combining the copies of a frame leaves of the residual error, for
//! two protocols, against its closed form. Fails if it is not that of the closed form.

#![allow(
    clippy::disallowed_methods,
    reason = "its rows are compared on one machine; a model of your own may use std"
)]

mod rayleigh;

use crossfade_core::{RunSeed, SimTime};
use crossfade_link::arq::{
    ArqLinkConfig, ArqProtocol, ArqStatistics, FrameClock, FrameHeader, Packing, Release, ReverseConfig,
    RlpNackConfig, SegmentationConfig, SelectiveRepeatConfig, SoftBufferConfig,
};
use crossfade_link::{Departure, Link, Parcel, QueueConfig};
use rayleigh::{RayleighFrames, residual};
use std::error::Error;

/// The time that a frame of 30 bytes takes at 64 kbit/s.
const SLOT: SimTime = SimTime::from_micros(3750);
const SLOTS: u64 = 20_000;
const RUNS: u64 = 10;

const SNR_DB: f64 = 6.0;
const THRESHOLD_DB: f64 = 5.0;
const WIDTH_DB: f64 = 0.5;

/// Counts of a link that always has a packet to send.
fn simulate(protocol: ArqProtocol, is_combining: bool, run: u64) -> Result<ArqStatistics, Box<dyn Error>> {
    let config = ArqLinkConfig {
        rate_bps: 64e3,
        frame_size: 30,
        clock: FrameClock::Slotted,
        delay: SLOT,
        segmentation: SegmentationConfig {
            payload: 30,
            packing: Packing::Padded,
            framing: 0,
            header_compression: None,
        },
        // Without it no receiver knows which copies belong together.
        header: FrameHeader::Readable,
        soft_buffer: SoftBufferConfig::default(),
        reverse: ReverseConfig::ideal(SLOT),
        protocol,
    };
    let seed = RunSeed { seed: 1, run };
    let channel = RayleighFrames {
        snr_db: SNR_DB,
        threshold_db: THRESHOLD_DB,
        width_db: WIDTH_DB,
        is_combining,
        fading: seed.stream("fading.dl"),
        payload: seed.stream("payload.dl"),
        last_snr: 0.0,
    };
    let [draws, feedback] = ["queue.dl", "feedback.dl"].map(|name| seed.stream(name));
    let mut link: Box<dyn Link + Send> =
        config.build(QueueConfig::DropTail(None), draws, channel, feedback)?;
    for _ in 0..200 {
        // A packet of one frame.
        link.push(SimTime::ZERO, Parcel::new(0, 0, 30));
    }
    while let Some(now) = link.next_event().filter(|&at| at <= SLOT * SLOTS) {
        while let Some(departure) = link.advance(now) {
            if let Departure::Arrived(packet) | Departure::Lost(packet) = departure {
                link.push(now, packet);
            }
        }
    }
    Ok(link.report(SLOT * SLOTS).frames.ok_or("a link of frames")?)
}

/// The residual error over independent runs with its standard error; it must agree with `expected`.
fn check(protocol: ArqProtocol, is_combining: bool, expected: Option<f64>) -> Result<String, Box<dyn Error>> {
    let runs: Result<Vec<f64>, _> = (0..RUNS)
        .map(|run| simulate(protocol, is_combining, run).map(|counted| counted.residual_frame_error_rate()))
        .collect();
    let (runs, n) = (runs?, RUNS as f64);
    let mean = runs.iter().sum::<f64>() / n;
    let standard_error = (runs.iter().map(|x| (x - mean).powi(2)).sum::<f64>() / (n * (n - 1.0))).sqrt();
    if expected.is_some_and(|expected| (mean - expected).abs() > 4.0 * standard_error) {
        return Err(format!("{protocol:?}: {mean} +- {standard_error}, expected {expected:?}").into());
    }
    Ok(format!("{mean:.4} +- {standard_error:.4}"))
}

fn main() -> Result<(), Box<dyn Error>> {
    println!(
        "Mean SNR {SNR_DB} dB, threshold {THRESHOLD_DB} dB, width {WIDTH_DB} dB: the share of frames that are lost"
    );
    println!("attempts  alone: selective repeat    combining: closed form  selective repeat  rlp-nack");
    for attempts in 1..=4 {
        let max_retransmissions = attempts - 1;
        let selective_repeat = ArqProtocol::SelectiveRepeat(SelectiveRepeatConfig {
            window: 64,
            timeout: SLOT * 4,
            max_retransmissions: Some(max_retransmissions),
            release: Release::InOrder,
        });
        // A timer that leaves time for the queue of retransmissions.
        let patient = RlpNackConfig { timeout: SLOT * 40, ..RlpNackConfig::new(max_retransmissions, SLOT) };
        let closed_form = residual(SNR_DB, THRESHOLD_DB, WIDTH_DB, attempts);
        println!(
            "{attempts:8}  {:>24}  {closed_form:22.4}  {:>16}  {}",
            check(selective_repeat, false, None)?,
            check(selective_repeat, true, Some(closed_form))?,
            check(ArqProtocol::RlpNack(patient), true, Some(closed_form))?,
        );
    }
    Ok(())
}
