//! Part 2 (recovery) of a cycle after its first loss, with the packets that the receiver holds.
//!
//! Slot 0 is that of the first loss. A pattern tells which packets behind the lost one arrive, until the window is used
//! up or the K-th duplicate acknowledgement comes; it does not depend on the held packets. Likely patterns are followed
//! one by one; the others enter only by their mean, as if the receiver held no packets ahead.

use crate::embedded::{Endings, Outcome};
use crate::model::{AnalysisError, Model};
use crate::phi::{Bad, Good, State, good_after};
use crossfade_transport::Variant;
use std::ops::Add;

/// Bitmap of the packets that the receiver holds ahead of the first missing one: bit p - 1 for the p-th packet behind
/// it.
pub(super) type Held = u64;

/// Next missing packet behind the missing packet `hole`, counted from the same packet as `hole`.
fn next_hole(held: Held, hole: u32) -> u32 {
    hole + 1 + (held >> hole).trailing_ones()
}

/// Held packets counted from the missing packet `hole`.
fn behind(held: Held, hole: u32) -> Held {
    held.checked_shr(hole).unwrap_or(0)
}

/// Held packets after the first missing packet has arrived, counted from the next missing one.
pub(super) fn after_arrival(held: Held) -> Held {
    behind(held, next_hole(held, 0))
}

/// Kind of the end of part 2 (recovery) of a cycle.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum End {
    /// Timeout, since fewer than K duplicate acknowledgements came.
    Timeout,
    /// Fast retransmit of Tahoe, which starts with a window of 1.
    Restart,
    /// Completed recovery: all holes are filled.
    Recovered,
    /// Timeout in recovery: a hole could not be filled, after `arrived` others were.
    TimeoutInRecovery { arrived: u32 },
}

impl End {
    fn index(self) -> usize {
        match self {
            Self::Timeout => 0,
            Self::Restart => 1,
            Self::Recovered => 2,
            Self::TimeoutInRecovery { arrived } => 3 + arrived as usize,
        }
    }

    fn from_index(index: usize) -> Self {
        match index {
            0 => Self::Timeout,
            1 => Self::Restart,
            2 => Self::Recovered,
            _ => Self::TimeoutInRecovery { arrived: index as u32 - 3 },
        }
    }
}

/// Weight of those branches of a cycle that were not followed exactly.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Forgotten {
    /// Mean number of packets held by the receiver that are treated as not held.
    pub(super) packets: f64,
    /// Weight of ends of part 2 that were computed for a receiver without held packets although it held some.
    pub(super) ends: f64,
}

impl Forgotten {
    pub(super) fn packets(weight: f64, held: Held) -> Self {
        Self { packets: weight * f64::from(held.count_ones()), ends: 0.0 }
    }
}

impl Add for Forgotten {
    type Output = Self;

    fn add(self, other: Self) -> Self {
        Self { packets: self.packets + other.packets, ends: self.ends + other.ends }
    }
}

/// Probability of some ends of part 2, and means over them weighted with it.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Mean {
    pub(super) probability: f64,
    /// Probability of these ends with a good channel in the first slot of the next cycle.
    pub(super) good_next: f64,
    /// Slots after that of the first loss.
    pub(super) slots: f64,
    pub(super) slots_squared: f64,
    /// Transmissions in these slots.
    pub(super) sent: f64,
    /// New packets received in these slots.
    pub(super) new: f64,
}

impl Mean {
    fn certain(good_next: f64, slots: u32, sent: u32, new: u32) -> Self {
        let (slots, sent, new) = (f64::from(slots), f64::from(sent), f64::from(new));
        Self { probability: 1.0, good_next, slots, slots_squared: slots * slots, sent, new }
    }

    pub(super) fn times(self, factor: f64) -> Self {
        Self {
            probability: self.probability * factor,
            good_next: self.good_next * factor,
            slots: self.slots * factor,
            slots_squared: self.slots_squared * factor,
            sent: self.sent * factor,
            new: self.new * factor,
        }
    }

    fn subtract(&mut self, other: Self) {
        let less = |a: f64, b: f64| f64::max(a - b, 0.0);
        self.probability = less(self.probability, other.probability);
        self.good_next = less(self.good_next, other.good_next).min(self.probability);
        self.slots = less(self.slots, other.slots);
        self.slots_squared = less(self.slots_squared, other.slots_squared);
        self.sent = less(self.sent, other.sent);
        self.new = less(self.new, other.new);
    }
}

