//! One TCP connection over one hop each way: the experiment of the paper and of the golden traces, as the
//! simplest network of [`crate::simulate`].

use crate::engine::{Interrupted, SimulationError, simulate};
use crate::network::{Carriage, CongestionFactory, FlowConfig, Network, SenderGate, Source, StopRule, Tcp};
use crossfade_core::{Observer, RunSeed, SimTime};
use crossfade_link::{HopConfig, LinkConfig, Queue};
use crossfade_transport::TcpConfig;
use std::sync::atomic::AtomicBool;

/// The whole experiment.
pub struct OneHop {
    /// Both ends of the connection.
    pub tcp: TcpConfig,
    /// Bytes of a data packet on the wire.
    pub packet_size: u32,
    /// Bytes of an acknowledgement on the wire, without SACK blocks.
    pub ack_size: u32,
    /// Bytes that each SACK block adds to an acknowledgement.
    pub sack_block_size: u32,
    /// How the sender meets the forward link.
    pub gate: SenderGate,
    /// The way of the data.
    pub forward: HopConfig,
    /// The way of the acknowledgements.
    pub reverse: HopConfig,
    /// What happens before is simulated and not counted.
    pub warmup: SimTime,
    /// When to stop.
    pub stop: StopRule,
}

/// What was counted after the warm-up.
#[derive(Clone, Copy, Debug, PartialEq, Default)]
pub struct RunStatistics {
    /// The time that was measured.
    pub duration: SimTime,
    /// First arrivals at the receiver, in or out of order.
    pub segments_delivered: u64,
    /// Segments given to the application, in order.
    pub segments_in_order: u64,
    /// Transmissions, retransmissions included.
    pub segments_sent: u64,
    /// Transmissions of segments sent before.
    pub retransmissions: u64,
    /// Transmissions lost by the forward channel.
    pub segments_lost: u64,
    /// Transmissions dropped by the full forward queue.
    pub queue_drops: u64,
    /// Expiries of the retransmission timer.
    pub timeouts: u64,
    /// Fast retransmits, one for each recovery.
    pub fast_retransmits: u64,
    /// The sum of the round trips that the sender measured, in seconds.
    pub rtt_sum_s: f64,
    /// The number of round trips that the sender measured.
    pub rtt_samples: u64,
    /// The sum of the times, in seconds, that packets waited in the forward queue.
    pub waiting_s: f64,
    /// Acknowledgements sent.
    pub acks_sent: u64,
    /// Acknowledgements lost by the reverse channel.
    pub acks_lost: u64,
    /// Acknowledgements dropped by the full reverse queue.
    pub ack_queue_drops: u64,
    /// The sum of the times, in seconds, that acknowledgements waited in the reverse queue.
    pub ack_waiting_s: f64,
    /// When a segment last reached the receiver for the first time, counted from the start of the run.
    pub last_delivery: SimTime,
    /// Nothing was delivered any more in a run of [`crate::STALL`] transmissions, and the run was given up.
    pub stalled: bool,
}

impl From<OneHop> for Network {
    fn from(config: OneHop) -> Self {
        let OneHop { tcp, packet_size, ack_size, sack_block_size, gate, forward, reverse, warmup, stop } =
            config;
        let carriage = Carriage {
            packet_size,
            ack_size,
            sack_block_size,
            sender_access: SimTime::ZERO,
            receiver_access: SimTime::ZERO,
        };
        let source = Source::Tcp(Tcp { config: tcp, congestion: None });
        let link = |HopConfig { rate_bps, delay, queue_limit, loss }| LinkConfig {
            rate_bps,
            delay,
            queue: Queue::DropTail(queue_limit),
            loss,
        };
        Self {
            flows: vec![FlowConfig { name: String::new(), source, carriage, start: SimTime::ZERO }],
            arrivals: Vec::new(),
            forward: vec![link(forward).into()],
            reverse: vec![link(reverse).into()],
            measures_delays: false,
            gate,
            warmup,
            stop,
            // Nothing is drawn for the workload.
            seed: RunSeed { seed: 0, run: 0 },
        }
    }
}

/// Runs `config` to its end.
///
/// # Errors
/// [`Interrupted`] once `cancel` is true.
pub fn run<O: Observer>(
    config: OneHop,
    observer: O,
    cancel: &AtomicBool,
) -> Result<RunStatistics, Interrupted> {
    run_network(config.into(), observer, cancel)
}

/// The same with a window rule in place of Reno's.
///
/// # Errors
/// [`Interrupted`] once `cancel` is true.
pub fn run_with_congestion_control<O: Observer>(
    config: OneHop,
    congestion: CongestionFactory,
    observer: O,
    cancel: &AtomicBool,
) -> Result<RunStatistics, Interrupted> {
    let tcp = Tcp { config: config.tcp, congestion: Some(congestion) };
    let mut network = Network::from(config);
    network.flows[0].source = Source::Tcp(tcp);
    run_network(network, observer, cancel)
}

fn run_network<O: Observer>(
    network: Network,
    observer: O,
    cancel: &AtomicBool,
) -> Result<RunStatistics, Interrupted> {
    let statistics = match simulate(network, observer, (), cancel) {
        Ok(statistics) => statistics,
        Err(SimulationError::Interrupted(interrupted)) => return Err(interrupted),
        Err(SimulationError::Network(error)) => unreachable!("one flow over one hop: {error}"),
    };
    let (flow, forward, reverse) = (&statistics.flows[0], &statistics.forward[0], &statistics.reverse[0]);
    Ok(RunStatistics {
        duration: statistics.duration,
        segments_delivered: flow.segments_delivered,
        segments_in_order: flow.segments_in_order,
        segments_sent: flow.segments_sent,
        retransmissions: flow.retransmissions,
        segments_lost: flow.segments_lost,
        queue_drops: flow.queue_drops,
        timeouts: flow.timeouts,
        fast_retransmits: flow.fast_retransmits,
        rtt_sum_s: flow.rtt_sum_s,
        rtt_samples: flow.rtt_samples,
        waiting_s: forward.counts.waiting_s,
        acks_sent: flow.acks_sent,
        acks_lost: flow.acks_lost,
        ack_queue_drops: flow.ack_queue_drops,
        ack_waiting_s: reverse.counts.waiting_s,
        last_delivery: flow.last_delivery,
        stalled: statistics.stalled,
    })
}
