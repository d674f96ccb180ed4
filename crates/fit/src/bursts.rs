//! Bursty losses: a two-state channel with a memory that decays in time.
//!
//! The losses of two packets that leave the link t seconds apart have the correlation `exp(-forgets * t)`, as in a
//! two-state chain in continuous time. Packets far apart sample few of its states, so the memory is measured in time,
//! not in packets. A pair of successive packets contributes the likelihood of the chain's transition over the time
//! between their departures.

use crate::bootstrap::weights;
use crate::record::{Fate, Record};
use crossfade_core::Stream;

/// Number of blocks of the record for the bootstrap.
const BLOCKS: usize = 40;
/// Correction for the finite number of bootstrap blocks, applied to deviations of the logarithm: the variance lacks one
/// block, and deviations follow Student's t with one degree of freedom fewer (2.023 instead of 1.960).
const FEW_BLOCKS: f64 = 1.0127 * 2.023 / 1.960;
/// Ratio between successive bins of the time between two packets.
const STEP: f64 = 1.05;
/// Shortest time between two packets in packet times; shorter ones count as this time.
const SHORTEST: f64 = 1e-2;
/// Longest time between two packets in packet times; longer ones count as this time.
const LONGEST: f64 = 1e5;
/// Lower limit of the forgetting rate, per packet time.
const LEAST: f64 = 1e-4;
/// Upper limit of the forgetting rate, per packet time.
const MOST: f64 = 20.0;
/// Ratio of successive forgetting rates in the coarse search.
const COARSE: f64 = 1.3;
/// Minimum number of losses to find bursts.
const FEWEST: u64 = 10;
/// Logarithm of the likelihood ratio that independent losses exceed with probability 1 % (half of chi-square's 6.63).
const SIGNIFICANT: f64 = 3.32;

/// Pairs of successive packets in one bin of the time between them.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
struct Pairs {
    /// Sum of the times between the packets of each pair, in seconds.
    seconds: f64,
    /// Number of pairs by the loss of the first packet (row) and of the second (column); index 1 is lost.
    counts: [[f64; 2]; 2],
}

/// Two-state channel with bursty losses, and a memory that decays in time.
#[derive(Clone, Debug, PartialEq)]
pub struct Bursts {
    /// Mean loss probability of a packet.
    pub share: f64,
    /// Rate per second at which the correlation of losses decays, as `exp(-forgets * t)`.
    pub forgets: f64,
    /// For each block of the record, its pairs of packets in bins of the time between them.
    blocks: Vec<Vec<Pairs>>,
}

/// Packet with a known fate: time in seconds at which it left the link, and true if it was lost.
#[derive(Clone, Copy, Debug)]
struct Known {
    left_s: f64,
    is_lost: bool,
}

impl Bursts {
    /// Estimates the channel from the packets that are not `excluded`; `left` are their departure times, `packet_s` is
    /// the packet time, in seconds. `None` with fewer than ten losses, or if the channel of the first half does not
    /// predict the losses of the second half better than independence does.
    pub(crate) fn new(record: &Record, excluded: &[bool], left: &[f64], packet_s: f64) -> Option<Self> {
        let known: Vec<Known> = (record.packets().iter().zip(left).zip(excluded))
            .filter(|((packet, left), excluded)| {
                packet.fate != Fate::Unknown && !**excluded && left.is_finite()
            })
            .map(|((packet, left), _)| Known { left_s: *left, is_lost: packet.fate == Fate::Lost })
            .collect();
        let (first, second) = known.split_at(known.len() / 2);
        let of_first = Self::fitted(first, packet_s)?;
        let whole = Self::fitted(&known, packet_s)?;
        let (mut gain, mut squares) = (0.0, 0.0);
        for pair in second.windows(2) {
            let by_share = if pair[1].is_lost { of_first.share } else { 1.0 - of_first.share };
            let step = of_first.log_of(pair, packet_s) - libm::log(by_share);
            gain += step;
            squares += step * step;
        }
        let merged = whole.merged(&[1.0; BLOCKS]);
        let better =
            likelihood(&merged, whole.share, whole.forgets) - likelihood(&merged, whole.share, f64::INFINITY);
        (gain > 2.0 * squares.sqrt() && better > SIGNIFICANT).then_some(whole)
    }

