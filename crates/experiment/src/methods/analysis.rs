//! Method analysis of one point: from its setup to its metrics, or to the assumption that fails.

use super::assumptions::unforeseen;
use crate::closed_forms::packet_loss;
use crate::handle::ExecutionHandle;
use crate::metrics::{FIT_DISTANCES, LOSS_WINDOW, Metrics, rates};
use crate::solver::{FittedChains, NoMetrics, Outcome, Solver};
use crossfade_analysis::{AnalysisError, Model, Solution, bounds, exact, exact_delayed, paper_bounds};
use crossfade_channel::{Fidelity, LossConfig, NotMarkov};
use crossfade_core::{OutOfRange, RunSeed, SimTime};
use crossfade_link::satellite::ClosedForms;
use crossfade_scenario::{Around, Gate, HopSetup, LinksSetup, Point, Rto, Scenario, ScenarioError, Setup};
use crossfade_transport::{Flavour, RtoConfig, RtoRule, SenderConfig};
use serde_json::{Value, json};
use std::panic::resume_unwind;
use std::sync::mpsc::{RecvTimeoutError, channel};
use std::thread;
use std::time::Duration;

/// Relative accuracy of an exact throughput, far below the confidence interval of any simulation.
const ACCURACY: f64 = 1e-6;

/// Kind of solution of a connection and its channel as a Markov chain.
#[derive(Clone, Copy, PartialEq)]
pub(super) enum Analysis {
    /// The exact solution.
    Exact,
    /// Tight lower and upper bounds of the throughput.
    Bounds,
    /// Lower and upper bounds of the throughput as the paper prints them.
    PaperBounds,
}

impl Solver for Analysis {
    fn refusal(&self, point: &Point) -> Option<ScenarioError> {
        if self.of_satellite(point).is_some() {
            return None;
        }
        solvable(point).and_then(|solvable| self.check(&solvable)).err()
    }

    fn run(
        &self,
        point: &Point,
        _: RunSeed,
        fitted: &FittedChains,
        handle: &ExecutionHandle,
    ) -> Option<Outcome> {
        if let Some(found) = self.of_satellite(point) {
            return Some(Ok(found));
        }
        let (method, point, fitted) = (*self, point.clone(), fitted.clone());
        let found = unless_cancelled(handle, move || method.analyse(&point, &fitted))?;
        Some(found.map_err(NoMetrics::from))
    }

    fn is_random(&self) -> bool {
        false
    }

    fn is_repeatable(&self) -> bool {
        true
    }
}

/// Time between two checks of a long solution for cancellation.
const TICK: Duration = Duration::from_millis(50);

/// Does `work`, which cannot be interrupted, on a thread of its own; `None` once `handle` is cancelled, and the thread
/// is abandoned.
fn unless_cancelled<T: Send + 'static>(
    handle: &ExecutionHandle,
    work: impl FnOnce() -> T + Send + 'static,
) -> Option<T> {
    let (sender, result) = channel();
    let thread = thread::spawn(move || drop(sender.send(work())));
    loop {
        match result.recv_timeout(TICK) {
            Ok(found) => return Some(found),
            Err(RecvTimeoutError::Timeout) if handle.is_cancelled() => return None,
            Err(RecvTimeoutError::Timeout) => {}
            Err(RecvTimeoutError::Disconnected) => match thread.join() {
                Err(panic) => resume_unwind(panic),
                Ok(()) => unreachable!("it sends before it ends"),
            },
        }
    }
}

