//! Packets with fates that say nothing of the channel: near a full queue, around its drops, and where the record does
//! not show the content of the queue.

use crate::departures::found_at_most;
use crate::queue_limit::{QueueLimit, likelihood};
use crate::record::{Fate, Packet, Record};

/// Minimum number of packets far from drops in time, for these to represent all packets.
const FEWEST_APART: usize = 2000;
/// Minimum share of packets far from drops in time, for these to represent all packets.
const APART: f64 = 0.2;
/// Minimum number of drops in a burst far from the queue limit, for them to be drops, not errors.
const MANY: usize = 6;
/// Number of unobserved packets in a row, as a multiple of the mean number between two observed ones, beyond which the
/// backlog they found is unknown.
const DARK: f64 = 10.0;
/// Difference in packets between the backlog a packet found and the largest it may have found, up to which its backlog
/// is known.
const DOUBT_PACKETS: f64 = 2.0;
/// Minimum gain in log-likelihood by a separate share of losses around drops, for each loss of a burst: some losses of
/// a burst may pass for drops.
const FAR_MORE: f64 = 25.0;

/// Marks packets without information on random losses: those `near` to a full queue, those sent while departures were
/// not observed, and, if far more was lost around drops than elsewhere, those sent within `apart_s` seconds of a drop.
/// Backlogs are known least where a queue overflows at a changing rate.
pub(crate) fn silent(record: &Record, dropped: &[bool], mut near: Vec<bool>, apart_s: f64) -> Vec<bool> {
    let packets = record.packets();
    // The backlog found by packets sent after the last observed one is unknown.
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

/// Marks packets that may have found a full queue or a much shorter one, as departures in front of them were not
/// observed: where a queue overflows at a falling rate, nothing is observed for a while, and the content of the queue
/// passes for gone.
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

/// Indices of drops by departure times that found far less than the limit and are real: those around drops near the
/// limit, and many at once. A single one elsewhere is an error.
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

/// Marks packets among many in a row without observed arrival times: the content of the queue is then unknown. The
/// first packets of a row stay unmarked, since the backlog they found is known; without them all losses that begin a
/// row would be missing.
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

    /// Record of 10,000 packets sent every 1 ms, of which some are lost, and a hundred in a row are not observed.
    fn record(is_lost: impl Fn(u32) -> bool) -> Record {
        let packets = (0..10_000).map(|index: u32| {
            let sent_s = f64::from(index) * 1e-3;
            let fate = if is_lost(index) { Fate::Lost } else { Fate::Arrived };
            let is_seen = fate == Fate::Arrived && !(3000..3100).contains(&index);
            Packet { sent_s, bytes: 1500.0, seen_s: is_seen.then_some(sent_s + 0.02), fate }
        });
        Record::new(packets.collect(), true).unwrap()
    }

    /// Number of marked packets.
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

    /// Packets behind unobserved ones are doubtful if the queue may have been full: a packet dropped at a falling rate
    /// seems to have found a short queue. Packets elsewhere count, and all count if the limit is larger or the
    /// unobserved packets were drops.
    #[test]
    fn a_queue_of_which_nothing_was_seen_may_have_been_full() {
        let packets = (0..4000).map(|index: u32| {
            let sent_s = f64::from(index) * 1e-3;
            let is_dark = (2000..2060).contains(&index);
            let fate = if index % 100 == 7 { Fate::Lost } else { Fate::Arrived };
            let fate = if is_dark { Fate::Unknown } else { fate };
            // Packets in front of these are known to have left only at the end of the unobserved time.
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

    /// Packets around drops are marked if far more was lost there than elsewhere: forty drops at 5 s and as many losses
    /// among them that no estimate calls drops, against one loss in a thousand.
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
        // If no more is lost around drops than elsewhere, all packets that are not near count.
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
