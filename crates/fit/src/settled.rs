//! The rate of a constant link and the losses at its full queue, which depend on one another.

use crate::departures::{busy, departures, found_before, found_by_delay};
use crate::queue::backlogs;
use crate::queue_limit::Drops;
use crate::rate::RateFit;
use crate::record::{Fate, Record};
use crate::served::served;

/// So many rounds settle both.
const ROUNDS: usize = 4;

/// Another way to tell what packets found must explain the losses so much better.
const BETTER: f64 = 1.02;
/// Times that differ by less are one.
const ROUNDING_S: f64 = 1e-9;

/// A constant link that explains a record.
pub(crate) struct Settled {
    pub(crate) rate: RateFit,
    pub(crate) drops: Drops,
    /// What each packet found in the queue, in bytes.
    pub(crate) before: Vec<f64>,
    /// Which lost packets the link sent, as far as the times of departures tell.
    pub(crate) served: Vec<Option<bool>>,
}

impl Settled {
    pub(crate) fn new(record: &Record, least_s: f64) -> Self {
        // At first all losses that the link is not known to have sent count as drops at the queue, which take nothing of it.
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
            // In a queue that is always full a packet more or less decides, and errors add up: what the packet in front of one took
            // tells it better, and so does a count.
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

/// The rate of the link in all the time in which it was busy.
pub(crate) fn busy_rate(record: &Record, least_s: f64, dropped: &[bool]) -> Option<f64> {
    let gaps = busy(record, &departures(record, least_s, f64::INFINITY, |index| dropped[index]), -ROUNDING_S);
    let (time, bits) = gaps.iter().fold((0.0, 0.0), |sum, gap| (sum.0 + gap.lasts_s(), sum.1 + gap.bits));
    (time > 0.0).then(|| bits / time)
}
