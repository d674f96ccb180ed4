//! Exact throughput of TCP flavour `paper`: the state of a cycle includes the packets that the receiver holds out of
//! order.
//!
//! The semi-Markov process of Zorzi et al. (2000) takes every packet that arrives in part 2 of a cycle as new (upper
//! bound) or old (lower bound), and every packet lost there as a hole. Here, the chain knows the packets that the
//! receiver holds, so both are exact. States of negligible weight are merged with that of an empty receiver buffer.

mod chain;
mod cycle;

use crate::bounds::endings;
use crate::model::{AnalysisError, Model, Solution};
use crate::phi::{Bad, good_after};
use chain::{Chain, Step};
use crossfade_core::OutOfRange;
use crossfade_core::square;
use crossfade_transport::Variant;
use cycle::{Forgotten, SecondPart};

/// Exact steady state of TCP flavour `paper` (the idealised sender of Zorzi et al., 2000).
#[derive(Clone, Debug, PartialEq)]
pub struct Exact {
    /// Throughput and transmissions per slot.
    pub solution: Solution,
    /// Estimated absolute error of throughput and transmissions: possible contribution of merged states, and further
    /// changes if the iteration continued.
    pub truncation: f64,
    /// Number of states of the Markov chain.
    pub states: usize,
    /// Number of timeouts per slot.
    pub timeouts_per_slot: f64,
    /// Number of fast retransmits per slot.
    pub fast_retransmits_per_slot: f64,
    /// Mean duration of a cycle in slots; infinite if no packet is ever lost.
    ///
    /// A cycle (Zorzi et al., 2000) lasts from the first slot after a timeout, a completed recovery, or Tahoe's fast
    /// retransmit to the next such slot. Each cycle has one first loss.
    pub mean_cycle_slots: f64,
    /// Variance of the duration of a cycle in slots; infinite if it exceeds the range of numbers.
    pub cycle_slots_variance: f64,
    /// Share of cycles whose window has the floor 1, 2, ..., `w_max` when the first packet of the cycle is lost; shares
    /// sum to 1. Without losses, all of it is at `w_max`.
    pub loss_windows: Vec<f64>,
}

/// Greatest window in segments, because the held packets are a bitmap of 64 bits.
const W_MAX: u32 = 64;
/// Largest number of states, to bound time.
const MAX_STATES: usize = 1_000_000;
/// Initial weight below which states are merged; it shrinks until the accuracy is reached.
const COARSEST: f64 = 1e-4;
/// Number of cycles in which the chain forgets its initial state, before changes are evaluated. They are cheap while
/// few states are kept.
const SETTLING: usize = 8;
/// Least accuracy that can be requested; below it, rounding errors would matter.
const MIN_ACCURACY: f64 = 1e-10;

/// Exact steady-state throughput of TCP flavour `paper` (the idealised sender of Zorzi et al., 2000), to an absolute
/// `accuracy` in packets per slot.
///
/// Source: Zorzi, Chockalingam, Rao, IEEE JSAC 18(7), 2000, sections II and IV, with the receiver's buffer
/// added to the state.
///
/// # Errors
/// If [`Model::check`] refuses the model; for a window above 64, an accuracy outside 1e-10 to 0.1, or more states than
/// can be solved in seconds.
pub fn exact(model: &Model, accuracy: f64) -> Result<Exact, AnalysisError> {
    model.check()?;
    if model.w_max > W_MAX {
        let allowed = format!("at most {W_MAX} for the exact analysis; bounds and simulation take more");
        return Err(OutOfRange::new("w_max", model.w_max, allowed).into());
    }
    if !(MIN_ACCURACY..=0.1).contains(&accuracy) {
        let allowed = format!("{MIN_ACCURACY:e} to 0.1");
        return Err(OutOfRange::new("accuracy", accuracy, allowed).into());
    }
    if model.channel.p_gb() < f64::MIN_POSITIVE {
        return Ok(never_loses(model));
    }
    if never_recovers(model) {
        return Ok(timeout_after_timeout(model));
    }
    let endings = endings(model);
    let mut chain = Chain::new(model);
    let mut grain = COARSEST;
    let mut settling = SETTLING;
    let cost = Cost::of(model);
    let mut likely = vec![1.0; model.w_max as usize];
    loop {
        let second = SecondPart::new(model, &endings, &likely, grain)?;
        // The results of the first step are those of states merged with the coarser grain.
        let mut last = chain.step(&second, grain);
        for _ in 0..settling {
            last = chain.step(&second, grain);
        }
        settling = 0;
        let (mut last_change, mut enough) = (f64::NAN, false);
        while !enough {
            let step = chain.step(&second, grain);
            if chain.states() > MAX_STATES {
                return Err(AnalysisError::TooLarge { states: "states", limit: MAX_STATES });
            }
            likely = step.floors.iter().map(|share| share * (1.0 + step.mean.alone)).collect();
            let change = step.change(&last);
            let ahead = changes_ahead(last_change, change);
            // States that the last step merged affect this one.
            let merged = f64::max(cost.of_all(step.forgotten), cost.of_all(last.forgotten)) / step.mean.slots;
            // A coarse chain needs no more steps than its merging error justifies.
            enough = ahead <= f64::max(accuracy / 4.0, merged / 16.0);
            if enough && merged <= accuracy / 2.0 {
                return Ok(result(&step, chain.states(), merged + ahead));
            }
            (last_change, last) = (change, step);
        }
        grain /= 8.0;
    }
}

