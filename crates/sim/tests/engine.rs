//! The engine advanced in steps, packets that enter it from outside, and the events of its links.

use crate::topologies::{MS, flow, hop, iid, network, run, tcp};
use crossfade_core::{RunSeed, SimTime};
use crossfade_link::arq::{
    ArqLinkConfig, ArqProtocol, FrameClock, FrameHeader, LossyFrames, Packing, ReverseConfig, RlpNackConfig,
    SegmentationConfig, SoftBufferConfig,
};
use crossfade_link::{
    Departure, Fabric, HopConfig, LinkConfig, LinkEvent, Parcel, Port, Push, QueueChange, QueueConfig,
    QueueLimit, RedConfig, Verdict,
};
use crossfade_sim::{
    Distribution, Engine, FlowPath, Gaps, Leg, Network, NetworkStatistics, OnOff, Passage, Source, StopRule,
    Topology,
};
use proptest::prelude::*;

/// Network of two lossy links in series with different queues, and one back; a TCP flow and a source of datagrams.
fn busy() -> Network {
    let red = RedConfig { ecn: true, ..RedConfig::new(QueueLimit::Packets(60), 1000, 8e6) };
    let (queue, draws) = (QueueConfig::Red(red), RunSeed { seed: 7, run: 0 }.stream("queue.dl"));
    let loss = iid(0.01, "channel.dl");
    let second = LinkConfig { rate_bps: Some(8e6), delay: MS * 3, queue, draws, loss };
    let first = HopConfig {
        rate_bps: Some(10e6),
        delay: MS * 7,
        queue_limit: Some(QueueLimit::Packets(30)),
        loss: iid(0.005, "channel.wired"),
    };
    let forward = vec![first.into(), second.try_into().unwrap()];
    let steady = Source::Udp(OnOff {
        rate_bps: 3e6,
        on_s: Distribution::Fixed(1.0),
        off_s: None,
        gaps: Gaps::Periodic,
    });
    let access = FlowPath { sender_access: MS * 2, ..FlowPath::default() };
    let flows = vec![flow(tcp(None), access), flow(steady, FlowPath::default())];
    let topology = Topology::path(forward, vec![hop(Some(1e6), MS * 10)]);
    network(topology, flows, StopRule::At(MS * 20_000))
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(ProptestConfig::default().cases / 16))]

    /// The outcome does not depend on the size of steps, by events or by time, even across times without events.
    #[test]
    fn portions_change_nothing(
        portions in prop::collection::vec((any::<bool>(), 1_u32..5_000), 1..40), warmup in 0_u64..3_000,
    ) {
        let build = || Network { warmup: MS * warmup, ..busy() };
        let expected = run(build());
        let mut engine = Engine::new(build(), None, None).unwrap();
        let mut now = SimTime::ZERO;
        for &(by_time, much) in portions.iter().cycle() {
            if by_time {
                now += SimTime::from_micros(u64::from(much) * 17);
                engine.advance(now);
                prop_assert!(engine.next_event().is_none_or(|at| at > now));
            } else if !engine.step(much) {
                break;
            }
            if engine.next_event().is_none() {
                break;
            }
        }
        prop_assert_eq!(engine.into_statistics(), expected);
    }
}

/// Network of [`busy`] in which packets from outside can pass forward and in reverse.
fn with_passages() -> Network {
    let mut network = busy();
    let back = vec![Leg::link(2)];
    network.topology.routes.push(back);
    network.passages =
        vec![Passage { from: 0, to: 1, route: Topology::DATA }, Passage { from: 1, to: 0, route: 2 }];
    network.stop = StopRule::At(SimTime::MAX);
    network
}

/// A call to a fabric, with its result.
#[derive(Clone, Copy, Debug, PartialEq)]
enum Entry {
    Push(SimTime, Port, Parcel, Push),
    Departure(SimTime, Port, Departure),
}

/// Adds to `journal` the packets that leave a fabric by `until`.
fn collect(fabric: &mut dyn Fabric, until: SimTime, journal: &mut Vec<Entry>) {
    while let Some(at) = fabric.next_event().filter(|&at| at <= until) {
        while let Some((port, departure)) = fabric.advance(at) {
            journal.push(Entry::Departure(at, port, departure));
        }
    }
}

/// Lets packets of 700 bytes enter a fabric at `times`, beside its simulated flows; returns all calls with their
/// results.
fn drive(fabric: &mut dyn Fabric, times: &[SimTime], polls: impl Fn(usize) -> bool) -> Vec<Entry> {
    let mut journal = Vec::new();
    for (i, &now) in times.iter().enumerate() {
        if polls(i) {
            collect(fabric, now, &mut journal);
        }
        let from = (i % 2) as Port;
        let parcel = Parcel::new(i as u32, 99, 700);
        let push = fabric.push(now, from, 1 - from, parcel);
        journal.push(Entry::Push(now, from, parcel, push));
    }
    collect(fabric, times[times.len() - 1] + MS * 2000, &mut journal);
    journal
}

