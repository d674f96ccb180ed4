//! The fabric: a base station that sends to its users, slot by slot.

use crate::config::CellConfig;
use crate::error::CellError;
use crate::scheduler::{Allocation, Best, Fairness, greatest, rough_log2, spread};
use crate::user::{Flight, User};
use crossfade_channel::{FrequencyResponse, simd::Simd};
use crossfade_core::{RunSeed, SimTime};
use crossfade_link::arq::ArqStatistics;
use crossfade_link::{
    Departure, EventLog, Fabric, LinkEvent, LinkReport, LinkStatistics, Occupancy, Parcel, Port, Push,
    Verdict,
};
use std::collections::VecDeque;
use std::sync::Arc;

/// A slotted downlink as a fabric: packets go in at port 0, the base station, and come out at a user's, 1 and up. In the
/// other direction it carries nothing.
///
/// At the beginning of a slot the frames of the slot before have arrived, then bins are given to users and their frames
/// begin. The same configuration, seed and pushes give the same departures, bit for bit.
pub struct Cell {
    config: CellConfig,
    users: Vec<User>,
    fairness: Fairness,
    /// The bins that a user may choose the best of.
    candidates: Vec<usize>,
    /// Whether anything is to be sent or in the air.
    is_busy: bool,
    /// The next slot that begins.
    next_slot: u64,
    in_air: Vec<Flight>,
    departures: VecDeque<(Port, Departure)>,
    /// Used bins of slots.
    used: u64,
    log: EventLog,
    now: SimTime,
    scratch: Scratch,
}

/// Empty between slots; kept for its memory.
#[derive(Default)]
struct Scratch {
    /// 0 for each bin that a user may choose, minus infinity for the others.
    open: Vec<f32>,
    /// A score for each user with work and bin.
    scores: Vec<f32>,
    /// Who has the highest score in each bin.
    best: Best,
    /// Users with work.
    active: Vec<usize>,
    /// What each user got in the slot, in bits.
    got: Vec<f32>,
}

impl Cell {
    /// A cell in which nothing has been sent. Its streams are named by [`User::new`].
    ///
    /// # Errors
    /// A configuration that cannot be ([`CellConfig::check`]).
    pub fn new(config: CellConfig, seed: RunSeed) -> Result<Self, CellError> {
        config.check()?;
        let simd = Simd::chosen()?;
        let response =
            Arc::new(FrequencyResponse::new(&config.profile, config.bins, config.bin_width_hz, simd));
        let users: Result<Vec<User>, CellError> =
            (0..config.users.len()).map(|number| User::new(number, &config, &response, seed, simd)).collect();
        let (window, candidates) = match config.allocation {
            Allocation::ProportionalFair { window_slots } => (window_slots, 0),
            Allocation::BestBin { candidates } => (1.0, candidates),
            _ => (1.0, 0),
        };
        Ok(Self {
            users: users?,
            fairness: Fairness::new(config.users.len(), window),
            candidates: spread(config.bins, candidates),
            is_busy: false,
            next_slot: 0,
            in_air: Vec::new(),
            departures: VecDeque::new(),
            used: 0,
            log: EventLog::default(),
            now: SimTime::ZERO,
            scratch: Scratch::default(),
            config,
        })
    }

    fn start(&self, slot: u64) -> SimTime {
        self.config.slot.saturating_mul(slot)
    }

    /// Ends the slot before `slot` and begins `slot`.
    fn turn(&mut self, slot: u64) {
        self.now = self.start(slot);
        let Self { in_air, users, departures, now, .. } = self;
        for flight in in_air.drain(..) {
            let port = flight.user as Port + 1;
            users[flight.user].land(*now, &flight, |departure| departures.push_back((port, departure)));
        }
        let mut scratch = std::mem::take(&mut self.scratch);
        scratch.active.clear();
        scratch.active.extend((0..self.users.len()).filter(|&user| self.users[user].sender.has_work(slot)));
        if !scratch.active.is_empty() {
            match self.config.allocation {
                Allocation::Static => {
                    for &user in &scratch.active {
                        self.transmit(slot, user, user);
                    }
                }
                Allocation::BestBin { .. } => self.choose_in_turns(slot, &mut scratch),
                Allocation::RoundRobin => self.go_round(slot, &mut scratch),
                Allocation::MaxSinr | Allocation::ProportionalFair { .. } => self.rank(slot, &mut scratch),
            }
        }
        if matches!(self.config.allocation, Allocation::ProportionalFair { .. }) {
            scratch.got.resize(self.users.len(), 0.0);
            self.fairness.pass(&scratch.got);
            scratch.got.fill(0.0);
        }
        self.scratch = scratch;
        self.next_slot = slot + 1;
        self.is_busy = !self.in_air.is_empty() || self.users.iter().any(|user| !user.sender.is_idle());
    }

