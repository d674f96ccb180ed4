//! A link from what was carried in stretches of time, such as iperf3 and `ss` tell: no packets, hence less.
//!
//! Of TCP a stretch tells the rate of the link if the round trip at its end was longer than the shortest one: a queue stood. Of UDP it
//! does if far more was lost than a channel loses: more was offered than the link carries. Otherwise the rate is a lower bound.

use crate::bootstrap::{interval, median, quantile, share, weights};
use crate::draws::{BEYOND, DRAWS, Draw, USUAL};
use crate::model::{Parameter, Verdict};
use crossfade_core::{Carried, RunSeed, Stream};
use rand::RngExt;
use thiserror::Error;

/// Stretches of a flow, and what holds for all of them.
#[derive(Clone, Debug, PartialEq)]
pub struct Stretches {
    /// The stretches.
    pub carried: Vec<Carried>,
    /// UDP; otherwise TCP.
    pub is_udp: bool,
    /// Bytes of a full packet on the wire.
    pub packet_bytes: f64,
    /// The share of packets that were lost in all, where stretches do not tell.
    pub lost_share: Option<f64>,
    /// The shortest round trip, where it was told.
    pub least_rtt_s: Option<f64>,
}

/// Why stretches cannot be fitted.
#[derive(Clone, Copy, Debug, PartialEq, Error)]
#[non_exhaustive]
pub enum CoarseError {
    /// Too few of them.
    #[error("{0} intervals in which something was carried: a fit needs at least {FEWEST}")]
    TooFew(usize),
}

/// A link that explains stretches.
#[derive(Clone, Debug)]
pub struct CoarseFit {
    /// The rate in bit/s.
    pub rate: Parameter,
    /// The round trip without queue, in s.
    pub delay: Parameter,
    /// The limit of the queue in bytes.
    pub queue: Parameter,
    /// The share of packets lost at random.
    pub loss: Parameter,
    /// Packets lost at random, and those lost while a queue stood.
    pub lost: (f64, f64),
    /// The share of time in which the rate of the link was seen.
    pub busy_share: f64,
    /// From the first to the last.
    pub lasts_s: f64,
    /// What was carried in all that time, in bit/s.
    pub carried_bps: f64,
    /// Packets in all.
    pub packets: f64,
    /// Values that explain the stretches together.
    pub draws: Vec<Draw>,
}

/// Fewer stretches are not fitted.
const FEWEST: usize = 3;
/// A queue stood if the round trip was longer by this, in s, and by this share.
const STOOD: (f64, f64) = (1e-3, 0.1);
/// More was offered than carried if at least this share was lost.
const OVERLOADED: f64 = 0.05;
/// The rate was seen if a queue stood in so many stretches.
const FEWEST_SEEN: usize = 3;
const LEVEL: f64 = 0.9;
/// Between these a loss lies of which nothing is known.
const LEAST_LOSS: f64 = 1e-4;
const MOST_LOSS: f64 = 0.02;

