//! From tables to model objects: the one place that knows all kinds of models.

use crate::closed_forms::packet_loss;
use crate::parts::{MESH, PATH};
use crossfade_cell::Cell;
use crossfade_channel::{LossConfig, LossProcess, Lossless};
use crossfade_core::{RunSeed, SimTime, Stream};
use crossfade_link::arq::{ArqLinkConfig, LossyFrames, ReverseConfig, SoftBufferConfig};
use crossfade_link::trace::{Schedule, TableLoss, TraceLinkConfig};
use crossfade_link::{
    Aggregated, Jittered, LinkConfig, Policed, QueueConfig, RadioConfig, SideBySide, SymbolFrames,
    TableFrames, TokenBucket, WholePackets,
};
use crossfade_mac::Mesh;
use crossfade_scenario::{
    Carrier, Distribution, End, FlowSetup, FrameErrors, FrameSetup, Gaps, Gate, HopSetup, Setup, Shape,
    TcpSetup, TrafficSetup,
};
use crossfade_sim::{
    AnyLink, Arrivals, CongestionFactory, Distribution as Draws, FlowConfig, FlowPath, Gaps as DrawnGaps,
    Leg, Medium, Network, OnOff, SenderGate, Source, StopRule, Tcp, Topology, whole_segments,
};
use crossfade_transport::TcpConfig;
use crossfade_transport::congestion::{MakeRule, OwnRule};
use std::sync::Arc;

/// The network of `setup` in the run of `seed`.
///
/// Streams are named after the direction, and are the same at every point of a plan.
pub(crate) fn network(setup: &Setup, seed: RunSeed) -> Network {
    let mut network = Network {
        flows: Vec::new(),
        arrivals: Vec::new(),
        topology: topology(setup, seed),
        passages: Vec::new(),
        gate: match setup.gate {
            Gate::Slot => SenderGate::Slot,
            Gate::Queue => SenderGate::Queue,
        },
        // In a slot nothing waits, and every delay is the same.
        measures_delays: setup.gate == Gate::Queue,
        warmup: setup.warmup,
        stop: match setup.end {
            End::At(time) => StopRule::At(time),
            End::Delivered(segments) => StopRule::Delivered(segments),
        },
        seed,
    };
    // Flows with the same rule of the user's own may share what it makes for a run.
    let mut rules: Vec<(&OwnRule, Arc<MakeRule>)> = Vec::new();
    for (number, flow) in setup.flows.iter().enumerate() {
        let rule = flow.own_rule.as_ref().map(|rule| of_run(&mut rules, rule));
        add_flow(&mut network, setup, flow, rule.as_ref(), routes(setup, number));
    }
    network
}

/// The routes of the data and of the acknowledgements of the first flow of an entry. In a mesh each pair of nodes has
/// its own, in a cell each user, one after the other.
pub(crate) fn routes(setup: &Setup, number: usize) -> [usize; 2] {
    let before: usize = setup.flows[..number].iter().map(|flow| 2 * flow.ends.len()).sum();
    [Topology::DATA, Topology::ACKS].map(|route| before + route)
}

/// The links by name, and the ways there and back.
pub(crate) fn topology(setup: &Setup, seed: RunSeed) -> Topology {
    if let Some(mesh) = &setup.mesh {
        let fabric = Mesh::new(mesh.config.clone(), seed).expect("checked");
        let routes = setup.flows.iter().flat_map(|flow| &flow.ends).flat_map(|&[from, to]| {
            [(from, to), (to, from)].map(|(from, to)| vec![Leg { medium: 0, from, to }])
        });
        return Topology {
            media: vec![Medium::Fabric(Box::new(fabric)).named(MESH)],
            routes: routes.collect(),
        };
    }
    if let Some(cell) = &setup.cell {
        return around(Cell::new(cell.config.clone(), seed).expect("checked"), setup, seed);
    }
    let [wired, forward, reverse, wired_reverse] = PATH;
    let wireless = slotted(setup, seed).unwrap_or_else(|| link(&setup.forward, seed, "dl"));
    let mut data = vec![wireless.named(forward)];
    let mut acks = vec![link(&setup.reverse, seed, "ul").named(reverse)];
    if let Some([there, back]) = &setup.wired {
        data.insert(0, link(there, seed, "wired.dl").named(wired));
        acks.push(link(back, seed, "wired.ul").named(wired_reverse));
    }
    let [there, back] = [0..data.len(), data.len()..data.len() + acks.len()];
    data.append(&mut acks);
    Topology { media: data, routes: [there, back].map(|media| media.map(Leg::link).collect()).into() }
}

