//! One run of a point by simulation: from its setup to its metrics.

use crate::plan::Plan;
use crate::resolve::{HopSetup, LossModel, Setup};
use crate::{ScenarioError, events::EventsCsv};
use crossfade_channel::{Iid, LossProcess, Lossless, MarkovLoss, RayleighLoss};
use crossfade_core::{RunSeed, SimTime};
use crossfade_link::{HopConfig, QueueLimit};
use crossfade_sim::{OneHop, RunStatistics, run, run_with_congestion_control};
use crossfade_transport::TcpConfig;
use crossfade_transport::congestion::CongestionControl;
use std::collections::BTreeMap;
use std::sync::Arc;
use std::sync::atomic::AtomicBool;

/// The published metrics and their units, in the order of tables.
pub const METRICS: [(&str, &str); 15] = [
    // Application data given to the application once and in order.
    ("goodput_bps", "bit/s"),
    // Whole packets that reached the receiver for the first time.
    ("ip_goodput_bps", "bit/s"),
    // Whole packets that came through the link, TCP's retransmissions included.
    ("link_goodput_bps", "bit/s"),
    // Segments that reached the receiver for the first time, per slot: the papers' throughput.
    ("throughput_per_slot", "packets/slot"),
    ("transmissions_per_slot", "transmissions/slot"),
    ("energy_per_packet", "transmissions/packet"),
    ("segments_delivered", "segments"),
    ("segments_sent", "segments"),
    ("retransmissions", "segments"),
    ("timeouts", "1"),
    ("fast_retransmits", "1"),
    // Of the packets that were put on the link, the share that the channel lost.
    ("frame_error_rate", "1"),
    ("rtt_mean_s", "s"),
    ("queue_mean_packets", "packets"),
    ("queue_drops", "packets"),
];

/// Of the published metrics those that describe the forward link.
pub(crate) const LINK_METRICS: [&str; 4] =
    ["link_goodput_bps", "frame_error_rate", "queue_mean_packets", "queue_drops"];

/// What describes the reverse link: the name in a row, the name it shares with the forward link, the unit.
pub(crate) const REVERSE_METRICS: [(&str, &str, &str); 3] = [
    ("reverse.frame_error_rate", "frame_error_rate", "1"),
    ("reverse.queue_mean_packets", "queue_mean_packets", "packets"),
    ("reverse.queue_drops", "queue_drops", "packets"),
];

/// 1 if the connection was dead at the end of the run: kept with a row, for the warning.
pub(crate) const DIED: &str = "died";

/// Simulates `setup` in the run of `seed`; `None` if `cancel` became true.
pub(crate) fn simulate(setup: &Setup, seed: RunSeed, cancel: &AtomicBool) -> Option<BTreeMap<String, f64>> {
    let statistics = run(build(setup, seed), (), cancel).ok()?;
    Some(metrics(setup, &statistics))
}

/// The events of run 0 of the only point of `plan`, as CSV; `None` if `cancel` became true.
///
/// # Errors
/// The plan has several points.
pub fn events(plan: &Plan, cancel: &AtomicBool) -> Result<Option<String>, ScenarioError> {
    let setup = only_setup(plan)?;
    let mut csv = EventsCsv::new();
    let finished = run(build(setup, first_run(plan)), &mut csv, cancel).is_ok();
    Ok(finished.then(|| csv.into_text()))
}

/// The same with the congestion control that `make` gives for the connection, in place of Reno's rule.
///
/// # Errors
/// The plan has several points.
pub fn events_with_congestion_control(
    plan: &Plan,
    make: impl Fn(&TcpConfig) -> Box<dyn CongestionControl> + Send + Sync + 'static,
    cancel: &AtomicBool,
) -> Result<Option<String>, ScenarioError> {
    let setup = only_setup(plan)?;
    let mut csv = EventsCsv::new();
    let (config, tcp) = (build(setup, first_run(plan)), setup.tcp);
    let congestion = Arc::new(move || make(&tcp));
    let finished = run_with_congestion_control(config, congestion, &mut csv, cancel).is_ok();
    Ok(finished.then(|| csv.into_text()))
}

