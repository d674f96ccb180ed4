//! Constant rate of a link, from the waiting times of a record's packets.
//!
//! For each candidate rate, the queueing delays follow from the sent packets ([`delays`]). The recorded delays minus
//! these should be equal for all packets: the estimate is the rate with the least mean absolute deviation from their
//! median. If no packet waited for another, all high rates explain the record equally well, and the rate has only a
//! lower bound.

use crate::bootstrap::{median, normal, quantile, weights};
use crate::queue::delays;
use crate::record::{Fate, Packet, Record};
use crossfade_core::Stream;
use rand::RngExt;

/// Constant rate that explains the delays of a record best, with the deviations at all candidate rates.
#[derive(Clone, Debug)]
pub struct RateFit {
    /// Best rate in bit/s: the candidate with the least mean absolute deviation of the delays.
    pub rate_bps: f64,
    /// Base delay in seconds at the best rate: the median of the delays minus queueing and transmission, limited by the
    /// shortest delays.
    pub base_s: f64,
    /// Mean absolute deviation in seconds of the delays from base delay plus queueing and transmission at the best
    /// rate.
    pub deviation_s: f64,
    /// Mean absolute deviation in seconds of the delays from those of a link without queueing, which delays all packets
    /// alike.
    pub without_queue_s: f64,
    /// Rates of blocks of the record; `None` if one rate explains all blocks about as well.
    pub(crate) blocks: Option<BlockRates>,
    /// Candidate rates in ascending order, each with its base delay and its sum of deviations per block; empty if the
    /// fit was not thorough.
    tried: Vec<Tried>,
    /// Number of packets with a known delay in each block of the record.
    counts: Vec<f64>,
}

/// Rates of blocks of a record, with one base delay for all blocks. A shorter base delay makes all of these rates
/// lower.
#[derive(Clone, Debug)]
pub(crate) struct BlockRates {
    /// Rate of the slow blocks in bit/s: the 10 % quantile of the blocks' rates.
    pub(crate) slow_bps: f64,
    /// For each block, its start in seconds since the first packet, and a lower bound of its rate in bit/s: the lower
    /// choice of its two halves, less half a step between candidate rates.
    pub(crate) rows: Vec<(f64, f64)>,
}

/// Candidate rate with its base delay and the sum of deviations of the delays in each block of the record.
#[derive(Clone, Debug)]
struct Tried {
    rate_bps: f64,
    base_s: f64,
    blocks: Vec<f64>,
}

/// Ratio of successive candidate rates in the coarse search.
const STEP: f64 = 1.12;
/// Multiple of the arrived rate at which the coarse search ends.
const MOST: f64 = 1000.0;
/// Relative distances of candidate rates, to either side of the best rate.
const NEAR: [f64; 14] =
    [0.0002, 0.0005, 0.001, 0.002, 0.0035, 0.005, 0.0075, 0.01, 0.015, 0.02, 0.03, 0.045, 0.06, 0.08];
/// Factor to either side of a rate known from other evidence, within which the best rate is searched.
const GUESSED: f64 = 1.004;
/// Constant part, in seconds, of the maximum margin of the base delay over the minimum delay, since the minimum may be
/// an outlier.
const ROOM_S: f64 = 1e-3;
/// Part of the maximum margin of the base delay over the minimum delay that grows with the minimum delay, as a share of
/// it.
const ROOM: f64 = 0.05;
/// Maximum margin of the base delay over the minimum delay as a multiple of the jitter, the median difference of the
/// delays of successive packets; [`LEAST_ROOM_S`] is added.
const JITTERS: f64 = 6.0;
/// Approximate number of pairs of successive packets from which the jitter is estimated.
const FEW: usize = 2000;
/// Margin of the base delay over the minimum delay without jitter, in seconds.
const LEAST_ROOM_S: f64 = 20e-6;
/// Delay by queueing and transmission, in transmission times of a full packet, up to which a packet found the queue
/// nearly empty.
const ALONE: f64 = 1.6;
/// Minimum number of packets that found the queue nearly empty, for these alone to show the base delay.
const FEWEST_ALONE: usize = 4;
/// Share of packets that found the queue nearly empty, below which these alone show the base delay.
const RARE: f64 = 0.02;
/// Number of packets at the beginning of a record that can have waited only for each other.
const FIRST: usize = 4;
/// Relative precision of the best rate in the search over stretches of a long record.
const COARSE: f64 = 2e-3;
/// Relative precision of the best rate in the search over all packets.
const FINE: f64 = 1e-5;
/// Number of blocks of the record for the bootstrap.
const BLOCKS: usize = 40;