/// Problem that the analysis solves at a point. A channel that is not a Markov chain is replaced later, in `analyse`,
/// by a fitted chain, since a fit takes time.
///
/// # Errors
/// The first assumption of the analysis that the scenario violates, with the key that decides it.
fn solvable(point: &Point) -> Result<Solvable, ScenarioError> {
    let Point { scenario, setup, .. } = point;
    let sender = only_flow(scenario, setup)?;
    let given = scenario.flows.values().next().and_then(|flow| flow.tcp.as_ref()).unwrap_or(&scenario.tcp);
    let Some(tcp) = sender.tcp().filter(|tcp| tcp.flavour == Flavour::Paper) else {
        return Err(unmet("tcp.flavour", given.flavour, "flavour \"paper\", the idealised sender"));
    };
    let links = setup.links().filter(|links| links.gate == Gate::Slot);
    let Some(LinksSetup { forward, around: Around { reverse, .. }, .. }) = links else {
        return Err(unmet("tcp.gate", given.gate, "gate \"slot\", one packet a slot"));
    };
    let loss = loss(forward, setup.packet_size)?;
    if forward.radio().is_none()
        && let Some(error) = unforeseen(scenario, setup, "the analysis")
    {
        return Err(error);
    }
    if reverse.rate_bps().is_some() {
        let assumed = "acknowledgements that take no time to transmit";
        return Err(unmet("reverse.rate", scenario.reverse.rate, assumed));
    }
    let delays = [
        ("link.delay", forward.delay, scenario.link.delay),
        ("reverse.delay", reverse.delay, scenario.reverse.delay),
    ];
    let mut ack_delay_slots: u32 = 0;
    for (key, delay, given) in delays {
        let slots = whole_slots(delay, setup.slot);
        let slots = slots.ok_or_else(|| unmet(key, given, "a delay of a whole number of slots"))?;
        ack_delay_slots = ack_delay_slots.saturating_add(slots);
    }
    if reverse.loss().is_some_and(LossConfig::may_lose) {
        return Err(unmet(
            "reverse.channel.model",
            scenario.reverse.channel.model,
            "no acknowledgement lost",
        ));
    }
    let (timeout_slots, backoff_max_slots) = timeout(&given.rto, &tcp.rto, setup.slot)?;
    let model = Model {
        variant: tcp.variant,
        w_max: tcp.w_max,
        dupthresh: tcp.dupthresh,
        timeout_slots,
        backoff_max_slots,
        channel: loss.nearby_view().map_err(|error| not_markov(scenario, &error))?.chain,
    };
    model.check().map_err(|error| refuse(&error))?;
    Ok(Solvable { model, loss, ack_delay_slots })
}

/// Problem that the analysis can solve.
#[derive(Clone, Debug)]
struct Solvable {
    /// Connection and channel; the channel is a quick approximation if it must be fitted.
    model: Model,
    /// Loss process of packets, to which the chain of the model is fitted if it is not a Markov chain.
    loss: LossConfig,
    /// Slots from the end of a packet's transmission until the sender receives its acknowledgement.
    ack_delay_slots: u32,
}

/// Number of slots in `time`; `None` if it is not a whole number.
fn whole_slots(time: SimTime, slot: SimTime) -> Option<u32> {
    let slots = time / slot;
    let exact = slot.as_nanos().checked_mul(slots) == Some(time.as_nanos());
    u32::try_from(slots).ok().filter(|_| exact)
}

/// Sender of the only connection, if it is alone on a single hop.
///
/// # Errors
/// If there are further flows, or further hops.
fn only_flow<'a>(scenario: &Scenario, setup: &'a Setup) -> Result<&'a SenderConfig, ScenarioError> {
    let problem = |assumed| format!("the analysis assumes {assumed}; use method simulation");
    let is_wired = setup.network.around().is_some_and(|around| around.wired.is_some());
    for (key, is_there) in [("mesh", setup.mesh().is_some()), ("wired", is_wired)] {
        if is_there {
            return Err(ScenarioError::key(key, problem("one hop")));
        }
    }
    setup.only_bulk_tcp().map(|tcp| &tcp.config).ok_or_else(|| {
        let names = scenario.flows.keys().cloned().collect::<Vec<_>>().join(", ");
        ScenarioError::key(format!("flows ({names})"), problem("one connection without end"))
    })
}

