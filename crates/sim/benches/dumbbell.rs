//! Benchmark of many flows that share a bottleneck: user CPU time per million delivered segments, and memory per flow.
//!
//! `cargo bench -p crossfade-sim --bench dumbbell [-- CASE] [SEGMENTS]`; without a case all of them. Cases of 20 flows
//! are that of `bench/dumbbell.tcl`: 45 Mbit/s and 20 ms with a drop-tail queue of 100 packets, 1000-byte packets,
//! window 64; sender I is 1 + I ms away from the bottleneck and its receiver 1 ms. Cases `flows-N` have N flows, with
//! rate and queue in proportion.

use crossfade_channel::Lossless;
use crossfade_core::{RunSeed, SimTime};
use crossfade_link::{CoDelConfig, FqCoDelConfig, LinkConfig, QueueConfig, QueueLimit};
use crossfade_sim::{FlowConfig, FlowPath, Network, Source, StopRule, Tcp, Topology, simulate};
use crossfade_transport::congestion::{CongestionControl, Cubic};
use crossfade_transport::{Flavour, RtoConfig, TcpConfig, Variant};
use rustix::time::{ClockId, clock_gettime};
use std::sync::Arc;
use std::sync::atomic::AtomicBool;

const MS: SimTime = SimTime::from_millis(1);

const CASES: [&str; 10] = [
    "ns2-newreno",
    "ns2-sack",
    "rfc-sack",
    "rfc-cubic",
    "codel",
    "fq-codel",
    "flows-1",
    "flows-100",
    "flows-1000",
    "flows-10000",
];

fn tcp(case: &str) -> Tcp {
    let is_rfc = !(case.starts_with("ns2") || case.starts_with("flows"));
    let config = TcpConfig {
        initial_window: 1.0,
        rto: RtoConfig::estimated(MS * 200, MS * 3000, MS * 10),
        ..TcpConfig::new(
            if is_rfc { Flavour::Rfc } else { Flavour::Ns2 },
            if case.starts_with("flows") || case == "ns2-newreno" { Variant::NewReno } else { Variant::Sack },
            64,
        )
    };
    let cubic = || Box::new(Cubic::new(1.0, 64.0)) as Box<dyn CongestionControl>;
    Tcp { config: config.into(), congestion: (case == "rfc-cubic").then(|| Arc::new(cubic) as _) }
}

fn dumbbell(case: &str, segments: u64) -> Network {
    let count: u64 = case.strip_prefix("flows-").and_then(|n| n.parse().ok()).unwrap_or(20);
    let share = count as f64 / 20.0;
    let packets = QueueLimit::Packets(((100.0 * share) as usize).max(10));
    let queue = match case {
        "codel" => QueueConfig::CoDel(CoDelConfig::default(), packets),
        "fq-codel" => QueueConfig::FqCoDel(FqCoDelConfig::default()),
        _ => QueueConfig::DropTail(Some(packets)),
    };
    let link = |queue| {
        let (rate_bps, draws) = (Some(45e6 * share), RunSeed { seed: 1, run: 0 }.stream("queue.dl"));
        LinkConfig { rate_bps, delay: MS * 20, queue, draws, loss: Box::new(Lossless) }
    };
    let flow = |i: u64| FlowConfig {
        name: String::new(),
        source: Source::Tcp(tcp(case)),
        path: FlowPath {
            packet_size: 1000,
            ack_size: 40,
            sack_block_size: 8,
            sender_access: MS * (1 + i % 20),
            receiver_access: MS,
            ..FlowPath::default()
        },
        // Not in step: over the first second.
        start: SimTime::from_nanos(1_000_000_000 / count * i),
    };
    let topology = Topology::path(
        vec![link(queue).try_into().expect("good parameters")],
        vec![link(QueueConfig::DropTail(None)).try_into().expect("good parameters")],
    );
    let flows = (0..count).map(flow).collect();
    Network::new(flows, topology, StopRule::Delivered(segments), RunSeed { seed: 1, run: 0 })
}

fn cpu_seconds() -> f64 {
    let time = clock_gettime(ClockId::ProcessCPUTime);
    time.tv_sec as f64 + time.tv_nsec as f64 / 1e9
}

/// Memory that this process uses now, in bytes.
fn memory_bytes() -> f64 {
    let status = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
    let line = status.lines().find_map(|line| line.strip_prefix("VmHWM:"));
    line.and_then(|line| line.trim().strip_suffix(" kB")?.trim().parse::<f64>().ok()).unwrap_or(f64::NAN)
        * 1024.0
}

fn main() {
    let arguments: Vec<String> = std::env::args().skip(1).filter(|a| !a.starts_with("--")).collect();
    let segments = arguments.iter().find_map(|a| a.parse().ok()).unwrap_or(3_000_000);
    let chosen = |case: &&str| arguments.iter().all(|a| a.parse::<u64>().is_ok() || a == *case);
    for case in CASES.iter().copied().filter(chosen) {
        // Sizes grow from case to case: the highest mark is that of this case.
        let (memory, before) = (memory_bytes(), cpu_seconds());
        let statistics = simulate(dumbbell(case, segments), None, None, &AtomicBool::new(false))
            .expect("a network that nobody cancels");
        let (memory, cpu) = (memory_bytes() - memory, cpu_seconds() - before);
        let delivered: u64 = statistics.flows.iter().map(|flow| flow.segments_in_order).sum();
        let timeouts: u64 = statistics.flows.iter().map(|flow| flow.timeouts).sum();
        let bottleneck = &statistics.links[0];
        println!(
            "{case:12} {:.4} s CPU per million delivered segments ({delivered} delivered in {}, \
             utilisation {:.3}, {} drops, {timeouts} timeouts, {:.0} B more memory a flow)",
            cpu / delivered as f64 * 1e6,
            statistics.duration,
            bottleneck.utilisation.unwrap_or(f64::NAN),
            bottleneck.counts.queue_drops,
            memory / statistics.flows.len() as f64,
        );
    }
}
