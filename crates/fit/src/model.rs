//! Fit of a link: the smallest model that the record needs, its parameters with intervals and verdicts, and draws of
//! them.

use crate::base_delay::{DelayLevel, base_delays};
use crate::bootstrap::{interval, median};
use crate::clock::{Clock, skew};
use crate::departures::{busy, departures, found_before};
use crate::draws::{Bound, DRAWS, Draw, QueueEnds, Unknown, draws_of, mean_draws};
use crate::hidden::Hidden;
use crate::losses::Losses;
use crate::over_time::{self, Changes, FEWEST_WINDOWS, Window};
use crate::period::{Period, period};
use crate::queue::{backlogs, delays};
use crate::queue_limit::{Drops, QueueLimit};
use crate::record::{Fate, Record};
use crate::settled::{Settled, busy_rate};
use crate::standing::{most_standing, stands};
use crossfade_core::RunSeed;

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
    /// How well the record identifies the parameter.
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
    /// Rate in bit/s; in M2 and M3 its mean over time.
    pub rate: Parameter,
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
    /// Mean deviation of delays from the model with a constant rate, in seconds.
    pub deviation_s: f64,
    /// Ratio of mean squared errors on held-out rates: change points over a constant.
    pub held_out: Option<f64>,
    /// Joint draws of the parameters that explain the record.
    pub draws: Vec<Draw>,
}

/// Maximum number of time windows.
const MOST_WINDOWS: f64 = 20_000.0;

/// Probability of the intervals.
const LEVEL: f64 = 0.9;
/// Minimum number of waiting packets to identify a rate.
const FEWEST_WAITED: f64 = 50.0;
/// Number of packets after an idle time that show the base delay, and the minimum of such packets in all.
const FIRST: usize = 4;
const FEWEST_FIRST: usize = 30;
/// Period of Starlink's reallocation, in seconds.
const PERIOD_S: f64 = 15.0;
/// One-way delay in seconds beyond which the clocks are assumed unsynchronised.
const LONGEST_S: f64 = 1.0;

/// Rate over time, and derived values.
struct OverTime {
    /// Rows of start time since the first packet, and bit/s.
    rows: Vec<(f64, f64)>,
    windows: Vec<Window>,
    series: Vec<Option<f64>>,
    held_out: Option<f64>,
    varies: bool,
    /// Whether change points predict the held-out windows.
    is_predicted: bool,
    /// Lower bound of the rate, if the link was faster than the offered traffic most of the time.
    bound_bps: Option<f64>,
}

/// Maximum number of steps for a hidden Markov chain.
const MOST_STEPS: usize = 1200;
/// Share of windows without a queue, among those with an observation, beyond which the rate has a lower bound only.
const MOSTLY: f64 = 0.3;
/// Utilisation from which errors in the queue's content accumulate, since it is rarely empty.
const USED: f64 = 0.3;

impl OverTime {
    /// Rate over time of a record with these departure times.
    fn new(record: &Record, left: &[f64], window_s: f64, margin_s: f64) -> Self {
        let start = record.packets().first().map_or(0.0, |packet| packet.sent_s);
        let gaps = busy(record, left, margin_s);
        let outages = over_time::outages(&gaps);
        let windows = over_time::windows(&gaps, &outages, start, window_s);
        let series = over_time::series(&windows, window_s, over_time::fewest(&windows));
        let changes = Changes::new(&series, &windows);
        let has_outages = changes.is_some() && !outages.is_empty();
        let varies = has_outages || changes.as_ref().is_some_and(Changes::varies);
        let (quiet, most) = over_time::quiet(record, left, (&windows, &series), start, window_s);
        let (quiets, seen) = (quiet.iter().flatten().count(), series.iter().flatten().count());
        let bound_bps = (quiets as f64 > MOSTLY * (quiets + seen) as f64)
            .then(|| series.iter().flatten().map(|rate| libm::exp(*rate)).fold(most, f64::max));
        let filled = match bound_bps {
            None => over_time::through_quiet(&series, &quiet),
            Some(bound) => (series.iter().zip(&quiet))
                .map(|(value, quiet)| value.or(quiet.map(|_| libm::log(bound))))
                .collect(),
        };
        let rows = if varies { over_time::table(&filled, window_s, start, &outages) } else { Vec::new() };
        let is_predicted = changes.as_ref().is_some_and(Changes::is_predicted);
        let held_out = changes.map(|changes| changes.ratio);
        Self { varies: varies && rows.len() > 1, rows, windows, series, held_out, is_predicted, bound_bps }
    }
}