fn only_setup(plan: &Plan) -> Result<&Setup, ScenarioError> {
    let [point] = plan.points.as_slice() else {
        let problem = format!("an events file shows one run; the plan has {} points", plan.points.len());
        return Err(ScenarioError::key("sweep", problem));
    };
    Ok(&point.setup)
}

fn first_run(plan: &Plan) -> RunSeed {
    RunSeed { seed: plan.seed, run: 0 }
}

/// The engine's objects. Streams are named after the direction, and are the same at every point of a plan.
fn build(setup: &Setup, seed: RunSeed) -> OneHop {
    OneHop {
        tcp: setup.tcp,
        packet_size: setup.packet_size,
        ack_size: setup.ack_size,
        sack_block_size: setup.sack_block_size,
        gate: setup.gate,
        forward: hop(&setup.forward, seed, "channel.dl"),
        reverse: hop(&setup.reverse, seed, "channel.ul"),
        warmup: setup.warmup,
        stop: setup.end,
    }
}

fn hop(setup: &HopSetup, seed: RunSeed, stream: &str) -> HopConfig {
    let stream = || seed.stream(stream);
    let loss: Box<dyn LossProcess> = match &setup.loss {
        LossModel::Lossless => Box::new(Lossless),
        LossModel::Iid { p_e } => Box::new(Iid::new(*p_e, stream()).expect("checked")),
        LossModel::Markov { chain, clock } => Box::new(MarkovLoss::new(chain, *clock, stream())),
        LossModel::Rayleigh { p_e, fd_t, clock } => {
            Box::new(RayleighLoss::new(*p_e, *fd_t, *clock, stream()).expect("checked"))
        }
        LossModel::DropList(drops) => Box::new(drops.clone()),
    };
    HopConfig {
        rate_bps: setup.rate_bps,
        delay: setup.delay,
        queue_limit: setup.queue_limit.map(|packets| QueueLimit::Packets(packets as usize)),
        loss,
    }
}

fn metrics(setup: &Setup, run: &RunStatistics) -> BTreeMap<String, f64> {
    let seconds = run.duration.as_secs_f64();
    let slots = run.duration.as_nanos() as f64 / setup.slot.as_nanos() as f64;
    let put_on_link = run.segments_sent - run.queue_drops;
    let bits = |packets: u64, bytes: u32| packets as f64 * f64::from(bytes) * 8.0;
    let count = |count: u64| count as f64;
    // Nothing came in the last half of the measured time.
    let died =
        run.stalled || run.last_delivery < setup.warmup + SimTime::from_nanos(run.duration.as_nanos() / 2);
    let values = [
        ("goodput_bps", bits(run.segments_in_order, setup.mss) / seconds),
        ("ip_goodput_bps", bits(run.segments_delivered, setup.packet_size) / seconds),
        ("link_goodput_bps", bits(put_on_link - run.segments_lost, setup.packet_size) / seconds),
        ("throughput_per_slot", count(run.segments_delivered) / slots),
        ("transmissions_per_slot", count(run.segments_sent) / slots),
        ("energy_per_packet", count(run.segments_sent) / count(run.segments_delivered)),
        ("segments_delivered", count(run.segments_delivered)),
        ("segments_sent", count(run.segments_sent)),
        ("retransmissions", count(run.retransmissions)),
        ("timeouts", count(run.timeouts)),
        ("fast_retransmits", count(run.fast_retransmits)),
        ("frame_error_rate", count(run.segments_lost) / count(put_on_link)),
        ("rtt_mean_s", run.rtt_sum_s / count(run.rtt_samples)),
        ("queue_mean_packets", run.waiting_s / seconds),
        ("queue_drops", count(run.queue_drops)),
        ("reverse.frame_error_rate", count(run.acks_lost) / count(run.acks_sent - run.ack_queue_drops)),
        ("reverse.queue_mean_packets", run.ack_waiting_s / seconds),
        ("reverse.queue_drops", count(run.ack_queue_drops)),
        (DIED, f64::from(u8::from(died))),
    ];
    // 0/0: a run without deliveries has no energy per packet.
    values
        .into_iter()
        .filter(|(_, value)| value.is_finite())
        .map(|(name, value)| (name.to_owned(), value))
        .collect()
}
