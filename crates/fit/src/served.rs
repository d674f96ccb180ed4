//! Distinction of losses: a full queue drops packets before the link, a channel loses them behind it.
//!
//! While the link is busy, the time between two departures is the transmission time of all packets sent in between. If
//! it equals that of the arrived packets alone, the lost ones were dropped by a full queue; if it is longer by their
//! transmission times, the channel lost them. This needs neither an exact backlog nor an exact base delay, so it also
//! holds for an always full queue, as with UDP above the link's rate, where all packets find nearly equal backlogs.

use crate::bootstrap::{median, spread};
use crate::departures::seen_departures;
use crate::record::{Fate, Record};

/// Number of lossless gaps on either side of a gap; their median rate is the rate around it.
const AROUND: usize = 15;
/// Minimum number of lossless gaps in a record to classify its losses.
const FEWEST: usize = 20;
/// Minimum number of lossless gaps on one side of a gap, for the rate of this side alone to have to agree, since the
/// rate may step.
const FEWEST_BESIDE: usize = 5;
/// Ratio of a gap to the usual one beyond which it may be an outage, in which drops look like packets sent.
const OUTAGE: f64 = 8.0;
/// Maximum deviation of gaps, in transmission times of a lost packet, with which a gap shows the number of packets sent
/// in it.
const PRECISE: f64 = 0.15;

/// Gap between two departures in which the link was busy.
struct Between {
    /// Duration of the gap in seconds.
    lasts_s: f64,
    /// Bits of the packets that arrived.
    bits: f64,
    /// Indices of the lost packets, in sending order.
    lost: Vec<usize>,
    /// Longest time in seconds between two sending times in the gap, if only lost packets were in front of the link
    /// when the gap began; else `None`. The link was busy if it is no longer than a transmission.
    spacing_s: Option<f64>,
}

impl Between {
    /// Gap without packets.
    const NONE: Self = Self { lasts_s: 0.0, bits: 0.0, lost: Vec::new(), spacing_s: None };
}

/// For each packet, `Some(true)` if it was lost after the link sent it, `Some(false)` if a queue dropped it, `None` if
/// it arrived or departure times do not show it. `least_s` is the shortest delay in seconds, including a transmission.
pub(crate) fn served(record: &Record, least_s: f64) -> Vec<Option<bool>> {
    let mut found = vec![None; record.packets().len()];
    let gaps = gaps(record, least_s);
    let free: Vec<(usize, f64)> = gaps
        .iter()
        .enumerate()
        .filter(|(_, gap)| gap.lost.is_empty())
        .map(|(index, gap)| (index, gap.bits / gap.lasts_s))
        .collect();
    if free.len() < FEWEST {
        return found;
    }
    let full = 8.0 * record.full_bytes();
    for (index, gap) in gaps.iter().enumerate().filter(|(_, gap)| !gap.lost.is_empty()) {
        let at = free.partition_point(|(other, _)| *other < index);
        let near = &free[at.saturating_sub(AROUND)..(at + AROUND).min(free.len())];
        let rate = rate_of(near);
        let rest = |other: usize| ((gaps[other].lasts_s * rate - gaps[other].bits) / full).abs();
        let deviation = spread(near.iter().map(|of| rest(of.0)));
        let bits: f64 = gap.lost.iter().map(|lost| 8.0 * record.packets()[*lost].bytes).sum();
        let each = bits / gap.lost.len() as f64;
        if deviation * full > PRECISE * each {
            continue;
        }
        // Number of lost packets that a link of this rate sent in the gap; `None` if the gap has time for more than all
        // of them, as after a change of the rate or in an outage.
        let sent_at = |rate: f64| {
            let sent = (gap.lasts_s * rate - gap.bits) / each;
            (sent <= gap.lost.len() as f64 + 0.5).then(|| sent.round().max(0.0) as usize)
        };
        let Some(sent) = sent_at(rate) else { continue };
        let beside = [&free[at.saturating_sub(AROUND)..at], &free[at..(at + AROUND).min(free.len())]];
        let mut sides = beside.iter().filter(|side| side.len() >= FEWEST_BESIDE);
        if !sides.all(|side| sent_at(rate_of(side)) == Some(sent)) {
            continue;
        }
        let usual = median(&mut near.iter().map(|of| gaps[of.0].lasts_s).collect::<Vec<f64>>());
        let is_doubtful = match gap.spacing_s {
            // No outage: in one, packets that arrived later would have stood in the queue.
            Some(spacing_s) => spacing_s > each / rate,
            None => sent > 0 && gap.lasts_s > OUTAGE * usual,
        };
        if is_doubtful {
            continue;
        }
        // Of several lost packets, the later ones found the larger backlog: the first ones were sent.
        for (number, lost) in gap.lost.iter().enumerate() {
            found[*lost] = Some(number < sent);
        }
    }
    found
}

/// Median rate in bit/s of gaps, from pairs of index and rate.
fn rate_of(gaps: &[(usize, f64)]) -> f64 {
    median(&mut gaps.iter().map(|of| of.1).collect::<Vec<f64>>())
}

