//! Rate over time: observations in windows, outages, and a table that fills the gaps between observations.

use crate::bootstrap::{median, quantile};
use crate::departures::Gap;
use crate::levels::segments;
use crate::record::Record;

/// Observation of the link in a window of time.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Window {
    /// Start of the window in seconds.
    pub from_s: f64,
    /// Time in the window during which the link was busy, in seconds.
    pub busy_s: f64,
    /// Bits sent in the busy time.
    pub bits: f64,
    /// Packets sent in the busy time.
    pub packets: f64,
    /// Relative standard error of the window's rate, from the variation of the gaps between departures.
    pub error: f64,
}

/// Maximum number of windows; more result only from records with contradictory times.
const MOST: usize = 40_000;
/// Conditions for a window to show the rate: this number of packets sent while the link was busy, or this share of busy
/// time. Fewer packets suffice if the gaps vary so little that the rate's error is within this share.
const FEWEST_PACKETS: f64 = 8.0;
const SOME_PACKETS: f64 = 6.0;
const PRECISE: f64 = 0.05;
const SEEN: f64 = 0.3;
/// Share of waiting packets below which a window is quiet.
const QUIET: f64 = 0.25;
/// Share of the data carried by a nearby window that a quiet window has to carry.
const NEARLY: f64 = 1.0;
/// Minimum number of windows with an observed rate to decide whether it changes.
pub(crate) const FEWEST_WINDOWS: usize = 20;
/// Relative variation of rates below which they count as constant.
const CONSTANT: f64 = 0.02;
/// Relative variation of rates, and its multiple of their errors, beyond which they are always followed.
const WIDE: f64 = 0.3;
const ERRORS: f64 = 4.0;
/// Minimum number of windows with an estimated error; the errors of all are derived from them.
const FEWEST_KNOWN: usize = 5;
/// Rates whose deviation is a smaller share of their errors are constant: acknowledgements that come in steps of time,
/// as those of a link that collects them, make levels of windows by their beat.
const BEYOND_ERRORS: f64 = 0.5;
/// Maximum ratio of squared errors on held-out windows, change points over a constant, to accept the change points.
const BETTER: f64 = 0.8;
/// Penalty of a change point.
const PENALTY: f64 = 3.0;
/// Minimum duration of an outage in seconds, and its minimum multiple of the transmission time of the data after it.
const SHORTEST_OUTAGE_S: f64 = 0.04;
const OUTAGE: f64 = 8.0;
/// Times that differ by less are one.
const ROUNDING_S: f64 = 1e-9;
/// Gaps on either side tell the rate around one.
const AROUND: usize = 10;
/// Duration in seconds below which rows are merged.
const SHORTEST_ROW_S: f64 = 2e-3;
/// Relative difference of rates below which rows are merged.
const ALIKE: f64 = 0.01;

/// Periods in which nothing left the link while packets waited.
pub(crate) fn outages(gaps: &[Gap]) -> Vec<(f64, f64)> {
    let of = |(index, gap): (usize, &Gap)| {
        if gap.lasts_s() < SHORTEST_OUTAGE_S {
            return None;
        }
        let around = &gaps[index.saturating_sub(AROUND)..(index + AROUND + 1).min(gaps.len())];
        let rate = median(&mut around.iter().map(Gap::rate_bps).collect::<Vec<f64>>());
        let needed = gap.bits / rate;
        // Other packets waited behind the first or came with it; otherwise only its acknowledgement may have been late.
        let follows = gap.packets >= 2.0 || gaps.get(index + 1).is_some_and(|next| next.from_s <= gap.to_s);
        // The data at the end of the outage was sent at the rate around it.
        let is_one = around.len() > AROUND && follows && gap.lasts_s() > OUTAGE * needed;
        is_one.then_some((gap.from_s, gap.to_s - needed))
    };
    gaps.iter().enumerate().filter_map(of).collect()
}

