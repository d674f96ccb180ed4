//! Packets whose losses say nothing of the channel: near a full queue, around its drops, and where the record does not
//! tell what was in it.

use crate::departures::found_at_most;
use crate::queue_limit::{QueueLimit, likelihood};
use crate::record::{Fate, Packet, Record};

/// Minimum number and share of packets far from drops in time that represent all.
const FEWEST_APART: usize = 2000;
const APART: f64 = 0.2;
/// Minimum number of drops in a burst.
const MANY: usize = 6;
/// Packets that were not seen tell nothing if there are so many times as many in a row as between two that were seen in
/// the mean.
const DARK: f64 = 10.0;
/// Difference in packets between what a packet found and what it may have found at most, within which it is known.
const DOUBT_PACKETS: f64 = 2.0;
/// The share of losses around drops is another one if that explains the losses by so much better, in the logarithm of
/// the likelihood: for each loss of a burst, as some of its losses may pass for drops.
const FAR_MORE: f64 = 25.0;

/// Packets without information about random losses: those `near` to a full queue, and, if far more was lost there than
/// elsewhere, those sent within `apart_s` of a drop. What packets found is known least where a queue overflows at a
/// rate that changes.
pub(crate) fn silent(record: &Record, dropped: &[bool], mut near: Vec<bool>, apart_s: f64) -> Vec<bool> {
    let packets = record.packets();
    // What those found that were sent behind the last one that was seen is not known.
    let ends = packets.iter().rposition(|packet| packet.seen_s.is_some()).map_or(0, |last| last + 1);
    near[ends..].fill(true);
    for (near, is_dark) in near.iter_mut().zip(dark(packets)) {
        *near |= is_dark;
    }
    let mut found = near.clone();
    let (mut after, mut before) = (f64::NEG_INFINITY, f64::INFINITY);
    for (index, packet) in packets.iter().enumerate() {
        after = if dropped[index] { packet.sent_s } else { after };
        found[index] |= packet.sent_s - after < apart_s;
    }
    for (index, packet) in packets.iter().enumerate().rev() {
        before = if dropped[index] { packet.sent_s } else { before };
        found[index] |= before - packet.sent_s < apart_s;
    }
    // Losses, packets and runs of losses around drops and elsewhere.
    let (mut counts, mut was_lost) = ([(0, 0, 0); 2], false);
    for (index, packet) in packets.iter().enumerate().filter(|(index, _)| !near[*index]) {
        if packet.fate == Fate::Unknown {
            continue;
        }
        let is_lost = packet.fate == Fate::Lost;
        let of = &mut counts[usize::from(found[index])];
        of.0 += usize::from(is_lost);
        of.1 += 1;
        of.2 += usize::from(is_lost && !was_lost);
        was_lost = is_lost;
    }
    let [elsewhere, around] = counts;
    let all = (elsewhere.0 + around.0, elsewhere.1 + around.1);
    let gain =
        likelihood(elsewhere.0, elsewhere.1) + likelihood(around.0, around.1) - likelihood(all.0, all.1);
    let run = all.0 as f64 / (elsewhere.2 + around.2).max(1) as f64;
    let is_more = around.0 * elsewhere.1 > elsewhere.0 * around.1;
    let are_enough = elsewhere.1 >= FEWEST_APART && elsewhere.1 as f64 >= APART * packets.len() as f64;
    let odd = drops_at_once(packets, dropped, &near, apart_s);
    let mut chosen = if are_enough && is_more && gain > FAR_MORE * run { found } else { near };
    for index in odd {
        chosen[index] = true;
    }
    chosen
}

/// Packets that may have found a full queue or a much shorter one, as departures in front of them were not seen: where a
/// queue overflows at a rate that falls, nothing is seen for a while, and what it held passes for gone.
pub(crate) fn doubtful(
    record: &Record,
    base_s: f64,
    dropped: &[bool],
    (before, limit): (&[f64], &QueueLimit),
) -> Vec<bool> {
    let full = record.full_bytes();
    let Some(limit_bytes) = limit.dropped_bytes else { return vec![false; before.len()] };
    let most = found_at_most(record, base_s, |index| dropped[index]);
    let is_doubtful = |(most, before): (&f64, &f64)| {
        *most > before + DOUBT_PACKETS * full && *most > limit_bytes - DOUBT_PACKETS * full
    };
    most.iter().zip(before).map(is_doubtful).collect()
}

/// Drops far from the limit by what they found, which the times of departures tell: those around drops near the limit,
/// and many at once, are drops, a single one elsewhere is a mistake.
fn drops_at_once(packets: &[Packet], dropped: &[bool], near: &[bool], apart_s: f64) -> Vec<usize> {
    let odd: Vec<usize> = (0..packets.len()).filter(|index| dropped[*index] && !near[*index]).collect();
    let usual: Vec<f64> = (0..packets.len())
        .filter(|index| dropped[*index] && near[*index])
        .map(|index| packets[index].sent_s)
        .collect();
    let is_around = |index: usize| {
        let at = packets[index].sent_s;
        let next = usual.partition_point(|drop| *drop <= at - apart_s);
        usual.get(next).is_some_and(|drop| *drop < at + apart_s)
    };
    let at = |number: usize| odd.get(number).map(|index| packets[*index].sent_s);
    let are_at_once = |first: usize| {
        at(first).zip(at(first + MANY - 1)).is_some_and(|(from_s, to_s)| to_s - from_s < apart_s)
    };
    let is_one = |number: usize| (number.saturating_sub(MANY - 1)..=number).any(are_at_once);
    (0..odd.len())
        .filter(|number| is_around(odd[*number]) || is_one(*number))
        .map(|number| odd[number])
        .collect()
}