/// Share of the delay deviation of a constant rate that unpredicted rates over time may leave: if packets arrive in
/// clumps, gaps vary far more than the rate.
const EXPLAINS: f64 = 0.9;

/// Mean absolute deviation from the median, in seconds, of the delays not explained by a queue with these rates over
/// time.
fn unexplained_s(record: &Record, base_s: f64, rows: &[(f64, f64)], dropped: &[bool]) -> f64 {
    let packets = record.packets();
    let start = packets.first().map_or(0.0, |packet| packet.sent_s);
    let found = backlogs(record, base_s, rows, |index| dropped[index]);
    let mut rest: Vec<f64> = (packets.iter().zip(&found))
        .filter_map(|(packet, before)| {
            let takes = over_time::takes(rows, packet.sent_s - start, 8.0 * (before + packet.bytes));
            Some(packet.seen_s? - packet.sent_s - takes)
        })
        .collect();
    let usual = median(&mut rest);
    rest.iter().map(|rest| (rest - usual).abs()).sum::<f64>() / rest.len().max(1) as f64
}

/// Refines base delay, found content and rates over time, which depend on one another, in two rounds. Starts from a
/// base delay and the drops, with windows of `window_s` and a departure margin `margin_s`.
fn follow(
    record: &Record,
    mut base_s: f64,
    (mut drops, served): (Drops, &[Option<bool>]),
    mut before: Vec<f64>,
    mut over: OverTime,
    (window_s, margin_s, usual): (f64, f64, f64),
) -> (f64, Drops, Vec<f64>, OverTime) {
    let while_busy = |base_s: f64, drops: &Drops| -> Vec<(f64, f64)> {
        busy_rate(record, base_s, &drops.dropped).map(|rate| (0.0, rate)).into_iter().collect()
    };
    let mut left = departures(record, base_s, usual, |index| drops.dropped[index]);
    for _ in 0..2 {
        if !over.varies {
            over.rows = while_busy(base_s, &drops);
        }
        if over.rows.is_empty() {
            break;
        }
        base_s = base_by(record, &left, &over.rows);
        left = departures(record, base_s, usual, |index| drops.dropped[index]);
        before = found_before(record, &left);
        drops =
            Drops::by_times(record, &before, served).unwrap_or_else(|| Drops::new(record, &before, served));
        left = departures(record, base_s, usual, |index| drops.dropped[index]);
        let varied = over.varies;
        over = OverTime::new(record, &left, window_s, margin_s);
        over.varies |= varied && over.rows.len() > 1;
    }
    if over.rows.is_empty() {
        over.rows = while_busy(base_s, &drops);
    }
    (base_s, drops, before, over)
}

/// Delay of the reverse path in seconds: as recorded, else equal to the forward one.
fn way_back(record: &Record, clock: Clock, there_s: f64) -> f64 {
    let alike_s = if (0.0..LONGEST_S).contains(&there_s) { there_s } else { 0.0 };
    record.reverse_s(clock.skew, clock.since_s).unwrap_or(alike_s)
}

