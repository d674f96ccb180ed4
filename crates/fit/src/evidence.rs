//! Whether the waits of a record are those of a queue: what else delays packets passes for a slow link.
//!
//! Jitter, retransmissions below IP and other traffic make packets late too, and those behind them seem to wait. But a
//! queue is built by what was sent faster than the link sends, it stands or empties at the rate of the link, and packets
//! that waited for one another leave at even times.

use crate::bootstrap::median;
use crate::departures::{busy, departures};
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
    /// Share of the packets that waited which met what their own flow had sent before, at a link a little faster.
    own: f64,
}

/// Packets in a window for it to say something, and gaps.
const FEWEST: usize = 8;
const FEWEST_GAPS: usize = 6;
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
/// Number of windows with a standing queue that may contradict a rate, and the difference of what they carried from what
/// it says.
const FEWEST_STOOD: usize = 10;
const AGREES: f64 = 0.06;
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
        // Of each window the packets and the shortest delay.
        let mut windows: Vec<(usize, f64)> = Vec::new();
        for (at, delay) in &arrivals {
            let index = ((at - first_s) / window_s).max(0.0) as usize;
            if windows.len() <= index {
                windows.resize(index + 1, (0, f64::INFINITY));
            }
            windows[index] = (windows[index].0 + 1, windows[index].1.min(*delay));
        }
        let stands: Vec<Option<bool>> =
            windows.iter().map(|of| (of.0 >= FEWEST).then_some(of.1 - least_s > STOOD * packet_s)).collect();
        let full = stands.iter().flatten().count();
        let stood = stands.iter().flatten().filter(|stood| **stood).count() as f64 / full.max(1) as f64;
        let left = departures(record, least_s - packet_s, rate, |index| dropped[index]);
        // Departures of the first window begin when the first packet leaves.
        let offset_s = first_s - (least_s - packet_s);
        let scatter = scatter(record, &left, packet_s, start, window_s);
        let mut bits = 0.0;
        for ((packet, left), served) in packets.iter().zip(&left).zip(served) {
            let index = ((left - start - offset_s) / window_s).max(0.0) as usize;
            // Uneven departures do not tell which lost packets the link sent.
            let is_sent = *served == Some(true) && scatter <= EVEN;
            let is_carried = packet.fate == Fate::Arrived || is_sent;
            if is_carried && stands.get(index) == Some(&Some(true)) {
                bits += 8.0 * packet.bytes;
            }
        }
        let expected: f64 = (0..stands.len())
            .filter(|index| stands[*index] == Some(true))
            .map(|index| sends(rows, offset_s + index as f64 * window_s, window_s))
            .sum();
        Self {
            stood,
            windows_stood: stands.iter().filter(|stands| **stands == Some(true)).count(),
            carried: if expected > 0.0 { bits / expected } else { 1.0 },
            scatter,
            own: own(record, rows, dropped, least_s + WAITED * packet_s, MET * packet_s),
        }
    }

    /// Whether the waits are those of a queue: one that the record's packets built, or that stood, and both where
    /// departures are uneven.
    pub(crate) fn shows_a_queue(&self) -> bool {
        let (is_own, stands) = (self.own >= OWN, self.stood >= STANDS);
        let is_queue = if self.scatter <= EVEN { is_own || stands } else { is_own && stands };
        let is_even = self.scatter <= UNEVEN || self.stood >= ALWAYS;
        is_queue && is_even && !self.is_contradicted()
    }

    /// Whether a queue that stood carried more or less than the rates say: losses of a full queue pass for those of a
    /// channel, bursts of a token bucket for the rate of the link, or jitter for a queue.
    pub(crate) fn is_contradicted(&self) -> bool {
        self.windows_stood >= FEWEST_STOOD && (self.carried - 1.0).abs() > AGREES
    }

    /// Whether departures are in clumps, of which the rates of windows are made that do not predict each other.
    pub(crate) fn are_clumps(&self) -> bool {
        self.scatter > CLUMPS
    }
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
        let rate = bits / of.iter().map(|gap| gap.lasts_s()).sum::<f64>();
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
