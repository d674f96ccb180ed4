//! How much the queue holds: what packets that came through found in it, and what those that were dropped did.

use crate::record::{Fate, Record};

/// What is known of the limit of a queue.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct QueueLimit {
    /// The most that a packet that arrived found before it, in bytes, itself left out.
    pub held_bytes: f64,
    /// The least that was before a packet that was dropped for it; none where no loss was congestive.
    pub dropped_bytes: Option<f64>,
    /// Losses at a full queue.
    pub drops: usize,
}

/// So many losses at a full queue, not in one run, tell that it was full.
const FEWEST_DROPS: usize = 3;
/// What a limit must explain better than chance, in the logarithm of the likelihood.
const GAIN: f64 = 8.0;
/// Beyond the limit at least this share is lost.
const LEAST_SHARE: f64 = 0.3;
/// What packets found is not exact: losses within so many packets below the limit count too, and say nothing of others.
const NEAR_PACKETS: f64 = 1.5;

/// What a full queue did to a record.
#[derive(Clone, Debug)]
pub(crate) struct Drops {
    /// The limit.
    pub(crate) limit: QueueLimit,
    /// Which packets it dropped.
    pub(crate) dropped: Vec<bool>,
    /// Which packets were so near to the limit that their losses say nothing of others.
    pub(crate) near: Vec<bool>,
    /// By how much the limit explains the losses better than chance.
    pub(crate) gain: f64,
}

/// The logarithm of the likelihood of so many losses among as many, at their own share.
fn likelihood(lost: usize, all: usize) -> f64 {
    if lost == 0 || lost == all {
        return 0.0;
    }
    let share = lost as f64 / all as f64;
    lost as f64 * libm::log(share) + (all - lost) as f64 * libm::log(1.0 - share)
}

impl Drops {
    /// The limit by what each packet found: beyond it nearly all are lost, below it the usual share. It is the change point of the
    /// share of losses over what packets found, by maximum likelihood.
    pub(crate) fn new(record: &Record, found: &[f64]) -> Self {
        let packets = record.packets();
        let full = record.full_bytes();
        // What each found, whether it was lost, and whether it is the first of a run of losses.
        let mut was_lost = false;
        let mut known: Vec<(f64, bool, bool)> = Vec::with_capacity(packets.len());
        for (packet, found) in packets.iter().zip(found) {
            let is_lost = packet.fate == Fate::Lost;
            if packet.fate != Fate::Unknown {
                known.push((*found, is_lost, is_lost && !was_lost));
            }
            was_lost = is_lost;
        }
        known.sort_by(|a, b| a.0.total_cmp(&b.0));
        let (all, lost) = (known.len(), known.iter().filter(|of| of.1).count());
        let null = likelihood(lost, all);
        let mut best: Option<(f64, usize)> = None;
        let (mut above, mut lost_above, mut runs_above) = (0, 0, 0);
        for index in (1..all).rev() {
            above += 1;
            lost_above += usize::from(known[index].1);
            runs_above += usize::from(known[index].2);
            // Between two values that differ.
            if known[index].0 <= known[index - 1].0 || known[index].0 < NEAR_PACKETS * full {
                continue;
            }
            if runs_above < FEWEST_DROPS || (lost_above as f64) < LEAST_SHARE * above as f64 {
                continue;
            }
            let of = likelihood(lost_above, above) + likelihood(lost - lost_above, all - above);
            // The losses of a burst are one event: a channel may lose them together.
            let run = lost_above as f64 / runs_above as f64;
            if of - null > GAIN * run && best.is_none_or(|(most, _)| of > most) {
                best = Some((of, index));
            }
        }
        let Some((likely, at)) = best else {
            let arrived = known.iter().filter(|of| !of.1).map(|of| of.0);
            let limit = QueueLimit { held_bytes: arrived.fold(0.0, f64::max), dropped_bytes: None, drops: 0 };
            return Self {
                limit,
                dropped: vec![false; packets.len()],
                near: vec![false; packets.len()],
                gain: 0.0,
            };
        };
        let edge = known[at].0 - NEAR_PACKETS * full;
        let near: Vec<bool> = found.iter().map(|found| *found >= edge).collect();
        let dropped: Vec<bool> =
            packets.iter().zip(&near).map(|(packet, near)| *near && packet.fate == Fate::Lost).collect();
        let below = known[..at].iter().filter(|of| !of.1).map(|of| of.0).fold(0.0, f64::max);
        let limit = QueueLimit {
            held_bytes: below,
            dropped_bytes: Some(known[at].0),
            drops: dropped.iter().filter(|dropped| **dropped).count(),
        };
        Self { limit, dropped, near, gain: likely - null }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::record::Packet;
    use crossfade_core::RunSeed;
    use rand::RngExt;

    /// Packets that found anything up to 60 others; beyond 50 all are dropped, below one in fifty.
    fn record(limit: usize, seed: u64) -> (Record, Vec<f64>) {
        let mut stream = RunSeed { seed, run: 0 }.stream("limit");
        let mut found = Vec::new();
        let packets = (0..5000).map(|index| {
            let before = stream.random_range(0..=60_usize).min(limit + 1);
            found.push(before as f64 * 1500.0);
            let is_lost = before > limit || stream.random_bool(0.02);
            let sent_s = f64::from(index) * 1e-3;
            let fate = if is_lost { Fate::Lost } else { Fate::Arrived };
            Packet { sent_s, bytes: 1500.0, seen_s: (!is_lost).then_some(sent_s + 0.1), fate }
        });
        (Record::new(packets.collect(), true).unwrap(), found)
    }

    #[test]
    fn a_limit_is_told_from_random_losses() {
        for seed in 0..50 {
            let (packets, found) = record(50, seed);
            let of = Drops::new(&packets, &found);
            assert_eq!((of.limit.held_bytes, of.limit.dropped_bytes), (75_000.0, Some(76_500.0)), "{seed}");
            let (packets, found) = record(1000, seed);
            let of = Drops::new(&packets, &found);
            assert_eq!((of.limit.drops, of.limit.dropped_bytes), (0, None), "{seed}: {:?}", of.limit);
        }
    }
}
