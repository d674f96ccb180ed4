//! Fit of a link to the data carried per interval, as iperf3 and `ss` report it, without single packets.
//!
//! An interval of TCP shows the rate of the link if the RTT at its end exceeds the minimum RTT, because of a queue. An
//! interval of UDP shows it if far more was lost than a channel loses, because of overload. Other intervals give only a
//! lower bound of the rate. Intervals of equal length with several rate levels give the rate over time.

use crate::bootstrap::{interval, median, quantile, share, weights};
use crate::draws::{BEYOND, DRAWS, Draw, USUAL, mean_draws};
use crate::even::Even;
use crate::model::{Parameter, RateLevel, Verdict, levels};
use crate::over_time::{Changes, Window, mean_over_time, table};
use crate::standing::most_standing;
use crossfade_core::{Carried, RunSeed, Stream};
use thiserror::Error;

/// Report of a flow by intervals, as by iperf3 or `ss`, with values common to all intervals.
#[derive(Clone, Debug, PartialEq)]
pub struct Stretches {
    /// Bytes, packets, losses and RTT of each interval, in order of time.
    pub carried: Vec<Carried>,
    /// True if the flow is UDP; false for TCP.
    pub is_udp: bool,
    /// Size of a full packet on the wire, in bytes.
    pub packet_bytes: f64,
    /// Share of packets lost in the whole flow, for intervals without numbers of losses; `None` if not reported.
    pub lost_share: Option<f64>,
    /// Minimum RTT in seconds as reported; if `None`, the shortest RTT of the intervals is used.
    pub least_rtt_s: Option<f64>,
}

/// Reason why intervals cannot be fitted.
#[derive(Clone, Copy, Debug, PartialEq, Error)]
#[non_exhaustive]
pub enum CoarseError {
    /// Fewer than 3 intervals carried data; the field is their number.
    #[error("{0} intervals in which something was carried: a fit needs at least {FEWEST}")]
    TooFew(usize),
}

/// Link fitted to a report by intervals: parameters with intervals and verdicts, and joint draws.
#[derive(Clone, Debug)]
pub struct CoarseFit {
    /// Rate of the link in bit/s; its mean over time if it changes.
    pub rate: Parameter,
    /// RTT without queueing, in seconds.
    pub delay: Parameter,
    /// Queue limit in bytes: a lower bound, by the longest RTT.
    pub queue: Parameter,
    /// Probability of random loss of a packet, apart from losses at a queue.
    pub loss: Parameter,
    /// Numbers of packets lost in intervals without a queue, that is, at random, and in intervals with a queue.
    pub lost: (f64, f64),
    /// Share of time in intervals with a queue, which show the rate of the link; for UDP, with an overload.
    pub busy_share: f64,
    /// Time from the start of the first interval to the end of the last, in seconds.
    pub lasts_s: f64,
    /// Mean rate in bit/s of the bytes reported, lost packets of UDP included.
    pub carried_bps: f64,
    /// Rate over time as pairs of start in seconds since the first interval, and bit/s; empty if constant.
    pub rates: Vec<(f64, f64)>,
    /// Levels of a changing rate by a hidden Markov chain, in ascending order; empty if the rate is constant.
    pub levels: Vec<RateLevel>,
    /// Ratio of mean squared errors on held-out intervals, change points of the rate to a constant rate; `None` if
    /// intervals differ in length or too few show the rate.
    pub held_out: Option<f64>,
    /// For each interval of [`Stretches::carried`], true if it shows the rate of the link.
    pub tells: Vec<bool>,
    /// Number of packets in all intervals.
    pub packets: f64,
    /// Joint draws of all parameters, which express the uncertainty of the fit.
    pub draws: Vec<Draw>,
}