/// Times in which a packet that came to an idle link did not leave it, while others came behind it.
pub(crate) fn stalls(alone: &[Gap], gaps: &[Gap]) -> Vec<(f64, f64)> {
    let of = |gap: &Gap| {
        if gap.lasts_s() < SHORTEST_OUTAGE_S {
            return None;
        }
        let next = gaps.partition_point(|other| other.from_s < gap.to_s - ROUNDING_S);
        let follows = gaps.get(next).is_some_and(|other| other.from_s <= gap.to_s + ROUNDING_S);
        let around = &gaps[next.saturating_sub(AROUND)..(next + AROUND).min(gaps.len())];
        let rate = median(&mut around.iter().map(Gap::rate_bps).collect::<Vec<f64>>());
        let needed = gap.bits / rate;
        (follows && gap.lasts_s() > OUTAGE * needed).then_some((gap.from_s, gap.to_s - needed))
    };
    alone.iter().filter_map(of).collect()
}

/// Transmissions on an idle link that saw no outage: those that took far longer than others around them did.
pub(crate) fn without_outages(served: &[Gap], outages: &[(f64, f64)]) -> Vec<Gap> {
    let is_usual = |(index, gap): &(usize, &Gap)| {
        let next = outages.partition_point(|outage| outage.1 <= gap.from_s);
        let is_in_one = outages.get(next).is_some_and(|outage| outage.0 < gap.to_s);
        let around = &served[index.saturating_sub(AROUND)..(index + AROUND + 1).min(served.len())];
        let rate = median(&mut around.iter().map(Gap::rate_bps).collect::<Vec<f64>>());
        !is_in_one && gap.lasts_s() <= OUTAGE * gap.bits / rate
    };
    served.iter().enumerate().filter(is_usual).map(|(_, gap)| *gap).collect()
}

/// Bytes that the link sent in windows from `start` on, without outages.
pub(crate) fn windows(gaps: &[Gap], outages: &[(f64, f64)], start: f64, window_s: f64) -> Vec<Window> {
    let mut found: Vec<Window> = Vec::new();
    let mut next = 0;
    for gap in gaps {
        while outages.get(next).is_some_and(|outage| outage.0 < gap.from_s) {
            next += 1;
        }
        let from = match outages.get(next) {
            Some((from, to)) if *from == gap.from_s => *to,
            _ => gap.from_s,
        };
        spread(&mut found, start, window_s, (from.max(start), gap.to_s), (gap.bits, gap.packets));
    }
    // The ratio estimator's error, of the gaps that end in a window.
    let mut sums = vec![(0.0, 0.0); found.len()];
    for gap in gaps {
        let index = ((gap.to_s - start) / window_s).floor() as usize;
        let Some(of) = found.get(index).filter(|of| of.bits > 0.0) else { continue };
        let rest = gap.bits - of.bits / of.busy_s * gap.lasts_s();
        sums[index].0 += rest * rest;
        sums[index].1 += 1.0;
    }
    for (of, (squares, count)) in found.iter_mut().zip(sums) {
        let known = count > 1.0 && of.bits > 0.0;
        of.error = if known { (squares * count / (count - 1.0)).sqrt() / of.bits } else { f64::INFINITY };
    }
    found
}

/// Distributes a busy period over the windows that it overlaps.
fn spread(
    windows: &mut Vec<Window>,
    start: f64,
    window_s: f64,
    (from, to): (f64, f64),
    (bits, packets): (f64, f64),
) {
    let mut at = from;
    while at < to {
        let index = ((at - start) / window_s).floor().max(0.0) as usize;
        if index >= MOST {
            return;
        }
        while windows.len() <= index {
            let from_s = start + windows.len() as f64 * window_s;
            windows.push(Window { from_s, ..Window::default() });
        }
        let end = (start + (index + 1) as f64 * window_s).min(to);
        if end <= at {
            // Step over the boundary by one float, since nothing of this window is left.
            at = at.next_up();
            continue;
        }
        let share = (end - at) / (to - from);
        windows[index].busy_s += end - at;
        windows[index].bits += bits * share;
        windows[index].packets += packets * share;
        at = end;
    }
}