/// A cell, the links on the way back of its users, and the wired segment that they share.
fn around(cell: Cell, setup: &Setup, seed: RunSeed) -> Topology {
    let [wired, forward, reverse, wired_reverse] = PATH;
    let users = setup.cell.as_ref().map_or(0, |cell| cell.config.users.len() as u32);
    let back = |user: u32| match link(&setup.reverse, seed, &format!("ul.{user}")) {
        Medium::Link(link) => link,
        Medium::Fabric(_) => unreachable!("a hop is a link"),
    };
    let uplinks = SideBySide::new((0..users).map(back).collect());
    let mut media =
        vec![Medium::Fabric(Box::new(cell)).named(forward), Medium::Fabric(Box::new(uplinks)).named(reverse)];
    if let Some([there, back]) = &setup.wired {
        media.insert(0, link(there, seed, "wired.dl").named(wired));
        media.push(link(back, seed, "wired.ul").named(wired_reverse));
    }
    let first = usize::from(setup.wired.is_some());
    let both_ways = |user: u32| {
        let mut data = vec![Leg { medium: first, from: 0, to: user + 1 }];
        let mut acks = vec![Leg { medium: first + 1, from: user, to: users + user }];
        if setup.wired.is_some() {
            data.insert(0, Leg::link(0));
            acks.push(Leg::link(3));
        }
        [data, acks]
    };
    Topology { media, routes: (0..users).flat_map(both_ways).collect() }
}

/// Adds the flows of an entry, the first of which has the routes `data` and `acks`, and the others those that follow.
fn add_flow(
    network: &mut Network,
    setup: &Setup,
    flow: &FlowSetup,
    rule: Option<&Arc<MakeRule>>,
    [data, acks]: [usize; 2],
) {
    let path = |tcp: Option<&TcpSetup>, number: u32| {
        let later = 2 * (number as usize % flow.ends.len().max(1));
        FlowPath {
            packet_size: flow.packet_size,
            ack_size: tcp.map_or(0, |tcp| tcp.ack_size),
            sack_block_size: tcp.map_or(0, |tcp| tcp.sack_block_size),
            sender_access: flow.access_delay,
            opening: flow.opening,
            data: data + later,
            acks: acks + later,
            ..FlowPath::default()
        }
    };
    let mut last_short_by = 0;
    let source = match &flow.traffic {
        TrafficSetup::Arrivals { tcp, rate_per_s, sizes } => {
            network.arrivals.push(Arrivals {
                name: flow.name.clone(),
                tcp: connection(rule, &tcp.config),
                path: path(Some(tcp), 0),
                start: SimTime::ZERO,
                rate_per_s: *rate_per_s,
                sizes: draws(*sizes),
                mss: tcp.mss,
            });
            return;
        }
        TrafficSetup::Tcp(tcp, bytes) => {
            let mut config = tcp.config;
            if let Some(bytes) = *bytes {
                let (segments, short_by) = whole_segments(config.flavour, bytes, tcp.mss);
                config.segments = Some(segments);
                last_short_by = short_by;
            }
            Source::Tcp(connection(rule, &config))
        }
        TrafficSetup::PacedTcp(tcp, rate_bps) => {
            Source::PacedTcp { tcp: connection(rule, &tcp.config), rate_bps: *rate_bps }
        }
        TrafficSetup::Udp { rate_bps, gaps, on_off } => {
            let [on_s, off_s] =
                on_off.map_or([Draws::Fixed(1.0), Draws::Fixed(0.0)], |times| times.map(draws));
            let gaps = match *gaps {
                Gaps::Periodic => DrawnGaps::Periodic,
                Gaps::Jitter(part) => DrawnGaps::Jitter(part),
                Gaps::Poisson => DrawnGaps::Poisson,
            };
            Source::Udp(OnOff { rate_bps: *rate_bps, on_s, off_s: on_off.map(|_| off_s), gaps })
        }
        TrafficSetup::Saturated => Source::Udp(saturating(setup, flow)),
        TrafficSetup::Outside => return,
    };
    for number in 0..flow.count {
        let name = format!("{}.{number}", flow.name);
        let mut start = flow.start.saturating_add(flow.stagger.saturating_mul(number.into()));
        if flow.start_within > SimTime::ZERO {
            let later = Draws::Uniform { max: flow.start_within.as_secs_f64() };
            let mut stream = network.seed.stream(&format!("workload.start.{name}"));
            start = start.saturating_add(SimTime::from_secs_f64(later.sample(&mut stream)));
        }
        network.flows.push(FlowConfig {
            name,
            source: source.clone(),
            path: FlowPath { last_short_by, ..path(flow.tcp(), number) },
            start,
        });
    }
}