/// Error bound per unit of forgotten weight, in packets.
struct Cost {
    /// Error per held packet that is treated as not held. The packet counts as new if it arrives again, and causes a
    /// hole that does not exist if it is lost then.
    packet: f64,
    /// Error per end of part 2 that was computed without held packets: a packet lost in it may cause a non-existent
    /// hole.
    end: f64,
}

impl Cost {
    fn of(model: &Model) -> Self {
        match model.variant {
            Variant::OldTahoe | Variant::Tahoe => Self { packet: 1.0, end: 0.0 },
            // At most 1.5 packets were observed, in a search for the models with the largest error.
            Variant::NewReno | Variant::Sack => Self { packet: 3.0, end: 0.0 },
            // Reno waits a timeout for such a hole. At most 0.47 of this bound was observed, in a search for the models
            // with the largest error.
            Variant::Reno => {
                let timeout = f64::from(model.timeout_slots);
                let lost = f64::max(model.channel.p_bb(), model.channel.p_gb());
                Self { packet: f64::max(3.0, 1.0 + timeout * lost), end: timeout }
            }
        }
    }

    fn of_all(&self, forgotten: Forgotten) -> f64 {
        self.packet * forgotten.packets + self.end * forgotten.ends
    }
}

/// Sum of all further changes of the throughput, if each shrinks by the ratio of the last two, and at least to a half.
/// It is infinite (unknown) after one change alone.
fn changes_ahead(last_change: f64, change: f64) -> f64 {
    if last_change.is_nan() {
        return f64::INFINITY;
    }
    let ratio = (change / last_change).max(0.5);
    if change <= ROUNDING {
        change
    } else if ratio < 1.0 {
        change * ratio / (1.0 - ratio)
    } else {
        f64::INFINITY
    }
}

/// Change of the throughput below which rounding dominates.
const ROUNDING: f64 = 1e-14;

fn result(step: &Step, states: usize, truncation: f64) -> Exact {
    let mean = &step.mean;
    // A step from one state to the next includes cycles that are no states of their own.
    let cycles = 1.0 + mean.alone;
    let mean_cycle_slots = mean.slots / cycles;
    let squared = mean.slots_squared / cycles;
    Exact {
        // The limits only remove rounding errors.
        solution: Solution {
            throughput_per_slot: (mean.new / mean.slots).clamp(0.0, 1.0),
            transmissions_per_slot: (mean.sent / mean.slots).clamp(0.0, 1.0),
        },
        truncation,
        states,
        timeouts_per_slot: mean.timeouts / mean.slots,
        fast_retransmits_per_slot: mean.fast_retransmits / mean.slots,
        mean_cycle_slots,
        cycle_slots_variance: if squared.is_finite() {
            // The limit only removes a rounding error.
            (squared - square(mean_cycle_slots)).max(0.0)
        } else {
            f64::INFINITY
        },
        loss_windows: step.floors.clone(),
    }
}

/// Result for a channel whose good runs are longer than the greatest number: no packet is ever lost.
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
        cycle_slots_variance: f64::INFINITY,
        loss_windows,
    }
}

/// True if no retransmission after a timeout ever arrives: bad runs are longer than the greatest number, or the channel
/// alternates and the timeout is even.
fn never_recovers(model: &Model) -> bool {
    let longest = model.backoff_max_slots.unwrap_or(model.timeout_slots);
    good_after(&model.channel, Bad, longest) < f64::MIN_POSITIVE
}

fn timeout_after_timeout(model: &Model) -> Exact {
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
        cycle_slots_variance: 0.0,
        loss_windows,
    }
}
