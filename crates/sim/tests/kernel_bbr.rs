//! BBR version 1 beside the kernel's (Linux 6.18 over this project's links in real time: 10 Mbit/s, 40 ms there and back,
//! drop-tail; `tests/data/golden/kernel/bbr.csv`, six runs of 20 s a row).

use crossfade_channel::{Iid, LossProcess, Lossless};
use crossfade_core::{EventRecord, RunSeed, SimTime};
use crossfade_link::{LinkConfig, Queue, QueueLimit};
use crossfade_sim::{
    AnyLink, FlowConfig, FlowPath, FlowStatistics, Network, SenderGate, Source, StopRule, Tcp, Topology,
    simulate,
};
use crossfade_transport::{Flavour, Pacing, RfcConfig, RtoConfig, RtoRule, TcpConfig, Variant, WindowRule};
use std::sync::atomic::AtomicBool;

const GOLDEN: &str = include_str!("../../../tests/data/golden/kernel/bbr.csv");
const SERIES: &str = include_str!("../../../tests/data/golden/kernel/bbr_series.csv");
const MS: SimTime = SimTime::from_millis(1);

fn tcp() -> TcpConfig {
    TcpConfig {
        flavour: Flavour::Rfc,
        variant: Variant::Sack,
        w_max: 2000,
        initial_window: 10.0,
        initial_ssthresh: 2000.0,
        dupthresh: 3,
        limited_transmit: true,
        rto: RtoConfig {
            rule: RtoRule::Estimated { min: MS * 200, initial: MS * 1000, granularity: MS * 200 },
            backoff: true,
            max: MS * 60_000,
        },
        segments: None,
        rfc: RfcConfig {
            window_rule: WindowRule::BbrV1,
            handshake_rtt: Some(MS * 40),
            pacing: Some(Pacing::default()),
            ..RfcConfig::linux()
        },
    }
}

fn link(queue: usize, loss: Box<dyn LossProcess>) -> AnyLink {
    let queue = Queue::DropTail(Some(QueueLimit::Packets(queue)));
    AnyLink::try_from(LinkConfig { rate_bps: Some(10e6), delay: MS * 20, queue, loss }).expect("a link")
}

fn run(queue: usize, loss: f64, number: u64, seconds: u64, events: &mut Vec<EventRecord>) -> FlowStatistics {
    let seed = RunSeed { seed: 1, run: number };
    let loss: Box<dyn LossProcess> = if loss == 0.0 {
        Box::new(Lossless)
    } else {
        Box::new(Iid::new(loss, seed.stream("loss")).expect("a probability"))
    };
    let flow = FlowConfig {
        name: "f".to_owned(),
        source: Source::Tcp(Tcp { config: tcp(), congestion: None }),
        path: FlowPath { packet_size: 1500, ack_size: 52, ..FlowPath::default() },
        start: SimTime::ZERO,
    };
    let network = Network {
        flows: vec![flow],
        arrivals: Vec::new(),
        topology: Topology::path(vec![link(queue, loss)], vec![link(1000, Box::new(Lossless))]),
        passages: Vec::new(),
        gate: SenderGate::Queue,
        measures_delays: false,
        warmup: SimTime::ZERO,
        stop: StopRule::At(MS * (1000 * seconds)),
        seed,
    };
    simulate(network, events, (), &AtomicBool::new(false)).expect("nobody cancels").flows.remove(0)
}

/// `"queue 33, loss 5%, bbr",6,8.97154e+06,4.92e+04,0.0545967,11.6859,..`.
fn cells() -> Vec<(usize, f64, Vec<f64>)> {
    let cell = |line: &str| {
        let (case, rest) = line.trim_start_matches('"').split_once("\",")?;
        let words: Vec<&str> = case.split([' ', ',', '%']).collect();
        let loss = words[4].parse::<f64>().ok()? / 100.0;
        Some((words[1].parse().ok()?, loss, rest.split(',').map(|field| field.parse().unwrap()).collect()))
    };
    GOLDEN.lines().skip(1).filter_map(cell).collect()
}

