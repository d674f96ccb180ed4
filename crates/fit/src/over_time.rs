//! Rate over time: observations in windows, outages, and a table that fills the gaps between observations.

use crate::bootstrap::{median, quantile};
use crate::departures::Gap;
use crate::levels::segments;
use crate::record::Record;

/// Busy time of the link, and data sent in it, in a window of time.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Window {
    /// Start of the window in seconds, on the time axis of the record.
    pub from_s: f64,
    /// Time in the window during which the link was busy, in seconds.
    pub busy_s: f64,
    /// Bits that the link sent in the busy time.
    pub bits: f64,
    /// Number of packets that the link sent in the busy time.
    pub packets: f64,
    /// Relative standard error of the window's rate, from the variation of the gaps between departures; infinite if
    /// unknown.
    pub error: f64,
}

/// Maximum number of windows; more result only from records with contradictory times.
const MOST: usize = 40_000;
/// Number of packets sent while the link was busy from which a window always shows the rate.
const FEWEST_PACKETS: f64 = 8.0;
/// Minimum number of packets in a window from which the variation of gaps is estimated.
const SOME_PACKETS: f64 = 6.0;
/// Relative error of a window's rate up to which fewer than [`FEWEST_PACKETS`] packets show the rate.
const PRECISE: f64 = 0.05;
/// Share of busy time from which a window shows the rate, whatever the number of packets.
const SEEN: f64 = 0.3;
/// Share of waiting packets among those that left in a window, below which the window is quiet.
const QUIET: f64 = 0.25;
/// Minimum rate of the data carried by a quiet window, as a share of the rate observed in the nearest windows.
const NEARLY: f64 = 1.0;
/// Minimum number of windows with an observed rate to decide whether it changes.
pub(crate) const FEWEST_WINDOWS: usize = 20;
/// Relative variation of rates below which they count as constant.
const CONSTANT: f64 = 0.02;
/// Relative variation of the rates of windows beyond which the rate changes, if their errors ([`ERRORS`]) do not
/// explain it.
const WIDE: f64 = 0.3;
/// Minimum ratio of the standard deviation of widely varying rates to their errors, for the rate to change.
const ERRORS: f64 = 4.0;
/// Minimum number of windows with an estimated error, for these to represent all windows.
const FEWEST_KNOWN: usize = 5;
/// Minimum ratio of the standard deviation of rates to their errors, for the rate to change. Below it, levels may come
/// from the beat between windows and acknowledgements in steps of time, as from a link that collects them.
const BEYOND_ERRORS: f64 = 0.5;
/// Maximum ratio of squared errors on held-out windows, change points over a constant, to accept the change points.
const BETTER: f64 = 0.8;
/// Penalty of a change point of the rate in [`segments`].
const PENALTY: f64 = 3.0;
/// Minimum duration of an outage in seconds.
const SHORTEST_OUTAGE_S: f64 = 0.04;
/// Minimum duration of an outage, as a multiple of the transmission time of the data after it.
const OUTAGE: f64 = 8.0;
/// Difference in seconds below which two times are equal.
const ROUNDING_S: f64 = 1e-9;
/// Number of gaps on either side from which the rate around a gap is taken.
const AROUND: usize = 10;
/// Time in seconds within which rows of the table of rates next to an outage are merged with the outage.
const SHORTEST_ROW_S: f64 = 2e-3;
/// Relative difference of rates below which rows of the table of rates are merged.
const ALIKE: f64 = 0.01;

/// Outages as pairs of start and end in seconds: periods in which nothing left the link for long while packets waited.
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

/// Outages as pairs of start and end in seconds, which began on an idle link: a packet came to it and did not leave for
/// long, while others came after it.
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

/// Transmissions on an idle link, `served`, without those that overlap an outage or took far longer than others around
/// them.
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

/// Busy time and data sent by the link in windows of `window_s` seconds from `start` on; outages are not busy time.
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
    // Standard error of the ratio of bits to time, from the gaps that end in a window.
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

/// Distributes a busy period over the windows it overlaps, with bits and packets in proportion to time.
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

/// Minimum number of waiting packets in a window that shows its rate, 1 to 8, by the variation of gaps in windows with
/// many packets.
pub(crate) fn fewest(windows: &[Window]) -> f64 {
    let of = |of: &Window| of.error * of.packets.sqrt();
    let mut noise: Vec<f64> = windows.iter().filter(|of| of.packets >= SOME_PACKETS).map(of).collect();
    if noise.is_empty() {
        // If each window has a pair of packets, two gaps hardly show their variation, so an upper quantile over many
        // windows counts.
        noise = windows.iter().filter(|of| of.error.is_finite()).map(of).collect();
        if noise.len() < FEWEST_WINDOWS {
            return FEWEST_PACKETS;
        }
        noise.sort_by(f64::total_cmp);
        let needed = quantile(&noise, 0.75) / PRECISE;
        return (needed * needed).clamp(1.0, FEWEST_PACKETS);
    }
    // Where only slow times make packets wait, the rate changes within most of these windows, so a lower quantile
    // counts.
    noise.sort_by(f64::total_cmp);
    let needed = quantile(&noise, 0.25) / PRECISE;
    (needed * needed).clamp(1.0, FEWEST_PACKETS)
}