/// Pattern of arrivals and losses of the packets that are sent behind the lost one.
#[derive(Clone, Copy)]
struct Pattern {
    received: Held,
    probability: f64,
    slots: u32,
    fast_retransmit: bool,
}

/// Likely patterns for one floor of the window.
struct Patterns {
    /// Patterns in order of falling probability.
    list: Vec<Pattern>,
    /// End index of each block of `list`; block b has the patterns with a probability of 2^-(b+1) to 2^-b.
    blocks: Vec<usize>,
    /// Mean of all ends after the patterns of 0, 1, ... blocks are subtracted, by [`End::index`].
    rest: Vec<Vec<Mean>>,
}

/// Part 2 (recovery) of a cycle for every floor of the window.
pub(super) struct SecondPart {
    model: Model,
    k: u32,
    by_floor: Vec<Patterns>,
    /// Probability of a good channel `timeout_slots` - s slots after a bad and after a good one, for s up to 2 `w_max`.
    good_after: [Vec<f64>; 2],
    /// Least weight (probability times weight of the state) of a pattern that is followed; others enter by their mean.
    grain: f64,
}

/// Largest number of loss patterns, to bound memory.
const MAX_PATTERNS: usize = 3_000_000;

impl SecondPart {
    /// Computes the likely patterns. `endings` are those of [`crate::bounds`](fn@crate::bounds), from which followed
    /// patterns are subtracted; `likely` holds an upper bound of the probability of a window, by its floor.
    pub(super) fn new(
        model: &Model,
        endings: &[Endings],
        likely: &[f64],
        grain: f64,
    ) -> Result<Self, AnalysisError> {
        let k =
            if model.variant == Variant::OldTahoe { model.w_max } else { model.dupthresh.min(model.w_max) };
        let good_after = [Bad, Good].map(|state| {
            (0..=2 * model.w_max)
                .map(|s| good_after(&model.channel, state, model.timeout_slots - s))
                .collect()
        });
        let mut part = Self { model: *model, k, by_floor: Vec::new(), good_after, grain };
        let mut count = 0;
        for ((endings, floor), likely) in endings.iter().zip(1..).zip(likely) {
            let patterns = part.patterns(floor, grain / likely, MAX_PATTERNS - count);
            count += patterns.len();
            if count >= MAX_PATTERNS {
                return Err(AnalysisError::TooLarge { states: "patterns of loss", limit: MAX_PATTERNS });
            }
            let by_floor = part.with_rest(patterns, endings);
            part.by_floor.push(by_floor);
        }
        Ok(part)
    }

    /// Patterns of one floor of the window with a probability above `least`, most likely first; at most `limit`.
    fn patterns(&self, floor: u32, least: f64, limit: usize) -> Vec<Pattern> {
        let mut found = Vec::new();
        let start = Pattern { received: 0, probability: 1.0, slots: 0, fast_retransmit: false };
        self.extend(start, floor, least, limit, &mut found);
        found.sort_by(|a, b| b.probability.total_cmp(&a.probability));
        found
    }

    fn extend(&self, pattern: Pattern, floor: u32, least: f64, limit: usize, found: &mut Vec<Pattern>) {
        // No extension of a pattern is more likely than the pattern.
        if pattern.probability <= least || found.len() >= limit {
            return;
        }
        let slots = pattern.slots + 1;
        if pattern.fast_retransmit || slots == floor {
            found.push(pattern);
            return;
        }
        let channel = &self.model.channel;
        let (bad, good) = match last_state(&pattern) {
            Bad => (channel.p_bb(), channel.p_bg()),
            Good => (channel.p_gb(), channel.p_gg()),
        };
        let received = pattern.received | 1 << (slots - 1);
        let fast_retransmit = received.count_ones() == self.k;
        let arrives = Pattern { received, probability: pattern.probability * good, slots, fast_retransmit };
        self.extend(arrives, floor, least, limit, found);
        let lost = Pattern { probability: pattern.probability * bad, slots, ..pattern };
        self.extend(lost, floor, least, limit, found);
    }