/// Three of the eight queues are not the kernel's, but shorter by so many milliseconds: open (docs/congestion-control.md). They
/// stand here so that what they miss by does not move unnoticed.
const MISSED: [(usize, f64, f64); 3] = [(33, 0.05, 3.7), (167, 0.0, 3.2), (167, 0.05, 2.8)];

/// Goodput within 5 %, mean queueing delay within 2 ms in the others, repetitions within half a percent of what is sent.
#[test]
fn goodput_and_queue_are_those_of_the_kernel() {
    let cells = cells();
    assert_eq!(cells.len(), 8);
    for (queue, loss, kernel) in cells {
        let runs = 6;
        let flows: Vec<FlowStatistics> =
            (0..runs).map(|number| run(queue, loss, number, 20, &mut Vec::new())).collect();
        let mean = |value: fn(&FlowStatistics) -> f64| flows.iter().map(value).sum::<f64>() / runs as f64;
        let goodput = mean(|flow| flow.segments_in_order as f64 * 1448.0 * 8.0 / 20.0);
        // Beyond propagation and transmission.
        let queueing = mean(|flow| 1e3 * flow.one_way_delay_sum_s / flow.segments_received as f64) - 21.2;
        let repeated = mean(|flow| flow.retransmissions as f64 / flow.segments_sent as f64);
        let case = format!("queue {queue}, loss {loss}: {goodput:.0} bit/s, {queueing:.2} ms, {repeated:.4}");
        println!("{case}; kernel {:.0}, {:.2}, {:.4}", kernel[1], kernel[4], kernel[3]);
        assert!((goodput / kernel[1] - 1.0).abs() < 0.05, "{case}");
        assert!((repeated - kernel[3]).abs() < 0.005, "{case}");
        let shorter = kernel[4] - queueing;
        match MISSED.iter().find(|missed| (missed.0, missed.1) == (queue, loss)) {
            Some((_, _, known)) => assert!((shorter - known).abs() < 0.3, "{case}: {shorter:.2} ms shorter"),
            None => assert!(shorter.abs() < 2.0, "{case}: {shorter:.2} ms shorter"),
        }
    }
}

/// The window through Startup, the cycle and two `ProbeRTT`s, beside what `ss` said of the kernel's.
#[test]
fn phases_are_those_of_the_kernel() {
    let kernel: Vec<(f64, f64)> = SERIES
        .lines()
        .skip(1)
        .map(|line| {
            let fields: Vec<f64> = line.split(',').map(|field| field.parse().unwrap()).collect();
            (fields[1], fields[2])
        })
        .collect();
    let mut events = Vec::new();
    run(33, 0.0, 0, 25, &mut events);
    let ours: Vec<(f64, f64)> =
        events.iter().map(|event| (event.time.as_secs_f64(), event.tcp.cwnd)).collect();
    let peak =
        |rows: &[(f64, f64)]| rows.iter().filter(|row| row.0 < 0.25).map(|row| row.1).fold(0.0, f64::max);
    assert_eq!((peak(&kernel), peak(&ours)), (104.0, 104.0), "Startup's window");
    // Its middle between Startup and the first ProbeRTT.
    let usual = |rows: &[(f64, f64)]| {
        let mut windows: Vec<f64> =
            rows.iter().filter(|row| (2.0..9.5).contains(&row.0)).map(|row| row.1).collect();
        windows.sort_by(f64::total_cmp);
        windows[windows.len() / 2]
    };
    assert!((usual(&kernel) - usual(&ours)).abs() <= 2.0, "{} and {}", usual(&kernel), usual(&ours));
    let probes = |rows: &[(f64, f64)]| {
        let mut times: Vec<f64> = Vec::new();
        for row in rows.iter().filter(|row| row.0 > 1.0 && row.1 == 4.0) {
            if times.last().is_none_or(|last| row.0 > last + 1.0) {
                times.push(row.0);
            }
        }
        times
    };
    let (theirs, ours) = (probes(&kernel), probes(&ours));
    assert_eq!((theirs.len(), ours.len()), (2, 2), "{theirs:?} and {ours:?}");
    for (theirs, ours) in theirs.iter().zip(&ours) {
        assert!((theirs - ours).abs() < 0.6, "ProbeRTT at {theirs} and {ours}");
    }
}
