//! Observations of a link by a record: a constant rate or one that changes, the base delay, and the losses at a full
//! queue.

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

/// More windows of time are not looked at.
const MOST_WINDOWS: f64 = 20_000.0;
/// Fewer packets that waited do not identify a rate.
const FEWEST_WAITED: f64 = 50.0;
/// Share of the deviations from a link without a queue that a constant rate explains, from which on nothing else shows it.
const MOSTLY_EXPLAINED: f64 = 0.5;
/// Deviation in transmissions beyond which it shows nothing.
const DEVIATES: f64 = 2.0;

/// Observations of a link by a record.
pub(crate) struct Seen {
    /// The rate of a constant link.
    pub(crate) rate: RateFit,
    /// Whether a constant rate explains the delays better than none.
    pub(crate) is_constant: bool,
    /// The rate over time.
    pub(crate) over: OverTime,
    /// Windows of that.
    pub(crate) window_s: f64,
    /// Whether the rate over time is the one that counts.
    pub(crate) by_windows: bool,
    /// The limit of the queue, which packets it dropped, and which were so near to it that their losses say nothing of
    /// others.
    pub(crate) limit: QueueLimit,
    pub(crate) dropped: Vec<bool>,
    pub(crate) near: Vec<bool>,
    /// Queue length that each packet found, in bytes.
    pub(crate) before: Vec<f64>,
    /// The shortest delay.
    pub(crate) least_s: f64,
    /// The delay without queue and transmission.
    pub(crate) base_s: f64,
    /// Its standard error, of a rate over time; draws of a constant rate have their own delays.
    pub(crate) error_s: f64,
    /// A lower bound of the rate.
    pub(crate) bound_bps: f64,
}

impl Seen {
    /// Observations by a record whose arrival times are corrected for clock skew.
    pub(crate) fn new(record: &Record) -> Self {
        let full = record.full_bytes();
        let least_s = least_delay(record);
        let Settled { rate, drops, before, served } = Settled::new(record, least_s);
        let is_constant = waited(&before, full) >= FEWEST_WAITED && !rate.is_flat();
        let bound_bps = rate.lower_bound_bps().max(record.arrived_bps());
        // Rates over time, where packets were sent before the one in front of them had left.
        let usual = if is_constant { rate.rate_bps } else { bound_bps };
        let window_s = 0.1_f64.max(20.0 * 8.0 * full / usual).max(record.spans_s() / MOST_WINDOWS);
        // Half of a packet: the base delay is hardly known better.
        let margin_s = 0.5 * 8.0 * full / usual;
        let base_s = (least_s - 8.0 * full / usual).max(least_s.min(0.0));
        let left = departures(record, base_s, usual, |index| drops.dropped[index]);
        let mut over = OverTime::new(record, &left, is_constant, (window_s, margin_s), None);
        // Where errors add up in a queue that is never empty, the rate that was seen while busy is the better one: the
        // delays are not those of the model, or some are shorter than those of its empty link.
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
        // A constant rate that explains little of the delays is one of a queue that was seen.
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
        // Whatever delays packets: a rate that was not shown is bounded by the slow ones of windows.
        let bound_bps = match slow_bps(&over.series) {
            Some(slow_bps) if !is_constant && !by_windows => {
                slow_bps.min(bound_bps).max(record.arrived_bps())
            }
            _ => bound_bps,
        };
        // A rate that changes without windows that show it is bounded by its slow times.
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

    /// The least rate that windows tell, where the link was faster than what was sent for most of the time.
    pub(crate) fn quiet_bps(&self) -> Option<f64> {
        self.over.bound_bps.filter(|_| self.by_windows)
    }

    /// Whether the record tells the rate, not only a bound of it.
    pub(crate) fn is_identified(&self) -> bool {
        (self.is_constant || self.by_windows) && self.quiet_bps().is_none()
    }

    /// The rate, of one that changes its mean over so long, or its bound.
    pub(crate) fn rate_bps(&self, lasts_s: f64) -> f64 {
        let mean = if self.by_windows { over_time::mean_over_time(&self.over.rows, lasts_s) } else { None };
        mean.unwrap_or_else(|| self.one_rate_bps())
    }

    fn one_rate_bps(&self) -> f64 {
        if self.is_constant { self.rate.rate_bps } else { self.bound_bps }
    }
}

/// Number of packets that waited in the queue.
pub(crate) fn waited(before: &[f64], full: f64) -> f64 {
    before.iter().filter(|backlog| **backlog > 0.1 * full).count() as f64
}

/// Whether errors of a constant rate add up in a queue that is hardly ever empty.
fn adds_up(record: &Record, rate: &RateFit, least_s: f64) -> bool {
    let packet_s = 8.0 * record.full_bytes() / rate.rate_bps;
    let is_too_long = rate.base_s + packet_s - least_s > 1.5 * packet_s + 2.0 * rate.deviation_s;
    let is_used = record.arrived_bps() > USED * rate.rate_bps;
    is_used && (rate.deviation_s > packet_s || is_too_long)
}

/// A rate over time, and what follows from it.
#[derive(Clone)]
pub(crate) struct OverTime {
    /// Start times since the first packet, and rates in bit/s.
    pub(crate) rows: Vec<(f64, f64)>,
    pub(crate) windows: Vec<Window>,
    pub(crate) series: Vec<Option<f64>>,
    pub(crate) held_out: Option<f64>,
    pub(crate) varies: bool,
    /// Whether change points predict the windows that were held out.
    is_predicted: bool,
    /// Least rate of a link that was faster than what was sent for most of the time.
    pub(crate) bound_bps: Option<f64>,
    /// Windows whose rate packets show that waited for one another.
    shown: Vec<bool>,
    /// Whether transmissions on an idle link show the rates, by an exact path.
    by_trains: bool,
}

/// Windows without a queue make a bound of the rate if they are more than this share of those that say something.
const MOSTLY: f64 = 0.3;
/// Errors of what is in a queue add up where at least this share of the link is used: else it is empty again and again.
const USED: f64 = 0.3;

impl OverTime {
    /// The rate over time of a record whose packets left at these times, in windows so long. Departures are known to a
    /// margin; where the base delay is known far better, a transmission on an idle link shows the rate too.
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
        // Behind the last time in which the link was busy there are windows too.
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
        // A window that transmissions on an idle link show is quiet, and known.
        let quiets = (quiet.iter().zip(&series))
            .filter(|(quiet, shown)| quiet.is_some() && (base.is_none() || shown.is_none()))
            .count();
        let is_mostly_quiet = quiets as f64 > MOSTLY * (quiets + seen) as f64;
        // Where hardly anything waits but behind outages, these are what is seen of a rate that is only bounded.
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