    /// Channel of maximum likelihood for packets with known fates; `None` with fewer than ten losses, or if all are
    /// lost.
    fn fitted(known: &[Known], packet_s: f64) -> Option<Self> {
        let lost = known.iter().filter(|of| of.is_lost).count() as u64;
        if lost < FEWEST || lost >= known.len() as u64 {
            return None;
        }
        let blocks = blocks(known, packet_s);
        let found = Self { share: lost as f64 / known.len() as f64, forgets: 0.0, blocks };
        let merged = found.merged(&[1.0; BLOCKS]);
        let (mut best, mut at) = (f64::NEG_INFINITY, LEAST);
        let mut forgets = LEAST;
        while forgets < MOST {
            let of = likelihood(&merged, found.share, forgets / packet_s);
            if of > best {
                (best, at) = (of, forgets);
            }
            forgets *= COARSE;
        }
        let forgets = golden(at / COARSE / packet_s, at * COARSE / packet_s, |forgets| {
            likelihood(&merged, found.share, forgets)
        });
        Some(Self { forgets, ..found })
    }

    /// Logarithm of the probability of the second packet's fate, given the first's.
    fn log_of(&self, pair: &[Known], packet_s: f64) -> f64 {
        let apart = (pair[1].left_s - pair[0].left_s).max(SHORTEST * packet_s);
        let kept = libm::exp(-self.forgets * apart);
        libm::log(probability(pair[0].is_lost, pair[1].is_lost, self.share, kept).max(1e-12))
    }

    /// Pairs of all blocks, each block counted with its weight, without empty bins.
    fn merged(&self, weights: &[f64]) -> Vec<Pairs> {
        let mut found = vec![Pairs::default(); self.blocks.first().map_or(0, Vec::len)];
        for (block, weight) in self.blocks.iter().zip(weights).filter(|(_, weight)| **weight > 0.0) {
            for (sum, of) in found.iter_mut().zip(block) {
                sum.seconds += weight * of.seconds;
                for (sum, of) in sum.counts.iter_mut().flatten().zip(of.counts.iter().flatten()) {
                    *sum += weight * of;
                }
            }
        }
        found.retain(|of| of.counts.iter().flatten().sum::<f64>() > 0.0);
        found
    }

    /// Draw of the forgetting rate per second from its uncertainty, by bootstrap of blocks of the record.
    pub(crate) fn draw(&self, random: &mut Stream) -> f64 {
        let merged = self.merged(&weights(BLOCKS, random));
        let (mut lost, mut all) = (0.0, 0.0);
        for of in &merged {
            lost += of.counts[0][1] + of.counts[1][1];
            all += of.counts.iter().flatten().sum::<f64>();
        }
        if lost < 2.0 || lost >= all {
            return self.forgets;
        }
        let of_blocks = golden(self.forgets / 8.0, self.forgets * 8.0, |forgets| {
            likelihood(&merged, lost / all, forgets)
        });
        self.forgets * libm::pow(of_blocks / self.forgets, FEW_BLOCKS)
    }

    /// Mean length of a loss burst in steps of `step_s` seconds, for this loss probability and the forgetting rate
    /// `forgets` per second.
    pub fn mean_burst(&self, forgets: f64, step_s: f64) -> f64 {
        1.0 / ((1.0 - self.share) * (1.0 - libm::exp(-forgets * step_s)))
    }
}

/// Pairs of successive packets in bins of the time between them, for each block of the record.
fn blocks(known: &[Known], packet_s: f64) -> Vec<Vec<Pairs>> {
    let bins = (libm::log(LONGEST / SHORTEST) / libm::log(STEP)).ceil() as usize + 1;
    let mut found = vec![vec![Pairs::default(); bins]; BLOCKS];
    let (Some(start), Some(end)) = (known.first(), known.last()) else { return found };
    let lasts = (end.left_s - start.left_s).max(f64::MIN_POSITIVE);
    for pair in known.windows(2) {
        let block = ((pair[0].left_s - start.left_s) / lasts * BLOCKS as f64) as usize;
        let apart = (pair[1].left_s - pair[0].left_s).clamp(SHORTEST * packet_s, LONGEST * packet_s);
        let bin = libm::log(apart / packet_s / SHORTEST) / libm::log(STEP);
        let of = &mut found[block.min(BLOCKS - 1)][(bin.round() as usize).min(bins - 1)];
        of.seconds += apart;
        of.counts[usize::from(pair[0].is_lost)][usize::from(pair[1].is_lost)] += 1.0;
    }
    found
}

