//! Workloads: distributions of sizes and times, and on-off sources.

use crate::error::NetworkError;
use crossfade_core::{SimTime, Stream};
use crossfade_transport::SenderConfig;
use rand::Rng;

/// Distribution of a size or time.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Distribution {
    /// Constant value, taken by every sample.
    Fixed(f64),
    /// Uniform distribution from 0 to `max`.
    Uniform {
        /// Largest value of a sample.
        max: f64,
    },
    /// Exponential distribution.
    Exponential {
        /// Mean of the distribution.
        mean: f64,
    },
    /// Bounded Pareto distribution: `P[X > x]` is (`min`/x)^`shape` up to constants, for x from `min` to `max`.
    BoundedPareto {
        /// Tail index; file sizes on the web have 1.1 to 1.3 (Crovella and Bestavros 1997).
        shape: f64,
        /// Smallest value of a sample.
        min: f64,
        /// Largest value of a sample.
        max: f64,
    },
}

impl Distribution {
    /// Draws a sample; every distribution takes exactly one draw of the stream.
    pub fn sample(self, stream: &mut Stream) -> f64 {
        // Uniform on the open interval (0, 1), so that the logarithm is finite.
        let u = ((stream.next_u64() >> 12) as f64 + 0.5) * f64::EPSILON;
        match self {
            Self::Fixed(value) => value,
            Self::Uniform { max } => u * max,
            Self::Exponential { mean } => -mean * libm::log(u),
            // Inversion of F(x) = (1 - (min/x)^shape) / (1 - (min/max)^shape).
            Self::BoundedPareto { shape, min, max } => {
                min * libm::pow(1.0 - u * (1.0 - libm::pow(min / max, shape)), -1.0 / shape)
            }
        }
    }

    /// Mean of the distribution.
    pub fn mean(self) -> f64 {
        match self {
            Self::Fixed(mean) | Self::Exponential { mean } => mean,
            Self::Uniform { max } => max / 2.0,
            Self::BoundedPareto { shape, min, max } => {
                let mass = 1.0 - libm::pow(min / max, shape);
                if shape == 1.0 {
                    min * libm::log(max / min) / mass
                } else {
                    let tail = libm::pow(min / max, shape - 1.0);
                    min * shape / (shape - 1.0) * (1.0 - tail) / mass
                }
            }
        }
    }

    /// Checks that all parameters are positive; `key` names the distribution in the error.
    pub(crate) fn check(self, key: &str) -> Result<(), NetworkError> {
        let positive = |name: &str, value: f64| {
            if value > 0.0 && value.is_finite() {
                return Ok(());
            }
            Err(NetworkError(format!("{key}{name} = {value:?}: must be above 0")))
        };
        match self {
            Self::Fixed(value) => positive("", value),
            Self::Uniform { max } => positive(".max", max),
            Self::Exponential { mean } => positive(".mean", mean),
            Self::BoundedPareto { shape, min, max } => {
                positive(".shape", shape)?;
                positive(".min", min)?;
                positive(".max", max)?;
                if max >= min {
                    return Ok(());
                }
                Err(NetworkError(format!("{key}.max = {max:?}: must be at least min, {min:?}")))
            }
        }
    }
}

/// Number of segments of `mss` bytes in which a sender sends `bytes` bytes of data, and number of bytes by which the
/// last segment is shorter (0 if all its segments are full-sized, as in flavours `paper` and `ns2`).
pub fn whole_segments(sender: &SenderConfig, bytes: u64, mss: u32) -> (u64, u32) {
    let segments = bytes.div_ceil(u64::from(mss));
    let rest = (segments * u64::from(mss) - bytes) as u32;
    (segments, if sender.ends_short() { rest } else { 0 })
}

/// Law of the times between packets while a source is on.
#[derive(Clone, Copy, Debug, PartialEq, Default)]
pub enum Gaps {
    /// Constant times between packets, given by the rate. Several such sources keep their phases, so at a full
    /// drop-tail queue only some of them ever lose packets (Floyd and Jacobson 1992).
    #[default]
    Periodic,
    /// Times with independent uniform jitter around the mean, of up to this part of it; above 0, at most 1.
    Jitter(f64),
    /// Exponential times with the mean that the rate gives: a Poisson process, from the first packet on.
    Poisson,
}

/// Source without feedback that sends at a constant mean rate while it is on.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct OnOff {
    /// Bit rate of whole packets while the source is on, in bit/s.
    pub rate_bps: f64,
    /// Duration of an on period in seconds.
    pub on_s: Distribution,
    /// Duration of an off period in seconds; `None`: the source never switches off.
    pub off_s: Option<Distribution>,
    /// Law of the times between packets while the source is on.
    pub gaps: Gaps,
}

impl OnOff {
    /// Mean bit rate over on and off periods, in bit/s.
    pub fn mean_rate_bps(&self) -> f64 {
        let on = self.on_s.mean();
        self.rate_bps * self.off_s.map_or(1.0, |off| on / (on + off.mean()))
    }

