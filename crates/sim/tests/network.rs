//! Many flows over a path of links, against closed forms, against each other, and against counts taken outside the
//! engine.

use crate::common::{MS, network_of, path, run_network, stream, tcp};
use crossfade_channel::{Iid, Lossless};
use crossfade_core::{EventKind, EventRecord, RunSeed, SimTime};
use crossfade_link::{CoDelConfig, HopConfig, LinkConfig, QueueConfig, QueueLimit};
use crossfade_sim::{
    AnyLink, Arrivals, Capture, Distribution, FlowConfig, Gaps, Interrupted, Network, NetworkStatistics,
    OnOff, OneHop, SenderGate, SimulationError, Source, StopRule, Tcp, run, simulate,
};
use crossfade_transport::congestion::{CongestionControl, Cubic};
use crossfade_transport::{Ack, Flavour, Segment, TcpConfig, Variant};
use std::sync::Arc;
use std::sync::atomic::AtomicBool;

fn tcp_flow(config: TcpConfig, sender_access: SimTime) -> FlowConfig {
    let source = Source::Tcp(Tcp { config: config.into(), congestion: None });
    FlowConfig { name: String::new(), source, path: path(sender_access, SimTime::ZERO), start: SimTime::ZERO }
}

/// A flow of datagrams from an on-off source, in packets of 1000 bytes.
fn udp_flow(on_off: OnOff) -> FlowConfig {
    FlowConfig {
        name: String::new(),
        source: Source::Udp(on_off),
        path: path(SimTime::ZERO, SimTime::ZERO),
        start: SimTime::ZERO,
    }
}

const STEADY: OnOff =
    OnOff { rate_bps: 8e6, on_s: Distribution::Fixed(1.0), off_s: None, gaps: Gaps::Periodic };

fn link(rate_bps: Option<f64>, delay: SimTime, queue: QueueConfig) -> LinkConfig {
    LinkConfig { rate_bps, delay, queue, draws: stream("queue.dl", 1), loss: Box::new(Lossless) }
}

/// Configuration of a network whose links can still be changed.
struct Sketch {
    flows: Vec<FlowConfig>,
    arrivals: Vec<Arrivals>,
    forward: Vec<LinkConfig>,
    reverse: Vec<LinkConfig>,
    gate: SenderGate,
    measures_delays: bool,
    warmup: SimTime,
    stop: StopRule,
    seed: RunSeed,
}

impl From<Sketch> for Network {
    fn from(sketch: Sketch) -> Self {
        let Sketch { flows, arrivals, forward, reverse, gate, measures_delays, warmup, stop, seed } = sketch;
        let links = |links: Vec<LinkConfig>| -> Vec<AnyLink> {
            links.into_iter().map(|link| link.try_into().unwrap()).collect()
        };
        let network = network_of(flows, links(forward), links(reverse), stop);
        Self { arrivals, gate, measures_delays, warmup, seed, ..network }
    }
}

/// Network of flows over 10 Mbit/s and 20 ms each way, with this queue limit in forward direction.
fn network(flows: Vec<FlowConfig>, queue_limit: Option<usize>, stop: StopRule) -> Sketch {
    let queue = QueueConfig::DropTail(queue_limit.map(QueueLimit::Packets));
    Sketch {
        flows,
        arrivals: Vec::new(),
        forward: vec![link(Some(10e6), MS * 20, queue)],
        reverse: vec![link(Some(10e6), MS * 20, QueueConfig::DropTail(None))],
        gate: SenderGate::Queue,
        measures_delays: true,
        warmup: SimTime::ZERO,
        stop,
        seed: RunSeed { seed: 3, run: 0 },
    }
}

fn share(statistics: &NetworkStatistics, flow: usize) -> f64 {
    statistics.flows[flow].segments_in_order as f64
}

