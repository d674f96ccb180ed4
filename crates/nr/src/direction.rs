//! Downlink or uplink of a cell: allocation of groups of resource blocks to users, slot by slot.

use crate::channel::Channel;
use crate::config::{Fidelity, NrConfig, Scheduler};
use crate::error_rates::ErrorRates;
use crate::link_adaptation::Adaptation;
use crate::stack_config::Way;
use crate::user::{Grant, Told, User};
use crossfade_cell::CellError;
use crossfade_channel::{FrequencyResponse, simd::Simd};
use crossfade_core::{RunSeed, SimTime};
use crossfade_link::{EventLog, LinkEvent, Verdict};
use std::sync::Arc;

/// Callback that fills a block, given the user's number, the block's number of that user, and its bytes; returns false
/// without data.
pub(crate) type Fill<'a> = dyn FnMut(usize, u64, u32) -> bool + 'a;

/// Downlink or uplink of a cell: its users, scheduler and counters.
pub(crate) struct Direction {
    pub(crate) config: NrConfig,
    pub(crate) users: Vec<User>,
    adaptation: Adaptation,
    rates: ErrorRates,
    /// For each user, true if it can receive any grant, and true if it can receive one for new data.
    pub(crate) is_open: Vec<[bool; 2]>,
    /// Moving average of the bits that each user got in a slot with data.
    had: Vec<f64>,
    /// Number of slots with data symbols so far.
    turn: u64,
    /// Sum of used resource blocks over slots.
    pub(crate) used: f64,
    /// Fidelity `rate`: probability that each user sends new data; `free` is the mean number of resource blocks for new
    /// data.
    shares: Vec<f64>,
    free: f64,
    pub(crate) log: EventLog,
    now: SimTime,
    /// Slot in which the reports were measured that the base station uses in this slot.
    measured: u64,
    /// Slots from a transmission to the first possible retransmission, by slot of the pattern.
    round_trips: Vec<u64>,
    scratch: Scratch,
}

/// Lists for one slot, reused to avoid allocations.
#[derive(Default)]
struct Scratch {
    /// Groups of resource blocks that are still free.
    free: Vec<usize>,
    /// Users with new data, each with the bits for which no group has been assigned.
    active: Vec<(usize, f64)>,
    /// Groups of each user in `active`.
    groups: Vec<Vec<usize>>,
    /// Indices in `active` of the users that may get the next group.
    open: Vec<usize>,
    /// Scheduler's score of each group for each active user, user by user.
    scores: Vec<f64>,
    /// Bits that each user gets in the slot; `sizes` has the resource blocks of each active user.
    got: Vec<f64>,
    sizes: Vec<u32>,
}

impl Direction {
    /// Downlink or uplink before its first slot. A TDD uplink has the channels of the downlink `before`, which must be
    /// before its first slot too.
    pub(crate) fn new(config: NrConfig, before: Option<&Self>, seed: RunSeed) -> Result<Self, CellError> {
        let simd = Simd::chosen()?;
        let width_hz = config.numerology.block_hz() * f64::from(config.group_prbs);
        let response = config
            .profile
            .as_ref()
            .map(|profile| Arc::new(FrequencyResponse::new(profile, config.groups(), width_hz, simd)));
        let shared = before.filter(|_| !config.duplex.is_frequency());
        let channel = |number: usize| match shared {
            Some(before) => Ok(before.users[number].channel_back(config.users[number].mean_snr_db)),
            None => Channel::new(number, &config, response.as_ref(), seed, simd),
        };
        let users: Result<Vec<User>, CellError> = (0..config.users.len())
            .map(|number| User::new(number, &config, channel(number)?, seed))
            .collect();
        let mut rates = ErrorRates::of_config(&config);
        Ok(Self {
            adaptation: Adaptation::new(&config, &mut rates),
            rates,
            is_open: vec![[true; 2]; config.users.len()],
            had: vec![1e-3; config.users.len()],
            users: users?,
            turn: 0,
            used: 0.0,
            shares: Vec::new(),
            free: 0.0,
            log: EventLog::default(),
            now: SimTime::ZERO,
            measured: 0,
            round_trips: (0..config.duplex.period()).map(|slot| config.again(slot) - slot).collect(),
            scratch: Scratch::default(),
            config,
        })
    }