/// Number of waiting packets from which a window shows its rate, given the variation of gaps in windows with many
/// packets.
pub(crate) fn fewest(windows: &[Window]) -> f64 {
    let of = |of: &Window| of.error * of.packets.sqrt();
    let mut noise: Vec<f64> = windows.iter().filter(|of| of.packets >= SOME_PACKETS).map(of).collect();
    if noise.is_empty() {
        // Pairs in windows of their own: two gaps tell their variation hardly, so an upper quantile of many counts.
        noise = windows.iter().filter(|of| of.error.is_finite()).map(of).collect();
        if noise.len() < FEWEST_WINDOWS {
            return FEWEST_PACKETS;
        }
        noise.sort_by(f64::total_cmp);
        let needed = quantile(&noise, 0.75) / PRECISE;
        return (needed * needed).clamp(1.0, FEWEST_PACKETS);
    }
    // Where only slow times make packets wait, the rate changes within most of these windows.
    noise.sort_by(f64::total_cmp);
    let needed = quantile(&noise, 0.25) / PRECISE;
    (needed * needed).clamp(1.0, FEWEST_PACKETS)
}

/// Logarithms of the rates of windows with at least `fewest` waiting packets; `None` for other windows.
pub(crate) fn series(windows: &[Window], window_s: f64, fewest: f64) -> Vec<Option<f64>> {
    // A window that a gap ends in has all of it, or nearly.
    let is_seen = |of: &Window| of.packets >= 0.9 * fewest || of.busy_s >= SEEN * window_s;
    windows.iter().map(|of| (is_seen(of) && of.bits > 0.0).then(|| libm::log(of.bits / of.busy_s))).collect()
}

/// Changes of a rate, and its levels.
#[derive(Clone, Debug)]
pub(crate) struct Changes {
    /// Ratio of mean squared errors on held-out windows: change points over one level.
    pub(crate) ratio: f64,
    /// Start window and logarithm of the rate of each level.
    pub(crate) levels: Vec<(usize, f64)>,
    /// Whether the windows differ by more than their errors explain.
    pub(crate) spreads: bool,
    /// Whether the windows differ by much, and by far more than their errors.
    pub(crate) is_wide: bool,
}

impl Changes {
    /// Changes of a series of rates; `None` with too few windows. Every second window is held out and predicted by the
    /// level of its neighbours.
    pub(crate) fn new(series: &[Option<f64>], windows: &[Window]) -> Option<Self> {
        let there: Vec<(usize, f64)> =
            series.iter().enumerate().filter_map(|(at, value)| Some((at, (*value)?))).collect();
        if there.len() < FEWEST_WINDOWS {
            return None;
        }
        let values = |of: &[(usize, f64)]| of.iter().map(|point| point.1).collect::<Vec<f64>>();
        let mut all = values(&there);
        all.sort_by(f64::total_cmp);
        let levels = |of: &[(usize, f64)]| -> Vec<(usize, f64)> {
            segments(&values(of), PENALTY).into_iter().map(|level| (of[level.from].0, level.mean)).collect()
        };
        let whole = levels(&there);
        let spread = quantile(&all, 0.95) - quantile(&all, 0.05);
        if spread < CONSTANT {
            return Some(Self { ratio: 1.0, levels: whole, spreads: false, is_wide: false });
        }
        // A standard deviation is 0.3 of that spread, of a normal distribution.
        let errors = || there.iter().map(|(at, _)| windows[*at].error);
        let error = median(&mut errors().collect::<Vec<f64>>());
        // Windows with one gap have no error that is known: the others stand for them.
        let mut known: Vec<f64> = errors().filter(|error| error.is_finite()).collect();
        let of_known = if known.len() >= FEWEST_KNOWN { median(&mut known) } else { f64::INFINITY };
        let is_wide = spread > WIDE && 0.3 * spread > ERRORS * of_known;
        let spreads = !error.is_finite() || 0.3 * spread > BEYOND_ERRORS * error;
        let even: Vec<(usize, f64)> = there.iter().copied().step_by(2).collect();
        let odd: Vec<(usize, f64)> = there.iter().copied().skip(1).step_by(2).collect();
        let of_even = levels(&even);
        let one = median(&mut values(&even));
        let at = |window: usize| level_at(&of_even, window).unwrap_or(one);
        let error = |by: &dyn Fn(usize) -> f64| {
            odd.iter().map(|(window, value)| (value - by(*window)) * (value - by(*window))).sum::<f64>()
        };
        let ratio = error(&at) / error(&|_| one).max(f64::MIN_POSITIVE);
        Some(Self { ratio, levels: whole, spreads, is_wide })
    }

