//! Link as a record shows it: constant or changing rate, base delay, and losses at a full queue.

use crate::bootstrap::{median, quantile};
use crate::departures::{Gap, alone, busy, departures, first_served, found_before};
use crate::evidence::Evidence;
use crate::over_time::{self, Changes, FEWEST_WINDOWS, Window};
use crate::path::{Base, Rates};
use crate::queue::backlogs;
use crate::queue_limit::{Drops, QueueLimit};
use crate::rate::RateFit;
use crate::record::{Fate, Record};
use crate::settled::{Settled, busy_rate};
use crate::silent::{doubtful, silent};

/// Maximum number of windows of a record; windows of a longer record are longer.
const MOST_WINDOWS: f64 = 20_000.0;
/// Minimum number of packets that waited in the queue, for a rate to be identified.
const FEWEST_WAITED: f64 = 50.0;
/// Minimum share of the deviations from a link without a queue that a constant rate explains, to be accepted without
/// other evidence of a queue.
const MOSTLY_EXPLAINED: f64 = 0.5;
/// Maximum mean deviation of delays, in transmission times, of a constant rate accepted without other evidence of a
/// queue.
const DEVIATES: f64 = 2.0;

/// Link as a record shows it, without intervals and verdicts.
pub(crate) struct Seen {
    /// Fit of a constant rate.
    pub(crate) rate: RateFit,
    /// True if a constant rate explains the delays better than a link without a queue, and nothing contradicts this
    /// rate.
    pub(crate) is_constant: bool,
    /// Rate over time, without changes if the link is constant.
    pub(crate) over: OverTime,
    /// Length in seconds of the windows of the rate over time.
    pub(crate) window_s: f64,
    /// True if the rate over time describes the link, not the constant rate.
    pub(crate) by_windows: bool,
    /// Evidence on the queue limit.
    pub(crate) limit: QueueLimit,
    /// For each packet, true if the full queue dropped it.
    pub(crate) dropped: Vec<bool>,
    /// For each packet, true if its fate says nothing of random losses, as near to a full queue.
    pub(crate) near: Vec<bool>,
    /// Backlog in bytes that each packet found in the queue.
    pub(crate) before: Vec<f64>,
    /// Shortest delay of the record in seconds.
    pub(crate) least_s: f64,
    /// Base delay in seconds, without queueing and transmission.
    pub(crate) base_s: f64,
    /// Standard error of the base delay in seconds, for a rate over time; 0 for a constant rate, of which each draw has
    /// its own base delay.
    pub(crate) error_s: f64,
    /// Lower bound of the rate in bit/s.
    pub(crate) bound_bps: f64,
}

