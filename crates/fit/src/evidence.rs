//! Evidence for a queue as the cause of waiting times, against other delays, which look like a slow link.
//!
//! Jitter, retransmissions below IP and other traffic delay packets too, and packets behind these seem to wait. But a
//! queue is built by packets sent faster than the link sends, it stands or empties at the rate of the link, and packets
//! that waited for one another leave at even times.

use crate::bootstrap::{median, quantile};
use crate::departures::{Gap, busy, departures};
use crate::over_time;
use crate::record::{Fate, Record};

/// Evidence for or against a queue as the cause of a record's waiting times.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Evidence {
    /// Share of windows with a standing queue, in which all packets waited, among windows with enough packets.
    pub(crate) stood: f64,
    /// Relative deviation of the bits between two departures of a busy link from what its rate sends in that time:
    /// median of windows, and 0 if too few gaps show it.
    scatter: f64,
    /// Number of windows with a standing queue.
    windows_stood: usize,
    /// Ratio of the bits carried in windows with a standing queue to those that the fitted rates send in that time; 1
    /// without such windows.
    carried: f64,
    /// Ratio of the mean fitted rate to the rate carried while the queue stood, if this rate was steady; else 1.
    beyond: f64,
    /// True if a slow reverse path sets the times of acknowledgements.
    pub(crate) is_paced_back: bool,
    /// Share of the packets that waited and found packets of their own flow in the queue, at a link a little faster
    /// than fitted; 1 if none waited.
    own: f64,
}

/// Minimum number of packets in a window, to decide if the queue stood in it.
const FEWEST: usize = 8;
/// Minimum number of gaps between departures in a window, for its scatter.
const FEWEST_GAPS: usize = 6;
/// Time without an arrival, as a share of a window, beyond which the link may have been idle.
const PAUSE: f64 = 0.2;
/// Minimum excess of each delay over the shortest one, in transmission times, in a window with a standing queue.
const STOOD: f64 = 1.5;
/// Minimum excess of the delay over the shortest one, in transmission times, of a packet that waited.
const WAITED: f64 = 0.5;
/// Minimum backlog of the flow's own packets, in transmission times, for them to explain the wait of a packet.
const MET: f64 = 0.25;
/// Ratio of the assumed to the fitted rate of the link, for the backlog of the flow's own packets.
const FASTER: f64 = 1.03;
/// Minimum share of packets that waited, explained by the flow's own packets, for a queue.
const OWN: f64 = 0.2;
/// Minimum share of windows with a standing queue, for a queue.
const STANDS: f64 = 0.3;
/// Scatter up to which departures are even.
const EVEN: f64 = 0.2;
/// Scatter of departures beyond which only a queue that stood nearly always, or was built by the flow, shows a rate.
const UNEVEN: f64 = 1.0;
/// Share of windows with a standing queue from which the queue stood nearly always.
const ALWAYS: f64 = 0.9;
/// Share of the packets that waited, explained by the flow's own packets, from which a frequent queue is the flow's
/// own, however uneven departures are: a cellular link serves several packets in some milliseconds, and none in others.
const BUILT: f64 = 0.95;
/// Minimum number of windows with a standing queue that contradict a rate.
const FEWEST_STOOD: usize = 10;
/// Minimum share of windows with a standing queue that contradict a rate.
const STOOD_OFTEN: f64 = 0.1;
/// Maximum relative difference of the data carried by a standing queue from that at the fitted rates, for these to
/// agree.
const AGREES: f64 = 0.06;
/// Minimum number of distances between acknowledgements that show a paced reverse path.
const FEWEST_ANSWERS: usize = 200;
/// Ratio of two distances between acknowledgements up to which they are the same distance.
const SAME: f64 = 1.01;
/// Minimum share of a distance among all distances between acknowledgements, to be a common one.
const COMMON: f64 = 0.05;
/// Minimum share of the common distances among all distances between acknowledgements on a paced reverse path.
const MOST_ALIKE: f64 = 0.7;
/// Minimum difference of the bits of an acknowledgement from the median at its distance, as a share of this median, for
/// the distance not to follow from the bits.
const OFF: f64 = 0.4;
/// Minimum difference of the bits of an acknowledgement from the median at its distance, in full packets, for the
/// distance not to follow from the bits.
const LEAST_OFF: f64 = 1.5;
/// Minimum share of acknowledgements with other bits than the median at their distance, on a paced reverse path.
const MANY_OFF: f64 = 0.15;
/// Ratio of the mean fitted rate to that of a standing queue, beyond which the fitted rate comes from bursts after idle
/// times, which a token bucket lets pass.
const BURSTS: f64 = 1.1;
/// Minimum number of windows with a standing queue for a steady rate.
const FEWEST_STEADY: usize = 20;
/// Maximum difference of the 10 and 90 % quantiles of the rates of windows, as a share of their median, for a steady
/// rate.
const STEADY: f64 = 0.05;
/// Scatter of departures beyond which differing rates of windows are no rates, unless they predict each other.
const CLUMPS: f64 = 0.5;

