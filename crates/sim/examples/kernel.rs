//! Simulated side of the comparison of Linux with flavour `rfc` over this project's links (docs/kernel.md).
//!
//! ```text
//! cargo run --release -p crossfade-sim --example kernel -- patterns PATTERNS.csv [PROFILE]
//! cargo run --release -p crossfade-sim --example kernel -- loss | share | codel [PROFILE]
//! cargo run --release -p crossfade-sim --example kernel -- sends PATTERN VARIANT ACKS [PROFILE]
//! ```
//! PROFILE is `linux` (the default), `recommended`, or `rack`: the RFCs with RACK-TLP, acknowledgements delayed by
//! 40 ms and a timeout of at least 200 ms. Results are CSV on standard output.

use crossfade_channel::{DropList, Iid, LossProcess, Lossless};
use crossfade_core::{EventKind, EventRecord, RunSeed, SimTime, Stream};
use crossfade_link::trace::{RateRow, RateTable, Schedule, TraceLinkConfig};
use crossfade_link::{CoDelConfig, LinkConfig, QueueConfig, QueueLimit};
use crossfade_sim::{
    AnyLink, FlowConfig, FlowPath, Network, NetworkStatistics, Source, StopRule, Tcp, Topology, simulate,
};
use crossfade_transport::{CongestionControlKind, Flavour, RfcConfig, RtoConfig, TcpConfig, Variant};
use std::collections::BTreeMap;
use std::sync::atomic::AtomicBool;

const MS: SimTime = SimTime::from_millis(1);
/// Number of segments of a transfer.
const SEGMENTS: u64 = 600;
/// Start of a transfer, after the handshake.
const START: SimTime = SimTime::from_millis(81);

/// TCP configuration of a profile, with variant `reno`, `cubic` or `reno-nosack`, and with every segment acknowledged
/// or delayed ACKs.
fn tcp(handshake: SimTime, profile: &str, variant: &str, acks: &str, segments: Option<u64>) -> TcpConfig {
    let mut rfc = match profile {
        "linux" => RfcConfig { handshake_rtt: Some(handshake), ..RfcConfig::linux() },
        "recommended" => RfcConfig::default(),
        "rack" => RfcConfig {
            delayed_ack: Some(MS * 40),
            rack: true,
            tail_loss_probe: true,
            ..RfcConfig::default()
        },
        other => panic!("profile {other}: must be linux, recommended or rack"),
    };
    if variant == "cubic" {
        rfc.congestion_control = CongestionControlKind::Cubic;
        rfc.hystart = true;
    }
    if acks == "every" {
        rfc.delayed_ack = None;
    }
    let variant = if variant == "reno-nosack" { Variant::NewReno } else { Variant::Sack };
    rfc.rack &= variant == Variant::Sack;
    rfc.tail_loss_probe &= rfc.rack;
    let min = if profile == "recommended" { 1000 } else { 200 };
    let granularity = if profile == "recommended" { MS } else { MS * 200 };
    TcpConfig {
        initial_ssthresh: f64::INFINITY,
        segments,
        rfc,
        rto: RtoConfig::estimated(MS * min, MS * 1000, granularity),
        ..TcpConfig::new(Flavour::Rfc, variant, 1000)
    }
}

/// Drop-tail queue for `packets` packets.
fn drop_tail(packets: usize) -> QueueConfig {
    QueueConfig::DropTail(Some(QueueLimit::Packets(packets)))
}

fn draws() -> Stream {
    RunSeed { seed: 1, run: 0 }.stream("queue.dl")
}

fn link(delay: SimTime, queue: QueueConfig, loss: Box<dyn LossProcess>) -> AnyLink {
    AnyLink::try_from(LinkConfig { rate_bps: Some(10e6), delay, queue, draws: draws(), loss })
        .expect("a link")
}

fn network(flows: Vec<(TcpConfig, SimTime)>, forward: AnyLink, reverse: AnyLink, stop: SimTime) -> Network {
    let path = FlowPath { packet_size: 1500, ack_size: 52, ..FlowPath::default() };
    let flow = |(config, start): (TcpConfig, SimTime)| FlowConfig {
        name: String::new(),
        source: Source::Tcp(Tcp { config: config.into(), congestion: None }),
        path,
        start,
    };
    let flows = flows.into_iter().map(flow).collect();
    let topology = Topology::path(vec![forward], vec![reverse]);
    Network::new(flows, topology, StopRule::At(stop), RunSeed { seed: 1, run: 0 })
}

fn run(network: Network, events: &mut Vec<EventRecord>) -> NetworkStatistics {
    simulate(network, Some(events), None, &AtomicBool::new(false)).expect("nobody cancels")
}

