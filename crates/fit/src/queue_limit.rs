//! Queue limit, from the backlogs found by packets that came through and by packets that were dropped.

use crate::bootstrap::quantile;
use crate::record::{Fate, Record};

/// Evidence on the limit of a queue.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct QueueLimit {
    /// Largest backlog in bytes found by a packet that arrived, itself not counted.
    pub held_bytes: f64,
    /// Smallest backlog in bytes found by a packet dropped by the queue; `None` without congestive losses.
    pub dropped_bytes: Option<f64>,
    /// Number of losses at a full queue.
    pub drops: usize,
}

/// Minimum number of runs of losses beyond the limit that show a full queue.
const FEWEST_DROPS: usize = 3;
/// Minimum gain in log-likelihood over chance that a limit must reach, per loss of a run.
const GAIN: f64 = 8.0;
/// Minimum number of losses beyond the limit that show a full queue even in one run, if nearly all packets there were
/// lost.
const LONG_RUN: usize = 30;
/// Minimum share of lost packets beyond the limit, for one long run of losses to show a full queue.
const NEARLY_ALL: f64 = 0.95;
/// Minimum share of lost packets beyond the limit, for several runs of losses to show a full queue.
const LEAST_SHARE: f64 = 0.3;
/// Constant part in packets of the distance below the limit within which losses may be drops, since backlogs are not
/// exact: packets in the queue that the channel lost later pass for drops, and are missing.
const NEAR_PACKETS: f64 = 1.5;
/// Part of the distance below the limit within which losses may be drops that grows with the limit, as a share of it.
const NEAR: f64 = 0.01;

/// Minimum share of losses near the limit classified by departure times, for these times to decide which are drops.
const TOLD: f64 = 0.8;
/// Minimum number of runs of drops classified by departure times, for the limit to come from their backlogs.
const FEWEST_TOLD: usize = 10;
/// Constant part in packets of the maximum spread of the backlogs of drops classified by departure times.
const SAME_PACKETS: f64 = 2.5;
/// Part of the maximum spread of the backlogs of drops that grows with their median, as a share of it.
const SAME: f64 = 0.05;
/// Quantile that, with its opposite, bounds the backlogs of drops classified by departure times; other losses count as
/// drops down to it.
const LOWEST: f64 = 0.05;

/// Maximum ratio of arrived packets beyond the limit to those just below it, for backlogs to be exact.
const BLURRED: f64 = 0.02;
/// Distance below the limit in packets within which arrived packets are just below it.
const BESIDE_PACKETS: f64 = 3.0;

/// Drops by the full queue of a record, and the queue limit that they show.
#[derive(Clone, Debug)]
pub(crate) struct Drops {
    /// Evidence on the limit.
    pub(crate) limit: QueueLimit,
    /// For each packet, true if the queue dropped it.
    pub(crate) dropped: Vec<bool>,
    /// For each packet, true if it was so near to the limit that its loss gives no evidence on random losses.
    pub(crate) near: Vec<bool>,
    /// Gain in log-likelihood of the limit over chance.
    pub(crate) gain: f64,
}

/// Log-likelihood of `lost` losses among `all` packets, at the loss probability `lost / all`.
pub(crate) fn likelihood(lost: usize, all: usize) -> f64 {
    if lost == 0 || lost == all {
        return 0.0;
    }
    let share = lost as f64 / all as f64;
    lost as f64 * libm::log(share) + (all - lost) as f64 * libm::log(1.0 - share)
}