/// What `rule` makes for a run of which `begun` are the rules so far.
fn of_run<'a>(begun: &mut Vec<(&'a OwnRule, Arc<MakeRule>)>, rule: &'a OwnRule) -> Arc<MakeRule> {
    if let Some((_, make)) = begun.iter().find(|(known, _)| known.is(rule)) {
        return Arc::clone(make);
    }
    let make = rule.of_run();
    begun.push((rule, Arc::clone(&make)));
    make
}

/// A connection whose window rule is made by `rule`, if it has one of the user's own.
fn connection(rule: Option<&Arc<MakeRule>>, config: &TcpConfig) -> Tcp {
    let config = *config;
    let of = |make: &Arc<MakeRule>| -> CongestionFactory {
        let make = Arc::clone(make);
        Arc::new(move || make(&config))
    };
    Tcp { config, congestion: rule.map(of) }
}

/// The tail index of [`Shape::Pareto`], and the ratio of its greatest to its least value.
const PARETO: (f64, f64) = (1.2, 1000.0);

fn draws(Distribution { shape, mean }: Distribution) -> Draws {
    match shape {
        Shape::Fixed => Draws::Fixed(mean),
        Shape::Exponential => Draws::Exponential { mean },
        Shape::Pareto => {
            let (shape, ratio) = PARETO;
            let unit = Draws::BoundedPareto { shape, min: 1.0, max: ratio }.mean();
            Draws::BoundedPareto { shape, min: mean / unit, max: ratio * mean / unit }
        }
    }
}

/// Packets at twice the rate that the link can carry when it loses nothing.
fn saturating(setup: &Setup, flow: &FlowSetup) -> OnOff {
    let shortest = setup.forward.shortest_transmission(flow.packet_size).unwrap_or(setup.slot);
    let rate_bps = 2.0 * f64::from(flow.packet_size) * 8.0 / shortest.as_secs_f64();
    OnOff { rate_bps, on_s: Draws::Fixed(1.0), off_s: None, gaps: DrawnGaps::Periodic }
}

/// The wireless link of a sender that is asked every slot, where packets are frames of a physical layer: they fare
/// as whole packets, and the sender can tell when the link is idle.
fn slotted(setup: &Setup, seed: RunSeed) -> Option<Medium> {
    let Carrier::Frames { queue, frames, errors: FrameErrors::Radio(radio), .. } = &setup.forward.carrier
    else {
        return None;
    };
    if setup.gate != Gate::Slot {
        return None;
    }
    let loss: Box<dyn LossProcess> = if radio.table.is_none() {
        Box::new(WholePackets {
            frames: symbols(radio, |of| seed.stream(&format!("{of}.dl"))),
            per_packet: frames.segmentation.frames(setup.packet_size),
            frame_time: frames.frame_time,
        })
    } else {
        let p_e = packet_loss(setup, radio, "the simulation").expect("checked");
        LossConfig::Iid { p_e }.build(seed.stream("phy.dl")).expect("checked")
    };
    let queue = queue.build(seed.stream("queue.dl"));
    let config = LinkConfig { rate_bps: setup.forward.rate_bps(), delay: setup.forward.delay, queue, loss };
    Some(AnyLink::try_from(config).expect("checked").into())
}