#[test]
fn packets_from_outside_meet_the_same_fate_again() {
    let times: Vec<SimTime> = (0..2000_u64).map(|i| SimTime::from_micros(3_700) * i).collect();
    let engine = || -> Box<dyn Fabric + Send> { Box::new(Engine::new(with_passages(), None, None).unwrap()) };
    assert_eq!(engine().ports(), 2);
    let mut live = engine();
    let journal = drive(&mut *live, &times, |_| true);
    // Replayed: what was pushed, when it was pushed.
    let mut replayed = Vec::new();
    let mut again = engine();
    for entry in &journal {
        match *entry {
            Entry::Push(now, from, parcel, _) => {
                collect(&mut *again, now, &mut replayed);
                let push = again.push(now, from, 1 - from, parcel);
                replayed.push(Entry::Push(now, from, parcel, push));
            }
            Entry::Departure(at, ..) => collect(&mut *again, at, &mut replayed),
        }
    }
    assert_eq!(replayed, journal);
    // Each packet leaves once, as it was, at the port that it was bound for; some are lost on the way.
    let mut left = vec![0; times.len()];
    let mut lost = 0;
    for entry in &journal {
        match *entry {
            Entry::Push(_, _, parcel, push) => {
                left[parcel.id() as usize] += u32::from(push != Push::Accepted);
            }
            Entry::Departure(_, port, departure) => {
                let parcel = departure.parcel();
                assert_eq!(parcel, Parcel::new(parcel.id(), 99, 700));
                assert_eq!(port, 1 - parcel.id() % 2);
                left[parcel.id() as usize] += 1;
                lost += u32::from(!matches!(departure, Departure::Arrived(_)));
            }
        }
    }
    assert!(left.iter().all(|&times| times == 1));
    assert!((4..400).contains(&lost), "{lost}");
    let end = times[times.len() - 1] + MS * 2000;
    let counted = live.report(end).statistics;
    assert_eq!(counted.transmissions, 2000);
    assert_eq!(counted.arrivals + counted.losses + counted.queue_drops, 2000);
    // Looked at seldom, every packet still meets its fate: only the times at which it is told are later.
    let fates = |journal: &[Entry]| {
        let mut fates: Vec<(u32, Departure)> = journal
            .iter()
            .filter_map(|entry| match entry {
                Entry::Departure(_, _, departure) => Some((departure.parcel().id(), *departure)),
                Entry::Push(..) => None,
            })
            .collect();
        fates.sort_by_key(|(id, _)| *id);
        fates
    };
    assert_eq!(fates(&drive(&mut *engine(), &times, |i| i % 7 == 0)), fates(&journal));
}

#[test]
fn simulated_flows_share_links_with_packets_from_outside() {
    let alone = {
        let mut engine = Engine::new(with_passages(), None, None).unwrap();
        engine.advance(MS * 10_000);
        engine.into_statistics()
    };
    let mut engine = Engine::new(with_passages(), None, None).unwrap();
    for i in 0..10_000 {
        engine.push(MS * i, 0, 1, Parcel::new(0, 99, 500));
        while engine.poll().is_some() {}
    }
    engine.advance(MS * 10_000);
    let shared = engine.into_statistics();
    let delivered = |statistics: &NetworkStatistics| statistics.flows[0].segments_in_order;
    assert!(delivered(&shared) < delivered(&alone), "4 Mbit/s more: {}", delivered(&shared));
    let sent: u64 = shared.flows.iter().map(|flow| flow.segments_sent).sum();
    let first = &shared.link("forward.0").unwrap().counts;
    let met = first.transmissions + first.queue_drops;
    assert!(met.abs_diff(10_000 + sent) <= 20, "{met} and {sent}: a window may be on its way to the link");
    // Nobody leads from port 0 to port 0.
    let mut engine = Engine::new(with_passages(), None, None).unwrap();
    assert_eq!(engine.push(MS, 0, 0, Parcel::new(0, 0, 500)), Push::QueueDrop);
}