/// Minimum number of intervals with data for a fit.
const FEWEST: usize = 3;
/// Increase of the RTT over its minimum that shows a queue: in seconds, and as a share of the minimum; the larger one
/// counts.
const STOOD: (f64, f64) = (1e-3, 0.1);
/// Share of lost packets of UDP in an interval that shows an overload.
const OVERLOADED: f64 = 0.05;
/// Minimum number of intervals with a queue to observe the rate.
const FEWEST_SEEN: usize = 3;
/// Maximum difference between the 10 % and the 90 % quantile of rates of intervals with a queue, as a share of their
/// median, for the rate to be constant.
const AGREE: f64 = 0.04;
/// Ratio of the highest carried rates to the rate of intervals with a queue, beyond which the rate changes: in fast
/// times no queue stands.
const FASTER: f64 = 1.05;
/// Queueing delay, as a share of the minimum RTT, from which a queue outlasts the response of CUBIC to a loss, a
/// reduction of the window by 0.3.
const OUTLASTS: f64 = 0.43;
/// Number of first intervals in which a flow may be slow because it begins.
const BEGINNING: usize = 2;
/// Share of the rate below which an interval after the beginning of the flow may contain an outage.
const STALLED: f64 = 0.6;
/// Share of the rate below which an interval left the link idle, so its shortest RTT is that of the path.
const IDLE: f64 = 0.9;
/// Minimum number of intervals that ended with the shortest RTT and did not fill the link, for the base delay to be
/// identified if no minimum RTT is reported.
const FEWEST_FREE: usize = 3;
/// Difference from the minimum RTT up to which an RTT counts as the minimum: in seconds, and as a share; the larger one
/// counts.
const ALIKE_RTT: (f64, f64) = (1e-3, 0.02);
/// Coverage of the intervals of parameters.
const LEVEL: f64 = 0.9;
/// Maximum number of intervals for a rate over time.
const MOST_STRETCHES: usize = 20_000;
/// Relative difference below which intervals count as equally long.
const ALIKE: f64 = 0.1;
/// Minimum number of packets assumed in intervals without a queue, in draws of the loss probability.
const FEWEST_PACKETS: f64 = 1000.0;
/// Lower limit of a positive loss probability in draws without any observation of losses.
const LEAST_LOSS: f64 = 1e-4;
/// Upper limit of the loss probability in draws without any observation of losses.
const MOST_LOSS: f64 = 0.02;

impl Stretches {
    /// Share of the packets that were lost in an interval, at most 1.
    fn lost_in(&self, at: &Carried) -> f64 {
        let in_all = self.lost_share.unwrap_or(0.0);
        at.lost.map_or(in_all, |lost| lost / at.packets.max(1.0)).min(1.0)
    }

    /// Rate of arrivals in an interval, in bit/s.
    fn arrived_bps(&self, at: &Carried) -> f64 {
        let share = if self.is_udp { 1.0 - self.lost_in(at) } else { 1.0 };
        8.0 * at.bytes * share / (at.to_s - at.from_s)
    }

    /// True if an interval shows a queue: its RTT exceeds the minimum `least_s` while TCP was not application-limited,
    /// or UDP overloaded the link.
    fn stood_in(&self, at: &Carried, least_s: Option<f64>) -> bool {
        if self.is_udp {
            return self.lost_in(at) >= OVERLOADED;
        }
        let beyond = at.rtt_s.zip(least_s).map(|(rtt, least)| rtt - least > STOOD.0.max(STOOD.1 * least));
        beyond == Some(true) && !at.is_limited
    }

    /// Intervals of TCP in which a queue stood from beginning to end: it stood at both ends, and no loss in between
    /// made the sender hold back. Of UDP, all overloaded intervals.
    fn filled<'a>(&self, carried: &'a [Carried], least_s: Option<f64>) -> Vec<&'a Carried> {
        let stood = |at: &Carried| self.stood_in(at, least_s);
        if self.is_udp {
            return carried.iter().filter(|at| stood(at)).collect();
        }
        // A queueing delay of 0.43 minimum RTTs outlasts the response of a congestion control to a loss.
        let is_long =
            |at: &Carried| at.rtt_s.zip(least_s).is_some_and(|(rtt, least)| rtt - least > OUTLASTS * least);
        let follows = |pair: &&'a [Carried]| {
            let lasts = self.lost_in(&pair[1]) == 0.0 || (is_long(&pair[0]) && is_long(&pair[1]));
            stood(&pair[0])
                && stood(&pair[1])
                && lasts
                && pair[1].from_s <= pair[0].to_s + ALIKE * (pair[1].to_s - pair[1].from_s)
        };
        carried.windows(2).filter(follows).map(|pair| &pair[1]).collect()
    }

    /// Number of lost packets, and of all packets, in intervals.
    fn losses(&self, of: &[Carried]) -> (f64, f64) {
        of.iter().fold((0.0, 0.0), |sum, at| (sum.0 + self.lost_in(at) * at.packets, sum.1 + at.packets))
    }
}

