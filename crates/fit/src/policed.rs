//! Policer in front of a link: a token bucket that drops packets for which it lacks tokens, and delays none.
//!
//! A bucket of rate r and size b passes the packets that would find at most b in a virtual queue emptied at r, but no
//! packet waits (RFC 2697; virtual scheduling of ITU-T I.371). So losses explained by a queue at some rate, although
//! delays do not grow with it, are those of a policer, whatever the rate of the link behind it.

use crate::bootstrap::{median, quantile};
use crate::queue::delays;
use crate::queue_limit::Drops;
use crate::record::{Fate, Packet, Record};

/// Policer in front of a link: token bucket that drops packets for which it lacks tokens.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Policer {
    /// Token rate in bit/s.
    pub rate_bps: f64,
    /// Lower end of the interval of the token rate, in bit/s.
    pub low_bps: f64,
    /// Upper end of the interval of the token rate, in bit/s.
    pub high_bps: f64,
    /// Size of the bucket in bytes.
    pub burst_bytes: f64,
}

/// Minimum number of runs of losses that show a policer.
const FEWEST_RUNS: usize = 10;
/// Minimum share of all losses that the bucket explains.
const EXPLAINED: f64 = 0.7;
/// Minimum share of lost packets among those that found the bucket empty.
const LOST_BEYOND: f64 = 0.6;
/// Factor on [`EXPLAINED`] and [`LOST_BEYOND`] for a token rate that is not exact yet.
const ROUGHLY: f64 = 0.6;
/// Maximum delay of packets that found the bucket nearly empty, as a share of the time in which it fills; in a queue
/// they would wait for nearly all of this time.
const DELAYED: f64 = 0.3;
/// Share of the bucket emptied by earlier packets beyond which a packet found it nearly empty.
const NEARLY: f64 = 0.8;
/// Numbers of losses apart of two losses that bound a stretch: its passed packets have the token rate, unless the
/// bucket was full in between.
const APART: [usize; 3] = [2, 8, 32];
/// Quantiles of the rates of stretches between losses that are tried as token rate.
const TRIED: [f64; 3] = [0.5, 0.8, 0.95];
/// Factors on tried token rates.
const AROUND: [f64; 4] = [0.98, 1.0, 1.01, 1.03];
/// Steps in which the best rate is refined, as shares of it.
const STEPS: [f64; 5] = [3e-3, 1e-3, 3e-4, 1e-4, 2e-5];
/// Share of the bucket emptied by earlier packets up to which it may have been full, at a token rate that is not exact
/// yet.
const NEARLY_FULL: f64 = 0.3;
/// Number of rounds in which token rate and drops converge.
const ROUNDS: usize = 3;
/// Relative step of candidate token rates around the rate of the data passed between drops.
const FINEST: f64 = 5e-5;
/// Least half width of the interval of the token rate as a share of the rate. If packets are lost behind the policer, the
/// search ends up to 0.8 % below the rate in one record of twenty.
const LEAST_HALF_WIDTH: f64 = 1e-2;