#[test]
fn a_path_in_pieces_is_as_long_as_the_whole() {
    // 20 ms each way: at once, or in access segments and a second link without a rate.
    let config = tcp(Flavour::Ns2, Variant::NewReno, 60, None);
    let whole = OneHop {
        tcp: config,
        packet_size: 1000,
        ack_size: 40,
        sack_block_size: 8,
        gate: SenderGate::Queue,
        forward: HopConfig {
            rate_bps: Some(10e6),
            delay: MS * 20,
            queue_limit: Some(QueueLimit::Packets(5)),
            loss: Box::new(Lossless),
        },
        reverse: HopConfig { rate_bps: None, delay: MS * 20, queue_limit: None, loss: Box::new(Lossless) },
        warmup: MS * 1000,
        stop: StopRule::At(MS * 30_000),
    };
    let whole = run(whole, None, &AtomicBool::new(false)).unwrap();
    let mut pieces = network(Vec::new(), Some(5), StopRule::At(MS * 30_000));
    let mut flow = tcp_flow(config, MS * 3);
    flow.path.receiver_access = MS * 4;
    pieces.flows = vec![flow];
    pieces.forward[0].delay = MS * 6;
    pieces.forward.push(link(None, MS * 7, QueueConfig::DropTail(None)));
    pieces.reverse = vec![link(None, MS * 13, QueueConfig::DropTail(None))];
    pieces.warmup = MS * 1000;
    let pieces = run_network(pieces);
    let flow = &pieces.flows[0];
    assert!(whole.flow.queue_drops > 20);
    // The queue is 3 ms later, and so is the sender: what is counted is the same but for the ends of the run.
    assert!(
        whole.flow.segments_delivered.abs_diff(flow.segments_delivered) <= 10,
        "{}",
        flow.segments_delivered
    );
    assert!(whole.flow.queue_drops.abs_diff(flow.queue_drops) <= 2, "{}", flow.queue_drops);
    assert_eq!((whole.flow.timeouts, whole.flow.fast_retransmits), (flow.timeouts, flow.fast_retransmits));
    let rtt = |sum: f64, samples: u64| sum / samples as f64;
    let (ours, theirs) =
        (rtt(flow.rtt_sum_s, flow.rtt_samples), rtt(whole.flow.rtt_sum_s, whole.flow.rtt_samples));
    assert!((ours - theirs).abs() < 1e-4, "{ours} against {theirs}");
}

#[test]
fn a_small_file_takes_the_rounds_of_slow_start() {
    // Windows of 1, 2, 4, ..: 2^k - 1 segments take k rounds, all but the last a whole round trip.
    for (segments, rounds) in [(1, 1), (2, 2), (3, 2), (4, 3), (7, 3), (8, 4), (63, 6), (64, 7), (1000, 10)] {
        for flavour in [Flavour::Ns2, Flavour::Rfc] {
            let config = tcp(flavour, Variant::Sack, 10_000, Some(segments));
            let mut network = network(vec![tcp_flow(config, MS * 5)], None, StopRule::At(MS * 10_000));
            // Without a rate, what is sent together arrives together.
            network.forward[0].rate_bps = None;
            network.reverse[0].rate_bps = None;
            network.flows[0].start = MS * 100;
            let flow = run_network(network).flows.remove(0);
            assert_eq!(flow.completion_time, Some(MS * (50 * (rounds - 1) + 25)), "{segments}, {flavour:?}");
            assert_eq!((flow.segments_sent, flow.segments_in_order), (segments, segments));
        }
    }
}

#[test]
fn alike_flows_get_alike_shares() {
    // Not in step, with a queue of half a bandwidth-delay product.
    let flow = |i: u64| FlowConfig {
        start: MS * (137 * i),
        ..tcp_flow(tcp(Flavour::Rfc, Variant::Sack, 1000, None), SimTime::ZERO)
    };
    let mut network = network(vec![flow(0), flow(1)], Some(25), StopRule::At(MS * 400_000));
    network.warmup = MS * 20_000;
    let statistics = run_network(network);
    let fairness = statistics.jain_fairness().unwrap();
    assert!(fairness > 0.98, "{fairness}");
    assert!(statistics.links[0].utilisation.unwrap() > 0.9);
}