/// Rate of a link by a report in intervals, with draws.
struct CoarseRate {
    value: f64,
    is_seen: bool,
    over: OverTime,
    draws: Vec<f64>,
}

impl CoarseRate {
    /// Estimates the rate from the intervals `carried`, of which those in `seen` had a queue; `points` are
    /// low-discrepancy points for the draws.
    fn new(
        of: &Stretches,
        (carried, seen): (&[Carried], &[Carried]),
        least_s: Option<f64>,
        points: &[[f64; 3]],
        random: &mut Stream,
    ) -> Self {
        let mut all: Vec<f64> = carried.iter().map(|at| of.arrived_bps(at)).collect();
        all.sort_by(f64::total_cmp);
        let most = quantile(&all, 0.95);
        let rates = |of_all: &mut dyn Iterator<Item = &Carried>| -> Vec<f64> {
            of_all.map(|at| of.arrived_bps(at)).filter(|rate| *rate > 0.0).collect()
        };
        let (of_seen, of_filled) =
            (rates(&mut seen.iter()), rates(&mut of.filled(carried, least_s).into_iter()));
        let over = if of_seen.len() >= FEWEST_SEEN {
            OverTime::new(of, |at| of.stood_in(at, least_s), |at| of.arrived_bps(at))
        } else {
            OverTime::default()
        };
        // If the queue ran empty within an interval, the interval carried less than the link could have.
        let are_filled = of_filled.len() >= FEWEST_SEEN;
        let told = if are_filled { of_filled } else { of_seen };
        let is_one = agree(&told) && most <= FASTER * median(&mut told.clone());
        let is_seen = are_filled && (!over.rows.is_empty() || is_one);
        let constant = match () {
            () if is_seen => median(&mut told.clone()),
            // The rate may change: its slow times bound it.
            () if told.len() >= FEWEST_SEEN => slow(&told),
            () => most,
        };
        let value = mean_over_time(&over.rows, lasts_s(carried)).unwrap_or(constant);
        let draws = if !over.rows.is_empty() {
            mean_draws(&over.series, value, random)
        } else if is_seen {
            let least = carried_by_all(of, value);
            points
                .iter()
                .map(|[of_rate, ..]| resampled(&told, random) * (1.0 - of_rate * (1.0 - least)))
                .collect()
        } else {
            points.iter().map(|[of_rate, ..]| constant * libm::pow(BEYOND, *of_rate)).collect()
        };
        Self { value, is_seen, over, draws }
    }
}

/// Ratio of the mean rate of arrivals to `rate` (bit/s) if some intervals carried far less than that rate, since the
/// link may then have been slow or down; 1 if none did.
fn carried_by_all(of: &Stretches, rate: f64) -> f64 {
    let carried = &of.carried;
    // A flow begins slowly.
    if carried.iter().skip(BEGINNING).all(|at| of.arrived_bps(at) >= STALLED * rate)
        || lasts_s(carried) <= 0.0
    {
        return 1.0;
    }
    let bits: f64 = carried.iter().map(|at| of.arrived_bps(at) * (at.to_s - at.from_s)).sum();
    (bits / lasts_s(carried) / rate).min(1.0)
}

/// Rate of slow intervals in bit/s: the 10 % quantile.
fn slow(rates: &[f64]) -> f64 {
    let mut sorted = rates.to_vec();
    sorted.sort_by(f64::total_cmp);
    quantile(&sorted, 0.1)
}

/// True if most intervals carried about the same rate.
fn agree(rates: &[f64]) -> bool {
    let mut sorted = rates.to_vec();
    sorted.sort_by(f64::total_cmp);
    quantile(&sorted, 0.9) - quantile(&sorted, 0.1) <= AGREE * quantile(&sorted, 0.5)
}

/// Time from the start of the first interval to the end of the last, in seconds.
fn lasts_s(carried: &[Carried]) -> f64 {
    match (carried.first(), carried.last()) {
        (Some(first), Some(last)) => last.to_s - first.from_s,
        _ => 0.0,
    }
}

