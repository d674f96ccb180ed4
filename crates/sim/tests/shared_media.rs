//! Shared media: a radio channel for data and acknowledgements, and a link for two-way traffic.

use crate::topologies::{MS, flow, hop, iid, network, run, tcp};
use crossfade_channel::{LossProcess, Lossless};
use crossfade_core::{RunSeed, SimTime};
use crossfade_link::{
    Departure, EventLog, Fabric, Link, LinkConfig, LinkEvent, LinkReport, LinkStatistics, Occupancy, Parcel,
    PointToPoint, Port, Push, QueueConfig, QueueLimit,
};
use crossfade_sim::{
    Engine, FlowConfig, FlowPath, Leg, Medium, Network, NetworkStatistics, Snapshot, StopRule, Topology,
    simulate,
};
use std::collections::VecDeque;
use std::sync::atomic::AtomicBool;

/// Half-duplex radio channel that sends one packet at a time, from any station, in the order of arrival.
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
            bin: None,
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
        // It counts a packet as it takes it.
        let to_send = self.free_at.saturating_sub(now).as_secs_f64() * self.rate_bps;
        let busy = self.statistics.transmitted_bytes as f64 * 8.0 - to_send;
        let occupancy = Occupancy::Time(SimTime::from_secs_f64(busy / self.rate_bps));
        LinkReport::new(now, self.statistics.clone(), occupancy)
    }

    fn trace(&mut self, keep: bool) {
        self.log.keep(keep);
    }

    fn next_trace(&mut self) -> Option<LinkEvent> {
        self.log.pop()
    }
}

/// Network of three stations that share a channel; station 1 relays from 0 to 2.
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

/// A link that two flows use in opposite directions, for data and for acknowledgements, is a single link.
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
    // Nothing is lost: what the hosts have sent this way has been sent by the link, or waits for it.
    let mut engine = Engine::new(build(true), None, None).unwrap();
    let Snapshot { flows, links } = engine.snapshot(MS * 30_000);
    let [there, back] =
        [0, 1].map(|link: usize| links[link].statistics.transmissions + links[link].unsent.len() as u64);
    assert_eq!(there, first.segments_sent + second.acks_sent);
    assert_eq!(back, second.segments_sent + first.acks_sent);
    // Of the segments of a flow, those that wait are told of beside it.
    let waiting = |flow: u32| {
        let is_segment = |parcel: &&Parcel| parcel.flow() == flow && parcel.bytes() == 1000;
        links[flow as usize].unsent.iter().filter(is_segment).count() as u64
    };
    for (flow, snapshot) in (0..).zip(&flows) {
        assert_eq!(snapshot.counts.segments_transmitted + waiting(flow), snapshot.counts.segments_sent);
    }
    assert_eq!(forward.counts.transmissions, links[0].statistics.transmissions);
}

/// A link behind a wrapper that forwards only the required methods gives the results of the bare link.
#[test]
fn a_link_as_a_fabric_is_the_same_link() {
    let config = || LinkConfig {
        rate_bps: Some(8e6),
        delay: MS * 3,
        queue: QueueConfig::DropTail(Some(QueueLimit::Packets(9))),
        draws: RunSeed { seed: 1, run: 0 }.stream("queue.dl"),
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
        simulate(network(topology, flows, StopRule::At(MS)), None, None, &AtomicBool::new(false))
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
