//! Values of all parameters that explain a record together.

use crate::bootstrap::weights;
use crate::even::Even;
use crate::losses::Losses;
use crate::queue_limit::QueueLimit;
use crossfade_core::Stream;

/// Values of all parameters that explain the record together.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Draw {
    /// The rate in bit/s.
    pub rate_bps: f64,
    /// The delay without queue and transmission, in s.
    pub delay_s: f64,
    /// The limit of the queue in bytes.
    pub queue_bytes: f64,
    /// The share of packets lost at random.
    pub loss: f64,
    /// The mean length of a burst of losses, in packet times at the rate; none of independent losses.
    pub mean_burst: Option<f64>,
}

/// So many draws of the parameters are made.
pub(crate) const DRAWS: usize = 200;
/// A rate that is only bounded may be so many times higher.
pub(crate) const BEYOND: f64 = 4.0;
/// A queue that was never full may be so many times longer than what it held, and holds between these shares of what is under way.
const LONGEST: f64 = 4.0;
pub(crate) const USUAL: [f64; 2] = [0.2, 5.0];

/// Between which limits of the queue, in bytes, draws lie, and whether all orders of magnitude between them are as likely.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct QueueEnds {
    pub(crate) low: f64,
    pub(crate) high: f64,
    pub(crate) is_bound: bool,
}

impl QueueEnds {
    /// Ends of the limit of a queue of which the record says this.
    pub(crate) fn new(limit: &QueueLimit, full: f64) -> Self {
        // A packet that came through found the one being sent and all others within the limit, itself too: what it found is at
        // most the limit. One that was dropped found more than the limit beside the one being sent, of which a part was left.
        let low = limit.held_bytes.max(full);
        match limit.dropped_bytes {
            Some(dropped) => Self { low, high: (dropped - full).max(low), is_bound: false },
            None => Self { low, high: LONGEST * low, is_bound: true },
        }
    }

    /// Ends of the limit of a queue that was never full, with so much under way: those of usual queues, if it held
    /// less.
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

/// A rate that is only bounded: what of the shortest delay was transmission is not known either.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Bound {
    pub(crate) rate_bps: f64,
    /// The shortest delay of a full packet, of so many bits, and what is added for the reverse path; of one that was not
    /// recorded none, it is as long.
    pub(crate) least_s: f64,
    pub(crate) bits: f64,
    pub(crate) back_s: Option<f64>,
}

impl Bound {
    /// The delay there and back without transmission, at a rate.
    pub(crate) fn delay_s(&self, rate_bps: f64) -> f64 {
        let there = (self.least_s - self.bits / rate_bps).max(0.0);
        there + self.back_s.unwrap_or(there)
    }
}

/// What a record leaves open: a rate that is only bounded, or for how long a queue that was never empty stood.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Unknown {
    pub(crate) bound: Option<Bound>,
    pub(crate) standing_s: Option<f64>,
}

/// Draws of all parameters, of rates and base delays that belong together. Of a rate that is only bounded, and of such a queue,
/// all orders of magnitude up to an assumed end are as likely. A full packet has so many bits.
pub(crate) fn draws_of(
    of_rate: &[(f64, f64)],
    unknown: Unknown,
    queue: QueueEnds,
    (losses, full_bits): (&Losses, f64),
    random: &mut Stream,
) -> Vec<Draw> {
    let mut even = Even::new(random);
    let draw = |(rate_bps, delay_s): &(f64, f64)| {
        let [of_rate, of_queue, of_loss] = even.next();
        let (rate_bps, delay_s) = unknown.bound.map_or((*rate_bps, *delay_s), |bound| {
            let rate = bound.rate_bps * libm::pow(BEYOND, of_rate);
            (rate, bound.delay_s(rate))
        });
        let stood_s = unknown.standing_s.map_or(0.0, |most| of_rate * most.min(delay_s));
        let delay_s = (delay_s - stood_s).max(0.0);
        let queue_bytes = queue.at(of_queue, rate_bps / 8.0 * delay_s) + rate_bps / 8.0 * stood_s;
        let loss = losses.draw(of_loss < 0.5, random);
        // The channel forgets over time, and a packet time is that of the rate.
        let mean_burst =
            losses.bursts.as_ref().map(|of| of.mean_burst(of.draw(random), full_bits / rate_bps));
        Draw { rate_bps, delay_s, queue_bytes, loss, mean_burst }
    };
    of_rate.iter().map(draw).collect()
}

/// Means of the rates of windows, of which blocks are drawn with replacement; `usual_bps` where none was seen.
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