impl CoarseFit {
    /// Fits a link; `seed` is that of the bootstrap.
    ///
    /// # Errors
    /// Too few stretches.
    pub fn new(of: &Stretches, seed: u64) -> Result<Self, CoarseError> {
        let carried: Vec<Carried> =
            of.carried.iter().copied().filter(|of| of.bytes > 0.0 && of.to_s > of.from_s).collect();
        if carried.len() < FEWEST {
            return Err(CoarseError::TooFew(carried.len()));
        }
        let mut random = RunSeed { seed, run: 0 }.stream("fit.coarse");
        let rtts = || carried.iter().filter_map(|of| of.rtt_s);
        let least = of.least_rtt_s.or_else(|| rtts().reduce(f64::min));
        let in_all = of.lost_share.unwrap_or(0.0);
        let lost_in = |at: &Carried| at.lost.map_or(in_all, |lost| lost / at.packets.max(1.0)).min(1.0);
        let arrived = |at: &Carried| {
            let share = if of.is_udp { 1.0 - lost_in(at) } else { 1.0 };
            8.0 * at.bytes * share / (at.to_s - at.from_s)
        };
        let stood = |at: &Carried| {
            if of.is_udp {
                return lost_in(at) >= OVERLOADED;
            }
            let beyond = at.rtt_s.zip(least).map(|(rtt, least)| rtt - least > STOOD.0.max(STOOD.1 * least));
            beyond == Some(true) && !at.is_limited
        };
        let (seen, free): (Vec<Carried>, Vec<Carried>) = carried.iter().partition(|at| stood(at));
        let mut all: Vec<f64> = carried.iter().map(arrived).collect();
        all.sort_by(f64::total_cmp);
        let most = quantile(&all, 0.95);
        let of_seen: Vec<f64> = seen.iter().map(arrived).collect();
        let is_seen = of_seen.len() >= FEWEST_SEEN;
        let value = if is_seen { median(&mut of_seen.clone()) } else { most };
        let rates: Vec<f64> =
            (0..DRAWS)
                .map(|_| {
                    if is_seen { resampled(&of_seen, &mut random) } else { most * power(BEYOND, &mut random) }
                })
                .collect();

        // What was lost while no queue stood was lost at random.
        let sums = |of: &[Carried]| {
            of.iter().fold((0.0, 0.0), |sum, at| (sum.0 + lost_in(at) * at.packets, sum.1 + at.packets))
        };
        let (random_losses, congestive) = (sums(&free), sums(&seen));
        let tells_losses = of.lost_share.is_some() || carried.iter().any(|at| at.lost.is_some());
        let loss = if random_losses.1 > 0.0 { random_losses.0 / random_losses.1 } else { 0.0 };

        // The queue held at least what the longest round trip tells.
        let delay_s = least.unwrap_or(0.0);
        let held = rtts().fold(delay_s, f64::max) - delay_s;
        let low = (held * value / 8.0).max(of.packet_bytes);
        let draws: Vec<Draw> = rates
            .iter()
            .map(|rate_bps| {
                let under_way = rate_bps / 8.0 * delay_s;
                let (from, to) = (low.max(USUAL[0] * under_way), (BEYOND * low).max(USUAL[1] * under_way));
                Draw {
                    rate_bps: *rate_bps,
                    delay_s,
                    queue_bytes: from * power(to / from, &mut random),
                    loss: if tells_losses {
                        share(random_losses.0, random_losses.1.max(1.0), &mut random)
                    } else {
                        unknown_loss(&mut random)
                    },
                    mean_burst: None,
                }
            })
            .collect();
        let ends =
            |values: &dyn Fn(&Draw) -> f64| interval(&draws.iter().map(values).collect::<Vec<_>>(), LEVEL);
        let parameter = |value: f64, (low, high): (f64, f64), verdict| Parameter {
            value,
            low: low.min(value),
            high: high.max(value),
            verdict,
        };
        let verdict = |is_there| if is_there { Verdict::Identified } else { Verdict::Bounded };
        let time = |of: &[Carried]| of.iter().map(|at| at.to_s - at.from_s).sum::<f64>();
        let lasts_s = carried[carried.len() - 1].to_s - carried[0].from_s;
        Ok(Self {
            rate: parameter(value, ends(&|draw| draw.rate_bps), verdict(is_seen)),
            delay: parameter(
                delay_s,
                (delay_s, delay_s),
                if least.is_some() { Verdict::Identified } else { Verdict::NotIdentified },
            ),
            queue: parameter(low, ends(&|draw| draw.queue_bytes), Verdict::Bounded),
            loss: parameter(
                loss,
                ends(&|draw| draw.loss),
                if tells_losses { verdict(random_losses.0 > 0.0) } else { Verdict::NotIdentified },
            ),
            lost: (random_losses.0, congestive.0),
            busy_share: time(&seen) / time(&carried),
            lasts_s,
            carried_bps: carried.iter().map(|at| 8.0 * at.bytes).sum::<f64>()
                / lasts_s.max(f64::MIN_POSITIVE),
            packets: carried.iter().map(|at| at.packets).sum(),
            draws,
        })
    }
}