    /// Allocates the resource blocks of `slot` to users, which begin their blocks in it.
    pub(crate) fn send(&mut self, now: SimTime, slot: u64, fill: Option<&mut Fill<'_>>) {
        self.now = now;
        let symbols = self.config.data_symbols(slot);
        if symbols > 0 {
            self.measured = self.config.measured_slot(slot);
            self.give(slot, symbols, fill);
            self.turn += 1;
        }
    }

    fn give(&mut self, slot: u64, symbols: u32, fill: Option<&mut Fill<'_>>) {
        let mut scratch = std::mem::take(&mut self.scratch);
        scratch.free.clear();
        scratch.free.extend(0..self.config.groups());
        scratch.active.clear();
        let count = self.users.len();
        if self.config.fidelity == Fidelity::Rate {
            self.send_means(slot, symbols, &mut scratch);
            self.scratch = scratch;
            return;
        }
        let first = (self.turn % count as u64) as usize;
        for place in 0..count {
            let number = (first + place) % count;
            let user = &self.users[number];
            let [can_send, can_begin] = self.is_open[number];
            if !can_send {
                continue;
            }
            if let Some(prbs) = user.failed_prbs() {
                let Some(groups) = self.take(&mut scratch.free, prbs) else { continue };
                let grant = self.grant(slot, symbols, &groups, prbs);
                self.used += f64::from(prbs);
                let told = self.users[number].send_again(&grant, &self.config, &mut self.rates);
                self.tell(number, told);
            } else if can_begin && user.can_begin() {
                scratch.active.push((number, user.backlog() as f64 * 8.0));
            }
        }
        if !scratch.active.is_empty() && !scratch.free.is_empty() {
            self.share(slot, symbols, &mut scratch, fill);
        }
        self.scratch = scratch;
    }

    /// Fidelity `rate`: sends mean retransmissions first and allocates the remaining resource blocks to users with new
    /// data.
    fn send_means(&mut self, slot: u64, symbols: u32, scratch: &mut Scratch) {
        let mut free = f64::from(self.config.prbs);
        let count = self.users.len();
        self.shares.resize(count, 1.0);
        for place in 0..count {
            // Users take turns in being first.
            let number = (self.turn as usize + place) % count;
            let retransmissions = self.users[number].retransmissions(slot);
            if retransmissions.share > 0.0 {
                let prbs = (retransmissions.prbs / retransmissions.share).round().max(1.0) as u32;
                let mut all = (0..self.config.groups()).collect();
                let groups = self.take(&mut all, prbs).unwrap_or_default();
                let grant = self.grant(slot, symbols, &groups, prbs);
                self.users[number].repeat(&retransmissions, &grant, &self.config, &mut self.rates);
                free -= retransmissions.prbs;
                self.used += retransmissions.prbs;
            }
            self.shares[number] = 1.0 - retransmissions.share;
            if self.users[number].backlog() > 0 && retransmissions.share < 1.0 {
                scratch.active.push((number, self.users[number].backlog() as f64 * 8.0));
            }
        }
        self.free = free.max(0.0);
        if !scratch.active.is_empty() && free > 0.0 {
            self.share(slot, symbols, scratch, None);
        }
    }

    /// Takes free groups with together at least `prbs` resource blocks; `None` if too few are free.
    fn take(&self, free: &mut Vec<usize>, prbs: u32) -> Option<Vec<usize>> {
        let mut sum = 0;
        let enough = free.iter().position(|group| {
            sum += self.prbs(*group);
            sum >= prbs
        })?;
        Some(free.drain(..=enough).collect())
    }