/// Packets among many in a row without recorded arrival times: what was in the queue then is not known. The first ones
/// of a row found what is known of it: without them all losses that begin a row would be missing.
fn dark(packets: &[Packet]) -> Vec<bool> {
    let arrived = packets.iter().filter(|packet| packet.fate == Fate::Arrived).count();
    let seen = packets.iter().filter(|packet| packet.seen_s.is_some()).count();
    let most = DARK * (arrived as f64 / seen.max(1) as f64).max(1.0);
    let mut found = vec![false; packets.len()];
    let (mut from, mut unseen) = (0, 0.0);
    for index in 0..=packets.len() {
        let of = packets.get(index);
        if of.is_none_or(|packet| packet.seen_s.is_some()) {
            if unseen > most {
                found[(from + most as usize).min(index)..index].fill(true);
            }
            (from, unseen) = (index + 1, 0.0);
        } else if of.is_some_and(|packet| packet.fate == Fate::Arrived) {
            unseen += 1.0;
        }
    }
    found
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Packets of 1 ms each, of which all are seen but a hundred in a row, and some are lost.
    fn record(is_lost: impl Fn(u32) -> bool) -> Record {
        let packets = (0..10_000).map(|index: u32| {
            let sent_s = f64::from(index) * 1e-3;
            let fate = if is_lost(index) { Fate::Lost } else { Fate::Arrived };
            let is_seen = fate == Fate::Arrived && !(3000..3100).contains(&index);
            Packet { sent_s, bytes: 1500.0, seen_s: is_seen.then_some(sent_s + 0.02), fate }
        });
        Record::new(packets.collect(), true).unwrap()
    }

    fn count(found: &[bool]) -> usize {
        found.iter().filter(|is_silent| **is_silent).count()
    }

    #[test]
    fn what_was_not_seen_is_silent_and_so_is_the_end() {
        let of = record(|index| index % 500 == 7 || index > 9990);
        let found = silent(&of, &[false; 10_000], vec![false; 10_000], 0.05);
        assert!(found[3010..3100].iter().all(|is_silent| *is_silent), "the dark");
        assert!(!found[3005], "what the first ones found is known of the last that was seen");
        assert!(found[9991..].iter().all(|is_silent| *is_silent), "behind what was seen last");
        assert_eq!(count(&found), 99);
    }

    /// A rate that falls to a tenth for a second: the queue overflows, of what leaves then nothing is seen, and a packet
    /// that is dropped there seems to have found a short queue. Losses before and behind count.
    #[test]
    fn a_queue_of_which_nothing_was_seen_may_have_been_full() {
        let packets = (0..4000).map(|index: u32| {
            let sent_s = f64::from(index) * 1e-3;
            let is_dark = (2000..2060).contains(&index);
            let fate = if index % 100 == 7 { Fate::Lost } else { Fate::Arrived };
            let fate = if is_dark { Fate::Unknown } else { fate };
            // What was in front left at the end of the dark alone.
            let seen_s = if is_dark || fate == Fate::Lost { None } else { Some(sent_s + 0.02) };
            Packet { sent_s, bytes: 1500.0, seen_s, fate }
        });
        let of = Record::new(packets.collect(), true).unwrap();
        let limit = QueueLimit { held_bytes: 58_500.0, dropped_bytes: Some(60_000.0), drops: 10 };
        let (none, before) = (vec![false; 4000], vec![1500.0; 4000]);
        let found = doubtful(&of, 0.019, &none, (&before, &limit));
        assert!(found[2040..2060].iter().all(|is_doubtful| *is_doubtful), "the queue may have been full");
        assert_eq!(count(&found[..2039]) + count(&found[2061..]), 0, "elsewhere it is known");
        // A longer queue cannot have been full.
        let limit = QueueLimit { dropped_bytes: Some(120_000.0), ..limit };
        assert_eq!(count(&doubtful(&of, 0.019, &none, (&before, &limit))), 0);
        // Packets that the queue dropped were not in it.
        let dropped: Vec<bool> = (0..4000).map(|index| (2000..2060).contains(&index)).collect();
        let limit = QueueLimit { dropped_bytes: Some(60_000.0), ..limit };
        assert_eq!(count(&doubtful(&of, 0.019, &dropped, (&before, &limit))), 0);
    }

    /// Forty drops at 5 s, and as many losses within 50 ms of them which no estimate calls drops; elsewhere one in a
    /// thousand is lost.
    #[test]
    fn far_more_losses_around_drops_are_those_of_the_queue() {
        let dropped: Vec<bool> =
            (0..10_000).map(|index| (5000..5080).contains(&index) && index % 2 == 0).collect();
        let is_around = |index| (5000..5080).contains(&index);
        let of = record(|index| is_around(index) || index % 1000 == 7);
        let near = dropped.clone();
        let found = silent(&of, &dropped, near.clone(), 0.05);
        assert!(found[4952..5126].iter().all(|is_silent| *is_silent), "around the drops");
        assert!(!found[4900] && !found[5200]);
        // Where no more is lost than elsewhere, all packets that are not near count.
        let of = record(|index| dropped[index as usize] || index % 100 == 7);
        let found = silent(&of, &dropped, near, 0.05);
        assert_eq!(count(&found), 130, "drops, and the dark");
    }

    #[test]
    fn one_odd_drop_is_a_mistake_and_many_are_drops() {
        let of = record(|index| index == 100 || (6000..6100).contains(&index));
        let dropped: Vec<bool> = of.packets().iter().map(|packet| packet.fate == Fate::Lost).collect();
        let found = silent(&of, &dropped, vec![false; 10_000], 0.03);
        assert!(!found[100] && found[6000..6100].iter().all(|is_silent| *is_silent));
    }
}