    pub(crate) fn check(&self, key: &str) -> Result<(), NetworkError> {
        if !(self.rate_bps > 0.0 && self.rate_bps.is_finite()) {
            let rate = self.rate_bps;
            return Err(NetworkError(format!("{key}.rate_bps = {rate:?}: must be above 0")));
        }
        if let Gaps::Jitter(part) = self.gaps
            && !(part > 0.0 && part <= 1.0)
        {
            return Err(NetworkError(format!("{key}.jitter = {part:?}: must be above 0 and at most 1")));
        }
        self.on_s.check(&format!("{key}.on_s"))?;
        self.off_s.map_or(Ok(()), |off| off.check(&format!("{key}.off_s")))
    }
}

/// State of an on-off source. Its clock stops while it is off, so the mean rate is exact for periods of any length.
#[derive(Clone, Debug)]
pub(crate) struct OnOffSource {
    config: OnOff,
    /// Mean time between two packets while the source is on.
    gap: SimTime,
    /// Remaining time of the current on period.
    on_left: SimTime,
    stream: Stream,
    gaps: Stream,
}

impl OnOffSource {
    /// Creates a source at the start of an on period. `stream` is the random stream of on and off periods, `gaps` that
    /// of times between packets.
    pub(crate) fn new(config: OnOff, packet_size: u32, mut stream: Stream, gaps: Stream) -> Self {
        let gap = SimTime::to_transmit(packet_size, config.rate_bps);
        let on_left = match config.off_s {
            Some(_) => SimTime::from_secs_f64(config.on_s.sample(&mut stream)),
            None => SimTime::MAX,
        };
        Self { config, gap, on_left, stream, gaps }
    }

    /// Time of the first packet of a source that begins at `now`.
    pub(crate) fn first_after(&mut self, now: SimTime) -> SimTime {
        if self.config.gaps == Gaps::Poisson { self.next_after(now) } else { now }
    }

    fn next_gap(&mut self) -> SimTime {
        let gap = self.gap.as_secs_f64();
        match self.config.gaps {
            Gaps::Periodic => self.gap,
            Gaps::Jitter(part) => {
                let most = Distribution::Uniform { max: 2.0 * part * gap };
                SimTime::from_secs_f64(gap * (1.0 - part) + most.sample(&mut self.gaps))
            }
            Gaps::Poisson => {
                SimTime::from_secs_f64(Distribution::Exponential { mean: gap }.sample(&mut self.gaps))
            }
        }
    }