impl Seen {
    /// Estimates the link from a record with arrival times corrected for clock skew.
    pub(crate) fn new(record: &Record) -> Self {
        let full = record.full_bytes();
        let least_s = least_delay(record);
        let Settled { rate, drops, before, served } = Settled::new(record, least_s);
        let is_constant = waited(&before, full) >= FEWEST_WAITED && !rate.is_flat();
        let bound_bps = rate.lower_bound_bps().max(record.arrived_bps());
        // Rates over time come from packets sent before their predecessor had left the link.
        let usual = if is_constant { rate.rate_bps } else { bound_bps };
        let window_s = 0.1_f64.max(20.0 * 8.0 * full / usual).max(record.spans_s() / MOST_WINDOWS);
        // Half of a transmission time: the base delay is hardly known better.
        let margin_s = 0.5 * 8.0 * full / usual;
        let base_s = (least_s - 8.0 * full / usual).max(least_s.min(0.0));
        let left = departures(record, base_s, usual, |index| drops.dropped[index]);
        let mut over = OverTime::new(record, &left, is_constant, (window_s, margin_s), None);
        // Rates over time that neither predict held-out windows nor explain the delays better than a constant rate are
        // errors of the windows.
        let unexplained_s = |rows: &[(f64, f64)]| unexplained_s(record, base_s, rows, &drops.dropped);
        if over.varies
            && !over.is_predicted
            && is_constant
            && unexplained_s(&over.rows) > EXPLAINS * unexplained_s(&[(0.0, rate.rate_bps)])
        {
            (over.varies, over.rows) = (false, Vec::new());
        }
        if !over.shows_rates() {
            let link = (is_constant, usual);
            let with_path = OverTime::by_trains(record, &left, link, (window_s, margin_s), &drops.dropped);
            over = with_path.unwrap_or(over);
        }
        // If errors add up in a queue that is never empty, the rate observed while the link was busy is better than the
        // constant rate: delays are not those of the model, or some are shorter than on its empty link.
        let is_seen = (!is_constant || adds_up(record, &rate, least_s)) && over.shows_rates();
        let is_shown = |over: &OverTime, dropped: &[bool]| {
            let rows = over.usual_rows(usual);
            let evidence = Evidence::new(record, &rows, window_s, (dropped, &served));
            let are_levels = over.is_predicted || !evidence.are_clumps();
            let is_other = over.bound_bps.is_some() || (over.by_trains && !evidence.are_clumps());
            (is_other && !evidence.is_contradicted() && !evidence.is_paced_back)
                || (evidence.shows_a_queue() && (!over.varies || are_levels))
        };
        let by_windows = (over.varies || is_seen) && is_shown(&over, &drops.dropped);
        let followed = by_windows.then(|| {
            let link = (is_constant, window_s, margin_s, usual);
            follow(record, base_s, (drops.clone(), &served), before.clone(), over.clone(), link)
        });
        let followed = followed.filter(|(_, drops, _, over)| is_shown(over, &drops.dropped));
        let by_windows = followed.is_some();
        let ((base_s, error_s), drops, before, over) = followed.unwrap_or_else(|| {
            let over = if over.varies { OverTime { varies: false, rows: Vec::new(), ..over } } else { over };
            ((rate.base_s, 0.0), drops, before, over)
        });
        // A constant rate that explains little of the delays needs other evidence of a queue.
        let is_constant = is_constant
            && (by_windows || {
                let packet_s = 8.0 * full / rate.rate_bps;
                let rows = [(0.0, rate.rate_bps)];
                let evidence = Evidence::new(record, &rows, window_s, (&drops.dropped, &served));
                let explains = rate.explains() >= MOSTLY_EXPLAINED && rate.deviation_s <= DEVIATES * packet_s;
                let is_denied = evidence.is_contradicted() || evidence.is_paced_back;
                evidence.shows_a_queue() || (explains && !is_denied)
            });
        let by_windows = by_windows && !over.rows.is_empty();
        // A rate that no window shows is bounded by the slow rates of windows, whatever delays packets.
        let bound_bps = match slow_bps(&over.series) {
            Some(slow_bps) if !is_constant && !by_windows => {
                slow_bps.min(bound_bps).max(record.arrived_bps())
            }
            _ => bound_bps,
        };
        // A rate that changes between blocks, without windows that show it, is bounded by its slow blocks.
        let blocks = rate.blocks.as_ref().filter(|_| is_constant && !by_windows && !over.shows_most());
        let (is_constant, bound_bps) = match blocks {
            Some(of) => (false, of.slow_bps.min(bound_bps).max(record.arrived_bps())),
            None => (is_constant, bound_bps),
        };
        let over = match blocks {
            Some(of) => OverTime { rows: of.rows.clone(), varies: true, ..over },
            None => over,
        };
        let base_s = if by_windows { base_s } else { rate.base_s };
        let Drops { limit, dropped, near, .. } = drops;
        let queue_s =
            8.0 * limit.held_bytes / over_time::mean_over_time(&over.rows, record.lasts_s()).unwrap_or(usual);
        let mut near = near;
        if by_windows {
            let doubts = doubtful(record, base_s, &dropped, (&before, &limit));
            near.iter_mut().zip(doubts).for_each(|(near, is_doubtful)| *near |= is_doubtful);
        }
        let near = silent(record, &dropped, near, least_s.max(0.0) + queue_s);
        Self {
            rate,
            is_constant,
            over,
            window_s,
            by_windows,
            limit,
            dropped,
            near,
            before,
            least_s,
            base_s,
            error_s,
            bound_bps,
        }
    }