    /// Whether the rate varies: the change points pass the held-out test, or rates differ by much, since rare
    /// observations may be too far apart to predict each other.
    pub(crate) fn varies(&self) -> bool {
        self.spreads && (self.is_wide || self.is_predicted())
    }

    /// Whether the change points pass the held-out test.
    pub(crate) fn is_predicted(&self) -> bool {
        self.ratio < BETTER && self.levels.len() > 1
    }
}

fn level_at(levels: &[(usize, f64)], window: usize) -> Option<f64> {
    levels.iter().rev().find(|level| level.0 <= window).or(levels.first()).map(|level| level.1)
}

/// Carried rates of quiet windows, whose packets hardly waited, and the mean of what windows carried whose rate was not
/// seen. A quiet window carried about as much as a nearby window with waiting packets, so the link was faster than the offered
/// traffic by an unknown amount.
pub(crate) fn quiet(
    record: &Record,
    left: &[f64],
    (windows, series): (&[Window], &[Option<f64>]),
    start: f64,
    window_s: f64,
) -> (Vec<Option<f64>>, f64) {
    let mut through = vec![(0.0, 0.0); windows.len()];
    for (packet, left) in record.packets().iter().zip(left) {
        // Packets without information have departures that are NaN or before the first window.
        if let Some(sum) =
            through.get_mut(((left - start) / window_s).floor() as usize).filter(|_| *left >= start)
        {
            *sum = (sum.0 + 1.0, sum.1 + 8.0 * packet.bytes);
        }
    }
    let most = through.iter().map(|(_, bits)| bits / window_s).fold(0.0, f64::max);
    // A window behind an outage carried more than was sent in it, at the rate of that time.
    let unseen = through.iter().zip(series).filter(|(of, seen)| seen.is_none() && of.0 >= FEWEST_PACKETS);
    let (bits, count) = unseen.fold((0.0, 0.0), |sum, (of, _)| (sum.0 + of.1, sum.1 + 1.0));
    let usual = if count > 0.0 { bits / count / window_s } else { most };
    let (mut after, mut seen) = (vec![None; windows.len()], None);
    for (index, value) in series.iter().enumerate().rev() {
        seen = value.or(seen);
        after[index] = seen;
    }
    let mut before = None;
    let mut is_quiet = |index: usize| {
        before = series[index].or(before);
        let (packets, bits) = through[index];
        let near = [before, after[index]].into_iter().flatten().fold(f64::INFINITY, f64::min);
        let carries = !near.is_finite() || bits / window_s > NEARLY * libm::exp(near);
        let is_quiet = packets >= FEWEST_PACKETS && windows[index].packets < QUIET * packets && carries;
        is_quiet.then_some(bits / window_s)
    };
    ((0..windows.len()).map(&mut is_quiet).collect(), usual)
}

