//! Fit of a link: the simplest model that the record needs, its parameters with intervals and verdicts, and joint draws
//! of the parameters.

use crate::base_delay::{DelayLevel, base_delays};
use crate::bootstrap::{interval, normal};
use crate::clock::{Clock, skew};
use crate::departures::departures;
use crate::draws::{Bound, DRAWS, Draw, QueueEnds, Unknown, draws_of, mean_draws};
use crate::hidden::Hidden;
use crate::losses::Losses;
use crate::over_time::{self, Window};
use crate::period::{Period, period};
use crate::policed::Policer;
use crate::queue::delays;
use crate::queue_limit::QueueLimit;
use crate::record::{Fate, Record};
use crate::seen::{Seen, waited};
use crate::standing::{most_standing, stands};
use crossfade_core::{RunSeed, Stream};

/// Model of a fitted link, from the simplest to the richest; each extends [`M0`](Self::M0).
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Model {
    /// Constant rate, base delay, drop-tail queue, independent losses.
    M0,
    /// Like [`M0`](Self::M0), but with losses in bursts, by a two-state channel.
    M1,
    /// Rate that changes over time, in levels between change points and outages; losses independent or in bursts.
    M2,
    /// Like [`M2`](Self::M2), with a period of 15 s in the rate.
    M3,
}

impl Model {
    fn of(varies: bool, is_periodic: bool, has_bursts: bool) -> Self {
        match (varies, is_periodic, has_bursts) {
            (true, true, _) => Self::M3,
            (true, false, _) => Self::M2,
            (false, _, true) => Self::M1,
            (false, _, false) => Self::M0,
        }
    }
}

/// Verdict on how well a record identifies a parameter.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Verdict {
    /// The record identifies the parameter, within its interval.
    Identified,
    /// The record gives only a bound: rate and queue limit are at least the value, the delay is at most the value, and
    /// the loss at most the upper end of the interval.
    Bounded,
    /// The record does not identify the parameter, and its value rests on an assumption.
    NotIdentified,
}

/// Estimate of a link parameter with its interval (90 %; of the queue limit of a packet record its whole range) and a
/// verdict.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Parameter {
    /// Estimate, or bound if the verdict is [`Verdict::Bounded`], in the unit of the parameter.
    pub value: f64,
    /// Lower end of the interval, in the unit of the parameter.
    pub low: f64,
    /// Upper end of the interval, in the unit of the parameter.
    pub high: f64,
    /// Verdict on how well the record identifies the parameter.
    pub verdict: Verdict,
}

/// Level of a changing rate, by a hidden Markov chain.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct RateLevel {
    /// Rate of the level in bit/s.
    pub rate_bps: f64,
    /// Share of time at the level, 0 to 1.
    pub share: f64,
    /// Mean duration of a stay at the level, in seconds.
    pub lasts_s: f64,
}