/// Probability of the second packet's fate given the first's (true: lost), if the share `kept` of the correlation
/// remains.
fn probability(first: bool, second: bool, share: f64, kept: f64) -> f64 {
    let at_random = if second { share } else { 1.0 - share };
    if first == second { at_random + (1.0 - at_random) * kept } else { at_random * (1.0 - kept) }
}

/// Log-likelihood of pairs of packets for a channel with the loss probability `share` and the forgetting rate `forgets`
/// per second.
fn likelihood(pairs: &[Pairs], share: f64, forgets: f64) -> f64 {
    let of = |pairs: &Pairs| {
        let all: f64 = pairs.counts.iter().flatten().sum();
        let kept = libm::exp(-forgets * pairs.seconds / all);
        let mut sum = 0.0;
        for first in [false, true] {
            for second in [false, true] {
                let count = pairs.counts[usize::from(first)][usize::from(second)];
                if count > 0.0 {
                    sum += count * libm::log(probability(first, second, share, kept).max(1e-12));
                }
            }
        }
        sum
    };
    pairs.iter().map(of).sum()
}

/// Position of the maximum of a unimodal function between two positive ends, to 0.1 %.
fn golden(from: f64, to: f64, of: impl Fn(f64) -> f64) -> f64 {
    crate::rate::golden(from, to, 1e-3, |at| -of(at))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::record::Packet;
    use crossfade_core::RunSeed;
    use rand::RngExt;

    /// Record of packets that leave every `each` ms, over a two-state chain with one step per ms, and their departure
    /// times in seconds.
    fn record(each: u64, p_bg: f64, p_e: f64, packets: u64, seed: u64) -> (Record, Vec<f64>) {
        let mut random = RunSeed { seed, run: 0 }.stream("bursts");
        let p_gb = p_e * p_bg / (1.0 - p_e);
        let mut is_bad = random.random_bool(p_e);
        let mut found = Vec::new();
        for number in 0..packets {
            for _ in 0..each {
                is_bad = random.random_bool(if is_bad { 1.0 - p_bg } else { p_gb });
            }
            let sent_s = (number * each) as f64 * 1e-3;
            let fate = if is_bad { Fate::Lost } else { Fate::Arrived };
            found.push(Packet { sent_s, bytes: 1500.0, seen_s: (!is_bad).then_some(sent_s + 0.04), fate });
        }
        let left = found.iter().map(|packet| packet.sent_s).collect();
        (Record::new(found, true).unwrap(), left)
    }

    /// The estimated mean burst is that of the chain, whatever the time between packets.
    #[test]
    fn bursts_count_in_time() {
        for each in [1, 2, 3] {
            let (mut sum, runs) = (0.0, 10);
            for seed in 0..runs {
                let (record, left) = record(each, 0.2, 0.02, 60_000, seed);
                let of = Bursts::new(&record, &vec![false; left.len()], &left, 1e-3).unwrap();
                sum += of.mean_burst(of.forgets, 1e-3) / runs as f64;
            }
            assert!((sum - 5.0).abs() < 0.25, "each {each}: {sum}");
        }
    }

    #[test]
    fn independent_losses_have_no_bursts() {
        let found = (0..100).filter(|seed| {
            let (record, left) = record(1, 1.0 - 0.02, 0.02, 20_000, 100 + seed);
            Bursts::new(&record, &vec![false; left.len()], &left, 1e-3).is_some()
        });
        assert!(found.count() <= 3);
    }

    /// 95 % intervals of draws contain the true mean burst in at least 88 of 100 records.
    #[test]
    fn draws_cover_the_burst() {
        let covered = (0..100).filter(|seed| {
            let (record, left) = record(2, 0.25, 0.02, 40_000, 1000 + seed);
            let of = Bursts::new(&record, &vec![false; left.len()], &left, 1e-3).unwrap();
            let mut random = RunSeed { seed: *seed, run: 0 }.stream("draws");
            let draws: Vec<f64> = (0..200).map(|_| of.mean_burst(of.draw(&mut random), 1e-3)).collect();
            let (low, high) = crate::bootstrap::interval(&draws, 0.95);
            low <= 4.0 && 4.0 <= high
        });
        let covered = covered.count();
        assert!((88..=100).contains(&covered), "{covered}");
    }
}