/// Number of successive packets with a known delay in the same half of a block, in the test for a changing rate.
const HALVES: usize = 8;
/// Candidate rates of a block in the test for a changing rate, as multiples of the best constant rate.
const CHOICES: [f64; 12] = [0.4, 0.5, 0.6, 0.7, 0.8, 0.9, 1.1, 1.25, 1.4, 1.7, 2.0, 2.5];
/// Factor of half a step down between the candidate rates of a block, to which its rate is known.
const HALF_STEP: f64 = 0.95;
/// Largest deviation of a delay that counts in the test for a changing rate, as a multiple of the median deviation; at
/// least a transmission time.
const OUTLIER: f64 = 5.0;
/// Maximum ratio of the held-out deviations, rates of blocks to one rate, for the rate to be a changing one.
const BLOCKS_BETTER: f64 = 0.95;
/// Minimum reduction of the held-out deviations by rates of blocks, in transmission times per packet, for the rate to
/// be a changing one.
const EXACT: f64 = 1e-3;
/// Quantile of the rates of blocks that is taken as lower bound of a changing rate.
const SLOW: f64 = 0.1;

/// Data for the search of the rate: all packets of a record, and those with a known delay.
struct Search<'a> {
    record: &'a Record,
    sent: Vec<(f64, f64)>,
    seen: Vec<(usize, f64)>,
    dropped: &'a [bool],
    /// Minimum delay in seconds.
    least_s: f64,
    /// Maximum margin in seconds of base delay plus transmission of a full packet over the minimum delay.
    room_s: f64,
    /// Bits of a full packet.
    full_bits: f64,
    /// For each of the first packets of the record with a known delay: this delay in seconds, the bits of arrived
    /// packets up to it, and its sending time in seconds since the first packet. It waited at least for the
    /// transmission of these bits, even if the queue is never empty again.
    first: Vec<(f64, f64, f64)>,
    /// Ranges of packet indices that represent all packets in the coarse search.
    stretches: Vec<(usize, usize)>,
}

/// Number of packets beyond which the coarse search uses stretches of the record.
const LONG: usize = 200_000;
/// Number of stretches of a long record in the coarse search.
const STRETCHES: usize = 8;
/// Number of packets in a stretch of a long record.
const STRETCH: usize = 20_000;

impl<'a> Search<'a> {
    fn new(record: &'a Record, dropped: &'a [bool]) -> Self {
        let packets = record.packets();
        let seen: Vec<(usize, f64)> = (packets.iter().enumerate())
            .filter_map(|(index, packet)| Some((index, packet.seen_s? - packet.sent_s)))
            .collect();
        let least_s = seen.iter().map(|(_, delay)| *delay).fold(f64::INFINITY, f64::min);
        Self {
            record,
            sent: packets.iter().map(|packet| (packet.sent_s, packet.bytes)).collect(),
            seen,
            dropped,
            least_s,
            room_s: ROOM_S + ROOM * least_s.clamp(0.0, 0.2),
            full_bits: 8.0 * record.full_bytes(),
            first: first(record),
            stretches: stretches(packets.len()),
        }
    }

    fn block_of(&self, at: f64) -> usize {
        let start = self.sent[0].0;
        (((at - start) / self.record.lasts_s() * BLOCKS as f64) as usize).min(BLOCKS - 1)
    }

    /// Base delay in seconds from `rest`, the delays minus queueing and transmission: their median, limited by the
    /// minimum delay plus a margin, since an always full queue would look like a longer path. The margin grows with the
    /// jitter of successive delays: without jitter the minimum delay is exact. If a record begins with the shortest
    /// delay, it begins with an empty queue, and the base delay is not shorter than this delay less the margin.
    fn base(&self, rest: &mut [f64], rate_bps: f64) -> f64 {
        let every = (rest.len() / FEW).max(1);
        let mut steps: Vec<f64> =
            rest.windows(2).step_by(every).map(|pair| (pair[1] - pair[0]).abs()).collect();
        let jitter = if steps.is_empty() { f64::INFINITY } else { JITTERS * median(&mut steps) };
        let room = self.room_s.min(jitter + LEAST_ROOM_S);
        let of_first = |(delay, bits, after_s): &(f64, f64, f64)| delay - (bits / rate_bps - after_s);
        let first_s = self.first.iter().map(of_first).fold(f64::INFINITY, f64::min);
        let least_s = self.least_s - self.full_bits / rate_bps;
        let found_s = median(rest).min(least_s + room).min(first_s + room);
        if first_s <= least_s + room { found_s.max(first_s.min(least_s) - room) } else { found_s }
    }