/// Link fitted to a record: model, parameters with intervals and verdicts, and joint draws.
#[derive(Clone, Debug)]
pub struct Fit {
    /// Simplest model that the record supports: each part beyond [`Model::M0`] passed a test.
    pub model: Model,
    /// Rate in bit/s that a long flow gets: the policer's rate if there is a policer, else the link's.
    pub rate: Parameter,
    /// Rate of the link in bit/s; in M2 and M3 its mean over time.
    pub link_rate: Parameter,
    /// Policer in front of the link, if the losses show one.
    pub policer: Option<Policer>,
    /// Number of packets that the policer dropped; 0 without a policer.
    pub policed: usize,
    /// Base delay of both directions in seconds, without queueing and transmission. If the reverse direction was not
    /// recorded, its delay is assumed equal to that of the forward direction.
    pub delay: Parameter,
    /// Queue limit in bytes, without the packet in transmission.
    pub queue: Parameter,
    /// Probability of random loss of a packet, apart from drops by the full queue.
    pub loss: Parameter,
    /// Counts, dispersion and bursts of the random losses.
    pub losses: Losses,
    /// Mean length of a loss burst in transmission times of a full packet at the link's rate; `None` for independent
    /// losses.
    pub mean_burst: Option<f64>,
    /// Evidence on the queue limit: largest backlog of an arrived packet, smallest of a dropped one, and number of
    /// drops.
    pub limit: QueueLimit,
    /// Rate over time in M2 and M3, as pairs of start in seconds since the first packet, and bit/s; empty in M0 and M1.
    pub rates: Vec<(f64, f64)>,
    /// Levels of a changing rate by a hidden Markov chain, in ascending order; empty if the rate is constant.
    pub levels: Vec<RateLevel>,
    /// Lower bound of the rate in bit/s, which [`Self::rates`] has at times when the link was faster than the offered
    /// traffic; `None` if such times are few.
    pub quiet_bps: Option<f64>,
    /// Minimum number of waiting packets in a window that shows the rate of this window.
    pub fewest_packets: f64,
    /// Windows of [`Self::window_s`] seconds with the observations of the rate.
    pub windows: Vec<Window>,
    /// Length of a window in seconds.
    pub window_s: f64,
    /// Base delay over time, one level if it did not change; empty if the rate was fitted by windows or few packets
    /// arrived.
    pub delays: Vec<DelayLevel>,
    /// Period of 15 s in the rate; `None` unless it is significant at 1 %.
    pub period: Option<Period>,
    /// Skew of the receiver's clock; `None` for a record of RTTs, which one clock measured.
    pub clock: Option<Clock>,
    /// Share of time in which the link was observed busy.
    pub busy_share: f64,
    /// Share of packets that waited in the queue.
    pub waited_share: f64,
    /// Share of the deviations of the delays from a link without a queue that a constant rate explains, at most 1.
    pub explained: f64,
    /// Mean absolute deviation of the delays from a link with a constant rate, in seconds; 0 if the rate was fitted by
    /// windows.
    pub deviation_s: f64,
    /// Ratio of mean squared errors on held-out windows, change points of the rate to a constant rate; `None` with too
    /// few windows.
    pub held_out: Option<f64>,
    /// Joint draws of all parameters, which express the uncertainty of the fit.
    pub draws: Vec<Draw>,
}

/// Coverage of the intervals: the share of draws between their ends.
const LEVEL: f64 = 0.9;
/// Period of Starlink's reallocation of satellites in seconds, for which the rate is tested.
const PERIOD_S: f64 = 15.0;
/// Maximum number of steps of a series for which a hidden Markov chain is estimated.
const MOST_STEPS: usize = 1200;
/// Minimum ratio of the rate of a link to the upper end of the rate of a policer in front of it.
const FASTER: f64 = 1.01;
/// One-way delay in seconds above which it comes from the offset of the clocks, not from the path.
const LONGEST_S: f64 = 1.0;

/// Delay of the reverse path in seconds: as recorded, else equal to the forward delay `there_s`, or 0 if that shows an
/// offset of the clocks.
fn way_back(record: &Record, clock: Clock, there_s: f64) -> f64 {
    let alike_s = if (0.0..LONGEST_S).contains(&there_s) { there_s } else { 0.0 };
    record.reverse_s(clock.skew, clock.since_s).unwrap_or(alike_s)
}

/// Parts of a link that a record may leave open: range of the queue limit, bounded rate or standing queue, and delay of
/// the reverse path.
struct Open {
    ends: QueueEnds,
    unknown: Unknown,
    /// True if the delay of the reverse path was recorded, alone or in RTTs.
    has_back: bool,
    /// Delay of the reverse path in seconds; 0 for RTTs, which contain it.
    back_s: f64,
    /// Transmission time of a full packet in seconds.
    packet_s: f64,
}

impl Open {
    fn new(record: &Record, seen: &Seen, left: &[f64], back_s: f64) -> Self {
        let (full, rate_bps) = (record.full_bytes(), seen.rate_bps(record.lasts_s()));
        let ends = QueueEnds::new(&seen.limit, full);
        let has_back = record.is_round_trip() || record.reverse_s(0.0, 0.0).is_some();
        let bound = (!seen.is_identified()).then(|| Bound {
            rate_bps: seen.quiet_bps().unwrap_or(seen.bound_bps),
            least_s: seen.least_s,
            bits: 8.0 * full,
            back_s: (has_back || back_s == 0.0).then_some(back_s),
        });
        let standing_s = (seen.is_identified()
            && (has_back || back_s > 0.0)
            && stands(record, left, seen.least_s, 8.0 * full / rate_bps))
        .then(|| most_standing(seen.base_s + back_s, 8.0 * ends.low / rate_bps));
        let packet_s = 8.0 * full / rate_bps;
        Self { ends, unknown: Unknown { bound, standing_s }, has_back, back_s, packet_s }
    }

