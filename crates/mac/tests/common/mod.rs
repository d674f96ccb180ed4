//! TCP (`NewReno`) over a chain, as in the ns-2 runs of the golden data: 2312-byte packets, 40-byte acknowledgements,
//! and an application that writes 3 Mbit/s.

#![allow(dead_code, reason = "each test uses a part")]

use crossfade_channel::{LogNormalShadowing, PathLoss};
use crossfade_core::{RunSeed, SimTime, testing::Runs};
use crossfade_link::{Departure, Fabric, LinkReport, NodeStatistics, Parcel, Port, Push};
use crossfade_mac::{DcfConfig, Mac, Mesh, MeshConfig, NullingConfig, Reception, Routing, Topology};
use crossfade_transport::{Ack, Flavour, Receiver, Segment, Sender, TcpConfig, Variant};
use std::collections::HashMap;

pub(crate) const PACKET_BYTES: u32 = 2312;
pub(crate) const ACK_BYTES: u32 = 40;
pub(crate) const OFFERED_BPS: f64 = 3e6;

/// Chain of nodes 200 m apart with a range of 250 m, and its static route.
pub(crate) fn chain(hops: usize, interference_m: f64, mac: Mac) -> MeshConfig {
    let mut stream = RunSeed { seed: 0, run: 0 }.stream("mac.topology");
    MeshConfig {
        positions: Topology::Chain { hops, spacing_m: 200.0 }.positions(&mut stream).unwrap(),
        routing: Routing::Static(vec![(0..=hops).collect()]),
        range_m: 250.0,
        interference_m,
        reception: Reception::Range,
        sinr_threshold_db: 10.0,
        dcf: DcfConfig::default(),
        mac,
        queue: 25,
    }
}

pub(crate) fn nulling(antennas: usize) -> NullingConfig {
    NullingConfig::new(antennas)
}

/// SINR reception with this path loss exponent and this standard deviation of shadowing in dB.
pub(crate) fn sinr(exponent: f64, shadowing_db: f64) -> Reception {
    Reception::Sinr {
        path_loss: PathLoss::new(exponent, 1.0, 914e6).unwrap(),
        shadowing: LogNormalShadowing::new(shadowing_db).unwrap(),
    }
}

fn newreno(window: u32) -> TcpConfig {
    TcpConfig {
        initial_window: 2.0,
        limited_transmit: false,
        segments: Some(0),
        ..TcpConfig::new(Flavour::Ns2, Variant::NewReno, window)
    }
}

/// Counters of the nodes of a mesh over a time interval.
pub(crate) struct Report {
    pub(crate) elapsed: SimTime,
    pub(crate) nodes: Vec<NodeStatistics>,
}

impl Report {
    fn between(warm: Option<&LinkReport>, end: &LinkReport) -> Self {
        let Some(warm) = warm else { return Self { elapsed: end.at, nodes: end.nodes.clone() } };
        let nodes = end.nodes.iter().zip(&warm.nodes).map(|(end, warm)| end.since(warm)).collect();
        Self { elapsed: end.at - warm.at, nodes }
    }
}

/// Results of a simulation after its warm-up.
pub(crate) struct Outcome {
    /// Goodput in bit/s: whole IP packets that arrived for the first time, over the duration.
    pub(crate) ip_goodput_bps: f64,
    pub(crate) timeouts: u64,
    pub(crate) report: Report,
}

/// Simulates one TCP flow from node 0 to the last node.
pub(crate) fn run(
    config: MeshConfig,
    window: u32,
    seed: RunSeed,
    warmup: SimTime,
    duration: SimTime,
) -> Outcome {
    let last = config.positions.len() as Port - 1;
    let mut mesh = Mesh::new(config, seed).unwrap();
    let tcp = newreno(window);
    let (mut sender, mut receiver) = (Sender::new(tcp), Receiver::new(tcp));
    let gap = SimTime::to_transmit(PACKET_BYTES, OFFERED_BPS);
    let mut segments: HashMap<u32, Segment> = HashMap::new();
    let mut acks: HashMap<u32, Ack> = HashMap::new();
    let (mut id, mut delivered, mut next_write) = (0u32, 0u64, SimTime::ZERO);
    let (mut warm, mut delivered_warm) = (None, 0);
    let end = warmup + duration;
    loop {
        let now =
            [mesh.next_event(), sender.next_timeout(), Some(next_write)].into_iter().flatten().min().unwrap();
        if warm.is_none() && now >= warmup {
            warm = Some(mesh.report(warmup));
            delivered_warm = delivered;
        }
        if now > end {
            break;
        }
        while let Some((_, departure)) = mesh.advance(now) {
            let Departure::Arrived(parcel) = departure else { continue };
            if parcel.flow() == 0 {
                let segment = segments.remove(&parcel.id()).unwrap();
                let received = receiver.on_segment(now, &segment, false);
                delivered += u64::from(received.is_new);
                id += 1;
                acks.insert(id, received.ack.unwrap());
                let parcel = Parcel::new(id, 1, ACK_BYTES);
                if mesh.push(now, last, 0, parcel) != Push::Accepted {
                    acks.remove(&id);
                }
            } else {
                sender.on_ack(now, &acks.remove(&parcel.id()).unwrap());
                transmit(&mut sender, &mut mesh, &mut segments, &mut id, now, last);
            }
        }
        if next_write <= now {
            sender.write(1);
            next_write += gap;
        }
        if sender.next_timeout().is_some_and(|at| at <= now) {
            sender.on_timeout(now);
        }
        transmit(&mut sender, &mut mesh, &mut segments, &mut id, now, last);
    }
    let report = mesh.report(end);
    Outcome {
        ip_goodput_bps: (delivered - delivered_warm) as f64 * f64::from(PACKET_BYTES) * 8.0
            / duration.as_secs_f64(),
        timeouts: sender.statistics().timeouts,
        report: Report::between(warm.as_ref(), &report),
    }
}

