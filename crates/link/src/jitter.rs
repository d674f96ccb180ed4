//! Packet delay variation (jitter) behind a link.

use crate::decorated::Decorator;
use crate::link::{Departure, Link};
use crate::parcel::Parcel;
use crate::report::LinkReport;
use crossfade_channel::complex_normal;
use crossfade_core::{SimTime, Stream};
use rand::RngExt;
use std::cmp::Reverse;
use std::collections::{BTreeMap, BinaryHeap};
use std::f64::consts::SQRT_2;

/// Parameters of packet delay variation behind a link (RFC 8868 section 4.5).
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct JitterConfig {
    /// Standard deviation of the Gaussian variable whose magnitude is the delay; above zero.
    pub std: SimTime,
    /// Greatest delay from the Gaussian variable, in standard deviations; above zero.
    pub n_std: f64,
    /// Bit rate in bit/s at which packets of a flow follow an earlier packet that was held longer; `None`: they follow
    /// at once.
    pub rate_bps: Option<f64>,
    /// Longer delays of some packets, added to the Gaussian ones; `None`: no such delays.
    pub spikes: Option<Spikes>,
}

/// Long delays of some packets, like those of retransmissions in a crowded Wi-Fi network (draft-huitema-ccwg-c4-test):
/// each is a Poisson number of steps.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Spikes {
    /// Share of packets that have a long delay, between 0 and 1.
    pub share: f64,
    /// Mean number of steps in a long delay; above zero and at most 100.
    pub steps: f64,
    /// Duration of a step; above zero.
    pub step: SimTime,
}

impl Spikes {
    /// Long delay of one packet; zero for most packets.
    fn draw(&self, draws: &mut Stream) -> SimTime {
        if draws.random::<f64>() >= self.share {
            return SimTime::ZERO;
        }
        // Knuth's method: uniform numbers are multiplied until their product falls below exp(-mean).
        let (floor, mut product, mut steps) = (libm::exp(-self.steps), 1.0, 0);
        loop {
            product *= draws.random::<f64>();
            if product < floor {
                return self.step * steps;
            }
            steps += 1;
        }
    }
}

/// Holds each packet behind a link for a random time |max(min(N(0, std²), `n_std` std), -`n_std` std)|, and at least
/// until the packet before it of its flow has left at `rate_bps`: "approximately random subject to no-reordering
/// bounded PDV" of RFC 8868 section 4.5.2. Flows may overtake each other.
///
/// In statistics, a held packet has not come out of the link yet.
pub struct Jitter {
    config: JitterConfig,
    draws: Stream,
    /// Earliest departure of the next packet of each flow; flows whose time has passed are removed occasionally.
    next: BTreeMap<u32, SimTime>,
    /// Held packets, in order of departure, then of arrival.
    held: BinaryHeap<Reverse<Held>>,
    /// Number of packets held so far.
    came: u64,
    held_bytes: u64,
}

/// A packet that is held until `at`; `order` is its number in order of arrival.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Held {
    at: SimTime,
    order: u64,
    parcel: Parcel,
}

impl Ord for Held {
    fn cmp(&self, other: &Self) -> std::cmp::Ordering {
        (self.at, self.order).cmp(&(other.at, other.order))
    }
}

impl PartialOrd for Held {
    fn partial_cmp(&self, other: &Self) -> Option<std::cmp::Ordering> {
        Some(self.cmp(other))
    }
}

impl Jitter {
    /// Creates the jitter without held packets. Each packet that comes out of the link consumes two random numbers of
    /// `draws`, and more with spikes.
    ///
    /// # Panics
    /// If the deviation, its bound or the rate is not above zero.
    pub fn new(config: JitterConfig, draws: Stream) -> Self {
        let is_sound = config.std > SimTime::ZERO && config.n_std > 0.0;
        assert!(is_sound && config.rate_bps.is_none_or(|rate_bps| rate_bps > 0.0), "{config:?}");
        Self { config, draws, next: BTreeMap::new(), held: BinaryHeap::new(), came: 0, held_bytes: 0 }
    }

