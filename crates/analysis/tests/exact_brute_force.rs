//! Tests of the exact analysis against the whole protocol, slot by slot, as one finite Markov chain.
//!
//! This chain knows every timer, the real window and the receiver's buffer, and has no notion of cycles.

use crossfade_analysis::{Model, exact};
use crossfade_channel::TwoStateMarkov;
use crossfade_core::testing::long_or;
use crossfade_transport::Variant;
use std::collections::HashMap;

/// Sender, receiver and channel between two slots; sequence numbers count from the oldest unacknowledged packet.
#[derive(Clone, PartialEq, Eq, Hash)]
struct State {
    bad: bool,
    /// Congestion window W, as the bits of an `f64` so that states can be hashed.
    w: u64,
    w_th: u64,
    dupacks: u32,
    /// Slots until the timer of each outstanding packet expires.
    timers: Vec<u32>,
    /// Bitmap of the packets that the receiver has: bit p for packet p.
    held: u32,
    /// Packet at which recovery ends, and the hole to retransmit next; `None` outside recovery.
    recovery: Option<(u32, Option<u32>)>,
    timeout: u32,
}

#[derive(Clone, Copy, Default)]
struct Counts {
    new: f64,
    sent: f64,
    timeouts: f64,
    fast_retransmits: f64,
    /// True if a cycle ended before this slot.
    ends_before: bool,
    ends_with: bool,
    /// Floor of the window if this slot has the first loss of a cycle.
    first_loss: Option<u32>,
}

impl State {
    fn slot(&mut self, model: &Model, bad: bool) -> Counts {
        let mut counts = Counts::default();
        self.bad = bad;
        let (mut w, mut w_th) = (f64::from_bits(self.w), f64::from_bits(self.w_th));
        let restart = |state: &mut Self| {
            state.timers.clear();
            state.dupacks = 0;
            state.recovery = None;
        };
        if self.timers.first() == Some(&0) {
            w_th = (w / 2.0).ceil();
            w = 1.0;
            restart(self);
            self.timeout =
                model.backoff_max_slots.map_or(self.timeout, |longest| longest.min(2 * self.timeout));
            counts.timeouts = 1.0;
            counts.ends_before = true;
        }
        let seq = match &mut self.recovery {
            Some((_, hole)) => hole.take(),
            None if (self.timers.len() as f64) < w.floor() => {
                self.timers.push(self.timeout);
                Some(self.timers.len() as u32 - 1)
            }
            None => None,
        };
        counts.sent = f64::from(u8::from(seq.is_some()));
        counts.first_loss = (bad && seq == Some(0) && self.recovery.is_none()).then_some(w as u32);
        if let (Some(seq), false) = (seq, bad) {
            counts.new = f64::from(u8::from(self.held >> seq & 1 == 0));
            self.held |= 1 << seq;
            let acked = self.held.trailing_ones();
            if acked > 0 {
                self.held >>= acked;
                self.timers.drain(..self.timers.len().min(acked as usize));
                self.dupacks = 0;
                self.timeout = model.timeout_slots;
                match self.recovery {
                    None => w = (w + if w < w_th { 1.0 } else { 1.0 / w }).min(f64::from(model.w_max)),
                    Some((end, _)) if acked >= end => {
                        w = w_th;
                        self.recovery = None;
                        counts.ends_with = true;
                    }
                    Some((end, _)) => {
                        w = (w + 1.0).min(f64::from(model.w_max));
                        self.recovery = Some((end - acked, (model.variant != Variant::Reno).then_some(0)));
                    }
                }
            } else {
                self.dupacks += 1;
                if self.dupacks == model.dupthresh && model.variant != Variant::OldTahoe {
                    counts.fast_retransmits = 1.0;
                    w_th = (w / 2.0).ceil();
                    if model.variant == Variant::Tahoe {
                        w = 1.0;
                        restart(self);
                        counts.ends_with = true;
                    } else {
                        w = (w_th + f64::from(model.dupthresh)).min(f64::from(model.w_max));
                        self.recovery = Some((self.timers.len() as u32, Some(0)));
                    }
                }
            }
        }
        self.timers.iter_mut().for_each(|left| *left -= 1);
        (self.w, self.w_th) = (w.to_bits(), w_th.to_bits());
        counts
    }
}

/// Successors of a state after one slot and their event counts, for a good and for a bad channel.
type Steps = [(usize, Counts); 2];

fn enumerate(model: &Model) -> (Vec<bool>, Vec<Steps>) {
    let start = State {
        bad: false,
        w: 1_f64.to_bits(),
        w_th: f64::from(model.w_max).to_bits(),
        dupacks: 0,
        timers: Vec::new(),
        held: 0,
        recovery: None,
        timeout: model.timeout_slots,
    };
    let mut index = HashMap::from([(start.clone(), 0)]);
    let (mut states, mut steps) = (vec![start], Vec::new());
    while let Some(state) = states.get(steps.len()).cloned() {
        steps.push([false, true].map(|bad| {
            let mut next = state.clone();
            let counts = next.slot(model, bad);
            let to = *index.entry(next.clone()).or_insert(states.len());
            if to == states.len() {
                states.push(next);
            }
            (to, counts)
        }));
    }
    (states.iter().map(|state| state.bad).collect(), steps)
}

/// Probability of a state, and first and second moment of the slots since the start of the cycle, both weighted with
/// it.
#[derive(Clone, Copy, Default)]
struct Age([f64; 3]);