    /// Base delay of both directions as a parameter. If the rate has only a lower bound, the estimate is the delay at
    /// twice the bound, the middle of the range up to four times the bound.
    fn delay(&self, seen: &Seen, draws: &[Draw]) -> Parameter {
        let delay_s = seen.base_s + self.back_s;
        let delay_s = self.unknown.bound.map_or(delay_s, |bound| bound.delay_s(2.0 * bound.rate_bps));
        let verdict = match (self.has_back, self.unknown.standing_s) {
            (false, _) => Verdict::NotIdentified,
            (true, Some(_)) => Verdict::Bounded,
            (true, None) => Verdict::Identified,
        };
        // With jitter the usual delay is longer than the shortest: the interval contains both.
        let (low, high) = ends_of(draws, |draw| draw.delay_s);
        let shortest_s = seen.least_s - self.packet_s + self.back_s;
        parameter(delay_s.max(0.0), (low.min(shortest_s.max(0.0)), high), verdict)
    }
}

impl Fit {
    /// Fits a link to a record; `seed` seeds the bootstrap and all draws.
    pub fn new(record: &Record, seed: u64) -> Self {
        let stream = |name: &str| RunSeed { seed, run: 0 }.stream(&format!("fit.{name}"));
        let clock = (!record.is_round_trip()).then(|| skew(record));
        let corrected = clock.map(|clock| clock.corrected(record));
        let whole = corrected.unwrap_or_else(|| record.clone()).in_order();
        let policed = Policer::of(&whole);
        let record = &policed.as_ref().map_or_else(|| whole.clone(), |(_, dropped)| whole.without(dropped));
        let policer = policed.as_ref().map(|of| of.0);
        let (full, lasts) = (record.full_bytes(), record.lasts_s());
        let seen = Seen::new(record);
        let over = &seen.over;
        let period = period(&over.series, seen.window_s, PERIOD_S, &mut stream("period"));
        let period = period.filter(|of| of.p_value <= 0.01);
        let rate_bps = seen.rate_bps(lasts);
        let packet_s = 8.0 * full / rate_bps;
        let left = departures(record, seen.base_s, 8.0 * full / packet_s, |index| seen.dropped[index]);
        let losses = Losses::new(record, &seen.near, &seen.before, &left, packet_s);
        let back_s = clock.map_or(0.0, |clock| way_back(record, clock, seen.base_s));
        let open = Open::new(record, &seen, &left, back_s);
        let of_rate = rates_and_delays(&seen, rate_bps, back_s, &mut stream("rate"));
        let mut draws =
            draws_of(&of_rate, open.unknown, open.ends, (&losses, 8.0 * full), &mut stream("draws"));
        // A policer shows only if the link behind it is faster.
        let least_bps = policer.map_or(0.0, |of| FASTER * of.high_bps);
        for draw in &mut draws {
            draw.rate_bps = draw.rate_bps.max(least_bps);
        }
        let verdict = |is_identified| if is_identified { Verdict::Identified } else { Verdict::Bounded };
        let queue = limit_within(open.ends, open.unknown.standing_s.is_some(), &draws);
        let ends = ends_of(&draws, |draw| draw.rate_bps);
        let link_rate = parameter(rate_bps.max(least_bps), ends, verdict(seen.is_identified()));
        // Where the queue length is not known exactly, a standing queue would pass for a longer path.
        let points =
            if seen.by_windows { Vec::new() } else { residuals(record, seen.rate.rate_bps, &seen.dropped) };
        Self {
            model: Model::of(over.varies, period.is_some(), losses.bursts.is_some()),
            rate: policer.map_or(link_rate, |of| {
                parameter(of.rate_bps, (of.low_bps, of.high_bps), Verdict::Identified)
            }),
            link_rate,
            policer,
            policed: policed.map_or(0, |(_, dropped)| dropped.iter().filter(|is_one| **is_one).count()),
            delay: open.delay(&seen, &draws),
            queue: Parameter {
                // Without a rate, waiting times give no limit in bytes, unless outages alone made packets wait.
                verdict: match queue.verdict {
                    Verdict::Identified if !seen.is_identified() && seen.quiet_bps().is_none() => {
                        Verdict::NotIdentified
                    }
                    verdict => verdict,
                },
                ..queue
            },
            loss: parameter(losses.share(), ends_of(&draws, |draw| draw.loss), verdict(losses.lost > 0)),
            mean_burst: losses.bursts.as_ref().map(|of| of.mean_burst(of.forgets, packet_s)),
            losses,
            limit: seen.limit,
            quiet_bps: seen.quiet_bps(),
            levels: if over.varies { levels(&over.series, seen.window_s) } else { Vec::new() },
            busy_share: over.windows.iter().map(|window| window.busy_s).sum::<f64>() / lasts,
            fewest_packets: over_time::fewest(&over.windows),
            window_s: seen.window_s,
            delays: base_delays(&points, (lasts / 12.0).max(10.0)),
            period,
            clock,
            waited_share: waited(&seen.before, full) / record.packets().len() as f64,
            explained: seen.rate.explains(),
            deviation_s: if seen.by_windows { 0.0 } else { seen.rate.deviation_s },
            held_out: over.held_out,
            rates: if over.varies { seen.over.rows } else { Vec::new() },
            windows: seen.over.windows,
            draws,
        }
    }

