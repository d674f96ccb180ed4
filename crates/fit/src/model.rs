//! The link: the smallest model that the record needs, its parameters with intervals and verdicts, and draws of them.

use crate::base_delay::{DelayLevel, base_delays};
use crate::bootstrap::{interval, median, quantile, weights};
use crate::busy::{Window, rates};
use crate::clock::{Clock, skew};
use crate::levels::segments;
use crate::losses::Losses;
use crate::period::{Period, period};
use crate::queue::{backlogs, delays};
use crate::queue_limit::QueueLimit;
use crate::rate::RateFit;
use crate::record::{Fate, Record};
use crossfade_core::RunSeed;
use rand::RngExt;

/// Which processes a link has, each more than the one before.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Model {
    /// A constant rate, a base delay, a queue that drops what it cannot hold, independent losses.
    M0,
    /// As M0, with losses in bursts: a two-state chain.
    M1,
    /// A rate that changes: constant between change points.
    M2,
    /// As M2, with a period.
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

/// What a record says of a parameter.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Verdict {
    /// Its value, within the interval.
    Identified,
    /// That it is at least the value.
    Bounded,
    /// Nothing.
    NotIdentified,
}

/// A value, its 90 % interval and the verdict.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Parameter {
    /// The estimate, or the bound.
    pub value: f64,
    /// The lower end.
    pub low: f64,
    /// The upper end.
    pub high: f64,
    /// What the record says of it.
    pub verdict: Verdict,
}

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
}

/// A link that explains a record.
#[derive(Clone, Debug)]
pub struct Fit {
    /// The smallest model that passes its held-out test.
    pub model: Model,
    /// The rate in bit/s; of M2 and M3 its mean over time.
    pub rate: Parameter,
    /// The delay without queue and transmission, in s: of round trips there and back.
    pub delay: Parameter,
    /// The limit of the queue in bytes.
    pub queue: Parameter,
    /// The share of packets lost at random.
    pub loss: Parameter,
    /// Random losses.
    pub losses: Losses,
    /// Congestive losses, and what the queue held.
    pub limit: QueueLimit,
    /// The rate over time, of M2 and M3: from when on, and bit/s.
    pub rates: Vec<(f64, f64)>,
    /// Windows of [`Self::window_s`] with what was seen of the rate.
    pub windows: Vec<Window>,
    /// How long these are.
    pub window_s: f64,
    /// The base delay over time, where it changed.
    pub delays: Vec<DelayLevel>,
    /// A period of 15 s, if it was tested and found.
    pub period: Option<Period>,
    /// The clocks of a record of two.
    pub clock: Option<Clock>,
    /// The share of time in which the link was busy as far as can be seen.
    pub busy_share: f64,
    /// The share of packets that waited in the queue.
    pub waited_share: f64,
    /// The mean deviation of delays from those of the model with a constant rate, in s.
    pub deviation_s: f64,
    /// By how much the change points predict held-out rates better than a constant: the ratio of mean squared errors.
    pub held_out: Option<f64>,
    /// Values that explain the record together.
    pub draws: Vec<Draw>,
}

/// So many draws of the parameters are made.
const DRAWS: usize = 200;
const LEVEL: f64 = 0.9;
/// A rate that is only bounded may be so many times higher, and a queue so many times longer.
const BEYOND: f64 = 4.0;
/// Losses at a full queue and the rate depend on one another: so many rounds settle both.
const ROUNDS: usize = 3;
/// Fewer packets that waited do not identify a rate.
const FEWEST_WAITED: f64 = 50.0;
/// Rates are seen in windows that were busy for this share.
const SEEN: f64 = 0.3;
/// So many windows in which the link was seen tell its rate.
const FEWEST_WINDOWS: usize = 20;
/// Rates that vary by less are constant.
const CONSTANT: f64 = 0.02;
/// The period of Starlink's reallocation.
const PERIOD_S: f64 = 15.0;

