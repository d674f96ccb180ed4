//! Joint estimate of the rate of a constant link and of the losses at its full queue, which depend on one another.

use crate::departures::{busy, departures, found_before, found_by_delay};
use crate::queue::backlogs;
use crate::queue_limit::Drops;
use crate::rate::RateFit;
use crate::record::{Fate, Record};
use crate::served::served;

/// Maximum number of rounds in which rate and drops converge.
const ROUNDS: usize = 4;

/// Factor by which other backlogs must explain the losses better to replace the first ones.
const BETTER: f64 = 1.02;
/// Time difference in seconds below which times count as equal.
const ROUNDING_S: f64 = 1e-9;

/// Constant link that explains a record.
pub(crate) struct Settled {
    pub(crate) rate: RateFit,
    pub(crate) drops: Drops,
    /// Backlog in bytes that each packet found.
    pub(crate) before: Vec<f64>,
    /// For each packet, `Some(true)` if it was lost after the link sent it, `Some(false)` if a queue dropped it, `None`
    /// if it arrived or departure times do not show it.
    pub(crate) served: Vec<Option<bool>>,
}

impl Settled {
    pub(crate) fn new(record: &Record, least_s: f64) -> Self {
        // Initially all losses not known to be sent by the link count as queue drops, which take no time of it.
        let served = served(record, least_s);
        let mut dropped: Vec<bool> = record
            .packets()
            .iter()
            .zip(&served)
            .map(|(packet, served)| packet.fate == Fate::Lost && *served != Some(true))
            .collect();
        let (mut rounds, mut near) = (0, None);
        loop {
            let guess = busy_rate(record, least_s, &dropped);
            let rate = RateFit::new(record, guess, near, &dropped, false);
            near = (!rate.is_flat()).then_some(rate.rate_bps);
            let mut before = backlogs(record, rate.base_s, &[(0.0, rate.rate_bps)], |index| dropped[index]);
            let mut drops = Drops::new(record, &before, &dropped, &served);
            // In an always full queue one packet decides, and errors accumulate: backlogs by the delay of the preceding
            // packet, or by counting packets, are more exact.
            let left = departures(record, rate.base_s, rate.rate_bps, |index| dropped[index]);
            let counted = found_before(record, &left);
            let by_times = Drops::by_times(record, &counted, &dropped, &served);
            for found in [found_by_delay(record, &left, rate.rate_bps), counted] {
                let of = Drops::new(record, &found, &dropped, &served);
                if of.gain > BETTER * drops.gain {
                    (drops, before) = (of, found);
                }
            }
            if let Some(of) = by_times {
                (drops, before) = (of, found_before(record, &left));
            }
            rounds += 1;
            if drops.dropped == dropped || rounds > ROUNDS {
                let rate = RateFit::new(record, guess, near, &dropped, true);
                return Self { rate, drops, before, served };
            }
            dropped.clone_from(&drops.dropped);
        }
    }
}

/// Mean rate of the link over its busy time, in bit/s; `None` if it was never busy.
pub(crate) fn busy_rate(record: &Record, least_s: f64, dropped: &[bool]) -> Option<f64> {
    let gaps = busy(record, &departures(record, least_s, f64::INFINITY, |index| dropped[index]), -ROUNDING_S);
    let (time, bits) = gaps.iter().fold((0.0, 0.0), |sum, gap| (sum.0 + gap.lasts_s(), sum.1 + gap.bits));
    (time > 0.0).then(|| bits / time)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::record::Packet;
    use crossfade_core::RunSeed;
    use rand::RngExt;
    use std::collections::VecDeque;

    /// Record of packets sent at `share` times the rate of a link, into a queue of 20 packets before a channel with the
    /// loss probability `loss`, and the number of packets lost by the channel.
    fn overloaded(share: f64, loss: f64, seed: u64) -> (Record, usize) {
        let mut random = RunSeed { seed, run: 0 }.stream("settled");
        let (mut free_at, mut waiting, mut of_channel) = (0.0_f64, VecDeque::new(), 0);
        let packets = (0..20_000).map(|index| {
            let sent_s = f64::from(index) * 1e-3 / share;
            while waiting.front().is_some_and(|at| *at <= sent_s) {
                waiting.pop_front();
            }
            let is_dropped = waiting.len() > 20;
            let mut is_lost = is_dropped;
            if !is_dropped {
                free_at = free_at.max(sent_s) + 1e-3;
                waiting.push_back(free_at);
                is_lost = random.random_bool(loss);
                of_channel += usize::from(is_lost);
            }
            let fate = if is_lost { Fate::Lost } else { Fate::Arrived };
            Packet { sent_s, bytes: 1500.0, seen_s: (!is_lost).then_some(free_at + 30e-3), fate }
        });
        let record = Record::new(packets.collect(), false).unwrap();
        (record, of_channel)
    }

    /// Losses of the channel are told from drops of a queue that is always full, at any sending rate above the link's:
    /// their number is right within 5 %.
    #[test]
    fn losses_of_the_channel_are_told_from_drops_of_a_full_queue() {
        for share in [1.05, 1.2, 1.5, 1.7, 2.0, 3.3] {
            for (seed, loss) in [0.005, 0.02, 0.05].into_iter().enumerate() {
                let (record, of_channel) = overloaded(share, loss, seed as u64);
                let settled = Settled::new(&record, 31e-3);
                let found = (record.packets().iter().zip(&settled.drops.dropped))
                    .filter(|(packet, dropped)| packet.fate == Fate::Lost && !**dropped)
                    .count();
                assert!(
                    found.abs_diff(of_channel) * 20 <= of_channel,
                    "{share}, {loss}: {found} of {of_channel}"
                );
            }
        }
    }
}