impl Fit {
    /// Fits a link to a record; `seed` seeds the bootstrap.
    #[expect(clippy::too_many_lines, reason = "one estimate after the other, each of those before")]
    pub fn new(record: &Record, seed: u64) -> Self {
        let stream = |name: &str| RunSeed { seed, run: 0 }.stream(&format!("fit.{name}"));
        let clock = (!record.is_round_trip()).then(|| skew(record));
        let corrected = clock.map(|clock| clock.corrected(record));
        let record = &corrected.unwrap_or_else(|| record.clone()).in_order();
        let sent: Vec<(f64, f64)> =
            record.packets().iter().map(|packet| (packet.sent_s, packet.bytes)).collect();
        let (full, lasts) = (record.full_bytes(), record.lasts_s());
        let least_s = least_delay(record);
        let Settled { rate, mut drops, mut before, served } = Settled::new(record, least_s);
        let waited = before.iter().filter(|backlog| **backlog > 0.1 * full).count() as f64;
        let is_constant = waited >= FEWEST_WAITED && !rate.is_flat();
        let bound = rate.lower_bound_bps().max(record.arrived_bps());

        // Rates over time use packets sent before their predecessor left.
        let usual = if is_constant { rate.rate_bps } else { bound };
        let window_s = 0.1_f64.max(20.0 * 8.0 * full / usual).max(record.spans_s() / MOST_WINDOWS);
        // Margin of half a packet: the base delay is hardly known better.
        let margin_s = 0.5 * 8.0 * full / usual;
        let mut base_s = (least_s - 8.0 * full / usual).max(least_s.min(0.0));
        let left = departures(record, base_s, usual, |index| drops.dropped[index]);
        let mut over = OverTime::new(record, &left, window_s, margin_s);
        // If errors accumulate in a queue that is never empty, use the rate observed while busy: the delays then
        // deviate from the model, or some are below the delay of its empty link.
        let unexplained_s = |rows: &[(f64, f64)]| unexplained_s(record, base_s, rows, &drops.dropped);
        if over.varies
            && !over.is_predicted
            && is_constant
            && unexplained_s(&over.rows) > EXPLAINS * unexplained_s(&[(0.0, rate.rate_bps)])
        {
            (over.varies, over.rows) = (false, Vec::new());
        }
        let packet_s = 8.0 * full / rate.rate_bps;
        let is_too_long = rate.base_s + packet_s - least_s > 1.5 * packet_s + 2.0 * rate.deviation_s;
        let is_used = record.arrived_bps() > USED * rate.rate_bps;
        let adds_up = is_used && (rate.deviation_s > packet_s || is_too_long);
        let is_seen = (!is_constant || adds_up) && over.series.iter().flatten().count() >= FEWEST_WINDOWS;
        let by_windows = over.varies || is_seen;
        if by_windows {
            (base_s, drops, before, over) =
                follow(record, base_s, (drops, &served), before, over, (window_s, margin_s, usual));
        }
        let Drops { limit, dropped, near, .. } = drops;
        let of_period =
            period(&over.series, window_s, PERIOD_S, &mut stream("period")).filter(|of| of.p_value <= 0.01);
        let by_windows = by_windows && !over.rows.is_empty();
        let mostly_quiet = by_windows && over.bound_bps.is_some();
        let is_identified = (is_constant || by_windows) && !mostly_quiet;
        let value = if is_constant { rate.rate_bps } else { bound };
        let bound = over.bound_bps.filter(|_| mostly_quiet).unwrap_or(bound);
        let mean_rate = if by_windows { over_time::mean_over_time(&over.rows, lasts) } else { None };
        let mean_rate = mean_rate.unwrap_or(value);
        let there_s = if by_windows { base_s } else { rate.base_s };
        let waited = before.iter().filter(|backlog| **backlog > 0.1 * full).count() as f64;
        let packet_s = 8.0 * full / if by_windows { mean_rate } else { value };
        let left = departures(record, there_s, 8.0 * full / packet_s, |index| dropped[index]);
        let losses = Losses::new(record, &near, &before, &left, packet_s);
        let model = Model::of(over.varies, of_period.is_some(), losses.bursts.is_some());
        let back_s = clock.map_or(0.0, |clock| way_back(record, clock, there_s));

        // Joint draws of all parameters.
        let of_rate: Vec<(f64, f64)> = if by_windows {
            mean_draws(&over.series, mean_rate, &mut stream("rate"))
                .into_iter()
                .map(|rate| (rate, there_s))
                .collect()
        } else {
            rate.draws(DRAWS, &mut stream("rate"))
        };
        let of_rate: Vec<(f64, f64)> =
            of_rate.into_iter().map(|(rate, there)| (rate, there + back_s)).collect();
        let ends = QueueEnds::new(&limit, full);
        let has_back = record.is_round_trip() || record.reverse_s(0.0, 0.0).is_some();
        let of_bound = (!is_identified).then(|| Bound {
            rate_bps: bound,
            least_s,
            bits: 8.0 * full,
            back_s: (has_back || back_s == 0.0).then_some(back_s),
        });
        let standing_s = is_identified
            .then(|| stands(record, &left, least_s, packet_s))
            .filter(|stands| *stands && (has_back || back_s > 0.0))
            .map(|_| most_standing(there_s + back_s, 8.0 * ends.low / mean_rate));
        let unknown = Unknown { bound: of_bound, standing_s };
        let draws = draws_of(&of_rate, unknown, ends, (&losses, 8.0 * full), &mut stream("draws"));
        // For a rate up to four times its bound, use the middle.
        let delay_s = of_bound.map_or(there_s + back_s, |bound| bound.delay_s(2.0 * bound.rate_bps));
        let of =
            |values: &dyn Fn(&Draw) -> f64| interval(&draws.iter().map(values).collect::<Vec<_>>(), LEVEL);
        let verdict = if is_identified { Verdict::Identified } else { Verdict::Bounded };
        // If the queue is not known exactly, a standing queue would look like a longer path.
        let points = if by_windows { Vec::new() } else { residuals(record, &sent, rate.rate_bps, &dropped) };
        Self {
            model,
            rate: parameter(mean_rate, of(&|draw| draw.rate_bps), verdict),
            delay: parameter(
                delay_s.max(0.0),
                of(&|draw| draw.delay_s),
                match (has_back, standing_s) {
                    (false, _) => Verdict::NotIdentified,
                    (true, Some(_)) => Verdict::Bounded,
                    (true, None) => Verdict::Identified,
                },
            ),
            queue: limit_within(ends, standing_s.is_some(), &draws),
            loss: parameter(
                losses.share(),
                of(&|draw| draw.loss),
                if losses.lost > 0 { Verdict::Identified } else { Verdict::Bounded },
            ),
            mean_burst: losses.bursts.as_ref().map(|of| of.mean_burst(of.forgets, packet_s)),
            losses,
            limit,
            quiet_bps: over.bound_bps.filter(|_| mostly_quiet),
            levels: if over.varies { levels(&over.series, window_s) } else { Vec::new() },
            rates: if over.varies { over.rows } else { Vec::new() },
            busy_share: over.windows.iter().map(|window| window.busy_s).sum::<f64>() / lasts,
            fewest_packets: over_time::fewest(&over.windows),
            windows: over.windows,
            window_s,
            delays: base_delays(&points, (lasts / 12.0).max(10.0)),
            period: of_period,
            clock,
            waited_share: waited / sent.len() as f64,
            deviation_s: if by_windows { 0.0 } else { rate.deviation_s },
            held_out: over.held_out,
            draws,
        }
    }

