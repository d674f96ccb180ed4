//! One direction (downlink or uplink) of a cell: its users' queues, the allocation of bins, and the frames in the air.

use crate::config::CellConfig;
use crate::error::CellError;
use crate::scheduler::{Allocation, Best, Fairness, greatest, rough_log2, spread};
use crate::user::{Flight, User, Way};
use crossfade_channel::{FrequencyResponse, simd::Simd};
use crossfade_core::{RunSeed, SimTime, to_db};
use crossfade_link::arq::ArqStatistics;
use crossfade_link::{
    Departure, EventLog, LinkEvent, LinkReport, LinkStatistics, Occupancy, Parcel, Push, Verdict,
};
use std::sync::Arc;

/// Downlink or uplink of a cell: a queue for each user, and bins allocated slot by slot.
pub(crate) struct Direction {
    config: CellConfig,
    users: Vec<User>,
    fairness: Fairness,
    /// Bins among which a user chooses the best under [`Allocation::BestBin`]; empty for other schedulers.
    candidates: Vec<usize>,
    in_air: Vec<Flight>,
    /// Number of bins in which a frame was sent, summed over all slots.
    used: u64,
    pub(crate) log: EventLog,
    now: SimTime,
    scratch: Scratch,
}

/// Buffers of the scheduler for one slot, kept so that their memory is reused.
#[derive(Default)]
struct Scratch {
    /// Score offset of each bin: 0 if the bin is free, minus infinity otherwise.
    open: Vec<f32>,
    /// Score of each bin for each user with data, user by user.
    scores: Vec<f32>,
    /// User with the highest score in each bin.
    best: Best,
    /// Numbers of the users with data to send.
    active: Vec<usize>,
    /// Bits sent to or by each user in the slot.
    got: Vec<f32>,
}

impl Direction {
    /// Creates a direction before its first packet, with the users and the scheduler of `config`. The names of its
    /// random streams are those of [`User::new`].
    pub(crate) fn new(config: CellConfig, way: Way, seed: RunSeed) -> Result<Self, CellError> {
        let simd = Simd::chosen()?;
        let response =
            Arc::new(FrequencyResponse::new(&config.profile, config.bins, config.bin_width_hz, simd));
        let user = |number| User::new(number, &config, way, &response, seed, simd);
        let users: Result<Vec<User>, CellError> = (0..config.users.len()).map(user).collect();
        let (window, candidates) = match config.allocation {
            Allocation::ProportionalFair { window_slots } => (window_slots, 0),
            Allocation::BestBin { candidates } => (1.0, candidates),
            _ => (1.0, 0),
        };
        Ok(Self {
            users: users?,
            fairness: Fairness::new(config.users.len(), window),
            candidates: spread(config.bins, candidates),
            in_air: Vec::new(),
            used: 0,
            log: EventLog::default(),
            now: SimTime::ZERO,
            scratch: Scratch::default(),
            config,
        })
    }

    /// Number of users.
    pub(crate) fn users(&self) -> usize {
        self.users.len()
    }

    /// Puts a packet into the queue of `user`, or drops it if the queue is full.
    pub(crate) fn push(&mut self, now: SimTime, user: usize, parcel: Parcel) -> Push {
        let user = &mut self.users[user];
        let (packets, bytes) = user.waiting();
        if self.config.queue.is_some_and(|limit| !limit.admits(packets, bytes, parcel.bytes())) {
            user.statistics.packets.queue_drops += 1;
            return Push::QueueDrop;
        }
        user.push(now, parcel);
        Push::Accepted
    }

    /// True if data wait or are in the air.
    pub(crate) fn is_busy(&self) -> bool {
        !self.in_air.is_empty() || self.users.iter().any(|user| !user.sender.is_idle())
    }

    /// Ends the frames in the air at `now`; each packet that leaves goes to `leave` with the number of its user.
    pub(crate) fn land(&mut self, now: SimTime, mut leave: impl FnMut(usize, Departure)) {
        for flight in self.in_air.drain(..) {
            self.users[flight.user].land(now, &flight, |departure| leave(flight.user, departure));
        }
    }

    /// Allocates the bins of `slot`, which begins at `now`, and starts the users' frames. `turn` is the number of the
    /// slot among those of this direction. It decides which user is first: with the slot number of the cell, some users
    /// would never be first in a TDD pattern.
    pub(crate) fn send(&mut self, now: SimTime, slot: u64, turn: u64) {
        self.now = now;
        let mut scratch = std::mem::take(&mut self.scratch);
        scratch.active.clear();
        self.users.iter_mut().for_each(|user| user.tell(now));
        scratch.active.extend((0..self.users.len()).filter(|&user| self.users[user].sender.has_work(slot)));
        if !scratch.active.is_empty() {
            match self.config.allocation {
                Allocation::Static => {
                    for &user in &scratch.active {
                        self.transmit(slot, user, user);
                    }
                }
                Allocation::BestBin { .. } => self.choose_in_turns(slot, turn, &mut scratch),
                Allocation::RoundRobin => self.go_round(slot, turn, &mut scratch),
                Allocation::MaxSinr | Allocation::ProportionalFair { .. } => self.rank(slot, &mut scratch),
            }
        }
        if matches!(self.config.allocation, Allocation::ProportionalFair { .. }) {
            scratch.got.resize(self.users.len(), 0.0);
            self.fairness.pass(&scratch.got);
            scratch.got.fill(0.0);
        }
        self.scratch = scratch;
    }

