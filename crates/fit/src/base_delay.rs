//! Base delay of a path over time, by change points in the minima of windows.

use crate::levels::segments;

/// Base delay of a path from one change to the next.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct DelayLevel {
    /// Start of the level in seconds, on the time axis of the record.
    pub from_s: f64,
    /// Base delay of the level in seconds.
    pub delay_s: f64,
}

/// Minimum number of packets in a window for a base delay.
const FEWEST: usize = 30;

/// Penalty of a change point in [`segments`]. It is larger than for normal noise, since minima are exponentially
/// distributed above the base delay.
const PENALTY: f64 = 12.0;

/// Base delay over time, from points of (sending time, delay minus queueing) in seconds. Change points are found in the
/// minima of windows of `window_s`; windows with fewer than 30 points are left out.
pub fn base_delays(points: &[(f64, f64)], window_s: f64) -> Vec<DelayLevel> {
    let mut windows: Vec<(f64, f64, usize)> = Vec::new();
    for &(at, delay) in points {
        let start = (at / window_s).floor() * window_s;
        match windows.last_mut() {
            Some((from, least, count)) if *from == start => {
                *least = least.min(delay);
                *count += 1;
            }
            _ => windows.push((start, delay, 1)),
        }
    }
    windows.retain(|(.., count)| *count >= FEWEST);
    let minima: Vec<f64> = windows.iter().map(|(_, least, _)| *least).collect();
    let found = segments(&minima, PENALTY).into_iter().map(|level| {
        let least = minima[level.from..level.to].iter().copied().fold(f64::INFINITY, f64::min);
        DelayLevel { from_s: windows[level.from].0, delay_s: least }
    });
    found.collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crossfade_core::RunSeed;
    use rand::RngExt;

    /// A change of the base delay from 20 to 31 ms after 60 s is found at its time, and both delays are right within 10
    /// µs: the minimum of n queueing delays of mean m exceeds zero by m / n on average.
    #[test]
    fn a_change_of_path_is_found_where_it_was() {
        let mut stream = RunSeed { seed: 1, run: 0 }.stream("base");
        let points: Vec<(f64, f64)> = (0..12_000)
            .map(|index| {
                let at = f64::from(index) * 10e-3;
                let uniform: f64 = stream.random();
                (at, if at < 60.0 { 20e-3 } else { 31e-3 } - 5e-3 * libm::log(1.0 - uniform))
            })
            .collect();
        let found = base_delays(&points, 5.0);
        assert_eq!(found.len(), 2, "{found:?}");
        assert_eq!((found[0].from_s, found[1].from_s), (0.0, 60.0));
        assert!(found[0].delay_s - 20e-3 < 10e-6 && found[1].delay_s - 31e-3 < 10e-6, "{found:?}");
    }
}
