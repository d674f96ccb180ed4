//! The chain of the first losses of cycles: (window, what the receiver holds ahead), and one step of it.
//!
//! ```text
//!  loss in window Y ── part 2 ──> first packet of the next cycle ── lost, window > 1: next loss
//!        ^                              │            └── lost, window 1: timeouts until it arrives ──┐
//!        └─ part 1: slots until a loss ─┴── arrives: "resumed" <─────────────────────────────────────┘
//! ```
//!
//! A packet that is lost alone leaves what the receiver holds as it is, however often that happens: this is summed up
//! in closed form, back-off included. Every other step shifts what is held by a packet at least, so that it is
//! forgotten in a few steps; how the windows follow each other is solved exactly in every step.

use super::cycle::{End, Held, Mean, SecondPart, after_arrival};
use crate::embedded::stationary;
use crate::growth::{LossWindow, windows};
use crate::model::Model;
use crate::phi::{Bad, good_after};
use std::collections::HashMap;
use std::hash::{BuildHasherDefault, Hasher};

/// Multiplies and folds: as good as any for keys that nobody chooses with malice, and always in the same order.
#[derive(Default)]
struct Mix(u64);

impl Hasher for Mix {
    fn finish(&self) -> u64 {
        self.0
    }

    fn write(&mut self, bytes: &[u8]) {
        for &byte in bytes {
            self.write_u64(u64::from(byte));
        }
    }

    fn write_u32(&mut self, value: u32) {
        self.write_u64(u64::from(value));
    }

    fn write_u64(&mut self, value: u64) {
        let product = u128::from(self.0 ^ value ^ 0x9e37_79b9_7f4a_7c15) * 0xd6e8_feb8_6659_fd93;
        self.0 = (product >> 64) as u64 ^ product as u64;
    }
}

/// Weights of states (group, held).
#[derive(Default)]
struct Weights {
    /// Nothing is held.
    empty: Vec<f64>,
    held: HashMap<(u32, Held), f64, BuildHasherDefault<Mix>>,
}

impl Weights {
    fn new(groups: usize) -> Self {
        Self { empty: vec![0.0; groups], ..Self::default() }
    }

    fn clear(&mut self) {
        self.empty.fill(0.0);
        self.held.clear();
    }

    /// What weighs less than `grain` joins the state in which nothing is held. Returns how many packets that forgets,
    /// weighted.
    fn add(&mut self, group: usize, held: Held, weight: f64, grain: f64) -> f64 {
        if held == 0 {
            self.empty[group] += weight;
        } else if weight < grain {
            self.empty[group] += weight;
            return weight * f64::from(held.count_ones());
        } else {
            *self.held.entry((group as u32, held)).or_insert(0.0) += weight;
        }
        0.0
    }
}

/// Sums over the cycles from one group of losses on, weighted.
#[derive(Clone, Copy, Default)]
pub(super) struct Sums {
    weight: f64,
    pub(super) slots: f64,
    pub(super) sent: f64,
    pub(super) new: f64,
    pub(super) timeouts: f64,
    pub(super) fast_retransmits: f64,
    /// First losses in a window of 1 that are no state of the chain.
    pub(super) alone: f64,
}

impl Sums {
    fn add(&mut self, other: &Self, factor: f64) {
        self.weight += factor * other.weight;
        self.slots += factor * other.slots;
        self.sent += factor * other.sent;
        self.new += factor * other.new;
        self.timeouts += factor * other.timeouts;
        self.fast_retransmits += factor * other.fast_retransmits;
        self.alone += factor * other.alone;
    }
}

/// Means of one cycle in the long run.
pub(super) struct Step {
    pub(super) mean: Sums,
    /// How often the first loss finds which floor of the window.
    pub(super) floors: Vec<f64>,
    /// Packets forgotten in a cycle.
    pub(super) forgotten: f64,
}

/// Where the step from one group of losses leads: weights of groups of resumed cycles, and of losses.
struct Flow {
    resumed: Vec<f64>,
    loss: Vec<f64>,
}