impl Evidence {
    /// Evidence for a link with the rates `rows` over time, in windows of `window_s` seconds. `dropped` marks packets
    /// dropped by the queue; `served` says which lost packets the link sent.
    pub(crate) fn new(
        record: &Record,
        rows: &[(f64, f64)],
        window_s: f64,
        (dropped, served): (&[bool], &[Option<bool>]),
    ) -> Self {
        let packets = record.packets();
        let start = packets.first().map_or(0.0, |packet| packet.sent_s);
        let rate = median(&mut rows.iter().map(|row| row.1).filter(|rate| *rate > 0.0).collect::<Vec<f64>>());
        let packet_s = 8.0 * record.full_bytes() / rate;
        let arrivals: Vec<(f64, f64)> = (packets.iter().filter(|packet| packet.fate == Fate::Arrived))
            .filter_map(|packet| Some((packet.seen_s? - start, packet.seen_s? - packet.sent_s)))
            .collect();
        let least_s = arrivals.iter().map(|of| of.1).fold(f64::INFINITY, f64::min);
        let first_s = arrivals.iter().map(|of| of.0).fold(f64::INFINITY, f64::min);
        // Number of packets and shortest delay of each window; the delay is negative infinity if nothing arrived for a
        // while.
        let mut windows: Vec<(usize, f64)> = Vec::new();
        let mut last_s = first_s;
        for (at, delay) in &arrivals {
            let index = ((at - first_s) / window_s).max(0.0) as usize;
            if windows.len() <= index {
                windows.resize(index + 1, (0, f64::INFINITY));
            }
            windows[index] = (windows[index].0 + 1, windows[index].1.min(*delay));
            if at - last_s > PAUSE * window_s {
                let first = ((last_s - first_s) / window_s).max(0.0) as usize;
                windows[first..=index].iter_mut().for_each(|of| of.1 = f64::NEG_INFINITY);
            }
            last_s = at.max(last_s);
        }
        let stands: Vec<Option<bool>> =
            windows.iter().map(|of| (of.0 >= FEWEST).then_some(of.1 - least_s > STOOD * packet_s)).collect();
        let full = stands.iter().flatten().count();
        let stood = stands.iter().flatten().filter(|stood| **stood).count() as f64 / full.max(1) as f64;
        let left = departures(record, least_s - packet_s, rate, |index| dropped[index]);
        // Departures of the first window begin when the first packet leaves.
        let offset_s = first_s - (least_s - packet_s);
        let scatter = scatter(record, &left, packet_s, start, window_s);
        let mut bits = vec![0.0; stands.len()];
        for ((packet, left), served) in packets.iter().zip(&left).zip(served) {
            let index = ((left - start - offset_s) / window_s).max(0.0) as usize;
            // Uneven departures do not tell which lost packets the link sent.
            let is_sent = *served == Some(true) && scatter <= EVEN;
            let is_carried = packet.fate == Fate::Arrived || is_sent;
            if let Some(bits) = bits.get_mut(index).filter(|_| is_carried) {
                *bits += 8.0 * packet.bytes;
            }
        }
        let of_stood = || (0..stands.len()).filter(|index| stands[*index] == Some(true));
        let expected: f64 =
            of_stood().map(|index| sends(rows, offset_s + index as f64 * window_s, window_s)).sum();
        let carried: f64 = of_stood().map(|index| bits[index]).sum();
        // Windows between two windows with a standing queue.
        let inside = of_stood().filter(|index| {
            let is_one = |at: Option<usize>| at.and_then(|at| stands.get(at)) == Some(&Some(true));
            is_one(index.checked_sub(1)) && is_one(index.checked_add(1))
        });
        let steady_bps = steady(inside.map(|index| bits[index] / window_s).collect());
        let mean_bps = sends(rows, 0.0, record.lasts_s()) / record.lasts_s();
        Self {
            stood,
            windows_stood: stands.iter().filter(|stands| **stands == Some(true)).count(),
            carried: if expected > 0.0 { carried / expected } else { 1.0 },
            beyond: steady_bps.map_or(1.0, |steady| mean_bps / steady),
            scatter,
            is_paced_back: record.is_round_trip()
                && record.tick_s() == 0.0
                && is_paced_back(record, &stands, first_s + start, window_s),
            own: own(record, rows, dropped, least_s + WAITED * packet_s, MET * packet_s),
        }
    }

