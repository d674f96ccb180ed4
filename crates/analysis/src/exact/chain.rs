//! Markov chain of the first losses of cycles, with the states (window, packets held ahead by the receiver), and its
//! step by one cycle.
//!
//! ```text
//!  loss in window Y ── part 2 ──> first packet of the next cycle ── lost, window > 1: next loss
//!        ^                              │            └── lost, window 1: timeouts until it arrives ──┐
//!        └─ part 1: slots until a loss ─┴── arrives: "resumed" <─────────────────────────────────────┘
//! ```
//!
//! A packet that is lost alone leaves the packets held by the receiver unchanged, no matter how often it is lost; these
//! losses are summed in closed form, with back-off. Every other step shifts the held packets by at least one, so that
//! they are forgotten after a few steps. The sequence of windows is solved exactly in every step.

use super::cycle::{End, Forgotten, Held, Mean, SecondPart, after_arrival};
use crate::embedded::stationary;
use crate::growth::{LossWindow, windows};
use crate::model::Model;
use crate::phi::{Bad, good_after};
use std::collections::HashMap;
use std::hash::{BuildHasherDefault, Hasher};
use std::ops::AddAssign;

/// Multiplicative hash with folding: fast, equal in all runs, and sufficient for keys that are not chosen to collide.
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

/// Weight of a state: its probability, and its mean age in the cycle.
#[derive(Clone, Copy, Default)]
struct Weight {
    probability: f64,
    /// Probability times the number of slots since the start of the cycle, including the current one.
    age: f64,
}

impl Weight {
    /// Weight in the first slot of a cycle.
    fn first(probability: f64) -> Self {
        Self { probability, age: probability }
    }

    fn times(self, factor: f64) -> Self {
        Self { probability: self.probability * factor, age: self.age * factor }
    }

    /// Weight one slot later, if an event of this probability occurs in the slot.
    fn next(self, probability: f64) -> Self {
        Self { age: self.age + self.probability, ..self }.times(probability)
    }
}

impl AddAssign for Weight {
    fn add_assign(&mut self, other: Self) {
        self.probability += other.probability;
        self.age += other.age;
    }
}

/// Weights of all states (group of losses, packets held by the receiver).
#[derive(Default)]
struct Weights {
    /// Weights of the states without held packets, by group.
    empty: Vec<Weight>,
    held: HashMap<(u32, Held), Weight, BuildHasherDefault<Mix>>,
}

impl Weights {
    fn new(groups: usize) -> Self {
        Self { empty: vec![Weight::default(); groups], ..Self::default() }
    }

    fn clear(&mut self) {
        self.empty.fill(Weight::default());
        self.held.clear();
    }

    /// Adds weight to a state. If the weight is below `grain`, it goes to the state without held packets, and the
    /// forgotten weight is returned.
    fn add(&mut self, group: usize, held: Held, weight: Weight, grain: f64) -> Forgotten {
        if held == 0 || weight.probability < grain {
            self.empty[group] += weight;
            return Forgotten::packets(weight.probability, held);
        }
        *self.held.entry((group as u32, held)).or_default() += weight;
        Forgotten::default()
    }
}

/// Weighted sums over the cycles that begin with the losses of one group.
#[derive(Clone, Copy, Default)]
pub(super) struct Sums {
    weight: f64,
    pub(super) slots: f64,
    /// Sum of the squared durations of cycles in slots.
    pub(super) slots_squared: f64,
    pub(super) sent: f64,
    pub(super) new: f64,
    pub(super) timeouts: f64,
    pub(super) fast_retransmits: f64,
    /// Number of first losses in a window of 1 after a timeout, which are no states of the chain.
    pub(super) alone: f64,
}

impl Sums {
    fn add(&mut self, other: &Self, factor: f64) {
        self.weight += factor * other.weight;
        self.slots += factor * other.slots;
        self.slots_squared += factor * other.slots_squared;
        self.sent += factor * other.sent;
        self.new += factor * other.new;
        self.timeouts += factor * other.timeouts;
        self.fast_retransmits += factor * other.fast_retransmits;
        self.alone += factor * other.alone;
    }
}