/// Fills quiet windows in the series of rates. The link was at least as fast as the window's carried rate: the rate
/// observed before or after it holds, whichever is high enough, or else the carried rate.
pub(crate) fn through_quiet(series: &[Option<f64>], quiet: &[Option<f64>]) -> Vec<Option<f64>> {
    let mut after = vec![None; series.len()];
    let mut next = None;
    for (index, value) in series.iter().enumerate().rev() {
        next = value.or(next);
        after[index] = next;
    }
    let mut before: Option<f64> = None;
    let of = |(index, value): (usize, &Option<f64>)| {
        before = value.or(before);
        let carried = quiet[index].filter(|_| value.is_none()).map(libm::log);
        let Some(carried) = carried else { return *value };
        let is_as_fast = |rate: &f64| *rate >= carried;
        Some(before.filter(is_as_fast).or(after[index].filter(is_as_fast)).unwrap_or(carried))
    };
    series.iter().enumerate().map(of).collect()
}

/// Rate over time from 0 on, relative to the start of the first window: observed rates in their windows, between them
/// the previous one up to the middle and then the next; zero in outages.
pub(crate) fn table(
    series: &[Option<f64>],
    window_s: f64,
    start: f64,
    outages: &[(f64, f64)],
) -> Vec<(f64, f64)> {
    let mut rows: Vec<(f64, f64)> = Vec::new();
    let mut before: Option<usize> = None;
    for (index, seen) in series.iter().enumerate() {
        let Some(rate) = seen.map(libm::exp) else { continue };
        let from = before.map_or(0.0, |before| (before + 1 + index) as f64 / 2.0 * window_s);
        match rows.last() {
            Some((_, last)) if (rate / last - 1.0).abs() < ALIKE => {}
            _ => rows.push((from, rate)),
        }
        before = Some(index);
    }
    for (from, to) in outages {
        let (from, to) = (from - start, to - start);
        if from <= 0.0 || rows.is_empty() {
            continue;
        }
        let after = rows.partition_point(|row| row.0 <= to + SHORTEST_ROW_S);
        let rate = rows[after.saturating_sub(1)].1;
        let first = rows.partition_point(|row| row.0 < from - SHORTEST_ROW_S).max(1);
        let from = from.max(rows[first - 1].0 + SHORTEST_ROW_S);
        if to > from {
            rows.splice(first..after.max(first), [(from, 0.0), (to, rate)]);
        }
    }
    rows
}

/// Mean rate of a table over the duration of a record.
pub(crate) fn mean_over_time(rows: &[(f64, f64)], lasts: f64) -> Option<f64> {
    let last = rows.last()?;
    let ends = rows[1..].iter().map(|row| row.0).chain([lasts.max(last.0)]);
    let sums = rows.iter().zip(ends).map(|((from, rate), to)| (rate * (to - from), to - from));
    let (bits, time) = sums.fold((0.0, 0.0), |sum, of| (sum.0 + of.0, sum.1 + of.1));
    (time > 0.0).then(|| bits / time)
}

/// Time in seconds that a table's link needs for `bits` from a time on; infinite if its last rate is zero.
pub(crate) fn takes(rows: &[(f64, f64)], at: f64, mut bits: f64) -> f64 {
    let first = rows.partition_point(|row| row.0 <= at).max(1) - 1;
    let mut from = at;
    for (row, next) in rows[first..].iter().zip(&rows[first + 1..]) {
        let sends = row.1 * (next.0 - from);
        if sends >= bits {
            return from - at + bits / row.1;
        }
        (bits, from) = (bits - sends, next.0);
    }
    from - at + bits / rows[rows.len() - 1].1
}

/// Rate of a table at a time; during outages the rate that follows.
pub(crate) fn rate_at(rows: &[(f64, f64)], at: f64) -> f64 {
    let next = rows.partition_point(|row| row.0 <= at).max(1);
    rows[next - 1..].iter().map(|row| row.1).find(|rate| *rate > 0.0).unwrap_or(rows[0].1)
}