    /// Holds a packet that comes out of the link at time `now`.
    fn hold(&mut self, now: SimTime, parcel: Parcel) {
        let JitterConfig { std, n_std, rate_bps, spikes } = self.config;
        let deviations = (complex_normal(&mut self.draws).re * SQRT_2).abs().min(n_std);
        let spike = spikes.map_or(SimTime::ZERO, |spikes| spikes.draw(&mut self.draws));
        let delay = SimTime::from_secs_f64(std.as_secs_f64() * deviations) + spike;
        if self.next.len() > 2 * self.held.len() + 16 {
            self.next.retain(|_, next| *next > now);
        }
        let next = self.next.entry(parcel.flow()).or_default();
        let at = now.saturating_add(delay).max(*next);
        *next =
            at + rate_bps.map_or(SimTime::ZERO, |rate_bps| SimTime::to_transmit(parcel.bytes(), rate_bps));
        self.held.push(Reverse(Held { at, order: self.came, parcel }));
        self.held_bytes += u64::from(parcel.bytes());
        self.came += 1;
    }

    /// Time at which the next held packet leaves; [`SimTime::MAX`] if none is held.
    fn next_departure(&self) -> SimTime {
        self.held.peek().map_or(SimTime::MAX, |Reverse(held)| held.at)
    }
}

impl Decorator for Jitter {
    fn next_event(&self, link: &impl Link) -> Option<SimTime> {
        let next = self.next_departure().min(link.next_event().unwrap_or(SimTime::MAX));
        (next < SimTime::MAX).then_some(next)
    }

    fn advance(&mut self, link: &mut impl Link, now: SimTime) -> Option<Departure> {
        loop {
            let (departure, event) = (self.next_departure(), link.next_event().unwrap_or(SimTime::MAX));
            if departure.min(event) > now {
                return None;
            }
            if departure <= event {
                let Reverse(held) = self.held.pop()?;
                self.held_bytes -= u64::from(held.parcel.bytes());
                return Some(Departure::Arrived(held.parcel));
            }
            // Called at the time of the link's event and not later: a packet is held from the time at which it comes
            // out.
            match link.advance(event) {
                Some(Departure::Arrived(parcel)) => self.hold(event, parcel),
                Some(gone) => return Some(gone),
                None => {}
            }
        }
    }