    /// Sums of absolute deviations of `rests`, the delays minus queueing and transmission, from a base delay, for each
    /// half of each block. A deviation beyond `most_s` counts as `most_s`: acknowledgements held up by losses give no
    /// information on the rate.
    fn halves(&self, rests: &[f64], base_s: f64, most_s: f64) -> Vec<[f64; 2]> {
        let mut found = vec![[0.0; 2]; BLOCKS];
        for (number, ((index, _), rest)) in self.seen.iter().zip(rests).enumerate() {
            let of = &mut found[self.block_of(self.sent[*index].0)][number / HALVES % 2];
            *of += (rest - base_s).abs().min(most_s);
        }
        found
    }

    /// Rates of blocks if the rate changes, else `None`. It changes if rates chosen by one half of each block explain
    /// the other half far better than one rate for all does. All blocks have one base delay: of those at the candidate
    /// rates, the one with which the rates of blocks explain most.
    fn changes(&self, best: f64) -> Option<BlockRates> {
        let rates: Vec<f64> = [1.0].iter().chain(&CHOICES).map(|choice| choice * best).collect();
        let tried: Vec<(Vec<f64>, f64)> = rates.iter().map(|rate| self.rests(*rate)).collect();
        let (rests, base_s) = &tried[0];
        let usual_s = median(&mut rests.iter().map(|rest| (rest - base_s).abs()).collect::<Vec<f64>>());
        let most_s = (OUTLIER * usual_s).max(self.full_bits / best);
        let of_all = self.halves(rests, *base_s, most_s);
        let one: f64 = of_all.iter().flatten().sum();
        let (mut several, mut chosen) = (f64::INFINITY, Vec::<f64>::new());
        for (_, base_s) in &tried {
            let halves = |(rests, _): &(Vec<f64>, f64)| self.halves(rests, *base_s, most_s);
            let of: Vec<Vec<[f64; 2]>> = tried.iter().map(halves).collect();
            let choices = chosen_by_halves(&of, &rates);
            let sum: f64 = choices.iter().map(|choice| choice.0).sum();
            if sum < several {
                (several, chosen) = (sum, choices.into_iter().map(|choice| choice.1).collect());
            }
        }
        let least = EXACT * self.seen.len() as f64 * self.full_bits / best;
        if several >= BLOCKS_BETTER * one || one - several <= least {
            return None;
        }
        let at = |block: usize| self.record.lasts_s() * block as f64 / BLOCKS as f64;
        let rate = |halves: &[f64]| HALF_STEP * halves[0].min(halves[1]);
        let rows = chosen.chunks(2).enumerate().map(|(block, halves)| (at(block), rate(halves))).collect();
        chosen.sort_by(f64::total_cmp);
        Some(BlockRates { slow_bps: quantile(&chosen, SLOW), rows })
    }

    /// Evaluates a candidate rate: its base delay, and the sum of deviations in each block.
    fn attempt(&self, rate_bps: f64) -> Tried {
        let (rests, base_s) = self.rests(rate_bps);
        let mut blocks = vec![0.0; BLOCKS];
        for ((index, _), rest) in self.seen.iter().zip(rests) {
            blocks[self.block_of(self.sent[*index].0)] += (rest - base_s).abs();
        }
        Tried { rate_bps, base_s, blocks }
    }

    /// Delays minus queueing and transmission at a candidate rate, and the base delay estimated from them, in seconds.
    fn rests(&self, rate_bps: f64) -> (Vec<f64>, f64) {
        let of_queue = delays(&self.sent, rate_bps, |index| self.dropped[index]);
        let rests: Vec<f64> = self.seen.iter().map(|(index, delay)| delay - of_queue[*index]).collect();
        let alone_s = ALONE * self.full_bits / rate_bps;
        let alone: Vec<f64> = (self.seen.iter().zip(&rests))
            .filter(|((index, _), _)| of_queue[*index] <= alone_s)
            .map(|(_, rest)| *rest)
            .collect();
        // In a queue that is hardly ever empty errors accumulate: only packets that found it empty show the base delay.
        let is_rare = alone.len() >= FEWEST_ALONE && (alone.len() as f64) < RARE * rests.len() as f64;
        let mut all = if is_rare { alone } else { rests.clone() };
        let base_s = self.base(&mut all, rate_bps);
        (rests, base_s)
    }

