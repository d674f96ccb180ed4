//! An engine that goes on by portions, packets that enter it from outside, and media that everybody shares.

use crossfade_channel::{Iid, LossProcess, Lossless};
use crossfade_core::{RunSeed, SimTime};
use crossfade_link::arq::{
    ArqLinkConfig, ArqProtocol, FrameClock, FrameHeader, LossyFrames, Packing, ReverseConfig, RlpNackConfig,
    SegmentationConfig, SoftBufferConfig,
};
use crossfade_link::{
    Departure, EventLog, Fabric, HopConfig, Link, LinkConfig, LinkEvent, LinkReport, LinkStatistics,
    Occupancy, Parcel, PointToPoint, Port, Push, Queue, QueueChange, QueueLimit, RedConfig, Verdict,
};
use crossfade_sim::{
    AnyLink, Distribution, Engine, FlowConfig, FlowPath, Gaps, Leg, Medium, Network, NetworkStatistics,
    OnOff, Passage, SenderGate, Source, StopRule, Tcp, Topology, simulate,
};
use crossfade_transport::{Flavour, RfcConfig, RtoConfig, RtoRule, TcpConfig, Variant};
use proptest::prelude::*;
use std::collections::VecDeque;
use std::sync::atomic::AtomicBool;

const MS: SimTime = SimTime::from_millis(1);

fn tcp(segments: Option<u64>) -> Source {
    let config = TcpConfig {
        flavour: Flavour::Rfc,
        variant: Variant::Sack,
        w_max: 20,
        initial_window: 1.0,
        initial_ssthresh: 20.0,
        dupthresh: 3,
        limited_transmit: true,
        rto: RtoConfig {
            rule: RtoRule::Estimated { min: MS * 200, initial: MS * 1000, granularity: MS },
            backoff: true,
            max: MS * 60_000,
        },
        segments,
        rfc: RfcConfig::default(),
    };
    Source::Tcp(Tcp { config, congestion: None })
}

fn flow(source: Source, path: FlowPath) -> FlowConfig {
    FlowConfig { name: String::new(), source, path, start: SimTime::ZERO }
}

fn iid(p_e: f64, name: &str) -> Box<dyn LossProcess> {
    Box::new(Iid::new(p_e, RunSeed { seed: 7, run: 0 }.stream(name)).unwrap())
}

fn network(topology: Topology, flows: Vec<FlowConfig>, stop: StopRule) -> Network {
    Network {
        flows,
        arrivals: Vec::new(),
        topology,
        passages: Vec::new(),
        gate: SenderGate::Queue,
        measures_delays: true,
        warmup: SimTime::ZERO,
        stop,
        seed: RunSeed { seed: 7, run: 0 },
    }
}

fn run(network: Network) -> NetworkStatistics {
    simulate(network, (), (), &AtomicBool::new(false)).unwrap()
}

fn hop(rate_bps: Option<f64>, delay: SimTime) -> AnyLink {
    HopConfig { rate_bps, delay, queue_limit: None, loss: Box::new(Lossless) }.into()
}

