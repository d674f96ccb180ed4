//! Benchmark of one Reno flow through the engine: user CPU time per million delivered segments.
//!
//! `cargo bench -p crossfade-sim --bench one_flow [-- CASE] [SEGMENTS]`; without a case all of them. The connection is
//! that of `bench/one_flow.tcl`: 10 Mbit/s, 20 ms each way, 1000-byte packets, window 64.

use crossfade_channel::{Clock, Iid, LossProcess, MarkovLoss, TwoStateMarkov};
use crossfade_core::{RunSeed, SimTime};
use crossfade_link::HopConfig;
use crossfade_sim::{OneHop, SenderGate, StopRule, run};
use crossfade_transport::{Flavour, RtoConfig, TcpConfig, Variant};
use rustix::time::{ClockId, clock_gettime};
use std::sync::atomic::AtomicBool;

const MS: SimTime = SimTime::from_millis(1);
const SLOT: SimTime = SimTime::from_micros(800);
const P_E: f64 = 0.01;

fn loss(case: &str) -> Box<dyn LossProcess> {
    let stream = RunSeed { seed: 1, run: 0 }.stream("channel.dl");
    if case.ends_with("iid") {
        return Box::new(Iid::new(P_E, stream).unwrap());
    }
    // Mean bursts of four packets: fd_t 0.01 at 1 % (Table I of the paper).
    let chain = TwoStateMarkov::from_rayleigh(P_E, 0.01).unwrap();
    // ns-2's error models step on packets; the paper's channel steps in time.
    let clock = if case.starts_with("paper") { Clock::Slot(SLOT) } else { Clock::Transmission };
    Box::new(MarkovLoss::new(&chain, clock, stream))
}

/// Configuration of a case. `ns2-*`: the agents of ns-2 with a queue, as in `one_flow.tcl`. `paper-*`: one packet per
/// packet time, instant feedback. `rfc-*`: SACK as the RFCs recommend it, on the path of `ns2-*`.
fn connection(case: &str, segments: u64) -> OneHop {
    let paper = case.starts_with("paper");
    let delay = if paper { SimTime::ZERO } else { MS * 20 };
    let rto =
        if paper { RtoConfig::fixed(SLOT * 100) } else { RtoConfig::estimated(MS * 200, MS * 3000, MS * 10) };
    let lossless = Box::new(crossfade_channel::Lossless);
    OneHop {
        tcp: TcpConfig {
            initial_window: 1.0,
            rto,
            ..TcpConfig::new(
                match case {
                    "rfc-iid" | "rfc-markov" => Flavour::Rfc,
                    _ if paper => Flavour::Paper,
                    _ => Flavour::Ns2,
                },
                if case.starts_with("rfc") { Variant::Sack } else { Variant::Reno },
                64,
            )
        },
        packet_size: 1000,
        ack_size: 40,
        sack_block_size: 8,
        gate: if paper { SenderGate::Slot } else { SenderGate::Queue },
        forward: HopConfig { rate_bps: Some(10e6), delay, queue_limit: None, loss: loss(case) },
        reverse: HopConfig { rate_bps: (!paper).then_some(10e6), delay, queue_limit: None, loss: lossless },
        warmup: SimTime::ZERO,
        stop: StopRule::Delivered(segments),
    }
}

fn cpu_seconds() -> f64 {
    let time = clock_gettime(ClockId::ProcessCPUTime);
    time.tv_sec as f64 + time.tv_nsec as f64 / 1e9
}

/// Largest memory that this process has ever used, in MB; `None` if the system does not tell.
fn peak_memory_mb() -> Option<f64> {
    let status = std::fs::read_to_string("/proc/self/status").ok()?;
    let line = status.lines().find_map(|line| line.strip_prefix("VmHWM:"))?;
    line.trim().strip_suffix(" kB")?.trim().parse::<f64>().ok().map(|kb| kb / 1024.0)
}

fn main() {
    let arguments: Vec<String> = std::env::args().skip(1).filter(|a| !a.starts_with("--")).collect();
    let segments = arguments.iter().find_map(|a| a.parse().ok()).unwrap_or(5_000_000);
    let cases = ["ns2-iid", "ns2-markov", "paper-iid", "paper-markov", "rfc-iid", "rfc-markov"];
    let chosen = |case: &&str| arguments.iter().all(|a| a.parse::<u64>().is_ok() || a == *case);
    for case in cases.iter().copied().filter(chosen) {
        let before = cpu_seconds();
        let statistics =
            run(connection(case, segments), None, &AtomicBool::new(false)).expect("nobody cancels");
        let cpu = cpu_seconds() - before;
        println!(
            "{case:12} {:.4} s CPU per million delivered segments ({} delivered, {} sent, {} timeouts, goodput {:.3} Mbit/s)",
            cpu / statistics.flow.segments_in_order as f64 * 1e6,
            statistics.flow.segments_in_order,
            statistics.flow.segments_sent,
            statistics.flow.timeouts,
            statistics.flow.segments_in_order as f64 * 8000.0 / statistics.duration.as_secs_f64() / 1e6,
        );
    }
    if let Some(peak) = peak_memory_mb() {
        println!("peak memory {peak:.1} MB");
    }
}