impl Fit {
    /// Fits a link to a record; `seed` is that of the bootstrap.
    pub fn new(record: &Record, seed: u64) -> Self {
        let stream = |name: &str| RunSeed { seed, run: 0 }.stream(&format!("fit.{name}"));
        let clock = (!record.is_round_trip()).then(|| skew(record));
        let corrected = clock.map(|clock| clock.corrected(record));
        let record = corrected.as_ref().unwrap_or(record);
        let sent: Vec<(f64, f64)> =
            record.packets().iter().map(|packet| (packet.sent_s, packet.bytes)).collect();
        let full = record.full_bytes();

        let least_s = least_delay(record);
        let Settled { rate, mut limit, mut congestive, mut before } = Settled::new(record, least_s);

        let waited = before.iter().filter(|backlog| **backlog > 0.1 * full).count() as f64;
        let is_constant = waited >= FEWEST_WAITED && !rate.is_flat();
        let arrived_bps = record.arrived_bps();
        let bound = rate.lower_bound_bps().max(arrived_bps);

        // Rates over time, where packets were sent before the one in front of them had left: by the shortest delays.
        let lasts = record.lasts_s();
        let usual = if is_constant { rate.rate_bps } else { bound };
        let window_s = 0.1_f64.max(20.0 * 8.0 * full / usual).max(lasts / 20_000.0);
        let windows = rates(record, least_s, 0.0, window_s, |index| congestive[index]);
        let series: Vec<Option<f64>> = windows
            .iter()
            .map(|window| window.rate_bps(window_s, SEEN).map(|rate| libm::log(rate.max(1.0))))
            .collect();
        let over_time = changes(&series);
        let held_out = over_time.as_ref().map(|(ratio, _)| *ratio);
        let varies = over_time.as_ref().is_some_and(|(ratio, levels)| *ratio < 0.8 && levels.len() > 1);
        // Where errors add up in a queue that is never empty, the rate that was seen while busy is the better one.
        let adds_up = rate.deviation_s > 8.0 * full / rate.rate_bps;
        let is_seen = (!is_constant || adds_up) && series.iter().flatten().count() >= FEWEST_WINDOWS;
        let of_period =
            period(&series, window_s, PERIOD_S, &mut stream("period")).filter(|of| of.p_value <= 0.01);
        let levels: Vec<(f64, f64)> = match over_time {
            Some((_, levels)) if varies => {
                let level = |(at, (from, rate)): (usize, (usize, f64))| {
                    (if at == 0 { 0.0 } else { from as f64 * window_s }, libm::exp(rate))
                };
                levels.into_iter().enumerate().map(level).collect()
            }
            _ => busy_rate(record, least_s, &congestive)
                .filter(|_| is_seen)
                .map(|rate| (0.0, rate))
                .into_iter()
                .collect(),
        };
        let by_windows = !levels.is_empty();
        if let Some((_, first)) = levels.first() {
            let base_s = (least_s - 8.0 * full / first).max(0.0);
            before = backlogs(record, base_s, &levels, |index| congestive[index]);
            (limit, congestive) = QueueLimit::new(record, &before);
        }
        let is_identified = is_constant || by_windows;
        let value = if is_constant { rate.rate_bps } else { bound };
        let value = levels.first().map_or(value, |level| level.1);
        let mean_rate = mean_over_time(&levels, lasts).unwrap_or(value);
        let busy_share = windows.iter().map(|window| window.busy_s).sum::<f64>() / lasts;
        let waited = before.iter().filter(|backlog| **backlog > 0.1 * full).count() as f64;
        let losses = Losses::new(record, &congestive, &before);
        let base_s = if by_windows { (least_s - 8.0 * full / mean_rate).max(0.0) } else { rate.base_s };
        let model = Model::of(varies, of_period.is_some(), losses.chain.is_some());

        // Draws of all parameters together.
        let of_rate = if by_windows {
            mean_draws(&series, &mut stream("rate")).into_iter().map(|rate| (rate, base_s)).collect()
        } else {
            rate.draws(DRAWS, &mut stream("rate"))
        };
        let (queue, queue_ends) = queue_parameter(&limit, full);
        let most_rate = (!is_identified).then_some(bound);
        let draws = draws_of(&of_rate, most_rate, &limit, queue_ends, &losses, &mut stream("draws"));
        let of =
            |values: &dyn Fn(&Draw) -> f64| interval(&draws.iter().map(values).collect::<Vec<_>>(), LEVEL);
        let verdict = if is_identified { Verdict::Identified } else { Verdict::Bounded };
        let has_losses = losses.lost > 0;
        // Where the queue is not known exactly, a standing one would pass for a longer path.
        let points =
            if by_windows { Vec::new() } else { residuals(record, &sent, rate.rate_bps, &congestive) };
        Self {
            model,
            rate: parameter(mean_rate, of(&|draw| draw.rate_bps), verdict),
            delay: parameter(
                base_s,
                of(&|draw| draw.delay_s),
                if record.is_round_trip() { Verdict::Identified } else { Verdict::NotIdentified },
            ),
            queue,
            loss: parameter(
                losses.share(),
                of(&|draw| draw.loss),
                if has_losses { Verdict::Identified } else { Verdict::Bounded },
            ),
            losses,
            limit,
            rates: if varies { levels } else { Vec::new() },
            windows,
            window_s,
            delays: base_delays(&points, (lasts / 12.0).max(10.0)),
            period: of_period,
            clock,
            busy_share,
            waited_share: waited / sent.len() as f64,
            deviation_s: if by_windows { 0.0 } else { rate.deviation_s },
            held_out,
            draws,
        }
    }