/// Highest rate of a table between two times; during outages the rate that follows.
pub(crate) fn fastest(rows: &[(f64, f64)], from: f64, to: f64) -> f64 {
    let (first, next) =
        (rows.partition_point(|row| row.0 <= from).max(1), rows.partition_point(|row| row.0 < to));
    let between = rows[first - 1..next.max(first)].iter().map(|row| row.1);
    between.fold(rate_at(rows, to), f64::max)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn outages_stand_in_the_table_as_long_as_they_were() {
        // 12 Mbit/s in gaps of 2 ms, and an outage from 0.5 to 0.7 s.
        let mut at = 0.0;
        let mut gaps = Vec::new();
        while at < 1.0 {
            let to = if (0.4999..0.5001).contains(&at) { 0.702 } else { at + 2e-3 };
            gaps.push(Gap { from_s: at, to_s: to, bits: 24e3, packets: 2.0 });
            at = to;
        }
        let outages = outages(&gaps);
        assert_eq!(outages.len(), 1);
        assert!((outages[0].0 - 0.5).abs() < 1e-6 && (outages[0].1 - 0.7).abs() < 1e-6, "{outages:?}");
        let windows = windows(&gaps, &outages, 0.0, 0.1);
        let series = series(&windows, 0.1, 8.0);
        let rows = table(&series, 0.1, 0.0, &outages);
        assert_eq!(rows.len(), 3, "{rows:?}");
        assert!(rows.iter().zip([12e6, 0.0, 12e6]).all(|(row, rate)| (row.1 - rate).abs() < 1.0), "{rows:?}");
        assert!((mean_over_time(&rows, 1.0).unwrap() - 0.8 * 12e6).abs() < 1e3);
        assert_eq!(rate_at(&rows, 0.6), rows[2].1);
    }

    /// 2.2 Mbit/s, of which acknowledgements tell in steps of 5 ms: packets of 5.45 ms, so windows of 109 ms have 20 or
    /// 21; and rates that differ by as much where departures are seen exactly.
    #[test]
    fn steps_of_acknowledgements_are_no_levels() {
        let series_of = |step: f64, rate: &dyn Fn(f64) -> f64| {
            let (mut left, mut at, mut gaps) = (0.0_f64, 0.0_f64, Vec::new());
            let mut packets = 0.0;
            while left < 60.0 {
                left += 12e3 / rate(left);
                packets += 1.0;
                let seen = if step > 0.0 { (left / step).ceil() * step } else { left };
                if seen > at + 1e-9 {
                    gaps.push(Gap { from_s: at, to_s: seen, bits: 12e3 * packets, packets });
                    (at, packets) = (seen, 0.0);
                }
            }
            let windows = windows(&gaps, &[], 0.0, 0.109);
            Changes::new(&series(&windows, 0.109, 8.0), &windows).unwrap().varies()
        };
        assert!(!series_of(5e-3, &|_| 2.2e6), "steps");
        assert!(
            series_of(0.0, &|at| if ((at * 0.5) as u64).is_multiple_of(2) { 2.2e6 } else { 2.33e6 }),
            "levels"
        );
        assert!(
            series_of(5e-3, &|at| if ((at * 0.5) as u64).is_multiple_of(2) { 2.2e6 } else { 4e6 }),
            "both"
        );
    }

    #[test]
    fn a_quiet_window_is_no_slower_than_what_it_carried() {
        let [slow, fast, carried] = [10e6_f64, 50e6, 30e6].map(libm::log);
        let quiet: Vec<Option<f64>> =
            (0..9).map(|at| (2..5).contains(&at).then_some(30e6).or((at == 7).then_some(30e6))).collect();
        let series = [Some(slow), Some(fast), None, None, None, Some(slow), None, None, Some(slow)];
        let found = through_quiet(&series, &quiet);
        assert_eq!(found[2..5], [Some(fast); 3], "the fast rate goes on");
        assert_eq!(found[6..8], [None, Some(carried)], "of neighbours that are slower what was carried");
        let later = [Some(slow), Some(slow), None, None, None, Some(fast), None, None, Some(slow)];
        assert_eq!(through_quiet(&later, &quiet)[2..5], [Some(fast); 3]);
    }
}