pub(super) struct Chain {
    model: Model,
    windows: Vec<LossWindow>,
    /// The group of a loss in slots 1, 2, ... of a resumed cycle; the last is that of the cap.
    growth: Vec<Vec<usize>>,
    /// The groups of losses that follow a resumed cycle.
    after_resumed: Vec<Vec<f64>>,
    /// A packet sent after a timeout was lost: mean slots and transmissions until it arrives.
    retry_slots: f64,
    retries: f64,
    loss: Weights,
    next_loss: Weights,
    resumed: Weights,
    /// Weights of resumed cycles that hold nothing more from a slot on.
    emptied: Vec<Vec<f64>>,
    flows: Vec<Flow>,
    sums: Vec<Sums>,
}

impl Chain {
    pub(super) fn new(model: &Model) -> Self {
        let windows: Vec<LossWindow> = LossWindow::all(model.w_max).collect();
        let starts = (1..=model.w_max.div_ceil(2)).flat_map(|ssthresh| [(ssthresh, 1), (ssthresh, ssthresh)]);
        let growth: Vec<Vec<usize>> =
            starts.map(|(ssthresh, window)| growth(model, ssthresh, window)).collect();
        let after_resumed: Vec<Vec<f64>> =
            growth.iter().map(|growth| losses_after(model, growth, windows.len())).collect();
        let (retry_slots, retries) = retries(model);
        let groups = windows.len();
        let mut loss = Weights::new(groups);
        loss.empty.fill(1.0 / groups as f64);
        let flow = || Flow { resumed: vec![0.0; growth.len()], loss: vec![0.0; groups] };
        Self {
            model: *model,
            retry_slots,
            retries,
            loss,
            next_loss: Weights::new(groups),
            resumed: Weights::new(growth.len()),
            emptied: growth.iter().map(|growth| vec![0.0; growth.len()]).collect(),
            flows: (0..groups).map(|_| flow()).collect(),
            sums: vec![Sums::default(); groups],
            windows,
            growth,
            after_resumed,
        }
    }

    /// How many states have a weight.
    pub(super) fn states(&self) -> usize {
        self.loss.empty.iter().filter(|weight| **weight > 0.0).count() + self.loss.held.len()
    }

    /// One cycle from every state; states less likely than `grain` are merged.
    pub(super) fn step(&mut self, second: &SecondPart, grain: f64) -> Step {
        self.clear();
        let forgotten = self.second_part(second, grain) + self.first_part(grain);
        std::mem::swap(&mut self.loss, &mut self.next_loss);
        let share = self.long_run_shares();
        self.rescale(&share);
        let mut mean = Sums::default();
        let mut floors = vec![0.0; self.model.w_max as usize];
        for ((sums, share), window) in self.sums.iter().zip(&share).zip(&self.windows) {
            if sums.weight > 0.0 {
                mean.add(sums, share / sums.weight);
                floors[window.floor as usize - 1] += share;
            }
        }
        floors[0] += mean.alone;
        let cycles: f64 = floors.iter().sum();
        for floor in &mut floors {
            *floor /= cycles;
        }
        Step { mean, floors, forgotten }
    }

    fn clear(&mut self) {
        self.next_loss.clear();
        self.resumed.clear();
        self.emptied.iter_mut().for_each(|slots| slots.fill(0.0));
        self.sums.fill(Sums::default());
        for flow in &mut self.flows {
            flow.resumed.fill(0.0);
            flow.loss.fill(0.0);
        }
    }

    /// From `loss` to `resumed` and, where the first packet of the next cycle is lost in a window of more than one, to
    /// `next_loss`.
    fn second_part(&mut self, second: &SecondPart, grain: f64) -> f64 {
        let loss = std::mem::take(&mut self.loss);
        let mut forgotten = 0.0;
        let empty = loss.empty.iter().enumerate().map(|(group, weight)| (group, 0, *weight));
        let held = loss.held.iter().map(|(&(group, held), weight)| (group as usize, held, *weight));
        for (group, held, weight) in empty.chain(held).filter(|(_, _, weight)| *weight > 0.0) {
            self.sums[group].weight += weight;
            let floor = self.windows[group].floor;
            let mut merged = 0.0;
            let in_mean = second.ends(floor, held, weight, |end, mean, held| {
                merged += self.end(group, end, &mean, held, grain);
            });
            forgotten += in_mean + merged;
        }
        self.loss = loss;
        forgotten
    }

