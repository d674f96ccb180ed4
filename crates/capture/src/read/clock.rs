//! Clocks of TCP timestamps (RFC 7323): a file of its own, since senders and receivers have them.

/// Frequencies of the timestamps clock that senders use, in ticks per second.
const TICKS: [f64; 5] = [100.0, 250.0, 1000.0, 10_000.0, 1e6];

/// Usual frequency of a clock with `ticks` ticks in `seconds`, in ticks per second: the one within a factor of 1.5; `None`
/// without one, or below 0.5 s.
pub(super) fn nearest_clock(ticks: i64, seconds: f64) -> Option<f64> {
    if seconds < 0.5 {
        return None;
    }
    let rate = ticks as f64 / seconds;
    // A queue that fills or empties changes this by its delay alone.
    TICKS.into_iter().find(|ticks| (rate / ticks).max(ticks / rate) < 1.5)
}