/// Two lossy links in series with queues of their own kind, and back; a TCP flow and a source of datagrams.
fn busy() -> Network {
    let red = RedConfig { ecn: true, ..RedConfig::new(QueueLimit::Packets(60), 1000, 8e6) };
    let queue = Queue::Red(red, RunSeed { seed: 7, run: 0 }.stream("queue.dl"));
    let second = LinkConfig { rate_bps: Some(8e6), delay: MS * 3, queue, loss: iid(0.01, "channel.dl") };
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

    /// Whatever the portions, by events or by time, also across times at which nothing happens.
    #[test]
    fn portions_change_nothing(
        portions in prop::collection::vec((any::<bool>(), 1_u32..5_000), 1..40), warmup in 0_u64..3_000,
    ) {
        let build = || Network { warmup: MS * warmup, ..busy() };
        let expected = run(build());
        let mut engine = Engine::new(build(), (), ()).unwrap();
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

/// Two links in series, one each way, for flows and for packets from outside.
fn with_passages() -> Network {
    let mut network = busy();
    let back = vec![Leg::link(2)];
    network.topology.routes.push(back);
    network.passages =
        vec![Passage { from: 0, to: 1, route: Topology::DATA }, Passage { from: 1, to: 0, route: 2 }];
    network.stop = StopRule::At(SimTime::MAX);
    network
}

/// What passes between a fabric and whoever drives it.
#[derive(Clone, Copy, Debug, PartialEq)]
enum Entry {
    Push(SimTime, Port, Parcel, Push),
    Departure(SimTime, Port, Departure),
}

/// Drives a fabric: what leaves it by `until`.
fn collect(fabric: &mut dyn Fabric, until: SimTime, journal: &mut Vec<Entry>) {
    while let Some(at) = fabric.next_event().filter(|&at| at <= until) {
        while let Some((port, departure)) = fabric.advance(at) {
            journal.push(Entry::Departure(at, port, departure));
        }
    }
}

/// Packets of 700 bytes enter beside simulated flows, here and there.
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
    let engine = || -> Box<dyn Fabric + Send> { Box::new(Engine::new(with_passages(), (), ()).unwrap()) };
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
        let mut engine = Engine::new(with_passages(), (), ()).unwrap();
        engine.advance(MS * 10_000);
        engine.into_statistics()
    };
    let mut engine = Engine::new(with_passages(), (), ()).unwrap();
    for i in 0..10_000 {
        engine.inject(MS * i, 0, 1, Parcel::new(0, 99, 500));
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
    let mut engine = Engine::new(with_passages(), (), ()).unwrap();
    assert_eq!(engine.inject(MS, 0, 0, Parcel::new(0, 0, 500)), Push::QueueDrop);
}

/// A half-duplex radio channel: one packet at a time, whoever sends, in the order in which they came.
struct HalfDuplex {
    rate_bps: f64,
    loss: Box<dyn LossProcess>,
    free_at: SimTime,
    on_the_air: VecDeque<(SimTime, Port, Departure)>,
    statistics: LinkStatistics,
    log: EventLog,
}

impl HalfDuplex {
    const STATIONS: Port = 3;

    fn new(rate_bps: f64, loss: Box<dyn LossProcess>) -> Self {
        let (statistics, log) = (LinkStatistics::default(), EventLog::default());
        Self { rate_bps, loss, free_at: SimTime::ZERO, on_the_air: VecDeque::new(), statistics, log }
    }
}

impl Fabric for HalfDuplex {
    fn ports(&self) -> Port {
        Self::STATIONS
    }

    fn push(&mut self, now: SimTime, from: Port, to: Port, parcel: Parcel) -> Push {
        assert!(from != to && from < Self::STATIONS && to < Self::STATIONS);
        let start = self.free_at.max(now);
        let end = start + SimTime::to_transmit(parcel.bytes(), self.rate_bps);
        let frame = self.statistics.transmissions;
        self.log.push(|| LinkEvent::Air {
            at: start,
            end,
            node: from as u16,
            frame,
            kind: "data",
            to: to as u16,
            nulls: Vec::new(),
        });
        self.free_at = end;
        self.statistics.transmissions += 1;
        self.statistics.transmitted_bytes += u64::from(parcel.bytes());
        let is_lost = self.loss.lost(start, frame);
        let departure = if is_lost { Departure::Lost(parcel) } else { Departure::Arrived(parcel) };
        self.on_the_air.push_back((end, to, departure));
        Push::Accepted
    }

    fn next_event(&self) -> Option<SimTime> {
        self.on_the_air.front().map(|(at, ..)| *at)
    }

    fn advance(&mut self, now: SimTime) -> Option<(Port, Departure)> {
        self.next_event().filter(|&at| at <= now)?;
        let (_, port, departure) = self.on_the_air.pop_front()?;
        match departure {
            Departure::Arrived(_) => self.statistics.arrivals += 1,
            _ => self.statistics.losses += 1,
        }
        Some((port, departure))
    }

    fn report(&mut self, now: SimTime) -> LinkReport {
        let to_send = self.free_at.saturating_sub(now);
        let occupancy = Occupancy::Packets { rate_bps: self.rate_bps, to_send };
        LinkReport::new(now, self.statistics.clone(), occupancy)
    }

    fn trace(&mut self, keep: bool) {
        self.log.keep(keep);
    }

    fn next_trace(&mut self) -> Option<LinkEvent> {
        self.log.pop()
    }
}

/// Three stations share a channel; station 1 relays from 0 to 2.
fn multihop(loss: Box<dyn LossProcess>, flows: Vec<FlowConfig>, stop: StopRule) -> Network {
    let air = Medium::Fabric(Box::new(HalfDuplex::new(8e6, loss)));
    let leg = |from, to| Leg { medium: 0, from, to };
    let topology = Topology {
        media: vec![air.named("air"), Medium::Link(hop(Some(80e6), MS)).named("wire")],
        routes: vec![
            vec![leg(0, 1), leg(1, 2)],
            vec![leg(2, 1), leg(1, 0)],
            // Behind the relay lies a wire.
            vec![leg(0, 1), Leg::link(1)],
            vec![leg(1, 0)],
        ],
    };
    network(topology, flows, stop)
}

#[test]
fn data_and_acknowledgements_share_a_medium() {
    let relayed = flow(tcp(None), FlowPath::default());
    let network = multihop(Box::new(Lossless), vec![relayed], StopRule::At(MS * 11_000));
    // The first acknowledgement is delayed by 200 ms.
    let statistics = run(Network { warmup: MS * 1000, ..network });
    let air = statistics.link("air").unwrap();
    // Delayed acknowledgements: 2.08 packets on the air, twice, for two segments. All of it is used.
    assert!(air.utilisation.unwrap() > 0.99, "{air:?}");
    let flow = &statistics.flows[0];
    let sent = flow.segments_sent + flow.acks_sent;
    assert!(air.counts.transmissions.abs_diff(2 * sent) < 40);
    let segments = 10e3 / (2.0 + 2.0 * 0.04 / 2.0);
    assert!((flow.segments_in_order as f64 / segments - 1.0).abs() < 0.02, "{}", flow.segments_in_order);
}

#[test]
fn a_shared_medium_loses_of_everybody_and_everything_is_accounted_for() {
    let way = |data, acks| FlowPath { data, acks, ..FlowPath::default() };
    let flows = vec![flow(tcp(Some(200)), way(0, 1)), flow(tcp(Some(200)), way(2, 3))];
    let build = || multihop(iid(0.05, "channel.air"), flows.clone(), StopRule::At(MS * 600_000));
    let statistics = run(build());
    let air = statistics.link("air").unwrap();
    let lost: u64 = statistics.flows.iter().map(|flow| flow.segments_lost + flow.acks_lost).sum();
    assert_eq!(lost, air.counts.losses);
    assert!(statistics.flows.iter().any(|flow| flow.acks_lost > 0), "acknowledgements are lost too");
    for flow in &statistics.flows {
        assert_eq!(flow.segments_in_order, 200);
        assert_eq!(flow.segments_received + flow.segments_lost, flow.segments_sent);
        assert_eq!(flow.acks_received + flow.acks_lost, flow.acks_sent);
    }
    let over_the_wire = statistics.link("wire").unwrap().counts.arrivals;
    assert_eq!(over_the_wire, statistics.flows[1].segments_received);
    assert_eq!(run(build()), statistics);
}

/// A link that two flows use in opposite directions, for data and for acknowledgements, is one link.
#[test]
fn two_way_traffic_meets_on_one_link() {
    let build = |both: bool| {
        let topology = Topology::path(vec![hop(Some(8e6), MS * 5)], vec![hop(Some(8e6), MS * 5)]);
        let there = flow(tcp(None), FlowPath::default());
        let back = flow(tcp(None), FlowPath { data: 1, acks: 0, ..FlowPath::default() });
        let flows = if both { vec![there, back] } else { vec![there] };
        network(topology, flows, StopRule::At(MS * 30_000))
    };
    let (alone, both) = (run(build(false)), run(build(true)));
    for link in ["forward", "reverse"] {
        let counts = |statistics: &NetworkStatistics| statistics.link(link).unwrap().counts.transmissions;
        assert!(counts(&both) > counts(&alone));
    }
    let [first, second] = &both.flows[..] else { panic!("two flows") };
    assert!(first.segments_in_order.abs_diff(second.segments_in_order) < 200, "they are each other's mirror");
    let forward = both.link("forward").unwrap();
    assert!(forward.counts.transmissions.abs_diff(first.segments_sent + second.acks_sent) < 5);
}

#[test]
fn links_tell_what_happened_inside() {
    let mut engine = Engine::new(busy(), (), ()).unwrap();
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
    let mut traced = Engine::new(busy(), (), ()).unwrap();
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
        assert_eq!((frames, lost), (counts.transmissions, counts.losses), "{}", link.name);
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
    let feedback = RunSeed { seed: 1, run: 0 }.stream("feedback.dl");
    let queue = Queue::DropTail(Some(QueueLimit::Packets(20)));
    let link = config.build(queue, LossyFrames { loss: iid(0.1, "channel.dl") }, feedback).unwrap();
    let topology = Topology::path(vec![link.into()], vec![hop(None, MS * 2)]);
    let stop = StopRule::At(MS * 5_000);
    let network = network(topology, vec![flow(tcp(None), FlowPath::default())], stop);
    let mut engine = Engine::new(network, (), ()).unwrap();
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

/// What stands before a link and forwards what is required loses nothing.
#[test]
fn a_link_as_a_fabric_is_the_same_link() {
    let config = || LinkConfig {
        rate_bps: Some(8e6),
        delay: MS * 3,
        queue: Queue::DropTail(Some(QueueLimit::Packets(9))),
        loss: iid(0.1, "channel.dl"),
    };
    let mut link = config().build().unwrap();
    let mut fabric: Box<dyn Fabric> = Box::new(PointToPoint(config().build().unwrap()));
    link.trace(true);
    fabric.trace(true);
    for i in 0..500_u32 {
        let now = SimTime::from_micros(900) * u64::from(i);
        assert_eq!(link.next_event(), fabric.next_event());
        while let Some(departure) = link.advance(now) {
            assert_eq!(fabric.advance(now), Some((1, departure)));
        }
        assert_eq!(fabric.advance(now), None);
        let parcel = Parcel::new(i, 0, 1000);
        assert_eq!(link.push(now, parcel), fabric.push(now, 0, 1, parcel));
        assert_eq!(link.next_trace(), fabric.next_trace());
    }
    assert_eq!(link.report(MS * 450).statistics, fabric.report(MS * 450).statistics);
}

#[test]
fn routes_that_lead_nowhere_are_refused_in_one_line() {
    let refusal = |routes: Vec<Vec<Leg>>| {
        let topology =
            Topology { routes, ..multihop(Box::new(Lossless), Vec::new(), StopRule::At(MS)).topology };
        let flows = vec![flow(tcp(None), FlowPath::default())];
        simulate(network(topology, flows, StopRule::At(MS)), (), (), &AtomicBool::new(false))
            .unwrap_err()
            .to_string()
    };
    let leg = |medium, from, to| Leg { medium, from, to };
    let back = vec![leg(0, 1, 0)];
    for (route, message) in [
        (vec![leg(2, 0, 1)], "routes[0][0].medium = 2: must be below 2"),
        (vec![leg(0, 0, 3)], "routes[0][0].to = 3: must be below 3, the ports of air"),
        (vec![leg(1, 1, 0)], "routes[0][0]: must go from port 0 to port 1, wire is a link"),
        (vec![leg(0, 0, 1), leg(0, 2, 1)], "routes[0][1]: must not leave air at port 1 twice"),
    ] {
        assert_eq!(refusal(vec![route, back.clone()]), message);
    }
    assert_eq!(refusal(vec![back]), "flows[0].path.acks = 1: must be below 1, the routes");
}

/// 64 bits of nanoseconds hold 584 years: little of the delays of all packets of a long queue.
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
