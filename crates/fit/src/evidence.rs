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
/// Scatter of departures from which on rates of windows that do not predict each other are no rates.
const CLUMPS: f64 = 0.5;

impl Evidence {
    /// Evidence for a link with rates over time, in windows so long; these packets were dropped.
    pub(crate) fn new(record: &Record, rows: &[(f64, f64)], window_s: f64, dropped: &[bool]) -> Self {
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
        let full: Vec<bool> = (windows.iter().filter(|of| of.0 >= FEWEST))
            .map(|of| of.1 - least_s > STOOD * packet_s)
            .collect();
        let stood = full.iter().filter(|stood| **stood).count() as f64 / full.len().max(1) as f64;
        let left = departures(record, least_s - packet_s, rate, |index| dropped[index]);
        Self {
            stood,
            scatter: scatter(record, &left, packet_s, start, window_s),
            own: own(record, rows, dropped, least_s + WAITED * packet_s, MET * packet_s),
        }
    }

    /// Whether the waits are those of a queue: one that the record's packets built, or that stood, and both where
    /// departures are uneven.
    pub(crate) fn shows_a_queue(&self) -> bool {
        let (is_own, stands) = (self.own >= OWN, self.stood >= STANDS);
        if self.scatter <= EVEN { is_own || stands } else { is_own && stands }
    }

    /// Whether departures are in clumps, of which the rates of windows are made that do not predict each other.
    pub(crate) fn are_clumps(&self) -> bool {
        self.scatter > CLUMPS
    }
}

/// The scatter of the gaps between departures: the median of windows.
fn scatter(record: &Record, left: &[f64], packet_s: f64, start: f64, window_s: f64) -> f64 {
    let gaps = busy(record, left, WAITED * packet_s);
    let mut found = Vec::new();
    for of in gaps.chunk_by(|one, next| ((one.to_s - start) / window_s) as i64 == ((next.to_s - start) / window_s) as i64) {
        if of.len() < FEWEST_GAPS {
            continue;
        }
        let bits = of.iter().map(|gap| gap.bits).sum::<f64>();
        let rate = bits / of.iter().map(|gap| gap.lasts_s()).sum::<f64>();
        let squares = of.iter().map(|gap| (gap.bits - rate * gap.lasts_s()) * (gap.bits - rate * gap.lasts_s()));
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
