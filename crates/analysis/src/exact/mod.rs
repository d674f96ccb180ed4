//! The exact throughput of the paper flavour: the state of a cycle holds what the receiver has out of order.
//!
//! The paper's semi-Markov process takes every packet that arrives in part 2 of a cycle for new (upper bound) or old
//! (lower bound), and every packet lost there for a hole. Here the chain knows which packets the receiver holds, so
//! that both are known. States too unlikely to matter are merged with that of an empty receiver buffer.

mod chain;
mod cycle;

use crate::bounds::endings;
use crate::model::{AnalysisError, Model, Solution};
use chain::{Chain, Step};
use cycle::SecondPart;

/// The solved chain.
#[derive(Clone, Debug, PartialEq)]
pub struct Exact {
    /// Throughput and transmissions.
    pub solution: Solution,
    /// Estimated error of the throughput: what merged states may add to it, and the last change of the iteration.
    pub truncation: f64,
    /// How many states the chain had.
    pub states: usize,
    /// Timeouts per slot.
    pub timeouts_per_slot: f64,
    /// Fast retransmits per slot.
    pub fast_retransmits_per_slot: f64,
    /// Mean slots from the start of a cycle (after a timeout, a completed recovery, or Tahoe's fast retransmit) to that
    /// of the next; infinite if nothing is ever lost.
    pub mean_cycle_slots: f64,
    /// The distribution of the window's floor at the first loss of a cycle: 1, 2, ..., `w_max`.
    pub loss_windows: Vec<f64>,
}

/// What is held is kept in 64 bits.
const W_MAX: u32 = 64;
/// More states than this take too much time.
const MAX_STATES: usize = 1_000_000;
/// Merged at first what is less likely than this.
const COARSEST: f64 = 1e-4;
/// Below this rounding would matter.
const MIN_ACCURACY: f64 = 1e-10;

/// The throughput of the paper flavour in steady state, to an absolute `accuracy`.
///
/// Source: Zorzi, Chockalingam, Rao, IEEE JSAC 18(7), 2000, sections II and IV, with the receiver's buffer added to the
/// state.
///
/// # Errors
/// What [`Model::check`] refuses; a window above 64; an accuracy outside 1e-10 to 0.1; more states than fit into
/// seconds of work.
pub fn exact(model: &Model, accuracy: f64) -> Result<Exact, AnalysisError> {
    model.check()?;
    if model.w_max > W_MAX {
        let allowed = format!("at most {W_MAX} for the exact analysis; bounds and simulation take more");
        return Err(AnalysisError::OutOfRange { parameter: "w_max", value: f64::from(model.w_max), allowed });
    }
    if !(MIN_ACCURACY..=0.1).contains(&accuracy) {
        let allowed = format!("{MIN_ACCURACY:e} to 0.1");
        return Err(AnalysisError::OutOfRange { parameter: "accuracy", value: accuracy, allowed });
    }
    if model.channel.p_gb() < f64::MIN_POSITIVE {
        return Ok(never_loses(model));
    }
    if model.channel.p_bg() < f64::MIN_POSITIVE {
        return Ok(never_recovers(model));
    }
    let endings = endings(model);
    let mut chain = Chain::new(model);
    let mut grain = COARSEST;
    let mut last = f64::NAN;
    let mut likely = vec![1.0; model.w_max as usize];
    loop {
        let second = SecondPart::new(model, &endings, &likely, grain)?;
        let (mut steps, mut enough) = (0, false);
        while !enough {
            let step = chain.step(&second, grain);
            let throughput = step.mean.new / step.mean.slots;
            let change = (throughput - last).abs();
            last = throughput;
            likely = step.floors.iter().map(|share| share * (1.0 + step.mean.alone)).collect();
            steps += 1;
            let merged = step.forgotten / step.mean.slots;
            if chain.states() > MAX_STATES {
                return Err(AnalysisError::TooLarge { states: "states", limit: MAX_STATES });
            }
            // A coarse chain needs no more steps than it is right.
            enough = steps >= 2 && change <= f64::max(accuracy / 4.0, merged / 16.0);
            if enough && merged <= accuracy / 2.0 {
                return Ok(result(&step, chain.states(), merged + change));
            }
        }
        grain /= 8.0;
    }
}

fn result(step: &Step, states: usize, truncation: f64) -> Exact {
    let mean = &step.mean;
    Exact {
        // Rounding only.
        solution: Solution {
            throughput_per_slot: (mean.new / mean.slots).clamp(0.0, 1.0),
            transmissions_per_slot: (mean.sent / mean.slots).clamp(0.0, 1.0),
        },
        truncation,
        states,
        timeouts_per_slot: mean.timeouts / mean.slots,
        fast_retransmits_per_slot: mean.fast_retransmits / mean.slots,
        mean_cycle_slots: mean.slots / (1.0 + mean.alone),
        loss_windows: step.floors.clone(),
    }
}

/// A good run is longer than any number there is.
fn never_loses(model: &Model) -> Exact {
    let mut loss_windows = vec![0.0; model.w_max as usize];
    loss_windows[model.w_max as usize - 1] = 1.0;
    Exact {
        solution: Solution { throughput_per_slot: 1.0, transmissions_per_slot: 1.0 },
        truncation: 0.0,
        states: 1,
        timeouts_per_slot: 0.0,
        fast_retransmits_per_slot: 0.0,
        mean_cycle_slots: f64::INFINITY,
        loss_windows,
    }
}

/// A bad run is: timeout after timeout.
fn never_recovers(model: &Model) -> Exact {
    let timeout = f64::from(model.backoff_max_slots.unwrap_or(model.timeout_slots));
    let mut loss_windows = vec![0.0; model.w_max as usize];
    loss_windows[0] = 1.0;
    Exact {
        solution: Solution { throughput_per_slot: 0.0, transmissions_per_slot: 1.0 / timeout },
        truncation: 0.0,
        states: 1,
        timeouts_per_slot: 1.0 / timeout,
        fast_retransmits_per_slot: 0.0,
        mean_cycle_slots: timeout,
        loss_windows,
    }
}