    /// The share of packets that were sent behind one another without a gap.
    pub fn is_paced(&self, record: &Record) -> bool {
        record.back_to_back(self.rate.value) < 0.05
    }
}

/// The rate of a constant link and the losses at its full queue, which depend on one another.
struct Settled {
    rate: RateFit,
    limit: QueueLimit,
    /// Which packets a full queue dropped.
    congestive: Vec<bool>,
    /// What each packet found in the queue, in bytes.
    before: Vec<f64>,
}

impl Settled {
    fn new(record: &Record, least_s: f64) -> Self {
        // At first all losses count as drops at the queue, which take nothing of the link.
        let mut congestive: Vec<bool> =
            record.packets().iter().map(|packet| packet.fate == Fate::Lost).collect();
        let mut rounds = 0;
        loop {
            let guess = busy_rate(record, least_s, &congestive);
            let rate = RateFit::new(record, guess, |index| congestive[index]);
            let before = backlogs(record, rate.base_s, &[(0.0, rate.rate_bps)], |index| congestive[index]);
            let (limit, dropped) = QueueLimit::new(record, &before);
            rounds += 1;
            if dropped == congestive || rounds > ROUNDS {
                return Self { rate, limit, congestive: dropped, before };
            }
            congestive = dropped;
        }
    }
}

/// The rate of the link in all the time in which it was busy.
fn busy_rate(record: &Record, least_s: f64, congestive: &[bool]) -> Option<f64> {
    let windows = rates(record, least_s, 0.0, record.lasts_s(), |index| congestive[index]);
    let (busy, bits) = windows.iter().fold((0.0, 0.0), |sum, of| (sum.0 + of.busy_s, sum.1 + of.bits));
    (busy > 0.0).then(|| bits / busy)
}

/// Draws of all parameters, of rates and base delays that belong together. Of a rate that is only bounded, and of such a queue,
/// all orders of magnitude up to [`BEYOND`] are as likely.
fn draws_of(
    of_rate: &[(f64, f64)],
    bound: Option<f64>,
    limit: &QueueLimit,
    (least, most): (f64, f64),
    losses: &Losses,
    random: &mut crossfade_core::Stream,
) -> Vec<Draw> {
    let draw = |(rate_bps, delay_s): &(f64, f64)| {
        let uniform: f64 = random.random();
        let rate_bps = bound.map_or(*rate_bps, |bound| bound * libm::pow(BEYOND, uniform));
        let uniform: f64 = random.random();
        let queue_bytes = if limit.drops > 0 {
            least + uniform * (most - least)
        } else {
            least * libm::pow(most / least, uniform)
        };
        Draw { rate_bps, delay_s: delay_s.max(0.0), queue_bytes, loss: losses.draw(random) }
    };
    of_rate.iter().map(draw).collect()
}

/// A value and its interval, which holds it.
fn parameter(value: f64, (low, high): (f64, f64), verdict: Verdict) -> Parameter {
    Parameter { value, low: low.min(value), high: high.max(value), verdict }
}

/// The shortest delay: of a queue that was empty at times, nearly that of the path.
fn least_delay(record: &Record) -> f64 {
    raw(record).into_iter().map(|(_, delay)| delay).fold(f64::INFINITY, f64::min)
}

/// The delays of all packets that were seen.
fn raw(record: &Record) -> Vec<(f64, f64)> {
    let seen = record.packets().iter().filter(|packet| packet.fate == Fate::Arrived);
    seen.filter_map(|packet| Some((packet.sent_s, packet.seen_s? - packet.sent_s))).collect()
}