fn transmit(
    sender: &mut Sender,
    mesh: &mut Mesh,
    segments: &mut HashMap<u32, Segment>,
    id: &mut u32,
    now: SimTime,
    last: Port,
) {
    while let Some(segment) = sender.poll_transmit(now) {
        *id += 1;
        let parcel = Parcel::new(*id, 0, PACKET_BYTES);
        if mesh.push(now, 0, last, parcel) == Push::Accepted {
            segments.insert(*id, segment);
        }
    }
}

/// TCP goodput in Mbit/s of each of `runs` runs.
pub(crate) fn runs_mbps(config: &MeshConfig, window: u32, runs: u64, seconds: u64) -> Runs {
    Runs::of(runs, |run| {
        let seed = RunSeed { seed: 1, run };
        let warmup = SimTime::from_millis(2_000);
        run_once(config, window, seed, warmup, SimTime::from_millis(1000 * seconds)) / 1e6
    })
}

/// Mean TCP goodput over runs and its standard error, both in Mbit/s.
pub(crate) fn mean_mbps(config: &MeshConfig, window: u32, runs: u64, seconds: u64) -> (f64, f64) {
    let runs = runs_mbps(config, window, runs, seconds);
    (runs.mean(), runs.error())
}

fn run_once(config: &MeshConfig, window: u32, seed: RunSeed, warmup: SimTime, duration: SimTime) -> f64 {
    run(config.clone(), window, seed, warmup, duration).ip_goodput_bps
}

/// Rows of a file of golden cells: hops, window limit, goodput and standard error in Mbit/s.
pub(crate) fn cells(text: &str) -> Vec<(usize, u32, f64, f64)> {
    let cell = |line: &str| {
        let fields: Vec<&str> = line.split(',').collect();
        let number = |i: usize| fields[i].parse::<f64>().unwrap();
        (number(0) as usize, number(1) as u32, number(2), number(3))
    };
    text.lines().skip(1).map(cell).collect()
}

/// Simulates sources that always have three packets in the mesh; returns the counters after the warm-up.
pub(crate) fn saturate(
    config: MeshConfig,
    flows: &[(Port, Port)],
    bytes: u32,
    seed: RunSeed,
    warmup: SimTime,
    duration: SimTime,
) -> Report {
    let mut mesh = Mesh::new(config, seed).unwrap();
    let push = |mesh: &mut Mesh, now: SimTime, flow: u32| {
        let (from, to) = flows[flow as usize];
        mesh.push(now, from, to, Parcel::new(0, flow, bytes))
    };
    for flow in 0..flows.len() as u32 {
        for _ in 0..3 {
            assert_eq!(push(&mut mesh, SimTime::ZERO, flow), Push::Accepted);
        }
    }
    let mut warm = None;
    while let Some(now) = mesh.next_event().filter(|now| *now <= warmup + duration) {
        if warm.is_none() && now >= warmup {
            warm = Some(mesh.report(warmup));
        }
        while let Some((_, departure)) = mesh.advance(now) {
            push(&mut mesh, now, departure.parcel().flow());
        }
    }
    Report::between(warm.as_ref(), &mesh.report(warmup + duration))
}

/// Star of stations on a circle around node 0, all within range of each other.
pub(crate) fn star(stations: usize, rts: bool) -> MeshConfig {
    let mut stream = RunSeed { seed: 0, run: 0 }.stream("mac.topology");
    MeshConfig {
        positions: Topology::Star { stations, spacing_m: 100.0 }.positions(&mut stream).unwrap(),
        routing: Routing::ShortestPath,
        dcf: DcfConfig { rts, ..DcfConfig::default() },
        ..chain(1, 250.0, Mac::Plain)
    }
}

/// Simulates packets from node 0 to the last at a constant rate, without TCP; returns the counters after the warm-up.
pub(crate) fn constant_rate(
    config: MeshConfig,
    rate_bps: f64,
    seed: RunSeed,
    warmup: SimTime,
    duration: SimTime,
) -> Report {
    let last = config.positions.len() as Port - 1;
    let mut mesh = Mesh::new(config, seed).unwrap();
    let (gap, mut next, mut warm) = (SimTime::to_transmit(PACKET_BYTES, rate_bps), SimTime::ZERO, None);
    loop {
        let now = mesh.next_event().map_or(next, |at| at.min(next));
        if warm.is_none() && now >= warmup {
            warm = Some(mesh.report(warmup));
        }
        if now > warmup + duration {
            return Report::between(warm.as_ref(), &mesh.report(warmup + duration));
        }
        while mesh.advance(now).is_some() {}
        if next <= now {
            mesh.push(now, 0, last, Parcel::new(0, 0, PACKET_BYTES));
            next += gap;
        }
    }
}