    /// Sum of the deviations at a candidate rate over the packets of the stretches, with one base delay for all
    /// stretches.
    fn coarse(&self, rate_bps: f64) -> f64 {
        if self.stretches.len() == 1 {
            return self.attempt(rate_bps).total();
        }
        let mut rest = Vec::with_capacity(STRETCHES * STRETCH);
        for (from, to) in &self.stretches {
            let of_queue = delays(&self.sent[*from..*to], rate_bps, |index| self.dropped[from + index]);
            let first = self.seen.partition_point(|(index, _)| index < from);
            let seen = self.seen[first..].iter().take_while(|(index, _)| index < to);
            rest.extend(seen.map(|(index, delay)| delay - of_queue[index - from]));
        }
        let base_s = self.base(&mut rest, rate_bps);
        rest.iter().map(|rest| (rest - base_s).abs()).sum()
    }
}

impl RateFit {
    /// Fits a constant rate. Packets marked in `dropped` took no time of the link. The surroundings of `guess`, a rate
    /// in bit/s from other evidence, are searched closely: in a queue that is never empty errors accumulate, and
    /// slightly wrong rates explain nothing. `near`, the result of an earlier search, replaces the coarse search. A fit
    /// that is not `thorough` has neither draws nor rates of blocks.
    pub(crate) fn new(
        record: &Record,
        guess: Option<f64>,
        near: Option<f64>,
        dropped: &[bool],
        thorough: bool,
    ) -> Self {
        let search = Search::new(record, dropped);
        let least = 0.5 * record.arrived_bps().max(1.0);
        let steps = (libm::log(2.0 * MOST) / libm::log(STEP)).ceil() as i32;
        let coarse: Vec<f64> = (0..=steps).map(|step| least * libm::pow(STEP, f64::from(step))).collect();
        let middle = near.unwrap_or_else(|| {
            let of = coarse.iter().map(|rate| (search.coarse(*rate), *rate));
            of.fold((f64::INFINITY, least), |best, of| if of.0 < best.0 { of } else { best }).1
        });
        let (mut from, mut to) = (middle / STEP, middle * STEP);
        if search.stretches.len() > 1 {
            let found = golden(from, to, COARSE, |rate| search.coarse(rate));
            (from, to) = (found / GUESSED, found * GUESSED);
        }
        let of = |rate: f64| search.attempt(rate).total();
        let mut best = golden(from, to, FINE, of);
        if let Some(guess) = guess {
            let guessed = golden(guess / GUESSED, guess * GUESSED, FINE, of);
            if of(guessed) <= of(best) {
                best = guessed;
            }
        }
        let mut tried: Vec<Tried> = vec![search.attempt(best)];
        let fastest = search.attempt(coarse[coarse.len() - 1]);
        let seen = search.seen.len() as f64;
        let mut counts = vec![0.0; BLOCKS];
        for (index, _) in &search.seen {
            counts[search.block_of(search.sent[*index].0)] += 1.0;
        }
        let (base_s, deviation_s, without_queue_s) =
            (tried[0].base_s, tried[0].total() / seen, fastest.total() / seen);
        let mut found = Self {
            rate_bps: best,
            base_s,
            deviation_s,
            without_queue_s,
            blocks: None,
            tried: Vec::new(),
            counts,
        };
        if !thorough {
            return found;
        }
        found.blocks = if found.is_flat() { None } else { search.changes(best) };
        // Evaluate all coarse candidates if many rates explain the record.
        if found.is_flat() {
            tried.extend(coarse.iter().map(|rate| search.attempt(*rate)));
        }
        let around = NEAR.iter().flat_map(|share| [best / (1.0 + share), best * (1.0 + share)]);
        tried.extend(around.map(|rate| search.attempt(rate)));
        tried.sort_by(|a, b| a.rate_bps.total_cmp(&b.rate_bps));
        let of_best = &tried[Tried::best(&tried)];
        (found.rate_bps, found.base_s, found.deviation_s) =
            (of_best.rate_bps, of_best.base_s, of_best.total() / seen);
        found.tried = tried;
        found
    }