/// Losses of a pattern: data segments as pairs (segment, n-th transmission), and acknowledgements by number.
fn losses(pattern: &str) -> (Vec<(u64, usize)>, Vec<u64>) {
    let first = |range: std::ops::Range<u64>| range.map(|seq| (seq, 1)).collect();
    match pattern {
        "single" => (vec![(100, 1)], vec![]),
        "two-in-window" => (vec![(100, 1), (104, 1)], vec![]),
        "burst-of-5" => (first(100..105), vec![]),
        "lost-repetition" => (vec![(100, 1), (100, 2)], vec![]),
        "tail-3" => (first(597..600), vec![]),
        "tail-10" => (first(590..600), vec![]),
        "initial-window-lost" => (first(0..10), vec![]),
        "acks-20" => (vec![], (60..80).collect()),
        "single-and-acks" => (vec![(100, 1)], (100..115).collect()),
        _ => (vec![], vec![]),
    }
}

/// Events of one transfer with the losses of `pattern`. The losses are found one after the other: which transmission
/// carries a segment for the n-th time is known only once all earlier losses are.
fn transfer(pattern: &str, config: &TcpConfig) -> Vec<EventRecord> {
    let (mut segments, acks) = losses(pattern);
    let mut drops: Vec<u64> = Vec::new();
    loop {
        let queue = if pattern == "overshoot-25" { 25 } else { 1000 };
        let loss: Box<dyn LossProcess> = Box::new(DropList::new(drops.clone()).expect("increasing"));
        let forward = if pattern == "stall-500ms" {
            let row = |ms, rate_bps| RateRow { time: MS * ms, rate_bps, delay: SimTime::ZERO, loss: 0.0 };
            let table = RateTable::new(vec![row(0, 1e7), row(350, 0.0), row(850, 1e7)]).expect("a table");
            let queue = drop_tail(queue);
            let schedule = Schedule::Rates(table);
            let config =
                TraceLinkConfig { schedule, delay: MS * 40, delays: None, queue, draws: draws(), loss };
            config.build().expect("a link").into()
        } else {
            link(MS * 40, drop_tail(queue), loss)
        };
        let acks = Box::new(DropList::new(acks.clone()).expect("increasing"));
        let reverse = link(MS * 40, drop_tail(1000), acks);
        let mut events = Vec::new();
        run(network(vec![(*config, START)], forward, reverse, MS * 30_000), &mut events);
        let mut seen: BTreeMap<u64, usize> = BTreeMap::new();
        let sends = events.iter().filter(|event| event.kind == EventKind::Send);
        let next = sends.enumerate().find_map(|(index, event)| {
            let times = seen.entry(event.seq).or_default();
            *times += 1;
            segments.iter().position(|lost| *lost == (event.seq, *times)).map(|at| (index as u64, at))
        });
        let Some((index, at)) = next else { return events };
        drops.push(index);
        segments.remove(at);
    }
}

struct Outcome {
    done_ms: f64,
    repetitions: Vec<(u64, f64)>,
    timeouts: usize,
}

fn outcome(events: &[EventRecord]) -> Outcome {
    let ms = |event: &EventRecord| (event.time - START).as_secs_f64() * 1e3;
    let is_ack = |kind| matches!(kind, EventKind::Ack | EventKind::RecoveryEnd | EventKind::FastRetransmit);
    let mut done_ms = f64::NAN;
    let (mut highest, mut repetitions, mut timeouts) = (None, Vec::new(), 0);
    for event in events {
        match event.kind {
            EventKind::Send if highest >= Some(event.seq) => repetitions.push((event.seq, ms(event))),
            EventKind::Send => highest = Some(event.seq),
            EventKind::Timeout => timeouts += 1,
            // The sender's oldest segment: none is left.
            kind if is_ack(kind) && event.seq == SEGMENTS && done_ms.is_nan() => done_ms = ms(event),
            _ => {}
        }
    }
    Outcome { done_ms, repetitions, timeouts }
}

/// Prints the kernel's mean times beside the simulated ones, and the deviations for each variant and rule of
/// acknowledgement.
fn patterns(file: &str, profile: &str, w_max: u32) {
    let text = std::fs::read_to_string(file).unwrap_or_else(|error| panic!("{file}: {error}"));
    let mut theirs: Vec<((String, String, String), Vec<f64>)> = Vec::new();
    for line in text.lines().skip(1) {
        let fields: Vec<&str> = line.split(',').collect();
        let key = (fields[1].to_owned(), fields[2].to_owned(), fields[0].to_owned());
        let done = fields[4].parse().expect("done_ms");
        match theirs.iter_mut().find(|(known, _)| *known == key) {
            Some((_, times)) => times.push(done),
            None => theirs.push((key, vec![done])),
        }
    }
    theirs.sort_by(|(a, _), (b, _)| (&a.0, &a.1).cmp(&(&b.0, &b.1)));
    println!("variant,acks,pattern,kernel_ms,simulated_ms,ratio,repetitions,timeouts");
    let mut ratios: BTreeMap<(String, String), Vec<f64>> = BTreeMap::new();
    for ((variant, acks, pattern), times) in theirs {
        let kernel = times.iter().sum::<f64>() / times.len() as f64;
        let config = TcpConfig { w_max, ..tcp(START, profile, &variant, &acks, Some(SEGMENTS)) };
        let ours = outcome(&transfer(&pattern, &config));
        let ratio = kernel / ours.done_ms;
        let (repetitions, timeouts) = (ours.repetitions.len(), ours.timeouts);
        println!(
            "{variant},{acks},{pattern},{kernel:.1},{:.1},{ratio:.3},{repetitions},{timeouts}",
            ours.done_ms
        );
        ratios.entry((variant, acks)).or_default().push(ratio);
    }
    for ((variant, acks), ratios) in ratios {
        let far = ratios.iter().filter(|ratio| (*ratio - 1.0).abs() > 0.05).count();
        let mean = ratios.iter().map(|ratio| ratio.ln().abs()).sum::<f64>() / ratios.len() as f64;
        eprintln!("{variant} {acks}: {far} of {} beyond 5 %, mean |log ratio| {mean:.3}", ratios.len());
    }
}

