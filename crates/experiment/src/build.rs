//! Builds the model objects of a resolved scenario: its flows and its network, of any kind.

use crate::networks;
use crossfade_core::{RunSeed, SimTime};
use crossfade_scenario::{Distribution, End, FlowSetup, Gaps, Gate, Setup, Shape, TcpSetup, TrafficSetup};
use crossfade_sim::{
    Arrivals, CongestionFactory, Distribution as Draws, FlowConfig, FlowPath, Gaps as DrawnGaps, Network,
    OnOff, SenderGate, Shortcuts, Source, StopRule, Tcp, Topology, whole_segments,
};
use crossfade_transport::SenderConfig;
use crossfade_transport::congestion::{CustomControl, MakeControl};
use std::sync::Arc;

/// Builds the network of `setup` for the run of `seed`.
///
/// Random streams are named after the direction and have equal names at every point of a plan (common random numbers).
/// All shortcuts of the engine are on.
pub fn network(setup: &Setup, seed: RunSeed) -> Network {
    let mut network = Network {
        flows: Vec::new(),
        arrivals: Vec::new(),
        topology: networks::of(setup).topology(setup, seed),
        passages: Vec::new(),
        gate: match setup.network.gate() {
            Gate::Slot => SenderGate::Slot,
            Gate::Queue => SenderGate::Queue,
        },
        // With a slot gate no packet waits: all delays are equal, and are not measured.
        measures_delays: setup.network.gate() == Gate::Queue,
        warmup: setup.warmup,
        stop: match setup.end {
            End::At(time) => StopRule::At(time),
            End::Delivered(segments) => StopRule::Delivered(segments),
        },
        seed,
        shortcuts: Shortcuts::ALL,
    };
    // Flows with the same custom congestion control may share a state of the run.
    let mut controls: Vec<(&CustomControl, Arc<MakeControl>)> = Vec::new();
    for (number, flow) in setup.flows.iter().enumerate() {
        let control = flow.custom_control.as_ref().map(|control| of_run(&mut controls, control));
        add_flow(&mut network, setup, flow, control.as_ref(), routes(setup, number));
    }
    network
}

/// Indices of the data route and of the acknowledgement route of the first flow of entry `number`. In a mesh each pair
/// of nodes has two routes, in a cell each user, numbered in the order of the entries; a flow `beside` another one
/// takes that flow's routes.
pub(crate) fn routes(setup: &Setup, number: usize) -> [usize; 2] {
    if let Some(other) = setup.flows[number].beside {
        return routes(setup, other);
    }
    let alone = setup.flows[..number].iter().filter(|flow| flow.beside.is_none());
    let before: usize = alone.map(|flow| 2 * flow.ends.len()).sum();
    [Topology::DATA, Topology::ACKS].map(|route| before + route)
}

/// Adds the flows of an entry to `network`: the first flow takes the routes `data` and `acks`, each further flow the
/// next two routes.
fn add_flow(
    network: &mut Network,
    setup: &Setup,
    flow: &FlowSetup,
    control: Option<&Arc<MakeControl>>,
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
                tcp: connection(control, &tcp.config),
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
                let (segments, short_by) = whole_segments(&config, bytes, tcp.mss);
                config = config.with_segments(segments);
                last_short_by = short_by;
            }
            Source::Tcp(connection(control, &config))
        }
        TrafficSetup::PacedTcp(tcp, rate_bps) => {
            Source::PacedTcp { tcp: connection(control, &tcp.config), rate_bps: *rate_bps }
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
        TrafficSetup::Recorded(record) => Source::Recorded(record.clone()),
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

/// Factory of a custom control for one run, made once for each distinct control; `begun` caches the factories of the
/// run.
fn of_run<'a>(
    begun: &mut Vec<(&'a CustomControl, Arc<MakeControl>)>,
    control: &'a CustomControl,
) -> Arc<MakeControl> {
    if let Some((_, make)) = begun.iter().find(|(known, _)| known.is(control)) {
        return Arc::clone(make);
    }
    let make = control.of_run();
    begun.push((control, Arc::clone(&make)));
    make
}

/// A TCP connection with the custom congestion control that `control` makes; `None`: the one that `config` names.
fn connection(control: Option<&Arc<MakeControl>>, config: &SenderConfig) -> Tcp {
    let config = *config;
    let of = |make: &Arc<MakeControl>| -> CongestionFactory {
        let make = Arc::clone(make);
        Arc::new(move || make(&config))
    };
    Tcp { config, congestion: control.map(of) }
}

/// Tail index of [`Shape::Pareto`], and the ratio of its largest to its smallest value.
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

/// An on-off source that is always on and sends at twice the lossless rate of the link, so that its queue is never
/// empty.
fn saturating(setup: &Setup, flow: &FlowSetup) -> OnOff {
    let shortest = setup.links().and_then(|links| links.forward.shortest_transmission(flow.packet_size));
    let shortest = shortest.unwrap_or(setup.slot);
    let rate_bps = 2.0 * f64::from(flow.packet_size) * 8.0 / shortest.as_secs_f64();
    // A slot is the time of a packet on one link: with several links the source must saturate each of them.
    let rate_bps = setup.wlan().map_or(rate_bps, |wlan| rate_bps * wlan.rate_of_links());
    OnOff { rate_bps, on_s: Draws::Fixed(1.0), off_s: None, gaps: DrawnGaps::Periodic }
}