    /// True if the waiting times are those of a queue: the record's packets built it, or it stood; both are needed if
    /// departures are uneven.
    pub(crate) fn shows_a_queue(&self) -> bool {
        let (is_own, stands) = (self.own >= OWN, self.stood >= STANDS);
        let is_queue = if self.scatter <= EVEN { is_own || stands } else { is_own && stands };
        let is_built = self.own >= BUILT && stands;
        let is_even = self.scatter <= UNEVEN || self.stood >= ALWAYS || is_built;
        is_queue && is_even && !self.is_contradicted() && !self.is_paced_back
    }

    /// True if a standing queue carried more or less than the fitted rates: losses of a full queue passed for those of
    /// a channel, bursts of a token bucket for the rate of the link, or jitter for a queue.
    pub(crate) fn is_contradicted(&self) -> bool {
        // If a queue hardly ever stands, windows with a standing queue have idle times too.
        let are_many = self.windows_stood >= FEWEST_STOOD && self.stood >= STOOD_OFTEN;
        are_many && ((self.carried - 1.0).abs() > AGREES || self.beyond > BURSTS)
    }

    /// True if departures come in clumps, which make rates of windows differ that do not predict each other.
    pub(crate) fn are_clumps(&self) -> bool {
        self.scatter > CLUMPS
    }
}

/// Median rate of windows in bit/s if nearly all have this rate, else `None`.
fn steady(mut rates: Vec<f64>) -> Option<f64> {
    rates.sort_by(f64::total_cmp);
    let (low, middle, high) = (quantile(&rates, 0.1), quantile(&rates, 0.5), quantile(&rates, 0.9));
    (rates.len() >= FEWEST_STEADY && high - low <= STEADY * middle).then_some(middle)
}

/// Bits that a link with the rates `rows` over time sends in `lasts_s` seconds from the time `from` on.
fn sends(rows: &[(f64, f64)], from: f64, lasts_s: f64) -> f64 {
    let to = from + lasts_s;
    let ends = rows.iter().skip(1).map(|row| row.0).chain([f64::INFINITY]);
    let starts =
        rows.iter().enumerate().map(|(index, row)| if index == 0 { f64::NEG_INFINITY } else { row.0 });
    let parts = starts.zip(ends).zip(rows);
    parts.map(|((start, end), row)| row.1 * (to.min(end) - from.max(start)).max(0.0)).sum()
}

/// True if the reverse path sends acknowledgements one behind the other: they come at a few distances in time, whatever
/// the bits each of them acknowledges. Distances set by the forward link follow from the bits. Windows without a
/// standing queue do not count.
fn is_paced_back(record: &Record, stands: &[Option<bool>], first_s: f64, window_s: f64) -> bool {
    let (mut bits, mut last_s, mut gaps) = (0.0, f64::NEG_INFINITY, Vec::<(f64, f64)>::new());
    for packet in record.packets().iter().filter(|packet| packet.fate == Fate::Arrived) {
        bits += 8.0 * packet.bytes;
        let Some(seen_s) = packet.seen_s else { continue };
        let window = ((seen_s - first_s) / window_s).max(0.0) as usize;
        if seen_s > last_s && stands.get(window) == Some(&Some(true)) {
            gaps.push((seen_s - last_s, bits));
        }
        (last_s, bits) = (last_s.max(seen_s), 0.0);
    }
    gaps.retain(|gap| gap.0.is_finite());
    gaps.sort_by(|a, b| a.0.total_cmp(&b.0));
    if gaps.len() < FEWEST_ANSWERS {
        return false;
    }
    let least_off = LEAST_OFF * 8.0 * record.full_bytes();
    let (mut alike, mut off) = (0, 0);
    for of in gaps.chunk_by(|one, next| next.0 <= SAME * one.0) {
        if (of.len() as f64) < COMMON * gaps.len() as f64 || of[of.len() - 1].0 > SAME * SAME * of[0].0 {
            continue;
        }
        let usual = median(&mut of.iter().map(|gap| gap.1).collect::<Vec<f64>>());
        alike += of.len();
        off += of.iter().filter(|gap| (gap.1 - usual).abs() >= (OFF * usual).max(least_off)).count();
    }
    alike as f64 >= MOST_ALIKE * gaps.len() as f64 && off as f64 >= MANY_OFF * alike as f64
}