    /// True if the sender of `record` paced its packets: less than 5 % were sent back to back at the fitted rate.
    pub fn is_paced(&self, record: &Record) -> bool {
        record.back_to_back(self.rate.value) < 0.05
    }
}

/// Levels of a changing rate by a hidden Markov chain, from the logarithms of the rates in bit/s of windows of
/// `window_s` seconds. Of a long series, means of several windows are used.
pub(crate) fn levels(series: &[Option<f64>], window_s: f64) -> Vec<RateLevel> {
    let several = series.len().div_ceil(MOST_STEPS).max(1);
    let window_s = window_s * several as f64;
    let mean = |of: &[Option<f64>]| {
        let seen = of.iter().flatten().count() as f64;
        (seen > 0.0).then(|| of.iter().flatten().sum::<f64>() / seen)
    };
    let series: Vec<Option<f64>> = series.chunks(several).map(mean).collect();
    let Some(chain) = Hidden::new(&series) else { return Vec::new() };
    let of = |level: usize| RateLevel {
        rate_bps: libm::exp(chain.levels[level]),
        share: chain.share(level),
        lasts_s: chain.lasts(level) * window_s,
    };
    (0..chain.levels.len()).map(of).collect()
}

/// Queue limit as a parameter: its interval contains the limits of all draws. It is only bounded if the queue was never
/// full, or may never have been empty (`stands`).
fn limit_within(ends: QueueEnds, stands: bool, draws: &[Draw]) -> Parameter {
    Parameter {
        value: if ends.is_bound { ends.low } else { ends.high },
        low: ends.low,
        high: draws.iter().map(|draw| draw.queue_bytes).fold(ends.high, f64::max),
        verdict: if ends.is_bound || stands { Verdict::Bounded } else { Verdict::Identified },
    }
}

/// Draws of pairs of rate in bit/s and base delay of both directions in seconds, by bootstrap of windows, or of blocks
/// of the record if the rate is constant.
fn rates_and_delays(seen: &Seen, rate_bps: f64, back_s: f64, random: &mut Stream) -> Vec<(f64, f64)> {
    let found = if seen.by_windows {
        let rates = mean_draws(&seen.over.series, rate_bps, random);
        rates.into_iter().map(|rate| (rate, (seen.base_s + seen.error_s * normal(random)).max(0.0))).collect()
    } else {
        seen.rate.draws(DRAWS, random)
    };
    found.into_iter().map(|(rate, there_s)| (rate, there_s + back_s)).collect()
}

/// Ends of the 90 % interval of a value `of` the draws.
fn ends_of(draws: &[Draw], of: impl Fn(&Draw) -> f64) -> (f64, f64) {
    interval(&draws.iter().map(of).collect::<Vec<_>>(), LEVEL)
}

/// Parameter with an interval extended to contain its value.
fn parameter(value: f64, (low, high): (f64, f64), verdict: Verdict) -> Parameter {
    Parameter { value, low: low.min(value), high: high.max(value), verdict }
}

/// Pairs of sending time and delay minus queueing and transmission at a constant rate, in seconds, for each packet that
/// arrived.
fn residuals(record: &Record, rate_bps: f64, dropped: &[bool]) -> Vec<(f64, f64)> {
    let sent: Vec<(f64, f64)> = record.packets().iter().map(|packet| (packet.sent_s, packet.bytes)).collect();
    let of_queue = delays(&sent, rate_bps, |index| dropped[index]);
    let packets = record.packets().iter().zip(of_queue);
    let seen = packets.filter(|(packet, _)| packet.fate == Fate::Arrived);
    seen.filter_map(|(packet, delay)| Some((packet.sent_s, packet.seen_s? - packet.sent_s - delay))).collect()
}

#[cfg(test)]
mod tests;