    /// Lower bound of the rate in bit/s if the rate over time describes the link and the link was faster than the
    /// offered traffic for much of the time; else `None`.
    pub(crate) fn quiet_bps(&self) -> Option<f64> {
        self.over.bound_bps.filter(|_| self.by_windows)
    }

    /// True if the record shows the rate, not only a lower bound.
    pub(crate) fn is_identified(&self) -> bool {
        (self.is_constant || self.by_windows) && self.quiet_bps().is_none()
    }

    /// Rate in bit/s: the mean over `lasts_s` seconds of a changing rate, else the constant rate, or its lower bound.
    pub(crate) fn rate_bps(&self, lasts_s: f64) -> f64 {
        let mean = if self.by_windows { over_time::mean_over_time(&self.over.rows, lasts_s) } else { None };
        mean.unwrap_or_else(|| self.one_rate_bps())
    }

    /// Constant rate in bit/s, or its lower bound.
    fn one_rate_bps(&self) -> f64 {
        if self.is_constant { self.rate.rate_bps } else { self.bound_bps }
    }
}

/// Number of packets that waited in the queue: each found more than a tenth of a full packet.
pub(crate) fn waited(before: &[f64], full: f64) -> f64 {
    before.iter().filter(|backlog| **backlog > 0.1 * full).count() as f64
}

/// True if errors of a constant rate add up, since the link is well used and its queue hardly ever empty: delays
/// deviate by more than a transmission time, or the base delay is too long for the shortest delay.
fn adds_up(record: &Record, rate: &RateFit, least_s: f64) -> bool {
    let packet_s = 8.0 * record.full_bytes() / rate.rate_bps;
    let is_too_long = rate.base_s + packet_s - least_s > 1.5 * packet_s + 2.0 * rate.deviation_s;
    let is_used = record.arrived_bps() > USED * rate.rate_bps;
    is_used && (rate.deviation_s > packet_s || is_too_long)
}

/// Rate over time, with the windows that show it.
#[derive(Clone)]
pub(crate) struct OverTime {
    /// Pairs of start in seconds since the first packet, and rate in bit/s; at most one if the rate is constant.
    pub(crate) rows: Vec<(f64, f64)>,
    pub(crate) windows: Vec<Window>,
    pub(crate) series: Vec<Option<f64>>,
    pub(crate) held_out: Option<f64>,
    pub(crate) varies: bool,
    /// True if change points predict the windows that were held out.
    is_predicted: bool,
    /// Lower bound of the rate in bit/s if the link was faster than the offered traffic for much of the time; else
    /// `None`.
    pub(crate) bound_bps: Option<f64>,
    /// For each window, true if packets that waited for one another show its rate.
    shown: Vec<bool>,
    /// True if the base delay is exact enough for transmissions on an idle link to show the rates.
    by_trains: bool,
}

/// Share of quiet windows, among quiet ones and those with an observed rate, beyond which the rate is only bounded.
const MOSTLY: f64 = 0.3;
/// Minimum share of the link in use for errors of the backlog to add up: below it the queue is empty again and again.
const USED: f64 = 0.3;

