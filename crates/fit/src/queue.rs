//! Queue in front of a link, through which the packets of a record are replayed.

use crate::record::Record;

/// Waiting plus transmission time of each packet in seconds (Lindley's recursion) at a link of `rate_bps` with an
/// unlimited queue, from pairs of (sending time in seconds, bytes) in sending order. A packet for which `is_dropped` is
/// true takes no time of the link; its delay is the one it would have had.
pub fn delays(sent: &[(f64, f64)], rate_bps: f64, is_dropped: impl Fn(usize) -> bool) -> Vec<f64> {
    let mut found = Vec::with_capacity(sent.len());
    let (mut backlog, mut last) = (0.0_f64, 0.0_f64);
    for (index, (at, bytes)) in sent.iter().enumerate() {
        backlog = (backlog - (at - last)).max(0.0);
        last = *at;
        let with = backlog + 8.0 * bytes / rate_bps;
        found.push(with);
        if !is_dropped(index) {
            backlog = with;
        }
    }
    found
}

/// Share of the difference between observed and computed backlog by which an observed delay corrects the backlog.
const GAIN: f64 = 0.1;
/// Largest difference between observed and computed backlog, in packets, that counts in the correction.
const MOST_PACKETS: f64 = 5.0;

/// Backlog in bytes that each packet of a record finds, at a link with the base delay `base_s` and rate `levels` of
/// (start in seconds since the first packet, bit/s). Each observed delay corrects the backlog slightly; otherwise
/// errors would accumulate in a queue that is never empty.
pub(crate) fn backlogs(
    record: &Record,
    base_s: f64,
    levels: &[(f64, f64)],
    is_dropped: impl Fn(usize) -> bool,
) -> Vec<f64> {
    let packets = record.packets();
    let start = packets.first().map_or(0.0, |packet| packet.sent_s);
    let mut found = Vec::with_capacity(packets.len());
    let (mut backlog, mut now, mut next) = (0.0_f64, 0.0, 0);
    let mut rate = levels.first().map_or(1.0, |level| level.1);
    for (index, packet) in packets.iter().enumerate() {
        let (at, bytes) = (packet.sent_s - start, packet.bytes);
        let mut served = 0.0;
        while next < levels.len() && levels[next].0 <= at {
            let from = levels[next].0.max(now);
            served += rate * (from - now);
            (now, rate) = (from, levels[next].1);
            next += 1;
        }
        served += rate * (at - now);
        now = at;
        backlog = (backlog - served / 8.0).max(0.0);
        if let Some(seen) = packet.seen_s {
            let observed = (seen - packet.sent_s - base_s) * rate / 8.0 - bytes;
            let most = MOST_PACKETS * bytes;
            backlog = (backlog + GAIN * (observed - backlog).clamp(-most, most)).max(0.0);
        }
        found.push(backlog);
        if !is_dropped(index) {
            backlog += bytes;
        }
    }
    found
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::record::{Fate, Packet};

    #[test]
    fn packets_wait_for_those_in_front() {
        let sent = [(0.0, 1000.0), (0.0, 500.0), (0.0, 1000.0), (0.010, 1000.0), (0.1, 250.0)];
        let found = delays(&sent, 1e6, |index| index == 2);
        for (found, expected) in found.iter().zip([8e-3, 12e-3, 20e-3, 10e-3, 2e-3]) {
            assert!((found - expected).abs() < 1e-12, "{found} {expected}");
        }
    }

    #[test]
    fn a_link_whose_rate_changes_serves_at_the_rate_of_the_time() {
        // Trains of three packets, one train per second: a transmission takes 8 ms at 1 Mbit/s in the first 30 s, and
        // then 16 ms at 500 kbit/s.
        let packet = |index: u32| Packet {
            sent_s: f64::from(index / 3),
            bytes: 1000.0,
            seen_s: index
                .is_multiple_of(3)
                .then(|| f64::from(index / 3) + 0.1 + if index < 90 { 8e-3 } else { 16e-3 }),
            fate: Fate::Arrived,
        };
        let record = Record::new((0..300).map(packet).collect(), true).unwrap();
        let found = backlogs(&record, 0.1, &[(0.0, 1e6), (30.0, 5e5)], |_| false);
        for train in found.chunks(3) {
            for (found, expected) in train.iter().zip([0.0, 1000.0, 2000.0]) {
                assert!((found - expected).abs() < 1e-6, "{found} {expected}");
            }
        }
        // The delays also reveal traffic that the record lacks, such as other flows.
        let others = backlogs(&record, 0.1 - 8e-3, &[(0.0, 1e6)], |_| false);
        assert!(others[0] > 0.0);
    }
}