#[test]
fn reno_gives_more_to_who_is_nearer() {
    // Base round trips of 40.8 and 160.8 ms. With independent losses rates go as 1 / RTT (the square-root
    // law); the queue makes both the same amount longer.
    let config = tcp(Flavour::Rfc, Variant::NewReno, 1000, None);
    let flows = vec![tcp_flow(config, SimTime::ZERO), tcp_flow(config, MS * 60)];
    let loss = |network: &mut Sketch| {
        network.forward[0].loss = Box::new(Iid::new(0.01, stream("channel.dl", 1)).unwrap());
        network.forward[0].rate_bps = Some(100e6);
    };
    let mut lossy = network(flows.clone(), None, StopRule::At(MS * 400_000));
    loss(&mut lossy);
    let statistics = run_network(lossy);
    let rtt = |flow: usize| statistics.flows[flow].rtt_sum_s / statistics.flows[flow].rtt_samples as f64;
    let (shares, rtts) = (share(&statistics, 0) / share(&statistics, 1), rtt(1) / rtt(0));
    assert!((shares / rtts - 1.0).abs() < 0.1, "{shares} against {rtts}");
    // On a shared queue the losses of the two are not independent, and it is worse.
    let shared = run_network(network(flows, Some(10), StopRule::At(MS * 400_000)));
    assert!(share(&shared, 0) > 3.0 * share(&shared, 1));
    assert!(shared.jain_fairness().unwrap() < 0.8);
}

#[test]
fn poisson_packets_wait_as_pollaczek_and_khinchine_say() {
    // Files of one segment each are the packets of a Poisson process: M/D/1 with a service of 0.8 ms.
    let service = 0.0008;
    for load in [0.5, 0.8] {
        let mut network = network(Vec::new(), None, StopRule::At(MS * 500_000));
        network.warmup = MS * 1000;
        network.arrivals = vec![Arrivals {
            name: "files".to_owned(),
            tcp: Tcp { config: tcp(Flavour::Rfc, Variant::Sack, 10, None).into(), congestion: None },
            path: path(SimTime::ZERO, SimTime::ZERO),
            start: SimTime::ZERO,
            rate_per_s: load / service,
            sizes: Distribution::Fixed(1.0),
            mss: 1,
        }];
        network.reverse[0].rate_bps = None;
        let statistics = run_network(network);
        let arrivals = &statistics.arrivals[0];
        let expected = 499.0 * load / service;
        assert!((arrivals.started as f64 - expected).abs() < 4.0 * expected.sqrt(), "{}", arrivals.started);
        let link = &statistics.links[0];
        assert_eq!(link.counts.transmissions, arrivals.total.segments_transmitted);
        let wait = link.counts.queueing_delay_s / link.counts.transmissions as f64;
        let mean = load * service / (2.0 * (1.0 - load));
        assert!((wait / mean - 1.0).abs() < 0.04, "load {load}: {wait} against {mean}");
        // Little's law, and the same from the delays that the packets saw: waiting, service, 20 ms.
        let queue = load / service * mean;
        assert!((link.queue_mean_packets / queue - 1.0).abs() < 0.04, "{}", link.queue_mean_packets);
        let total = &arrivals.total;
        let delay = total.one_way_delay_sum_s / total.segments_received as f64;
        assert!((delay - wait - service - 0.020).abs() < 2e-6, "{delay}");
        assert!((link.utilisation.unwrap() - load).abs() < 0.02);
        let completion: f64 = arrivals.completions.iter().map(|c| c.completion_time.as_secs_f64()).sum();
        assert!((completion / arrivals.completions.len() as f64 - delay).abs() < 2e-6);
        // Flows go when they are done: hardly any is left.
        assert!(arrivals.started - arrivals.completions.len() as u64 <= 100);
    }
}