    fn with_rest(&self, patterns: Vec<Pattern>, endings: &Endings) -> Patterns {
        let next = |outcome: &Outcome| {
            let Outcome { bad, good, slots, slots_squared, sent, new_upper: new, .. } = *outcome;
            let good_next = good * self.model.channel.p_gg() + bad * self.model.channel.p_bg();
            Mean { probability: bad + good, good_next, slots, slots_squared, sent, new }
        };
        let mut left: Vec<Mean> = [&endings.timeout, &endings.restart, &endings.recovered]
            .into_iter()
            .chain(&endings.timeout_in_recovery)
            .map(next)
            .collect();
        let (mut blocks, mut rest) = (Vec::new(), vec![left.clone()]);
        let mut start = 0;
        let mut least = 0.5;
        while start < patterns.len() {
            let end = start + patterns[start..].partition_point(|pattern| pattern.probability > least);
            for pattern in &patterns[start..end] {
                self.follow(pattern, 0, |ending, mean, _| {
                    left[ending.index()].subtract(mean.times(pattern.probability));
                });
            }
            blocks.push(end);
            rest.push(left.clone());
            start = end;
            least /= 2.0;
        }
        Patterns { list: patterns, blocks, rest }
    }

    /// Calls `emit` with every possible end of a pattern: its kind, its means given the pattern, and the packets then
    /// held.
    fn follow(&self, pattern: &Pattern, held: Held, mut emit: impl FnMut(End, Mean, Held)) {
        let Pattern { received, slots, .. } = *pattern;
        let t_o = self.model.timeout_slots;
        let new = (received & !held).count_ones();
        let held = held | received;
        let channel = &self.model.channel;
        if !pattern.fast_retransmit {
            // The timer is that of the packet in slot 0; the last packet was sent in slot `slots`.
            let good_next = self.good_after[last_state(pattern) as usize][slots as usize];
            return emit(End::Timeout, Mean::certain(good_next, t_o - 1, slots, new), held);
        }
        if self.model.variant == Variant::Tahoe {
            return emit(End::Restart, Mean::certain(channel.p_gg(), slots, slots, new), held);
        }
        let mut reached = 1.0;
        let (mut hole, mut arrived) = (0, 0);
        loop {
            // The packet at `hole`, sent first in slot `hole`, is retransmitted in slot `repeated`.
            let repeated = slots + 1 + arrived;
            let timeout = |state: State, new| {
                let good_next = self.good_after[state as usize][(repeated - hole) as usize];
                Mean::certain(good_next, hole + t_o - 1, repeated, new)
            };
            let lost = timeout(Bad, new + arrived).times(reached * channel.p_gb());
            emit(End::TimeoutInRecovery { arrived }, lost, behind(held, hole));
            reached *= channel.p_gg();
            arrived += 1;
            hole = next_hole(held, hole);
            if hole > slots {
                let mean = Mean::certain(channel.p_gg(), repeated, repeated, new + arrived).times(reached);
                return emit(End::Recovered, mean, behind(held, hole));
            }
            if self.model.variant == Variant::Reno {
                // Nothing is sent until the timer of the next hole expires.
                let good_next = self.good_after[Good as usize][(repeated - hole) as usize];
                let mean = Mean::certain(good_next, hole + t_o - 1, repeated, new + arrived).times(reached);
                return emit(End::TimeoutInRecovery { arrived }, mean, behind(held, hole));
            }
        }
    }

    /// Calls `emit` with every end of part 2: its kind, its means times `weight`, and the packets then held by the
    /// receiver. Returns the weight that was not followed exactly.
    pub(super) fn ends(
        &self,
        floor: u32,
        held: Held,
        weight: f64,
        mut emit: impl FnMut(End, Mean, Held),
    ) -> Forgotten {
        let Patterns { list: patterns, blocks, rest } = &self.by_floor[floor as usize - 1];
        let mut least = 1.0;
        let mut followed = 0;
        while followed < blocks.len() && weight * least > self.grain {
            least /= 2.0;
            followed += 1;
        }
        let end = if followed == 0 { 0 } else { blocks[followed - 1] };
        for pattern in &patterns[..end] {
            let factor = weight * pattern.probability;
            self.follow(pattern, held, |ending, mean, held| emit(ending, mean.times(factor), held));
        }
        let mut forgotten = Forgotten::default();
        for (index, mean) in rest[followed].iter().enumerate().filter(|(_, mean)| mean.probability > 0.0) {
            emit(End::from_index(index), mean.times(weight), 0);
            let probability = weight * mean.probability;
            let Forgotten { packets, .. } = Forgotten::packets(probability, held);
            forgotten = forgotten
                + Forgotten {
                    packets: packets + weight * mean.new,
                    ends: if held == 0 { 0.0 } else { probability },
                };
        }
        forgotten
    }
}

/// Channel state in the last slot of a pattern.
fn last_state(pattern: &Pattern) -> State {
    let good = pattern.slots > 0 && pattern.received >> (pattern.slots - 1) & 1 == 1;
    if good { Good } else { Bad }
}
