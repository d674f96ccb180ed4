//! Invariants of meshes over random topologies, media access and traffic: each packet leaves once, time adds up,
//! statistics match the trace, and runs are reproducible.

use crate::common::sinr;
use crossfade_core::{RunSeed, SimTime};
use crossfade_link::{Departure, Fabric, LinkEvent, NodeStatistics, Parcel, Port, Push};
use crossfade_mac::{
    DcfConfig, Knowledge, Mac, Mesh, MeshConfig, NullingConfig, NullingRule, Overload, Reception, Routing,
    Topology,
};
use proptest::prelude::*;
use std::collections::HashMap;

fn any_mac() -> impl Strategy<Value = Mac> {
    let array =
        (2usize..5, any::<bool>(), any::<bool>(), any::<bool>(), any::<bool>(), any::<bool>(), any::<bool>());
    let nulling = array.prop_map(|(antennas, full, defer, overheard, sticky, errors, changes)| {
        Mac::Nulling(NullingConfig {
            antennas,
            rule: if full { NullingRule::Full } else { NullingRule::Paper },
            overload: if defer { Overload::Defer } else { Overload::LeastSquares },
            knowledge: if overheard { Knowledge::Overheard } else { Knowledge::Perfect },
            sticky,
            estimation_error_db: errors.then_some(-15.0),
            coherence_time: changes.then_some(SimTime::from_millis(5)),
        })
    });
    prop_oneof![Just(Mac::Plain), nulling]
}

fn any_mesh() -> impl Strategy<Value = MeshConfig> {
    let reception = prop_oneof![Just(Reception::Range), Just(sinr(3.0, 0.0)), Just(sinr(2.5, 4.0))];
    (2usize..14, any::<u64>(), any_mac(), reception, 1.0..2.0, 1usize..4, any::<bool>()).prop_map(
        |(nodes, place, mac, reception, wider, queue, rts)| {
            let mut stream = RunSeed { seed: place, run: 0 }.stream("mac.topology");
            MeshConfig {
                positions: Topology::Random { nodes, spacing_m: 150.0 }.positions(&mut stream).unwrap(),
                routing: Routing::ShortestPath,
                range_m: 250.0,
                interference_m: 250.0 * wider,
                reception,
                sinr_threshold_db: 10.0,
                dcf: DcfConfig { rts: rts || mac != Mac::Plain, ..DcfConfig::default() },
                mac,
                queue,
            }
        },
    )
}

#[derive(Clone, Copy, Debug)]
struct Frame {
    node: u16,
    kind: &'static str,
    to: u16,
    start: SimTime,
    end: SimTime,
}

