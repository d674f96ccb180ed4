//! Rate of a constant link, and losses at its full queue, which depend on one another.

use crate::departures::{busy, departures, found_before, found_by_delay};
use crate::queue::backlogs;
use crate::queue_limit::Drops;
use crate::rate::RateFit;
use crate::record::{Fate, Record};
use crate::served::served;

/// Number of rounds in which both converge.
const ROUNDS: usize = 4;

/// Factor by which another estimate of the backlogs must explain the losses better.
const BETTER: f64 = 1.02;
/// Time difference in seconds below which times count as equal.
const ROUNDING_S: f64 = 1e-9;

/// Constant link that explains a record.
pub(crate) struct Settled {
    pub(crate) rate: RateFit,
    pub(crate) drops: Drops,
    /// Backlog in bytes that each packet found.
    pub(crate) before: Vec<f64>,
    /// Whether the link sent each lost packet, where departure times show it.
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
            let mut drops = Drops::new(record, &before, &served);
            // In an always full queue one packet decides, and errors accumulate; the delay of the preceding packet, or
            // a count, is more exact.
            let left = departures(record, rate.base_s, rate.rate_bps, |index| dropped[index]);
            let counted = found_before(record, &left);
            let by_times = Drops::by_times(record, &counted, &served);
            for found in [found_by_delay(record, &left, rate.rate_bps), counted] {
                let of = Drops::new(record, &found, &served);
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

/// Rate of the link over all of its busy time.
pub(crate) fn busy_rate(record: &Record, least_s: f64, dropped: &[bool]) -> Option<f64> {
    let gaps = busy(record, &departures(record, least_s, f64::INFINITY, |index| dropped[index]), -ROUNDING_S);
    let (time, bits) = gaps.iter().fold((0.0, 0.0), |sum, gap| (sum.0 + gap.lasts_s(), sum.1 + gap.bits));
    (time > 0.0).then(|| bits / time)
}