/// Logarithm of the rate in bit/s of each window with about `fewest` waiting packets, or 30 % of busy time; `None` for
/// other windows.
pub(crate) fn series(windows: &[Window], window_s: f64, fewest: f64) -> Vec<Option<f64>> {
    // A window has nearly all packets of the gaps that end in it: the rest counts in the window before.
    let is_seen = |of: &Window| of.packets >= 0.9 * fewest || of.busy_s >= SEEN * window_s;
    windows.iter().map(|of| (is_seen(of) && of.bits > 0.0).then(|| libm::log(of.bits / of.busy_s))).collect()
}

/// Test for changes of a rate over windows, and the levels of the rate.
#[derive(Clone, Debug)]
pub(crate) struct Changes {
    /// Ratio of mean squared errors on held-out windows, change points to one level.
    pub(crate) ratio: f64,
    /// Index of the first window, and logarithm of the rate in bit/s, of each level.
    pub(crate) levels: Vec<(usize, f64)>,
    /// True if the rates of windows differ by more than their errors explain.
    pub(crate) spreads: bool,
    /// True if the rates of windows differ by much, and by far more than their errors.
    pub(crate) is_wide: bool,
}

impl Changes {
    /// Tests a series of logarithms of rates for changes; `None` with fewer than 20 observed windows. Every second
    /// window is held out and predicted by the level of its neighbours.
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
        // The standard deviation of a normal distribution is 0.3 of the spread between its 5 and 95 % quantiles.
        let errors = || there.iter().map(|(at, _)| windows[*at].error);
        let error = median(&mut errors().collect::<Vec<f64>>());
        // Windows with one gap have no known error: the other windows represent them.
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

    /// True if the rate varies: the change points pass the held-out test, or rates differ by much, since rare
    /// observations may be too far apart to predict each other.
    pub(crate) fn varies(&self) -> bool {
        self.spreads && (self.is_wide || self.is_predicted())
    }

    /// True if the change points pass the held-out test.
    pub(crate) fn is_predicted(&self) -> bool {
        self.ratio < BETTER && self.levels.len() > 1
    }
}

/// Logarithm of the rate of the level that contains a window; `None` without levels.
fn level_at(levels: &[(usize, f64)], window: usize) -> Option<f64> {
    levels.iter().rev().find(|level| level.0 <= window).or(levels.first()).map(|level| level.1)
}

/// Carried rate in bit/s of each quiet window (`None` for others), and the mean carried rate of windows without an
/// observed rate. Packets hardly waited in a quiet window, although it carried as much as nearby windows with waiting
/// packets: the link was faster than the offered traffic by an unknown amount.
pub(crate) fn quiet(
    record: &Record,
    left: &[f64],
    (windows, series): (&[Window], &[Option<f64>]),
    start: f64,
    window_s: f64,
) -> (Vec<Option<f64>>, f64) {
    let mut through = vec![(0.0, 0.0); windows.len()];
    for (packet, left) in record.packets().iter().zip(left) {
        // Packets without a known departure have NaN or a time before the first window.
        if let Some(sum) =
            through.get_mut(((left - start) / window_s).floor() as usize).filter(|_| *left >= start)
        {
            *sum = (sum.0 + 1.0, sum.1 + 8.0 * packet.bytes);
        }
    }
    let most = through.iter().map(|(_, bits)| bits / window_s).fold(0.0, f64::max);
    // A window after an outage carries more than was sent in it, at the rate of the link.
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

/// Fills quiet windows in a series of logarithms of rates. In such a window the link was at least as fast as the
/// carried rate: the rate observed before or after the window is taken if it is high enough, else the carried rate.
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

/// Table of the rate over time, as pairs of start in seconds since the first window, and bit/s. Between windows with an
/// observed rate, the previous rate holds up to the middle and then the next; outages have the rate 0.
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

/// Mean rate in bit/s of a table over the duration of a record in seconds; `None` for an empty table.
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

/// Rate in bit/s of a table at a time; during outages the rate after the outage.
pub(crate) fn rate_at(rows: &[(f64, f64)], at: f64) -> f64 {
    let next = rows.partition_point(|row| row.0 <= at).max(1);
    rows[next - 1..].iter().map(|row| row.1).find(|rate| *rate > 0.0).unwrap_or(rows[0].1)
}

/// Highest rate in bit/s of a table between two times; during outages the rate after the outage.
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

    /// A constant rate of 2.2 Mbit/s seen by acknowledgements in steps of 5 ms does not vary, although windows of 109
    /// ms have 20 or 21 packets of 5.45 ms. Rates that differ by as much vary where departures are seen exactly, and
    /// larger differences also where they are seen in steps.
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