    /// Grant of these groups with together `prbs` resource blocks.
    fn grant<'a>(&self, slot: u64, symbols: u32, groups: &'a [usize], prbs: u32) -> Grant<'a> {
        let again = slot + self.round_trips[(slot % self.round_trips.len() as u64) as usize];
        Grant { slot, symbols, groups, prbs, measured: self.measured, again }
    }

    /// Number of resource blocks of a group: the last group may be smaller.
    fn prbs(&self, group: usize) -> u32 {
        self.config.group_prbs.min(self.config.prbs - group as u32 * self.config.group_prbs)
    }

    /// Allocates the free groups to users with new data, which begin their blocks.
    fn share(&mut self, slot: u64, symbols: u32, scratch: &mut Scratch, mut fill: Option<&mut Fill<'_>>) {
        let Scratch { free, active, groups, open, scores, got, sizes } = scratch;
        groups.resize_with(groups.len().max(active.len()), Vec::new);
        groups.iter_mut().for_each(Vec::clear);
        if active.len() == 1 {
            groups[0].append(free);
        } else {
            self.choose(symbols, (free, active), (open, scores), groups);
        }
        if self.config.way != Way::Down {
            self.trim(slot, symbols, active, groups);
        }
        got.clear();
        got.resize(self.users.len(), 0.0);
        sizes.clear();
        sizes.extend(groups.iter().map(|groups| groups.iter().map(|group| self.prbs(*group)).sum::<u32>()));
        // Fidelity `rate`: on average, groups of users that retransmit are free for others.
        let wanted = active
            .iter()
            .zip(&*sizes)
            .map(|((number, _), prbs)| f64::from(*prbs) * self.shares.get(*number).copied().unwrap_or(1.0));
        let scale = self.free / wanted.sum::<f64>().max(1e-9);
        for ((&(number, _), groups), &prbs) in active.iter().zip(&*groups).zip(&*sizes) {
            if groups.is_empty() {
                continue;
            }
            let grant = self.grant(slot, symbols, groups, prbs);
            let (now, config) = (self.now, &self.config);
            let (adaptation, rates) = (&self.adaptation, &mut self.rates);
            match config.fidelity {
                Fidelity::Rate => {
                    let share = self.shares[number];
                    let scale = scale.min(1.0 / share);
                    self.used += f64::from(prbs) * share * scale;
                    got[number] =
                        self.users[number].flow(now, &grant, (share, scale), config, adaptation, rates);
                }
                Fidelity::Slot => {
                    self.used += f64::from(prbs);
                    let mut of_user = fill.as_mut().map(|fill| |block, bytes| fill(number, block, bytes));
                    let fill = of_user.as_mut().map(|fill| fill as &mut dyn FnMut(u64, u32) -> bool);
                    let told = self.users[number].send(now, &grant, config, adaptation, rates, fill);
                    got[number] = told.as_ref().map_or(0.0, |told| f64::from(told.bits));
                    self.tell(number, told);
                }
            }
        }
        if let Scheduler::ProportionalFair { window_slots } = self.config.scheduler {
            for (had, got) in self.had.iter_mut().zip(&*got) {
                *had = (*had + (got - *had) / window_slots).max(1e-3);
            }
        }
    }

    /// Assigns each free group to one of several users by the scheduler's rule.
    fn choose(
        &mut self,
        symbols: u32,
        (free, active): (&mut Vec<usize>, &mut [(usize, f64)]),
        (open, scores): (&mut Vec<usize>, &mut Vec<f64>),
        groups: &mut [Vec<usize>],
    ) {
        let config = &self.config;
        let elements =
            f64::from(12 * symbols - config.dmrs_re - config.overhead_re) * f64::from(config.layers);
        for (number, _) in &*active {
            self.users[*number].look(self.measured);
        }
        self.score(elements, active, scores);
        let (users, count) = (&self.users, config.groups());
        // Estimated rate of a group for a user, in bits.
        let rate = |number: usize, group: usize| {
            let rates = users[number].known_rates();
            rates[group.min(rates.len() - 1)] * elements * f64::from(self.prbs(group))
        };
        let wants = |active: &[(usize, f64)], place: usize| active[place].1 > 0.0;
        // Without priorities of bearers, the priorities of users are the same for all groups.
        let has_levels = active.iter().any(|(number, _)| users[*number].levels.first().is_some());
        let priority = |active: &[(usize, f64)], place: usize| {
            let (number, left) = active[place];
            let of_bearer = if has_levels { users[number].levels.priority(left) } else { None };
            of_bearer.unwrap_or(config.users[number].priority)
        };
        let mut next = 0;
        let mut is_stale = true;
        for group in free.drain(..) {
            if is_stale {
                // Users with a lower priority number, or with data of one, first get all groups that they need.
                let wanting = || (0..active.len()).filter(|place| wants(active, *place));
                let first = wanting().map(|place| priority(active, place)).min();
                open.clear();
                open.extend(wanting().filter(|place| Some(priority(active, *place)) == first));
            }
            let chosen = if config.scheduler == Scheduler::RoundRobin {
                let behind = open.partition_point(|place| *place < next % active.len());
                open.get(behind).or(open.first()).copied()
            } else {
                highest(open.iter().map(|place| (*place, scores[place * count + group])))
            };
            let Some(place) = chosen else { break };
            next = place + 1;
            let before = priority(active, place);
            active[place].1 -= rate(active[place].0, group);
            is_stale = !wants(active, place) || priority(active, place) != before;
            groups[place].push(group);
        }
    }

    /// Writes the scheduler's score of each group for each active user into `scores`; none for round robin.
    fn score(&self, elements: f64, active: &[(usize, f64)], scores: &mut Vec<f64>) {
        let last = self.config.groups() - 1;
        let [whole, rest] = [0, last].map(|group| f64::from(self.prbs(group)));
        scores.clear();
        for &(number, _) in active {
            let (user, had) = (&self.users[number], self.had[number]);
            let reported = match self.config.scheduler {
                Scheduler::RoundRobin => return,
                Scheduler::MaxSinr => user.known_ratios(),
                Scheduler::ProportionalFair { .. } => user.known_rates(),
            };
            let is_fair = self.config.scheduler != Scheduler::MaxSinr;
            let score = |known: f64, prbs: f64| if is_fair { known * elements * prbs / had } else { known };
            match *reported {
                [of_all] => scores.extend(std::iter::repeat_n(score(of_all, whole), last)),
                _ => scores.extend(reported[..last].iter().map(|known| score(*known, whole))),
            }
            scores.push(score(reported[last.min(reported.len() - 1)], rest));
        }
    }

    /// Uplink: takes groups back from users whose known data need fewer.
    fn trim(&mut self, slot: u64, symbols: u32, active: &[(usize, f64)], groups: &mut [Vec<usize>]) {
        for (&(number, _), groups) in active.iter().zip(groups) {
            let wanted = self.users[number].backlog();
            let mut holds = |count: usize, groups: &[usize]| {
                let groups = &groups[..count];
                let prbs = groups.iter().map(|group| self.prbs(*group)).sum();
                let grant = self.grant(slot, symbols, groups, prbs);
                u64::from(self.users[number].holds_bytes(&grant, &self.config, &self.adaptation))
            };
            let (mut low, mut high) = (1, groups.len());
            while low < high {
                let middle = usize::midpoint(low, high);
                if holds(middle, groups) >= wanted { high = middle } else { low = middle + 1 }
            }
            groups.truncate(high);
        }
    }

    fn tell(&mut self, number: usize, told: Option<Told>) {
        let Some(told) = told else { return };
        let at = self.now;
        self.log.push(|| LinkEvent::Frame {
            at,
            user: number as u16,
            frame: told.block,
            attempt: told.attempt,
            scheme: Some(told.scheme.modulation()),
            snr_db: Some(told.snr_db),
            bin: None,
            verdict: match (told.is_good, told.attempt) {
                (true, 0) => Verdict::Good,
                (true, _) => Verdict::Combined,
                (false, _) => Verdict::Lost,
            },
        });
    }
}

