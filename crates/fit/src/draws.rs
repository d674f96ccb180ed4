//! Joint draws of all link parameters, which express the uncertainty of a fit.

use crate::bootstrap::weights;
use crate::even::Even;
use crate::losses::Losses;
use crate::queue_limit::QueueLimit;
use crossfade_core::Stream;

/// Joint draw of all link parameters from the uncertainty of a fit.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Draw {
    /// Rate of the link in bit/s.
    pub rate_bps: f64,
    /// Base delay of both directions in seconds, without queueing and transmission.
    pub delay_s: f64,
    /// Queue limit in bytes.
    pub queue_bytes: f64,
    /// Probability of random loss of a packet.
    pub loss: f64,
    /// Mean length of a loss burst in transmission times of a full packet at the rate of this draw; `None` for
    /// independent losses.
    pub mean_burst: Option<f64>,
}

/// Number of first draws, which span each assumed range evenly; the four draws after them have the ends of the ranges.
const EVEN: usize = 10;
/// Number of joint draws of a fit.
pub(crate) const DRAWS: usize = 200;
/// Largest assumed ratio of a rate to its lower bound.
pub(crate) const BEYOND: f64 = 4.0;
/// Largest assumed ratio of the limit of a queue that was never full to the largest observed backlog.
const LONGEST: f64 = 4.0;
/// Usual range of queue limits, as multiples of the bandwidth-delay product.
pub(crate) const USUAL: [f64; 2] = [0.2, 5.0];

/// Range of the queue limit in bytes for draws: log-uniform if the limit is only bounded (`is_bound`), else uniform.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct QueueEnds {
    pub(crate) low: f64,
    pub(crate) high: f64,
    pub(crate) is_bound: bool,
}

impl QueueEnds {
    /// Range of the queue limit by the evidence of a record; `full` is the size of a full packet in bytes.
    pub(crate) fn new(limit: &QueueLimit, full: f64) -> Self {
        // A packet that came through found at most the limit in the queue, itself included and the one in transmission
        // apart. A dropped packet found more than the limit, besides a part of the one in transmission.
        let low = limit.held_bytes.max(full);
        match limit.dropped_bytes {
            Some(dropped) => Self { low, high: (dropped - full).max(low), is_bound: false },
            None => Self { low, high: LONGEST * low, is_bound: true },
        }
    }

    /// Range in bytes of the limit of a queue that was never full: usual limits at the bandwidth-delay product
    /// `under_way` in bytes, but at least the observed backlog, and up to at least four times this backlog.
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

/// Lower bound of a rate, and the minimum delay, of which the share of transmission depends on the unknown rate.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Bound {
    /// Lower bound of the rate in bit/s.
    pub(crate) rate_bps: f64,
    /// Minimum delay of a full packet in seconds.
    pub(crate) least_s: f64,
    /// Bits of a full packet.
    pub(crate) bits: f64,
    /// Delay of the reverse path in seconds, 0 for RTTs; `None` if it was not recorded and is assumed equal to the
    /// forward delay.
    pub(crate) back_s: Option<f64>,
}

impl Bound {
    /// Base delay of both directions in seconds, without transmission, if the link has the rate `rate_bps`.
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

/// Joint draws of all parameters, one for each pair of rate and base delay. A rate with only a lower bound is drawn
/// log-uniformly up to four times the bound, the delay of a standing queue uniformly up to its longest. `full_bits` are
/// the bits of a full packet.
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

/// Position of a draw in the ranges of rate and queue limit (0: lower end, 1: upper end) if it is one of the four draws
/// with an end of both, else `None`. Predictions are often most extreme at these ends, which other draws do not reach.
fn corner(number: usize) -> Option<[f64; 2]> {
    let of = number.checked_sub(EVEN).filter(|of| *of < 4)?;
    Some([f64::from(u8::from(of % 2 == 1)), f64::from(u8::from(of >= 2))])
}

/// Draws of the mean rate in bit/s of a link with a changing rate, by bootstrap of blocks of 20 observed windows;
/// `usual_bps` if no window shows a rate. `series` has the logarithms of the rates of windows.
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
