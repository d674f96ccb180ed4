//! The engine's objects of a setup.

use crate::resolve::{FlowSetup, FrameSetup, HopSetup, LossModel, QueueModel, Setup, TcpSetup, TrafficSetup};
use crossfade_channel::{Iid, LossProcess, Lossless, MarkovLoss, RayleighLoss, TraceLoss};
use crossfade_core::{RunSeed, SimTime, Stream};
use crossfade_link::arq::{ArqLinkConfig, ReverseConfig};
use crossfade_link::trace::{TableLoss, TraceLinkConfig};
use crossfade_link::{AnyLinkConfig, LinkConfig, Queue};
use crossfade_sim::{Arrivals, Carriage, Distribution, FlowConfig, Network, OnOff, SenderGate, Source, Tcp};
use std::sync::Arc;

/// The network of `setup` in the run of `seed`.
///
/// Streams are named after the direction, and are the same at every point of a plan.
pub(crate) fn network(setup: &Setup, seed: RunSeed) -> Network {
    let mut network = Network {
        flows: Vec::new(),
        arrivals: Vec::new(),
        forward: Vec::new(),
        reverse: vec![link(&setup.reverse, seed, "ul")],
        gate: setup.gate,
        // In a slot nothing waits, and every delay is the same.
        measures_delays: setup.gate == SenderGate::Queue,
        warmup: setup.warmup,
        stop: setup.end,
        seed,
    };
    if let Some([forward, reverse]) = &setup.wired {
        network.forward.push(link(forward, seed, "wired.dl"));
        network.reverse.push(link(reverse, seed, "wired.ul"));
    }
    network.forward.push(link(&setup.forward, seed, "dl"));
    for flow in &setup.flows {
        add_flow(&mut network, setup, flow);
    }
    network
}

fn add_flow(network: &mut Network, setup: &Setup, flow: &FlowSetup) {
    let carriage = |tcp: Option<&TcpSetup>| Carriage {
        packet_size: setup.packet_size,
        ack_size: tcp.map_or(0, |tcp| tcp.ack_size),
        sack_block_size: tcp.map_or(0, |tcp| tcp.sack_block_size),
        sender_access: flow.access_delay,
        receiver_access: SimTime::ZERO,
    };
    let source = match &flow.traffic {
        TrafficSetup::Arrivals { tcp, rate_per_s, segments } => {
            network.arrivals.push(Arrivals {
                name: flow.name.clone(),
                tcp: Tcp { config: tcp.config, congestion: None },
                carriage: carriage(Some(tcp)),
                start: SimTime::ZERO,
                rate_per_s: *rate_per_s,
                segments: *segments,
            });
            return;
        }
        TrafficSetup::Tcp(tcp, segments) => {
            let mut config = tcp.config;
            config.segments = *segments;
            Source::Tcp(Tcp { config, congestion: None })
        }
        TrafficSetup::Udp(on_off) => Source::Udp(*on_off),
        TrafficSetup::Saturated => Source::Udp(saturating(setup)),
    };
    for number in 0..flow.count {
        network.flows.push(FlowConfig {
            name: format!("{}.{number}", flow.name),
            source: source.clone(),
            carriage: carriage(flow.tcp()),
            start: flow.start + flow.stagger * u64::from(number),
        });
    }
}

/// Packets at twice the rate that the link can carry when it loses nothing.
fn saturating(setup: &Setup) -> OnOff {
    let shortest = setup.forward.shortest_transmission(setup.packet_size).unwrap_or(setup.slot);
    let rate_bps = 2.0 * f64::from(setup.packet_size) * 8.0 / shortest.as_secs_f64();
    OnOff { rate_bps, on_s: Distribution::Fixed(1.0), off_s: None }
}

fn link(setup: &HopSetup, seed: RunSeed, direction: &str) -> AnyLinkConfig {
    let channel = || seed.stream(&format!("channel.{direction}"));
    let loss: Box<dyn LossProcess> = match &setup.loss {
        LossModel::Lossless => Box::new(Lossless),
        LossModel::Iid { p_e } => Box::new(Iid::new(*p_e, channel()).expect("checked")),
        LossModel::Markov { chain, clock } => Box::new(MarkovLoss::new(chain, *clock, channel())),
        LossModel::Rayleigh { p_e, fd_t, clock } => {
            Box::new(RayleighLoss::new(*p_e, *fd_t, *clock, channel()).expect("checked"))
        }
        LossModel::DropList(drops) => Box::new(drops.clone()),
        LossModel::Trace { losses, clock } => Box::new(TraceLoss::new(Arc::clone(&losses.trace), *clock)),
        LossModel::Table(table) => Box::new(TableLoss::new(table.clone(), channel())),
    };
    let queue = match &setup.queue {
        QueueModel::DropTail(limit) => Queue::DropTail(*limit),
        QueueModel::Red(config) => Queue::Red(*config, seed.stream(&format!("queue.{direction}"))),
        QueueModel::CoDel(config, limit) => Queue::CoDel(*config, *limit),
        QueueModel::FqCoDel(config) => Queue::FqCoDel(*config),
    };
    let HopSetup { rate_bps, delay, .. } = *setup;
    if let Some(trace) = &setup.trace {
        return TraceLinkConfig { schedule: trace.schedule.clone(), delay, queue, loss }.into();
    }
    match (&setup.frames, rate_bps, &queue) {
        (Some(frames), Some(rate_bps), Queue::DropTail(limit)) => {
            let feedback = seed.stream(&format!("feedback.{direction}"));
            ArqLinkConfig { queue_limit: *limit, ..frame_link(frames, rate_bps, delay, loss, feedback) }
                .into()
        }
        _ => LinkConfig { rate_bps, delay, queue, loss }.into(),
    }
}

fn frame_link(
    setup: &FrameSetup,
    rate_bps: f64,
    delay: SimTime,
    loss: Box<dyn LossProcess>,
    stream: Stream,
) -> ArqLinkConfig {
    let FrameSetup { frame_size, frame_time: _, clock, segmentation, header, protocol, feedback } = *setup;
    let feedback_loss: Box<dyn LossProcess> = if feedback.loss > 0.0 {
        Box::new(Iid::new(feedback.loss, stream).expect("checked"))
    } else {
        Box::new(Lossless)
    };
    let reverse = ReverseConfig {
        rate_bps: feedback.rate_bps,
        feedback_size: feedback.size,
        delay: feedback.delay,
        loss: feedback_loss,
    };
    ArqLinkConfig {
        rate_bps,
        frame_size,
        clock,
        delay,
        segmentation,
        queue_limit: None,
        loss,
        header,
        reverse,
        protocol,
    }
}