/// Index with the highest score, of equal ones the first; `None` without any.
fn highest(scored: impl Iterator<Item = (usize, f64)>) -> Option<usize> {
    let higher = |best: (usize, f64), next: (usize, f64)| if next.1 > best.1 { next } else { best };
    scored.reduce(higher).map(|(place, _)| place)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::cell_tests::{SEED, config};
    use crate::numerology::Duplex;

    #[test]
    fn the_first_of_equal_scores_is_the_highest() {
        let highest = |scores: &[f64]| highest(scores.iter().copied().enumerate());
        assert_eq!(highest(&[1.0, 3.0, 2.0, 3.0]), Some(1));
        assert_eq!(highest(&[0.0, 0.0]), Some(0));
        assert_eq!(highest(&[]), None);
    }

    #[test]
    fn grants_know_when_their_blocks_can_be_retransmitted() {
        for pattern in ["DDDSU", "DDDDDDDSUU", "DDSU"] {
            let mut config = config(20.0);
            config.duplex = Duplex::time(pattern, [10, 2, 2]).unwrap();
            for way in [Way::Down, Way::Up { symbols: 13, k2: 4 }] {
                let config = NrConfig { way, ..config.clone() };
                let direction = Direction::new(config.clone(), None, SEED).unwrap();
                for slot in 0..40 {
                    assert_eq!(
                        direction.grant(slot, 12, &[0], 8).again,
                        config.again(slot),
                        "{pattern} {slot}"
                    );
                }
            }
        }
    }
}