impl Age {
    fn add(&mut self, other: Self) {
        (0..3).for_each(|power| self.0[power] += other.0[power]);
    }

    fn a_slot_later(self) -> Self {
        let [p, age, squared] = self.0;
        Self([p, age + p, squared + 2.0 * age + p])
    }

    /// Ends the cycle, adds it to `cycles`, and returns the age 0 with the probability.
    fn restart(self, cycles: &mut Self) -> Self {
        cycles.add(self);
        Self([self.0[0], 0.0, 0.0])
    }
}

/// Long-run means per slot.
#[derive(Clone, Default)]
struct LongRun {
    new: f64,
    sent: f64,
    timeouts: f64,
    fast_retransmits: f64,
    /// Moments of the durations of cycles that end in a slot.
    cycles: Age,
    first_losses: Vec<f64>,
}

/// Long-run means from the stationary distribution by power iteration.
fn solve(model: &Model, (bad, steps): &(Vec<bool>, Vec<Steps>)) -> LongRun {
    let mut weights = vec![Age::default(); bad.len()];
    weights[0].0[0] = 1.0;
    let mut last = LongRun::default();
    loop {
        let mut run = LongRun::default();
        for _ in 0..200 {
            run = LongRun { first_losses: vec![0.0; model.w_max as usize], ..LongRun::default() };
            let mut next = vec![Age::default(); weights.len()];
            for ((weight, bad), [if_good, if_bad]) in weights.iter().zip(bad).zip(steps) {
                let channel = &model.channel;
                let p_bad = if *bad { channel.p_bb() } else { channel.p_gb() };
                for ((to, c), p) in [(if_good, 1.0 - p_bad), (if_bad, p_bad)] {
                    let mut age = Age(weight.0.map(|moment| p * moment));
                    let p = age.0[0];
                    if c.ends_before {
                        age = age.restart(&mut run.cycles);
                    }
                    age = age.a_slot_later();
                    if c.ends_with {
                        age = age.restart(&mut run.cycles);
                    }
                    next[*to].add(age);
                    run.new += p * c.new;
                    run.sent += p * c.sent;
                    run.timeouts += p * c.timeouts;
                    run.fast_retransmits += p * c.fast_retransmits;
                    if let Some(floor) = c.first_loss {
                        run.first_losses[floor as usize - 1] += p;
                    }
                }
            }
            weights = next;
        }
        let squared = |run: &LongRun| run.cycles.0[2];
        if (run.new - last.new).abs() < 1e-13
            && (run.sent - last.sent).abs() < 1e-13
            && (squared(&run) - squared(&last)).abs() < 1e-12 * squared(&run)
        {
            return run;
        }
        last = run;
    }
}

fn compare(w_max: u32, dupthresh: u32, timeout_slots: u32, backoff_max_slots: Option<u32>) {
    for variant in [Variant::OldTahoe, Variant::Tahoe, Variant::Reno, Variant::NewReno, Variant::Sack] {
        let channel = TwoStateMarkov::iid(0.5).unwrap();
        let mut model = Model { variant, w_max, dupthresh, timeout_slots, backoff_max_slots, channel };
        let chain = enumerate(&model);
        for (p_gg, p_bb) in [(0.99, 0.7), (0.9, 0.1), (0.7, 0.3), (0.6, 0.8), (0.3, 0.2)] {
            model.channel = TwoStateMarkov::new(p_gg, p_bb).unwrap();
            let expected = solve(&model, &chain);
            let ours = exact(&model, 1e-10).unwrap();
            let [cycles, slots, squared] = expected.cycles.0;
            let mean = slots / cycles;
            let mut figures = vec![
                ("throughput", ours.solution.throughput_per_slot, expected.new),
                ("transmissions", ours.solution.transmissions_per_slot, expected.sent),
                ("timeouts", ours.timeouts_per_slot, expected.timeouts),
                ("fast retransmits", ours.fast_retransmits_per_slot, expected.fast_retransmits),
                // To as many digits: they are no shares.
                ("mean cycle", ours.mean_cycle_slots / mean, 1.0),
                (
                    "variance",
                    ours.cycle_slots_variance / (squared / cycles),
                    1.0 - mean * mean * cycles / squared,
                ),
            ];
            for (ours, expected) in ours.loss_windows.iter().zip(&expected.first_losses) {
                figures.push(("window at the first loss", *ours, expected / cycles));
            }
            for (what, ours, expected) in figures {
                let states = chain.0.len();
                assert!(
                    (ours - expected).abs() < 1e-9,
                    "{what}, {model:?}, {states} states: {ours} {expected}"
                );
            }
        }
    }
}

#[test]
fn windows_of_one_to_three() {
    for (w_max, dupthresh) in [(1, 1), (2, 1), (2, 2), (3, 1), (3, 2), (3, 3)] {
        compare(w_max, dupthresh, 2 * w_max + 2, None);
    }
    compare(3, 1, 11, None);
}

#[test]
fn a_window_of_four() {
    for &dupthresh in long_or(&[1, 2, 3][..], &[3]) {
        compare(4, dupthresh, 10, None);
    }
}

#[test]
fn backoff() {
    let cases = [(1, 1, 4, 10), (2, 1, 6, 6), (3, 1, 8, 13), (3, 2, 8, 40)];
    for (w_max, dupthresh, timeout_slots, longest) in cases.into_iter().take(long_or(4, 3)) {
        compare(w_max, dupthresh, timeout_slots, Some(longest));
    }
}