/// Gaps between observed departures in which the link was never idle: the first packet in each, arrived or lost, was
/// sent before the departure at the beginning of the gap.
fn gaps(record: &Record, least_s: f64) -> Vec<Between> {
    let packets = record.packets();
    let left = seen_departures(record, least_s);
    let mut found = Vec::new();
    let mut last: Option<f64> = None;
    let mut gap = Between::NONE;
    // Since the last departure: sending time of the first packet that arrived, if all fates are known, sending times of
    // the first and the last packet of any fate, and the longest time between two of them.
    let (mut first, mut is_known) = (f64::INFINITY, true);
    let (mut any, mut latest_s, mut spacing_s) = (f64::INFINITY, f64::NAN, 0.0_f64);
    for (index, packet) in packets.iter().enumerate() {
        any = any.min(packet.sent_s);
        spacing_s = spacing_s.max(packet.sent_s - latest_s);
        latest_s = packet.sent_s;
        match packet.fate {
            Fate::Lost => gap.lost.push(index),
            Fate::Unknown => is_known = false,
            Fate::Arrived => {
                gap.bits += 8.0 * packet.bytes;
                first = first.min(packet.sent_s);
            }
        }
        let at = left[index];
        if at.is_nan() || last.is_some_and(|before| at <= before) {
            continue;
        }
        let gap = std::mem::replace(&mut gap, Between::NONE);
        if let Some(before) = last
            && is_known
            && any + record.tick_s() <= before
        {
            let spacing_s = (first + record.tick_s() > before).then_some(spacing_s);
            found.push(Between { lasts_s: at - before, spacing_s, ..gap });
        }
        (last, first, is_known) = (Some(at), f64::INFINITY, true);
        (any, latest_s, spacing_s) = (f64::INFINITY, f64::NAN, 0.0);
    }
    found
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::record::Packet;
    use crossfade_core::RunSeed;
    use rand::RngExt;

    /// For UDP at 1.2 times the rate of a link with a queue of 20 packets, a channel that loses one packet in a
    /// hundred, and jitter of up to `jitter` transmission times: for each packet, true if the queue dropped it, and the
    /// record.
    fn overloaded(jitter: f64, seed: u64) -> (Vec<bool>, Record) {
        let mut random = RunSeed { seed, run: 0 }.stream("served");
        let (mut free_at, mut waiting) = (0.0_f64, std::collections::VecDeque::new());
        let mut dropped = Vec::new();
        let packets = (0..5000).map(|index| {
            let sent_s = f64::from(index) * 1e-3 / 1.2;
            while waiting.front().is_some_and(|at| *at <= sent_s) {
                waiting.pop_front();
            }
            dropped.push(waiting.len() > 20);
            let mut is_lost = dropped[dropped.len() - 1];
            if !is_lost {
                free_at = free_at.max(sent_s) + 1e-3;
                waiting.push_back(free_at);
                is_lost = random.random_bool(0.01);
            }
            let late: f64 = random.random();
            let seen_s = (!is_lost).then_some(free_at + 30e-3 + late * jitter * 1e-3);
            let fate = if is_lost { Fate::Lost } else { Fate::Arrived };
            Packet { sent_s, bytes: 1500.0, seen_s, fate }
        });
        let record = Record::new(packets.collect(), false).unwrap();
        (dropped, record)
    }

    #[test]
    fn drops_take_no_time_of_the_link() {
        let (dropped, record) = overloaded(0.0, 1);
        let told = served(&record, 31e-3);
        let lost: Vec<usize> = (0..5000).filter(|at| record.packets()[*at].fate == Fate::Lost).collect();
        assert!(lost.len() > 700, "{}", lost.len());
        let known: Vec<usize> = lost.into_iter().filter(|at| told[*at].is_some()).collect();
        assert!(known.len() > 690, "{}", known.len());
        // Of a drop and a loss of the channel between two arrivals, the numbers are known and the order is not.
        for between in known.chunk_by(|first, second| first + 1 == *second) {
            let sent = between.iter().filter(|at| told[**at] == Some(true)).count();
            assert_eq!(sent, between.iter().filter(|at| !dropped[**at]).count(), "{between:?}");
        }
    }

    /// Losses of the channel in bursts of five on average are told from drops, although they often empty the queue of
    /// four packets: their number is right within 5 %.
    #[test]
    fn bursts_that_are_longer_than_the_queue_are_told() {
        let mut random = RunSeed { seed: 4, run: 0 }.stream("served");
        let (mut free_at, mut waiting) = (0.0_f64, std::collections::VecDeque::new());
        let (mut is_bad, mut lost, mut packets) = (false, Vec::new(), Vec::new());
        for index in 0..20_000 {
            let sent_s = f64::from(index) * 1e-3 / 1.2;
            while waiting.front().is_some_and(|at| *at <= sent_s) {
                waiting.pop_front();
            }
            let is_dropped = waiting.len() > 4;
            if !is_dropped {
                free_at = free_at.max(sent_s) + 1e-3;
                waiting.push_back(free_at);
                is_bad = random.random_bool(if is_bad { 0.8 } else { 0.002 });
            }
            lost.push(is_bad && !is_dropped);
            let fate = if is_bad || is_dropped { Fate::Lost } else { Fate::Arrived };
            let seen_s = (fate == Fate::Arrived).then_some(free_at + 30e-3);
            packets.push(Packet { sent_s, bytes: 1500.0, seen_s, fate });
        }
        let told = served(&Record::new(packets, false).unwrap(), 31e-3);
        let of_channel = lost.iter().filter(|lost| **lost).count();
        let found = told.iter().filter(|told| **told == Some(true)).count();
        assert!(of_channel > 100, "{of_channel}");
        assert!(found.abs_diff(of_channel) * 20 <= of_channel, "{found} of {of_channel}");
    }

    #[test]
    fn jitter_of_a_packet_tells_nothing() {
        let (_, record) = overloaded(0.1, 2);
        assert!(served(&record, 31e-3).iter().flatten().count() > 690);
        let (_, record) = overloaded(1.5, 3);
        let told = served(&record, 31e-3).iter().flatten().count();
        assert!(told < 30, "{told}");
    }
}