    /// Rates over time, or where they do not change the usual one of windows, if any.
    fn usual_rows(&self, usual: f64) -> Vec<(f64, f64)> {
        if self.varies {
            return self.rows.clone();
        }
        let of_windows = usual_bps(&self.series);
        vec![(0.0, if of_windows > 0.0 { of_windows } else { usual })]
    }

    /// Whether windows enough show the rate.
    fn shows_rates(&self) -> bool {
        self.series.iter().flatten().count() >= FEWEST_WINDOWS
    }

    /// Whether most windows show the rate: then they tell better than blocks whether it changes. Errors of delays add up
    /// in a queue that is hardly ever empty, and make blocks differ.
    fn shows_most(&self) -> bool {
        self.shows_rates() && 2 * self.series.iter().flatten().count() > self.series.len()
    }

    /// The rates that transmissions on an idle link show, if some trains of packets tell the path exactly, although
    /// hardly anything waits: as pairs of packets, of which one acknowledgement tells.
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

    /// The delay of the empty path, of packets that left at these times.
    fn base(&self, record: &Record, left: &[f64], window_s: f64) -> Base {
        Base::new(record, left, Rates { rows: &self.rows, shown: &self.shown, window_s })
    }
}

/// The median of the rates that were seen: packets wait rather where the link is slow. None of nothing.
fn usual_bps(series: &[Option<f64>]) -> f64 {
    let mut rates: Vec<f64> = series.iter().flatten().copied().collect();
    if rates.is_empty() { 0.0 } else { libm::exp(median(&mut rates)) }
}

/// A slow one of the rates that were seen, if there are enough.
fn slow_bps(series: &[Option<f64>]) -> Option<f64> {
    let mut rates: Vec<f64> = series.iter().flatten().map(|rate| libm::exp(*rate)).collect();
    rates.sort_by(f64::total_cmp);
    (rates.len() >= FEWEST_WINDOWS).then(|| quantile(&rates, SLOW))
}

/// Quantile of the rates of windows that bounds a rate which is not shown.
const SLOW: f64 = 0.1;
/// Rates over time that do not predict each other leave at most this share of what a constant rate leaves unexplained
/// of the delays: where packets arrive in clumps, the times between them differ by far more than the rate does.
const EXPLAINS: f64 = 0.9;

/// The mean absolute deviation from their median, in s, of what the queue of a link with these rates over time leaves
/// of the delays.
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

/// Refines queue lengths, base delay and rate over time, which depend on one another, in two rounds,
/// from a base delay, the drops, what was found before and the rates, by windows so long and with such a margin of
/// departures, in s.
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
        // Where the link was faster than what was sent, only windows with a queue tell how long a transmission took.
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

/// The shortest delay: of a queue that was empty at times, nearly that of the path.
fn least_delay(record: &Record) -> f64 {
    let seen = record.packets().iter().filter(|packet| packet.fate == Fate::Arrived);
    seen.filter_map(|packet| Some(packet.seen_s? - packet.sent_s)).fold(f64::INFINITY, f64::min)
}

#[cfg(test)]
mod tests;