/// Loss process of packets. Frames of a physical layer are lost independently; a link with a table of losses is refused
/// elsewhere.
///
/// # Errors
/// If the packet loss of the physical layer has no closed form.
fn loss(hop: &HopSetup, packet_size: u32) -> Result<LossConfig, ScenarioError> {
    match hop.radio() {
        Some(radio) => Ok(LossConfig::Iid { p_e: packet_loss(hop, packet_size, radio, "the analysis")? }),
        None => Ok(hop.loss().cloned().unwrap_or(LossConfig::Lossless)),
    }
}

fn not_markov(scenario: &Scenario, error: &NotMarkov) -> ScenarioError {
    let channel = &scenario.channel;
    let problem = format!("the analysis {error}");
    match error {
        NotMarkov::StepsPerTransmission => {
            ScenarioError::value("channel.clock", &json!(channel.clock), problem)
        }
        _ => ScenarioError::value("channel.model", &json!(channel.model), problem),
    }
}

/// Timeout in slots, and the longest timeout in slots if timeouts back off.
///
/// # Errors
/// If the timeout is estimated, or is not a whole number of slots.
fn timeout(given: &Rto, rto: &RtoConfig, slot: SimTime) -> Result<(u32, Option<u32>), ScenarioError> {
    let whole = |key: &str, time: SimTime, given: Value| {
        whole_slots(time, slot).ok_or_else(|| unmet(key, given, "a whole number of slots"))
    };
    let RtoRule::Fixed(timeout) = rto.rule else {
        return Err(unmet("tcp.rto.min", given.min, "a fixed timeout (tcp.rto.fixed)"));
    };
    let slots = whole("tcp.rto.fixed", timeout, json!(given.fixed))?;
    if !rto.backoff {
        return Ok((slots, None));
    }
    Ok((slots, Some(whole("tcp.rto.max", rto.max, json!(given.max))?)))
}

/// Error of a key that violates an assumption of the analysis.
fn unmet(key: &str, value: impl serde::Serialize, assumed: &str) -> ScenarioError {
    let value = serde_json::to_value(value).unwrap_or_default();
    ScenarioError::value(key, &value, format!("the analysis assumes {assumed}; use method simulation"))
}

/// Error of the analysis as an error of the scenario key that causes it.
fn refuse(error: &AnalysisError) -> ScenarioError {
    match error {
        AnalysisError::OutOfRange(OutOfRange { parameter, value, allowed }) => {
            let key = match *parameter {
                "w_max" => "tcp.w_max",
                "dupthresh" => "tcp.dupthresh",
                "timeout_slots" => "tcp.rto.fixed in slots",
                "backoff_max_slots" => "tcp.rto.max in slots",
                other => other,
            };
            let problem = format!("must be {allowed}, for the analysis; method simulation takes others");
            // Whole numbers are written as such.
            let value = value.parse::<i64>().map_or_else(|_| json!(value.parse::<f64>().ok()), Into::into);
            ScenarioError::value(key, &value, problem)
        }
        AnalysisError::BackoffNotBounded { .. } => ScenarioError::value(
            "tcp.rto.backoff",
            &Value::Bool(true),
            "the bounds assume a constant timeout; use method analysis or simulation",
        ),
        other => ScenarioError::key("analysis", other.to_string()),
    }
}

/// Greatest number of states of an exact solution with delayed acknowledgements, which takes seconds.
const MAX_STATES: usize = 250_000;

fn solve_delayed(setup: &Setup, model: &Model, ack_delay_slots: u32) -> Result<Metrics, ScenarioError> {
    let found = exact_delayed(model, ack_delay_slots, MAX_STATES).map_err(|error| refuse(&error))?;
    let mut metrics = throughput(setup, &found.solution);
    metrics.extend(
        [
            ("timeouts_per_slot", found.timeouts_per_slot),
            ("fast_retransmits_per_slot", found.fast_retransmits_per_slot),
            ("states", found.states as f64),
        ]
        .map(|(name, value)| (name.to_owned(), value)),
    );
    metrics.retain(|_, value| value.is_finite());
    Ok(metrics)
}

fn throughput(setup: &Setup, solution: &Solution) -> Metrics {
    let mss = setup.only_bulk_tcp().map_or(setup.packet_size, |tcp| tcp.mss);
    rates(setup, mss, solution.throughput_per_slot, solution.transmissions_per_slot)
}