    /// Draws of pairs of rate in bit/s and base delay in seconds, by bootstrap of blocks of the record.
    pub fn draws(&self, count: usize, stream: &mut Stream) -> Vec<(f64, f64)> {
        let draw = |_| {
            let weights = weights(BLOCKS, stream);
            let total = |tried: &Tried| {
                tried.blocks.iter().zip(&weights).map(|(sum, weight)| sum * weight).sum::<f64>()
            };
            let totals: Vec<f64> = self.tried.iter().map(total).collect();
            let at = (0..totals.len()).fold(0, |best, at| if totals[at] < totals[best] { at } else { best });
            let of = &self.tried[at];
            // Between adjacent candidate rates the draw is uniform.
            let below = self.tried[at.saturating_sub(1)].rate_bps;
            let above = self.tried[(at + 1).min(self.tried.len() - 1)].rate_bps;
            let from = f64::midpoint(below, of.rate_bps);
            let to = f64::midpoint(of.rate_bps, above);
            let uniform: f64 = stream.random();
            (from + uniform * (to - from), of.base_s)
        };
        let found: Vec<(f64, f64)> = (0..count).map(draw).collect();
        // For a normal distribution the standard error of the median is 1.2533 standard deviations over the root of the
        // number, and a standard deviation is 1.2533 mean deviations.
        let error_s = 1.2533 * 1.2533 * self.deviation_s / self.counts.iter().sum::<f64>().max(1.0).sqrt();
        found.into_iter().map(|(rate, base_s)| (rate, base_s + error_s * normal(stream))).collect()
    }

    /// Lower bound of the rate in bit/s: the lowest candidate with at most 1.1 times the deviation of the best one.
    pub fn lower_bound_bps(&self) -> f64 {
        let seen: f64 = self.counts.iter().sum();
        let limit = 1.1 * self.deviation_s * seen + 1e-9;
        let low = self.tried.iter().find(|tried| tried.total() <= limit);
        low.map_or(self.rate_bps, |tried| tried.rate_bps)
    }

    /// Share of the deviations of the delays from a link without a queue that the best rate explains.
    pub(crate) fn explains(&self) -> f64 {
        1.0 - self.deviation_s / self.without_queue_s.max(f64::MIN_POSITIVE)
    }

    /// True if a link without queueing explains the delays about as well as the best rate (deviations at most 5 %
    /// larger): the rate then has only a lower bound.
    pub fn is_flat(&self) -> bool {
        self.without_queue_s <= 1.05 * self.deviation_s + 1e-9
    }
}

impl Tried {
    fn total(&self) -> f64 {
        self.blocks.iter().sum()
    }

    fn best(tried: &[Self]) -> usize {
        let totals: Vec<f64> = tried.iter().map(Self::total).collect();
        (0..totals.len()).fold(0, |best, at| if totals[at] < totals[best] { at } else { best })
    }
}

/// For each half of each block: the sum of deviations of the block's other half at the rate in bit/s with the least sum
/// in this half, and this rate. `tried` has the sums for each rate, block and half.
fn chosen_by_halves(tried: &[Vec<[f64; 2]>], rates: &[f64]) -> Vec<(f64, f64)> {
    let choose = |block: usize, half: usize| {
        let least = |best: usize, at: usize| {
            if tried[at][block][half] < tried[best][block][half] { at } else { best }
        };
        let at = (1..rates.len()).fold(0, least);
        (tried[at][block][1 - half], rates[at])
    };
    (0..BLOCKS).flat_map(|block| [choose(block, 0), choose(block, 1)]).collect()
}

/// For each of the first packets of a record with a known delay: this delay in seconds, the bits of arrived packets up
/// to it, and its sending time in seconds since the first packet.
fn first(record: &Record) -> Vec<(f64, f64, f64)> {
    let packets = record.packets();
    let mut bits = 0.0;
    let of = |packet: &Packet| {
        bits += if packet.fate == Fate::Arrived { 8.0 * packet.bytes } else { 0.0 };
        Some((packet.seen_s? - packet.sent_s, bits, packet.sent_s - packets[0].sent_s))
    };
    packets.iter().take(FIRST).filter_map(of).collect()
}