/// A draw between 1 and `most`, of which all orders of magnitude are as likely.
fn power(most: f64, random: &mut Stream) -> f64 {
    let uniform: f64 = random.random();
    libm::pow(most, uniform)
}

/// A share of losses of which nothing is known: none in half of the draws, else of all orders of magnitude up to 2 %.
fn unknown_loss(random: &mut Stream) -> f64 {
    if random.random_bool(0.5) { 0.0 } else { LEAST_LOSS * power(MOST_LOSS / LEAST_LOSS, random) }
}

/// The median of values drawn with replacement.
fn resampled(values: &[f64], random: &mut Stream) -> f64 {
    let drawn = weights(values.len(), random);
    let mut found: Vec<f64> = values
        .iter()
        .zip(&drawn)
        .flat_map(|(value, weight)| std::iter::repeat_n(*value, *weight as usize))
        .collect();
    median(&mut found)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn stretches(is_udp: bool, of: impl Fn(usize) -> (f64, Option<f64>, Option<f64>)) -> Stretches {
        let carried = (0..30).map(|second| {
            let (mbps, rtt_s, lost) = of(second);
            Carried {
                from_s: second as f64,
                to_s: second as f64 + 1.0,
                bytes: mbps * 125e3,
                packets: mbps * 125e3 / 1500.0,
                lost,
                rtt_s,
                is_limited: false,
            }
        });
        Stretches {
            carried: carried.collect(),
            is_udp,
            packet_bytes: 1500.0,
            lost_share: None,
            least_rtt_s: None,
        }
    }

    #[test]
    fn a_standing_queue_shows_the_rate() {
        let of = stretches(false, |second| {
            if second == 0 { (3.0, Some(0.04), Some(0.0)) } else { (19.2, Some(0.09), Some(4.0)) }
        });
        let fit = CoarseFit::new(&of, 1).unwrap();
        assert_eq!((fit.rate.verdict, fit.queue.verdict), (Verdict::Identified, Verdict::Bounded));
        assert!((fit.rate.value - 19.2e6).abs() < 1.0 && (fit.delay.value - 0.04).abs() < 1e-9);
        // 50 ms of 19.2 Mbit/s.
        assert!((fit.queue.value - 120e3).abs() < 1.0, "{:?}", fit.queue);
        assert_eq!(fit.loss.value, 0.0);
    }

    #[test]
    fn without_a_queue_the_rate_is_a_bound() {
        let of = stretches(false, |second| (4.0 + (second % 3) as f64, Some(0.0405), Some(1.0)));
        let fit = CoarseFit::new(&of, 1).unwrap();
        assert_eq!((fit.rate.verdict, fit.loss.verdict), (Verdict::Bounded, Verdict::Identified));
        assert!((fit.rate.value - 6e6).abs() < 1.0 && fit.rate.high > 3.0 * fit.rate.value);
    }

    #[test]
    fn what_was_lost_and_not_told_is_not_identified() {
        let fit = CoarseFit::new(&stretches(false, |_| (10.0, Some(0.04), None)), 1).unwrap();
        assert_eq!(fit.loss.verdict, Verdict::NotIdentified);
        assert!(fit.draws.iter().all(|draw| draw.loss <= 0.02));
        assert!((60..140).contains(&fit.draws.iter().filter(|draw| draw.loss == 0.0).count()));
    }

    #[test]
    fn overload_shows_the_rate_of_udp() {
        let of = stretches(true, |_| (30.0, None, Some(0.4 * 30.0 * 125e3 / 1500.0)));
        let fit = CoarseFit::new(&of, 1).unwrap();
        assert_eq!((fit.rate.verdict, fit.delay.verdict), (Verdict::Identified, Verdict::NotIdentified));
        assert!((fit.rate.value - 18e6).abs() < 1e3, "{:?}", fit.rate);
        let few = stretches(true, |_| (30.0, None, Some(25.0)));
        assert_eq!(CoarseFit::new(&few, 1).unwrap().rate.verdict, Verdict::Bounded);
    }
}