#[test]
fn sizes_of_files_are_drawn() {
    let pareto = Distribution::BoundedPareto { shape: 1.2, min: 2.0, max: 200.0 };
    let mut network = network(Vec::new(), None, StopRule::At(MS * 300_000));
    network.arrivals = vec![Arrivals {
        name: "files".to_owned(),
        tcp: Tcp { config: tcp(Flavour::Rfc, Variant::Sack, 1000, None).into(), congestion: None },
        path: path(MS, MS),
        start: MS * 1000,
        rate_per_s: 50.0,
        sizes: pareto,
        mss: 1,
    }];
    let statistics = run_network(network);
    let arrivals = &statistics.arrivals[0];
    assert!(arrivals.completions.len() > 14_000);
    assert!(arrivals.completions[0].start > MS * 1000);
    let segments: u64 = arrivals.completions.iter().map(|completion| completion.segments).sum();
    let mean = segments as f64 / arrivals.completions.len() as f64;
    // Sizes are rounded up: by half a segment in the middle of the distribution, by a little more at the
    // low end.
    let expected = pareto.mean() + 0.5;
    assert!((mean / expected - 1.0).abs() < 0.06, "{mean} against {expected}");
    // Whoever has more to send takes longer: rounds of slow start.
    let fastest = |least: u64| {
        let of_size = arrivals.completions.iter().filter(|completion| completion.segments >= least);
        of_size.map(|completion| completion.completion_time).min().unwrap()
    };
    assert!(fastest(8) >= MS * (3 * 44 + 22) && fastest(1) < MS * 100);
}

#[test]
fn datagrams_arrive_at_their_rate_or_are_dropped() {
    // 8 Mbit/s into 10 Mbit/s: nothing waits. Into 4 Mbit/s: half is dropped, the rest sees a full queue of
    // 20.
    for (rate, delivered, delay) in [(10e6, 10_000.0, 0.0208), (4e6, 5_000.0, 0.020 + 21.0 * 0.002)] {
        let mut network = network(vec![udp_flow(STEADY)], Some(20), StopRule::At(MS * 11_000));
        network.forward[0].rate_bps = Some(rate);
        network.warmup = MS * 1000;
        let statistics = run_network(network);
        let flow = &statistics.flows[0];
        assert_eq!((flow.segments_sent, flow.acks_sent), (10_000, 0));
        assert!((flow.segments_delivered as f64 - delivered).abs() <= 1.0, "{}", flow.segments_delivered);
        assert!((flow.queue_drops as f64 - (10_000.0 - delivered)).abs() <= 1.0);
        let mean = flow.one_way_delay_sum_s / flow.segments_received as f64;
        assert!((mean - delay).abs() < 0.0011, "{mean} against {delay}");
        let p95 = flow.one_way_delay.as_ref().unwrap().quantile(0.95).unwrap().as_secs_f64();
        assert!((p95 - delay).abs() < 0.0021, "{p95} against {delay}");
    }
}

#[test]
fn a_paced_application_gets_its_rate_or_that_of_the_link() {
    let paced = |rate_bps: f64, flavour: Flavour| {
        let tcp = Tcp { config: tcp(flavour, Variant::NewReno, 200, None).into(), congestion: None };
        let flow = FlowConfig { source: Source::PacedTcp { tcp, rate_bps }, ..udp_flow(STEADY) };
        let mut network = network(vec![flow], None, StopRule::At(MS * 60_000));
        network.warmup = MS * 20_000;
        run_network(network)
    };
    for flavour in [Flavour::Ns2, Flavour::Rfc] {
        // 375 segments a second, each 0.8 ms and 20 ms on its way: nothing waits.
        let slow = paced(3e6, flavour);
        assert!((share(&slow, 0) - 15_000.0).abs() <= 1.0, "{}", share(&slow, 0));
        let delay = slow.flows[0].one_way_delay_sum_s / slow.flows[0].segments_received as f64;
        assert!((delay - 0.0208).abs() < 1e-9, "{delay}");
        // More than the link can carry: the link is full.
        let fast = paced(30e6, flavour);
        assert!((share(&fast, 0) - 50_000.0).abs() <= 1.0, "{}", share(&fast, 0));
    }
}