    fn report(&mut self, link: &mut impl Link, now: SimTime) -> LinkReport {
        let mut report = link.report(now);
        report.statistics.arrivals -= self.held.len() as u64;
        report.statistics.arrived_bytes -= self.held_bytes;
        report.sent.extend(self.held.iter().map(|Reverse(held)| held.parcel));
        report
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::decorated::Decorated;
    use crate::hop::{Hop, HopConfig};
    use crate::link::Push;
    use crate::testing::{EveryThird, plain};
    use crossfade_channel::{LossProcess, Lossless};
    use crossfade_core::RunSeed;
    use proptest::prelude::*;

    const MS: SimTime = SimTime::from_millis(1);

    /// Jitter of 5 ms standard deviation, bounded at `n_std` deviations, behind a link with 2 ms of delay and no
    /// transmission time.
    fn jittered(n_std: f64, rate_bps: Option<f64>, loss: Box<dyn LossProcess>) -> Decorated<Hop, Jitter> {
        let hop = Hop::new(HopConfig { rate_bps: None, delay: MS * 2, queue_limit: None, loss });
        let draws = RunSeed { seed: 1, run: 0 }.stream("jitter.dl");
        Jitter::new(JitterConfig { std: MS * 5, n_std, rate_bps, spikes: None }, draws).around(hop)
    }

    /// Delays in seconds beyond that of the link, for packets sent at intervals of `gap`.
    fn delays(mut link: Decorated<Hop, Jitter>, packets: u32, gap: SimTime) -> Vec<f64> {
        let mut left = vec![f64::NAN; packets as usize];
        for id in 0..packets {
            let now = gap * u64::from(id);
            assert_eq!(link.push(now, plain(id, 1000)), Push::Accepted);
            let next = if id + 1 < packets { now + gap } else { SimTime::MAX };
            while let Some(at) = link.next_event().filter(|at| *at < next) {
                while let Some(departure) = link.advance(at) {
                    let id = departure.parcel().id();
                    left[id as usize] = (at - gap * u64::from(id) - MS * 2).as_secs_f64();
                }
            }
        }
        left
    }

    /// For packets far apart, delays are independent and half-normal, cut at k = `n_std`: in standard deviations, the
    /// mean is sqrt(2/pi) (1 - e^(-k²/2)) + k q and the second moment 1 - q - sqrt(2/pi) k e^(-k²/2) + k² q, with q =
    /// erfc(k / sqrt 2).
    #[test]
    fn moments_are_those_of_the_law() {
        // q from tables of the normal distribution.
        for (k, q) in [(3.0_f64, 0.002_699_796), (1.0, 0.317_310_508)] {
            let n = 40_000;
            let delays = delays(jittered(k, None, Box::new(Lossless)), n, MS * 100);
            let in_deviations = delays.iter().map(|delay| delay / 0.005);
            let density = (2.0 / std::f64::consts::PI).sqrt() * (-k * k / 2.0).exp();
            let mean = (2.0 / std::f64::consts::PI).sqrt() - density + k * q;
            let square = 1.0 - q - k * density + k * k * q;
            let count = f64::from(n);
            let found = in_deviations.clone().sum::<f64>() / count;
            let found_square = in_deviations.clone().map(|x| x * x).sum::<f64>() / count;
            // Four standard errors; no fourth moment is above 3.
            assert!(
                (found - mean).abs() < 4.0 * ((square - mean * mean) / count).sqrt(),
                "{k}: {found}, {mean}"
            );
            assert!(
                (found_square - square).abs() < 4.0 * (3.0 / count).sqrt(),
                "{k}: {found_square}, {square}"
            );
            let most = in_deviations.clone().fold(0.0, f64::max);
            assert!((most - k).abs() < 1e-6, "{most}");
            let at_most = in_deviations.filter(|x| (x - k).abs() < 1e-6).count() as f64 / count;
            assert!((at_most - q).abs() < 4.0 * (q / count).sqrt(), "{k}: {at_most} at the bound, {q}");
        }
    }

    /// 7 % of the packets are delayed by a Poisson number of steps of 7.5 ms with mean 12: for packets far apart, these
    /// delays have a mean of 12 steps (90 ms) and a variance of 12 steps squared; the Gaussian part is at most a tenth
    /// of a step.
    #[test]
    fn spikes_have_the_moments_of_their_law() {
        let spikes = Spikes { share: 0.07, steps: 12.0, step: SimTime::from_micros(7_500) };
        let config =
            JitterConfig { std: SimTime::from_micros(750), n_std: 1.0, rate_bps: None, spikes: Some(spikes) };
        let hop = Hop::new(HopConfig {
            rate_bps: None,
            delay: MS * 2,
            queue_limit: None,
            loss: Box::new(Lossless),
        });
        let draws = RunSeed { seed: 1, run: 0 }.stream("jitter.dl");
        let n = 40_000;
        let steps: Vec<f64> = delays(Jitter::new(config, draws).around(hop), n, MS * 1000)
            .iter()
            .map(|delay| (delay / 0.0075).floor())
            .filter(|&steps| steps > 0.0)
            .collect();
        let (count, all) = (steps.len() as f64, f64::from(n));
        let share = count / all;
        assert!((share - 0.07).abs() < 4.0 * (0.07 * 0.93 / all).sqrt(), "{share}");
        let mean = steps.iter().sum::<f64>() / count;
        assert!((mean - 12.0).abs() < 4.0 * (12.0 / count).sqrt(), "{mean}");
        let variance = steps.iter().map(|x| (x - mean).powi(2)).sum::<f64>() / count;
        // The variance of the squared deviation of a Poisson number is 2 mean² + mean.
        assert!((variance - 12.0).abs() < 4.0 * ((2.0 * 144.0 + 12.0) / count).sqrt(), "{variance}");
    }

    /// A packet that leaves after those behind it should have left holds these back until it has gone; they follow at
    /// once or at a rate.
    #[test]
    fn a_flow_keeps_its_order_and_follows_at_the_rate() {
        for rate_bps in [None, Some(8e6)] {
            // 1000 bytes are 1 ms at 8 Mbit/s; they come 2 ms apart.
            let (gap, serial) = (0.002, if rate_bps.is_some() { 0.001 } else { 0.0 });
            let of_own = delays(jittered(3.0, None, Box::new(Lossless)), 2000, MS * 100);
            let found = delays(jittered(3.0, rate_bps, Box::new(Lossless)), 2000, MS * 2);
            let mut last = f64::NEG_INFINITY;
            for (id, (own, found)) in of_own.iter().zip(&found).enumerate() {
                let came = gap * id as f64;
                let expected = f64::max(came + own, last + serial);
                assert!((came + found - expected).abs() < 1e-8, "{id}");
                last = expected;
            }
        }
    }

    /// If packets arrive at the rate at which they follow each other, a delay is never made up for: each is at least
    /// that of the packet before.
    #[test]
    fn at_the_rate_of_a_busy_link_delays_only_grow() {
        let found = delays(jittered(3.0, Some(8e6), Box::new(Lossless)), 5000, MS);
        assert!(found.is_sorted_by(|a, b| *b > *a - 1e-9));
        assert!((found[4999] - 0.015).abs() < 1e-8);
    }

    #[test]
    fn what_is_lost_or_held_back_has_not_come_out() {
        let mut link = jittered(3.0, None, Box::new(EveryThird(Vec::new())));
        for id in 0..3 {
            let told = link.push(MS, Parcel::new(id, id, 1000));
            assert_eq!(told, if id == 0 { Push::Lost } else { Push::Accepted });
        }
        assert_eq!(link.advance(MS * 3), None);
        let count = |link: &mut Decorated<Hop, Jitter>| {
            let counts = link.report(MS * 3).statistics;
            (counts.transmissions, counts.losses, counts.arrivals, counts.arrived_bytes)
        };
        assert_eq!(count(&mut link), (3, 1, 0, 0));
        while link.advance(MS * 100).is_some() {}
        assert_eq!(count(&mut link), (3, 1, 2, 2000));
        assert_eq!(link.next_event(), None);
    }

    proptest! {
        /// Every packet leaves exactly once, each flow in its order, and random delays go to the packets in order of
        /// arrival, even if the link is polled late.
        #[test]
        fn nothing_is_lost_or_invented(
            pushes in prop::collection::vec((0_u64..20, 0_u32..3), 1..80), late in 0_u64..50,
        ) {
            let mut left: [Vec<(u32, u32)>; 2] = Default::default();
            for (left, late) in left.iter_mut().zip([0, late]) {
                let mut link = jittered(3.0, Some(1e7), Box::new(Lossless));
                let mut now = SimTime::ZERO;
                for (id, (gap, flow)) in pushes.iter().enumerate() {
                    now += MS * *gap;
                    left.extend(std::iter::from_fn(|| link.advance(now)).map(|gone| (gone.parcel().flow(), gone.parcel().id())));
                    prop_assert_eq!(link.push(now, Parcel::new(id as u32, *flow, 1000)), Push::Accepted);
                }
                while let Some(at) = link.next_event() {
                    let at = at + MS * late;
                    left.extend(std::iter::from_fn(|| link.advance(at)).map(|gone| (gone.parcel().flow(), gone.parcel().id())));
                }
            }
            prop_assert_eq!(left[0].len(), pushes.len());
            for flow in 0..3 {
                let of_flow = left[0].iter().filter(|(of, _)| *of == flow).map(|(_, id)| *id);
                prop_assert!(of_flow.is_sorted_by(|a, b| a < b));
            }
            let [on_time, late] = left;
            prop_assert_eq!(on_time, late);
        }
    }
}
