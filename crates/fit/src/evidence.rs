//! Whether the waits of a record are those of a queue: what else delays packets passes for a slow link.
//!
//! Jitter, retransmissions below IP and other traffic make packets late too, and those behind them seem to wait. But a
//! queue is built by what was sent faster than the link sends, it stands or empties at the rate of the link, and packets
//! that waited for one another leave at even times.

use crate::bootstrap::{median, quantile};
use crate::departures::{Gap, busy, departures};
use crate::over_time;
use crate::record::{Fate, Record};

/// Evidence of a record's waits.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Evidence {
    /// Share of the windows with packets in which all of them waited.
    pub(crate) stood: f64,
    /// Deviation of the bits that left between two departures of a busy link from what its rate sends in that time, as a
    /// share of them; the median of windows, and 0 if too few tell.
    scatter: f64,
    /// Number of these windows.
    windows_stood: usize,
    /// What the link carried in windows in which the queue stood, as a share of what the rates make of that time.
    carried: f64,
    /// Mean rate as a multiple of what the queue carried whenever it stood, if that was always the same.
    beyond: f64,
    /// Whether the reverse path sets the times of acknowledgements.
    pub(crate) is_paced_back: bool,
    /// Share of the packets that waited which met what their own flow had sent before, at a link a little faster.
    own: f64,
}

/// Packets in a window for it to say something, and gaps.
const FEWEST: usize = 8;
const FEWEST_GAPS: usize = 6;
/// Share of a window in which nothing came, from which on the link may have been idle.
const PAUSE: f64 = 0.2;
/// Waits in transmissions: of each packet of a window in which the queue stood, and of packets that waited.
const STOOD: f64 = 1.5;
const WAITED: f64 = 0.5;
/// Queue in transmissions that packets of the record leave for one that waited in it, and how much faster than fitted
/// the link is taken to be for that.
const MET: f64 = 0.25;
const FASTER: f64 = 1.03;
/// Least share of waits that the flow's own packets explain.
const OWN: f64 = 0.2;
/// Least share of windows with a standing queue, and the scatter up to which departures are even.
const STANDS: f64 = 0.3;
const EVEN: f64 = 0.2;
/// Scatter of departures from which on only a queue that stood nearly always shows a rate, and the share of windows in
/// which that one stands.
const UNEVEN: f64 = 1.0;
const ALWAYS: f64 = 0.9;
/// Share of the waits that the flow's own packets explain from which on a queue that often stood is theirs, however uneven
/// departures are: a cellular link serves several packets in some milliseconds, and none in others.
const BUILT: f64 = 0.95;
/// Number of windows with a standing queue that may contradict a rate, their share of all, and the difference of what they carried from what
/// it says.
const FEWEST_STOOD: usize = 10;
const STOOD_OFTEN: f64 = 0.1;
const AGREES: f64 = 0.06;
/// Fewer distances of acknowledgements tell nothing; ratio of two that are the same, the share of all that makes one a
/// common one, and the share of all that common ones make.
const FEWEST_ANSWERS: usize = 200;
const SAME: f64 = 1.01;
const COMMON: f64 = 0.05;
const MOST_ALIKE: f64 = 0.7;
/// Difference of the bits of acknowledgements at the same distance, as a share and in packets, and how many have it.
const OFF: f64 = 0.4;
const LEAST_OFF: f64 = 1.5;
const MANY_OFF: f64 = 0.15;
/// Mean rate, as a multiple of what a queue carries that stands, which only bursts behind idle times make: a token bucket
/// lets these pass. Number of windows that tell, and how little their rates differ.
const BURSTS: f64 = 1.1;
const FEWEST_STEADY: usize = 20;
const STEADY: f64 = 0.05;
/// Scatter of departures from which on rates of windows that do not predict each other are no rates.
const CLUMPS: f64 = 0.5;

impl Evidence {
    /// Evidence for a link with rates over time, in windows so long, which dropped packets, and sent some that were lost.
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
        // Of each window the packets and the shortest delay; none where nothing came for a while.
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
        // Windows in the middle of a time in which the queue stood.
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