impl Analysis {
    /// Metrics of a satellite link by closed forms, whatever sends over it; `None` for other links and solutions.
    fn of_satellite(self, point: &Point) -> Option<Metrics> {
        let satellite = point.setup.links()?.forward.satellite().filter(|_| self == Self::Exact)?;
        let ClosedForms { capacity_bps, outage_share, idle_wait_s, .. } = satellite.closed_forms;
        let found = [
            ("link_capacity_bps", capacity_bps),
            ("outage_share", outage_share),
            ("idle_wait_s", idle_wait_s),
        ];
        Some(found.map(|(name, value)| (name.to_owned(), value)).into())
    }

    /// Checks that this kind of solution exists for `solvable`.
    ///
    /// # Errors
    /// If bounds are requested and timeouts back off or acknowledgements take time.
    fn check(self, solvable: &Solvable) -> Result<(), ScenarioError> {
        if self == Self::Exact {
            return Ok(());
        }
        if solvable.ack_delay_slots > 0 {
            let problem =
                "the bounds assume instantaneous acknowledgements; use method analysis or simulation";
            let delay = format!("delay of {} slots there and back", solvable.ack_delay_slots);
            return Err(ScenarioError::key(delay, problem));
        }
        match solvable.model.backoff_max_slots {
            Some(backoff_max_slots) => Err(refuse(&AnalysisError::BackoffNotBounded { backoff_max_slots })),
            None => Ok(()),
        }
    }

    /// Solves a point: its metrics by name.
    ///
    /// # Errors
    /// The assumption of the analysis that fails, and a method to use instead.
    fn analyse(self, point: &Point, fitted: &FittedChains) -> Result<Metrics, ScenarioError> {
        let Solvable { model, loss, ack_delay_slots } = solvable(point)?;
        let view = fitted.view(&loss).map_err(|error| not_markov(&point.scenario, &error))?;
        let model = Model { channel: view.chain, ..model };
        let mut metrics = if ack_delay_slots > 0 {
            solve_delayed(&point.setup, &model, ack_delay_slots)?
        } else {
            self.solve(&point.setup, &model)?
        };
        if let Fidelity::Fitted { good_runs, bad_runs } = view.fidelity {
            let distances = FIT_DISTANCES.into_iter().zip([good_runs, bad_runs]);
            metrics.extend(distances.map(|(name, distance)| (name.to_owned(), distance)));
        }
        Ok(metrics)
    }

    fn solve(self, setup: &Setup, model: &Model) -> Result<Metrics, ScenarioError> {
        let named = |name: &str, value| (name.to_owned(), value);
        match self {
            Self::Bounds | Self::PaperBounds => {
                let bounds_of = if self == Self::Bounds { bounds } else { paper_bounds };
                let found = bounds_of(model).map_err(|error| refuse(&error))?;
                Ok([
                    named("throughput_lower", found.throughput_lower),
                    named("throughput_upper", found.throughput_upper),
                    named("transmissions_per_slot", found.transmissions_per_slot),
                ]
                .into())
            }
            Self::Exact => {
                let found = exact(model, ACCURACY).map_err(|error| refuse(&error))?;
                let mut metrics = throughput(setup, &found.solution);
                metrics.extend([
                    named("timeouts_per_slot", found.timeouts_per_slot),
                    named("fast_retransmits_per_slot", found.fast_retransmits_per_slot),
                    named("cycle_mean_slots", found.mean_cycle_slots),
                    named("cycle_deviation_slots", found.cycle_slots_variance.sqrt()),
                    named("truncation_error", found.truncation),
                    named("states", found.states as f64),
                ]);
                let windows = found.loss_windows.iter().zip(1..);
                metrics.extend(windows.map(|(share, floor)| (format!("{LOSS_WINDOW}{floor}"), *share)));
                metrics.retain(|_, value| value.is_finite());
                Ok(metrics)
            }
        }
    }
}
