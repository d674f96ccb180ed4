//! Joint draws of all parameters that explain a record.

use crate::bootstrap::weights;
use crate::even::Even;
use crate::losses::Losses;
use crate::queue_limit::QueueLimit;
use crossfade_core::Stream;

/// Joint values of all parameters that explain the record.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Draw {
    /// Rate in bit/s.
    pub rate_bps: f64,
    /// Delay without queueing and transmission, in seconds.
    pub delay_s: f64,
    /// Queue limit in bytes.
    pub queue_bytes: f64,
    /// Probability of random loss.
    pub loss: f64,
    /// Mean length of a loss burst in packet times at the rate; `None` for independent losses.
    pub mean_burst: Option<f64>,
}

/// Number of draws in front of those with ends of ranges: so many span each range evenly.
const EVEN: usize = 10;
/// Number of draws.
pub(crate) const DRAWS: usize = 200;
/// Largest assumed factor of a rate over its lower bound.
pub(crate) const BEYOND: f64 = 4.0;
/// Largest assumed factor of a queue limit over the content observed, for a queue that was never full, and its usual
/// limits as shares of the data in flight.
const LONGEST: f64 = 4.0;
pub(crate) const USUAL: [f64; 2] = [0.2, 5.0];

/// Range of the queue limit in bytes for draws, and whether it is log-uniform.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct QueueEnds {
    pub(crate) low: f64,
    pub(crate) high: f64,
    pub(crate) is_bound: bool,
}

impl QueueEnds {
    /// Range of the queue limit that the record implies.
    pub(crate) fn new(limit: &QueueLimit, full: f64) -> Self {
        // A packet that came through found at most the limit in the queue, itself included and the one in transmission
        // apart. A dropped packet found more than the limit, besides a part of the one in transmission.
        let low = limit.held_bytes.max(full);
        match limit.dropped_bytes {
            Some(dropped) => Self { low, high: (dropped - full).max(low), is_bound: false },
            None => Self { low, high: LONGEST * low, is_bound: true },
        }
    }

    /// Range of the limit of a queue that was never full: that of usual queues for `under_way`, unless it held more.
    fn usual(&self, under_way: f64) -> (f64, f64) {
        (self.low.max(USUAL[0] * under_way), self.high.max(USUAL[1] * under_way))
    }

    fn at(&self, uniform: f64, under_way: f64) -> f64 {
        if self.is_bound {
            let (low, high) = self.usual(under_way);
            low * libm::pow(high / low, uniform)
        } else {
            self.low + uniform * (self.high - self.low)
        }
    }
}

/// Rate with a lower bound only: the share of transmission in the minimum delay is then unknown too.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Bound {
    pub(crate) rate_bps: f64,
    /// Minimum delay of a full packet in seconds, its bits, and the delay of the reverse path; if not recorded, the
    /// latter is assumed equal to the forward one.
    pub(crate) least_s: f64,
    pub(crate) bits: f64,
    pub(crate) back_s: Option<f64>,
}

impl Bound {
    /// Delay in both directions without transmission, at a rate.
    pub(crate) fn delay_s(&self, rate_bps: f64) -> f64 {
        let there = (self.least_s - self.bits / rate_bps).max(0.0);
        there + self.back_s.unwrap_or(there)
    }
}

/// Parameters that a record leaves open: a rate with a lower bound only, or the standing time of a queue that was never
/// empty.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Unknown {
    pub(crate) bound: Option<Bound>,
    pub(crate) standing_s: Option<f64>,
}

/// Joint draws of all parameters, from pairs of rates and base delays. A rate with a lower bound only, and a standing
/// queue, are drawn log-uniformly up to an assumed end. `full_bits` are the bits of a full packet.
pub(crate) fn draws_of(
    of_rate: &[(f64, f64)],
    unknown: Unknown,
    queue: QueueEnds,
    (losses, full_bits): (&Losses, f64),
    random: &mut Stream,
) -> Vec<Draw> {
    let mut even = Even::new(random);
    let draw = |(number, (rate_bps, delay_s)): (usize, &(f64, f64))| {
        let [of_rate, of_queue, of_loss] = even.next();
        let [of_rate, of_queue] = corner(number).unwrap_or([of_rate, of_queue]);
        let (rate_bps, delay_s) = unknown.bound.map_or((*rate_bps, *delay_s), |bound| {
            let rate = bound.rate_bps * libm::pow(BEYOND, of_rate);
            (rate, bound.delay_s(rate))
        });
        let stood_s = unknown.standing_s.map_or(0.0, |most| of_rate * most.min(delay_s));
        let delay_s = (delay_s - stood_s).max(0.0);
        let queue_bytes = queue.at(of_queue, rate_bps / 8.0 * delay_s) + rate_bps / 8.0 * stood_s;
        let loss = losses.draw(of_loss < 0.5, random);
        // The channel's memory decays in time, and the packet time depends on the rate.
        let mean_burst =
            losses.bursts.as_ref().map(|of| of.mean_burst(of.draw(random), full_bits / rate_bps));
        Draw { rate_bps, delay_s, queue_bytes, loss, mean_burst }
    };
    of_rate.iter().enumerate().map(draw).collect()
}

/// Place of a draw in the ranges of rate and queue limit if it is one of the four with an end of both: what depends on
/// them most often has its extremes there, which draws inside do not reach.
fn corner(number: usize) -> Option<[f64; 2]> {
    let of = number.checked_sub(EVEN).filter(|of| *of < 4)?;
    Some([f64::from(u8::from(of % 2 == 1)), f64::from(u8::from(of >= 2))])
}

/// Mean rates of bootstrap samples of windows in blocks; `usual_bps` if no window shows a rate.
pub(crate) fn mean_draws(series: &[Option<f64>], usual_bps: f64, stream: &mut Stream) -> Vec<f64> {
    let there: Vec<f64> = series.iter().flatten().map(|rate| libm::exp(*rate)).collect();
    let blocks: Vec<&[f64]> = there.chunks(20).collect();
    let draw = |_| {
        let weights = weights(blocks.len(), stream);
        let of = |(block, weight): (&&[f64], &f64)| {
            (block.iter().sum::<f64>() * weight, block.len() as f64 * weight)
        };
        let (sum, count) =
            blocks.iter().zip(&weights).map(of).fold((0.0, 0.0), |all, of| (all.0 + of.0, all.1 + of.1));
        if count > 0.0 { sum / count } else { usual_bps }
    };
    (0..DRAWS).map(draw).collect()
}