impl Drops {
    /// Estimates the limit from the backlogs `found` in bytes: nearly all packets beyond it are lost, and the usual
    /// share below it. It is the maximum-likelihood change point of the share of losses over the backlog. Lost packets
    /// that the link sent ([`served`](crate::served::served)) passed the queue.
    ///
    /// The backlogs `found` do not contain packets marked in `without`, as if a full queue had dropped them.
    pub(crate) fn new(record: &Record, found: &[f64], without: &[bool], served: &[Option<bool>]) -> Self {
        let packets = record.packets();
        let full = record.full_bytes();
        // Backlog of each packet, whether it was lost, and whether it is the first of a run of losses.
        let mut was_lost = false;
        let mut known: Vec<(f64, bool, bool)> = Vec::with_capacity(packets.len());
        for ((packet, found), served) in packets.iter().zip(found).zip(served) {
            let is_lost = packet.fate == Fate::Lost && *served != Some(true);
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
            // A limit lies between two different backlogs.
            if known[index].0 <= known[index - 1].0 || known[index].0 < NEAR_PACKETS * full {
                continue;
            }
            // A long run of losses beyond the backlogs of arrived packets, as in an outage, shows a full queue too.
            let is_long = lost_above >= LONG_RUN && (lost_above as f64) > NEARLY_ALL * above as f64;
            let are_several = runs_above >= FEWEST_DROPS && lost_above as f64 >= LEAST_SHARE * above as f64;
            if !is_long && !are_several {
                continue;
            }
            let of = likelihood(lost_above, above) + likelihood(lost - lost_above, all - above);
            // The losses of a burst are one event: a channel may lose them together.
            let run = if is_long { 1.0 } else { lost_above as f64 / runs_above as f64 };
            if of - null > GAIN * run && best.is_none_or(|(most, _)| of > most) {
                best = Some((of, index));
            }
        }
        let never_sent = |index: usize| packets[index].fate == Fate::Lost && served[index] == Some(false);
        let Some((likely, at)) = best else {
            let arrived = known.iter().filter(|of| !of.1).map(|of| of.0);
            let limit = QueueLimit { held_bytes: arrived.fold(0.0, f64::max), dropped_bytes: None, drops: 0 };
            return Self {
                limit,
                dropped: (0..packets.len()).map(never_sent).collect(),
                near: vec![false; packets.len()],
                gain: 0.0,
            };
        };
        let below = known[..at].iter().filter(|of| !of.1).map(|of| of.0).fold(0.0, f64::max);
        let edge = (1.0 - NEAR) * known[at].0 - NEAR_PACKETS * full;
        Self::at(record, ((below, known[at].0), edge), (found, without, served), likely - null)
    }

    /// Estimates the limit as the median of the backlogs `counted` of packets that were never on the link
    /// ([`served`](crate::served::served)), if nearly all agree. `None` if too few are known, or they disagree. The
    /// backlogs do not contain packets marked in `without`.
    pub(crate) fn by_times(
        record: &Record,
        counted: &[f64],
        without: &[bool],
        served: &[Option<bool>],
    ) -> Option<Self> {
        let full = record.full_bytes();
        let indices: Vec<usize> = (0..served.len()).filter(|index| served[*index] == Some(false)).collect();
        let runs = 1 + indices.windows(2).filter(|pair| pair[1] > pair[0] + 1).count();
        let mut found: Vec<f64> = indices.iter().map(|index| counted[*index]).collect();
        found.sort_by(f64::total_cmp);
        let middle = quantile(&found, 0.5);
        let spread = quantile(&found, 1.0 - LOWEST) - quantile(&found, LOWEST);
        if indices.is_empty()
            || runs < FEWEST_TOLD
            || middle < NEAR_PACKETS * full
            || spread > SAME_PACKETS * full + SAME * middle
        {
            return None;
        }
        let edge = (1.0 - NEAR) * quantile(&found, LOWEST) - NEAR_PACKETS * full;
        Some(Self::at(record, ((middle - full, middle), edge), (counted, without, served), f64::INFINITY))
    }

    /// Drops for a limit between `held_bytes` and `dropped_bytes`, the backlogs of passed and dropped packets; packets
    /// that found at least `edge` bytes are near to the limit.
    fn at(
        record: &Record,
        ((held_bytes, dropped_bytes), edge): ((f64, f64), f64),
        (found, without, served): (&[f64], &[bool], &[Option<bool>]),
        gain: f64,
    ) -> Self {
        let packets = record.packets();
        let is_near = |index: usize| found[index] >= edge;
        let is_lost = |index: usize| packets[index].fate == Fate::Lost;
        let served = &within(record, (found, without), served, dropped_bytes);
        let dropped: Vec<bool> = (0..packets.len())
            .map(|index| {
                is_lost(index)
                    && (served[index] == Some(false) || (is_near(index) && served[index].is_none()))
            })
            .collect();
        // If departure times classify the drops, packets that passed near the limit count like others.
        let (told, all) = (0..packets.len())
            .filter(|index| is_lost(*index) && is_near(*index))
            .fold((0, 0), |sum, index| (sum.0 + u32::from(served[index].is_some()), sum.1 + 1));
        let is_told = f64::from(told) >= TOLD * f64::from(all);
        let near: Vec<bool> =
            (0..packets.len()).map(|index| is_near(index) && (!is_told || dropped[index])).collect();
        let drops = (0..packets.len()).filter(|index| is_near(*index) && dropped[*index]).count();
        let limit = QueueLimit { held_bytes, dropped_bytes: Some(dropped_bytes), drops };
        Self { limit, dropped, near, gain }
    }
}