    /// Computes the channels and predictions of the later `slot` in advance, for users with data.
    pub(crate) fn prepare(&mut self, slot: u64) {
        self.users.iter_mut().filter(|user| !user.sender.is_idle()).for_each(|user| user.prepare(slot));
    }

    /// Report of the direction at `now`.
    pub(crate) fn report(&self, now: SimTime) -> LinkReport {
        let users: Vec<_> = self.users.iter().map(|user| user.report(now)).collect();
        let unsent = self.users.iter().flat_map(User::unsent_parcels).collect();
        let mut statistics = LinkStatistics::default();
        let mut frames = ArqStatistics::default();
        for user in &users {
            statistics.add(&user.packets);
            frames.add(&user.arq);
        }
        let usable = self.config.allocation.usable(self.config.bins, self.users.len()) as f64;
        let busy = SimTime::from_secs_f64(self.config.slot.as_secs_f64() * self.used as f64 / usable);
        let report = LinkReport::new(now, statistics, Occupancy::Time(busy));
        LinkReport { frames: Some(frames), users, unsent, ..report }
    }

    /// Allocation [`BestBin`](Allocation::BestBin): users choose their best free candidate bin in turns; another user
    /// is first in each slot.
    fn choose_in_turns(&mut self, slot: u64, turn: u64, scratch: &mut Scratch) {
        let Scratch { open, scores, active, .. } = scratch;
        open.clear();
        open.resize(self.config.bins, f32::NEG_INFINITY);
        self.candidates.iter().for_each(|&bin| open[bin] = 0.0);
        let first = (turn % active.len() as u64) as usize;
        for &user in active[first..].iter().chain(&active[..first]) {
            self.users[user].go(slot);
            let powers = self.users[user].predict();
            scores.clear();
            scores.extend(powers.iter().zip(&*open).map(|(power, open)| power + open));
            if let Some(bin) = greatest(scores) {
                open[bin] = f32::NEG_INFINITY;
                self.transmit(slot, user, bin);
            }
        }
    }

    /// Allocation [`RoundRobin`](Allocation::RoundRobin): bins go to the users with data in turns, which continue in
    /// the next slot.
    fn go_round(&mut self, slot: u64, turn: u64, scratch: &mut Scratch) {
        let active = &scratch.active;
        let count = active.len();
        let mut next = (turn.wrapping_mul(self.config.bins as u64) % count as u64) as usize;
        for bin in 0..self.config.bins {
            let mut in_turn = active[next..].iter().chain(&active[..next]);
            let Some(passed) = in_turn.position(|&user| self.users[user].sender.has_work(slot)) else {
                return;
            };
            let taken = if next + passed < count { next + passed } else { next + passed - count };
            next = if taken + 1 < count { taken + 1 } else { 0 };
            self.transmit(slot, active[taken], bin);
        }
    }

    /// Allocations [`MaxSinr`](Allocation::MaxSinr) and [`ProportionalFair`](Allocation::ProportionalFair): each bin
    /// goes to the user with the highest score among those that still have data.
    fn rank(&mut self, slot: u64, scratch: &mut Scratch) {
        let bins = self.config.bins;
        let is_fair = matches!(self.config.allocation, Allocation::ProportionalFair { .. });
        let Scratch { scores, best, active, got, .. } = scratch;
        scores.clear();
        best.clear(bins);
        got.resize(self.users.len(), 0.0);
        for (row, &number) in active.iter().enumerate() {
            let user = &mut self.users[number];
            user.go(slot);
            let (mean, scale) = (user.mean() as f32, 1.0 / self.fairness.divisor(number));
            let powers = user.predict()[..bins].iter();
            if is_fair {
                scores.extend(powers.map(|power| rough_log2(1.0 + mean * power) * scale));
            } else {
                scores.extend(powers.map(|power| mean * power));
            }
            best.compare(row, &scores[row * bins..]);
        }
        for bin in 0..bins {
            let Some(row) = best.of(bin) else { return };
            let user = active[row];
            got[user] += self.transmit(slot, user, bin) as f32;
            if !self.users[user].sender.has_work(slot) {
                scores[row * bins..(row + 1) * bins].fill(f32::NEG_INFINITY);
                best.clear(bins);
                scores.chunks_exact(bins).enumerate().for_each(|(row, scores)| best.compare(row, scores));
            }
        }
    }

    /// Sends a frame of `user` in `bin`, if it has data; returns the number of bits sent.
    fn transmit(&mut self, slot: u64, user: usize, bin: usize) -> u64 {
        let now = self.now;
        self.users[user].go(slot);
        let Some(transmission) = self.users[user].transmit(now, slot, bin) else { return 0 };
        let (piece, is_good) = (transmission.sent.piece, transmission.is_good);
        self.used += 1;
        self.in_air.push(Flight { user, slot, piece, is_good });
        self.log.push(|| LinkEvent::Slot { at: now, user: user as u16, bin: bin as u32 });
        let levels = &self.config.users[user].levels;
        self.log.push(|| LinkEvent::Frame {
            at: now,
            user: user as u16,
            frame: piece.frame,
            attempt: piece.failures,
            scheme: Some(levels.success().modulation(piece.bits).name()),
            snr_db: Some(to_db(transmission.sinr)),
            verdict: if is_good { Verdict::Good } else { Verdict::Lost },
            bin: None,
        });
        piece.end - piece.start
    }
}
