//! Skew of the receiver's clock against the sender's, from one-way delays.
//!
//! A one-way delay is at least the base delay plus the drift of the clocks. Of all lines below the points (time,
//! delay), the one with the least mean distance to them is the edge of their lower convex hull at the mean time: the
//! solution of the linear program of Moon, Skelly and Towsley (Infocom 1999).

use crate::record::Record;

/// Skew of the receiver's clock relative to the sender's.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Clock {
    /// Relative difference of speed: at 1e-6 the receiver's clock gains 1 µs per second on the sender's.
    pub skew: f64,
    /// Time in seconds from which the drift is counted: the sending time of the first packet.
    pub since_s: f64,
}

impl Clock {
    /// Returns the record with the drift of the receiver's clock removed from its observation times.
    pub(crate) fn corrected(&self, record: &Record) -> Record {
        record.shifted(|packet| -self.skew * (packet.sent_s - self.since_s))
    }
}

/// Maximum plausible skew of two clocks: crystals differ by 100 ppm, and are slewed by 500 ppm at most (`adjtime`).
const MOST: f64 = 1e-3;
/// Distance of a window's minimum delay from the line of the drift, as a share of the total drift, up to which packets
/// of the window found an empty queue.
const NEAR: f64 = 0.25;
/// Number of equal windows of the record in which the minimum delay is compared with the line of the drift.
const WINDOWS: usize = 10;
/// Minimum share of windows with an empty queue, for the line to be a drift of the clocks.
const FEWEST: f64 = 0.6;

/// Skew of the two clocks of a record of one-way delays, by the lower convex hull of the delays. The skew is zero if
/// the queue was hardly ever empty: the first packet of an overload finds it empty and all others find it full, which
/// is no clock drift.
pub fn skew(record: &Record) -> Clock {
    let delays =
        record.packets().iter().filter_map(|packet| Some((packet.sent_s, packet.seen_s? - packet.sent_s)));
    let points: Vec<(f64, f64)> = delays.collect();
    let mean = points.iter().map(|point| point.0).sum::<f64>() / points.len().max(1) as f64;
    let mut hull: Vec<(f64, f64)> = Vec::new();
    for &point in &points {
        // Of points with equal times, keep the lowest delay.
        if let Some(last) = hull.last()
            && last.0 == point.0
        {
            if last.1 <= point.1 {
                continue;
            }
            hull.pop();
        }
        while let [.., a, b] = hull[..] {
            if (b.0 - a.0) * (point.1 - a.1) - (point.0 - a.0) * (b.1 - a.1) > 0.0 {
                break;
            }
            hull.pop();
        }
        hull.push(point);
    }
    let edge = hull.windows(2).find(|edge| edge[1].0 >= mean);
    let slope = edge.map_or(0.0, |edge| (edge[1].1 - edge[0].1) / (edge[1].0 - edge[0].0));
    let is_drift = edge.is_some_and(|edge| is_drift(&points, edge[0], slope));
    let slope = if is_drift { slope } else { 0.0 };
    Clock { skew: slope, since_s: record.packets().first().map_or(0.0, |packet| packet.sent_s) }
}

/// True if the minimum delays of most windows lie near the line through (`at`, `delay`) with this slope, so the line is
/// a drift of the clocks.
fn is_drift(points: &[(f64, f64)], (at, delay): (f64, f64), slope: f64) -> bool {
    let (Some(first), Some(last)) = (points.first(), points.last()) else { return false };
    let lasts = last.0 - first.0;
    let mut least = [f64::INFINITY; WINDOWS];
    for point in points {
        let window = ((point.0 - first.0) / lasts * WINDOWS as f64) as usize;
        let of = &mut least[window.min(WINDOWS - 1)];
        *of = of.min(point.1 - delay - slope * (point.0 - at));
    }
    let seen = least.iter().filter(|of| of.is_finite()).count() as f64;
    let near = least.iter().filter(|of| **of <= NEAR * (slope * lasts).abs()).count() as f64;
    slope.abs() <= MOST && near >= FEWEST * seen
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::record::{Fate, Packet};
    use crossfade_core::RunSeed;
    use rand::RngExt;

    /// The skew is right within 1 ppm for a clock that is 50 ppm fast or slow, from 60 s of packets with random
    /// queueing delays.
    #[test]
    fn a_skew_of_50_ppm_is_found_to_1_ppm_from_60_s() {
        for seed in 0..200 {
            let mut stream = RunSeed { seed, run: 0 }.stream("clock");
            let skew_there = if seed % 2 == 0 { 50e-6 } else { -50e-6 };
            let mut packets = Vec::new();
            for index in 0..6000 {
                let sent_s = f64::from(index) * 10e-3;
                let uniform: f64 = stream.random();
                let delay = 20e-3 - 3e-3 * libm::log(1.0 - uniform);
                let seen_s = Some(7.0 + (sent_s + delay) * (1.0 + skew_there));
                packets.push(Packet { sent_s, bytes: 100.0, seen_s, fate: Fate::Arrived });
            }
            let record = Record::new(packets, false).unwrap();
            let found = skew(&record);
            assert!((found.skew - skew_there).abs() < 1e-6, "{seed}: {found:?}");
            let again = skew(&found.corrected(&record));
            assert!(again.skew.abs() < 1e-9, "{again:?}");
        }
    }

    /// A queue of 300 or 3 ms that fills in the first second and is never empty again gives no skew, although it looks
    /// like a drift of 5000 or 50 ppm.
    #[test]
    fn a_queue_that_fills_is_no_skew() {
        for full in [0.3, 3e-3] {
            let packets = (0..6000).map(|index| {
                let sent_s = f64::from(index) * 10e-3;
                let seen_s = Some(sent_s + 20e-3 + full * sent_s.min(1.0));
                Packet { sent_s, bytes: 100.0, seen_s, fate: Fate::Arrived }
            });
            assert_eq!(skew(&Record::new(packets.collect(), false).unwrap()).skew, 0.0);
        }
    }
}