    /// Users choose the best bin that is left; who begins changes from slot to slot.
    fn choose_in_turns(&mut self, slot: u64, scratch: &mut Scratch) {
        let Scratch { open, scores, active, .. } = scratch;
        open.clear();
        open.resize(self.config.bins, f32::NEG_INFINITY);
        self.candidates.iter().for_each(|&bin| open[bin] = 0.0);
        let first = (slot % active.len() as u64) as usize;
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

    /// Bins go to users in turns, those of the next slot to the users after.
    fn go_round(&mut self, slot: u64, scratch: &mut Scratch) {
        let active = &scratch.active;
        let count = active.len();
        let mut next = (slot.wrapping_mul(self.config.bins as u64) % count as u64) as usize;
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

    /// Each bin goes to the user with the highest score who still has something to send.
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

    /// A user sends something in a bin; the bits that it does.
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
            snr_db: Some(10.0 * libm::log10(transmission.sinr)),
            verdict: if is_good { Verdict::Good } else { Verdict::Lost },
        });
        piece.end - piece.start
    }
}

impl Fabric for Cell {
    fn ports(&self) -> Port {
        self.users.len() as Port + 1
    }

    fn push(&mut self, now: SimTime, from: Port, to: Port, parcel: Parcel) -> Push {
        self.now = self.now.max(now);
        let Some(user) = (to as usize).checked_sub(1).filter(|_| from == 0) else { return Push::Lost };
        let user = &mut self.users[user];
        let (packets, bytes) = user.waiting();
        if self.config.queue.is_some_and(|limit| !limit.admits(packets, bytes, parcel.bytes())) {
            user.statistics.packets.queue_drops += 1;
            return Push::QueueDrop;
        }
        user.push(self.now, parcel);
        if !self.is_busy {
            self.is_busy = true;
            let reached = self.now.as_nanos().div_ceil(self.config.slot.as_nanos());
            self.next_slot = self.next_slot.max(reached);
        }
        Push::Accepted
    }

    fn next_event(&self) -> Option<SimTime> {
        if self.departures.is_empty() {
            self.is_busy.then(|| self.start(self.next_slot))
        } else {
            Some(self.now)
        }
    }

    fn advance(&mut self, now: SimTime) -> Option<(Port, Departure)> {
        loop {
            if let Some(departure) = self.departures.pop_front() {
                return Some(departure);
            }
            if !self.is_busy || self.start(self.next_slot) > now {
                return None;
            }
            self.turn(self.next_slot);
        }
    }

    fn prepare(&mut self) {
        if self.is_busy {
            let slot = self.next_slot;
            self.users.iter_mut().filter(|user| !user.sender.is_idle()).for_each(|user| user.prepare(slot));
        }
    }

    fn report(&mut self, now: SimTime) -> LinkReport {
        let users: Vec<_> = self.users.iter().map(|user| user.report(now)).collect();
        let unsent = self.users.iter().flat_map(User::unsent_parcels).collect();
        let mut statistics = LinkStatistics::default();
        let mut frames = ArqStatistics::default();
        for user in &users {
            statistics.add(&user.packets);
            frames.frames += user.frames;
            frames.retransmissions += user.retransmissions;
            frames.frame_errors += user.frame_errors;
            frames.frames_delivered += user.frames_delivered;
            frames.frames_lost += user.frames_lost;
            frames.head_of_line_delay.merge(&user.head_of_line_delay);
            frames.head_of_line_delay_s += user.head_of_line_delay_s;
        }
        let usable = self.config.allocation.usable(self.config.bins, self.users.len()) as f64;
        let busy = SimTime::from_secs_f64(self.config.slot.as_secs_f64() * self.used as f64 / usable);
        let report = LinkReport::new(now, statistics, Occupancy::Time(busy));
        LinkReport { frames: Some(frames), users, unsent, ..report }
    }

    fn trace(&mut self, keep: bool) {
        self.log.keep(keep);
    }

    fn next_trace(&mut self) -> Option<LinkEvent> {
        self.log.pop()
    }
}