    /// Share of packets sent back to back, by which pacing is recognised.
    pub fn is_paced(&self, record: &Record) -> bool {
        record.back_to_back(self.rate.value) < 0.05
    }
}

/// Delay of packets without queueing and transmission at the rates of their times: the median over the first packets
/// after an idle time. A base delay that is too short finds fewer such times, but no wrong ones.
fn base_by(record: &Record, left: &[f64], rows: &[(f64, f64)]) -> f64 {
    let start = record.packets().first().map_or(0.0, |packet| packet.sent_s);
    let before = found_before(record, left);
    let (mut began, mut bits, mut count) = (0.0, 0.0, usize::MAX);
    let (mut rests, mut least) = (Vec::new(), f64::INFINITY);
    for ((packet, left), before) in record.packets().iter().zip(left).zip(&before) {
        if left.is_nan() {
            continue;
        }
        if *before <= 0.0 {
            (began, bits, count) = (packet.sent_s, 0.0, 0);
        }
        bits += 8.0 * packet.bytes;
        count = count.saturating_add(1);
        let Some(seen) = packet.seen_s.filter(|_| packet.fate == Fate::Arrived) else { continue };
        let rate = over_time::rate_at(rows, left - start);
        let alone = 8.0 * packet.bytes / rate;
        least = least.min(seen - packet.sent_s - alone);
        if count <= FIRST {
            rests.push(seen - packet.sent_s - (bits / rate - (packet.sent_s - began)).max(alone));
        }
    }
    if rests.len() < FEWEST_FIRST { least } else { median(&mut rests) }
}

/// Levels of a series of log rates in windows of `window_s`; in a long series several windows are merged.
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

/// Parameter whose interval is widened to contain the value.
fn parameter(value: f64, (low, high): (f64, f64), verdict: Verdict) -> Parameter {
    Parameter { value, low: low.min(value), high: high.max(value), verdict }
}

/// Minimum delay, which nearly equals that of the path if the queue was empty at times.
fn least_delay(record: &Record) -> f64 {
    let seen = record.packets().iter().filter(|packet| packet.fate == Fate::Arrived);
    seen.filter_map(|packet| Some(packet.seen_s? - packet.sent_s)).fold(f64::INFINITY, f64::min)
}

/// Delays over time that the queue does not explain.
fn residuals(record: &Record, sent: &[(f64, f64)], rate_bps: f64, dropped: &[bool]) -> Vec<(f64, f64)> {
    let of_queue = delays(sent, rate_bps, |index| dropped[index]);
    let packets = record.packets().iter().zip(of_queue);
    let seen = packets.filter(|(packet, _)| packet.fate == Fate::Arrived);
    seen.filter_map(|(packet, delay)| Some((packet.sent_s, packet.seen_s? - packet.sent_s - delay))).collect()
}

#[cfg(test)]
mod tests;