#[test]
fn tcp_takes_what_datagrams_leave() {
    let on_off = OnOff { rate_bps: 5e6, ..STEADY };
    let flow = tcp_flow(tcp(Flavour::Rfc, Variant::Sack, 1000, None), SimTime::ZERO);
    let mut network = network(vec![flow, udp_flow(on_off)], Some(60), StopRule::At(MS * 120_000));
    network.warmup = MS * 20_000;
    let statistics = run_network(network);
    assert!(statistics.links[0].utilisation.unwrap() > 0.98);
    // 625 datagrams a second; a queue that is full for a moment drops some of them.
    assert!(share(&statistics, 1) > 0.98 * 62_500.0, "{}", share(&statistics, 1));
    assert!((share(&statistics, 0) + share(&statistics, 1) - 125_000.0).abs() < 2_500.0);
}

#[test]
fn a_queue_that_marks_spares_the_losses() {
    let mut config = tcp(Flavour::Rfc, Variant::Sack, 1000, None);
    config.rfc.ecn = true;
    let mut network = network(vec![tcp_flow(config, SimTime::ZERO)], None, StopRule::At(MS * 60_000));
    let codel = CoDelConfig { ecn: true, ..CoDelConfig::default() };
    network.forward[0].queue = QueueConfig::CoDel(codel, QueueLimit::Packets(1000));
    let mut events: Vec<EventRecord> = Vec::new();
    let statistics = simulate(network.into(), Some(&mut events), None, &AtomicBool::new(false)).unwrap();
    let flow = &statistics.flows[0];
    assert!(flow.ecn_marks > 10);
    assert_eq!((flow.retransmissions, flow.queue_drops), (0, 0));
    assert!(flow.ecn_reductions > 10 && flow.ecn_reductions <= flow.ecn_marks);
    // What is marked is counted when it has left the link.
    assert!(statistics.links[0].counts.ecn_marks - flow.ecn_marks <= 30);
    let marks = events.iter().filter(|event| event.kind == EventKind::Mark).count();
    assert_eq!(marks as u64, flow.ecn_marks);
}

#[test]
fn a_flow_has_its_own_congestion_control() {
    // A large bandwidth-delay product: 500 packets, and a loss now and then.
    let reno = tcp(Flavour::Rfc, Variant::Sack, 5000, None);
    let cubic = || Box::new(Cubic::new(1.0, 5000.0)) as Box<dyn CongestionControl>;
    let mut flows = vec![tcp_flow(reno, SimTime::ZERO), tcp_flow(reno, SimTime::ZERO)];
    flows[0].source = Source::Tcp(Tcp { config: reno.into(), congestion: Some(Arc::new(cubic)) });
    let mut network = network(flows, Some(500), StopRule::At(MS * 200_000));
    network.forward[0].rate_bps = Some(50e6);
    network.forward[0].delay = MS * 60;
    let statistics = run_network(network);
    assert!(share(&statistics, 0) > 1.5 * share(&statistics, 1), "CUBIC is the faster at large windows");
}

