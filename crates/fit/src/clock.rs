//! Clock skew between two machines.
//!
//! One-way delays are at least the base delay plus the drift of the clocks. The line below all of them with the least
//! mean distance is an edge of the lower convex hull of (time, delay), the one that spans the mean time: the linear
//! program of Moon, Skelly and Towsley (Infocom 1999).

use crate::record::Record;

/// Clock of the receiver relative to the sender's.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Clock {
    /// Relative speed: 1e-6 is one part per million faster than the sender's clock.
    pub skew: f64,
    /// Time from which the drift is counted, in seconds.
    pub since_s: f64,
}

impl Clock {
    /// Returns the record with the receiver's clock corrected to the sender's.
    pub(crate) fn corrected(&self, record: &Record) -> Record {
        record.shifted(|packet| -self.skew * (packet.sent_s - self.since_s))
    }
}

/// Maximum skew of clocks: crystals differ by 100 ppm, and are slewed by 500 ppm at most (`adjtime`).
const MOST: f64 = 1e-3;
/// Distance from the line, as a share of the total drift, below which the path was empty in a window; and the share of
/// windows that must be so.
const NEAR: f64 = 0.25;
const WINDOWS: usize = 10;
const FEWEST: f64 = 0.6;

/// Skew of the two clocks of a record with one-way delays. It is zero if the queue was hardly ever empty: the first
/// packet of an overload finds it empty and all others find it full, which is no clock drift.
pub fn skew(record: &Record) -> Clock {
    let delays =
        record.packets().iter().filter_map(|packet| Some((packet.sent_s, packet.seen_s? - packet.sent_s)));
    let points: Vec<(f64, f64)> = delays.collect();
    let mean = points.iter().map(|point| point.0).sum::<f64>() / points.len().max(1) as f64;
    let mut hull: Vec<(f64, f64)> = Vec::new();
    for &point in &points {
        // Of equal times keep the lowest delay.
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

/// Whether the minimum delays of most windows lie on the line.
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

    /// 60 s of queueing with an occasionally empty queue, and a clock that is 50 ppm fast, or slow.
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

    /// Queues of 300 ms and of 3 ms that fill in the first second and are never empty again would look like 5000 and 50
    /// ppm.
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