/// Means of the rates of windows, of which blocks are drawn with replacement.
fn mean_draws(series: &[Option<f64>], stream: &mut crossfade_core::Stream) -> Vec<f64> {
    let there: Vec<f64> = series.iter().flatten().map(|rate| libm::exp(*rate)).collect();
    let blocks: Vec<&[f64]> = there.chunks(20).collect();
    let draw = |_| {
        let weights = weights(blocks.len(), stream);
        let of = |(block, weight): (&&[f64], &f64)| {
            (block.iter().sum::<f64>() * weight, block.len() as f64 * weight)
        };
        let (sum, count) =
            blocks.iter().zip(&weights).map(of).fold((0.0, 0.0), |all, of| (all.0 + of.0, all.1 + of.1));
        sum / count
    };
    (0..DRAWS).map(draw).collect()
}

/// The delays that the queue does not explain, over time.
fn residuals(record: &Record, sent: &[(f64, f64)], rate_bps: f64, congestive: &[bool]) -> Vec<(f64, f64)> {
    let of_queue = delays(sent, rate_bps, |index| congestive[index]);
    let packets = record.packets().iter().zip(of_queue);
    let seen = packets.filter(|(packet, _)| packet.fate == Fate::Arrived);
    seen.filter_map(|(packet, delay)| Some((packet.sent_s, packet.seen_s? - packet.sent_s - delay))).collect()
}

/// The limit beside the packet that is being sent, and between which ends draws of it lie.
fn queue_parameter(limit: &QueueLimit, full: f64) -> (Parameter, (f64, f64)) {
    // A packet that came through found the one being sent and all others within the limit, itself too: what it found is at
    // most the limit. One that was dropped found more than the limit less itself beside the one being sent.
    let held = limit.held_bytes.max(full);
    if let Some(dropped) = limit.dropped_bytes {
        let high = dropped.max(held + 0.01 * full).min(held + full);
        let value = f64::midpoint(held, high);
        (Parameter { value, low: held, high, verdict: Verdict::Identified }, (held, high))
    } else {
        let high = BEYOND * held;
        (Parameter { value: held, low: held, high, verdict: Verdict::Bounded }, (held, high))
    }
}

/// Mean squared errors of held-out windows by change points over those by one level, and the levels of all windows: (first
/// window, level). Every second stretch of windows is held out, and predicted by the level of those beside it.
#[allow(clippy::type_complexity)]
fn changes(series: &[Option<f64>]) -> Option<(f64, Vec<(usize, f64)>)> {
    let there: Vec<(usize, f64)> =
        series.iter().enumerate().filter_map(|(at, value)| Some((at, (*value)?))).collect();
    if there.len() < FEWEST_WINDOWS {
        return None;
    }
    let values = |of: &[(usize, f64)]| of.iter().map(|point| point.1).collect::<Vec<f64>>();
    let mut all = values(&there);
    all.sort_by(f64::total_cmp);
    let levels = |of: &[(usize, f64)]| -> Vec<(usize, f64)> {
        segments(&values(of), 3.0).into_iter().map(|level| (of[level.from].0, level.mean)).collect()
    };
    let whole = levels(&there);
    if quantile(&all, 0.9) - quantile(&all, 0.1) < CONSTANT {
        return Some((1.0, vec![(0, whole.first().map_or(0.0, |level| level.1))]));
    }
    let even: Vec<(usize, f64)> = there.iter().copied().step_by(2).collect();
    let odd: Vec<(usize, f64)> = there.iter().copied().skip(1).step_by(2).collect();
    let of_even = levels(&even);
    let one = median(&mut values(&even));
    let at = |window: usize| {
        of_even.iter().rev().find(|level| level.0 <= window).or(of_even.first()).map_or(one, |level| level.1)
    };
    let error = |by: &dyn Fn(usize) -> f64| {
        odd.iter().map(|(window, value)| (value - by(*window)) * (value - by(*window))).sum::<f64>()
    };
    let ratio = error(&at) / error(&|_| one).max(f64::MIN_POSITIVE);
    Some((ratio, whole))
}

/// The mean of levels over the time of a record.
fn mean_over_time(levels: &[(f64, f64)], lasts: f64) -> Option<f64> {
    levels.first()?;
    let ends = levels[1..].iter().map(|level| level.0).chain([lasts.max(levels[levels.len() - 1].0)]);
    let sums = levels.iter().zip(ends).map(|((from, rate), to)| (rate * (to - from), to - from));
    let (bits, time) = sums.fold((0.0, 0.0), |sum, of| (sum.0 + of.0, sum.1 + of.1));
    (time > 0.0).then(|| bits / time)
}

#[cfg(test)]
mod tests;