#[test]
fn delays_are_measured_where_they_are_asked_for() {
    let config = tcp(Flavour::Rfc, Variant::Sack, 10, None);
    let build = |measures_delays| Sketch {
        measures_delays,
        ..network(vec![tcp_flow(config, SimTime::ZERO)], None, StopRule::At(MS * 10_000))
    };
    let measured = run_network(build(true));
    let flow = &measured.flows[0];
    // A window of 10 never waits in the queue but behind itself: 40.832 ms, and up to 9 packets more at the
    // start.
    let p95 = flow.rtt.as_ref().unwrap().quantile(0.95).unwrap().as_secs_f64();
    assert!((p95 / 0.040832 - 1.0).abs() < 1.0 / 64.0, "{p95}");
    assert_eq!(flow.rtt.as_ref().unwrap().count(), flow.rtt_samples);
    assert_eq!(flow.one_way_delay.as_ref().unwrap().count(), flow.segments_received);
    // It changes nothing else.
    let mut plain = run_network(build(false));
    assert_eq!(plain.flows[0].rtt, None);
    (plain.flows[0].rtt, plain.flows[0].one_way_delay) = (flow.rtt.clone(), flow.one_way_delay.clone());
    assert_eq!(plain.flows, measured.flows);
}

/// Capture that counts the packets at the senders' interfaces.
#[derive(Default)]
struct Interface {
    segments: u64,
    retransmissions: u64,
    acks: u64,
    sack_blocks: usize,
    datagrams: u64,
    last: SimTime,
}

impl Capture for Interface {
    fn segment(&mut self, now: SimTime, flow: u32, bytes: u32, segment: &Segment) {
        assert!(now >= self.last && segment.timestamp == now && (flow, bytes) == (0, 1000));
        (self.last, self.segments) = (now, self.segments + 1);
        self.retransmissions += u64::from(segment.retransmission);
    }

    fn ack(&mut self, now: SimTime, flow: u32, bytes: u32, ack: &Ack) {
        let blocks = ack.sack.as_slice().len();
        assert!(now >= self.last && (flow, bytes) == (0, 40 + 8 * blocks as u32));
        assert!(ack.timestamp_echo.is_some());
        (self.last, self.acks) = (now, self.acks + 1);
        self.sack_blocks += blocks;
    }

    fn datagram(&mut self, _now: SimTime, flow: u32, _bytes: u32, seq: u64) {
        assert_eq!((flow, seq), (1, self.datagrams));
        self.datagrams += 1;
    }
}

#[test]
fn a_capture_sees_what_the_senders_send_and_get() {
    let flow = tcp_flow(tcp(Flavour::Rfc, Variant::Sack, 100, None), MS * 2);
    let build = || {
        let mut network = network(vec![flow.clone(), udp_flow(STEADY)], Some(20), StopRule::At(MS * 5_000));
        network.reverse[0].loss = Box::new(Iid::new(0.1, stream("channel.ul", 1)).unwrap());
        network
    };
    let mut interface = Interface::default();
    let statistics = simulate(build().into(), None, Some(&mut interface), &AtomicBool::new(false)).unwrap();
    let counts = &statistics.flows[0];
    assert_eq!(
        (interface.segments, interface.retransmissions, interface.acks),
        (counts.segments_sent, counts.retransmissions, counts.acks_received)
    );
    assert!(counts.retransmissions > 0 && counts.acks_lost > 0 && interface.sack_blocks > 0);
    assert_eq!(interface.datagrams, statistics.flows[1].segments_sent);
    assert_eq!(run_network(build()), statistics, "looking changes nothing");
}