impl Policer {
    /// Policer that a record shows, and for each packet true if the policer dropped it; `None` without evidence of a
    /// policer.
    pub(crate) fn of(record: &Record) -> Option<(Self, Vec<bool>)> {
        let packets = record.packets();
        let lost: Vec<usize> =
            (0..packets.len()).filter(|index| packets[*index].fate == Fate::Lost).collect();
        let runs = 1 + lost.windows(2).filter(|pair| pair[1] > pair[0] + 1).count();
        if lost.is_empty() || runs < FEWEST_RUNS {
            return None;
        }
        let sent: Vec<(f64, f64)> = packets.iter().map(|packet| (packet.sent_s, packet.bytes)).collect();
        // Packets lost behind the policer took tokens: they are known when the bucket is.
        let mut takes_none: Vec<bool> = packets.iter().map(|packet| packet.fate == Fate::Lost).collect();
        let attempt = |rate_bps: f64, takes_none: &[bool]| {
            let takes = delays(&sent, rate_bps, |index| takes_none[index]);
            let found: Vec<f64> = (takes.iter().zip(packets))
                .map(|(takes, packet)| (takes * rate_bps / 8.0 - packet.bytes).max(0.0))
                .collect();
            (Drops::new(record, &found, takes_none, &vec![None; packets.len()]), found)
        };
        let better = |rates: &mut dyn Iterator<Item = f64>, takes_none: &[bool], best: (f64, f64)| {
            rates
                .map(|rate| (attempt(rate, takes_none).0.gain, rate))
                .fold(best, |best, of| if of.0 > best.0 { of } else { best })
        };
        let mut best = better(&mut candidates(packets, &lost).into_iter(), &takes_none, (0.0, 0.0));
        let (drops, found) = attempt(best.1, &takes_none);
        let burst_bytes = drops.limit.dropped_bytes.filter(|_| best.0 > 0.0)?;
        if !explains(record, &drops, &found, (best.1, burst_bytes), ROUGHLY) {
            return None;
        }
        let around =
            |middle: f64, step: f64| (-8..=8).map(move |number| middle * (1.0 + f64::from(number) * step));
        for _ in 0..ROUNDS {
            for step in STEPS {
                best = better(&mut around(best.1, step), &takes_none, best);
            }
            // A slightly wrong rate may be the best one nearby, as errors add up until the bucket is full.
            let (drops, found) = attempt(best.1, &takes_none);
            let full_bytes = NEARLY_FULL * drops.limit.held_bytes;
            takes_none = drops.dropped;
            let between = between_drops(packets, &takes_none, &found, full_bytes);
            best = (attempt(best.1, &takes_none).0.gain, best.1);
            best = better(&mut between.into_iter().flat_map(|rate| around(rate, FINEST)), &takes_none, best);
        }
        let rate_bps = best.1;
        let (drops, found) = attempt(rate_bps, &takes_none);
        let burst_bytes = drops.limit.dropped_bytes?;
        explains(record, &drops, &found, (rate_bps, burst_bytes), 1.0).then(|| {
            // The bucket size is the largest backlog of a passed packet plus this packet.
            let half = LEAST_HALF_WIDTH.max(2.0 * record.full_bytes() / (rate_bps / 8.0 * record.lasts_s()));
            let burst_bytes = drops.limit.held_bytes + record.full_bytes();
            let (low_bps, high_bps) = (rate_bps * (1.0 - half), rate_bps * (1.0 + half));
            (Self { rate_bps, low_bps, high_bps, burst_bytes }, drops.dropped)
        })
    }
}

/// True if a bucket explains most losses, most packets that found it empty were lost, and it did not delay packets.
/// `part` scales the required shares.
fn explains(
    record: &Record,
    drops: &Drops,
    found: &[f64],
    (rate_bps, burst_bytes): (f64, f64),
    part: f64,
) -> bool {
    let packets = record.packets();
    let (mut lost, mut explained, mut beyond, mut lost_beyond) = (0.0, 0.0, 0.0, 0.0);
    for ((packet, found), dropped) in packets.iter().zip(found).zip(&drops.dropped) {
        let (is_lost, is_beyond) = (packet.fate == Fate::Lost, *found >= burst_bytes);
        lost += f64::from(u8::from(is_lost));
        explained += f64::from(u8::from(*dropped));
        beyond += f64::from(u8::from(is_beyond));
        lost_beyond += f64::from(u8::from(is_beyond && is_lost));
    }
    if explained < part * EXPLAINED * lost || lost_beyond < part * LOST_BEYOND * beyond {
        return false;
    }
    let delay = |packet: &Packet| Some(packet.seen_s? - packet.sent_s);
    let least_s = packets.iter().filter_map(delay).fold(f64::INFINITY, f64::min);
    let mut late: Vec<f64> = (packets.iter().zip(found))
        .filter(|(_, found)| **found >= NEARLY * burst_bytes)
        .filter_map(|(packet, _)| Some(delay(packet)? - least_s))
        .collect();
    !late.is_empty() && median(&mut late) < DELAYED * 8.0 * burst_bytes / rate_bps
}

/// Rate in bit/s of the data passed between the first and the last drop of each period in which the bucket was never
/// full: it was empty at both. `None` without such drops.
fn between_drops(packets: &[Packet], dropped: &[bool], found: &[f64], full_bytes: f64) -> Option<f64> {
    let (mut bits, mut lasts_s) = (0.0, 0.0);
    // Bits since the first drop of the period, time of this drop, and time and bits of the last drop.
    let (mut since, mut first_s, mut last) = (0.0, f64::NAN, (f64::NAN, 0.0));
    for (index, packet) in packets.iter().enumerate() {
        if found[index] <= full_bytes {
            (bits, lasts_s) =
                if last.0 > first_s { (bits + last.1, lasts_s + last.0 - first_s) } else { (bits, lasts_s) };
            (since, first_s, last) = (0.0, f64::NAN, (f64::NAN, 0.0));
        }
        if dropped[index] {
            if first_s.is_nan() {
                (since, first_s) = (0.0, packet.sent_s);
            }
            last = (packet.sent_s, since);
        } else {
            since += 8.0 * packet.bytes;
        }
    }
    if last.0 > first_s {
        (bits, lasts_s) = (bits + last.1, lasts_s + last.0 - first_s);
    }
    (lasts_s > 0.0 && bits > 0.0).then(|| bits / lasts_s)
}