fn link(setup: &HopSetup, seed: RunSeed, direction: &str) -> Medium {
    let mut link = carrier(setup, seed, direction);
    if let Some(config) = setup.policer {
        link = AnyLink::Other(Box::new(Policed::new(config, link)));
    }
    if let Some(config) = setup.aggregation {
        link = AnyLink::Other(Box::new(Aggregated::new(config, link)));
    }
    if let Some(config) = setup.jitter {
        let draws = seed.stream(&format!("jitter.{direction}"));
        link = AnyLink::Other(Box::new(Jittered::new(config, link, draws)));
    }
    link.into()
}

fn carrier(setup: &HopSetup, seed: RunSeed, direction: &str) -> AnyLink {
    let delay = setup.delay;
    let stream = |of: &str| seed.stream(&format!("{of}.{direction}"));
    let lost = |loss: &LossConfig| loss.build(stream("channel")).expect("checked");
    let queue = |queue: &QueueConfig| queue.build(stream("queue"));
    match &setup.carrier {
        Carrier::Packets { rate_bps, queue: waiting, loss } => {
            let (rate_bps, queue, loss) = (*rate_bps, queue(waiting), lost(loss));
            AnyLink::try_from(LinkConfig { rate_bps, delay, queue, loss }).expect("checked")
        }
        Carrier::Shaped { rate_bps, shaper, queue: waiting, loss } => {
            let bucket = TokenBucket::new(shaper.rate_bps, shaper.burst, *rate_bps);
            queue(waiting).before(bucket, delay, lost(loss)).expect("checked").into()
        }
        Carrier::Frames { rate_bps, queue: waiting, frames, errors } => {
            let (config, feedback) = (frame_link(frames, *rate_bps, delay), stream("feedback"));
            let queue = queue(waiting);
            let link = match errors {
                FrameErrors::Lost(loss) => config.build(queue, LossyFrames { loss: lost(loss) }, feedback),
                FrameErrors::Radio(radio) => match &radio.table {
                    None => config.build(queue, symbols(radio, stream), feedback),
                    Some(table) => config.build(
                        queue,
                        TableFrames::new(radio, table, stream("phy")).expect("checked"),
                        feedback,
                    ),
                },
            };
            link.expect("checked").into()
        }
        Carrier::Schedule { trace, queue: waiting, loss } => {
            let loss = match (loss, &trace.schedule) {
                (Some(loss), _) => lost(loss),
                (None, Schedule::Rates(table)) => Box::new(TableLoss::new(table.clone(), stream("channel"))),
                (None, Schedule::Opportunities(_)) => Box::new(Lossless),
            };
            let (schedule, queue) = (trace.schedule.clone(), queue(waiting));
            let config = TraceLinkConfig { schedule, delay, queue, loss };
            config.build().expect("checked").into()
        }
    }
}

/// The frames of a physical layer whose symbols are all detected.
fn symbols(radio: &RadioConfig, stream: impl Fn(&str) -> Stream) -> SymbolFrames {
    let [fading, phy, shadowing] = ["channel", "phy", "shadowing"].map(stream);
    radio.symbols(&fading, &phy, &shadowing).expect("checked")
}

fn frame_link(setup: &FrameSetup, rate_bps: f64, delay: SimTime) -> ArqLinkConfig {
    let FrameSetup { frame_size, frame_time: _, clock, segmentation, header, protocol, feedback } = *setup;
    ArqLinkConfig {
        rate_bps,
        frame_size,
        clock,
        delay,
        segmentation,
        header,
        soft_buffer: SoftBufferConfig::default(),
        reverse: ReverseConfig {
            rate_bps: feedback.rate_bps,
            feedback_size: feedback.size,
            delay: feedback.delay,
            loss: feedback.loss,
        },
        protocol,
    }
}