/// Long-run means per state of the chain, after one cycle from every state.
pub(super) struct Step {
    pub(super) mean: Sums,
    /// Contribution of each group of losses to the new packets and to the slots.
    by_group: Vec<[f64; 2]>,
    /// Share of cycles by the floor of the window at the first loss, from floor 1 on.
    pub(super) floors: Vec<f64>,
    /// Weight forgotten by merging states, per cycle.
    pub(super) forgotten: Forgotten,
}

impl Step {
    /// Change of the throughput since the step `last`. Changes of the groups are added by magnitude, since opposite
    /// ones may cancel in the sum and then oscillate.
    pub(super) fn change(&self, last: &Self) -> f64 {
        let Sums { new, slots, .. } = self.mean;
        let gain = |[new_of_group, slots_of_group]: &[f64; 2]| new_of_group - new / slots * slots_of_group;
        let groups = self.by_group.iter().zip(&last.by_group);
        groups.map(|(now, then)| (gain(now) - gain(then)).abs()).sum::<f64>() / slots
    }
}

/// Successors of one group of losses: weights by group of resumed cycles, and by group of losses.
struct Flow {
    resumed: Vec<f64>,
    loss: Vec<f64>,
}

pub(super) struct Chain {
    model: Model,
    windows: Vec<LossWindow>,
    /// Group of a loss in slots 1, 2, ... of each resumed cycle; the last is that at the maximum window.
    growth: Vec<Vec<usize>>,
    /// Distribution of the group of the next loss, for each group of resumed cycles.
    after_resumed: Vec<Vec<f64>>,
    retries: Retries,
    loss: Weights,
    next_loss: Weights,
    resumed: Weights,
    /// Weights of resumed cycles, by group and by the slot after which the receiver holds no packets ahead.
    emptied: Vec<Vec<Weight>>,
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
        let groups = windows.len();
        let mut loss = Weights::new(groups);
        loss.empty.fill(Weight::first(1.0 / groups as f64));
        let flow = || Flow { resumed: vec![0.0; growth.len()], loss: vec![0.0; groups] };
        Self {
            model: *model,
            retries: retries(model),
            loss,
            next_loss: Weights::new(groups),
            resumed: Weights::new(growth.len()),
            emptied: growth.iter().map(|growth| vec![Weight::default(); growth.len()]).collect(),
            flows: (0..groups).map(|_| flow()).collect(),
            sums: vec![Sums::default(); groups],
            windows,
            growth,
            after_resumed,
        }
    }

    /// Number of states with a weight.
    pub(super) fn states(&self) -> usize {
        self.loss.empty.iter().filter(|weight| weight.probability > 0.0).count() + self.loss.held.len()
    }

    /// Follows one cycle from every state; states with a weight below `grain` are merged with those without held
    /// packets.
    pub(super) fn step(&mut self, second: &SecondPart, grain: f64) -> Step {
        self.clear();
        let forgotten = self.second_part(second, grain) + self.first_part(grain);
        std::mem::swap(&mut self.loss, &mut self.next_loss);
        let share = self.long_run_shares();
        self.rescale(&share);
        let mut mean = Sums::default();
        let mut floors = vec![0.0; self.model.w_max as usize];
        let mut by_group = vec![[0.0; 2]; share.len()];
        for (group, (sums, share)) in self.sums.iter().zip(&share).enumerate() {
            if sums.weight > 0.0 {
                let factor = share / sums.weight;
                mean.add(sums, factor);
                by_group[group] = [factor * sums.new, factor * sums.slots];
                floors[self.windows[group].floor as usize - 1] += share;
            }
        }
        floors[0] += mean.alone;
        let cycles: f64 = floors.iter().sum();
        for floor in &mut floors {
            *floor /= cycles;
        }
        Step { mean, by_group, floors, forgotten }
    }

    fn clear(&mut self) {
        self.next_loss.clear();
        self.resumed.clear();
        self.emptied.iter_mut().for_each(|slots| slots.fill(Weight::default()));
        self.sums.fill(Sums::default());
        for flow in &mut self.flows {
            flow.resumed.fill(0.0);
            flow.loss.fill(0.0);
        }
    }

    /// Step from `loss` to `resumed`. If the first packet of the next cycle is lost in a window of more than one, the
    /// step is to `next_loss`.
    fn second_part(&mut self, second: &SecondPart, grain: f64) -> Forgotten {
        let loss = std::mem::take(&mut self.loss);
        let mut forgotten = Forgotten::default();
        let empty = loss.empty.iter().enumerate().map(|(group, weight)| (group, 0, *weight));
        let held = loss.held.iter().map(|(&(group, held), weight)| (group as usize, held, *weight));
        for (group, held, weight) in empty.chain(held).filter(|(_, _, weight)| weight.probability > 0.0) {
            self.sums[group].weight += weight.probability;
            let floor = self.windows[group].floor;
            // (n + N_d)^2 = n^2 + 2 n N_d + N_d^2; n^2 was counted where part 1 began.
            let twice_n = 2.0 * weight.age / weight.probability;
            let mut merged = Forgotten::default();
            let in_mean = second.ends(floor, held, weight.probability, |end, mean, held| {
                self.sums[group].slots_squared += twice_n * mean.slots + mean.slots_squared;
                merged = merged + self.end(group, end, &mean, held, grain);
            });
            forgotten = forgotten + in_mean + merged;
        }
        self.loss = loss;
        forgotten
    }

    /// Adds one end of part 2 and the first slot of the next cycle to the sums and weights; returns the forgotten
    /// weight.
    fn end(&mut self, group: usize, end: End, mean: &Mean, held: Held, grain: f64) -> Forgotten {
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
            // Such an end follows a fast retransmit, so K is below the window here.
            End::TimeoutInRecovery { arrived } => half
                .saturating_add(self.model.dupthresh)
                .saturating_add(arrived)
                .min(self.model.w_max)
                .div_ceil(2),
            _ => half,
        };
        match end {
            End::Timeout | End::TimeoutInRecovery { .. } => {
                let Retries { number, slots, slots_squared } = self.retries;
                sums.timeouts += probability + lost * number;
                sums.slots += lost * slots;
                sums.slots_squared += lost * slots_squared;
                sums.sent += lost * number;
                sums.new += lost;
                sums.alone += lost * number;
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

    /// Resumes with a cycle whose first packet arrives: it lasts until the next loss. Returns the forgotten weight.
    fn resume(
        &mut self,
        group: usize,
        ssthresh: u32,
        window: u32,
        held: Held,
        weight: f64,
        grain: f64,
    ) -> Forgotten {
        if weight <= 0.0 {
            return Forgotten::default();
        }
        // Only loss windows that never occur have a larger half.
        let ssthresh = ssthresh.min(self.model.w_max.div_ceil(2));
        let resumed = 2 * (ssthresh as usize - 1) + usize::from(window > 1);
        self.flows[group].resumed[resumed] += weight;
        let p_gb = self.model.channel.p_gb();
        let sums = &mut self.sums[group];
        // The slots after the first one until a loss are geometric, with the second moment (2 - p) / p^2.
        sums.slots += weight / p_gb;
        sums.slots_squared += weight * (1.0 + 2.0 / p_gb + (2.0 - p_gb) / p_gb / p_gb);
        sums.sent += weight / p_gb;
        sums.new += weight * self.model.channel.p_gg() / p_gb;
        self.resumed.add(resumed, after_arrival(held), Weight::first(weight), grain)
    }

    /// Begins a cycle whose first packet is lost; returns the forgotten weight.
    fn lose(&mut self, group: usize, window: u32, held: Held, weight: f64, grain: f64) -> Forgotten {
        if weight <= 0.0 {
            return Forgotten::default();
        }
        let next = LossWindow::of(f64::from(window)).index();
        self.flows[group].loss[next] += weight;
        self.sums[group].slots_squared += weight;
        self.next_loss.add(next, held, Weight::first(weight), grain)
    }

    /// Step from `resumed` to `next_loss`: every packet that arrives is new and shifts the held packets. Returns the
    /// forgotten weight.
    fn first_part(&mut self, grain: f64) -> Forgotten {
        let channel = &self.model.channel;
        let mut forgotten = Forgotten::default();
        for (&(resumed, held), &weight) in &self.resumed.held {
            let growth = &self.growth[resumed as usize];
            let (mut held, mut intact, mut slot) = (held, weight, 0);
            while held != 0 {
                slot = usize::min(slot + 1, growth.len() - 1);
                forgotten =
                    forgotten + self.next_loss.add(growth[slot], held, intact.next(channel.p_gb()), grain);
                intact = intact.next(channel.p_gg());
                held = after_arrival(held);
            }
            self.emptied[resumed as usize][slot] += intact;
        }
        for ((growth, emptied), weight) in self.growth.iter().zip(&self.emptied).zip(&self.resumed.empty) {
            // `emptied[s]` has survived the slot with index s.
            let mut intact = *weight;
            intact += emptied[0];
            for (group, emptied) in growth.iter().zip(emptied).skip(1) {
                self.next_loss.empty[*group] += intact.next(channel.p_gb());
                intact = intact.next(channel.p_gg());
                intact += *emptied;
            }
            // At the maximum window, the cycle lasts 1 / p_gb more slots on average.
            let Weight { probability, age } = intact;
            self.next_loss.empty[growth[growth.len() - 1]] +=
                Weight { probability, age: age + probability / channel.p_gb() };
        }
        forgotten
    }

    /// Long-run share of each group of losses, if the following cycles are like the current ones.
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
        let mut total: Vec<f64> = self.loss.empty.iter().map(|weight| weight.probability).collect();
        for (&(group, _), weight) in &self.loss.held {
            total[group as usize] += weight.probability;
        }
        for ((weight, total), share) in self.loss.empty.iter_mut().zip(&total).zip(share) {
            if *total == 0.0 {
                *weight = Weight::first(*share);
            }
        }
        let factor: Vec<f64> = share
            .iter()
            .zip(&total)
            .map(|(share, total)| if *total > 0.0 { share / total } else { 1.0 })
            .collect();
        for (weight, factor) in self.loss.empty.iter_mut().zip(&factor) {
            *weight = weight.times(*factor);
            // Every group keeps a weight, so that the next step has a row for it.
            if weight.probability < TRACE {
                *weight = Weight::first(TRACE);
            }
        }
        for ((group, _), weight) in &mut self.loss.held {
            *weight = weight.times(factor[*group as usize]);
        }
    }
}

