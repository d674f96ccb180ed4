//! Rates over time, where the link was busy.

use crate::record::{Fate, Record};

/// What the link did in a window of time.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Window {
    /// When it begins.
    pub from_s: f64,
    /// The time in it during which the link was busy.
    pub busy_s: f64,
    /// The bits that it sent in that.
    pub bits: f64,
}

impl Window {
    /// The rate; none of a window in which the link was not seen for a share of the time.
    pub fn rate_bps(&self, window_s: f64, least_share: f64) -> Option<f64> {
        (self.busy_s >= least_share * window_s).then(|| self.bits / self.busy_s)
    }
}

/// The rate of the link in windows of time. Between two arrivals the link was busy if the second packet had come to the queue
/// before the first left it: sent no later than `base_s` (the delay without the queue) before the first was seen. Then all
/// between them is what the link sent in that time. Dropped packets took nothing of it.
pub fn rates(
    record: &Record,
    base_s: f64,
    slack_s: f64,
    window_s: f64,
    is_dropped: impl Fn(usize) -> bool,
) -> Vec<Window> {
    let start = record.packets().first().map_or(0.0, |packet| packet.sent_s);
    let mut windows: Vec<Window> = Vec::new();
    let mut last: Option<f64> = None;
    let mut bits = 0.0;
    for (index, packet) in record.packets().iter().enumerate() {
        if !is_dropped(index) {
            bits += 8.0 * packet.bytes;
        }
        let Some(seen) = packet.seen_s.filter(|_| packet.fate == Fate::Arrived) else { continue };
        if let Some(before) = last {
            if seen <= before {
                // Overtaken: what it brings belongs to a gap that is over.
                continue;
            }
            if packet.sent_s + base_s + slack_s <= before {
                spread(&mut windows, start, window_s, (before, seen), bits);
            }
        }
        last = Some(seen);
        bits = 0.0;
    }
    windows
}

/// Adds a busy time to the windows that it lies in.
fn spread(windows: &mut Vec<Window>, start: f64, window_s: f64, (from, to): (f64, f64), bits: f64) {
    let mut at = from;
    let index_of = |time: f64| (((time - start) / window_s).floor().max(0.0)) as usize;
    while at < to {
        let index = index_of(at);
        while windows.len() <= index {
            let from_s = start + windows.len() as f64 * window_s;
            windows.push(Window { from_s, ..Window::default() });
        }
        let end = (start + (index + 1) as f64 * window_s).min(to);
        if end <= at {
            // The next float of the boundary: nothing is left of this window.
            at = end.next_up();
            continue;
        }
        windows[index].busy_s += end - at;
        windows[index].bits += bits * (end - at) / (to - from);
        at = end;
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::record::Packet;

    /// A link of 8 Mbit/s and then 2 Mbit/s, always with a queue, and acknowledged every second packet.
    #[test]
    fn a_step_of_the_rate_is_seen_exactly() {
        let mut at = 0.0_f64;
        let packets = (0..4000).map(|index| {
            let sent_s = if index < 20 { 0.0 } else { at - 9.0 * 1e-3 };
            at += if at < 2.0 { 1e-3 } else { 4e-3 };
            let seen_s = (index % 2 == 1).then_some(at + 30e-3);
            Packet { sent_s: sent_s.max(0.0), bytes: 1000.0, seen_s, fate: Fate::Arrived }
        });
        let record = Record::new(packets.collect(), true).unwrap();
        let found = rates(&record, 30e-3, 0.0, 0.1, |_| false);
        let of = |from: usize, to: usize| {
            let busy: f64 = found[from..to].iter().map(|window| window.busy_s).sum();
            found[from..to].iter().map(|window| window.bits).sum::<f64>() / busy
        };
        assert!((of(1, 19) - 8e6).abs() < 8e3, "{}", of(1, 19));
        assert!((of(22, 60) - 2e6).abs() < 2e3, "{}", of(22, 60));
    }
}
