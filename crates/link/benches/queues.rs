//! CPU time per packet of each queue discipline, in a link as an engine drives it.
//!
//! `cargo bench -p crossfade-link [-- CASE] [PACKETS]`; without CASE all cases run. 20 flows offer 105 Mbit/s to a link
//! of 100 Mbit/s; every event of the link is processed at its time. Drop-tail is measured twice: as `hop`, which needs
//! no events for transmissions, and as a queue discipline in a link with these events.

use crossfade_channel::Lossless;
use crossfade_core::{DelayHistogram, RunSeed, SimTime};
use crossfade_link::{
    CoDelConfig, DropTail, Ecn, FqCoDelConfig, Link, LinkConfig, Parcel, QueueConfig, QueueLimit, QueuedLink,
    RedConfig, Transmitter,
};
use rustix::time::{ClockId, clock_gettime};
use std::hint::black_box;

const RATE_BPS: f64 = 100e6;
const BYTES: u32 = 1000;
const FLOWS: u32 = 20;
const LIMIT: QueueLimit = QueueLimit::Packets(100);

fn build(case: &str) -> Box<dyn Link> {
    let (rate_bps, delay) = (Some(RATE_BPS), SimTime::from_millis(10));
    let ecn = case.ends_with("ecn");
    let codel = CoDelConfig { ecn, ..CoDelConfig::default() };
    let queue = match case {
        "hop" => QueueConfig::DropTail(Some(LIMIT)),
        "drop-tail" => {
            let (queue, transmitter) = (DropTail::new(LIMIT).expect("a limit"), Transmitter::new(rate_bps));
            return Box::new(QueuedLink::new(queue, transmitter, delay, Box::new(Lossless)));
        }
        "red" | "red-ecn" => QueueConfig::Red(RedConfig { ecn, ..RedConfig::new(LIMIT, BYTES, RATE_BPS) }),
        "codel" | "codel-ecn" => QueueConfig::CoDel(codel, LIMIT),
        _ => QueueConfig::FqCoDel(FqCoDelConfig { codel, limit: LIMIT, ..FqCoDelConfig::default() }),
    };
    let draws = RunSeed { seed: 1, run: 0 }.stream("queue.dl");
    LinkConfig { rate_bps, delay, queue, draws, loss: Box::new(Lossless) }.build().expect("good parameters")
}

fn cpu_seconds() -> f64 {
    let time = clock_gettime(ClockId::ProcessCPUTime);
    time.tv_sec as f64 + time.tv_nsec as f64 / 1e9
}

fn report(case: &str, packets: u64, before: f64, comment: &str) {
    println!("{case:14} {:6.1} ns per packet  {comment}", (cpu_seconds() - before) / packets as f64 * 1e9);
}

fn run(case: &str, packets: u64) {
    let mut link = build(case);
    let gap = SimTime::from_nanos((f64::from(BYTES) * 8e9 / RATE_BPS / 1.05) as u64);
    let before = cpu_seconds();
    let mut now = SimTime::ZERO;
    for i in 0..packets {
        while let Some(at) = link.next_event().filter(|&at| at <= now) {
            while let Some(departure) = link.advance(at) {
                black_box(&departure);
            }
        }
        let flow = (i % u64::from(FLOWS)) as u32;
        black_box(link.push(now, Parcel::new(i as u32, flow, BYTES).with_ecn(Ecn::Ect0)));
        now += gap;
    }
    let statistics = link.report(now).statistics;
    let comment = format!(
        "({:.2} % dropped, {:.2} % marked, {:.1} packets queued)",
        100.0 * statistics.queue_drops as f64 / packets as f64,
        100.0 * statistics.ecn_marks as f64 / packets as f64,
        statistics.queue_mean_packets(now),
    );
    report(case, packets, before, &comment);
}

/// Measures the CPU time of recording delays in a histogram.
fn run_histogram(packets: u64) {
    let mut histogram = DelayHistogram::default();
    let before = cpu_seconds();
    for i in 0..packets {
        // Delays between 0 and 16 ms that no branch predictor knows.
        histogram.record(SimTime::from_nanos(i.wrapping_mul(0x9e37_79b9_7f4a_7c15) >> 40));
    }
    black_box(&histogram);
    report("histogram", packets, before, "(one delay counted)");
}

fn main() {
    let arguments: Vec<String> = std::env::args().skip(1).filter(|a| !a.starts_with("--")).collect();
    let packets = arguments.iter().find_map(|a| a.parse().ok()).unwrap_or(5_000_000);
    let chosen = |case: &str| arguments.iter().all(|a| a.parse::<u64>().is_ok() || a == case);
    let cases = [
        "hop",
        "hop-delays",
        "drop-tail",
        "red",
        "red-ecn",
        "codel",
        "codel-ecn",
        "fq-codel",
        "fq-codel-ecn",
    ];
    cases.into_iter().filter(|case| chosen(case)).for_each(|case| run(case, packets));
    if chosen("histogram") {
        run_histogram(packets);
    }
}
