//! Fit of a link: the smallest model that the record needs, its parameters with intervals and verdicts, and draws of
//! them.

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

/// Model of a link; each one extends an earlier one.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Model {
    /// Constant rate, base delay, drop-tail queue, independent losses.
    M0,
    /// Like [`M0`](Self::M0), with losses in bursts: a two-state chain.
    M1,
    /// Rate that changes: constant between change points.
    M2,
    /// Like [`M2`](Self::M2), with changes that repeat after a period.
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
    /// The record tells only that the parameter is at least the value.
    Bounded,
    /// The record does not identify the parameter.
    NotIdentified,
}

/// Estimate of a parameter, its 90 % interval and the verdict.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Parameter {
    /// Estimate, or bound.
    pub value: f64,
    /// Lower end of the interval.
    pub low: f64,
    /// Upper end of the interval.
    pub high: f64,
    /// Identifiability of the parameter by the record.
    pub verdict: Verdict,
}

/// Level of a rate that changes.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct RateLevel {
    /// Rate in bit/s.
    pub rate_bps: f64,
    /// Share of time at the level.
    pub share: f64,
    /// Mean duration in seconds.
    pub lasts_s: f64,
}

/// A link that explains a record.
#[derive(Clone, Debug)]
pub struct Fit {
    /// The smallest model that passes its held-out test.
    pub model: Model,
    /// Rate in bit/s that a long flow gets: behind a policer that of the policer, else that of the link.
    pub rate: Parameter,
    /// Rate of the link in bit/s; in M2 and M3 its mean over time.
    pub link_rate: Parameter,
    /// Policer in front of the link, if the losses show one.
    pub policer: Option<Policer>,
    /// Number of packets that it dropped.
    pub policed: usize,
    /// Delay without queueing and transmission, in seconds: both directions if the record has RTTs.
    pub delay: Parameter,
    /// Queue limit in bytes.
    pub queue: Parameter,
    /// Probability of random loss.
    pub loss: Parameter,
    /// Details of random losses.
    pub losses: Losses,
    /// Mean length of a loss burst in packet times at the rate; `None` without bursts.
    pub mean_burst: Option<f64>,
    /// Details of congestive losses and the queue's content.
    pub limit: QueueLimit,
    /// Rate over time of M2 and M3 as pairs of start time in seconds and bit/s.
    pub rates: Vec<(f64, f64)>,
    /// Rate levels of a hidden Markov chain, in ascending order.
    pub levels: Vec<RateLevel>,
    /// Rate in the table at times when the link was faster than the offered traffic: a lower bound in bit/s.
    pub quiet_bps: Option<f64>,
    /// Number of waiting packets in a window that suffices to observe its rate.
    pub fewest_packets: f64,
    /// Windows of [`Self::window_s`] with the observations of the rate.
    pub windows: Vec<Window>,
    /// Length of a window in seconds.
    pub window_s: f64,
    /// Base delay over time, if it changed.
    pub delays: Vec<DelayLevel>,
    /// Period of 15 s, if it was tested and found.
    pub period: Option<Period>,
    /// Relative clock skew, for a record with two clocks.
    pub clock: Option<Clock>,
    /// Share of time in which the link was observed busy.
    pub busy_share: f64,
    /// Share of packets that waited in the queue.
    pub waited_share: f64,
    /// Share of the deviations from a link without a queue that a constant rate explains.
    pub explained: f64,
    /// Mean deviation of delays from the model with a constant rate, in seconds.
    pub deviation_s: f64,
    /// Ratio of mean squared errors on held-out rates: change points over a constant.
    pub held_out: Option<f64>,
    /// Joint draws of the parameters that explain the record.
    pub draws: Vec<Draw>,
}

/// The share of draws between the ends of an interval.
const LEVEL: f64 = 0.9;
/// The period of Starlink's reallocation.
const PERIOD_S: f64 = 15.0;
/// A hidden Markov chain is found of at most so many steps.
const MOST_STEPS: usize = 1200;
/// A link behind a policer is at least so much faster.
const FASTER: f64 = 1.01;
/// A one-way delay that is longer is one of clocks that are apart.
const LONGEST_S: f64 = 1.0;

/// Delay of the reverse path in seconds: as recorded, else equal to the forward one.
fn way_back(record: &Record, clock: Clock, there_s: f64) -> f64 {
    let alike_s = if (0.0..LONGEST_S).contains(&there_s) { there_s } else { 0.0 };
    record.reverse_s(clock.skew, clock.since_s).unwrap_or(alike_s)
}