/// Weight that is too small to change any sum.
const TRACE: f64 = 1e-100;

/// Group of a loss in slots 1, 2, ... of a cycle that starts with `window` and `ssthresh`.
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

/// Distribution over groups of the next loss in a cycle whose first packet arrived.
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

/// Timeouts after the loss of a packet that was sent after a timeout, until it arrives.
struct Retries {
    /// Mean number of timeouts, each of which is a cycle of its own.
    number: f64,
    /// Mean total duration of these timeouts in slots.
    slots: f64,
    /// Mean sum of the squared durations of these timeouts.
    slots_squared: f64,
}

/// Means over the timeouts until a packet lost after a timeout arrives. The first of them is doubled by back-off (up to
/// its maximum), since the loss followed a plain timeout.
fn retries(model: &Model) -> Retries {
    let longest = model.backoff_max_slots.unwrap_or(model.timeout_slots);
    let doubled = |timeout: &u32| Some(timeout.saturating_mul(2).min(longest));
    let backed_off = std::iter::successors(doubled(&model.timeout_slots), doubled);
    let shorter: Vec<u32> = backed_off.take_while(|timeout| *timeout < longest).collect();
    let arrives = |timeout: u32| good_after(&model.channel, Bad, timeout);
    let number = 1.0 / arrives(longest);
    let slots = number * f64::from(longest);
    let mut retries = Retries { number, slots, slots_squared: slots * f64::from(longest) };
    for &timeout in shorter.iter().rev() {
        let (again, slots) = (1.0 - arrives(timeout), f64::from(timeout));
        retries.number = 1.0 + again * retries.number;
        retries.slots = slots + again * retries.slots;
        retries.slots_squared = slots * slots + again * retries.slots_squared;
    }
    retries
}
