//! One run of a point by simulation: from its setup to its metrics.

use crate::ScenarioError;
use crate::build::network;
use crate::events::EventsCsv;
use crate::metrics::{DIED, flow_key, link_key};
use crate::plan::{Plan, Point};
use crate::resolve::{FlowSetup, Setup, TrafficSetup};
use crossfade_core::{DelayHistogram, RunSeed, SimTime};
use crossfade_sim::{FlowStatistics, LinkReport, NetworkStatistics, simulate as run};
use std::collections::BTreeMap;
use std::sync::atomic::AtomicBool;

/// Simulates `setup` in the run of `seed`; `None` if `cancel` became true.
pub(crate) fn simulate(setup: &Setup, seed: RunSeed, cancel: &AtomicBool) -> Option<BTreeMap<String, f64>> {
    let statistics = run(network(setup, seed), (), (), cancel).expect("a checked network").ok()?;
    Some(metrics(setup, &statistics))
}

/// The events of run 0 of the only point of `plan`, as CSV; `None` if `cancel` became true.
///
/// # Errors
/// The plan has several points.
pub fn events(plan: &Plan, cancel: &AtomicBool) -> Result<Option<String>, ScenarioError> {
    let point = only_point(plan, "an events file")?;
    let mut csv = EventsCsv::new();
    let seed = RunSeed { seed: plan.seed, run: 0 };
    let finished = run(network(&point.setup, seed), &mut csv, (), cancel).expect("a checked network");
    Ok(finished.is_ok().then(|| csv.into_text()))
}

/// The only point of `plan`, of which `what` shows one run.
pub(crate) fn only_point<'a>(plan: &'a Plan, what: &str) -> Result<&'a Point, ScenarioError> {
    match plan.points.as_slice() {
        [point] => Ok(point),
        points => {
            let problem = format!("{what} shows one run; the plan has {} points", points.len());
            Err(ScenarioError::key("sweep", problem))
        }
    }
}

/// The metrics that follow from packets delivered once and transmissions, each per slot.
pub(crate) fn rates(setup: &Setup, mss: u32, throughput: f64, transmissions: f64) -> BTreeMap<String, f64> {
    let per_second = throughput / setup.slot.as_secs_f64();
    let bits = |bytes: u32| per_second * f64::from(bytes) * 8.0;
    [
        ("goodput_bps", bits(mss)),
        ("ip_goodput_bps", bits(setup.packet_size)),
        ("throughput_per_slot", throughput),
        ("transmissions_per_slot", transmissions),
        ("energy_per_packet", transmissions / throughput),
    ]
    .map(|(name, value)| (name.to_owned(), value))
    .into()
}

/// What flows did together.
#[derive(Default)]
struct Books {
    total: FlowStatistics,
    /// Application data delivered, in bits.
    goodput_bits: f64,
    rtt: DelayHistogram,
    one_way_delay: DelayHistogram,
    /// Seconds, of each flow that had an end and reached it.
    completion_times_s: Vec<f64>,
    /// Bits a second, of each flow that has no end.
    shares: Vec<f64>,
    /// A flow that was to go on did not.
    died: bool,
}

impl Books {
    fn add(&mut self, flow: &FlowStatistics, mss: u32) {
        self.total.add(flow);
        self.goodput_bits += flow.segments_in_order as f64 * f64::from(mss) * 8.0;
        self.rtt.add(&flow.rtt);
        self.one_way_delay.add(&flow.one_way_delay);
    }

    fn join(&mut self, other: &Self) {
        self.total.add(&other.total);
        self.goodput_bits += other.goodput_bits;
        self.rtt.add(&other.rtt);
        self.one_way_delay.add(&other.one_way_delay);
        self.completion_times_s.extend(&other.completion_times_s);
        self.shares.extend(&other.shares);
        self.died |= other.died;
    }
}