/// Parameters of a link that a record leaves open, beside the bounds of the queue limit.
struct Open {
    ends: QueueEnds,
    unknown: Unknown,
    /// Whether the reverse path was recorded, and how long it takes.
    has_back: bool,
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

    /// The delay there and back; of a rate that may be up to four times the bound, that of the middle.
    fn delay(&self, seen: &Seen, draws: &[Draw]) -> Parameter {
        let delay_s = seen.base_s + self.back_s;
        let delay_s = self.unknown.bound.map_or(delay_s, |bound| bound.delay_s(2.0 * bound.rate_bps));
        let verdict = match (self.has_back, self.unknown.standing_s) {
            (false, _) => Verdict::NotIdentified,
            (true, Some(_)) => Verdict::Bounded,
            (true, None) => Verdict::Identified,
        };
        // Jitter makes the usual delay longer than the shortest, and the path takes either.
        let (low, high) = ends_of(draws, |draw| draw.delay_s);
        let shortest_s = seen.least_s - self.packet_s + self.back_s;
        parameter(delay_s.max(0.0), (low.min(shortest_s.max(0.0)), high), verdict)
    }
}

impl Fit {
    /// Fits a link to a record; `seed` is that of the bootstrap.
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
        // A policer is one if the link is faster.
        let least_bps = policer.map_or(0.0, |of| FASTER * of.high_bps);
        for draw in &mut draws {
            draw.rate_bps = draw.rate_bps.max(least_bps);
        }
        let verdict = |is_identified| if is_identified { Verdict::Identified } else { Verdict::Bounded };
        let queue = limit_within(open.ends, open.unknown.standing_s.is_some(), &draws);
        let ends = ends_of(&draws, |draw| draw.rate_bps);
        let link_rate = parameter(rate_bps.max(least_bps), ends, verdict(seen.is_identified()));
        // Where the queue is not known exactly, a standing one would pass for a longer path.
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
                // Without a rate waits are no bytes, unless outages alone made packets wait.
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

    /// Share of packets sent back to back, by which pacing is recognised.
    pub fn is_paced(&self, record: &Record) -> bool {
        record.back_to_back(self.rate.value) < 0.05
    }
}

/// The levels of a series of logarithms of rates in windows of so long; of a long series several windows count as one.
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

/// Queue limit within its range and draws; for a standing queue at least the observed content.
fn limit_within(ends: QueueEnds, stands: bool, draws: &[Draw]) -> Parameter {
    Parameter {
        value: if ends.is_bound { ends.low } else { ends.high },
        low: ends.low,
        high: draws.iter().map(|draw| draw.queue_bytes).fold(ends.high, f64::max),
        verdict: if ends.is_bound || stands { Verdict::Bounded } else { Verdict::Identified },
    }
}

/// Rates and delays there and back that belong together, as far as the record knows them.
fn rates_and_delays(seen: &Seen, rate_bps: f64, back_s: f64, random: &mut Stream) -> Vec<(f64, f64)> {
    let found = if seen.by_windows {
        let rates = mean_draws(&seen.over.series, rate_bps, random);
        rates.into_iter().map(|rate| (rate, (seen.base_s + seen.error_s * normal(random)).max(0.0))).collect()
    } else {
        seen.rate.draws(DRAWS, random)
    };
    found.into_iter().map(|(rate, there_s)| (rate, there_s + back_s)).collect()
}

/// The ends of an interval of what draws have.
fn ends_of(draws: &[Draw], of: impl Fn(&Draw) -> f64) -> (f64, f64) {
    interval(&draws.iter().map(of).collect::<Vec<_>>(), LEVEL)
}

/// A value and its interval, which holds it.
fn parameter(value: f64, (low, high): (f64, f64), verdict: Verdict) -> Parameter {
    Parameter { value, low: low.min(value), high: high.max(value), verdict }
}

/// The delays that the queue does not explain, over time.
fn residuals(record: &Record, rate_bps: f64, dropped: &[bool]) -> Vec<(f64, f64)> {
    let sent: Vec<(f64, f64)> = record.packets().iter().map(|packet| (packet.sent_s, packet.bytes)).collect();
    let of_queue = delays(&sent, rate_bps, |index| dropped[index]);
    let packets = record.packets().iter().zip(of_queue);
    let seen = packets.filter(|(packet, _)| packet.fate == Fate::Arrived);
    seen.filter_map(|(packet, delay)| Some((packet.sent_s, packet.seen_s? - packet.sent_s - delay))).collect()
}

#[cfg(test)]
mod tests;