/// Prints the goodput of one flow under i.i.d. loss of data packets: 10 Mbit/s, RTT 40 ms, drop-tail queue of 100
/// packets.
fn loss(profile: &str) {
    println!("variant,acks,loss,runs,goodput_mbps");
    for (variant, acks) in [("reno", "default"), ("cubic", "default"), ("reno", "every"), ("cubic", "every")]
    {
        for p in [0.001, 0.01, 0.03] {
            let runs = 60;
            let total: u64 = (0..runs)
                .map(|run_number| {
                    let seed = RunSeed { seed: 1, run: run_number };
                    let lossy = Iid::new(p, seed.stream("loss")).expect("a probability");
                    let forward = link(MS * 20, drop_tail(100), Box::new(lossy));
                    let reverse = link(MS * 20, drop_tail(1000), Box::new(Lossless));
                    let config = tcp(MS * 40, profile, variant, acks, None);
                    let network = network(vec![(config, SimTime::ZERO)], forward, reverse, MS * 10_000);
                    run(network, &mut Vec::new()).flows[0].segments_in_order
                })
                .sum();
            let mbps = total as f64 / runs as f64 * 1448.0 * 8.0 / 10e6;
            println!("{variant},{acks},{p},{runs},{mbps:.3}");
        }
    }
}

/// Prints the shares of two flows through one queue: CUBIC beside Reno (drop-tail), or two of CUBIC (`CoDel`).
fn pair(profile: &str, variants: [&str; 2], queue: &QueueConfig, delay: SimTime, seconds: u64, runs: u64) {
    println!("first,second,run,share,drops,goodput_mbps");
    let (mut shares, mut all_drops) = (Vec::new(), 0);
    for number in 0..runs {
        let forward = link(delay, *queue, Box::new(Lossless));
        let reverse = link(delay, drop_tail(1000), Box::new(Lossless));
        // Now this one, now that one begins, the other up to a second later.
        let mut starts = [SimTime::ZERO, MS * (137 * (number + 1) % 1000)];
        if number % 2 == 1 {
            starts.reverse();
        }
        let flow = |i: usize| (tcp(delay * 2, profile, variants[i], "default", None), starts[i]);
        let flows = vec![flow(0), flow(1)];
        let statistics = run(network(flows, forward, reverse, MS * (seconds * 1000)), &mut Vec::new());
        let [a, b] = [0, 1].map(|i| statistics.flows[i].segments_in_order as f64);
        let drops: u64 = statistics.flows.iter().map(|flow| flow.queue_drops).sum();
        let mbps = (a + b) * 1448.0 * 8.0 / (seconds as f64 * 1e6);
        println!("{},{},{number},{:.3},{drops},{mbps:.3}", variants[0], variants[1], a / (a + b));
        shares.push(a / (a + b));
        all_drops += drops;
    }
    let mean = shares.iter().sum::<f64>() / shares.len() as f64;
    eprintln!("share of the first {mean:.3}, drops {:.0} a run", all_drops as f64 / runs as f64);
}

fn main() {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let arguments: Vec<&str> = arguments.iter().map(String::as_str).collect();
    let codel = QueueConfig::CoDel(CoDelConfig::default(), QueueLimit::Packets(1000));
    let profile = |at: usize| arguments.get(at).copied().unwrap_or("linux");
    match arguments[..] {
        ["patterns", file, ..] => {
            patterns(
                file,
                profile(2),
                arguments.get(3).map_or(1000, |w_max| w_max.parse().expect("segments")),
            );
        }
        ["sends", pattern, variant, acks, ..] => {
            let config = tcp(START, profile(4), variant, acks, Some(SEGMENTS));
            for event in transfer(pattern, &config) {
                let at = (event.time.as_secs_f64() - START.as_secs_f64()) * 1e3;
                let tcp = event.tcp;
                println!("{at:.3},{:?},{},{},{}", event.kind, event.seq, tcp.cwnd, tcp.ssthresh);
            }
        }
        ["loss", ..] => loss(profile(1)),
        ["share", ..] => {
            for seconds in [10, 30, 100] {
                pair(profile(1), ["cubic", "reno"], &drop_tail(100), MS * 20, seconds, 20);
            }
        }
        ["codel", ..] => pair(profile(1), ["cubic", "cubic"], &codel, MS * 100, 60, 5),
        _ => panic!("patterns FILE, sends PATTERN VARIANT ACKS, loss, share or codel, then a profile"),
    }
}