    /// One end of part 2, and the first slot of the next cycle.
    fn end(&mut self, group: usize, end: End, mean: &Mean, held: Held, grain: f64) -> f64 {
        let Mean { probability, good_next, .. } = *mean;
        let lost = probability - good_next;
        let half = self.windows[group].half;
        let sums = &mut self.sums[group];
        sums.slots += mean.slots + probability;
        sums.sent += mean.sent + probability;
        sums.new += mean.new + good_next;
        if end != End::Timeout {
            sums.fast_retransmits += probability;
        }
        let ssthresh = match end {
            // No fast retransmit adds K to what is less than K.
            End::TimeoutInRecovery { arrived } => half
                .saturating_add(self.model.dupthresh)
                .saturating_add(arrived)
                .min(self.model.w_max)
                .div_ceil(2),
            _ => half,
        };
        match end {
            End::Timeout | End::TimeoutInRecovery { .. } => {
                sums.timeouts += probability + lost * self.retries;
                sums.slots += lost * self.retry_slots;
                sums.sent += lost * self.retries;
                sums.new += lost;
                sums.alone += lost * self.retries;
                self.resume(group, ssthresh, 1, held, good_next, grain)
                    + self.resume(group, 1, 1, held, lost, grain)
            }
            End::Restart => {
                self.resume(group, ssthresh, 1, held, good_next, grain)
                    + self.lose(group, 1, held, lost, grain)
            }
            End::Recovered => {
                self.resume(group, ssthresh, ssthresh, held, good_next, grain)
                    + self.lose(group, ssthresh, held, lost, grain)
            }
        }
    }

    /// The first packet of a cycle arrives: the cycle lasts until the next loss.
    fn resume(
        &mut self,
        group: usize,
        ssthresh: u32,
        window: u32,
        held: Held,
        weight: f64,
        grain: f64,
    ) -> f64 {
        if weight <= 0.0 {
            return 0.0;
        }
        // Only windows that never occur have a larger half.
        let ssthresh = ssthresh.min(self.model.w_max.div_ceil(2));
        let resumed = 2 * (ssthresh as usize - 1) + usize::from(window > 1);
        self.flows[group].resumed[resumed] += weight;
        let p_gb = self.model.channel.p_gb();
        let sums = &mut self.sums[group];
        sums.slots += weight / p_gb;
        sums.sent += weight / p_gb;
        sums.new += weight * self.model.channel.p_gg() / p_gb;
        self.resumed.add(resumed, after_arrival(held), weight, grain)
    }

    /// The first packet of a cycle is lost.
    fn lose(&mut self, group: usize, window: u32, held: Held, weight: f64, grain: f64) -> f64 {
        if weight <= 0.0 {
            return 0.0;
        }
        let next = LossWindow::of(f64::from(window)).index();
        self.flows[group].loss[next] += weight;
        self.next_loss.add(next, held, weight, grain)
    }

    /// From `resumed` to `next_loss`: every packet that arrives is new, and shifts what is held.
    fn first_part(&mut self, grain: f64) -> f64 {
        let channel = &self.model.channel;
        let mut forgotten = 0.0;
        for (&(resumed, held), &weight) in &self.resumed.held {
            let growth = &self.growth[resumed as usize];
            let (mut held, mut intact, mut slot) = (held, weight, 0);
            while held != 0 {
                slot = usize::min(slot + 1, growth.len() - 1);
                forgotten += self.next_loss.add(growth[slot], held, intact * channel.p_gb(), grain);
                intact *= channel.p_gg();
                held = after_arrival(held);
            }
            self.emptied[resumed as usize][slot] += intact;
        }
        for ((growth, emptied), weight) in self.growth.iter().zip(&self.emptied).zip(&self.resumed.empty) {
            // `emptied[s]` has got through the slot with index s.
            let mut intact = weight + emptied[0];
            for (group, emptied) in growth.iter().zip(emptied).skip(1) {
                self.next_loss.empty[*group] += intact * channel.p_gb();
                intact = intact * channel.p_gg() + emptied;
            }
            self.next_loss.empty[growth[growth.len() - 1]] += intact;
        }
        forgotten
    }