impl OverTime {
    /// Estimates the rate over time from the departure times `left`, in windows of `window_s` seconds. Departures are
    /// known to `margin_s` seconds. If `base` is a far more exact base delay, transmissions on an idle link show the
    /// rate too.
    fn new(
        record: &Record,
        left: &[f64],
        is_constant: bool,
        (window_s, margin_s): (f64, f64),
        base: Option<Base>,
    ) -> Self {
        let start = record.packets().first().map_or(0.0, |packet| packet.sent_s);
        let mut gaps = busy(record, left, margin_s);
        let mut outages = over_time::outages(&gaps);
        outages.extend(over_time::stalls(&alone(record, left, margin_s), &gaps));
        outages.sort_by(|a, b| a.0.total_cmp(&b.0));
        let mut windows = over_time::windows(&gaps, &outages, start, window_s);
        let shown = over_time::series(&windows, window_s, over_time::fewest(&windows));
        let shown: Vec<bool> = shown.iter().map(Option::is_some).collect();
        if let Some(base) = base {
            let served = first_served(record, left).into_iter().filter(|gap| base.tells(gap.lasts_s()));
            gaps.extend(over_time::without_outages(&served.collect::<Vec<Gap>>(), &outages));
            gaps.sort_by(|a, b| a.from_s.total_cmp(&b.from_s));
            windows = over_time::windows(&gaps, &outages, start, window_s);
        }
        // After the last busy time of the link there are windows too.
        let count = ((record.lasts_s() / window_s).ceil() as usize).max(windows.len());
        windows.extend((windows.len()..count).map(|at| Window {
            from_s: start + at as f64 * window_s,
            error: f64::INFINITY,
            ..Window::default()
        }));
        let series = over_time::series(&windows, window_s, over_time::fewest(&windows));
        let changes = Changes::new(&series, &windows);
        let (quiet, carried) = over_time::quiet(record, left, (&windows, &series), start, window_s);
        let seen = series.iter().flatten().count();
        // A window with a rate shown by transmissions on an idle link is quiet, but its rate is known.
        let quiets = (quiet.iter().zip(&series))
            .filter(|(quiet, shown)| quiet.is_some() && (base.is_none() || shown.is_none()))
            .count();
        let is_mostly_quiet = quiets as f64 > MOSTLY * (quiets + seen) as f64;
        // If packets hardly wait except after outages, only the outages are known of a rate with a lower bound.
        let are_alone = changes.is_none() && !is_constant && !outages.is_empty();
        let bound_bps =
            if are_alone { Some(carried) } else { is_mostly_quiet.then(|| carried.max(usual_bps(&series))) };
        let has_outages = (changes.is_some() || bound_bps.is_some()) && !outages.is_empty();
        let varies = has_outages || changes.as_ref().is_some_and(Changes::varies);
        let filled = match bound_bps {
            None => over_time::through_quiet(&series, &quiet),
            Some(bound) => (series.iter().zip(&quiet))
                .map(|(value, quiet)| value.or((are_alone || quiet.is_some()).then(|| libm::log(bound))))
                .collect(),
        };
        let rows = if varies { over_time::table(&filled, window_s, start, &outages) } else { Vec::new() };
        let is_predicted = changes.as_ref().is_some_and(Changes::is_predicted);
        let held_out = changes.map(|changes| changes.ratio);
        let varies = varies && rows.len() > 1;
        let by_trains = base.is_some();
        Self { rows, windows, series, held_out, varies, is_predicted, bound_bps, shown, by_trains }
    }

    /// Table of rates: over time if the rate changes, else one row with the median rate of windows, or with `usual`
    /// (bit/s) if no window shows a rate.
    fn usual_rows(&self, usual: f64) -> Vec<(f64, f64)> {
        if self.varies {
            return self.rows.clone();
        }
        let of_windows = usual_bps(&self.series);
        vec![(0.0, if of_windows > 0.0 { of_windows } else { usual })]
    }

    /// True if at least 20 windows show the rate.
    fn shows_rates(&self) -> bool {
        self.series.iter().flatten().count() >= FEWEST_WINDOWS
    }

    /// True if most windows show the rate: then they show better than blocks if it changes. Errors of delays add up in
    /// a queue that is hardly ever empty, and make blocks differ.
    fn shows_most(&self) -> bool {
        self.shows_rates() && 2 * self.series.iter().flatten().count() > self.series.len()
    }

    /// Rate over time from transmissions on an idle link, although hardly any packet waits, as with pairs of packets
    /// and one acknowledgement per pair. `None` if trains of packets do not show the base delay exactly, or too few
    /// windows show the rate.
    fn by_trains(
        record: &Record,
        left: &[f64],
        (is_constant, usual): (bool, f64),
        windows: (f64, f64),
        dropped: &[bool],
    ) -> Option<Self> {
        let rates = Rates { rows: &[(0.0, usual)], shown: &[], window_s: windows.0 };
        let base = Base::new(record, left, rates);
        let left = departures(record, base.delay_s, usual, |index| dropped[index]);
        let found = base.is_shown.then(|| Self::new(record, &left, is_constant, windows, Some(base)));
        found.filter(Self::shows_rates)
    }