fn frames(mesh: &mut Mesh) -> Vec<Frame> {
    let next = || mesh.next_trace();
    std::iter::from_fn(next)
        .filter_map(|event| match event {
            LinkEvent::Air { at, end, node, kind, to, .. } => Some(Frame { node, kind, to, start: at, end }),
            _ => None,
        })
        .collect()
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(ProptestConfig::default().cases / 4))]

    #[test]
    fn packets_leave_once_and_time_adds_up(
        config in any_mesh(),
        run: u64,
        pushes in prop::collection::vec((0u64..300_000, 0u32..14, 0u32..14, 1u32..2313), 1..120),
    ) {
        let nodes = config.positions.len() as Port;
        let seed = RunSeed { seed: 1, run };
        let mut mesh = Mesh::new(config.clone(), seed).unwrap();
        mesh.trace(true);
        let mut pushes = pushes;
        pushes.sort_unstable();
        let mut under_way: HashMap<u32, Port> = HashMap::new();
        let (mut departures, mut last_now, mut refused, mut unroutable) = (Vec::new(), SimTime::ZERO, 0, 0);
        let mut pushes = (1..).zip(pushes.into_iter()).peekable();
        // Until no event is pending: a deadlock would leave packets behind.
        loop {
            let push_at = pushes.peek().map(|(_, (at, ..))| SimTime::from_micros(*at));
            let Some(now) = [mesh.next_event(), push_at].into_iter().flatten().min() else { break };
            prop_assert!(now >= last_now, "time goes back");
            last_now = now;
            while let Some((port, departure)) = mesh.advance(now) {
                prop_assert_eq!(under_way.remove(&departure.parcel().id()), Some(port), "{:?} was not under way", departure);
                departures.push(departure);
            }
            while let Some((id, (_, from, to, bytes))) =
                pushes.next_if(|(_, (at, ..))| SimTime::from_micros(*at) <= now)
            {
                let (from, to) = (from % nodes, to % nodes);
                match mesh.push(now, from, to, Parcel::new(id, 0, bytes)) {
                    Push::Accepted => prop_assert_eq!(under_way.insert(id, to), None),
                    Push::QueueDrop => refused += 1,
                    Push::Lost => {
                        unroutable += 1;
                        prop_assert!(from == to || mesh.routes().hops(from as usize, to as usize).is_err());
                    }
                }
            }
        }
        prop_assert!(under_way.is_empty(), "left behind: {:?}", under_way);

        let end = last_now + SimTime::from_micros(17);
        let report = mesh.report(end);
        let sum = |count: fn(&NodeStatistics) -> u64| report.nodes.iter().map(count).sum::<u64>();
        for node in &report.nodes {
            prop_assert_eq!(node.transmit + node.receive + node.busy + node.idle, end);
        }
        // Each departure has its cause in the statistics.
        let arrived = departures.iter().filter(|departure| matches!(departure, Departure::Arrived(_))).count() as u64;
        let lost = departures.iter().filter(|departure| matches!(departure, Departure::Lost(_))).count() as u64;
        let dropped = departures.len() as u64 - arrived - lost;
        prop_assert_eq!(arrived, sum(|node| node.packets_delivered));
        prop_assert_eq!(lost, sum(|node| node.rts_drops + node.data_drops - node.forwarded_after_all));
        prop_assert_eq!(dropped + refused, sum(|node| node.queue_drops));
        let all = &report.statistics;
        prop_assert_eq!((arrived, lost, dropped + refused), (all.arrivals, all.losses, all.queue_drops));
        prop_assert!(all.transmissions >= arrived + lost);
        prop_assert!(unroutable + refused + departures.len() as u64 <= 120);

        // Statistics match the trace.
        let frames = frames(&mut mesh);
        prop_assert!(frames.is_sorted_by_key(|frame| frame.start));
        for (node, statistics) in report.nodes.iter().enumerate() {
            let own: Vec<&Frame> = frames.iter().filter(|frame| frame.node == node as u16).collect();
            let airtime: SimTime = own.iter().map(|frame| frame.end - frame.start).sum();
            prop_assert_eq!(airtime, statistics.transmit);
            prop_assert!(own.windows(2).all(|pair| pair[0].end <= pair[1].start), "two frames at once");
        }
        // A node answers only a frame during which it did not transmit.
        let sifs = DcfConfig::default().sifs;
        for answer in &frames {
            let asked = match answer.kind {
                "cts" => "rts",
                "data" if config.dcf.rts => "cts",
                "ack" => "data",
                _ => continue,
            };
            let question = frames.iter().find(|frame| {
                (frame.kind, frame.node, frame.to) == (asked, answer.to, answer.node) && frame.end + sifs == answer.start
            });
            prop_assert!(question.is_some(), "{:?} answers nothing", answer);
            let question = question.unwrap();
            let deaf = |frame: &&Frame| {
                frame.node == answer.node && frame.start < question.end && frame.end > question.start
            };
            prop_assert!(!frames.iter().any(|frame| deaf(&frame)), "{:?} heard while sending", question);
        }
    }

    #[test]
    fn the_same_seed_gives_the_same_and_another_does_not(config in any_mesh(), run: u64) {
        let trace = |run| {
            let mut mesh = Mesh::new(config.clone(), RunSeed { seed: 1, run }).unwrap();
            mesh.trace(true);
            let nodes = config.positions.len() as Port;
            for (id, from) in (0..).zip((0..nodes).cycle().take(40)) {
                mesh.push(SimTime::ZERO, from, (from + 1) % nodes, Parcel::new(id, 0, 500));
            }
            while let Some(now) = mesh.next_event() {
                while mesh.advance(now).is_some() {}
            }
            std::iter::from_fn(|| mesh.next_trace()).collect::<Vec<_>>()
        };
        let first = trace(run);
        prop_assert_eq!(&first, &trace(run));
        // A single sender of two packets draws two backoffs, which are equal for one seed in 1024.
        let differs = (1..8).any(|other| first != trace(run.wrapping_add(other)));
        let sends = first.iter().any(|event| matches!(event, LinkEvent::Air { .. }));
        prop_assert!(!sends || differs);
    }
}