    /// Time of the next packet after the one sent at `now`.
    pub(crate) fn next_after(&mut self, now: SimTime) -> SimTime {
        let gap = self.next_gap();
        let Some(off_s) = self.config.off_s else { return now.saturating_add(gap) };
        let (mut at, mut wait) = (now, gap);
        while self.on_left < wait {
            let off = SimTime::from_secs_f64(off_s.sample(&mut self.stream));
            at = at.saturating_add(self.on_left).saturating_add(off);
            wait = wait - self.on_left;
            // Periods of less than a nanosecond must not keep the loop from ending.
            self.on_left =
                SimTime::from_secs_f64(self.config.on_s.sample(&mut self.stream)).max(SimTime::from_nanos(1));
        }
        self.on_left = self.on_left - wait;
        at.saturating_add(wait)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crossfade_core::RunSeed;

    fn stream(name: &str) -> Stream {
        RunSeed { seed: 5, run: 0 }.stream(name)
    }

    #[test]
    fn frequencies_are_those_of_the_law() {
        let pareto = Distribution::BoundedPareto { shape: 1.2, min: 2.0, max: 500.0 };
        // P[X > x] of the bounded law.
        let above = |x: f64| {
            let cut = (2.0_f64 / 500.0).powf(1.2);
            ((2.0 / x).powf(1.2) - cut) / (1.0 - cut)
        };
        let n = 40_000;
        let mut s = stream("pareto");
        let draws: Vec<f64> = (0..n).map(|_| pareto.sample(&mut s)).collect();
        assert!(draws.iter().all(|x| (2.0..=500.0).contains(x)));
        for x in [2.5, 4.0, 20.0, 200.0] {
            let expected = above(x);
            let share = draws.iter().filter(|&&draw| draw > x).count() as f64 / f64::from(n);
            let four_sigma = 4.0 * (expected * (1.0 - expected) / f64::from(n)).sqrt();
            assert!((share - expected).abs() < four_sigma, "P[X > {x}]: {share} against {expected}");
        }
        let mut s = stream("exponential");
        let exponential = Distribution::Exponential { mean: 3.0 };
        let mean = (0..n).map(|_| exponential.sample(&mut s)).sum::<f64>() / f64::from(n);
        assert!((mean - 3.0).abs() < 4.0 * 3.0 / f64::from(n).sqrt(), "{mean}");
    }

    #[test]
    fn means_are_those_of_the_integral() {
        for shape in [0.7, 1.0, 1.2, 2.5] {
            let (min, max) = (2.0_f64, 500.0_f64);
            // E[X] = min + the integral of P[X > x], by the trapezoidal rule in log x.
            let cut = (min / max).powf(shape);
            let steps = 20_000;
            let point = |i: i32| {
                let x = min * (max / min).powf(f64::from(i) / f64::from(steps));
                x * ((min / x).powf(shape) - cut) / (1.0 - cut)
            };
            let width = (max / min).ln() / f64::from(steps);
            let inner: f64 = (1..steps).map(point).sum();
            let integral = (inner + f64::midpoint(point(0), point(steps))) * width;
            let mean = Distribution::BoundedPareto { shape, min, max }.mean();
            assert!(
                (mean - (min + integral)).abs() < 1e-5 * mean,
                "shape {shape}: {mean}, {}",
                min + integral
            );
        }
    }

    #[test]
    fn an_on_off_source_keeps_its_mean_rate_and_its_gaps() {
        // 1000 bytes at 8 Mbit/s: a packet each millisecond while on.
        let ms = SimTime::from_millis;
        let config = OnOff {
            rate_bps: 8e6,
            on_s: Distribution::Fixed(0.0025),
            off_s: Some(Distribution::Fixed(0.01)),
            gaps: Gaps::Periodic,
        };
        let mut source = OnOffSource::new(config, 1000, stream("fixed"), stream("gaps"));
        let mut now = SimTime::ZERO;
        let times: Vec<u64> = (0..6)
            .map(|_| {
                now = source.next_after(now);
                now.as_nanos() / 1000
            })
            .collect();
        // On from 0 to 2.5 ms, from 12.5 to 15 ms, from 25 ms on.
        assert_eq!(times, [1000, 2000, 13_000, 14_000, 15_000, 26_000]);

        let config = OnOff {
            on_s: Distribution::Exponential { mean: 0.004 },
            off_s: Some(Distribution::Exponential { mean: 0.012 }),
            ..config
        };
        let mut source = OnOffSource::new(config, 1000, stream("exponential"), stream("gaps"));
        let packets = 40_000;
        let end = (0..packets).fold(SimTime::ZERO, |now, _| source.next_after(now));
        let rate = f64::from(packets) * 8000.0 / end.as_secs_f64();
        // About 10,000 periods; the relative deviation of on and off together is below 2 %.
        assert!((rate / config.mean_rate_bps() - 1.0).abs() < 0.04, "{rate}");
        assert!(ms(1) <= end);
    }

    #[test]
    fn gaps_are_those_of_their_law() {
        // A packet each millisecond in the mean.
        let steady = |gaps| OnOff { rate_bps: 8e6, on_s: Distribution::Fixed(1.0), off_s: None, gaps };
        let gaps_of = |gaps| {
            let mut source = OnOffSource::new(steady(gaps), 1000, stream("on"), stream("gaps"));
            (0..40_000).map(|_| source.next_after(SimTime::ZERO).as_secs_f64() * 1e3).collect::<Vec<f64>>()
        };
        let moments = |gaps: &[f64]| {
            let mean = gaps.iter().sum::<f64>() / gaps.len() as f64;
            (mean, gaps.iter().map(|gap| (gap - mean).powi(2)).sum::<f64>() / gaps.len() as f64)
        };
        assert!(gaps_of(Gaps::Periodic).iter().all(|gap| *gap == 1.0));
        // Uniform on 0.7 to 1.3 ms: the variance is 0.6^2 / 12 = 0.03.
        let jitter = gaps_of(Gaps::Jitter(0.3));
        assert!(jitter.iter().all(|gap| (0.7..=1.3).contains(gap)));
        let (mean, variance) = moments(&jitter);
        assert!((mean - 1.0).abs() < 0.004 && (variance - 0.03).abs() < 0.001, "{mean} {variance}");
        // Exponential: variance 1; four standard errors are 0.02 and, of the variance, 0.057.
        let (mean, variance) = moments(&gaps_of(Gaps::Poisson));
        assert!((mean - 1.0).abs() < 0.02 && (variance - 1.0).abs() < 0.06, "{mean} {variance}");
        let mut poisson = OnOffSource::new(steady(Gaps::Poisson), 1000, stream("on"), stream("gaps"));
        assert!(poisson.first_after(SimTime::ZERO) > SimTime::ZERO);
    }

    #[test]
    fn what_is_no_distribution_is_refused() {
        for (distribution, message) in [
            (Distribution::Fixed(0.0), "size = 0.0: must be above 0"),
            (Distribution::Exponential { mean: f64::NAN }, "size.mean = NaN: must be above 0"),
            (
                Distribution::BoundedPareto { shape: 1.0, min: 3.0, max: 2.0 },
                "size.max = 2.0: must be at least min, 3.0",
            ),
            (
                Distribution::BoundedPareto { shape: -1.0, min: 1.0, max: 2.0 },
                "size.shape = -1.0: must be above 0",
            ),
        ] {
            assert_eq!(distribution.check("size").unwrap_err().to_string(), message);
        }
    }
}