/// Relative standard deviation of the bits between departures from what the window's rate sends in that time: median of
/// windows with enough gaps, 0 without any.
fn scatter(record: &Record, left: &[f64], packet_s: f64, start: f64, window_s: f64) -> f64 {
    let gaps = busy(record, left, WAITED * packet_s);
    let mut found = Vec::new();
    for of in gaps.chunk_by(|one, next| {
        ((one.to_s - start) / window_s) as i64 == ((next.to_s - start) / window_s) as i64
    }) {
        if of.len() < FEWEST_GAPS {
            continue;
        }
        let bits = of.iter().map(|gap| gap.bits).sum::<f64>();
        let rate = bits / of.iter().map(Gap::lasts_s).sum::<f64>();
        let squares =
            of.iter().map(|gap| (gap.bits - rate * gap.lasts_s()) * (gap.bits - rate * gap.lasts_s()));
        found.push((squares.sum::<f64>() / of.len() as f64).sqrt() / (bits / of.len() as f64));
    }
    if found.is_empty() { 0.0 } else { median(&mut found) }
}

/// Share of the packets with a delay above `late_s` that met a queue longer than `met_s` of packets sent before, at a
/// link a little faster than the rates `rows`; 1 if none was late. Times are in seconds.
fn own(record: &Record, rows: &[(f64, f64)], dropped: &[bool], late_s: f64, met_s: f64) -> f64 {
    let packets = record.packets();
    let start = packets.first().map_or(0.0, |packet| packet.sent_s);
    let (mut free_at, mut late, mut met) = (0.0_f64, 0.0, 0.0);
    for (index, packet) in packets.iter().enumerate() {
        let at = packet.sent_s - start;
        if packet.seen_s.is_some_and(|seen| seen - packet.sent_s > late_s) {
            late += 1.0;
            met += f64::from(u8::from(free_at - at > met_s));
        }
        if !dropped[index] {
            let from = free_at.max(at);
            let takes = over_time::takes(rows, from, 8.0 * packet.bytes / FASTER);
            free_at = if takes.is_finite() { from + takes } else { from };
        }
    }
    if late > 0.0 { met / late } else { 1.0 }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::record::Packet;
    use crossfade_core::RunSeed;
    use rand::RngExt;

    fn record(times: impl Iterator<Item = (f64, Option<f64>)>, is_round_trip: bool) -> Record {
        let packet = |(sent_s, seen_s)| Packet { sent_s, bytes: 1500.0, seen_s, fate: Fate::Arrived };
        Record::new(times.map(packet).collect(), is_round_trip).unwrap()
    }

    fn evidence(record: &Record, rate_bps: f64) -> Evidence {
        let count = record.packets().len();
        Evidence::new(record, &[(0.0, rate_bps)], 0.1, (&vec![false; count], &vec![None; count]))
    }

    /// Jitter does not pass for a queue: packets every 1.3 ms, each up to 3 ms late without overtaking, seem to wait at
    /// about the rate at which they were sent.
    #[test]
    fn jitter_is_no_queue() {
        let mut random = RunSeed { seed: 1, run: 0 }.stream("evidence");
        let mut last_s = 0.0_f64;
        let times = (0..10_000).map(|index| {
            let sent_s = f64::from(index) * 1.3e-3;
            last_s = last_s.max(sent_s + 40e-3 + 3e-3 * random.random::<f64>()) + 1e-6;
            (sent_s, Some(last_s))
        });
        assert!(!evidence(&record(times, false), 9.5e6).shows_a_queue());
    }

    /// Trains of 40 packets of 1500 B over a link of 12 Mbit/s show a queue, and agree with this rate.
    #[test]
    fn trains_build_a_queue() {
        let times = (0..10_000).map(|index| {
            let sent_s = f64::from(index / 40) * 52e-3;
            (sent_s, Some(sent_s + 40e-3 + f64::from(index % 40 + 1) * 1e-3))
        });
        let of = evidence(&record(times, false), 12e6);
        assert!(of.shows_a_queue() && !of.is_contradicted(), "{of:?}");
    }

    /// A queue that the flow fills for 1.5 of every 2 s shows a cellular link, although the link sends in clumps: five
    /// packets 0.1 ms apart every 6 ms, 10 Mbit/s in the mean.
    #[test]
    fn a_queue_that_the_flow_built_shows_a_link_that_sends_in_clumps() {
        let mut slots =
            (1..).flat_map(|slot| (0..5).map(move |at| f64::from(slot) * 6e-3 + f64::from(at) * 1e-4));
        let sent = (0..30_u32)
            .flat_map(|second| (0..1500).map(move |at| f64::from(second) * 2.0 + f64::from(at) * 1e-3));
        let record = record(sent.map(|at| (at, Some(slots.find(|slot| *slot > at).unwrap() + 20e-3))), false);
        let evidence = evidence(&record, 10e6);
        assert!(evidence.scatter > UNEVEN && evidence.stood < ALWAYS, "{evidence:?}");
        assert!(evidence.shows_a_queue(), "{evidence:?}");
    }

    /// A standing queue that carries 12 Mbit/s agrees with this rate, and contradicts a rate of 14 Mbit/s.
    #[test]
    fn what_a_standing_queue_carried_contradicts_another_rate() {
        let times = || {
            (0..20_000).map(|index| {
                let sent_s = (f64::from(index) - 60.0).max(0.0) * 1e-3;
                (sent_s, Some(f64::from(index + 1) * 1e-3 + 40e-3))
            })
        };
        assert!(evidence(&record(times(), false), 12e6).shows_a_queue());
        assert!(evidence(&record(times(), false), 14e6).is_contradicted());
    }

    /// Rates fitted to bursts after idle times are contradicted by a token bucket that lets trains pass at 96 Mbit/s
    /// until it is empty, and then at 12 Mbit/s.
    #[test]
    fn bursts_behind_idle_times_are_no_rate() {
        let times = (0..20_000).map(|index| {
            let (train, number) = (index / 1000, f64::from(index % 1000 + 1));
            let sent_s = f64::from(train) * 2.0;
            (sent_s, Some(sent_s + 40e-3 + (number / 8e3).max((number - 40.0) * 1e-3)))
        });
        let of = record(times, false);
        let count = of.packets().len();
        let rows: Vec<(f64, f64)> = (0..20)
            .flat_map(|train| [(2.0 * f64::from(train), 12e6), (2.0 * f64::from(train) + 1.2, 96e6)])
            .collect();
        let evidence = Evidence::new(&of, &rows, 0.1, (&vec![false; count], &vec![None; count]));
        assert!(evidence.is_contradicted(), "{evidence:?}");
    }

    /// A slow reverse path is found if acknowledgements come 3.5 ms apart, each for two or four packets; it is not if
    /// their distances follow from their packets.
    #[test]
    fn a_reverse_path_that_paces_acknowledgements_is_found() {
        let mut random = RunSeed { seed: 2, run: 0 }.stream("evidence");
        let of = |by_bits: bool, random: &mut crossfade_core::Stream| {
            let (mut at, mut times) = (0.3, vec![(0.0, Some(0.05))]);
            for _ in 0..4000 {
                let packets = if random.random_bool(0.4) { 4 } else { 2 };
                at += if by_bits { 1e-3 * f64::from(packets) } else { 3.5e-3 };
                let sent_s = at - 0.15;
                times.extend((0..packets).map(|number| (sent_s, (number + 1 == packets).then_some(at))));
            }
            evidence(&record(times.into_iter(), true), 12e6).is_paced_back
        };
        assert!(of(false, &mut random));
        assert!(!of(true, &mut random));
    }
}