/// Candidate token rates in bit/s: rates of the data passed between losses. Between two losses at an empty bucket this
/// is the token rate if the bucket was not full in between, and less if it was.
fn candidates(packets: &[Packet], lost: &[usize]) -> Vec<f64> {
    let mut passed = vec![0.0; packets.len() + 1];
    for (index, packet) in packets.iter().enumerate() {
        let bits = if packet.fate == Fate::Lost { 0.0 } else { 8.0 * packet.bytes };
        passed[index + 1] = passed[index] + bits;
    }
    let mut found = Vec::new();
    for apart in APART {
        let mut rates: Vec<f64> = (lost.windows(apart + 1))
            .filter_map(|of| {
                let (from, to) = (of[0], of[apart]);
                let lasts_s = packets[to].sent_s - packets[from].sent_s;
                let bits = passed[to] - passed[from];
                (lasts_s > 0.0 && bits > 0.0).then(|| bits / lasts_s)
            })
            .collect();
        rates.sort_by(f64::total_cmp);
        if !rates.is_empty() {
            found.extend(TRIED.map(|share| quantile(&rates, share)));
        }
    }
    let around = |rate: &f64| AROUND.map(|factor| rate * factor);
    found.iter().flat_map(around).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crossfade_core::testing::long_or;
    use crossfade_core::{RunSeed, Stream};
    use rand::RngExt;

    /// Record of trains at random times over a link of 100 Mbit/s and 40 ms, behind a bucket of 12 Mbit/s and 30
    /// packets; if `waits`, packets wait in a queue at 12 Mbit/s instead. A share `loss` of the passed packets is lost
    /// at random.
    fn record(waits: bool, loss: f64, random: &mut Stream) -> Record {
        let (mut at, mut free_at, mut full_at, mut packets) = (0.0_f64, 0.0_f64, 0.0_f64, Vec::new());
        while at < 30.0 {
            for _ in 0..random.random_range(1..=40) {
                let conforms_at = full_at.max(at) + 12e3 / 12e6;
                let passes = conforms_at - at <= 30.0 * 12e3 / 12e6 + 1e-12;
                if passes {
                    full_at = conforms_at;
                    free_at = free_at.max(at) + 12e3 / 100e6;
                }
                let left = if waits { full_at } else { free_at };
                let arrives = passes && !(loss > 0.0 && random.random_bool(loss));
                let fate = if arrives { Fate::Arrived } else { Fate::Lost };
                packets.push(Packet {
                    sent_s: at,
                    bytes: 1500.0,
                    seen_s: arrives.then_some(left + 40e-3),
                    fate,
                });
                at += 1e-4 * random.random::<f64>();
            }
            at += 30e-3 * random.random::<f64>();
        }
        Record::new(packets, true).unwrap()
    }

    fn stream(seed: u64) -> Stream {
        RunSeed { seed, run: 0 }.stream("policed")
    }

    #[test]
    fn a_policer_is_found_by_what_it_drops() {
        for seed in 0..long_or(5, 1) {
            for loss in [0.0, 0.005] {
                let record = record(false, loss, &mut stream(seed));
                let (found, dropped) = Policer::of(&record).unwrap();
                let most = if loss == 0.0 { 2e-3 } else { 1e-2 };
                assert!((found.rate_bps / 12e6 - 1.0).abs() < most, "{seed}: {found:?}");
                assert!((found.low_bps..found.high_bps).contains(&12e6), "{seed}: {found:?}");
                assert!((found.burst_bytes / 1500.0 - 30.0).abs() < 1.5, "{seed}: {found:?}");
                assert!(dropped.iter().filter(|is_dropped| **is_dropped).count() > 1000);
            }
        }
    }

    #[test]
    fn a_full_queue_and_random_losses_are_no_policer() {
        for seed in 0..long_or(5, 2) {
            assert_eq!(Policer::of(&record(true, 0.0, &mut stream(seed))), None, "a queue");
            let mut random = stream(100 + seed);
            let packets = (0..20_000).map(|index| {
                let sent_s = f64::from(index / 10) * 12e-3;
                let is_lost = random.random_bool(0.05);
                let seen_s = (!is_lost).then_some(sent_s + 40e-3);
                let fate = if is_lost { Fate::Lost } else { Fate::Arrived };
                Packet { sent_s, bytes: 1500.0, seen_s, fate }
            });
            assert_eq!(Policer::of(&Record::new(packets.collect(), true).unwrap()), None, "at random");
        }
    }
}