/// Ranges of packet indices that represent a record of `packets` packets in the coarse search: all of a short record,
/// else eight ranges of 20,000.
fn stretches(packets: usize) -> Vec<(usize, usize)> {
    if packets <= LONG {
        return vec![(0, packets)];
    }
    (0..STRETCHES).map(|number| packets / STRETCHES * number).map(|from| (from, from + STRETCH)).collect()
}

/// Position of the minimum of a unimodal function between two positive ends, to a relative precision (golden section in
/// the logarithm).
pub(crate) fn golden(from: f64, to: f64, share: f64, of: impl Fn(f64) -> f64) -> f64 {
    let ratio = (5.0_f64.sqrt() - 1.0) / 2.0;
    let (mut low, mut high) = (libm::log(from), libm::log(to));
    let at = |x: f64| of(libm::exp(x));
    let (mut a, mut b) = (high - ratio * (high - low), low + ratio * (high - low));
    let (mut of_a, mut of_b) = (at(a), at(b));
    while high - low > share {
        if of_a <= of_b {
            (high, b, of_b) = (b, a, of_a);
            a = high - ratio * (high - low);
            of_a = at(a);
        } else {
            (low, a, of_a) = (a, b, of_b);
            b = low + ratio * (high - low);
            of_b = at(b);
        }
    }
    libm::exp(f64::midpoint(low, high))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The first packets show the base delay of a queue that is never empty after them, although one loss of the
    /// channel passes for a drop, which makes all later delays seem a packet too long. Every second packet is
    /// acknowledged.
    #[test]
    fn the_first_packets_tell_the_path_of_a_queue_that_is_never_empty() {
        let (mut free_at, mut packets) = (0.0_f64, Vec::<Packet>::new());
        while packets.len() < 6000 {
            let window = 45 + packets.len() / 50 % 20;
            let answered = packets.len().checked_sub(window).map(|at| at / 2 * 2 + 1);
            let sent_s = answered.and_then(|at| packets.get(at)?.seen_s).unwrap_or(0.0);
            let sent_s = packets.last().map_or(sent_s, |last| sent_s.max(last.sent_s));
            free_at = free_at.max(sent_s) + 1.2e-3;
            let is_lost = packets.len() == 150;
            let seen_s = (packets.len() % 2 == 1).then_some(free_at + 40e-3);
            let fate = if is_lost { Fate::Lost } else { Fate::Arrived };
            packets.push(Packet { sent_s, bytes: 1500.0, seen_s, fate });
        }
        let dropped: Vec<bool> = (0..packets.len()).map(|index| index == 150).collect();
        let record = Record::new(packets, true).unwrap();
        let fit = RateFit::new(&record, Some(10e6), None, &dropped, true);
        assert!((fit.base_s - 40e-3).abs() < 0.1e-3, "{}", fit.base_s);
        assert!((fit.rate_bps / 10e6 - 1.0).abs() < 2e-3, "{}", fit.rate_bps);
    }

    /// Record of pairs of packets every 20 ms over rate levels (bit/s) of 4 s each; the acknowledgements of one pair in
    /// 80 are 100 ms late.
    fn pairs(levels: &[f64]) -> Record {
        let packets = (0..6000_u32).map(|index| {
            let pair = index / 2;
            let sent_s = f64::from(pair) * 20e-3;
            let takes_s = f64::from(index % 2 + 1) * 12e3 / levels[(sent_s / 4.0) as usize % levels.len()];
            let late_s = if pair % 80 == 17 { 0.1 } else { 0.0 };
            let seen_s = Some(sent_s + 50e-3 + takes_s + late_s);
            Packet { sent_s, bytes: 1500.0, seen_s, fate: Fate::Arrived }
        });
        Record::new(packets.collect(), true).unwrap()
    }

    /// A changing rate is found from blocks, and a constant one does not pass for changing, although late
    /// acknowledgements cause most of all deviations.
    #[test]
    fn blocks_show_that_a_rate_changes_whatever_comes_late() {
        let changes = |levels: &[f64]| {
            let record = pairs(levels);
            Search::new(&record, &vec![false; record.packets().len()]).changes(40e6)
        };
        assert!(changes(&[40e6]).is_none());
        let found = changes(&[40e6, 32e6, 48e6]).unwrap();
        assert!((30e6..=34e6).contains(&found.slow_bps), "{found:?}");
        let mean_bps = found.rows.iter().map(|row| row.1).sum::<f64>() / BLOCKS as f64;
        assert!((0.9..=1.0).contains(&(mean_bps / 40e6)), "{found:?}");
    }
}