#[test]
fn what_cannot_be_is_refused_in_one_line() {
    let flow = || tcp_flow(tcp(Flavour::Rfc, Variant::Sack, 10, None), SimTime::ZERO);
    let build = || network(vec![flow()], None, StopRule::At(MS));
    let arrivals = Arrivals {
        name: "files".to_owned(),
        tcp: Tcp { config: tcp(Flavour::Rfc, Variant::Sack, 10, None).into(), congestion: None },
        path: path(MS, MS),
        start: SimTime::ZERO,
        rate_per_s: 1.0,
        sizes: Distribution::Fixed(1.0),
        mss: 1,
    };
    let cases = [
        (Sketch { forward: Vec::new(), ..build() }, "routes[0] is empty: a route has at least one leg"),
        (Sketch { flows: Vec::new(), ..build() }, "flows and arrivals are empty: nothing is sent"),
        (
            Sketch { flows: vec![flow(), flow()], gate: SenderGate::Slot, ..build() },
            "gate = slot: must be queue unless there is one TCP flow, without sender_access, and the first \
             link is drop-tail and of constant rate",
        ),
        (
            Sketch { arrivals: vec![Arrivals { rate_per_s: 0.0, ..arrivals.clone() }], ..build() },
            "arrivals[0].rate_per_s = 0.0: must be above 0",
        ),
        (
            Sketch {
                arrivals: vec![Arrivals { sizes: Distribution::Exponential { mean: -1.0 }, ..arrivals }],
                ..build()
            },
            "arrivals[0].sizes.mean = -1.0: must be above 0",
        ),
        (
            Sketch { flows: vec![udp_flow(OnOff { rate_bps: f64::NAN, ..STEADY })], ..build() },
            "flows[0].rate_bps = NaN: must be above 0",
        ),
    ];
    for (network, message) in cases {
        let error = simulate(network.into(), None, None, &AtomicBool::new(false)).unwrap_err();
        assert_eq!(error.to_string(), message);
    }
}

#[test]
fn a_cancelled_run_says_so() {
    let flow = tcp_flow(tcp(Flavour::Rfc, Variant::Sack, 10, None), SimTime::ZERO);
    let network = network(vec![flow], None, StopRule::Delivered(u64::MAX));
    let error = simulate(network.into(), None, None, &AtomicBool::new(true)).unwrap_err();
    assert_eq!(error, SimulationError::Interrupted(Interrupted));
}

#[test]
fn a_link_counts_what_it_sends_not_what_it_holds() {
    // 16 Mbit/s into 8 Mbit/s: half of it is still in the queue at the end.
    let overload = OnOff { rate_bps: 16e6, ..STEADY };
    let mut network = network(vec![udp_flow(overload)], None, StopRule::At(MS * 11_000));
    network.forward[0].rate_bps = Some(8e6);
    network.warmup = MS * 1000;
    let statistics = run_network(network);
    let link = &statistics.links[0];
    assert!((link.utilisation.unwrap() - 1.0).abs() < 1e-3, "{link:?}");
    let arrived = link.counts.arrived_bytes as f64 * 8.0 / 10.0;
    assert!((arrived / 8e6 - 1.0).abs() < 2e-3, "{arrived}");
    // A packet of 1000 bytes lasts 1 ms; 20,000 came in 10 s, 2,000 in the second before. Half of all wait.
    assert_eq!((link.counts.transmissions, link.counts.transmitted_bytes), (10_000, 10_000_000));
    assert_eq!(statistics.flows[0].segments_transmitted, 10_000);
    assert!((link.queue_mean_packets - 6_000.0).abs() < 5.0, "{}", link.queue_mean_packets);
}

#[test]
fn losses_are_counted_and_told_as_they_are_sent_and_not_after_the_end() {
    // Two packets a millisecond into a link that sends one, and loses all.
    let flow = udp_flow(OnOff { rate_bps: 16e6, ..STEADY });
    let mut network = network(vec![flow], None, StopRule::At(MS * 10));
    network.forward[0] = LinkConfig {
        loss: Box::new(Iid::new(1.0, stream("channel.dl", 1)).unwrap()),
        ..link(Some(8e6), SimTime::ZERO, QueueConfig::DropTail(None))
    };
    let mut events: Vec<EventRecord> = Vec::new();
    let statistics = simulate(network.into(), Some(&mut events), None, &AtomicBool::new(false)).unwrap();
    let lost: Vec<SimTime> =
        events.iter().filter(|event| event.kind == EventKind::Lost).map(|event| event.time).collect();
    assert_eq!(lost.len() as u64, statistics.flows[0].segments_lost);
    assert_eq!(lost.len() as u64, statistics.links[0].counts.losses);
    assert_eq!(lost, (1..=10).map(|n| MS * n).collect::<Vec<_>>());
}