    /// Base delay estimated with these rates from the departure times `left`, in windows of `window_s` seconds.
    fn base(&self, record: &Record, left: &[f64], window_s: f64) -> Base {
        Base::new(record, left, Rates { rows: &self.rows, shown: &self.shown, window_s })
    }
}

/// Median of the observed rates of windows in bit/s; 0 without any. It tends to be low, since packets wait rather where
/// the link is slow.
fn usual_bps(series: &[Option<f64>]) -> f64 {
    let mut rates: Vec<f64> = series.iter().flatten().copied().collect();
    if rates.is_empty() { 0.0 } else { libm::exp(median(&mut rates)) }
}

/// Slow rate of windows in bit/s, the 10 % quantile of the observed rates; `None` if too few windows show a rate.
fn slow_bps(series: &[Option<f64>]) -> Option<f64> {
    let mut rates: Vec<f64> = series.iter().flatten().map(|rate| libm::exp(*rate)).collect();
    rates.sort_by(f64::total_cmp);
    (rates.len() >= FEWEST_WINDOWS).then(|| quantile(&rates, SLOW))
}

/// Quantile of the rates of windows that is taken as lower bound of a rate without a better estimate.
const SLOW: f64 = 0.1;
/// Maximum ratio of the unexplained delays, rates over time to a constant rate, for rates over time that do not predict
/// held-out windows. Where packets arrive in clumps, the times between them differ by far more than the rate does.
const EXPLAINS: f64 = 0.9;

/// Mean absolute deviation from their median, in seconds, of the delays minus queueing and transmission at a link with
/// the rates `rows` over time.
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

/// Refines queue lengths, drops, base delay and rate over time, which depend on one another, in two rounds from first
/// estimates. Windows have `window_s` and departures a margin of `margin_s` seconds. Returns base delay and its
/// standard error in seconds, drops, bytes found by each packet, and rate over time.
fn follow(
    record: &Record,
    mut base_s: f64,
    (mut drops, served): (Drops, &[Option<bool>]),
    mut before: Vec<f64>,
    mut over: OverTime,
    (is_constant, window_s, margin_s, usual): (bool, f64, f64, f64),
) -> ((f64, f64), Drops, Vec<f64>, OverTime) {
    let while_busy = |base_s: f64, drops: &Drops| -> Vec<(f64, f64)> {
        busy_rate(record, base_s, &drops.dropped).map(|rate| (0.0, rate)).into_iter().collect()
    };
    let mut left = departures(record, base_s, usual, |index| drops.dropped[index]);
    let mut error_s = 0.0;
    for _ in 0..2 {
        if !over.varies {
            over.rows = while_busy(base_s, &drops);
        }
        if over.rows.is_empty() {
            break;
        }
        let base = over.base(record, &left, window_s);
        // If the link was faster than the offered traffic, only windows with a queue show how long a transmission took.
        if over.bound_bps.is_none() || base.is_shown {
            (base_s, error_s) = (base.delay_s, base.error_s);
        }
        left = departures(record, base_s, usual, |index| drops.dropped[index]);
        before = found_before(record, &left);
        let without = drops.dropped;
        drops = Drops::by_times(record, &before, &without, served)
            .unwrap_or_else(|| Drops::new(record, &before, &without, served));
        left = departures(record, base_s, usual, |index| drops.dropped[index]);
        let varied = over.varies;
        let base = Some(base).filter(|base| base.is_shown);
        over = OverTime::new(record, &left, is_constant, (window_s, margin_s), base);
        over.varies |= varied && over.rows.len() > 1;
    }
    if over.rows.is_empty() {
        over.rows = while_busy(base_s, &drops);
    }
    ((base_s, error_s), drops, before, over)
}

/// Shortest delay of a packet that arrived, in seconds: nearly that of the path if the queue was empty at times.
fn least_delay(record: &Record) -> f64 {
    let seen = record.packets().iter().filter(|packet| packet.fate == Fate::Arrived);
    seen.filter_map(|packet| Some(packet.seen_s? - packet.sent_s)).fold(f64::INFINITY, f64::min)
}

#[cfg(test)]
mod tests;