#[test]
fn links_tell_what_happened_inside() {
    let mut engine = Engine::new(busy(), None, None).unwrap();
    engine.advance(MS * 500);
    assert!(engine.link_events().is_empty(), "nobody has asked");
    engine.trace_links(true);
    engine.advance(MS * 5_000);
    let events = engine.link_events();
    engine.trace_links(false);
    while engine.step(1000) {}
    let names = engine.link_names().to_vec();
    assert_eq!(names, ["forward.0", "forward.1", "reverse"]);
    assert!(events.is_sorted_by_key(|(_, event)| event.at()));
    let statistics = engine.into_statistics();
    assert_eq!(statistics, run(busy()), "looking changes nothing");
    let mut traced = Engine::new(busy(), None, None).unwrap();
    traced.trace_links(true);
    while traced.step(777) {}
    let events = traced.link_events();
    let statistics = traced.into_statistics();
    for (place, link) in (0..).zip(&statistics.links) {
        let count = |is: &dyn Fn(&LinkEvent) -> bool| {
            events.iter().filter(|(medium, event)| *medium == place && is(event)).count() as u64
        };
        let frames = count(&|event| matches!(event, LinkEvent::Frame { .. }));
        let lost = count(&|event| matches!(event, LinkEvent::Frame { verdict: Verdict::Lost, .. }));
        let changed = |change: QueueChange| {
            count(&|event| matches!(event, LinkEvent::Queue { change: what, .. } if *what == change))
        };
        let counts = &link.counts;
        // The run may end while one is being sent.
        let under_way = (frames - counts.transmissions, lost - counts.losses);
        assert!(under_way.1 <= under_way.0 && under_way.0 <= 1, "{}: {under_way:?}", link.name);
        assert_eq!(changed(QueueChange::Dropped), counts.queue_drops, "{}", link.name);
        assert_eq!(changed(QueueChange::Marked), counts.ecn_marks, "{}", link.name);
    }
}

#[test]
fn a_link_with_frames_tells_of_each() {
    let config = ArqLinkConfig {
        rate_bps: 4e6,
        frame_size: 125,
        clock: FrameClock::OnDemand,
        delay: MS * 2,
        segmentation: SegmentationConfig {
            payload: 110,
            packing: Packing::Padded,
            framing: 0,
            header_compression: None,
        },
        header: FrameHeader::Lost,
        soft_buffer: SoftBufferConfig::default(),
        reverse: ReverseConfig::ideal(MS * 2),
        protocol: ArqProtocol::RlpNack(RlpNackConfig::new(3, MS)),
    };
    let [draws, feedback] = ["queue.dl", "feedback.dl"].map(|name| RunSeed { seed: 1, run: 0 }.stream(name));
    let queue = QueueConfig::DropTail(Some(QueueLimit::Packets(20)));
    let link = config.build(queue, draws, LossyFrames { loss: iid(0.1, "channel.dl") }, feedback).unwrap();
    let topology = Topology::path(vec![link.into()], vec![hop(None, MS * 2)]);
    let stop = StopRule::At(MS * 5_000);
    let network = network(topology, vec![flow(tcp(None), FlowPath::default())], stop);
    let mut engine = Engine::new(network, None, None).unwrap();
    engine.trace_links(true);
    while engine.step(1000) {}
    let events = engine.link_events();
    let arq = engine.into_statistics().links[0].arq.clone().unwrap();
    let of_link: Vec<&LinkEvent> =
        events.iter().filter(|(medium, _)| *medium == 0).map(|(_, event)| event).collect();
    let count = |is: &dyn Fn(u32, Verdict) -> bool| {
        let matches = |event: &&&LinkEvent| match event {
            LinkEvent::Frame { attempt, verdict, .. } => is(*attempt, *verdict),
            _ => false,
        };
        of_link.iter().filter(matches).count() as u64
    };
    // What is on the air at the end has not been told: 2 ms of frames of 0.25 ms, and the one being sent.
    let told = |told: u64, sent: u64| assert!(told <= sent && sent <= told + 9, "{told} of {sent}");
    told(count(&|_, _| true), arq.frames + arq.retransmissions + arq.idle_frames);
    told(count(&|attempt, _| attempt > 0), arq.retransmissions);
    let spoiled = count(&|_, verdict| verdict != Verdict::Good);
    assert!(spoiled + 9 >= arq.frame_errors && spoiled <= arq.frame_errors + arq.idle_frames);
    assert!(arq.retransmissions > 100);
}

/// The sum of delays does not overflow: 64 bits of nanoseconds hold 584 years, less than the delays of all packets in a
/// long queue.
#[test]
fn the_sum_of_delays_does_not_wrap() {
    // A delay of a day for each of 320,000 packets: 27.6 billion seconds, 18.4 are 2^64 ns.
    let (on_s, off_s) = (Distribution::Fixed(8.0), Some(Distribution::Fixed(1e6)));
    let burst = Source::Udp(OnOff { rate_bps: 40e6, on_s, off_s, gaps: Gaps::Periodic });
    let path = FlowPath { packet_size: 125, ..FlowPath::default() };
    let topology = Topology::path(vec![hop(None, MS * 86_400_000)], vec![hop(None, MS)]);
    let mut network = network(topology, vec![flow(burst, path)], StopRule::At(MS * 86_408_000));
    network.measures_delays = false;
    let statistics = run(network);
    let flow = &statistics.flows[0];
    assert!(flow.segments_received > 300_000);
    let mean = flow.one_way_delay_sum_s / flow.segments_received as f64;
    assert!((mean - 86_400.0).abs() < 1e-3, "{mean}");
}