impl CoarseFit {
    /// Fits a link to a report by intervals; `seed` seeds the bootstrap and all draws.
    ///
    /// # Errors
    /// Fewer than three intervals carried data.
    pub fn new(of: &Stretches, seed: u64) -> Result<Self, CoarseError> {
        let carried: Vec<Carried> = of.carried.iter().copied().filter(is_whole).collect();
        if carried.len() < FEWEST {
            return Err(CoarseError::TooFew(carried.len()));
        }
        let mut random = RunSeed { seed, run: 0 }.stream("fit.coarse");
        let rtts = || carried.iter().filter_map(|of| of.rtt_s);
        let least = of.least_rtt_s.or_else(|| rtts().reduce(f64::min));
        let (seen, free): (Vec<Carried>, Vec<Carried>) =
            carried.iter().partition(|at| of.stood_in(at, least));
        let mut even = Even::new(&mut random);
        let points: Vec<[f64; 3]> = (0..DRAWS).map(|_| even.next()).collect();
        let rate = CoarseRate::new(of, (&carried, &seen), least, &points, &mut random);

        // Losses in intervals without a queue are random.
        let (random_losses, congestive) = (of.losses(&free), of.losses(&seen));
        let tells_losses =
            random_losses.1 > 0.0 && (of.lost_share.is_some() || carried.iter().any(|at| at.lost.is_some()));
        let loss = if random_losses.1 > 0.0 { random_losses.0 / random_losses.1 } else { 0.0 };

        // The queue held at least the data that the longest RTT implies.
        let delay_s = least.unwrap_or(0.0);
        // If hardly any interval ended with the shortest RTT, this RTT may contain a standing queue.
        let is_least = |rtt: f64| rtt - delay_s <= ALIKE_RTT.0.max(ALIKE_RTT.1 * delay_s);
        let is_idle = |at: &Carried| !rate.is_seen || of.arrived_bps(at) < IDLE * rate.value;
        let at_least = carried.iter().filter(|at| at.rtt_s.is_some_and(is_least) && is_idle(at)).count();
        let may_stand = of.least_rtt_s.is_none() && least.is_some() && at_least < FEWEST_FREE;
        let held = rtts().fold(delay_s, f64::max) - delay_s;
        let low = (held * rate.value / 8.0).max(of.packet_bytes);
        let draws: Vec<Draw> = (rate.draws.iter().zip(&points))
            .map(|(rate_bps, [of_delay, of_queue, of_loss])| {
                let most_s = if may_stand { most_standing(delay_s, 8.0 * low / rate_bps) } else { 0.0 };
                let stood_s = of_delay * most_s.min(delay_s);
                let delay_s = delay_s - stood_s;
                let under_way = rate_bps / 8.0 * delay_s;
                let (from, to) = (low.max(USUAL[0] * under_way), (BEYOND * low).max(USUAL[1] * under_way));
                Draw {
                    rate_bps: *rate_bps,
                    delay_s,
                    queue_bytes: from * libm::pow(to / from, *of_queue) + rate_bps / 8.0 * stood_s,
                    loss: if tells_losses {
                        share(random_losses.0, random_losses.1.max(FEWEST_PACKETS), &mut random)
                    } else {
                        unknown_loss(*of_loss)
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
        let told = |is_told, verdict| if is_told { verdict } else { Verdict::NotIdentified };
        let time = |of: &[Carried]| of.iter().map(|at| at.to_s - at.from_s).sum::<f64>();
        let lasts_s = lasts_s(&carried);
        let tells = |at: &Carried| is_whole(at) && of.stood_in(at, least) && of.arrived_bps(at) > 0.0;
        Ok(Self {
            rate: parameter(rate.value, ends(&|draw| draw.rate_bps), verdict(rate.is_seen)),
            delay: parameter(delay_s, ends(&|draw| draw.delay_s), told(least.is_some(), verdict(!may_stand))),
            queue: parameter(low, ends(&|draw| draw.queue_bytes), Verdict::Bounded),
            loss: parameter(
                loss,
                ends(&|draw| draw.loss),
                told(tells_losses, verdict(random_losses.0 > 0.0)),
            ),
            lost: (random_losses.0, congestive.0),
            busy_share: time(&seen) / time(&carried),
            lasts_s,
            carried_bps: carried.iter().map(|at| 8.0 * at.bytes).sum::<f64>()
                / lasts_s.max(f64::MIN_POSITIVE),
            packets: carried.iter().map(|at| at.packets).sum(),
            levels: levels(&rate.over.series, rate.over.step_s),
            tells: of.carried.iter().map(tells).collect(),
            held_out: rate.over.held_out,
            rates: rate.over.rows,
            draws,
        })
    }
}

/// Draw of a loss probability without any observation, from a uniform number: zero in half of the cases, else
/// log-uniform from 0.01 to 2 %.
fn unknown_loss(uniform: f64) -> f64 {
    if uniform < 0.5 { 0.0 } else { LEAST_LOSS * libm::pow(MOST_LOSS / LEAST_LOSS, 2.0 * uniform - 1.0) }
}

/// True if an interval has a positive duration and carried data.
fn is_whole(of: &Carried) -> bool {
    of.bytes > 0.0 && of.to_s > of.from_s
}

/// Rate over time by intervals of equal length.
#[derive(Default)]
struct OverTime {
    /// Pairs of start in seconds since the first interval, and bit/s; empty if constant.
    rows: Vec<(f64, f64)>,
    /// Logarithm of each interval's rate in bit/s, `None` where not observed; empty if constant.
    series: Vec<Option<f64>>,
    step_s: f64,
    held_out: Option<f64>,
}

impl OverTime {
    /// Estimates the rate over time from intervals of equal length. Intervals for which `stood` is true show the rate,
    /// which `arrived` gives in bit/s. The result is empty if lengths differ or the rate is constant.
    fn new(of: &Stretches, stood: impl Fn(&Carried) -> bool, arrived: impl Fn(&Carried) -> f64) -> Self {
        let (Some(first), Some(last)) = (of.carried.first(), of.carried.last()) else {
            return Self::default();
        };
        let step_s = median(&mut of.carried.iter().map(|at| at.to_s - at.from_s).collect::<Vec<f64>>());
        let place = |at: &Carried| (at.from_s - first.from_s) / step_s;
        let is_even = of.carried.iter().all(|at| {
            let off = (place(at) - place(at).round()).abs();
            off < ALIKE && (at.to_s - at.from_s - step_s).abs() < ALIKE * step_s
        });
        if !is_even || place(last) >= MOST_STRETCHES as f64 {
            return Self::default();
        }
        let count = place(last).round() as usize + 1;
        let (mut series, mut windows) = (vec![None; count], vec![Window::default(); count]);
        let mut outages: Vec<(f64, f64)> = Vec::new();
        for at in &of.carried {
            let index = place(at).round() as usize;
            // With UDP above the link's rate, an interval without arrivals is an outage.
            if of.is_udp && arrived(at) <= 0.0 {
                let from_s = index as f64 * step_s;
                match outages.last_mut() {
                    Some(last) if from_s - last.1 < ALIKE * step_s => last.1 = from_s + step_s,
                    _ => outages.push((from_s, from_s + step_s)),
                }
            } else if is_whole(at) && stood(at) {
                series[index] = Some(libm::log(arrived(at)));
                windows[index].error = 1.0 / at.packets.max(1.0);
            }
        }
        let Some(changes) = Changes::new(&series, &windows) else { return Self::default() };
        let held_out = Some(changes.ratio);
        // TCP's rate varies by itself too, so its change points must predict held-out intervals.
        let varies = if of.is_udp { changes.varies() } else { changes.varies() && changes.is_predicted() };
        if !varies && outages.is_empty() {
            return Self { held_out, ..Self::default() };
        }
        let rows = table(&series, step_s, 0.0, &outages);
        Self { rows, series, step_s, held_out }
    }
}

/// Median of a bootstrap sample of the values.
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
        // Only one interval ended with the shortest RTT, maybe with a queue: a shorter path explains it as well.
        assert_eq!(fit.delay.verdict, Verdict::Bounded);
        assert!(fit.delay.low < 0.03 && fit.delay.high == 0.04, "{:?}", fit.delay);
        // 50 ms of 19.2 Mbit/s.
        assert!((fit.queue.value - 120e3).abs() < 1.0, "{:?}", fit.queue);
        assert_eq!(fit.loss.value, 0.0);
    }

    /// If a queue stands at the end of each interval, but losses let it run empty within most, the intervals without
    /// losses show the rate. If all intervals lost packets, the rate is only bounded.
    #[test]
    fn intervals_with_losses_may_have_left_the_link_idle() {
        let of = stretches(false, |second| match second % 3 {
            0 => (20.0, Some(0.05), Some(0.0)),
            at => (17.0 + 0.2 * (at + second % 5) as f64, Some(0.05), Some(6.0)),
        });
        let of = |least_lost: f64| {
            let mut of = of.clone();
            of.least_rtt_s = Some(0.04);
            of.carried.iter_mut().for_each(|at| at.lost = at.lost.map(|lost| lost.max(least_lost)));
            CoarseFit::new(&of, 1).unwrap().rate
        };
        let rate = of(0.0);
        assert_eq!(rate.verdict, Verdict::Identified);
        assert!((rate.value - 20e6).abs() < 1.0, "{rate:?}");
        let rate = of(1.0);
        assert_eq!(rate.verdict, Verdict::Bounded);
        assert!(rate.value <= 20e6, "{rate:?}");
    }

    #[test]
    fn without_a_queue_the_rate_is_a_bound() {
        let of = stretches(false, |second| (4.0 + (second % 3) as f64, Some(0.0405), Some(1.0)));
        let fit = CoarseFit::new(&of, 1).unwrap();
        assert_eq!((fit.rate.verdict, fit.loss.verdict), (Verdict::Bounded, Verdict::Identified));
        assert!((fit.rate.value - 6e6).abs() < 1.0 && fit.rate.high > 3.0 * fit.rate.value);
        assert_eq!(fit.delay.verdict, Verdict::Identified);
    }

    #[test]
    fn what_was_lost_and_not_told_is_not_identified() {
        let fit = CoarseFit::new(&stretches(false, |_| (10.0, Some(0.04), None)), 1).unwrap();
        assert_eq!(fit.loss.verdict, Verdict::NotIdentified);
        assert!(fit.draws.iter().all(|draw| draw.loss <= 0.02));
        assert!((60..140).contains(&fit.draws.iter().filter(|draw| draw.loss == 0.0).count()));
    }

    /// UDP at 60 Mbit/s shows the changing rate of a link that alternates between 20 and 50 Mbit/s, with an outage of
    /// two seconds.
    #[test]
    fn stretches_show_a_rate_that_changes() {
        let rate = |second: usize| match second {
            17 | 18 => 0.0,
            _ if second % 12 < 6 => 20.0,
            _ => 50.0,
        };
        let mut of = stretches(true, |second| (60.0, None, Some((60.0 - rate(second)) * 125e3 / 1500.0)));
        let fit = CoarseFit::new(&of, 1).unwrap();
        let expected = [(0.0, 20e6), (6.0, 50e6), (12.0, 20e6), (17.0, 0.0), (19.0, 50e6), (24.0, 20e6)];
        assert_eq!(fit.rates.len(), expected.len(), "{:?}", fit.rates);
        for (row, expected) in fit.rates.iter().zip(expected) {
            assert!((row.0 - expected.0).abs() < 0.01, "{:?}", fit.rates);
            assert!((row.1 - expected.1).abs() < 1e3, "{:?}", fit.rates);
        }
        assert_eq!(fit.rate.verdict, Verdict::Identified);
        assert!((fit.rate.value - (17.0 * 20e6 + 11.0 * 50e6) / 30.0).abs() < 1e4, "{:?}", fit.rate);
        // All intervals were overloaded: the channel's losses are unknown.
        assert_eq!(fit.loss.verdict, Verdict::NotIdentified);
        assert!(fit.draws.iter().all(|draw| draw.loss <= 0.02));
        // A single rate gives no table, nor do intervals of different lengths.
        for at in &mut of.carried {
            at.lost = Some(0.5 * at.packets);
        }
        assert_eq!(CoarseFit::new(&of, 1).unwrap().rates, []);
        of.carried[3].to_s -= 0.5;
        of.carried[9].lost = Some(0.1 * of.carried[9].packets);
        assert_eq!(CoarseFit::new(&of, 1).unwrap().rates, []);
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