    /// Whether the waits are those of a queue: one that the record's packets built, or that stood, and both where
    /// departures are uneven.
    pub(crate) fn shows_a_queue(&self) -> bool {
        let (is_own, stands) = (self.own >= OWN, self.stood >= STANDS);
        let is_queue = if self.scatter <= EVEN { is_own || stands } else { is_own && stands };
        let is_built = self.own >= BUILT && stands;
        let is_even = self.scatter <= UNEVEN || self.stood >= ALWAYS || is_built;
        is_queue && is_even && !self.is_contradicted() && !self.is_paced_back
    }

    /// Whether a queue that stood carried more or less than the rates say: losses of a full queue pass for those of a
    /// channel, bursts of a token bucket for the rate of the link, or jitter for a queue.
    pub(crate) fn is_contradicted(&self) -> bool {
        // Of a queue that hardly ever stands windows have idle times too.
        let are_many = self.windows_stood >= FEWEST_STOOD && self.stood >= STOOD_OFTEN;
        are_many && ((self.carried - 1.0).abs() > AGREES || self.beyond > BURSTS)
    }

    /// Whether departures are in clumps, of which the rates of windows are made that do not predict each other.
    pub(crate) fn are_clumps(&self) -> bool {
        self.scatter > CLUMPS
    }
}

/// The rate of windows if nearly all have it.
fn steady(mut rates: Vec<f64>) -> Option<f64> {
    rates.sort_by(f64::total_cmp);
    let (low, middle, high) = (quantile(&rates, 0.1), quantile(&rates, 0.5), quantile(&rates, 0.9));
    (rates.len() >= FEWEST_STEADY && high - low <= STEADY * middle).then_some(middle)
}

/// Bits that a link with rates over time sends from a time on, in so long.
fn sends(rows: &[(f64, f64)], from: f64, lasts_s: f64) -> f64 {
    let to = from + lasts_s;
    let ends = rows.iter().skip(1).map(|row| row.0).chain([f64::INFINITY]);
    let starts =
        rows.iter().enumerate().map(|(index, row)| if index == 0 { f64::NEG_INFINITY } else { row.0 });
    let parts = starts.zip(ends).zip(rows);
    parts.map(|((start, end), row)| row.1 * (to.min(end) - from.max(start)).max(0.0)).sum()
}

/// Whether acknowledgements come at a few distances in time, whatever the bits that each tells of: then the reverse path
/// sends them one behind the other. A link that sets their distances does so by the bits. Windows in which no queue
/// stood do not count.
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

/// The scatter of the gaps between departures: the median of windows.
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

/// Of packets whose delay is longer than `late_s`, the share that met a queue longer than `met_s` of what was sent
/// before, at a link a little faster than these rates. 1 if none was late.
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

    /// A packet each 1.3 ms, of which each takes up to 3 ms longer and none overtakes another: late packets seem to wait,
    /// at about the rate at which they were sent.
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

    /// Packets of 1500 B in trains of 40 over a link of 12 Mbit/s.
    #[test]
    fn trains_build_a_queue() {
        let times = (0..10_000).map(|index| {
            let sent_s = f64::from(index / 40) * 52e-3;
            (sent_s, Some(sent_s + 40e-3 + f64::from(index % 40 + 1) * 1e-3))
        });
        let of = evidence(&record(times, false), 12e6);
        assert!(of.shows_a_queue() && !of.is_contradicted(), "{of:?}");
    }

    /// A cellular link sends five packets 0.1 ms apart each 6 ms, 10 Mbit/s in the mean; a flow fills its queue for 1.5 s of two.
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

    /// A queue that always stands carries 12 Mbit/s; a rate of 14 Mbit/s is none of it.
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

    /// A token bucket lets trains pass at 96 Mbit/s until it is empty, and then 12: a mean of both is no rate.
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

    /// Acknowledgements leave a slow reverse path 3.5 ms apart, each for two or four packets; and those of a link, by
    /// their packets.
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