/// For each packet, `Some(true)` if the link sent it before it was lost ([`served`](crate::served::served)), corrected
/// where backlogs are exact, as hardly any arrived packet found more than the queue holds: a lost packet that found
/// more was dropped. Where the rate changed, a longer time between departures passes for another transmission. If
/// another packet was lost before the next departure, the link sent that one.
///
/// The backlogs `found` do not contain packets marked in `without`. A packet found to be dropped takes no place in the
/// queue either, so those behind it found less: without this correction, under UDP at one and a half times the rate of
/// a link half of the losses of its channel pass for drops.
fn within(
    record: &Record,
    (found, without): (&[f64], &[bool]),
    served: &[Option<bool>],
    dropped_bytes: f64,
) -> Vec<Option<bool>> {
    let packets = record.packets();
    let least = dropped_bytes - BESIDE_PACKETS * record.full_bytes();
    let arrived = packets.iter().zip(found).filter(|(packet, _)| packet.fate == Fate::Arrived);
    let (over, beside) = arrived.fold((0, 0), |(over, beside), (_, found)| {
        let is_over = *found >= dropped_bytes;
        (over + u32::from(is_over), beside + u32::from(!is_over && *found >= least))
    });
    let mut told = served.to_vec();
    if f64::from(over) > BLURRED * f64::from(beside) {
        return told;
    }
    for index in
        (0..told.len()).filter(|index| served[*index] == Some(true) && found[*index] >= dropped_bytes)
    {
        told[index] = Some(false);
        let departs = packets[index..].iter().position(|packet| packet.seen_s.is_some());
        let gap = index..departs.map_or(told.len(), |after| index + after);
        let less = if without[index] { 0.0 } else { packets[index].bytes };
        let passed = |other: &usize| {
            told[*other] == Some(false) && found[*other] - less < dropped_bytes && *other > index
        };
        if let Some(other) = gap.into_iter().find(passed) {
            told[other] = Some(true);
        }
    }
    told
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::record::Packet;
    use crossfade_core::RunSeed;
    use rand::RngExt;

    /// Record of packets with random backlogs of up to 60 packets, and these backlogs in bytes. A packet that finds
    /// more than `limit` others is dropped; other packets are lost with a probability of 2 %.
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
            let of = Drops::new(&packets, &found, &vec![false; found.len()], &vec![None; found.len()]);
            assert_eq!((of.limit.held_bytes, of.limit.dropped_bytes), (75_000.0, Some(76_500.0)), "{seed}");
            let (packets, found) = record(1000, seed);
            let of = Drops::new(&packets, &found, &vec![false; found.len()], &vec![None; found.len()]);
            assert_eq!((of.limit.drops, of.limit.dropped_bytes), (0, None), "{seed}: {:?}", of.limit);
        }
    }

    /// A lost packet that found more than the queue holds was dropped, and the link sent another one lost before the
    /// next departure. If packets that arrived found as much, backlogs are not exact, and departure times decide.
    #[test]
    fn what_found_more_than_the_queue_holds_was_dropped() {
        let is_lost = |index: usize| [100, 200, 202].contains(&index);
        let packets = (0..400).map(|index: usize| {
            let sent_s = index as f64 * 1e-2;
            let fate = if is_lost(index) { Fate::Lost } else { Fate::Arrived };
            let seen_s = (!is_lost(index) && index != 201).then_some(sent_s + 0.1);
            Packet { sent_s, bytes: 1500.0, seen_s, fate }
        });
        let record = Record::new(packets.collect(), true).unwrap();
        let mut found = vec![48.0 * 1500.0; 400];
        (found[100], found[200], found[202]) = (52.0 * 1500.0, 51.0 * 1500.0, 49.0 * 1500.0);
        let mut served = vec![None; 400];
        (served[100], served[200], served[202]) = (Some(true), Some(true), Some(false));
        let within =
            |found: &[f64], without: &[bool]| within(&record, (found, without), &served, 51.0 * 1500.0);
        let (all, mut without) = ([false; 400], [false; 400]);
        let told = within(&found, &all);
        assert_eq!((told[100], told[200], told[202]), (Some(false), Some(false), Some(true)));
        // The later packet found the earlier one in the queue, which no longer counts, unless it never did.
        found[202] = 51.0 * 1500.0;
        assert_eq!(within(&found, &all)[202], Some(true));
        without[200] = true;
        assert_eq!(within(&found, &without)[202], Some(false));
        found[202] = 52.0 * 1500.0;
        assert_eq!(within(&found, &all)[202], Some(false));
        found[300..320].fill(51.0 * 1500.0);
        assert_eq!(within(&found, &all), served);
    }
}