    /// The shares of the groups of losses in the long run, if the next cycles are like these.
    fn long_run_shares(&self) -> Vec<f64> {
        let groups = self.windows.len();
        let mut matrix = Vec::with_capacity(groups * groups);
        for flow in &self.flows {
            let mut row = flow.loss.clone();
            for (weight, after) in flow.resumed.iter().zip(&self.after_resumed) {
                if *weight > 0.0 {
                    row.iter_mut().zip(after).for_each(|(sum, p)| *sum += weight * p);
                }
            }
            let total: f64 = row.iter().sum();
            for p in &mut row {
                *p /= total;
            }
            matrix.extend(row);
        }
        stationary(matrix, groups)
    }

    fn rescale(&mut self, share: &[f64]) {
        let mut total = self.loss.empty.clone();
        for (&(group, _), weight) in &self.loss.held {
            total[group as usize] += weight;
        }
        let factor: Vec<f64> = share
            .iter()
            .zip(&total)
            .map(|(share, total)| if *total > 0.0 { share / total } else { 0.0 })
            .collect();
        for (group, (weight, factor)) in self.loss.empty.iter_mut().zip(&factor).enumerate() {
            *weight = if total[group] > 0.0 { *weight * factor } else { share[group] };
            // Every group keeps a weight, so that the next step has a row for it.
            *weight = weight.max(TRACE);
        }
        for ((group, _), weight) in &mut self.loss.held {
            *weight *= factor[*group as usize];
        }
    }
}

/// No sum of weights notices this.
const TRACE: f64 = 1e-100;

/// The groups of losses in slots 1, 2, ... of a cycle.
fn growth(model: &Model, ssthresh: u32, window: u32) -> Vec<usize> {
    let cap = f64::from(model.w_max);
    let mut groups = Vec::new();
    for window in windows(window, ssthresh, model.w_max) {
        groups.push(LossWindow::of(window).index());
        if window >= cap {
            break;
        }
    }
    groups
}

/// The distribution over groups of losses of a cycle whose first packet arrived.
fn losses_after(model: &Model, growth: &[usize], groups: usize) -> Vec<f64> {
    let mut losses = vec![0.0; groups];
    let mut intact = 1.0;
    for group in &growth[1..] {
        losses[*group] += intact * model.channel.p_gb();
        intact *= model.channel.p_gg();
    }
    losses[growth[growth.len() - 1]] += intact;
    losses
}

/// A packet sent after a timeout is lost: mean slots until it arrives, that slot included, and mean transmissions.
///
/// The timeout doubles up to its maximum with back-off.
fn retries(model: &Model) -> (f64, f64) {
    let mut timeouts = vec![model.timeout_slots];
    if let Some(longest) = model.backoff_max_slots {
        let doubled = |timeout: &u32| (*timeout < longest).then(|| timeout.saturating_mul(2).min(longest));
        timeouts = std::iter::successors(Some(model.timeout_slots), doubled).collect();
    }
    let arrives = |timeout: u32| good_after(&model.channel, Bad, timeout);
    let longest = timeouts[timeouts.len() - 1];
    let (mut slots, mut sent) = (f64::from(longest) / arrives(longest), 1.0 / arrives(longest));
    // The loss before the first of these had the plain timeout.
    for timeout in timeouts[1..timeouts.len().max(2) - 1].iter().rev() {
        let again = 1.0 - arrives(*timeout);
        slots = f64::from(*timeout) + again * slots;
        sent = 1.0 + again * sent;
    }
    (slots, sent)
}
